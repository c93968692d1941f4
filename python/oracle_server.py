#!/usr/bin/env python3
"""The oracle: one process that holds a Python store and does what it is told.

It speaks the protocol of docs/oracle-protocol.md on its standard input and
output. Standard library only, Python 3.9 or newer, one file that can be run
alone:

    python3 oracle_server.py        # then one JSON line: the configuration

What a request asks for is whole sequences; what a reply holds is what the store
showed after every operation. The oracle judges nothing: it reports, and the
other side compares.
"""

import gc
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import json
import logging
import marshal
import mmap
import os
import signal
import struct
import sys
import types
from collections import OrderedDict

PROTOCOL = 1
MARSHAL_VERSION = 4  # the first with references, which keep repeated keys short
MESSAGE_LIMIT = 64 << 20  # bytes of one message, either way
COLLECT_EVERY = 64  # requests between two garbage collections
CLASSES = ("BlockObjectStore", "ShmBlockObjectStore", "InProcessArtifactStore")
HOME = "vllm"  # the package that a store file without its tree comes from
OBJECT_CLASSES = ("BlockObject", "ArtifactObject")

PUT, GET, CLOSE = 0, 1, 2  # the rows of the table of operations
UNALLOCATED = -1  # the slot of a stored key that has none
ALLOCATED = -2  # the slot of a key that has one which cannot be named


class Refusal(Exception):
    """Why this oracle cannot serve: a word for the reason, and one line."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


# ---------------------------------------------------------------- loading


class TreeFinder(importlib.abc.MetaPathFinder):
    """Resolves imports of the store's own tree without running package code.

    A package's __init__ may need a whole framework, so packages become empty
    modules with the right search path. A module that is a file is loaded as it
    is. Only the tree's logger is replaced, since its real one configures a
    process that is not there; `stubbed` says so to whoever reads a report. A
    store file without a tree has no root: then the logger is all that is found.
    """

    def __init__(self, root, top):
        self.root, self.top, self.stubbed = root, top, []

    def find_spec(self, name, path=None, target=None):
        if name != self.top and not name.startswith(self.top + "."):
            return None
        if name == self.top + ".logger":
            self.stubbed.append(name)
            return importlib.machinery.ModuleSpec(name, LoggerLoader())
        base = os.path.join(self.root or os.devnull, *name.split("."))
        if os.path.isdir(base) or name == self.top:
            spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = [base]
            return spec
        if os.path.isfile(base + ".py"):
            return importlib.util.spec_from_file_location(name, base + ".py")
        return None


class LoggerLoader(importlib.abc.Loader):
    """Stands in for the tree's logger module: plain logging to stderr."""

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.init_logger = logging.getLogger


def tree_of(path):
    """The folder above the topmost package that holds path, and the module's name there."""
    folder, name = os.path.split(os.path.abspath(path))
    parts = [os.path.splitext(name)[0]]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        parts.insert(0, package)
    return folder, ".".join(parts)


def load_module(config):
    """The store's module and its source, from config's source text, path or package."""
    source, path = config.get("source"), config.get("path")
    if source is None and path is None and config.get("package"):
        path = find_in_package(config["package"], config["package_path"])
    name, finders = "diffstore_subject", []
    if source is None:
        if path is None:
            raise Refusal("config", "the configuration names no store: give path, source or package")
        try:
            with open(path, "rb") as file:
                source = file.read().decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Refusal("import", f"cannot read {path}: {error}") from None
        root, name = tree_of(path)
        if "." in name:
            finders.append(TreeFinder(root, name.split(".")[0]))
        else:
            sys.path.append(root)  # modules beside a lone file; behind those of Python itself
    if name.split(".")[0] != HOME:
        finders.append(TreeFinder(None, HOME))
    sys.meta_path[:0] = finders
    module = types.ModuleType(name)
    module.__file__ = path or "<embedded>"
    module.__package__ = name.rpartition(".")[0]
    sys.modules[name] = module
    try:
        exec(compile(source, module.__file__, "exec"), module.__dict__)
    except BaseException as error:
        where = ""
        if isinstance(error, SyntaxError) and error.lineno:
            where = f" at line {error.lineno}"
            error.filename = error.lineno = None  # or its text would say both again
        elif error.__traceback__.tb_next is not None:
            where = f" at line {error.__traceback__.tb_next.tb_lineno}"
        raise Refusal("import", f"{module.__file__} does not import: {type(error).__name__}: {error}{where}") from None
    return module, source, [name for finder in finders for name in finder.stubbed]


