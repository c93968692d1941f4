package report

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sebdah/goldie/v2"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/traces"
)

func golden(t *testing.T) *goldie.Goldie {
	t.Helper()
	return goldie.New(t, goldie.WithFixtureDir(filepath.Join("testdata", "golden")))
}

// plainTrace reads ops in the notation of package op into a trace.
func plainTrace(t *testing.T, variant string, slots, objectBytes int, ops ...string) traces.Trace {
	t.Helper()
	trace := traces.Trace{Header: traces.Header{Slots: slots, ObjectBytes: objectBytes, Model: variant}, Name: "made.jsonl", Line: 1}
	for _, text := range ops {
		o, err := op.ParseOp(text)
		if err != nil {
			t.Fatal(err)
		}
		trace.Ops = append(trace.Ops, o)
	}
	return trace
}

// diverged makes the run of a campaign that found main and another variant to
// differ on a sequence.
func diverged(t *testing.T, variant string, slots int, ops ...string) *Run {
	t.Helper()
	trace := plainTrace(t, "main", slots, 1, ops...)
	opens := []diff.Open{diff.Model("main"), diff.Model(variant)}
	judge := diff.Pair(diff.Options{Strict: true})
	found, err := diff.Diverge(trace.Sequence(), opens, judge)
	if err != nil || found == nil {
		t.Fatalf("%v: no divergence", err)
	}
	found.Case = 17
	reduced, err := diff.Reduce(context.Background(), trace.Sequence(), found, opens, judge, diff.DefaultBudget)
	if err != nil {
		t.Fatal(err)
	}
	reduced.Took = 1500 * time.Millisecond
	reduced.Evaluations = 96
	return &Run{
		Command: "fuzz", Repeat: "diffstore fuzz --oracle 'my store.py'", Verdict: diff.Diverges, Seed: 1, Profile: "mixed",
		Model: "main", Oracle: "my store.py", Reduced: &reduced, Result: &diff.Result{
			Sequences: 18, Ops: 1234, Took: 2 * time.Second, Findings: []diff.Finding{{Sequence: trace.Sequence(), Divergence: found}},
			Identities: []op.Identity{
				{Name: "model:main", Class: "model.Store", Adapter: "Go"},
				{
					Name: "my store.py", Path: "my store.py", Class: "BlockObjectStore", SHA256: strings.Repeat("0123456789abcdef", 4),
					Version: "1.2", Commit: strings.Repeat("fedcba98", 5), Adapter: "slots-and-queue", Python: "3.12.1", Wire: "marshal",
				},
			},
			Stderr: []string{"", "what the store printed\n"},
		},
	}
}

var tenOps = []string{
	"get", "put x=78", "get x", "put y=79 retain y y", "put release y", "put x=78 retain x release y", "put release x",
	"put a=61 b=62 retain a", "put release a nope", "get a b",
}

func agreed() *Run {
	r := &Run{Command: "fuzz", Verdict: diff.Agree, Profile: "mixed", Result: &diff.Result{
		Sequences: 5000, Ops: 1234567, Took: 3 * time.Second,
		Identities: []op.Identity{{Name: "model:main", Class: "model.Store"}, {Name: "embedded"}},
	}}
	s := &r.Result.Stats
	s.Ops[op.Put], s.Ops[op.Get], s.Outcomes[op.Put][op.KeyError], s.Victims = 1000000, 234567, 12, 4711
	return r
}

