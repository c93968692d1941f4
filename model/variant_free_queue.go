package model

// freeQueue is the store whose LRU holds only unreferenced keys. It differs from
// main after a KeyError alone: a key that the call released before it failed has
// joined the tail already.
var freeQueue = variant{name: "free-queue", restore: restoreAtTail}

func restoreAtTail(s *Store) {
	for _, e := range s.terminal {
		if s.entries[e].stored() {
			s.touch(e)
		}
	}
}
