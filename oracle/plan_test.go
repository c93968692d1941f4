package oracle

import (
	"slices"
	"strings"
	"testing"

	"github.com/diffstore/diffstore/op"
)

// plansOf expects op i to evict the key gone, and wants every second state whole.
func plansOf(batch []op.Sequence) []*Plan {
	plans := make([]*Plan, len(batch))
	for i := range batch {
		plans[i] = &Plan{}
		for j := range batch[i].Ops {
			plans[i].Victims = append(plans[i].Victims, []string{"gone"})
			plans[i].Whole = append(plans[i].Whole, j%2 == 1)
		}
	}
	return plans
}

// plannedReply answers such plans: every key is stored and has two references,
// but for those that are gone.
func plannedReply(batch []op.Sequence) map[string]any {
	var runs []any
	for i := range batch {
		var steps []any
		for j := range batch[i].Ops {
			var slots, counts []any
			batch[i].Ops[j].EachKey(func(string) { slots, counts = append(slots, 3), append(counts, 2) })
			part := []any{append(slots, nil), append(counts, nil), 5, 6, 7}
			whole := any(nil)
			if j%2 == 1 {
				whole = emptyStateValue
			}
			steps = append(steps, []any{nil, []any{part, whole}})
		}
		runs = append(runs, []any{nil, steps})
	}
	return map[string]any{"runs": runs}
}

func TestPlannedStates(t *testing.T) {
	batch := []op.Sequence{{Slots: 9, ObjectBytes: 1, Ops: []op.Op{
		{Kind: op.Put, Objects: []op.Object{{Key: "a"}}, Retain: []string{"a", "b"}, Release: []string{"b"}},
		{Kind: op.Get, Keys: []string{"a"}},
	}}}
	decode := func(message any) ([]op.Run, error) {
		var e marshalEncoder
		e.any(message)
		r := &reader{sees: op.SeesAll, body: e.buf}
		runs := make([]op.Run, 1)
		return runs, r.runs(flight{batch, plansOf(batch)}, false, runs)
	}
	runs, err := decode(plannedReply(batch))
	if err != nil {
		t.Fatal(err)
	}
	first, second := &runs[0].Steps[0], &runs[0].Steps[1]
	if !slices.Equal(first.State.Entries, []op.Entry{{Key: "a", Slot: 3}, {Key: "b", Slot: 3}}) ||
		!slices.Equal(first.State.Refs, []op.Ref{{Key: "a", Count: 2}, {Key: "b", Count: 2}}) ||
		first.State.Total != 5 || first.State.TotalRefs != 6 || first.State.Next != 7 ||
		first.State.Sees != op.SeesRefs|op.SeesZombies|op.SeesSlots|op.SeesPart || !slices.Equal(first.Victims, []string{"gone"}) {
		t.Errorf("in part: %+v", first)
	}
	if second.State.Sees != op.SeesAll || second.State.Total != 0 || !slices.Equal(second.Victims, []string{"gone"}) {
		t.Errorf("whole: %+v", second)
	}

	// Each way in which a state by plan can be wrong is told.
	spoil := func(step int, change func(part []any) []any) any {
		reply := plannedReply(batch)
		steps := reply["runs"].([]any)[0].([]any)[1].([]any)
		state := steps[step].([]any)[1].([]any)
		state[0] = change(state[0].([]any))
		return reply
	}
	for want, message := range map[string]any{
		"part of a state is no list of 5": spoil(0, func(part []any) []any { return part[:4] }),
		"slots of a part is no list of 5": spoil(0, func(part []any) []any { part[0] = part[0].([]any)[1:]; return part }),
		"holds what is no integer":        spoil(0, func(part []any) []any { part[1].([]any)[0] = []any{1}; return part }),
		"number of stored keys is no":     spoil(0, func(part []any) []any { part[2] = nil; return part }),
		"next slot is no integer":         spoil(0, func(part []any) []any { part[4] = "a"; return part }),
		"did not send the whole state": map[string]any{"runs": []any{[]any{nil, []any{
			[]any{nil, []any{[]any{[]any{1, 1, 1, 1, 1}, []any{1, 1, 1, 1, 1}, 1, 1, 1}, nil}},
			[]any{nil, []any{[]any{[]any{1, 1}, []any{1, 1}, 1, 1, 1}, nil}},
		}}}},
	} {
		if _, err := decode(message); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