func TestTexts(t *testing.T) {
	replayed := diverged(t, "free-queue", 2, tenOps...)
	replayed.Command, replayed.Profile, replayed.Flags, replayed.Strict = "replay", "", " --python=python3.9", true
	replayed.Folder = "diffstore-runs/replay-made-trace18"
	replayed.Place = func(int) string { return "made.jsonl:3" }
	notReduced := diverged(t, "free-queue", 2, tenOps...)
	notReduced.Reduced = nil
	flaky := diverged(t, "free-queue", 2, tenOps...)
	flaky.Folder, flaky.Reduced = "runs/flaky", &diff.Reduced{Flaky: true}
	exhausted := diverged(t, "free-queue", 2, tenOps...)
	exhausted.Folder, exhausted.Reduced.Exhausted = "runs/exhausted", true
	foreign := diverged(t, "free-queue", 2, tenOps...)
	foreign.Result.Identities[1].Name = "evil\x1b[31m\nname"
	foreign.Result.Findings[0].Divergence.Right.Outcome.Err = op.NewError(op.OtherError, "Evil\x1b[2J", "first\nsecond \x07", "")
	foreign.Reduced = nil
	private := diverged(t, "front-rotation", 2, "put a=61 b=62 retain a", "put c=63", "put release a nope", "put d=64")
	private.Reduced = nil
	stopped := agreed()
	stopped.Verdict, stopped.Why, stopped.Result.Interrupted = diff.Infrastructure, []string{"interrupted after 5000 sequences", "a death of the process at op 3, which did not recur"}, true
	nothing := &Run{Command: "fuzz", Verdict: diff.Infrastructure, Why: []string{"no operation was executed"}, Result: &diff.Result{}}
	for name, r := range map[string]*Run{
		"agree": agreed(), "diverge": diverged(t, "free-queue", 2, tenOps...), "replayed": replayed, "not-reduced": notReduced, "flaky": flaky,
		"exhausted": exhausted, "foreign": foreign, "other-variant": private, "interrupted": stopped, "nothing-ran": nothing,
	} {
		var out bytes.Buffer
		r.Text(&out, Palette{})
		golden(t).Assert(t, "text-"+name, out.Bytes())
		if strings.ContainsRune(out.String(), '\x1b') {
			t.Errorf("%s: an escape reached the terminal", name)
		}
	}
	var coloured bytes.Buffer
	diverged(t, "free-queue", 2, tenOps...).Text(&coloured, Palette{On: true})
	golden(t).Assert(t, "text-coloured", coloured.Bytes())
}

func TestJSON(t *testing.T) {
	for name, r := range map[string]*Run{"agree": agreed(), "diverge": diverged(t, "free-queue", 2, tenOps...)} {
		out, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		golden(t).Assert(t, "json-"+name, out)
		var back map[string]any
		if err := json.Unmarshal(out, &back); err != nil || back["exit_code"] != float64(r.Verdict) {
			t.Errorf("%s: %v, exit code %v", name, err, back["exit_code"])
		}
	}
}

func TestDifferencesShowTheDifferingFieldsOnly(t *testing.T) {
	r := diverged(t, "free-queue", 2, tenOps...)
	got := Differences(r.Reduced.Divergence)
	if d := cmp.Diff([]Difference{{"queue", "a b", "b a"}}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	private := &diff.Divergence{Field: diff.FieldNext, Left: op.Observation{State: op.State{Sees: op.SeesAll, Next: 1}}, Right: op.Observation{State: op.State{Sees: op.SeesAll, Next: 2}}}
	if d := cmp.Diff([]Difference{{"next", "1", "2"}}, Differences(private)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	private.Field, private.Right.Victims = diff.FieldVictims, []string{"a\nb"}
	if d := cmp.Diff([]Difference{{"victims", "", `"a\nb"`}}, Differences(private)); d != "" {
		t.Errorf("what was not compared is shown (-want +got):\n%s", d)
	}
}

func TestLongListsAreCut(t *testing.T) {
	var keys []string
	for range 100 {
		keys = append(keys, "k")
	}
	if got := keysText(keys); !strings.HasSuffix(got, " k … and 60 more") || strings.Count(got, "k") != shownKeys {
		t.Errorf("100 keys read %q", got)
	}
	long := op.Outcome{Payload: make([]byte, 1000)}
	if got := outcomeText(&long); !strings.HasSuffix(got, "00… of 1000 bytes") {
		t.Errorf("1000 bytes read %q", got)
	}
	if got := outcomeText(&op.Outcome{Payload: []byte{}}); got != "payload " {
		t.Errorf("no bytes read %q", got)
	}
}

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"plain-word_1.py:Class==+@,%": "plain-word_1.py:Class==+@,%", "": "''", "two words": "'two words'", "it's": `'it'\''s'`, "$(rm)": "'$(rm)'", "*": "'*'",
	} {
		if got := Quote(word); got != want {
			t.Errorf("%q is quoted as %s, expected %s", word, got, want)
		}
	}
}

