package oracle

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/traces"
)

// misbehaviour is a fake and what is to be said of it.
type misbehaviour struct {
	does string
	// wires are those on which it differs; nil means both.
	wires   []string
	verdict diff.Verdict
	// fault is the kind of the *Fault, or empty; says a part of its line, or of
	// the incident's or finding's text.
	fault string
	says  string
	// finding is the error kind that stands in the run at the op with the bomb.
	finding op.ErrorKind
}

var misbehaviours = []misbehaviour{
	{does: "nothing wrong", verdict: diff.Agree},
	{does: "chooses json", verdict: diff.Agree},
	{does: "dies at start", verdict: diff.Infrastructure, fault: "death", says: "it ended before its hello: fake: no licence"},
	{does: "prints first", verdict: diff.Infrastructure, fault: "protocol", says: `its hello is no JSON line: "loading weights...\n"`},
	{does: "says something else", verdict: diff.Infrastructure, fault: "protocol", says: "it speaks protocol 0, this diffstore speaks 1"},
	{does: "speaks another version", verdict: diff.Infrastructure, fault: "protocol", says: "it speaks protocol 2, this diffstore speaks 1"},
	{does: "chooses a wire of its own", verdict: diff.Infrastructure, fault: "protocol", says: `it chose wire "smoke"`},
	{does: "says a long hello", verdict: diff.Infrastructure, fault: "protocol", says: "it sent a line of more than 1048576 bytes"},
	{does: "refuses", verdict: diff.Infrastructure, fault: "config", says: "no store was named"},
	{does: "refuses oddly", verdict: diff.Infrastructure, fault: "protocol", says: `unknown to the protocol, "mood": not today`},
	{does: "dies in a batch once", verdict: diff.Infrastructure, says: "a death of the process in a batch, which did not recur when the batch was run again: fake: out of memory"},
	{does: "dies at an op", verdict: diff.Diverges, finding: op.CrashError, says: "the process ended in this op: Segmentation fault"},
	{does: "dies at an op once", verdict: diff.Infrastructure, says: "did not recur"},
	{does: "dies at an op twice", verdict: diff.Infrastructure, says: "a death of the process at op 2, which did not recur"},
	{does: "dies at another op each time", verdict: diff.Infrastructure, fault: "death", says: "it died 3 times while one sequence ran, never twice in a row at the same op"},
	{does: "dies behind the last op", verdict: diff.Infrastructure, fault: "death", says: "behind the last op of a sequence: fake: double free"},
	{does: "hangs at an op", verdict: diff.Diverges, finding: op.HangError, says: "no answer within 500ms"},
	{does: "hangs at an op once", verdict: diff.Infrastructure, says: "a hang in a batch, which did not recur"},
	{does: "answers garbage", wires: []string{WireMarshal}, verdict: diff.Infrastructure, fault: "protocol", says: "is not one this protocol uses"},
	{does: "answers garbage", wires: []string{WireJSON}, verdict: diff.Infrastructure, fault: "protocol", says: "invalid character"},
	{does: "answers a long line", wires: []string{WireMarshal}, verdict: diff.Infrastructure, fault: "protocol", says: "it sent a message of 104857600 bytes, over the limit of 67108864"},
	{does: "answers a long line", wires: []string{WireJSON}, verdict: diff.Infrastructure, fault: "protocol", says: "it sent a line of more than 67108864 bytes"},
	{does: "stops inside a message", verdict: diff.Infrastructure, fault: "protocol", says: "it stopped inside a message"},
	{does: "sends a run too many", verdict: diff.Infrastructure, fault: "protocol", says: "runs is no list of 3"},
	{does: "sends a run too few", verdict: diff.Infrastructure, fault: "protocol", says: "runs is no list of 3"},
	{does: "sends no runs", verdict: diff.Infrastructure, fault: "protocol", says: "the reply has no runs"},
	{does: "sends a step too many", verdict: diff.Infrastructure, fault: "protocol", says: "steps is no list of 2"},
	{does: "sends a step too few", verdict: diff.Infrastructure, fault: "protocol", says: "steps is no list of 2"},
	{does: "sends an unknown error kind", verdict: diff.Infrastructure, fault: "protocol", says: `error kind "mood" is not one an oracle may send`},
	{does: "sends a crash as an error", verdict: diff.Infrastructure, fault: "protocol", says: `error kind "crash" is not one an oracle may send`},
}

// threeTraces are a batch whose second sequence names the bomb in its third op.
func threeTraces() []traces.Trace {
	plain := []op.Op{
		{Kind: op.Put, Objects: []op.Object{{Key: "a", Payload: []byte("aa")}}, Retain: []string{"a"}},
		{Kind: op.Get, Keys: []string{"a"}},
	}
	second := append(plain[:2:2], op.Op{Kind: op.Get, Keys: []string{bomb}}, op.Op{Kind: op.Put, Release: []string{"a"}})
	var list []traces.Trace
	for _, ops := range [][]op.Op{plain, second, plain} {
		list = append(list, traces.Trace{Header: traces.Header{Slots: 2, ObjectBytes: 2}, Ops: ops})
	}
	return list
}

