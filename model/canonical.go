package model

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/diffstore/diffstore/op"
)

// Canonical appends to dst an encoding of everything that decides what the store
// will do from here on, with its keys made anonymous: two open stores of one
// variant have equal encodings exactly when a renaming of the keys, and of the
// payloads of each key, makes the one the other.
//
// It holds whether the store is closed, its slots, the next unused slot, the
// free stack, and of every stored key in the order of their age, referenced ones
// in between, its slot, its references and whether the slot's bytes are its own;
// then the references of keys that are not stored. Bytes of slots that no key
// owns are left out: a slot is written in full before it is read.
//
// own tells whether bytes are a payload that some put brings for the key; such
// bytes are not part of the encoding, others are. keys receives the keys in the
// order of the encoding: the stored ones from the oldest on, then referenced
// ones that are not stored, by count and then by text. Both slices are
// appended to; the texts share the store's memory like those of Victims.
//
// It costs a sort of the keys, so it is for small stores.
func (s *Store) Canonical(dst []byte, own func(key string, bytes []byte) bool, keys []string) (encoding []byte, names []string) {
	applyRotations(s)
	dst = append(dst, flag(s.closed))
	dst = binary.AppendUvarint(dst, uint64(s.slots))
	dst = binary.AppendUvarint(dst, uint64(s.next))
	dst = binary.AppendUvarint(dst, uint64(len(s.free)))
	for _, slot := range s.free {
		dst = binary.AppendUvarint(dst, uint64(slot))
	}
	dst = binary.AppendUvarint(dst, uint64(s.stored))
	for _, index := range s.byAge() {
		e := &s.entries[index]
		key := s.texts.view(index, e)
		keys = append(keys, key)
		if e.slot == absent {
			dst = binary.AppendUvarint(dst, uint64(e.refs))
			continue
		}
		dst = binary.AppendUvarint(dst, uint64(e.slot-zombie))
		dst = binary.AppendUvarint(dst, uint64(e.refs))
		bytes := s.bytesOf(e)
		if len(bytes) == 0 || own(key, bytes) {
			dst = append(dst, 0)
			continue
		}
		dst = append(dst, 1)
		dst = append(dst, bytes...)
	}
	return dst, keys
}

// byAge lists the stored keys from the oldest on, then the referenced keys that
// are not stored, by count and text. It is valid until the next call.
func (s *Store) byAge() []int32 {
	list := s.order[:0]
	for i := int32(1); int(i) < len(s.entries); i++ {
		if e := &s.entries[i]; e.stored() || e.slot == absent {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b int32) int {
		x, y := &s.entries[a], &s.entries[b]
		switch {
		case x.stored() != y.stored():
			if x.stored() {
				return -1
			}
			return 1
		case x.stored():
			return s.byStamp(a, b)
		}
		return cmp.Or(cmp.Compare(x.refs, y.refs), cmp.Compare(s.texts.view(a, x), s.texts.view(b, y)))
	})
	s.order = list
	return list
}

func flag(on bool) byte {
	if on {
		return 1
	}
	return 0
}

// bytesOf gives what a stored key reads as; a zombie has no bytes.
func (s *Store) bytesOf(e *entry) []byte {
	if e.slot == zombie {
		return nil
	}
	return s.arena.slot(e.slot, s.objectBytes)
}

// Peek gives the bytes that a stored key reads as, without making it young. They
// are none for a key that is not stored, for one without a slot and for one
// whose slot lies past the arena. The slice is the store's own.
func (s *Store) Peek(key string) []byte {
	index := s.find(key, s.tagOf(key))
	if index == root || !s.entries[index].stored() {
		return nil
	}
	return s.bytesOf(&s.entries[index])
}

// SlotOf gives the slot of a key as an op.Entry states it, hidden ones of a
// variant that does not show its slots included; Allocated is never given, and a
// key that is not stored has no slot.
func (s *Store) SlotOf(key string) int {
	index := s.find(key, s.tagOf(key))
	if index == root || !s.entries[index].stored() {
		return op.Unallocated
	}
	return int(s.entries[index].slot)
}

// FreeSlots appends the stack of free slots to dst, top last.
func (s *Store) FreeSlots(dst []int) []int {
	for _, slot := range s.free {
		dst = append(dst, int(slot))
	}
	return dst
}

// Closed tells whether the store was closed.
func (s *Store) Closed() bool { return s.closed }

// Next is the next slot never used; it passes Slots when slots were lost.
func (s *Store) Next() int { return s.next }

// Become makes the store a copy of another one, of any variant, on the memory it
// has. It costs in proportion to the other store, so it is for small ones.
func (s *Store) Become(other *Store) error {
	if err := s.arena.reset(len(other.arena.bytes), 1); err != nil {
		return err
	}
	copy(s.arena.bytes, other.arena.bytes)
	s.variant, s.slots, s.objectBytes, s.closed = other.variant, other.slots, other.objectBytes, other.closed
	s.stored, s.referenced, s.clock, s.next = other.stored, other.referenced, other.clock, other.next
	s.entries = append(s.entries[:0], other.entries...)
	s.idleHead = other.idleHead
	s.lately, s.joined = other.lately, other.joined
	s.table.cells = append(s.table.cells[:0], other.table.cells...)
	s.table.used = other.table.used
	if other.texts.arena != nil {
		s.texts = other.texts.clone()
	} else {
		s.texts.arena = nil
		s.texts.plain = append(s.texts.plain[:0], other.texts.plain...)
	}
	s.free = append(s.free[:0], other.free...)
	s.rotations = append(s.rotations[:0], other.rotations...)
	s.victims = append(s.victims[:0], other.victims...)
	s.dead = append(s.dead[:0], other.dead...)
	return nil
}