func TestSave(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	for name, c := range map[string]struct {
		change func(r *Run)
		want   []string
	}{
		"reduced":     {func(*Run) {}, []string{"divergence.json", "full.jsonl", "oracle.stderr", "reduced.jsonl", "repro.py"}},
		"not reduced": {func(r *Run) { r.Reduced = nil }, []string{"divergence.json", "full.jsonl", "oracle.stderr", "repro.py"}},
		"flaky":       {func(r *Run) { r.Reduced = &diff.Reduced{Flaky: true} }, []string{"divergence.json", "full.jsonl", "oracle.stderr", "repro.py"}},
	} {
		r := diverged(t, "free-queue", 2, tenOps...)
		c.change(r)
		if err := r.Save(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(dir, name, "fuzz-mixed-seed1-case17"); r.Folder != want {
			t.Errorf("%s: the folder is %s, expected %s", name, r.Folder, want)
		}
		entries, err := os.ReadDir(r.Folder)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		full, err := traces.ReadFile(filepath.Join(r.Folder, "full.jsonl"))
		if err != nil || len(full) != 1 || len(full[0].Ops) != len(tenOps) || full[0].Seed != "1" || *full[0].Case != 17 {
			t.Errorf("%s: full.jsonl: %v, %+v", name, err, full)
		}
		said, err := os.ReadFile(filepath.Join(r.Folder, "oracle.stderr"))
		if err != nil || string(said) != "what the store printed\n" {
			t.Errorf("%s: oracle.stderr: %v, %q", name, err, said)
		}
		machine, err := os.ReadFile(filepath.Join(r.Folder, "divergence.json"))
		if err != nil || !strings.Contains(string(machine), `"fingerprint": "put/queue/key|key/differs-after-error"`) {
			t.Errorf("%s: divergence.json: %v\n%s", name, err, machine)
		}
	}
}

func TestReserveLeavesNothing(t *testing.T) {
	root := t.TempDir()
	if err := Reserve(filepath.Join(root, "a", "b", "c")); err != nil {
		t.Fatal(err)
	}
	there := filepath.Join(root, "there")
	if err := os.Mkdir(there, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Reserve(there); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v: %v is left, expected what was there alone", err, entries)
	}
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Reserve(filepath.Join(file, "runs")); err == nil || !strings.Contains(err.Error(), "name another with --out") {
		t.Errorf("a folder below a file: %v", err)
	}
}

func TestShowTrace(t *testing.T) {
	plain := plainTrace(t, "main", 2, 1, tenOps...)
	refused := plainTrace(t, "", 0, 1)
	recorded := plainTrace(t, "", 1, 1, "put a=61", "get nope")
	recorded.Recorded = &traces.Recorded{Project: "vllm", Commit: strings.Repeat("0123abcd", 5)}
	recorded.Wants = []*op.Observation{{Victims: []string{"ghost"}, State: op.State{Entries: []op.Entry{{Key: "b", Slot: op.Unallocated}}, Sees: op.SeesZombies}}, nil}
	var out bytes.Buffer
	for _, trace := range []traces.Trace{plain, refused, recorded} {
		if err := ShowTrace(&out, Palette{}, &trace); err != nil {
			t.Fatal(err)
		}
	}
	golden(t).Assert(t, "show", out.Bytes())
	unknown := plainTrace(t, "nonsense", 1, 1)
	if err := ShowTrace(&out, Palette{}, &unknown); err == nil {
		t.Error("a trace of an unknown model is shown")
	}
}

// TestEveryFieldIsShown fails while a compared field has no place in a report.
func TestEveryFieldIsShown(t *testing.T) {
	shown := map[diff.Field]bool{
		diff.FieldConstruct:  true, // shown as the outcome
		diff.FieldInvariants: true, // shown in words
	}
	for _, f := range viewFields {
		shown[f.field] = true
	}
	for _, f := range diff.Fields {
		if !shown[f.Field] {
			t.Errorf("a divergence in %s shows no field", f.Field)
		}
	}
}
