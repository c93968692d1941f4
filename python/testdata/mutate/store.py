"""A file to be mutated: every operator has something to do, and traps lie beside."""

import os

STEP = 1
UNUSED = 7


def grow(sizes, by=STEP):
    """Used by the class, so it is changed, too."""
    return [size + by for size in sizes if size]


def unused():
    return UNUSED + 1


class Background:
    """Uses the store, which does not use it."""

    def put(self, objects):
        return len(objects) - 1


class BlockObjectStore:
    """Text is left alone: 1 + 1."""

    limit: int = -1

    def put(self, objects: "list[1]", *, retain_keys=(), release_keys=()) -> "1 < 2":
        if not objects and (retain_keys or release_keys):
            raise ValueError(f"1 + {len(objects)}")
        else:
            sizes = grow(objects)
        for key in retain_keys:
            if key in release_keys:
                continue
            if key is None:
                break
            pair(key, 2)
        while self.limit > 0 and len(sizes) <= 3:
            self.limit -= 1
        try:
            self.head = sizes[1:2]
        finally:
            self.done = True
        return b"" if self.head else sizes[0] * 2 - 1


def pair(first, second):
    return first == second % 2
