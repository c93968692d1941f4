#!/usr/bin/env python3
"""Makes the automatic mutants of a store file: its source with one place changed.

    python3 mutate.py [CLASS] < store.py

writes one JSON list of {"operator", "line", "change", "source"}. Standard
library only, Python 3.9 or newer, one file that can be run alone. The store's
class is changed and whatever it uses of its module; imports, annotations,
decorators, texts and other classes are left alone. Nothing is imported or run.

`change` says what was done in words that hold nothing of the file but the name
of an operator or a number, and with `line` it names a mutant of a file for good.
"""

import ast
import copy
import json
import sys

CLASSES = ("BlockObjectStore", "ShmBlockObjectStore", "InProcessArtifactStore")

COMPARISONS = {
    ast.Lt: ("<", (ast.LtE, ast.GtE)),
    ast.LtE: ("<=", (ast.Lt, ast.Gt)),
    ast.Gt: (">", (ast.GtE, ast.LtE)),
    ast.GtE: (">=", (ast.Gt, ast.Lt)),
    ast.Eq: ("==", (ast.NotEq,)),
    ast.NotEq: ("!=", (ast.Eq,)),
    ast.In: ("in", (ast.NotIn,)),
    ast.NotIn: ("not in", (ast.In,)),
    ast.Is: ("is", (ast.IsNot,)),
    ast.IsNot: ("is not", (ast.Is,)),
}
ARITHMETIC = {
    ast.Add: ("+", (ast.Sub,)),
    ast.Sub: ("-", (ast.Add,)),
    ast.Mult: ("*", (ast.FloorDiv,)),
    ast.FloorDiv: ("//", (ast.Mult,)),
    ast.Mod: ("%", (ast.Mult,)),
    ast.BitAnd: ("&", (ast.BitOr,)),
    ast.BitOr: ("|", (ast.BitAnd,)),
    ast.BitXor: ("^", (ast.BitOr,)),
}
BOOLEAN = {ast.And: ("and", (ast.Or,)), ast.Or: ("or", (ast.And,))}
COMMUTATIVE = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)

# Fields that say nothing of what the code does.
SILENT = {"annotation", "returns", "decorator_list", "type_comment"}


def word(table, cls):
    return table[cls][0]


def is_text(node):
    return isinstance(node, ast.JoinedStr) or isinstance(node, ast.Constant) and isinstance(node.value, str)