def find_in_package(package, inside):
    """The path of a module file inside an installed package that is not imported."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise Refusal("import", f"package {package} is not installed in {sys.executable}")
    for folder in spec.submodule_search_locations:
        for candidate in inside:
            path = os.path.join(folder, *candidate.split("/"))
            if os.path.isfile(path):
                return path
    raise Refusal("import", f"package {package} in {sys.executable} holds no {' or '.join(inside)}")


def find_class(module, wanted):
    """The store's class, checked to be one that this oracle can drive."""
    names = [wanted] if wanted else CLASSES
    for name in names:
        cls = getattr(module, name, None)
        if isinstance(cls, type):
            break
    else:
        there = sorted(k for k, v in vars(module).items() if isinstance(v, type) and v.__module__ == module.__name__)
        raise Refusal("class", f"{module.__file__} has no class {' or '.join(names)}; it has {', '.join(there) or 'none'}")
    for method in ("put", "get_concatenated", "close"):
        if not callable(getattr(cls, method, None)):
            raise Refusal("class", f"class {cls.__name__} has no method {method}")
    try:
        inspect.signature(cls).bind(max_bytes=1, object_nbytes=1)
    except (TypeError, ValueError) as error:
        raise Refusal(
            "constructor",
            f"class {cls.__name__} has another constructor: {error}; expected (max_bytes=, object_nbytes=)",
        ) from None
    try:
        inspect.signature(cls.put).bind(None, [], retain_keys=(), release_keys=())
    except (TypeError, ValueError) as error:
        raise Refusal(
            "constructor",
            f"{cls.__name__}.put has another signature: {error}; expected (objects, retain_keys=, release_keys=)",
        ) from None
    return cls


class PlainObject:
    """A key with its payload, for store files that bring no class for it."""

    __slots__ = ("key", "payload")

    def __init__(self, key, payload):
        self.key, self.payload = key, payload


def object_class(module):
    for name in OBJECT_CLASSES:
        cls = getattr(module, name, None)
        if isinstance(cls, type):
            try:
                made = cls(key="k", payload=b"p")
                if made.key == "k" and made.payload == b"p":
                    return lambda key, payload: cls(key=key, payload=payload)
            except Exception:
                continue
    return PlainObject


# ---------------------------------------------------------------- layouts
#
# A layout says where a store keeps what an observation shows. `order` holds
# stored keys, oldest first, with or without the referenced ones; `slots` maps
# key to slot and may be the same mapping. A new layout is one row here.

LAYOUTS = (
    # vLLM 0.33 and the free-queue split: all keys in one map, the unreferenced in another.
    {"name": "slots-and-lru", "order": "_lru", "slots": "_slots", "refs": "_references", "free": "_free_slots", "next": "_next_slot"},
    # vLLM 0.31 and 0.32: one ordered map from key to slot.
    {"name": "lru-with-slots", "order": "_lru", "slots": "_lru", "refs": "_references", "free": "_free_slots", "next": "_next_slot"},
    # The embedded free-queue, growing and release-0.33.
    {"name": "slots-and-queue", "order": "_queue", "slots": "_slot_of", "refs": "_counts", "free": "_free", "next": "_next"},
    # The embedded main and front-rotation.
    {"name": "order-with-slots", "order": "_order", "slots": "_order", "refs": "_counts", "free": "_free", "next": "_next"},
)
ROLES = {"order": dict, "slots": dict, "refs": dict, "free": list, "next": int}


def pick_layout(cls, make):
    """The first layout that shows one referenced object as it is, or None: black box."""
    try:
        store = cls(max_bytes=2, object_nbytes=1)
        store.put([make("k", b"p")], retain_keys=("k",), release_keys=())
    except BaseException:
        return None
    for layout in LAYOUTS:
        parts = {role: getattr(store, layout[role], None) for role in ROLES}
        if all(isinstance(parts[role], kind) for role, kind in ROLES.items()):
            slots = list(parts["slots"].items())
            if [key for key, _ in slots] == ["k"] and type(slots[0][1]) is int and parts["refs"] == {"k": 1}:
                return layout
    return None


