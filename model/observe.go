package model

import "github.com/diffstore/diffstore/op"

// Observe describes the whole store in dst, on the memory of dst's slices. The
// entries start with the queue in its order; behind it and among the references
// the order is the same in every run. It costs in proportion to the store, and in
// a store of more than 4096 slots it copies the keys.
func (s *Store) Observe(dst *op.State) {
	s.blank(dst, op.SeesAll)
	for index := s.entries[root].next; index != root; index = s.entries[index].next {
		e := &s.entries[index]
		key := s.texts.key(index, e)
		dst.Queue = append(dst.Queue, key)
		dst.Entries = append(dst.Entries, op.Entry{Key: key, Slot: s.shown(e.slot)})
	}
	if s.referenced > 0 {
		for i := range s.entries {
			if e := &s.entries[i]; e.refs > 0 {
				s.observe(int32(i), e, s.texts.key(int32(i), e), dst)
			}
		}
	}
	if s.variant.hidesSlots {
		dst.Sees &^= op.SeesSlots
		return
	}
	for _, slot := range s.free {
		dst.Free = append(dst.Free, int(slot))
	}
	dst.Next = s.next
}

// Touched describes in dst only the keys that the op names and those of extra,
// each once: whether they are stored, in which slot, and their references. Free
// stack and queue are not observed; Next, Total and TotalRefs are of the whole
// store. It costs in proportion to those keys and makes no strings.
func (s *Store) Touched(o *op.Op, extra []string, dst *op.State) {
	s.blank(dst, op.SeesRefs|op.SeesZombies|op.SeesSlots|op.SeesPart)
	seen := s.found[:0]
	visit := func(key string) {
		index := s.find(key, s.tagOf(key))
		e := &s.entries[index]
		if index == root || e.batch != 0 {
			return
		}
		e.batch = 1 // no put runs: the mark is free to say that the key was seen
		seen = append(seen, index)
		s.observe(index, e, key, dst)
	}
	o.EachKey(visit)
	for _, key := range extra {
		visit(key)
	}
	for _, index := range seen {
		s.entries[index].batch = 0
	}
	s.found = seen
	if s.variant.hidesSlots {
		dst.Sees &^= op.SeesSlots
	} else {
		dst.Next = s.next
	}
}

// blank empties dst but for the counts, keeping its memory.
func (s *Store) blank(dst *op.State, sees op.Sees) {
	dst.Sees = sees
	dst.Entries, dst.Queue, dst.Refs, dst.Free = dst.Entries[:0], dst.Queue[:0], dst.Refs[:0], dst.Free[:0]
	dst.Next, dst.Total, dst.TotalRefs = 0, s.stored, s.referenced
}

// observe adds what is to be said of one key.
func (s *Store) observe(index int32, e *entry, key string, dst *op.State) {
	if e.stored() {
		dst.Entries = append(dst.Entries, op.Entry{Key: key, Slot: s.shown(e.slot)})
	}
	if e.refs > 0 {
		dst.Refs = append(dst.Refs, op.Ref{Key: key, Count: int(e.refs)})
	}
}

// shown is a slot as an observation states it.
func (s *Store) shown(slot int32) int {
	if slot >= 0 && s.variant.hidesSlots {
		return op.Allocated
	}
	return int(slot)
}
