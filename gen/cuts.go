package gen

import (
	"slices"

	"github.com/diffstore/diffstore/op"
)

// These passes take ops, keys and list elements away.

// without leaves ops [from, to) out.
func without(s op.Sequence, from, to int) op.Sequence {
	out := s
	out.Ops = append(append(make([]op.Op, 0, len(s.Ops)), s.Ops[:from]...), s.Ops[to:]...)
	return out
}

// cutRuns leaves out runs of half the ops, a quarter, and so on down to one,
// those near the end first: the failing op is last, and what is near it matters.
func cutRuns(s op.Sequence) []op.Sequence { return cutRunsOf(s, 1) }

// cutLongRuns is cutRuns down to an eighth of the ops. What is left of a long
// sequence is emptied first, for then most runs are alike.
func cutLongRuns(s op.Sequence) []op.Sequence { return cutRunsOf(s, max(1, len(s.Ops)/8)) }

func cutRunsOf(s op.Sequence, least int) []op.Sequence {
	var out []op.Sequence
	for size := (len(s.Ops) + 1) / 2; size >= least; size /= 2 {
		for to := len(s.Ops); to > 0; to -= size {
			out = append(out, without(s, max(0, to-size), to))
		}
	}
	return out
}

// emptyRuns makes gets of nothing of runs of ops, as cutRuns leaves them out: where
// the number of calls matters, what they do does not.
func emptyRuns(s op.Sequence) []op.Sequence {
	var out []op.Sequence
	for size := (len(s.Ops) + 1) / 2; size > 0; size /= 2 {
		for to := len(s.Ops); to > 0; to -= size {
			empty := s
			empty.Ops = slices.Clone(s.Ops)
			for i := max(0, to-size); i < to; i++ {
				empty.Ops[i] = op.Op{Kind: op.Get}
			}
			out = append(out, empty)
		}
	}
	return out
}

// dropWithSlot leaves out a key, or one element, and a slot with it: a store that
// has to be full shrinks only so.
func dropWithSlot(s op.Sequence) []op.Sequence {
	if s.Slots < 2 {
		return nil
	}
	smaller := s
	smaller.Slots--
	return slices.Concat(dropKeys(smaller), eachCut(smaller), unifyKeys(smaller))
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

// Without leaves keys out of every list of every op.
func Without(s op.Sequence, gone func(key string) bool) op.Sequence {
	return mapKeys(s, func(key string) (string, bool) { return key, gone(key) })
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

// keepKeys leaves out all keys but those of the last op, and one more at a time:
// the bug mostly lies between what fails and one other key.
func keepKeys(s op.Sequence) []op.Sequence {
	if len(s.Ops) == 0 {
		return nil
	}
	last := map[string]bool{}
	s.Ops[len(s.Ops)-1].EachKey(func(key string) { last[key] = true })
	out := []op.Sequence{mapKeys(s, func(key string) (string, bool) { return key, !last[key] })}
	keys := keysOf(s)
	for _, more := range keys[:min(len(keys), maxKeys)] {
		if !last[more] {
			out = append(out, mapKeys(s, func(key string) (string, bool) { return key, !last[key] && key != more }))
		}
	}
	return out
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
	keys := keyLists(o)[list-1]
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