def observer(layout):
    """A function of a store: (order, keys or None, slots, refs, free, next).

    Slots are in the order of keys, or of order where keys is None. It iterates
    and never looks a key up, since a look-up would hash. It is made as source
    so that the one attribute fetch a part costs is all that it costs.
    """
    same = layout["order"] == layout["slots"]
    slots = f"s.{layout['slots']}"
    body = (
        f"lambda s: ([*s.{layout['order']}], {'None' if same else f'[*{slots}]'}, [*{slots}.values()], "
        f"s.{layout['refs']}.copy(), s.{layout['free']}[:], s.{layout['next']})"
    )
    return eval(body)


def looker(layout):
    """A function of a store and keys: (slots, counts, stored, referenced, next).

    The slot and the count of each key, None for none, then the totals. It costs
    in proportion to the keys, not to what is stored.
    """
    slots, refs = f"s.{layout['slots']}", f"s.{layout['refs']}"
    return eval(f"lambda s, keys: ([*map({slots}.get, keys)], [*map({refs}.get, keys)], len({slots}), len({refs}), s.{layout['next']})")


# ---------------------------------------------------------------- outcomes


OF_PYTHON = (RecursionError, NotImplementedError)  # runtime errors that no store raises itself
MOST_TEXT = 4096  # characters of a message that are told


def describe(error, kind):
    """An exception as (kind, type, message, key): what went wrong, told by class and operation."""
    cls = type(error)
    try:
        message = str(error)
    except BaseException:
        message = ""
    key = None
    word = "other"
    if cls is KeyError:
        if len(error.args) == 1 and isinstance(error.args[0], str):
            word, key = "key", str.__str__(error.args[0])
    elif cls is RuntimeError:
        if "closed" in message:
            word = "closed"
    elif cls is IndexError:
        if "slice assignment" in message:
            word = "size"
    elif isinstance(error, RuntimeError) and not isinstance(error, OF_PYTHON):
        word = "missing" if kind == GET else "capacity"
    if type(message) is not str or not message.isascii() or len(message) > MOST_TEXT:
        message = message.encode("utf-8", "backslashreplace").decode("utf-8")[:MOST_TEXT]
    return (word, cls.__name__, message, key)


def construct(cls, slots, object_nbytes):
    """A fresh store and None, or None and what its constructor raised."""
    try:
        return cls(max_bytes=slots * object_nbytes, object_nbytes=object_nbytes), None
    except BaseException as error:
        word = "argument" if type(error) is ValueError else "other"
        return None, (word, type(error).__name__, str(error)[:4096], None)


# ---------------------------------------------------------------- hash counting


class CountingKey(str):
    """A key that counts how often it is hashed, alone and in its group."""

    def __hash__(self):
        self.hashes += 1
        self.group[0] += 1
        return str.__hash__(self)


class Counting:
    """The counting keys of one sequence: one object for each text.

    `watched` keys form a group of their own, so that the hashes of referenced
    keys can be told from the rest without a walk over all of them.
    """

    def __init__(self, watched):
        self.watched, self.keys = set(watched), {}
        self.all, self.watch = [0], [0]

    def key(self, text):
        made = self.keys.get(text)
        if made is None:
            made = self.keys[text] = CountingKey(text)
            made.hashes = 0
            made.group = self.watch if text in self.watched else self.all
        return made

    def spent(self, named, before):
        """Hashes since `before` of keys that are not named: (all of them, the watched ones)."""
        every, watched = self.all[0] + self.watch[0], self.watch[0]
        for key, had, in_watch in before[2]:
            every -= key.hashes - had
            if in_watch:
                watched -= key.hashes - had
        return (every - before[0], watched - before[1])

    def mark(self, named):
        distinct = {id(key): key for key in named}.values()
        return (
            self.all[0] + self.watch[0],
            self.watch[0],
            [(key, key.hashes, key.group is self.watch) for key in distinct],
        )


