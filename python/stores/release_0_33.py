"""An in-process store of fixed-size objects that answers as vLLM 0.33.0's does.

Written for this project from what that release can be seen to do. It is the
store of growing.py with two changes: a put starts by forgetting the batch keys
that are stored without references, so their bytes are written anew, and the
message for a missing object gives no advice.
"""

import mmap
from collections import OrderedDict
from dataclasses import dataclass
from itertools import islice

# The slot of a stored key that was never written.
NO_SLOT = -1


@dataclass(frozen=True)
class BlockObject:
    """One object: its key and its bytes."""

    key: str
    payload: bytes


class BlockObjectStoreError(RuntimeError):
    """The store lacks an object it was asked for."""


class BlockObjectStore:
    """Keeps objects until their room is needed; keys with references stay.

    Not safe for threads. Everything an operation did before it raised stays
    done. max_bytes is only what the store begins with; num_slots is what it has.
    """

    def __init__(self, *, max_bytes, object_nbytes):
        if object_nbytes <= 0:
            raise ValueError("auxiliary output object size must be positive")
        if max_bytes < object_nbytes:
            raise ValueError("auxiliary output store must fit at least one object")
        self.num_slots = max_bytes // object_nbytes
        self.object_nbytes = object_nbytes
        # Every stored key with its slot, in no order that matters.
        self._slot_of = {}
        # The stored keys without references, the next to be evicted first.
        self._queue = OrderedDict()
        # References by key, above zero; a key need not be stored to have some.
        self._counts = {}
        # Slots to use again, the last one first, then those from _next on.
        self._free = []
        self._next = 0
        self._arena = mmap.mmap(-1, self.num_slots * object_nbytes)

    def put(self, objects, *, retain_keys=(), release_keys=()):
        """Takes references, gives some back, then stores objects.

        Only a key that had references before the call keeps the bytes it has.

        Raises KeyError for a released key without references, and IndexError for
        a new payload that does not fill its slot exactly.
        """
        self._check_open()
        payloads = {item.key: item.payload for item in objects}
        for key in payloads:
            if key in self._queue:
                self._evict(key)
        self._retain(retain_keys)
        terminal = self._release(release_keys)
        for key in payloads:
            self._slot_of.setdefault(key, NO_SLOT)
            if key not in self._counts:
                self._queue[key] = None
                self._queue.move_to_end(key)
        for key in terminal:
            if key in self._queue:
                self._queue.move_to_end(key)
        self._make_room(payloads, terminal)
        self._write(payloads)

    def get_concatenated(self, keys):
        """The bytes of all keys in call order; raises before any effect if one is missing."""
        self._check_open()
        for key in keys:
            if key not in self._slot_of:
                raise BlockObjectStoreError(
                    "auxiliary output object does not exist; the object may have been evicted "
                    f"(used={len(self._slot_of)}, limit={self.num_slots} objects)."
                )
        payload = b"".join(self._read(self._slot_of[key]) for key in keys)
        for key in keys:
            if key in self._queue:
                self._queue.move_to_end(key)
        return payload

    def close(self):
        """Gives the memory back. Closing again does nothing; everything else raises from now on."""
        arena, self._arena = self._arena, None
        if arena is not None:
            arena.close()

    def _check_open(self):
        if self._arena is None:
            raise RuntimeError("auxiliary output store is closed")

    def _retain(self, keys):
        for key in keys:
            self._counts[key] = self._counts.get(key, 0) + 1
            self._queue.pop(key, None)

    def _release(self, keys):
        """Drops one reference a key; the keys left with none, in order."""
        terminal = []
        for key in keys:
            count = self._counts[key] - 1
            if count > 0:
                self._counts[key] = count
            else:
                del self._counts[key]
                terminal.append(key)
                if key in self._slot_of:
                    self._queue[key] = None
        return terminal

    def _make_room(self, payloads, terminal):
        """Evicts what is stored beyond the slots, and grows for what cannot be evicted."""
        excess = len(self._slot_of) - self.num_slots
        if excess <= 0:
            return
        protected = payloads.keys() - terminal
        eligible = (key for key in self._queue if key not in protected)
        for key in list(islice(eligible, excess)):
            self._evict(key)
        if len(self._slot_of) > self.num_slots:
            self._grow(max(len(self._slot_of), 2 * self.num_slots))

    def _evict(self, key):
        del self._queue[key]
        slot = self._slot_of.pop(key)
        if slot != NO_SLOT:
            self._free.append(slot)

    def _grow(self, num_slots):
        """Moves the bytes to an arena of num_slots slots."""
        before = self._arena
        self._arena = mmap.mmap(-1, num_slots * self.object_nbytes)
        self._arena.write(before)
        before.close()
        self.num_slots = num_slots

    def _write(self, payloads):
        """Gives each batch key that is stored without a slot its slot and bytes."""
        for key, payload in payloads.items():
            if self._slot_of.get(key) == NO_SLOT:
                slot = self._take_slot()
                start = slot * self.object_nbytes
                self._arena[start : start + self.object_nbytes] = payload
                # Only now: a payload that does not fit loses the slot, not the key.
                self._slot_of[key] = slot

    def _take_slot(self):
        if self._free:
            return self._free.pop()
        slot = self._next
        self._next += 1
        return slot

    def _read(self, slot):
        if slot == NO_SLOT:
            return b""
        start = slot * self.object_nbytes
        return self._arena[start : start + self.object_nbytes]