func open(launch Launch, ask Ask) diff.Open {
	return func() (diff.Subject, error) {
		o, err := Open(launch, ask)
		if err != nil {
			return nil, err
		}
		return o, nil
	}
}

// patience is the context of a run that must end by itself; it only guards against one that does not.
func patience(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestWhatIsSaidOfAnOracleThatMisbehaves(t *testing.T) {
	for _, m := range misbehaviours {
		wires := m.wires
		if wires == nil {
			wires = []string{WireMarshal, WireJSON}
		}
		for _, wire := range wires {
			t.Run(m.does+"/"+wire, func(t *testing.T) { m.check(t, wire) })
		}
	}
}

func (m misbehaviour) check(t *testing.T, wire string) {
	timeout := 500 * time.Millisecond
	if m.fault == "protocol" && strings.Contains(m.does, "long") {
		timeout = 30 * time.Second // it is cut off by its length
	}
	launch := fakeLaunch(t, m.does, wire, timeout)
	ctx := patience(t)
	result, failure := diff.Replay(ctx, threeTraces(), []diff.Open{diff.Model("main"), open(launch, Ask{})}, diff.Options{Strict: true})
	verdict, why := diff.Conclude(result, failure, nil)
	noneLeft(t, ctx)
	if ctx.Err() != nil || verdict != m.verdict {
		t.Fatalf("verdict %v (%d), want %v: %v %v", verdict, verdict, m.verdict, why, result.Findings)
	}
	var fault *Fault
	if errors.As(failure, &fault); (fault == nil) != (m.fault == "") || fault != nil && fault.Kind != m.fault {
		t.Errorf("fault %+v, want one of kind %q", fault, m.fault)
	}
	said := strings.Join(why, "\n")
	if m.finding != op.NoError {
		if len(result.Findings) != 1 {
			t.Fatalf("%d findings, want one", len(result.Findings))
		}
		d := result.Findings[0].Divergence
		if d.Case != 1 || d.Step != 2 || d.Right.Outcome.Kind() != m.finding || len(result.Incidents) != 0 {
			t.Errorf("finding in case %d at op %d with %v, incidents %v", d.Case, d.Step, d.Right.Outcome.Err, result.Incidents)
		}
		said = d.Right.Outcome.Err.Message
	}
	if !strings.Contains(said, m.says) || strings.Contains(said, "\n") {
		t.Errorf("said %q, want one line with %q", said, m.says)
	}
}

func TestFirstDeathLeavesTheRestOfTheBatchOut(t *testing.T) {
	launch := fakeLaunch(t, "dies at an op", WireMarshal, time.Second)
	o, err := Open(launch, Ask{FirstDeath: true})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	var batch []op.Sequence
	for _, trace := range threeTraces() {
		batch = append(batch, trace.Sequence())
	}
	batch = append(batch, batch[1], batch[0])
	// What a run held before must not show where nothing was run.
	runs := make([]op.Run, len(batch))
	runs[4].Steps = make([]op.Observation, 7)
	if err := o.Submit(batch); err != nil {
		t.Fatal(err)
	}
	if err := op.Collect(o, runs); err != nil {
		t.Fatal(err)
	}
	var steps []int
	for i := range runs {
		steps = append(steps, len(runs[i].Steps))
	}
	if want := []int{2, 3, 0, 0, 0}; !slices.Equal(steps, want) {
		t.Errorf("steps %v, want %v", steps, want)
	}
}

// TestWhatIsUnderWaySurvivesADeath submits a second batch before the first,
// which kills the process, is collected.
func TestWhatIsUnderWaySurvivesADeath(t *testing.T) {
	launch := fakeLaunch(t, "dies at an op", WireMarshal, time.Second)
	o, err := Open(launch, Ask{})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	list := threeTraces()
	first, second := []op.Sequence{list[1].Sequence()}, []op.Sequence{list[0].Sequence()}
	for _, batch := range [][]op.Sequence{first, second} {
		if err := o.Submit(batch); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []int{3, 2} {
		runs := make([]op.Run, 1)
		if err := op.Collect(o, runs); err != nil {
			t.Fatal(err)
		}
		if got := len(runs[0].Steps); got != want {
			t.Errorf("batch %d has %d steps, want %d", i, got, want)
		}
	}
	if stderr := o.Stderr(); !strings.Contains(stderr, "Segmentation fault") {
		t.Errorf("standard error is %q, want what the dead process wrote", stderr)
	}
}

func TestACommandThatIsNotThere(t *testing.T) {
	launch, err := Resolve("exec:no-such-command --flag", Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(launch, Ask{})
	var fault *Fault
	if !errors.As(err, &fault) || fault.Kind != "config" || fault.Error() != "oracle exec:no-such-command --flag: no-such-command was not found" {
		t.Errorf("error %v", err)
	}
}
