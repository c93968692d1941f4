package model

import "github.com/diffstore/diffstore/op"

// Get appends the payloads of the keys to dst, in call order with repeats, and
// then moves the keys to the tail of the order. A zombie has no bytes. Its errors
// are *ClosedError and *MissingError; after one, dst comes back as it was and
// nothing has moved.
func (s *Store) Get(keys []string, dst []byte) ([]byte, error) {
	dst, done := s.get(keys, dst)
	if done {
		return dst, nil
	}
	return dst, s.failure.asError(s.variant)
}

// get tells whether it succeeded; s.failure says why not.
func (s *Store) get(keys []string, dst []byte) ([]byte, bool) {
	s.victims = s.victims[:0]
	if s.closed {
		return dst, s.fail(failure{kind: op.ClosedError})
	}
	s.found = s.found[:0]
	for _, key := range keys {
		index := s.find(key, s.tagOf(key))
		if index == root || !s.entries[index].stored() {
			return dst, s.fail(failure{kind: op.MissingError, used: s.stored, limit: s.slots})
		}
		s.found = append(s.found, index)
	}
	for _, index := range s.found {
		if slot := s.entries[index].slot; slot != zombie {
			dst = append(dst, s.arena.slot(slot, s.objectBytes)...)
		}
	}
	for _, index := range s.found {
		s.touch(index)
	}
	return dst, true
}
