package gen

import (
	"cmp"
	"fmt"
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
	{"cut long runs of ops", cutLongRuns},
	{"keep a few keys", keepKeys},
	{"drop a key everywhere", dropKeys},
	{"empty runs of ops", emptyRuns},
	{"cut runs of ops", cutRuns},
	{"drop two ops", dropPairs},
	{"drop list elements", dropElements},
	{"drop two list elements", dropElementPairs},
	{"merge neighbouring calls", mergeNeighbours},
	{"make two keys one", unifyKeys},
	{"fewer slots", fewerSlots},
	{"drop a key or an element with a slot", dropWithSlot},
	{"move an element to a later put", moveElements},
	{"plain payloads", plainPayloads},
	{"smaller objects", smallerObjects},
	{"drop three ops", dropTriples},
	{"move an element to an earlier put alone", moveOne},
	{"merge two puts, keys leaving", mergeAndLeave},
	{"name another key in one place", renameOne},
	{"rename keys by first use", renameKeys},
	{"sort a list", sortLists},
	{"reorder a list", reorderLists},
	{"move an op to the front", moveOps},
	{"try all keys", tryAllKeys},
	{"move an element and try all keys", moveAndTryAllKeys},
	{"say it in one call less", oneCallLess},
}

// Candidates gives the proposals that are Simpler than the sequence, so that a
// search which follows them ends, and each once.
func (p Pass) Candidates(s op.Sequence) []op.Sequence {
	proposed := p.Propose(s)
	kept := proposed[:0]
	own, seen := Weight(s), map[string]bool{}
	for _, candidate := range proposed {
		order := slices.Compare(Weight(candidate), own)
		if order > 0 || order == 0 && !saysLess(candidate, s) {
			continue
		}
		if text := candidate.String(); !seen[text] {
			seen[text] = true
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
// elements, then slots, keys, bytes of an object, how odd the payloads are, and
// the length of the text.
func Weight(s op.Sequence) []int {
	elements, text, odd := 0, 0, 0
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
			odd += oddity(&o.Objects[j], s.ObjectBytes)
		}
	}
	return []int{len(s.Ops), elements, s.Slots, len(keys), max(s.ObjectBytes, -s.ObjectBytes), odd, text}
}

// Simpler tells whether a is simpler than b: less weight; or as much weight and,
// from the last op to the first, fewer elements, or with keys numbered by first
// use the text that sorts earlier; or all that alike and earlier names.
func Simpler(a, b op.Sequence) bool {
	if order := slices.Compare(Weight(a), Weight(b)); order != 0 {
		return order < 0
	}
	return saysLess(a, b)
}

// saysLess compares sequences of one weight.
func saysLess(a, b op.Sequence) bool {
	numberedA, numberedB := numbered(a), numbered(b)
	// The last op is the one that shows a divergence: it shall say least.
	for i := len(a.Ops) - 1; i >= 0; i-- {
		x, y := &numberedA.Ops[i], &numberedB.Ops[i]
		if order := cmp.Or(cmp.Compare(elementsOf(x), elementsOf(y)), cmp.Compare(x.String(), y.String())); order != 0 {
			return order < 0
		}
	}
	return slices.CompareFunc(a.Ops, b.Ops, func(x, y op.Op) int { return cmp.Compare(x.String(), y.String()) }) < 0
}

// elementsOf counts the entries of an op's lists.
func elementsOf(o *op.Op) int {
	return len(o.Objects) + len(o.Retain) + len(o.Release) + len(o.Keys)
}

// numbered gives every key a name by first use, so that sequences which differ in
// names alone become one.
func numbered(s op.Sequence) op.Sequence {
	names := map[string]string{}
	for i, key := range keysOf(s) {
		names[key] = fmt.Sprintf("%03d", i)
	}
	return renamed(s, func(key string) string { return names[key] })
}
