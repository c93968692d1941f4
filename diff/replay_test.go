package diff

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/traces"
)

// recording makes a trace of what the main model does.
func recording(t *testing.T, s op.Sequence) traces.Trace {
	t.Helper()
	run := runOn(t, "main", s)
	trace := traces.Trace{
		Header: traces.Header{
			Slots: s.Slots, ObjectBytes: s.ObjectBytes, WantConstruct: run.Refused,
			Recorded: &traces.Recorded{Project: "somebody's", Python: "3.12"},
		},
		Ops: s.Ops, Wants: make([]*op.Observation, len(s.Ops)),
	}
	for i := range run.Steps {
		trace.Wants[i] = &run.Steps[i]
	}
	return trace
}

func plain(s op.Sequence) traces.Trace {
	return traces.Trace{Header: traces.Header{Slots: s.Slots, ObjectBytes: s.ObjectBytes}, Ops: s.Ops}
}

func TestReplayHoldsARecordingAgainstASubject(t *testing.T) {
	s := sequence(t, 2, 1, "put a=61 b=62", "get a b", "get b a")
	good, bad, gap := recording(t, s), recording(t, s), recording(t, s)
	bad.Wants[1].State.Queue[0] = "nobody"
	gap.Wants[1].State.Queue[0] = "nobody"
	gap.Wants[1] = nil // what is not recorded is not compared
	result, err := Replay(context.Background(), []traces.Trace{good, bad, gap}, []Open{Model("main")}, Options{Strict: true})
	if err != nil || result.Sequences != 3 || result.Ops != 9 || len(result.Findings) != 1 {
		t.Fatalf("%v, %d sequences, findings %v", err, result.Sequences, cases(result))
	}
	d := result.Findings[0].Divergence
	if d.Case != 1 || d.Step != 1 || d.Field != FieldQueue || d.Left.State.Queue[0] != "nobody" {
		t.Errorf("found %+v", d)
	}
	names := []string{result.Identities[0].Name, result.Identities[1].Name}
	if d := cmp.Diff([]string{"recorded somebody's", "model:main"}, names); d != "" || result.Identities[0].Python != "3.12" {
		t.Errorf("identities %v", result.Identities)
	}
}

func TestReplayOfARefusedConstructor(t *testing.T) {
	trace := plain(op.Sequence{Slots: 0, ObjectBytes: 1})
	trace.WantConstruct = op.NewError(op.ArgumentError, "ValueError", "no room", "")
	for object, want := range map[int]int{1: 0, 0: 0} {
		trace.ObjectBytes = object
		result, err := Replay(context.Background(), []traces.Trace{trace}, []Open{Model("main")}, Options{})
		if err != nil || len(result.Findings) != want {
			t.Errorf("%d bytes: %v, %v", object, err, cases(result))
		}
	}
	trace.Slots, trace.ObjectBytes = 1, 1
	result, err := Replay(context.Background(), []traces.Trace{trace}, []Open{Model("main")}, Options{})
	if err != nil || len(result.Findings) != 1 || result.Findings[0].Divergence.Field != FieldConstruct {
		t.Errorf("%v, %v", err, cases(result))
	}
}

func TestReplayOfPlainTracesComparesTwoSubjects(t *testing.T) {
	same := plain(sequence(t, 2, 1, "put a=61 b=62"))
	differs := plain(sequence(t, 2, 1, "put a=61 b=62 retain a", "put release a a"))
	list := []traces.Trace{same, differs, same, differs}
	result, err := Replay(context.Background(), list, []Open{Model("main"), Model("free-queue")}, Options{})
	if err != nil || result.Sequences != 4 {
		t.Fatal(err, result.Sequences)
	}
	var at []int
	for _, f := range result.Findings {
		at = append(at, f.Divergence.Case)
	}
	if d := cmp.Diff([]int{1, 3}, at); d != "" {
		t.Errorf("findings at (-want +got):\n%s", d)
	}
}

