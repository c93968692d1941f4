package gen

import (
	"slices"

	"github.com/diffstore/diffstore/op"
)

// naive is a slow store that is short enough to check by eye. It gives the tests
// of this package the observations that statistics are counted from.
type naive struct {
	slots, room int
	closed      bool
	order       []op.Entry
	refs        map[string]int
	free        []int
	next        int
	bytes       map[string][]byte
	rolledBack  int
	outside     int
}

func newNaive(s *op.Sequence) *naive {
	return &naive{slots: s.Slots, room: s.ObjectBytes, refs: map[string]int{}, bytes: map[string][]byte{}}
}

// runNaive carries a whole sequence out; a refused constructor gives nothing.
func runNaive(s *op.Sequence) (*naive, []op.Observation) {
	n := newNaive(s)
	if s.Slots < 1 || s.ObjectBytes < 1 {
		return n, nil
	}
	var steps []op.Observation
	for i := range s.Ops {
		steps = append(steps, n.do(&s.Ops[i]))
	}
	return n, steps
}

func (n *naive) do(o *op.Op) op.Observation {
	var seen op.Observation
	switch {
	case o.Kind == op.Close:
		n.closed = true
	case n.closed:
		seen.Outcome.Err = &op.Error{Kind: op.ClosedError}
	case o.Kind == op.Get:
		for _, key := range o.Keys {
			if n.find(key) < 0 {
				seen.Outcome.Err = &op.Error{Kind: op.MissingError}
			}
		}
		if seen.Outcome.Err == nil {
			for _, key := range o.Keys {
				seen.Outcome.Payload = append(seen.Outcome.Payload, n.bytes[key]...)
				n.touch(key)
			}
		}
	default:
		kind := n.put(o, &seen.Victims)
		if kind != op.NoError {
			seen.Outcome.Err = &op.Error{Kind: kind}
		}
	}
	seen.State = op.State{Sees: op.SeesAll, Entries: slices.Clone(n.order), Total: len(n.order), TotalRefs: len(n.refs)}
	for _, e := range n.order {
		if n.refs[e.Key] == 0 {
			seen.State.Queue = append(seen.State.Queue, e.Key)
		}
	}
	for key, count := range n.refs {
		seen.State.Refs = append(seen.State.Refs, op.Ref{Key: key, Count: count})
	}
	return seen
}

func (n *naive) find(key string) int {
	return slices.IndexFunc(n.order, func(e op.Entry) bool { return e.Key == key })
}

func (n *naive) touch(key string) {
	i := n.find(key)
	e := n.order[i]
	n.order = append(slices.Delete(n.order, i, i+1), e)
}

func (n *naive) put(o *op.Op, victims *[]string) op.ErrorKind {
	for _, key := range o.Retain {
		n.refs[key]++
	}
	var terminal []string
	for _, key := range o.Release {
		if n.refs[key] == 0 {
			return op.KeyError
		}
		if n.refs[key]--; n.refs[key] == 0 {
			delete(n.refs, key)
			terminal = append(terminal, key)
		}
	}
	var batch []string
	payloads := map[string][]byte{}
	for _, object := range o.Objects {
		if _, twice := payloads[object.Key]; !twice {
			batch = append(batch, object.Key)
		}
		payloads[object.Key] = object.Payload
	}
	for _, key := range batch {
		if n.find(key) < 0 {
			n.order = append(n.order, op.Entry{Key: key, Slot: op.Unallocated})
		}
		n.touch(key)
	}
	for _, key := range terminal {
		if n.find(key) >= 0 {
			n.touch(key)
		}
	}
	var candidates []string
	for _, e := range n.order {
		isBatch, isTerminal := slices.Contains(batch, e.Key), slices.Contains(terminal, e.Key)
		if n.refs[e.Key] == 0 && (!isBatch || isTerminal) {
			candidates = append(candidates, e.Key)
		}
	}
	excess := max(0, len(n.order)-n.slots)
	if excess > len(candidates) {
		n.order = slices.DeleteFunc(n.order, func(e op.Entry) bool {
			out := e.Slot == op.Unallocated && slices.Contains(batch, e.Key)
			if out {
				n.rolledBack++
			}
			return out
		})
		return op.CapacityError
	}
	for _, key := range candidates[:excess] {
		i := n.find(key)
		if slot := n.order[i].Slot; slot != op.Unallocated {
			n.free = append(n.free, slot)
		}
		n.order = slices.Delete(n.order, i, i+1)
		delete(n.bytes, key)
	}
	*victims = candidates[:excess]
	for _, key := range batch {
		i := n.find(key)
		if i < 0 || n.order[i].Slot != op.Unallocated {
			continue
		}
		slot := n.next
		if last := len(n.free) - 1; last >= 0 {
			slot, n.free = n.free[last], n.free[:last]
		} else {
			n.next++
		}
		room := n.room
		if slot >= n.slots {
			room = 0
		}
		if len(payloads[key]) != room {
			return op.SizeError
		}
		if slot >= n.slots {
			n.outside++
		}
		n.order[i].Slot = slot
		n.bytes[key] = payloads[key]
	}
	return op.NoError
}
