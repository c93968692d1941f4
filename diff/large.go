package diff

import (
	"slices"

	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/op"
)

// LargeStore is the number of slots from which a store is compared by what each
// op touched, and whole only now and then: a whole state costs in proportion to
// what is stored, on both sides and on the way.
const LargeStore = 256

// wholeAt tells whether the whole state is observed behind the i-th op: behind
// every op of a small store; of a large one behind the last op, and so often that
// it costs an op no more however large the store is.
func wholeAt(s *op.Sequence, i int) bool {
	return s.Slots < LargeStore || (i+1)%s.Slots == 0 || i+1 == len(s.Ops)
}

// Foresee makes a function that says, of a sequence on a large store, which keys
// each op is expected to evict and behind which ops the whole state is observed.
// It asks a Go store of the variant, which need not wait for the other side. Of a
// small store it says nothing. The function is for one goroutine.
func Foresee(variant string) (func(s *op.Sequence) (victims [][]string, whole []bool), error) {
	store, err := model.New(variant, 1, 1)
	if err != nil {
		return nil, err
	}
	var seen op.Observation
	return func(s *op.Sequence) (victims [][]string, whole []bool) {
		if s.Slots < LargeStore || store.Reset(s.Slots, s.ObjectBytes) != nil {
			return nil, nil
		}
		defer store.Release()
		victims, whole = make([][]string, len(s.Ops)), make([]bool, len(s.Ops))
		for i := range s.Ops {
			store.Do(&s.Ops[i], &seen)
			victims[i], whole[i] = slices.Clone(seen.Victims), wholeAt(s, i)
		}
		return victims, whole
	}, nil
}

// part makes of what a side showed of an op what it would have shown by plan, for
// sides of which one shows every state whole.
func part(o *op.Op, seen *op.Observation) *op.State {
	whole := &seen.State
	if whole.Sees&op.SeesPart != 0 {
		return whole
	}
	named := map[string]bool{}
	o.EachKey(func(key string) { named[key] = true })
	for _, key := range seen.Victims {
		named[key] = true
	}
	out := &op.State{Sees: whole.Sees&^op.SeesQueue | op.SeesPart, Next: whole.Next, Total: whole.Total, TotalRefs: whole.TotalRefs}
	for _, e := range whole.Entries {
		if named[e.Key] {
			out.Entries = append(out.Entries, e)
		}
	}
	for _, r := range whole.Refs {
		if named[r.Key] {
			out.Refs = append(out.Refs, r)
		}
	}
	return out
}

// fewOps is the length from which on the passes, which propose many sequences at
// once, are quick enough.
const fewOps = 300

// narrow brings a sequence on a large store down to what the passes can work
// with. Most of it comes from smaller stores: they are full sooner, so the same
// difference shows after fewer ops.
func (r *reducer) narrow(s op.Sequence, d *Divergence) (op.Sequence, *Divergence, error) {
	s, d, err := r.smaller(s, d)
	if err == nil && s.Slots >= LargeStore {
		// It may be the late effect of an op that changed only what is not looked
		// at behind every op. Behind the last op everything is.
		if s, d, err = r.earliest(s, d); err == nil {
			s, d, err = r.smaller(s, d)
		}
	}
	for size := len(s.Ops) / 2; err == nil && size > 0 && len(s.Ops) > fewOps; size /= 2 {
		for to := len(s.Ops) - 1; err == nil && to > 0 && !r.exhausted(); to = min(to-size, len(s.Ops)-1) {
			shorter := s
			shorter.Ops = slices.Concat(s.Ops[:max(0, to-size)], s.Ops[to:])
			s, d, err = r.accept(shorter, s, d)
		}
	}
	return s, d, err
}

// accept takes a candidate in place of s if it shows the same.
func (r *reducer) accept(candidate, s op.Sequence, d *Divergence) (op.Sequence, *Divergence, error) {
	found, err := r.single(candidate)
	if err != nil || !r.same(found) {
		return s, d, err
	}
	r.want = accepted(found)
	return cut(candidate, found), found, nil
}

// smaller halves the store as often as the same difference shows, with all keys
// or with half of them: as full a store with as full calls.
func (r *reducer) smaller(s op.Sequence, d *Divergence) (op.Sequence, *Divergence, error) {
	for slots := s.Slots / 2; slots > 0; slots /= 2 {
		for half := range 3 {
			if r.exhausted() || s.Slots == slots {
				break
			}
			candidate := s
			if half > 0 {
				candidate = everySecondKey(s, half == 1)
			}
			candidate.Slots = slots
			var err error
			if s, d, err = r.accept(candidate, s, d); err != nil {
				return s, d, err
			}
		}
	}
	return s, d, nil
}

// everySecondKey keeps every second key by first use, counted from the first or
// the second one.
func everySecondKey(s op.Sequence, first bool) op.Sequence {
	keep := map[string]bool{}
	for i := range s.Ops {
		s.Ops[i].EachKey(func(key string) {
			if _, met := keep[key]; !met {
				keep[key] = len(keep)%2 == 0 == first
			}
		})
	}
	return gen.Without(s, func(key string) bool { return !keep[key] })
}

// earliest finds the shortest beginning of s that diverges at its end, by halves,
// and makes what shows there the difference to keep.
func (r *reducer) earliest(s op.Sequence, d *Divergence) (op.Sequence, *Divergence, error) {
	low := 0 // ops that show nothing
	for low+1 < len(s.Ops) && !r.exhausted() {
		beginning := s
		beginning.Ops = s.Ops[:(low+len(s.Ops))/2]
		found, err := r.single(beginning)
		if err != nil {
			return s, d, err
		}
		if found == nil {
			low = len(beginning.Ops)
			continue
		}
		s, d = cut(beginning, found), found
		r.want = accepted(found)
	}
	return s, d, nil
}
