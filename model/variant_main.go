package model

import "slices"

// mainVariant is the store of vLLM's main branch and its 0.31 and 0.32
// releases: one order holds referenced and unreferenced keys, so a key that
// loses its last reference in a call that then fails is where it was before.
var mainVariant = variant{name: "main", restore: restoreByStamp}

// restoreByStamp puts the released keys back at their old places. The stamp of a
// referenced key is its place in the order that the queue is a part of.
//
// This is the one path that walks the queue: with r released keys it costs a
// sort of r and one walk from the head to the last of them, at most the queue.
func restoreByStamp(s *Store) {
	slices.SortFunc(s.terminal, s.byStamp)
	at := s.entries[root].next
	for _, e := range s.terminal {
		if !s.entries[e].stored() {
			continue
		}
		for at != root && s.entries[at].stamp < s.entries[e].stamp {
			at = s.entries[at].next
		}
		s.linkBefore(at, e)
	}
}
