package gen

import (
	"slices"

	"github.com/diffstore/diffstore/op"
)

// This pass tries everything within small bounds, where the others only take
// steps: what is left of a bug after them mostly has several shapes of which no
// step leads from one to the other.

// maxExhaustive bounds how many sequences are tried for one that is left.
const maxExhaustive = 5000

// tryAllKeys proposes the sequence with each element left out, and as it is, with
// every way of naming keys in what remains.
func tryAllKeys(s op.Sequence) []op.Sequence {
	if len(s.Ops) > maxPairs {
		return nil
	}
	return allKeys(append(eachCut(s), s), len(keysOf(s)), alphabets(s))
}

// moveAndTryAllKeys proposes the sequence with one element left out, another moved
// to any other list, a slot more or less, and every way of naming keys.
func moveAndTryAllKeys(s op.Sequence) []op.Sequence {
	var shapes []op.Sequence
	if len(s.Ops) > maxTriples {
		return nil
	}
	for _, cut := range eachCut(s) {
		if len(shapes) > maxExhaustive {
			return nil
		}
		for slots := max(1, s.Slots-1); slots <= s.Slots+1; slots++ {
			cut.Slots = slots
			shapes = append(shapes, eachMove(cut)...)
		}
	}
	return allKeys(shapes, len(keysOf(s))+1, alphabets(s))
}

// oneCallLess proposes, for a sequence of two or three calls, everything that can be
// said in one call less with few elements, the last call being of the same kind.
func oneCallLess(s op.Sequence) []op.Sequence {
	if len(s.Ops) < 2 || len(s.Ops) > 3 {
		return nil
	}
	names := alphabets(s)
	most := 5
	if len(names) > 1 {
		most = 4
	}
	empty := op.Sequence{ObjectBytes: s.ObjectBytes}
	if len(s.Ops) == 3 {
		most-- // there are twice as many lists
		empty.Ops = append(empty.Ops, op.Op{Kind: op.Put})
	}
	empty.Ops = append(empty.Ops, op.Op{Kind: s.Ops[len(s.Ops)-1].Kind})
	var shapes []op.Sequence
	for empty.Slots = 1; empty.Slots <= 2; empty.Slots++ {
		eachFilling(empty, 0, 0, most, func(shape op.Sequence) { shapes = append(shapes, shape) })
	}
	return allKeys(shapes, 3, names)
}

// eachFilling calls visit with every way of filling the lists from one on with at
// most so many elements, all of them the same key.
func eachFilling(s op.Sequence, at, list, most int, visit func(op.Sequence)) {
	switch {
	case at == len(s.Ops):
		visit(s)
		return
	case list == len(listsOf[s.Ops[at].Kind]):
		eachFilling(s, at+1, 0, most, visit)
		return
	}
	for n := range most + 1 {
		filled := s
		for range n {
			filled = withElement(filled, at, listsOf[s.Ops[at].Kind][list], keyNamed(0))
		}
		eachFilling(filled, at, list+1, most-n, visit)
	}
}

// withElement adds an element at the end of a list, an object with its plain payload.
func withElement(s op.Sequence, at, list int, key string) op.Sequence {
	out := cutList(s, at, list, 0, 0) // a copy of the list
	o := &out.Ops[at]
	if list == 0 {
		o.Objects = append(o.Objects, op.Object{Key: key, Payload: plainPayload(key, s.ObjectBytes)})
	} else {
		keys := keyLists(o)[list-1]
		*keys = append(*keys, key)
	}
	return out
}

// eachCut gives the sequence with each element left out.
func eachCut(s op.Sequence) []op.Sequence {
	var out []op.Sequence
	eachList(s, func(at, list, n int) {
		for i := n - 1; i >= 0; i-- {
			out = append(out, cutList(s, at, list, i, i+1))
		}
	})
	return out
}

// eachMove gives the sequence with each element moved to the end of each other
// list of any op that has such a list. What becomes an object gets a plain payload.
func eachMove(s op.Sequence) []op.Sequence {
	var out []op.Sequence
	eachList(s, func(at, list, n int) {
		for i := range n {
			key := elementKey(&s.Ops[at], list, i)
			without := cutList(s, at, list, i, i+1)
			for to := range s.Ops {
				for _, target := range listsOf[s.Ops[to].Kind] {
					if to == at && target == list {
						continue
					}
					out = append(out, withElement(without, to, target, key))
				}
			}
		}
	})
	return out
}

// listsOf are the numbers, as eachList counts, of the lists that a kind of op has.
var listsOf = [op.NumKinds][]int{op.Put: {0, 1, 2}, op.Get: {3}, op.Close: {}}

// alphabets are the names to try: letters, and where a name that is none is left,
// which then may matter, the sequence's own names, each of them once the first.
func alphabets(s op.Sequence) [][]string {
	var letters []string
	for i := range maxElements {
		letters = append(letters, keyNamed(i))
	}
	list := [][]string{letters}
	own := keysOf(s)
	if slices.ContainsFunc(own, func(key string) bool { return !slices.Contains(letters, key) }) {
		for i := range own {
			list = append(list, slices.Concat(own[i:], own[:i], letters))
		}
	}
	return list
}

// allKeys gives the shapes with every way of naming at most so many keys by the
// alphabets, unless they are too many.
func allKeys(shapes []op.Sequence, keys int, alphabets [][]string) []op.Sequence {
	total := 0
	for _, shape := range shapes {
		elements := 0
		eachList(shape, func(_, _, n int) { elements += n })
		names := namings(elements, keys)
		if total += names * len(alphabets); names == 0 || total > maxExhaustive {
			return nil
		}
	}
	var out []op.Sequence
	for _, alphabet := range alphabets {
		for _, shape := range shapes {
			eachNaming(shape, keys, alphabet, func(named op.Sequence) { out = append(out, named) })
		}
	}
	return out
}

// namings counts the ways to name n elements with at most so many keys, each new
// key the next of the alphabet; 0 stands for more than can be tried.
func namings(n, keys int) int {
	if keys > maxElements {
		return 0
	}
	counts := make([]int, keys+2) // by the number of keys used so far
	counts[0] = 1
	total := 1
	for range n {
		for used := keys; used >= 0; used-- {
			counts[used+1] += counts[used]
			counts[used] *= used
		}
		counts[keys+1], total = 0, 0
		for _, count := range counts {
			total += count
		}
		if total > maxExhaustive {
			return 0
		}
	}
	return total
}

// eachNaming calls visit with every naming of the elements.
func eachNaming(s op.Sequence, keys int, alphabet []string, visit func(op.Sequence)) {
	elements := 0
	eachList(s, func(_, _, n int) { elements += n })
	names := make([]string, elements)
	var choose func(at, used int)
	choose = func(at, used int) {
		if at == elements {
			visit(withNames(s, names))
			return
		}
		for key := range min(used+1, keys) {
			names[at] = alphabet[key]
			choose(at+1, max(used, key+1))
		}
	}
	choose(0, 0)
}

// withNames gives the elements, in call order, these keys.
// Payloads that were of their key's letter stay so.
func withNames(s op.Sequence, names []string) op.Sequence {
	out := s
	out.Ops = slices.Clone(s.Ops)
	at := 0
	next := func() string {
		at++
		return names[at-1]
	}
	for i := range out.Ops {
		o := &out.Ops[i]
		o.Objects = slices.Clone(o.Objects)
		for j := range o.Objects {
			rename(&o.Objects[j], next())
		}
		for _, list := range keyLists(o) {
			*list = slices.Clone(*list)
			for j := range *list {
				(*list)[j] = next()
			}
		}
	}
	return out
}
