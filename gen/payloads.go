package gen

import (
	"slices"

	"github.com/diffstore/diffstore/op"
)

// These passes make payloads plainer.

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

// otherLetter fills payloads that must not be plain.
const otherLetter = 'z'

// oddity is how much a reader has to make of a payload: nothing of a plain one,
// little of an empty one and of one letter over and over, more of all others.
func oddity(object *op.Object, objectBytes int) int {
	payload := object.Payload
	if slices.Equal(payload, plainPayload(object.Key, objectBytes)) {
		return 0
	}
	for _, letter := range payload {
		if letter != payload[0] {
			return 2
		}
	}
	if len(payload) == 0 || payload[0] == otherLetter || payload[0] == plainPayload(object.Key, 1)[0] {
		return 1
	}
	return 2
}

func plainPayloads(s op.Sequence) []op.Sequence {
	out := eachPayload(s, func(o op.Object) []byte { return plainPayload(o.Key, s.ObjectBytes) })
	out = append(out, eachPayload(s, func(o op.Object) []byte {
		if len(o.Payload) == s.ObjectBytes {
			return slices.Repeat([]byte{otherLetter}, len(o.Payload))
		}
		return []byte{} // a wrong size that stays wrong
	})...)
	out = append(out, eachPayload(s, func(o op.Object) []byte {
		if len(o.Payload) <= s.ObjectBytes {
			return nil
		}
		return plainPayload(o.Key, s.ObjectBytes+1)
	})...)
	return append(out, swapPayloads(s)...)
}

// swapPayloads gives of two objects the one the other's kind of payload: which of
// them is odd may not matter.
func swapPayloads(s op.Sequence) []op.Sequence {
	var out []op.Sequence
	if len(s.Ops) > maxPairs {
		return nil
	}
	objects := func(s *op.Sequence) (list []*op.Object) {
		for i := range s.Ops {
			for j := range s.Ops[i].Objects {
				list = append(list, &s.Ops[i].Objects[j])
			}
		}
		return list
	}
	list := objects(&s)
	for i := range list[:min(len(list), maxElements)] {
		for j := range i {
			if oddity(list[i], s.ObjectBytes)+oddity(list[j], s.ObjectBytes) == 0 {
				continue
			}
			swapped := s.Clone()
			both := objects(&swapped)
			for _, pair := range [...]struct {
				to   *op.Object
				from *op.Object
			}{{both[i], list[j]}, {both[j], list[i]}} {
				pair.to.Payload = pair.from.Payload
				if oddity(pair.from, s.ObjectBytes) == 0 {
					pair.to.Payload = plainPayload(pair.to.Key, s.ObjectBytes)
				}
			}
			out = append(out, swapped)
		}
	}
	return out
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