def plain(value):
    """A value with every key as an ordinary str, ready for any wire; other strangers as their text."""
    if value is None or type(value) in (bool, int, str, bytes):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {plain(key): plain(part) for key, part in value.items()}
    return stranger(value)


def stranger(value):
    """What can be said of a value that no wire carries, without running code of its class."""
    return f"a value of type {type(value).__name__}"


def payload_of(value):
    """What a get gave back, as bytes; None and what is no bytes stay recognisable."""
    if value is None:
        return None
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    return ("other", "not bytes", stranger(value), None)


# ---------------------------------------------------------------- running


class Box:
    """One class of store under observation.

    A sequence is (slots, object_nbytes, ops); an op is (PUT, objects, retains,
    releases), (GET, keys) or (CLOSE,), objects being places in the request's
    table. What comes back is (constructor error or None, steps); a step is
    (outcome, state) with the hashes behind them where they were asked for.

    A sequence on a large store may have a plan behind its ops: for each op
    whether the whole state is wanted, and the keys to look at beside those that
    the op names. Its states are (part, whole or None).
    """

    looks = False  # whether plans are understood
    copies = False  # whether a store's attributes can be put back, see Snapshot

    def __init__(self, cls, make):
        self.cls, self.make = cls, make

    def memory(self, store, fresh):
        return None

    def run(self, sequence, objects):
        steps = []
        return (self.walk(sequence, objects, None, steps.append), steps)

    def walk(self, sequence, objects, watched, emit, blind=False):
        """The general way: any observation, one step handed out at a time."""
        slots, object_nbytes, ops = sequence[:3]
        store, refused = construct(self.cls, slots, object_nbytes)
        if store is None:
            return refused
        counting = None
        if watched is not None:
            counting = Counting(watched)
            objects = [self.make(counting.key(made.key), made.payload) for made in objects]
            ops = [counted(op, counting) for op in ops]
        for done, op in enumerate(ops, 1):
            if counting is None:
                outcome = perform(store, op, objects)
                emit((outcome, self.state(store, sequence, done, objects)))
                continue
            named = names(op, objects)
            before = counting.mark(named)
            outcome = perform(store, op, objects)
            hashes = counting.spent(named, before)
            emit((outcome, None if blind else self.state(store, sequence, done, objects), hashes))
        return None


def counted(op, counting):
    """The op with every key replaced by its counting twin."""
    if op[0] == PUT:
        return (PUT, op[1], [counting.key(k) for k in op[2]], [counting.key(k) for k in op[3]])
    if op[0] == GET:
        return (GET, [counting.key(k) for k in op[1]])
    return op


def names(op, objects):
    if op[0] == PUT:
        return [objects[i].key for i in op[1]] + list(op[2]) + list(op[3])
    return op[1] if op[0] == GET else []


def perform(store, op, objects):
    """Carries out one op: None, the bytes of a get, or the error as a tuple."""
    kind = op[0]
    try:
        if kind == PUT:
            store.put([objects[i] for i in op[1]], retain_keys=op[2], release_keys=op[3])
        elif kind == GET:
            return payload_of(store.get_concatenated(op[1]))
        else:
            store.close()
    except BaseException as error:
        return describe(error, kind)
    return None


