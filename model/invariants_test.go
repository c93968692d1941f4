package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/diffstore/diffstore/op"
)

// sound gives a state of n stored keys, every third of them referenced, without
// anything wrong; it is the beginning of every case below.
func sound(n int) op.State {
	s := op.State{Sees: op.SeesAll, Free: []int{n, n + 1}, Next: n + 2, Total: n}
	for i := range n {
		key := fmt.Sprintf("k%d", i)
		s.Entries = append(s.Entries, op.Entry{Key: key, Slot: i})
		if i%3 == 0 {
			s.Refs = append(s.Refs, op.Ref{Key: key, Count: 1})
		} else {
			s.Queue = append(s.Queue, key)
		}
	}
	s.Entries[1].Slot = op.Unallocated
	s.Entries[2].Slot = op.Unallocated
	s.Refs = append(s.Refs, op.Ref{Key: "absent", Count: 2})
	s.TotalRefs = len(s.Refs)
	return s
}

func TestInvariants(t *testing.T) {
	cases := []struct {
		name  string
		spoil func(s *op.State)
		want  string // part of the complaint; empty for none
		blind op.Sees
	}{
		{name: "sound", spoil: func(*op.State) {}},
		{"one key too many", func(s *op.State) { s.Entries = append(s.Entries, op.Entry{Key: "z", Slot: op.Unallocated}) }, "keys are stored in", 0},
		{"stored twice", func(s *op.State) { s.Entries[4].Key = "k3" }, "key k3 is stored twice", 0},
		{"two owners", func(s *op.State) { s.Entries[4].Slot = 3 }, "slot 3 of key k4 has two owners", op.SeesSlots},
		{"free twice", func(s *op.State) { s.Free[1] = s.Free[0] }, "is free twice", op.SeesSlots},
		{"owned and free", func(s *op.State) { s.Free[1] = 4 }, "slot 4 is both owned and free", op.SeesSlots},
		{"no count", func(s *op.State) { s.Refs[1].Count = 0 }, "key k3 is kept with 0 references", op.SeesRefs},
		{"two counts", func(s *op.State) { s.Refs[1].Key = "k0" }, "key k0 has two counts", op.SeesRefs},
		{"twice in the queue", func(s *op.State) { s.Queue[1] = s.Queue[0] }, "key k1 stands twice in the queue", op.SeesQueue},
		{"queued, not stored", func(s *op.State) { s.Queue[1] = "ghost" }, "key ghost is in the queue but not stored", op.SeesQueue},
		{"queued, referenced", func(s *op.State) { s.Queue = append(s.Queue, "k3") }, "key k3 is in the queue but has references", op.SeesQueue},
		{"not queued", func(s *op.State) { s.Queue = s.Queue[1:] }, "key k1 has no references but is not in the queue", op.SeesQueue},
	}
	for _, n := range []int{6, 60} { // searched lists and indexed ones
		for _, c := range cases {
			t.Run(fmt.Sprintf("%s of %d", c.name, n), func(t *testing.T) {
				state := sound(n)
				c.spoil(&state)
				err := Invariants(&state, n)
				if c.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
				if c.blind == 0 {
					return
				}
				state.Sees &^= c.blind
				if err := Invariants(&state, n); err != nil {
					t.Errorf("judged without sight: %v", err)
				}
			})
		}
	}
}

func TestInvariantsOfParts(t *testing.T) {
	unbounded := sound(6)
	if err := Invariants(&unbounded, 0); err != nil {
		t.Errorf("a store without bound: %v", err)
	}
	part := op.State{Sees: op.SeesRefs | op.SeesQueue | op.SeesPart, Total: 9, Entries: []op.Entry{{Key: "a", Slot: op.Allocated}, {Key: "b", Slot: op.Allocated}}}
	if err := Invariants(&part, 9); err != nil {
		t.Errorf("a part says nothing of the queue: %v", err)
	}
	if err := Invariants(&part, 8); err == nil {
		t.Error("the total of a part is above the slots")
	}
}