def defined(module):
    """What the module defines at its top level: name -> node."""
    names = {}
    for node in module.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names[node.name] = node
        elif isinstance(node, ast.Assign):
            names.update((target.id, node) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            names[node.target.id] = node
    return names


def spoken(node):
    """The node and those below it that say what the code does, in the order of the text."""
    yield node
    for field, value in ast.iter_fields(node):
        if field in SILENT:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from spoken(child)


def scope(module, wanted):
    """The class to change and what it uses of its module, by way of others too."""
    names = defined(module)
    known = [wanted] if wanted else CLASSES
    start = next((names[name] for name in known if isinstance(names.get(name), ast.ClassDef)), None)
    if start is None:
        raise SystemExit(f"the file defines no class {' or '.join(known)}")
    chosen, queue = [], [start]
    while queue:
        node = queue.pop()
        if node in chosen:
            continue
        chosen.append(node)
        used = {part.id for part in spoken(node) if isinstance(part, ast.Name)}
        queue.extend(names[name] for name in sorted(used) if name in names)
    return sorted(chosen, key=lambda node: node.lineno)


# ---------------------------------------------------------------- operators
#
# An operator takes a node and gives (what changed, the node for its place); the
# node it is given is a copy that it may change.


def comparisons(node):
    if isinstance(node, ast.Compare):
        for i, was in enumerate(node.ops):
            name, others = COMPARISONS[type(was)]
            for other in others:
                new = copy.deepcopy(node)
                new.ops[i] = other()
                yield f"{name} became {word(COMPARISONS, other)}", new


def arithmetic(node):
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in ARITHMETIC:
        name, others = ARITHMETIC[type(node.op)]
        mark = "=" if isinstance(node, ast.AugAssign) else ""
        for other in others:
            new = copy.deepcopy(node)
            new.op = other()
            yield f"{name}{mark} became {word(ARITHMETIC, other)}{mark}", new


def booleans(node):
    if isinstance(node, ast.BoolOp):
        name, (other,) = BOOLEAN[type(node.op)]
        new = copy.deepcopy(node)
        new.op = other()
        yield f"{name} became {word(BOOLEAN, other)}", new
        for i in range(len(node.values)):
            left = node.values[:i] + node.values[i + 1 :]
            new = copy.deepcopy(left[0] if len(left) == 1 else ast.BoolOp(op=node.op, values=left))
            yield f"operand {i + 1} of {name} dropped", new


def conditions(node):
    if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        new = copy.deepcopy(node)
        new.test = negated(new.test)
        yield "condition negated", new
    elif isinstance(node, ast.comprehension):
        for i in range(len(node.ifs)):
            new = copy.deepcopy(node)
            new.ifs[i] = negated(new.ifs[i])
            yield f"filter {i + 1} negated", new


def negated(test):
    """The opposite of a test: of a lone comparison by its operator, as `comparisons` would."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        test.ops[0] = COMPARISONS[type(test.ops[0])][1][-1]()
        return test
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(op=ast.Not(), operand=test)


def constants(node):
    if negative(node):
        value = -node.operand.value
    elif isinstance(node, ast.Constant):
        value = node.value
    else:
        return
    if isinstance(value, bool):
        others = (not value,)
    elif isinstance(value, int):
        others = (value + 1, value - 1)
    elif isinstance(value, bytes):
        others = (value + b"\0",)
    else:
        return
    for other in others:
        yield f"{value!r} became {other!r}", ast.parse(repr(other), mode="eval").body


def arguments(node):
    if isinstance(node, ast.Call) and not any(isinstance(arg, ast.Starred) for arg in node.args):
        for i in range(len(node.args) - 1):
            new = copy.deepcopy(node)
            new.args[i], new.args[i + 1] = new.args[i + 1], new.args[i]
            yield f"arguments {i + 1} and {i + 2} swapped", new
    elif isinstance(node, ast.BinOp) and not isinstance(node.op, COMMUTATIVE):
        new = copy.deepcopy(node)
        new.left, new.right = new.right, new.left
        yield f"operands of {ARITHMETIC[type(node.op)][0] if type(node.op) in ARITHMETIC else 'an operator'} swapped", new


def calls(node):
    """A call becomes what it was given, or what it was a method of."""
    if isinstance(node, ast.Call):
        if node.args and not isinstance(node.args[0], (ast.Starred, ast.GeneratorExp)):
            yield "call replaced by its first argument", copy.deepcopy(node.args[0])
        if isinstance(node.func, ast.Attribute):
            yield "method call replaced by its object", copy.deepcopy(node.func.value)


def slices(node):
    if isinstance(node, ast.Slice):
        for side in ("lower", "upper"):
            if getattr(node, side) is not None:
                new = copy.deepcopy(node)
                setattr(new, side, None)
                yield f"{side} bound of a slice dropped", new


def statements(node):
    if isinstance(node, ast.stmt) and not isinstance(node, (ast.Pass, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        if not (isinstance(node, ast.Expr) and is_text(node.value)):
            yield "statement deleted", ast.Pass()
    if isinstance(node, ast.Break):
        yield "break became continue", ast.Continue()
    if isinstance(node, ast.Continue):
        yield "continue became break", ast.Break()
    if isinstance(node, ast.If) and node.orelse:
        new = copy.deepcopy(node)
        new.orelse = []
        yield "else branch deleted", new
    if isinstance(node, ast.Try) and node.finalbody:
        new = copy.deepcopy(node)
        new.finalbody = [] if node.handlers else [ast.Pass()]
        yield "finally branch deleted", new


OPERATORS = {
    "comparison": comparisons,
    "arithmetic": arithmetic,
    "boolean": booleans,
    "condition": conditions,
    "constant": constants,
    "arguments": arguments,
    "call": calls,
    "slice": slices,
    "statement": statements,
}


# ---------------------------------------------------------------- places


def places(node):
    """Every place below a node whose content can be exchanged: (what it holds, where, how to exchange it)."""
    for field, value in ast.iter_fields(node):
        if field in SILENT:
            continue
        if isinstance(value, list):
            for i, child in enumerate(value):
                if isinstance(child, ast.AST) and not is_text(child):
                    yield child, node, lambda new, at=value, i=i: at.__setitem__(i, new)
                    yield from places(child)
        elif isinstance(value, ast.AST) and not is_text(value):
            yield value, node, lambda new, node=node, field=field: setattr(node, field, new)
            if not negative(value):
                yield from places(value)


def negative(node):
    """A negative number is a constant, not an operator before one."""
    minus = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    return minus and isinstance(node.operand, ast.Constant) and isinstance(node.operand.value, int)


def line_of(node):
    """The node's line; a filter or a slice has that of what is in it."""
    return next(part.lineno for part in ast.walk(node) if hasattr(part, "lineno"))


def compiles(text):
    """Whether it is Python at all: a continue outside of a loop is none."""
    try:
        compile(text, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def mutants(source, wanted=None):
    module = ast.parse(source)
    parts = [ast.unparse(part) for part in module.body]
    seen = {"\n".join(parts)}
    made, named = [], {}
    for top in scope(module, wanted):
        at = module.body.index(top)
        for node, holder, exchange in list(places(top)):
            for operator, changes in OPERATORS.items():
                if changes is calls and isinstance(holder, ast.Expr):
                    continue  # without the call the statement does nothing, as when it is deleted
                for change, new in changes(node):
                    exchange(new)
                    changed = ast.unparse(ast.fix_missing_locations(top))
                    exchange(node)
                    text = "\n".join(parts[:at] + [changed] + parts[at + 1 :])
                    if text in seen or not compiles(changed):
                        continue
                    seen.add(text)
                    line = line_of(node)
                    count = named[line, change] = named.get((line, change), 0) + 1
                    if count > 1:
                        change += f" ({count} of this line)"
                    made.append({"operator": operator, "line": line, "change": change, "source": text})
    made.sort(key=lambda mutant: mutant["line"])
    return made


def main():
    source = sys.stdin.buffer.read().decode("utf-8")
    json.dump(mutants(source, sys.argv[1] if len(sys.argv) > 1 else None), sys.stdout)


if __name__ == "__main__":
    main()