class WhiteBox(Box):
    """Reads the state out of the store's own attributes."""

    looks = True

    def __init__(self, cls, make, layout):
        super().__init__(cls, make)
        self.name = layout["name"]
        self.sees = ["queue", "refs", "zombies", "slots"]
        self.observe, self.look = observer(layout), looker(layout)
        self.parts = set(layout.values())
        try:
            Snapshot(cls(max_bytes=2, object_nbytes=1))
            self.copies = True
        except Uncopyable:
            pass

    def memory(self, store, fresh):
        """Plain attributes beside the layout's that a fresh store lacks or has otherwise; None for none."""
        kept = {}
        for name, value in getattr(store, "__dict__", {}).items():
            kind = type(value)
            first = fresh.get(name, self)
            if name in self.parts or mmap.mmap in (kind, type(first)) or not (immutable(value) or kind in FREEZE) or first == value:
                continue
            if kind is OrderedDict:
                value = list(value.items())
            elif kind is set:
                value = dict.fromkeys(value)
            kept[name] = plain(value)
        return kept or None

    def state(self, store, sequence, done, objects):
        if len(sequence) == 3:
            return plain(self.observe(store))
        whole, more = sequence[3][done - 1]
        part = self.look(store, [*names(sequence[2][done - 1], objects), *more])
        return (part, plain(self.observe(store)) if whole else None)

    def run(self, sequence, objects):
        """What walk does, written out, for this loop is what a campaign waits for."""
        if len(sequence) > 3:
            return super().run(sequence, objects)
        slots, object_nbytes, ops = sequence
        store, refused = construct(self.cls, slots, object_nbytes)
        steps = []
        if store is None:
            return (refused, steps)
        put, get, observe, add, pick = store.put, store.get_concatenated, self.observe, steps.append, objects.__getitem__
        for op in ops:
            kind = op[0]
            outcome = None
            try:
                if kind == PUT:
                    put([*map(pick, op[1])] if op[1] else [], retain_keys=op[2], release_keys=op[3])
                elif kind == GET:
                    outcome = get(op[1])
                    if type(outcome) is not bytes:
                        outcome = payload_of(outcome)
                else:
                    store.close()
            except BaseException as error:
                outcome = describe(error, kind)
            add((outcome, observe(store)))
        return (None, steps)


class BlackBox(Box):
    """Uses put, get_concatenated and close alone.

    The state after an op is probed: the ops so far are replayed into fresh
    stores, and each is asked one question that may disturb it. Which keys are
    stored and have bytes: get each. How often a key is referenced: release it
    until the store refuses. In which order keys leave: push one, two, three new
    keys into as many stores and see which are gone.
    """

    name = "black-box"
    sees = ["queue", "refs", "zombies"]

    def replay(self, sequence, done, objects):
        store, _ = construct(self.cls, sequence[0], sequence[1])
        closed = False
        for op in sequence[2][:done]:
            if op[0] == CLOSE:
                closed = True  # a closed store answers nothing, so what it holds is asked before that
                continue
            if not closed:
                perform(store, op, objects)
        return store

    def state(self, store, sequence, done, objects):
        keys, retained = {}, {}
        for op in sequence[2][:done]:
            keys.update(dict.fromkeys(names(op, objects)))
            if op[0] == PUT:
                for key in op[2]:
                    retained[key] = retained.get(key, 0) + 1
        stored, slots = self.stored(sequence, done, objects, keys)
        refs = self.references(sequence, done, objects, retained)
        queue = self.queue(sequence, done, objects, [key for key in stored if key not in refs], len(keys))
        return (queue, stored, slots, refs, None, None)

    def stored(self, sequence, done, objects, keys):
        """The stored keys, and for each whether it has a slot."""
        store = self.replay(sequence, done, objects)
        stored, slots = [], []
        for key in keys:
            payload = perform(store, (GET, [key]), objects)
            if not isinstance(payload, tuple):
                stored.append(key)
                slots.append(ALLOCATED if payload or self.has_slot(sequence, done, objects, key) else UNALLOCATED)
        return stored, slots

    def has_slot(self, sequence, done, objects, key):
        """Whether a key that reads back empty has a slot outside the arena, or none.

        Only a key without a slot takes one when it is put again: it then has
        bytes, or the bytes do not fit. It is retained first, since there are
        stores that write a key without references anew.
        """
        store = self.replay(sequence, done, objects)
        perform(store, (PUT, (), (key,), ()), objects)
        again = self.make(key, b"\0" * max(sequence[1], 0))
        if perform(store, (PUT, [0], (), ()), [again]) is not None:
            return False
        return not perform(store, (GET, [key]), objects)

    def references(self, sequence, done, objects, retained):
        """The counts: a key can have as many references as it was retained, and no more."""
        store = self.replay(sequence, done, objects)
        refs = {}
        for key, most in retained.items():
            count, refused = 0, None
            while count <= most and refused is None:
                refused = perform(store, (PUT, (), (), (key,)), objects)
                count += refused is None
            if count:
                refs[key] = count
            if refused is not None and refused[0] != "key":
                store = self.replay(sequence, done, objects)  # it may not be sound any more
        return refs

    def queue(self, sequence, done, objects, candidates, named):
        """The candidates in the order in which new keys push them out.

        One key more is pushed each time, into a store of its own, for to ask
        whether a key is there moves it. A store that grows takes them all, so
        there is a limit: four times what it could need.
        """
        queue, pushed = [], 0
        payload = b"\0" * max(sequence[1], 0)
        while len(queue) < len(candidates) and pushed < 4 * (max(sequence[0], 1) + named):
            pushed += 1
            store = self.replay(sequence, done, objects)
            fresh = [self.make(f"\ue000fresh-{i}", payload) for i in range(pushed)]
            refused = perform(store, (PUT, range(pushed), (), ()), fresh)
            if refused is not None and refused[0] == "capacity":
                break  # any other error leaves the new keys stored, as a lost slot does
            for key in candidates:
                if key not in queue and isinstance(perform(store, (GET, [key]), objects), tuple):
                    queue.append(key)
        return queue


