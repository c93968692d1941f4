"""A differential fuzz script as authors of such changes write it.

One process makes random calls, runs two stores and compares their attributes
after every call. Both stores are the same file here, which is the cheapest case:
nothing is ever found.
"""

import random
import time
from operator import attrgetter

from arm import Store, serve


def prepare(order):
    base, head = Store(order["store"]), Store(order["store"])
    look_base, look_head = look(base.parts()), look(head.parts())

    def run(_):
        draw = random.Random(order["seed"])
        began = time.perf_counter()
        total = 0
        for _ in range(order["sequences"]):
            total += sequence(draw, base, head, look_base, look_head, order["ops"])
        return {"ops": total, "seconds": time.perf_counter() - began}

    return run


def look(layout):
    return attrgetter(layout["order"], layout["slots"], layout["refs"], layout["free"], layout["next"])


def sequence(draw, base, head, look_base, look_head, ops):
    slots, object_nbytes = draw.randint(1, 10), draw.choice((1, 2, 4, 8))
    left, right = base.new(slots, object_nbytes), head.new(slots, object_nbytes)
    keys = [f"k{i}" for i in range(2 * slots + 3)]
    held = []
    for _ in range(ops):
        if draw.random() < 0.3:
            names = [draw.choice(keys) for _ in range(draw.randint(0, 4))]
            same(outcome(left.get_concatenated, names), outcome(right.get_concatenated, names))
        else:
            batch = [(draw.choice(keys), draw.randbytes(object_nbytes)) for _ in range(draw.randint(0, 4))]
            retain = [key for key, _ in batch if draw.random() < 0.5]
            held += retain
            release = [held.pop(draw.randrange(len(held))) for _ in range(draw.randint(0, 3)) if held]
            same(
                outcome(left.put, [base.make(*pair) for pair in batch], retain_keys=retain, release_keys=release),
                outcome(right.put, [head.make(*pair) for pair in batch], retain_keys=retain, release_keys=release),
            )
        compare(look_base(left), look_head(right))
    return ops


def outcome(call, *arguments, **keywords):
    try:
        return call(*arguments, **keywords)
    except Exception as error:
        return type(error).__name__, str(error)


def same(left, right):
    if left != right:
        raise SystemExit(f"the stores differ: {left!r} and {right!r}")


def compare(left, right):
    """Stored keys with their slots, references, queue, free slots."""
    order_l, slots_l, refs_l, free_l, next_l = left
    order_r, slots_r, refs_r, free_r, next_r = right
    same(dict(slots_l), dict(slots_r))
    same(refs_l, refs_r)
    same([key for key in order_l if key not in refs_l], [key for key in order_r if key not in refs_r])
    same((free_l, next_l), (free_r, next_r))


serve(prepare)
