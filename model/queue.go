package model

import "cmp"

// root is the entry that the queue's ring starts and ends at; it is no key.
const root = 0

// Values of entry.slot below zero.
const (
	zombie = -1 // stored without a slot
	absent = -2 // not stored: the key has references, or a put has just named it
	idle   = -3 // the entry holds no key
)

// unlinked is entry.prev outside the queue.
const unlinked = -1

// entry is one key that is stored, has references, or both. Entries hold no
// pointers, so that the collector passes over a million of them at once.
type entry struct {
	// stamp is the key's place in the store's order: the clock at its last move
	// to the tail. It outlives the key's time in the queue, and so says where
	// the key would stand if it were still there.
	stamp uint64
	// text and textLen find the key in a textArena.
	text    uint64
	textLen uint32
	// tag is the key's hash in the table.
	tag uint32
	// prev and next link the queue: the stored keys without references, next
	// victim first.
	prev, next int32
	// ahead is an entry that stood some places further in the queue when it was
	// linked, and may be anywhere now: a hint of what will be needed soon.
	ahead int32
	slot  int32
	refs  int32
	// batch is 1 + the key's index in Store.batch while a put runs, else 0.
	batch int32
	// dropped marks what release-0.33 takes out at the start of a put.
	dropped bool
	// An entry is one cache line long, so that it is waited for once.
	_ [8]byte
}

func (e *entry) stored() bool { return e.slot >= zombie }
func (e *entry) linked() bool { return e.prev != unlinked }

// touch moves a stored key to the tail of the order, which is the tail of the
// queue for a key without references.
func (s *Store) touch(index int32) {
	e := &s.entries[index]
	e.stamp = s.clock
	s.clock++
	if e.refs != 0 {
		return
	}
	if e.linked() {
		s.unlink(index)
	}
	s.linkBefore(root, index)
	if s.far() {
		s.noteTail(index)
	}
}

// linkBefore puts an unlinked entry in front of another one of the ring; in
// front of the root is the tail.
func (s *Store) linkBefore(at, index int32) {
	prev := s.entries[at].prev
	s.entries[index].prev = prev
	s.entries[index].next = at
	s.entries[prev].next = index
	s.entries[at].prev = index
}

func (s *Store) unlink(index int32) {
	e := &s.entries[index]
	s.entries[e.prev].next = e.next
	s.entries[e.next].prev = e.prev
	e.prev = unlinked
}

// byStamp compares two entries by their place in the order.
func (s *Store) byStamp(a, b int32) int {
	return cmp.Compare(s.entries[a].stamp, s.entries[b].stamp)
}