# ---------------------------------------------------------------- wires


class MarshalWire:
    """Frames of four length bytes (little endian) and Python's own marshal format."""

    name = "marshal"

    def __init__(self, source, sink):
        self.source, self.sink = source, sink

    def receive(self):
        header = self.source.read(4)
        if len(header) < 4:
            return None
        (size,) = struct.unpack("<I", header)
        check_size(size)
        body = self.source.read(size)
        return None if len(body) < size else marshal.loads(body)

    def send(self, message):
        try:
            body = marshal.dumps(message, MARSHAL_VERSION)
        except ValueError:
            body = marshal.dumps(plain(message), MARSHAL_VERSION)
        check_size(len(body))
        self.sink.write(struct.pack("<I", len(body)) + body)


class JSONWire:
    """One line of JSON a message, bytes as lower-case hex: to look at, and for other languages."""

    name = "json"

    def __init__(self, source, sink):
        self.source, self.sink = source, sink

    def receive(self):
        line = self.source.readline(MESSAGE_LIMIT + 1)
        check_size(len(line))
        if not line.endswith(b"\n"):
            return None
        message = json.loads(line)
        message["objects"] = [(key, bytes.fromhex(payload)) for key, payload in message["objects"]]
        return message

    def send(self, message):
        line = json.dumps(plain(message), default=bytes.hex, separators=(",", ":")).encode() + b"\n"
        check_size(len(line))
        self.sink.write(line)


def check_size(size):
    if size > MESSAGE_LIMIT:
        raise SystemExit(f"a message of {size} bytes is over the limit of {MESSAGE_LIMIT}")


# ---------------------------------------------------------------- trees
#
# A search of all states asks for many ops in one and the same state. The path to
# it is walked once; then the store's attributes are put back before each op. A
# store whose attributes cannot all be copied is built anew for each op instead.

IMMUTABLE = (type(None), bool, int, float, str, bytes)
FREEZE = {
    dict: "tuple({}.items())",
    OrderedDict: "tuple({}.items())",
    list: "tuple({})",
    set: "frozenset({})",
    mmap.mmap: "{}[:]",
}


class Uncopyable(Exception):
    """The store holds something that cannot be put back in place."""


def immutable(value):
    return type(value) in IMMUTABLE or type(value) is tuple and all(map(immutable, value))


class Snapshot:
    """A store's attributes, to be put back as often as wanted.

    They are put back in place, since a store may know one object by two names or
    hold a view of it.
    """

    def __init__(self, store):
        if any(getattr(cls, "__slots__", ()) for cls in type(store).__mro__) or not hasattr(store, "__dict__"):
            raise Uncopyable("attributes outside of __dict__")
        self.attributes = vars(store)
        self.bindings = dict(self.attributes)
        self.mappings, self.rows = [], []
        for name, value in self.bindings.items():
            if immutable(value):
                continue
            if type(value) not in FREEZE:
                raise Uncopyable(f"{name} is a {type(value).__name__}")
            if type(value) is mmap.mmap:
                self.rows.append((value, value[:]))
                continue
            parts = value.values() if isinstance(value, dict) else value
            if not all(map(immutable, parts)):
                raise Uncopyable(f"{name} holds what can change")
            (self.rows if type(value) is list else self.mappings).append((value, value.copy()))
        self.frozen = freezer(self.bindings)

    def restore(self):
        """Puts everything back, and tells whether it could: a closed or resized arena cannot."""
        attributes = self.attributes
        if len(attributes) != len(self.bindings):
            attributes.clear()
        attributes.update(self.bindings)
        for value, kept in self.mappings:
            value.clear()
            value.update(kept)
        try:
            for value, kept in self.rows:
                value[:] = kept
        except (ValueError, IndexError):
            return False
        return True

    def find(self, seen, outcome):
        """The key of all that the store is now and the op gave back, and what seen has for it; None for neither."""
        try:
            if len(self.attributes) == len(self.bindings):
                key = self.frozen(outcome, self.attributes)
                return key, seen.get(key)
        except Exception:
            pass  # an arena is closed, an attribute of another type: there is no key
        return None, None


