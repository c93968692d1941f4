package oracle

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/diffstore/diffstore/op"
)

// fuzzBatch is what the replies of the fuzz tests answer.
var fuzzBatch = []op.Sequence{
	{Slots: 1, ObjectBytes: 2, Ops: []op.Op{
		{Kind: op.Put, Objects: []op.Object{{Key: "a", Payload: []byte("aa")}}, Retain: []string{"a"}},
		{Kind: op.Get, Keys: []string{"a"}},
		{Kind: op.Put, Objects: []op.Object{{Key: "b", Payload: []byte("bb")}}, Release: []string{"a"}},
	}},
	{Slots: 0, ObjectBytes: 1},
}

// fuzzTree is the tree that they answer.
var fuzzTree = Tree{Slots: 1, ObjectBytes: 2, Ops: fuzzBatch[0].Ops, Keys: []string{"a", "b"}, Branches: []Branch{{Path: []int32{0}, Tries: []int32{1, 2}}}}

// seedReplies gives sound replies to fuzzBatch, by a wire, as seeds.
func seedReplies(f *testing.F, wire string) {
	f.Helper()
	runs := modelled(f, "main", fuzzBatch)
	var whole []any
	for i := range runs {
		var refused any
		if runs[i].Refused != nil {
			refused = errorValue(runs[i].Refused)
		}
		var steps []any
		for j := range runs[i].Steps {
			steps = append(steps, stepValue(&runs[i].Steps[j], wire == WireJSON))
		}
		whole = append(whole, []any{refused, list(steps)})
	}
	for _, message := range []any{map[string]any{"runs": whole}, map[string]any{"step": emptyStateValue},
		map[string]any{"branches": []any{[]any{nil, []any{[]any{nil, emptyStateValue, nil, map[string]any{"odd": []any{1, "a"}}}}, []any{0, 0}}}, "performed": 3, "rebuilt": 0}, plannedReply(fuzzBatch), []any{nil, 1 << 40, "text", map[string]any{}}} {
		if wire == WireJSON {
			line, err := json.Marshal(message)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(line)
			continue
		}
		e := &marshalEncoder{}
		e.any(message)
		f.Add(e.buf)
	}
}

// readAnything decodes what may be anything and reads it as every reply. It must
// not panic, not hold more values than the message has bytes, and give steps only
// for ops that were asked for.
func readAnything(t *testing.T, wire string, data []byte) {
	r := &reader{hex: wire == WireJSON, sees: op.SeesAll, body: data}
	runs := make([]op.Run, len(fuzzBatch))
	for _, asked := range []struct {
		hashes bool
		plans  []*Plan
	}{{}, {hashes: true}, {plans: plansOf(fuzzBatch)}} {
		if err := r.runs(flight{fuzzBatch, asked.plans}, asked.hashes, runs); err != nil {
			continue
		}
		for i := range runs {
			if want := len(fuzzBatch[i].Ops); len(runs[i].Steps) != want && runs[i].Refused == nil {
				t.Fatalf("run %d has %d steps, want %d", i, len(runs[i].Steps), want)
			}
		}
	}
	err := r.decode(wire, data)
	if len(r.nodes) > len(data)+1 || len(r.refs) > len(data) {
		t.Fatalf("%d values and %d references from %d bytes", len(r.nodes), len(r.refs), len(data))
	}
	if err != nil {
		return
	}
	run := op.Run{}
	if step, ok := r.field(0, "step"); ok {
		_ = r.step(step, &fuzzBatch[0], nil, false, &run)
	}
	_ = r.last(&fuzzBatch[1], &run)
	shown := make([]Shown, len(fuzzTree.Branches))
	if _, err := r.branches(&fuzzTree, shown); err != nil {
		return
	}
	for i := range shown {
		if len(shown[i].At) != len(fuzzTree.Branches[i].Tries) {
			t.Fatalf("branch %d has %d places for %d tries", i, len(shown[i].At), len(fuzzTree.Branches[i].Tries))
		}
		for j := range shown[i].Leaves {
			_ = shown[i].Leaves[j].AppendMemory(nil, strings.ToUpper)
		}
	}
}

func FuzzMarshal(f *testing.F) {
	seedReplies(f, WireMarshal)
	f.Add([]byte("\xfb\xda" + le(4) + "runs[" + le(1) + "r" + le(1) + "0"))
	f.Fuzz(func(t *testing.T, data []byte) { readAnything(t, WireMarshal, data) })
}

func FuzzJSON(f *testing.F) {
	seedReplies(f, WireJSON)
	f.Add([]byte(`{"runs":[[null,[["61",[["a"],null,[0],{"a":1},[],1],[1,1]]]]],"runs":7}`))
	f.Fuzz(func(t *testing.T, data []byte) { readAnything(t, WireJSON, data) })
}