// TestReplayGoesOnBehindWhatWasLeftOut has a subject that, as an oracle does,
// leaves out what lies behind a death in its batch.
func TestReplayGoesOnBehindWhatWasLeftOut(t *testing.T) {
	dies := op.NewError(op.CrashError, "a death of the process", "gone", "")
	leaves := func() (Subject, error) {
		subject, err := Model("main")()
		return &leavesOut{subject, nil}, err
	}
	deadly := plain(sequence(t, 2, 1, "put deadly=61"))
	recorded := recording(t, deadly.Sequence())
	recorded.Wants[0] = &op.Observation{Outcome: op.Outcome{Err: dies}}
	harmless := recording(t, sequence(t, 2, 1, "put a=61"))
	// A recorded death that recurs is no divergence: the replay goes on.
	result, err := Replay(context.Background(), []traces.Trace{harmless, recorded, harmless, recorded, harmless}, []Open{leaves}, Options{})
	if err != nil || result.Sequences != 5 || result.Ops != 5 || len(result.Findings) != 0 {
		t.Errorf("%v, %d sequences, %d ops, %v", err, result.Sequences, result.Ops, cases(result))
	}
	// One that was not recorded is, and ends the replay.
	result, err = Replay(context.Background(), []traces.Trace{harmless, deadly, harmless, deadly}, []Open{Model("main"), leaves}, Options{})
	if err != nil || result.Sequences != 2 || len(result.Findings) != 1 || result.Findings[0].Divergence.Case != 1 {
		t.Errorf("%v, %d sequences, %v", err, result.Sequences, cases(result))
	}
}

// leavesOut dies at the key deadly and leaves out the rest of the batch.
type leavesOut struct {
	Subject
	pending [][]op.Sequence
}

func (l *leavesOut) Submit(batch []op.Sequence) error {
	l.pending = append(l.pending, batch)
	return l.Subject.Submit(batch)
}

func (l *leavesOut) Receive() (next func(dst *op.Run) error, err error) {
	inner, err := l.Subject.Receive()
	batch, dead := l.pending[0], false
	l.pending = l.pending[1:]
	return func(dst *op.Run) error {
		s := &batch[0]
		batch = batch[1:]
		if err := inner(dst); err != nil {
			return err
		}
		switch {
		case dead:
			*dst = op.Run{}
		case strings.Contains(s.Ops[0].String(), "deadly"):
			dead = true
			died(s, dst)
		}
		return nil
	}, err
}

func TestReplayEndsEarly(t *testing.T) {
	list := []traces.Trace{plain(sequence(t, 2, 1, "put a=61"))}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	result, err := Replay(cancelled, list, []Open{Model("main"), Model("main")}, Options{})
	if err != nil || !result.Interrupted || result.Sequences != 0 {
		t.Errorf("interrupted: %v, %+v", err, result)
	}
	result, err = Replay(context.Background(), list, []Open{Model("main"), breaking(Model("main"), 0)}, Options{})
	if err != errBroken || result.Sequences != 0 || result.Stderr[1] != "last words" {
		t.Errorf("a subject that breaks: %v, %+v", err, result)
	}
	refuses := func() (Subject, error) { return nil, errBroken }
	if _, err := Replay(context.Background(), list, []Open{refuses}, Options{}); err != errBroken {
		t.Errorf("a subject that does not open: %v", err)
	}
}

// TestReplayOfTheRealStore holds the model against what vLLM's store did.
func TestReplayOfTheRealStore(t *testing.T) {
	list := upstreamTraces(t)
	result, err := Replay(context.Background(), list, []Open{Model("main")}, Options{Strict: true, Text: true})
	if err != nil || result.Sequences != 450 || len(result.Findings) != 0 {
		t.Errorf("%v, %d of 450 traces, findings %v", err, result.Sequences, cases(result))
	}
}

// upstreamTraces reads the recorded runs of vLLM's store.
func upstreamTraces(t *testing.T) (list []traces.Trace) {
	t.Helper()
	files, err := filepath.Glob("../testdata/upstream/*.jsonl*")
	if err != nil || len(files) != 4 {
		t.Fatalf("%d files of recorded runs: %v", len(files), err)
	}
	for _, file := range files {
		more, err := traces.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, more...)
	}
	return list
}