FREEZERS = {}


def freezer(bindings):
    """A function of an outcome and attributes of these names and types: both as one hashable value.

    It is made as source for the reason that an observer is.
    """
    kinds = tuple((name, type(value)) for name, value in bindings.items())
    if kinds not in FREEZERS:
        parts = [FREEZE.get(kind, "{}").format(f"a[{name!r}]") for name, kind in kinds]
        FREEZERS[kinds] = eval(f"lambda outcome, a: (outcome, {', '.join(parts)})")
    return FREEZERS[kinds]


class Tree:
    """A table of ops, and the branches in which they are tried.

    A branch is (path, tries), both places in the table. What comes back is
    (constructor error or None, leaves, places): the leaves are what the store
    showed, each different one once, and the first is the state itself; the
    places say which leaf each try led to. A leaf is (outcome, state, contents,
    memory): the bytes of all stored keys, in the order of the state, and what
    the store keeps beside its layout that a new store does not have.
    """

    def __init__(self, box, slots, object_nbytes, ops, objects):
        self.box, self.slots, self.object_nbytes, self.ops, self.objects = box, slots, object_nbytes, ops, objects
        self.copies = box.copies
        self.performed = self.rebuilt = 0
        fresh, _ = construct(box.cls, slots, object_nbytes)
        self.fresh = dict(getattr(fresh, "__dict__", {}))

    def reach(self, prefix):
        store, refused = construct(self.box.cls, self.slots, self.object_nbytes)
        if store is not None:
            for op in prefix:
                perform(store, op, self.objects)
            self.performed += len(prefix)
        return store, refused

    def snapshot(self, store):
        if self.copies:
            try:
                return Snapshot(store)
            except (Uncopyable, ValueError):
                self.copies = False
        return None

    def leaf(self, store, ops, outcome):
        """Looks at the store. It disturbs it."""
        sequence = (self.slots, self.object_nbytes, ops)
        state = self.box.state(store, sequence, len(ops), self.objects)
        memory = self.box.memory(store, self.fresh)
        keys = state[0] if state[1] is None else state[1]
        contents = perform(store, (GET, keys), self.objects)
        return (outcome, state, contents if isinstance(contents, bytes) else None, memory)

    def branch(self, path, tries):
        prefix = [self.ops[i] for i in path]
        store, refused = self.reach(prefix)
        if store is None:
            return (refused, [], [])
        snapshot = self.snapshot(store)
        leaves, places, seen = [self.leaf(store, prefix, None)], [], {}
        for i in tries:
            op = self.ops[i]
            if snapshot is None or not snapshot.restore():
                store, _ = self.reach(prefix)
                self.rebuilt += 1
                snapshot = self.snapshot(store)
            outcome = perform(store, op, self.objects)
            key, place = (None, None) if snapshot is None else snapshot.find(seen, outcome)
            if place is None:
                leaf = self.leaf(store, prefix + [op], outcome)
                key = repr(leaf) if key is None else key
                place = seen.setdefault(key, len(leaves))
                if place == len(leaves):
                    leaves.append(leaf)
            places.append(place)
        self.performed += len(tries)
        if snapshot is not None and tries and not self.confirmed(prefix, self.ops[tries[-1]], leaves[places[-1]]):
            self.copies = False
            return self.branch(path, tries)
        return (None, leaves, places)

    def confirmed(self, prefix, op, want):
        """Whether a store built anew shows the same: one that keeps state elsewhere may not."""
        store, _ = self.reach(prefix)
        self.performed += 1
        return self.leaf(store, prefix + [op], perform(store, op, self.objects)) == want


