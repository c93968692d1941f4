package gen

import (
	"slices"

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
	if len(s.Ops) > maxPairs {
		return nil
	}
	eachList(s, func(at, list, n int) {
		if s.Ops[at].Kind != op.Put {
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
					o.Objects[i].Key = key
				} else {
					(*keyLists(o)[list-1])[i] = key
				}
				out = append(out, renamed)
			}
		}
	})
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
