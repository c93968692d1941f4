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
	{"rename keys by first use", renameKeys},
}

// Shrinker is the passes as a gopter.Shrinker of op.Sequence, for properties.
// gopter takes any failing candidate, so a property that must not slip to
// another failure has to compare fingerprints itself.
func Shrinker(value interface{}) gopter.Shrink {
	sequence := value.(op.Sequence)
	pass, ready := 0, []op.Sequence(nil)
	return func() (interface{}, bool) {
		for len(ready) == 0 {
			if pass == len(Passes) {
				return nil, false
			}
			ready = Passes[pass].Propose(sequence)
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

// Simpler tells whether a is simpler than b: less weight, or as much weight and
// earlier keys.
func Simpler(a, b op.Sequence) bool {
	if order := slices.Compare(Weight(a), Weight(b)); order != 0 {
		return order < 0
	}
	return slices.CompareFunc(a.Ops, b.Ops, func(x, y op.Op) int { return cmp.Compare(x.String(), y.String()) }) < 0
}

// without leaves ops [from, to) out.
func without(s op.Sequence, from, to int) op.Sequence {
	out := s
	out.Ops = append(append(make([]op.Op, 0, len(s.Ops)), s.Ops[:from]...), s.Ops[to:]...)
	return out
}

// cutRuns leaves out runs of half the ops, a quarter, and so on down to one,
// those near the end first: the failing op is last, and what is near it matters.
func cutRuns(s op.Sequence) []op.Sequence {
	var out []op.Sequence
	for size := len(s.Ops) / 2; size > 0; size /= 2 {
		for to := len(s.Ops); to > 0; to -= size {
			out = append(out, without(s, max(0, to-size), to))
		}
	}
	return out
}

// mapKeys rewrites every key; drop takes the element away.
func mapKeys(s op.Sequence, change func(key string) (to string, drop bool)) op.Sequence {
	out := s
	out.Ops = make([]op.Op, 0, len(s.Ops))
	for i := range s.Ops {
		o := s.Ops[i]
		o.Objects = nil
		for _, object := range s.Ops[i].Objects {
			if to, drop := change(object.Key); !drop {
				o.Objects = append(o.Objects, op.Object{Key: to, Payload: object.Payload})
			}
		}
		o.Retain = mapList(s.Ops[i].Retain, change)
		o.Release = mapList(s.Ops[i].Release, change)
		o.Keys = mapList(s.Ops[i].Keys, change)
		out.Ops = append(out.Ops, o)
	}
	return out
}

func mapList(keys []string, change func(string) (string, bool)) []string {
	var out []string
	for _, key := range keys {
		if to, drop := change(key); !drop {
			out = append(out, to)
		}
	}
	return out
}

// keysOf lists the distinct keys in order of first use.
func keysOf(s op.Sequence) []string {
	var keys []string
	seen := map[string]bool{}
	for i := range s.Ops {
		s.Ops[i].EachKey(func(key string) {
			if !seen[key] {
				seen[key] = true
				keys = append(keys, key)
			}
		})
	}
	return keys
}

// maxKeys bounds how many keys the key passes try one by one.
const maxKeys = 64

func dropKeys(s op.Sequence) []op.Sequence {
	var out []op.Sequence
	keys := keysOf(s)
	if len(keys) > 3 { // half of them at once
		for part := range 2 {
			gone := map[string]bool{}
			for i, key := range keys {
				if i*2/len(keys) == part {
					gone[key] = true
				}
			}
			out = append(out, mapKeys(s, func(key string) (string, bool) { return key, gone[key] }))
		}
	}
	for _, gone := range keys[:min(len(keys), maxKeys)] {
		out = append(out, mapKeys(s, func(key string) (string, bool) { return key, key == gone }))
	}
	return out
}

// maxPairs and maxTriples bound the sequence length at which ops are left out
// two and three at a time.
const (
	maxPairs   = 24
	maxTriples = 10
)

func dropPairs(s op.Sequence) []op.Sequence {
	var out []op.Sequence
	if n := len(s.Ops); n <= maxPairs {
		for j := n - 1; j > 0; j-- {
			for i := j - 1; i >= 0; i-- {
				out = append(out, without(without(s, j, j+1), i, i+1))
			}
		}
	}
	return out
}

func dropTriples(s op.Sequence) []op.Sequence {
	var out []op.Sequence
	if n := len(s.Ops); n <= maxTriples {
		for k := n - 1; k > 1; k-- {
			for j := k - 1; j > 0; j-- {
				for i := j - 1; i >= 0; i-- {
					out = append(out, without(without(without(s, k, k+1), j, j+1), i, i+1))
				}
			}
		}
	}
	return out
}

// eachList calls visit for every list of every op: its op, which list, length.
func eachList(s op.Sequence, visit func(at, list, n int)) {
	for i := len(s.Ops) - 1; i >= 0; i-- {
		o := &s.Ops[i]
		for list, n := range [...]int{len(o.Objects), len(o.Retain), len(o.Release), len(o.Keys)} {
			visit(i, list, n)
		}
	}
}

// cutList leaves elements [from, to) of one list out.
func cutList(s op.Sequence, at, list, from, to int) op.Sequence {
	out := s
	out.Ops = slices.Clone(s.Ops)
	o := &out.Ops[at]
	if list == 0 {
		o.Objects = slices.Delete(slices.Clone(o.Objects), from, to)
		return out
	}
	keys := [...]*[]string{&o.Retain, &o.Release, &o.Keys}[list-1]
	*keys = slices.Delete(slices.Clone(*keys), from, to)
	return out
}

func dropElements(s op.Sequence) []op.Sequence {
	var out []op.Sequence
	eachList(s, func(at, list, n int) {
		for size := n; size > 0; size /= 2 {
			for to := n; to > 0; to -= size {
				out = append(out, cutList(s, at, list, max(0, to-size), to))
			}
		}
	})
	return out
}

// maxElements bounds how many list elements a sequence may have for pairs of
// them to be tried.
const maxElements = 20

// dropElementPairs leaves out two elements at once: a retain and the release that
// answers it can only go together.
func dropElementPairs(s op.Sequence) []op.Sequence {
	type place struct{ at, list, index int }
	var places []place
	eachList(s, func(at, list, n int) {
		for i := n - 1; i >= 0; i-- {
			places = append(places, place{at, list, i})
		}
	})
	if len(places) > maxElements {
		return nil
	}
	var out []op.Sequence
	for i, first := range places {
		for _, second := range places[i+1:] {
			// Places run backwards, so cutting the first moves none that follow.
			out = append(out, cutList(cutList(s, first.at, first.list, first.index, first.index+1), second.at, second.list, second.index, second.index+1))
		}
	}
	return out
}

// mergeNeighbours makes one put of two that follow each other: two calls more
// often than not are one call that the generator split.
func mergeNeighbours(s op.Sequence) []op.Sequence {
	var out []op.Sequence
	for i := len(s.Ops) - 1; i > 0; i-- {
		a, b := s.Ops[i-1], s.Ops[i]
		if a.Kind != b.Kind || a.Kind == op.Close {
			continue
		}
		merged := without(s, i, i+1)
		merged.Ops[i-1] = op.Op{
			Kind:    a.Kind,
			Objects: slices.Concat(a.Objects, b.Objects),
			Retain:  slices.Concat(a.Retain, b.Retain),
			Release: slices.Concat(a.Release, b.Release),
			Keys:    slices.Concat(a.Keys, b.Keys),
		}
		out = append(out, merged)
	}
	return out
}

// moveElements moves one element of a put to the same list of the next put. It
// takes nothing away itself: it is proposed with the emptied put left out.
func moveElements(s op.Sequence) []op.Sequence {
	var out []op.Sequence
	for i := range s.Ops {
		o := s.Ops[i]
		if o.Kind != op.Put {
			continue
		}
		for j := range s.Ops {
			if j == i || s.Ops[j].Kind != op.Put {
				continue
			}
			moved := s
			moved.Ops = slices.Clone(s.Ops)
			to := &moved.Ops[j]
			first, second := o, s.Ops[j]
			if j < i {
				first, second = second, first
			}
			to.Objects = slices.Concat(first.Objects, second.Objects)
			to.Retain = slices.Concat(first.Retain, second.Retain)
			to.Release = slices.Concat(first.Release, second.Release)
			out = append(out, without(moved, i, i+1))
		}
	}
	return out
}

// unifyKeys gives two keys one name.
func unifyKeys(s op.Sequence) []op.Sequence {
	var out []op.Sequence
	keys := keysOf(s)
	keys = keys[:min(len(keys), 12)]
	for j := len(keys) - 1; j > 0; j-- {
		for i := range j {
			out = append(out, mapKeys(s, func(key string) (string, bool) {
				if key == keys[j] {
					return keys[i], false
				}
				return key, false
			}))
		}
	}
	return out
}

func fewerSlots(s op.Sequence) []op.Sequence {
	var out []op.Sequence
	for slots := range min(s.Slots, 32) {
		smaller := s
		smaller.Slots = slots
		out = append(out, smaller)
	}
	if s.Slots > 32 {
		smaller := s
		smaller.Slots /= 2
		out = append(out, smaller)
	}
	return out
}

// plainPayload is the payload that reads best: the key's first letter over the
// whole room.
func plainPayload(key string, objectBytes int) []byte {
	letter := byte('x')
	if key != "" {
		letter = key[0]
	}
	payload := make([]byte, max(objectBytes, 0))
	for i := range payload {
		payload[i] = letter
	}
	return payload
}

// eachPayload proposes, for all payloads at once and then for each, the one that
// change gives; nil means none.
func eachPayload(s op.Sequence, change func(object op.Object) []byte) []op.Sequence {
	var out []op.Sequence
	all := s.Clone()
	changed := 0
	for i := range s.Ops {
		for j, object := range s.Ops[i].Objects {
			payload := change(object)
			if payload == nil || slices.Equal(payload, object.Payload) {
				continue
			}
			changed++
			all.Ops[i].Objects[j].Payload = payload
			one := s
			one.Ops = slices.Clone(s.Ops)
			one.Ops[i].Objects = slices.Clone(s.Ops[i].Objects)
			one.Ops[i].Objects[j].Payload = payload
			out = append(out, one)
		}
	}
	if changed > 1 {
		out = append([]op.Sequence{all}, out...)
	}
	return out
}

func plainPayloads(s op.Sequence) []op.Sequence {
	plain := eachPayload(s, func(o op.Object) []byte { return plainPayload(o.Key, s.ObjectBytes) })
	return append(plain, eachPayload(s, func(o op.Object) []byte {
		if len(o.Payload) == s.ObjectBytes {
			return nil
		}
		return []byte{} // a wrong size that stays wrong
	})...)
}

// smallerObjects shrinks the room of a slot, and right-sized payloads with it.
func smallerObjects(s op.Sequence) []op.Sequence {
	var out []op.Sequence
	for _, size := range [...]int{1, 2, 4} {
		if size >= s.ObjectBytes {
			continue
		}
		smaller := s.Clone()
		smaller.ObjectBytes = size
		for i := range smaller.Ops {
			for j := range smaller.Ops[i].Objects {
				payload := &smaller.Ops[i].Objects[j].Payload
				if len(*payload) == s.ObjectBytes {
					*payload = (*payload)[:size]
				}
			}
		}
		out = append(out, smaller)
	}
	return out
}

// renameKeys calls the keys a, b, c … by first use, payloads that were plain
// with them; all at once, then each alone, since a bug may hang on a name.
func renameKeys(s op.Sequence) []op.Sequence {
	keys := keysOf(s)
	if len(keys) > 26 {
		return nil
	}
	names := map[string]string{}
	for i, key := range keys {
		names[key] = string(rune('a' + i))
	}
	rename := func(only string) op.Sequence {
		renamed := mapKeys(s, func(key string) (string, bool) {
			if only != "" && key != only {
				return key, false
			}
			return names[key], false
		})
		for i := range renamed.Ops {
			for j := range renamed.Ops[i].Objects {
				was, now := s.Ops[i].Objects[j], &renamed.Ops[i].Objects[j]
				if slices.Equal(was.Payload, plainPayload(was.Key, s.ObjectBytes)) {
					now.Payload = plainPayload(now.Key, s.ObjectBytes)
				}
			}
		}
		return renamed
	}
	out := []op.Sequence{rename("")}
	for _, key := range keys {
		if names[key] != key && !slices.Contains(keys, names[key]) {
			out = append(out, rename(key))
		}
	}
	return out
}
