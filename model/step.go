package model

import "github.com/diffstore/diffstore/op"

// perform is the model's share of the table of operations: what carries each
// kind out.
var perform = [op.NumKinds]func(s *Store, o *op.Op, dst *op.Outcome){
	op.Put: func(s *Store, o *op.Op, dst *op.Outcome) {
		if !s.put(o.Objects, o.Retain, o.Release) {
			dst.Err = s.failure.kept(s)
		}
	},
	op.Get: func(s *Store, o *op.Op, dst *op.Outcome) {
		payload := s.payload
		s.payload = nil
		if payload == nil {
			payload = []byte{} // an empty payload is one, too
		}
		payload, done := s.get(o.Keys, payload)
		if done {
			dst.Payload = payload
		} else {
			s.payload = payload
			dst.Err = s.failure.kept(s)
		}
	},
	op.Close: func(s *Store, _ *op.Op, _ *op.Outcome) { _ = s.Close() },
}

// Do carries out one op and says in dst what it gave back and evicted, on the
// memory of dst; dst.State is left alone.
func (s *Store) Do(o *op.Op, dst *op.Observation) {
	if dst.Outcome.Payload != nil {
		// The caller gives the buffer up. Only a get needs one, so it waits here.
		s.payload = dst.Outcome.Payload[:0]
	}
	dst.Outcome = op.Outcome{}
	dst.Hashes = 0
	perform[o.Kind](s, o, &dst.Outcome)
	dst.Victims = dst.Victims[:0]
	for _, index := range s.victims {
		dst.Victims = append(dst.Victims, s.texts.key(index, &s.entries[index]))
	}
}

// Step carries out one op and observes everything: outcome, victims, state. It
// uses the memory of dst again, so an observation to keep has to be copied; the
// op.Error in it is never changed later.
func (s *Store) Step(o *op.Op, dst *op.Observation) {
	s.Do(o, dst)
	s.Observe(&dst.State)
}
