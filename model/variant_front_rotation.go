package model

import (
	"slices"
)

// frontRotation is main with one addition: a put that has to evict first moves
// the referenced keys at the front of the order to its end. The queue of
// unreferenced keys is the same; the new places show when such a key is released
// by a call that then fails.
//
// Moving the keys would cost as much as rescanning them. A rotation is only
// noted, and the notes are applied when places are asked for or the notes
// outnumber the stored keys; spread over the puts this costs a sort's share.
var frontRotation = variant{
	name:           "front-rotation",
	beforeEviction: noteRotation,
	restore: func(s *Store) {
		applyRotations(s)
		restoreByStamp(s)
	},
}

// rotation notes that every key whose stamp was below before moved, in order, to
// the stamps from to on. It says nothing of unreferenced keys because before is
// the stamp of the first of them.
type rotation struct {
	before, to uint64
}

func noteRotation(s *Store) {
	front := s.entries[root].next
	if front == root || s.referenced == 0 {
		return
	}
	before := s.entries[front].stamp
	if n := len(s.rotations); n > 0 && before <= s.rotations[n-1].before {
		return // nothing has come to stand below the last rotation's bound
	}
	s.rotations = append(s.rotations, rotation{before: before, to: s.clock})
	s.clock += uint64(s.stored) // room for the stamps of all that can have moved
	if len(s.rotations) > s.stored+64 {
		applyRotations(s)
	}
}

// rope is a run of unlinked entries joined by their next fields, which stand at
// the stamps from start on.
type rope struct {
	start       uint64
	first, last int32
}

// applyRotations gives every stored key outside the queue the stamp that the
// noted rotations moved it to, and forgets them. With n such keys and m notes it
// costs a sort of n and n + m steps beside a walk over the entries.
func applyRotations(s *Store) {
	if len(s.rotations) == 0 {
		return
	}
	keys := s.order[:0]
	for e := int32(1); int(e) < len(s.entries); e++ {
		if s.entries[e].stored() && !s.entries[e].linked() {
			keys = append(keys, e)
		}
	}
	slices.SortFunc(keys, s.byStamp)
	s.order = keys
	// Two rows hold all keys in order: those that never moved, and the ropes of
	// those that did. A rotation takes from the front of both what is below its
	// bound and ends the second row with one new rope.
	ropes := s.ropes[:0]
	head := 0
	for _, r := range s.rotations {
		moved := rope{start: r.to, first: root}
		for {
			key := len(keys) > 0 && s.entries[keys[0]].stamp < r.before
			if head < len(ropes) && ropes[head].start < r.before && (!key || ropes[head].start < s.entries[keys[0]].stamp) {
				s.join(&moved, ropes[head].first, ropes[head].last)
				head++
			} else if key {
				s.join(&moved, keys[0], keys[0])
				keys = keys[1:]
			} else {
				break
			}
		}
		if moved.first != root {
			ropes = append(ropes, moved)
		}
	}
	for _, r := range ropes[head:] {
		for e, stamp := r.first, r.start; ; e, stamp = s.entries[e].next, stamp+1 {
			s.entries[e].stamp = stamp
			if e == r.last {
				break
			}
		}
	}
	s.ropes = ropes[:0]
	s.rotations = s.rotations[:0]
}

// join appends a run of unlinked entries to a rope.
func (s *Store) join(r *rope, first, last int32) {
	if r.first == root {
		r.first = first
	} else {
		s.entries[r.last].next = first
	}
	r.last = last
}