def grow(box, request, objects):
    """The answer to a request for branches. The table of ops is sent once and kept."""
    slots, object_nbytes, ops, branches = request
    if ops is not None:
        box.tree = Tree(box, slots, object_nbytes, ops, objects)
    tree = box.tree
    tree.performed = tree.rebuilt = 0
    shown = [tree.branch(path, tries) for path, tries in branches]
    return {"branches": shown, "performed": tree.performed, "rebuilt": tree.rebuilt}


# ---------------------------------------------------------------- serving


def answer(box, request, wire):
    """One request: its sequences, each in a fresh store."""
    objects = [box.make(key, payload) for key, payload in request["objects"]]
    if "tree" in request:
        return grow(box, request["tree"], objects)
    stepwise, hashes, watched = request.get("stepwise"), request.get("hashes"), request.get("watched", ())
    if not stepwise and not hashes:
        run = box.run
        return {"runs": [run(sequence, objects) for sequence in request["sequences"]]}
    runs = []
    for sequence in request["sequences"]:
        steps = []
        emit = steps.append
        if stepwise:
            def emit(step):
                wire.send({"step": step})
        refused = box.walk(sequence, objects, watched if hashes else None, emit, request.get("blind"))
        runs.append((refused, steps))
    return {"runs": runs}


def hello(config):
    """Loads what the configuration names: the box to run, and what to say of it."""
    module, source, stubbed = load_module(config)
    cls = find_class(module, config.get("class"))
    make = object_class(module)
    layout = None if config.get("black_box") else pick_layout(cls, make)
    box = WhiteBox(cls, make, layout) if layout else BlackBox(cls, make)
    return box, {
        "diffstore_protocol": PROTOCOL,
        "python": "{}.{}.{}".format(*sys.version_info),
        "implementation": sys.implementation.name,
        "class": cls.__name__,
        "path": module.__file__,
        "sha256": hashlib.sha256(source.encode()).hexdigest(),
        "stubbed": stubbed,
        "adapter": box.name,
        "sees": box.sees,
        "hashes": True,
        "trees": True,
        "copies": box.copies,
        "looks": box.looks,
        "wire": config.get("wire") or MarshalWire.name,
    }


def main():
    if sys.version_info < (3, 9):
        message = "Python {}.{} is too old: the oracle needs 3.9 or newer".format(*sys.version_info)
        print(json.dumps({"diffstore_protocol": PROTOCOL, "error": {"kind": "python", "message": message}}))
        return 3
    # The protocol keeps the two pipes; a store that prints or reads meets stderr and nothing.
    source = os.fdopen(os.dup(0), "rb", 1 << 20)
    sink = os.fdopen(os.dup(1), "wb", 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started us decides when we end
    line = source.readline(MESSAGE_LIMIT)
    try:
        config = json.loads(line)
        if config.get("diffstore_protocol") != PROTOCOL:
            raise Refusal("protocol", f"this oracle speaks protocol {PROTOCOL}, not {config.get('diffstore_protocol')}")
        box, greeting = hello(config)
    except Refusal as refusal:
        greeting = {"diffstore_protocol": PROTOCOL, "error": {"kind": refusal.kind, "message": str(refusal)}}
        sink.write(json.dumps(greeting).encode() + b"\n")
        return 3
    sink.write(json.dumps(greeting).encode() + b"\n")
    wire = (JSONWire if greeting["wire"] == JSONWire.name else MarshalWire)(source, Sink(sink))
    gc.disable()  # a store makes no cycles; what errors leave behind is collected between requests
    served = 0
    while True:
        request = wire.receive()
        if request is None:
            return 0
        wire.send(answer(box, request, wire))
        served += 1
        if served % COLLECT_EVERY == 0:
            gc.collect()


class Sink:
    """A raw pipe that takes what it can: writes all of it."""

    def __init__(self, raw):
        self.raw = raw

    def write(self, data):
        view = memoryview(data)
        while view:
            view = view[self.raw.write(view):]


if __name__ == "__main__":
    sys.exit(main())
