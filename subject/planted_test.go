package subject_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/python"
	"github.com/diffstore/diffstore/subject"
	"github.com/diffstore/diffstore/traces"
)

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

// launchOf starts a store's text, or skips where there is no Python.
func launchOf(t *testing.T, name, text string) oracle.Launch {
	t.Helper()
	launch, err := oracle.Source(name, text, oracle.Options{})
	var fault *oracle.Fault
	if errors.As(err, &fault) && fault.Kind == "python" {
		t.Skip("no Python: ", fault.What)
	}
	if err != nil {
		t.Fatal(err)
	}
	return launch
}

// source opens a store's text in a process.
func source(t *testing.T, name, text string) diff.Open {
	t.Helper()
	return subject.Oracle(launchOf(t, name, text), oracle.Ask{FirstDeath: true})
}

// campaign is a small campaign on two subjects.
func campaign(left, right diff.Open, sequences, workers int) *diff.Campaign {
	return &diff.Campaign{
		Seed: 1, Sequences: sequences, Workers: workers, Subjects: []diff.Open{left, right},
		Judge: func() diff.Judge { return diff.Pair(diff.Options{}) },
	}
}

func store(t *testing.T, name string) diff.Open {
	t.Helper()
	text, ok := python.Store(name)
	if !ok {
		t.Fatalf("no store %s", name)
	}
	return source(t, name, text)
}

func mutant(t *testing.T, name string) diff.Open {
	t.Helper()
	return source(t, name, mutantText(t, name))
}

// mutantText is the text of a store with a planted bug.
func mutantText(t *testing.T, name string) string {
	t.Helper()
	all, err := python.Mutants()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.Name == name {
			text, err := m.Apply()
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
	}
	t.Fatalf("no planted bug %s", name)
	return ""
}

func TestReplayOfTheRealStoreOnTheEmbeddedOne(t *testing.T) {
	embedded := store(t, "main")
	result, err := diff.Replay(context.Background(), upstreamTraces(t), []diff.Open{diff.Model("main"), embedded}, diff.Options{Strict: true, Text: true})
	if err != nil || result.Sequences != 450 || len(result.Findings) != 0 {
		t.Errorf("%v, %d of 450 traces, %d findings", err, result.Sequences, len(result.Findings))
	}
}

// TestPlantedBugsFallEarlyAndComeOutShort: a store that evicts from the wrong end
// and one whose get does not touch differ on one of the first sequences and
// reduce to at most three ops.
func TestPlantedBugsFallEarlyAndComeOutShort(t *testing.T) {
	for _, name := range []string{
		"evict-newest-first", "queue-popped-from-the-tail", "get-does-not-touch", "get-does-not-touch-the-queue",
	} {
		t.Run(name, func(t *testing.T) {
			opens := []diff.Open{diff.Model("main"), mutant(t, name)}
			if name == "queue-popped-from-the-tail" || name == "get-does-not-touch-the-queue" {
				opens[0] = diff.Model("free-queue") // which these two are edits of
			}
			result, err := campaign(opens[0], opens[1], 40, 1).Run(context.Background())
			if err != nil || len(result.Findings) == 0 {
				t.Fatalf("%v, nothing found in %d sequences", err, result.Sequences)
			}
			f := result.Findings[0]
			if f.Divergence.Case > 20 {
				t.Errorf("found in case %d only", f.Divergence.Case)
			}
			reduced, err := diff.Reduce(context.Background(), f.Sequence, f.Divergence, opens, diff.Pair(diff.Options{}), diff.DefaultBudget)
			if err != nil || reduced.Flaky || len(reduced.Sequence.Ops) > 3 {
				t.Errorf("%v, reduced to %d ops", err, len(reduced.Sequence.Ops))
			}
		})
	}
}

// TestOneSeedGivesOneTrace: the reduced trace is the same byte for byte with any
// number of workers.
func TestOneSeedGivesOneTrace(t *testing.T) {
	opens := []diff.Open{diff.Model("main"), store(t, "free-queue")}
	var want []byte
	for _, workers := range []int{1, 2, 4} {
		c := campaign(opens[0], opens[1], 400, workers)
		c.Gen = gen.Config{Profile: "unbalanced"}
		result, err := c.Run(context.Background())
		if err != nil || len(result.Findings) == 0 {
			t.Fatalf("%v, nothing found", err)
		}
		f := result.Findings[0]
		reduced, err := diff.Reduce(context.Background(), f.Sequence, f.Divergence, opens, diff.Pair(diff.Options{}), diff.DefaultBudget)
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		header := traces.Header{
			Slots: reduced.Sequence.Slots, ObjectBytes: reduced.Sequence.ObjectBytes,
			Case: &reduced.Divergence.Case, Fingerprint: reduced.Divergence.Fingerprint(),
		}
		if err := traces.Write(&file, traces.Trace{Header: header, Ops: reduced.Sequence.Ops}); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = file.Bytes()
		}
		if !bytes.Equal(want, file.Bytes()) {
			t.Errorf("1 worker gives\n%s%d workers give\n%s", want, workers, file.Bytes())
		}
	}
}
