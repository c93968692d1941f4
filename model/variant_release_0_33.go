package model

import "slices"

// release033 is the store of vLLM 0.33.0. It grows, and a put starts by taking
// out the batch keys that are stored without references, so it writes them anew,
// and a KeyError leaves them gone.
//
// That store frees those keys' slots in the order of a Python set, which differs
// from run to run, so slot numbers are not observed. It shows elsewhere in one
// case only: when slots past the end of the arena are in play (after payloads of
// a wrong size), which key of a batch draws such a slot, and with it which
// payload is refused, is chance in the original; here the batch order decides.
var release033 = variant{
	name:          "release-0.33",
	begin:         dropUnreferencedBatch,
	restore:       restoreAtTail,
	afterKeyError: reportDropped,
	grows:         true,
	hidesSlots:    true,
	rewrites:      true,
	plainMissing:  true,
}

func dropUnreferencedBatch(s *Store) {
	for _, b := range s.batch {
		if e := &s.entries[b.entry]; e.stored() && e.refs == 0 {
			s.unlink(b.entry)
			s.freeSlot(e.slot)
			e.slot = absent
			e.dropped = true
			s.stored--
		}
	}
}

// reportDropped names the keys that the failed call took out and did not put
// back, in the order of the queue they left: they are gone like victims.
func reportDropped(s *Store) {
	for _, b := range s.batch {
		if s.entries[b.entry].dropped {
			s.victims = append(s.victims, b.entry)
		}
	}
	slices.SortFunc(s.victims, s.byStamp)
}
