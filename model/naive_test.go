package model

import (
	"slices"

	"github.com/diffstore/diffstore/op"
)

// naive is the store's description followed word by word, on slices that are
// searched: slow, and plain enough to be read against the description.
type naive struct {
	variant     string
	slots       int
	objectBytes int
	arenaBytes  []byte
	closed      bool
	order       []string // stored keys, oldest first, referenced ones too
	slot        map[string]int
	refs        map[string]int
	free        []int
	next        int
}

func newNaive(variant string, slots, objectBytes int) *naive {
	return &naive{
		variant: variant, slots: slots, objectBytes: objectBytes, arenaBytes: make([]byte, slots*objectBytes),
		slot: map[string]int{}, refs: map[string]int{},
	}
}

func (n *naive) grows() bool { return n.variant == "growing" || n.variant == "release-0.33" }

func (n *naive) toTail(key string) {
	n.order = append(without(n.order, key), key)
}

func without(keys []string, key string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == key })
}

func (n *naive) stored(key string) bool {
	_, found := n.slot[key]
	return found
}

func (n *naive) remove(key string) {
	n.order = without(n.order, key)
	delete(n.slot, key)
}

func (n *naive) giveSlot(key string) {
	if slot := n.slot[key]; slot >= 0 {
		n.free = append(n.free, slot)
	}
}

// room is the bytes of the arena at a slot: fewer than objectBytes past its end.
func (n *naive) room(slot int) []byte {
	start := min(slot*n.objectBytes, len(n.arenaBytes))
	return n.arenaBytes[start:min(start+n.objectBytes, len(n.arenaBytes))]
}

func (n *naive) put(o *op.Op) (victims []string, err error) {
	if n.closed {
		return nil, &ClosedError{}
	}
	payloads := map[string][]byte{}
	var batch []string
	for _, object := range o.Objects {
		if !slices.Contains(batch, object.Key) {
			batch = append(batch, object.Key)
		}
		payloads[object.Key] = object.Payload
	}
	var dropped []string
	if n.variant == "release-0.33" {
		for _, key := range slices.Clone(n.order) {
			if slices.Contains(batch, key) && n.refs[key] == 0 {
				dropped = append(dropped, key)
			}
		}
		for _, key := range batch {
			if slices.Contains(dropped, key) {
				n.giveSlot(key)
				n.remove(key)
			}
		}
	}
	for _, key := range o.Retain {
		n.refs[key]++
	}
	var terminal []string
	for _, key := range o.Release {
		if n.refs[key] == 0 {
			return dropped, &KeyError{key}
		}
		n.refs[key]--
		if n.refs[key] == 0 {
			delete(n.refs, key)
			terminal = append(terminal, key)
			if n.stored(key) && n.variant != "main" && n.variant != "front-rotation" {
				n.toTail(key)
			}
		}
	}
	for _, key := range batch {
		if !n.stored(key) {
			n.slot[key] = -1
		}
		n.toTail(key)
	}
	for _, key := range terminal {
		if n.stored(key) {
			n.toTail(key)
		}
	}
	if excess := len(n.order) - n.slots; excess > 0 {
		if n.variant == "front-rotation" {
			for range len(n.order) {
				if n.refs[n.order[0]] == 0 {
					break
				}
				n.toTail(n.order[0])
			}
		}
		for _, key := range n.order {
			protected := slices.Contains(batch, key) && !slices.Contains(terminal, key)
			if n.refs[key] == 0 && !protected && len(victims) < excess {
				victims = append(victims, key)
			}
		}
		if len(victims) < excess && !n.grows() {
			for _, key := range batch {
				if n.slot[key] == -1 {
					n.remove(key)
				}
			}
			return nil, &CapacityError{n.slots}
		}
		for _, key := range victims {
			n.giveSlot(key)
			n.remove(key)
		}
		if len(n.order) > n.slots {
			n.slots = max(len(n.order), 2*n.slots)
			n.arenaBytes = append(n.arenaBytes, make([]byte, n.slots*n.objectBytes-len(n.arenaBytes))...)
		}
	}
	for _, key := range batch {
		if slot, stored := n.slot[key]; !stored || slot != -1 {
			continue
		}
		slot := n.next
		if len(n.free) > 0 {
			slot = n.free[len(n.free)-1]
			n.free = n.free[:len(n.free)-1]
		} else {
			n.next++
		}
		if len(payloads[key]) != len(n.room(slot)) {
			return victims, &SizeError{}
		}
		copy(n.room(slot), payloads[key])
		n.slot[key] = slot
	}
	return victims, nil
}

func (n *naive) get(keys []string) ([]byte, error) {
	if n.closed {
		return nil, &ClosedError{}
	}
	payload := []byte{}
	for _, key := range keys {
		if !n.stored(key) {
			return nil, &MissingError{Used: len(n.order), Limit: n.slots, Plain: n.variant == "release-0.33"}
		}
		if n.slot[key] >= 0 {
			payload = append(payload, n.room(n.slot[key])...)
		}
	}
	for _, key := range keys {
		n.toTail(key)
	}
	return payload, nil
}

// step does what Store.Step does.
func (n *naive) step(o *op.Op) op.Observation {
	var seen op.Observation
	var err error
	switch o.Kind {
	case op.Put:
		seen.Victims, err = n.put(o)
	case op.Get:
		seen.Outcome.Payload, err = n.get(o.Keys)
	case op.Close:
		n.closed = true
	}
	seen.Outcome.Err = OpError(err)
	hides := n.variant == "release-0.33"
	seen.State.Sees = op.SeesAll
	if hides {
		seen.State.Sees &^= op.SeesSlots
	} else {
		seen.State.Free, seen.State.Next = slices.Clone(n.free), n.next
	}
	for _, key := range n.order {
		slot := n.slot[key]
		if hides && slot >= 0 {
			slot = op.Allocated
		}
		seen.State.Entries = append(seen.State.Entries, op.Entry{Key: key, Slot: slot})
		if n.refs[key] == 0 {
			seen.State.Queue = append(seen.State.Queue, key)
		}
	}
	for key, count := range n.refs {
		if count > 0 {
			seen.State.Refs = append(seen.State.Refs, op.Ref{Key: key, Count: count})
		}
	}
	seen.State.Total, seen.State.TotalRefs = len(seen.State.Entries), len(seen.State.Refs)
	return seen
}
