package gen

import (
	"cmp"
	"slices"

	"github.com/leanovate/gopter"

	"github.com/diffstore/diffstore/op"
)

// A Pass proposes simpler sequences, most promising first. Every proposal is a
// valid sequence, because ops are total. A pass shares memory with the sequence
// it is given and changes nothing in it.
type Pass struct {
	// Name says what the pass takes away.
	Name string
	// Propose gives the candidates for a sequence.
	Propose func(s op.Sequence) []op.Sequence
}

// Passes are the ways of making a sequence simpler, in the order in which they
// pay: large cuts first, cosmetics last.
var Passes = []Pass{
	{"cut runs of ops", cutRuns},
	{"drop a key everywhere", dropKeys},
	{"drop two ops", dropPairs},
	{"drop list elements", dropElements},
	{"drop two list elements", dropElementPairs},
	{"merge neighbouring calls", mergeNeighbours},
	{"make two keys one", unifyKeys},
	{"fewer slots", fewerSlots},
	{"move an element to a later put", moveElements},
	{"plain payloads", plainPayloads},
	{"smaller objects", smallerObjects},
	{"drop three ops", dropTriples},
	{"move an element to an earlier put alone", moveOne},
	{"name another key in one place", renameOne},
	{"rename keys by first use", renameKeys},
}

// Candidates gives the proposals that are Simpler than the sequence, so that a
// search which follows them ends.
func (p Pass) Candidates(s op.Sequence) []op.Sequence {
	proposed := p.Propose(s)
	kept := proposed[:0]
	for _, candidate := range proposed {
		if Simpler(candidate, s) {
			kept = append(kept, candidate)
		}
	}
	return kept
}

// Shrinker is the passes as a gopter.Shrinker of op.Sequence, for properties.
// gopter takes any failing candidate, so a property that must not slip to
// another failure has to compare fingerprints itself; ForAll does.
func Shrinker(value interface{}) gopter.Shrink {
	sequence := value.(op.Sequence)
	pass, ready := 0, []op.Sequence(nil)
	return func() (interface{}, bool) {
		for len(ready) == 0 {
			if pass == len(Passes) {
				return nil, false
			}
			ready = Passes[pass].Candidates(sequence)
			pass++
		}
		next := ready[0]
		ready = ready[1:]
		return next, true
	}
}

// Weight orders sequences by how much a reader has to take in: ops, then list
// elements, then slots, bytes of an object, keys, and the length of the text.
func Weight(s op.Sequence) []int {
	elements, text, plain := 0, 0, 0
	keys := map[string]bool{}
	for i := range s.Ops {
		o := &s.Ops[i]
		o.EachKey(func(key string) {
			elements++
			text += len(op.FormatKey(key))
			keys[key] = true
		})
		for j := range o.Objects {
			text += len(o.Objects[j].Payload)
			if !slices.Equal(o.Objects[j].Payload, plainPayload(o.Objects[j].Key, s.ObjectBytes)) {
				plain++
			}
		}
	}
	return []int{len(s.Ops), elements, s.Slots, len(keys), max(s.ObjectBytes, -s.ObjectBytes), plain, text}
}

// Simpler tells whether a is simpler than b: less weight, or as much weight and,
// from the last op to the first, the text that sorts earlier.
func Simpler(a, b op.Sequence) bool {
	if order := slices.Compare(Weight(a), Weight(b)); order != 0 {
		return order < 0
	}
	// The last op is the one that shows a divergence: it shall say least.
	for i := len(a.Ops) - 1; i >= 0; i-- {
		if order := cmp.Compare(a.Ops[i].String(), b.Ops[i].String()); order != 0 {
			return order < 0
		}
	}
	return false
}
