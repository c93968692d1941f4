package gen

import (
	"slices"
	"strings"

	"github.com/diffstore/diffstore/op"
)

// These passes say the same in fewer calls, fewer keys, smaller numbers, plainer names.

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
		// One call must find as full a store as two have made.
		for slots := 1; slots <= 2*maxTriples && len(s.Ops) <= 3; slots++ {
			merged.Slots = slots
			out = append(out, merged)
		}
	}
	return out
}

// mergeAndLeave makes one put of two that follow each other, in which a key, or all
// of the first one's, leave at once: what a put retains and releases itself is not
// protected in it, so that it can be evicted by the put that brought it.
func mergeAndLeave(s op.Sequence) []op.Sequence {
	if len(s.Ops) > maxTriples {
		return nil
	}
	var out []op.Sequence
	for i := len(s.Ops) - 1; i > 0; i-- {
		a, b := s.Ops[i-1], s.Ops[i]
		if a.Kind != op.Put || b.Kind != op.Put {
			continue
		}
		merged := without(s, i, i+1)
		objects, retain, release := slices.Concat(a.Objects, b.Objects), slices.Concat(a.Retain, b.Retain), slices.Concat(a.Release, b.Release)
		leave := func(keys ...string) {
			next := merged
			next.Ops = slices.Clone(merged.Ops)
			next.Ops[i-1] = op.Op{Kind: op.Put, Objects: objects, Retain: slices.Concat(retain, keys), Release: slices.Concat(release, keys)}
			for next.Slots = s.Slots; next.Slots > 0 && next.Slots > s.Slots-2; next.Slots-- {
				out = append(out, next)
			}
		}
		var first []string
		for j := range a.Objects {
			first = append(first, a.Objects[j].Key)
		}
		if len(first) > 1 {
			leave(first...)
		}
		for j := range objects {
			leave(objects[j].Key)
		}
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

// moveOne moves one element of a put to the end of the same list of an earlier
// one. It takes nothing away: of equal sequences the one that does things early
// is Simpler, so that one bug does not end as several traces.
func moveOne(s op.Sequence) []op.Sequence {
	var out []op.Sequence
	eachList(s, func(at, list, n int) {
		if s.Ops[at].Kind != op.Put || len(out) > maxExhaustive {
			return
		}
		for i := range n {
			for earlier := range at {
				if s.Ops[earlier].Kind != op.Put {
					continue
				}
				moved := cutList(s, at, list, i, i+1)
				from, to := &s.Ops[at], &moved.Ops[earlier]
				if list == 0 {
					to.Objects = slices.Concat(to.Objects, from.Objects[i:i+1])
				} else {
					keys := keyLists(to)[list-1]
					*keys = slices.Concat(*keys, []string{elementKey(from, list, i)})
				}
				out = append(out, moved)
			}
		}
	})
	return out
}

// renameOne names an earlier key in one place of one list.
func renameOne(s op.Sequence) []op.Sequence {
	var out []op.Sequence
	keys := keysOf(s)
	keys = keys[:min(len(keys), 6)]
	eachList(s, func(at, list, n int) {
		for i := range n {
			for _, key := range keys {
				if key >= elementKey(&s.Ops[at], list, i) {
					continue
				}
				renamed := cutList(s, at, list, n, n) // a copy of the list
				o := &renamed.Ops[at]
				if list == 0 {
					rename(&o.Objects[i], key)
				} else {
					(*keyLists(o)[list-1])[i] = key
				}
				out = append(out, renamed)
			}
		}
	})
	return out
}

// reorderLists exchanges two elements of a list and names keys by first use again.
func reorderLists(s op.Sequence) []op.Sequence {
	var out []op.Sequence
	eachList(s, func(at, list, n int) {
		for i := range min(n, maxElements) {
			for j := range i {
				one := cutList(s, at, list, n, n) // a copy of the list
				if o := &one.Ops[at]; list == 0 {
					o.Objects[i], o.Objects[j] = o.Objects[j], o.Objects[i]
				} else {
					keys := *keyLists(o)[list-1]
					keys[i], keys[j] = keys[j], keys[i]
				}
				out = append(out, renameKeys(one)[:1]...)
			}
		}
	})
	return out
}

// sortLists puts the elements of one list, or of all, in the order in which keys
// come up, where that is as good as any other.
func sortLists(s op.Sequence) []op.Sequence {
	var out []op.Sequence
	all := s.Clone()
	eachList(s, func(at, list, n int) {
		if n < 2 {
			return
		}
		one := cutList(s, at, list, n, n) // a copy of the list
		for _, o := range []*op.Op{&one.Ops[at], &all.Ops[at]} {
			if list == 0 {
				slices.SortStableFunc(o.Objects, func(x, y op.Object) int { return strings.Compare(x.Key, y.Key) })
			} else {
				slices.Sort(*keyLists(o)[list-1])
			}
		}
		out = append(out, one)
	})
	return append(out, all)
}

// moveOps moves an op that says something to before the ops that say nothing and
// stand ahead of it, or to the front.
func moveOps(s op.Sequence) []op.Sequence {
	var out []op.Sequence
	for i := range s.Ops {
		if elementsOf(&s.Ops[i]) == 0 {
			continue
		}
		place := i
		for place > 0 && elementsOf(&s.Ops[place-1]) == 0 {
			place--
		}
		for _, to := range [...]int{0, place} {
			if to < i {
				moved := s
				moved.Ops = slices.Concat(s.Ops[:to], s.Ops[i:i+1], s.Ops[to:i], s.Ops[i+1:])
				out = append(out, moved)
			}
		}
	}
	return out
}

// keyLists are the lists of an op that hold keys alone.
func keyLists(o *op.Op) [3]*[]string { return [...]*[]string{&o.Retain, &o.Release, &o.Keys} }

func elementKey(o *op.Op, list, i int) string {
	if list == 0 {
		return o.Objects[i].Key
	}
	return (*keyLists(o)[list-1])[i]
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

// keyNamed is the name of the n-th key in a reduced sequence.
func keyNamed(n int) string { return string(rune('a' + n)) }

// rename gives an object another key, and if its payload was the key's letter over
// and over the same of the new one.
func rename(object *op.Object, key string) {
	was := plainPayload(object.Key, len(object.Payload))
	if slices.Equal(object.Payload, was) {
		object.Payload = plainPayload(key, len(was))
	}
	object.Key = key
}

// renamed gives every key the name that it is called by, payloads with it.
func renamed(s op.Sequence, called func(key string) string) op.Sequence {
	out := mapKeys(s, func(key string) (string, bool) { return called(key), false })
	for i := range out.Ops {
		for j := range out.Ops[i].Objects {
			object := s.Ops[i].Objects[j]
			rename(&object, out.Ops[i].Objects[j].Key)
			out.Ops[i].Objects[j] = object
		}
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
		names[key] = keyNamed(i)
	}
	called := func(only string) op.Sequence {
		return renamed(s, func(key string) string {
			if only != "" && key != only {
				return key
			}
			return names[key]
		})
	}
	out := []op.Sequence{called("")}
	for _, key := range keys {
		if names[key] != key && !slices.Contains(keys, names[key]) {
			out = append(out, called(key))
		}
	}
	return out
}
