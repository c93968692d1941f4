package oracle

import (
	"errors"

	"github.com/diffstore/diffstore/op"
)

// Plan says what to look at while one sequence runs on a store so large that its
// whole state behind every op would cost more than all else: the keys that each
// op names, a few more, the totals, and the whole state now and then.
type Plan struct {
	// Victims are, for each op, the keys that it is expected to evict, in order.
	// Those that are gone behind the op count as its victims; an eviction that
	// nobody expects shows in the totals, and in the keys themselves later.
	Victims [][]string
	// Whole says behind which ops the whole state is wanted.
	Whole []bool
}

// flight is one batch under way.
type flight struct {
	batch []op.Sequence
	// plans holds one plan a sequence, nil where every state is wanted whole.
	plans []*Plan
}

// plan makes the plans of a batch.
func (o *Oracle) plan(batch []op.Sequence) flight {
	f := flight{batch: batch, plans: make([]*Plan, len(batch))}
	if o.foresee != nil && o.hello.Looks {
		for i := range batch {
			f.plans[i] = o.foresee(&batch[i])
		}
	}
	return f
}

// planned writes a plan behind a sequence: [whole, victims] for each op.
func (e *marshalEncoder) planned(p *Plan) {
	e.list(len(p.Victims))
	for i, victims := range p.Victims {
		e.tuple(2)
		e.truth(p.Whole[i])
		e.keys(victims)
	}
}

// json is the same for the wire that people read.
func (p *Plan) json() [][2]any {
	rows := make([][2]any, len(p.Victims))
	for i, victims := range p.Victims {
		rows[i] = [2]any{p.Whole[i], orEmpty(victims)}
	}
	return rows
}

// planState reads [part, whole or None] of the at-th op into an observation, its
// victims included.
func (r *reader) planState(i int32, o *op.Op, plan *Plan, at int, dst *op.Observation) error {
	if r.nodes[i].kind == nodeNone {
		dst.State, dst.Victims = op.State{}, dst.Victims[:0]
		return nil
	}
	part, _, err := r.list(i, "a state by plan", 2)
	if err != nil {
		return err
	}
	if err := r.part(part, o, plan.Victims[at], dst); err != nil {
		return err
	}
	whole := r.nodes[part].end
	if r.nodes[whole].kind != nodeNone {
		return r.state(whole, &dst.State)
	}
	if plan.Whole[at] {
		return errors.New("it did not send the whole state")
	}
	return nil
}

// part reads [slots, counts, stored, referenced, next]: of the keys that the op
// names and then of the expected victims, the slot or None, and the count or
// None; then the totals.
func (r *reader) part(i int32, o *op.Op, victims []string, dst *op.Observation) error {
	slots, _, err := r.list(i, "a part of a state", 5)
	if err != nil {
		return err
	}
	named := len(o.Objects) + len(o.Retain) + len(o.Release) + len(o.Keys)
	slot, _, err := r.list(slots, "the slots of a part", named+len(victims))
	if err != nil {
		return err
	}
	counts := r.nodes[slots].end
	count, _, err := r.list(counts, "the counts of a part", named+len(victims))
	if err != nil {
		return err
	}
	state := &dst.State
	state.Sees = r.sees&(op.SeesRefs|op.SeesZombies|op.SeesSlots) | op.SeesPart
	state.Entries, state.Refs, state.Queue, state.Free = state.Entries[:0], state.Refs[:0], state.Queue[:0], state.Free[:0]
	if r.seen == nil || len(r.seen) > 1<<16 {
		r.seen = make(map[string]int)
	}
	r.looks++
	visit := func(key string) {
		// Each value here has no parts, so the next one stands behind it.
		s, c := &r.nodes[slot], &r.nodes[count]
		slot, count = slot+1, count+1
		if r.seen[key] == r.looks {
			return
		}
		r.seen[key] = r.looks
		if s.kind == nodeInt {
			state.Entries = append(state.Entries, op.Entry{Key: key, Slot: int(s.n)})
		}
		if c.kind == nodeInt {
			state.Refs = append(state.Refs, op.Ref{Key: key, Count: int(c.n)})
		}
	}
	if err := r.plain(slots); err != nil {
		return err
	}
	if err := r.plain(counts); err != nil {
		return err
	}
	o.EachKey(visit)
	dst.Victims = dst.Victims[:0]
	for _, key := range victims {
		if r.nodes[slot].kind == nodeNone {
			dst.Victims = append(dst.Victims, key)
		}
		visit(key)
	}
	total := r.nodes[counts].end
	if state.Total, err = r.integer(total, "the number of stored keys"); err != nil {
		return err
	}
	referenced := r.nodes[total].end
	if state.TotalRefs, err = r.integer(referenced, "the number of referenced keys"); err != nil {
		return err
	}
	state.Next = 0
	if r.sees&op.SeesSlots != 0 {
		state.Next, err = r.integer(r.nodes[referenced].end, "the next slot")
	}
	return err
}

// plain checks that a list holds integers and None alone.
func (r *reader) plain(list int32) error {
	for at, end := r.children(list); at < end; at++ {
		if kind := r.nodes[at].kind; kind != nodeInt && kind != nodeNone {
			return errors.New("a part of a state holds what is no integer")
		}
	}
	return nil
}
