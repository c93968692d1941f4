"""A bounded in-process store of fixed-size objects: referenced keys in front go last.

Written for this project from a description of the prime-rl patch. One order
holds every key, as in main.py; a put that has to evict first moves the
referenced keys at the front to the end, so that the next one does not pass over
them again.
"""

import mmap
from collections import OrderedDict
from dataclasses import dataclass
from itertools import islice, takewhile

# The slot of a stored key that was never written.
NO_SLOT = -1


@dataclass(frozen=True)
class BlockObject:
    """One object: its key and its bytes."""

    key: str
    payload: bytes


class BlockObjectStoreError(RuntimeError):
    """The store has no room for a batch, or lacks an object it was asked for."""


class BlockObjectStore:
    """Keeps objects until their room is needed; keys with references stay.

    Not safe for threads. Everything an operation did before it raised stays
    done, except where a method says otherwise.
    """

    def __init__(self, *, max_bytes, object_nbytes):
        if object_nbytes <= 0:
            raise ValueError("auxiliary output object size must be positive")
        if max_bytes < object_nbytes:
            raise ValueError("auxiliary output store must fit at least one object")
        self.num_slots = max_bytes // object_nbytes
        self.object_nbytes = object_nbytes
        # Every stored key with its slot, the next to be evicted first.
        self._order = OrderedDict()
        # References by key, above zero; a key need not be stored to have some.
        self._counts = {}
        # Slots to use again, the last one first, then those from _next on.
        self._free = []
        self._next = 0
        self._arena = mmap.mmap(-1, self.num_slots * object_nbytes)

    def put(self, objects, *, retain_keys=(), release_keys=()):
        """Takes references, gives some back, then stores what is new of objects.

        Raises KeyError for a released key without references,
        BlockObjectStoreError when too few keys can be evicted, and IndexError
        for a new payload that does not fill its slot exactly.
        """
        self._check_open()
        payloads = {item.key: item.payload for item in objects}
        self._retain(retain_keys)
        terminal = self._release(release_keys)
        for key in payloads:
            self._order.setdefault(key, NO_SLOT)
            self._order.move_to_end(key)
        for key in terminal:
            if key in self._order:
                self._order.move_to_end(key)
        self._make_room(payloads, terminal)
        self._write(payloads)

    def get_concatenated(self, keys):
        """The bytes of all keys in call order; raises before any effect if one is missing."""
        self._check_open()
        for key in keys:
            if key not in self._order:
                raise BlockObjectStoreError(
                    "auxiliary output object does not exist; the object may have been evicted "
                    f"(used={len(self._order)}, limit={self.num_slots} objects). "
                    "Increase aux_output_config.max_bytes when a KV cache hit requires it."
                )
        payload = b"".join(self._read(self._order[key]) for key in keys)
        for key in keys:
            self._order.move_to_end(key)
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
        return terminal

    def _make_room(self, payloads, terminal):
        """Evicts what is stored beyond the slots, or takes the new keys out again and raises."""
        excess = len(self._order) - self.num_slots
        if excess <= 0:
            return
        self._rotate_front()
        protected = payloads.keys() - terminal
        eligible = (key for key in self._order if key not in self._counts and key not in protected)
        victims = list(islice(eligible, excess))
        if len(victims) < excess:
            for key in payloads:
                if self._order[key] == NO_SLOT:
                    del self._order[key]
            raise BlockObjectStoreError(
                f"auxiliary output store cannot retain the requested batch: limit={self.num_slots} objects"
            )
        for key in victims:
            self._evict(key)

    def _evict(self, key):
        slot = self._order.pop(key)
        if slot != NO_SLOT:
            self._free.append(slot)

    def _rotate_front(self):
        """Moves the referenced keys before the first unreferenced one to the end, in their order."""
        for key in list(takewhile(self._counts.__contains__, self._order)):
            self._order.move_to_end(key)

    def _write(self, payloads):
        """Gives each batch key that is stored without a slot its slot and bytes."""
        for key, payload in payloads.items():
            if self._order.get(key) == NO_SLOT:
                slot = self._take_slot()
                start = slot * self.object_nbytes
                self._arena[start : start + self.object_nbytes] = payload
                # Only now: a payload that does not fit loses the slot, not the key.
                self._order[key] = slot

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
