package diff

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/op"
)

// lowestFinding runs a campaign until something diverges.
func lowestFinding(t *testing.T, opens []Open) Finding {
	t.Helper()
	c := campaignOn(opens)
	result, err := c.Run(context.Background())
	if err != nil || len(result.Findings) != 1 {
		t.Fatalf("%d findings, error %v", len(result.Findings), err)
	}
	return result.Findings[0]
}

// TestReduceKeepsToOneBug plants two bugs. Most candidates for the one that is
// found show the other, which must never take over.
func TestReduceKeepsToOneBug(t *testing.T) {
	both := func(s *op.Sequence, run *op.Run) { reversedGets(s, run); silentReleases(s, run) }
	opens := []Open{Model("main"), bent(Model("main"), both)}
	want := map[string][]string{
		"get/queue/none|none":  {"put a=61 b=62", "get a a"},
		"put/outcome/key|none": {"put release a"},
	}
	for _, first := range []struct {
		fingerprint string
		ops         []string
	}{
		{"get/queue/none|none", []string{
			"put k1=0102 k2=0304 k3=0506 retain k9 k9", "put k2=0102", "get k1", "put k4=0102 release k9", "get k3 k1 k3 k2", "put release nope", "put k1=00"}},
		{"put/outcome/key|none", []string{
			"put k1=0102 k2=0304 retain k2 k2", "put k5=0102", "get k1", "put release k2 k2 k2 k1", "get k1 k2"}},
	} {
		s := sequence(t, 4, 2, first.ops...)
		found, err := Diverge(s, opens, Pair(Options{}))
		if err != nil || found == nil || found.Fingerprint() != first.fingerprint {
			t.Fatalf("%v, %+v", err, found)
		}
		reduced, err := Reduce(context.Background(), s, found, opens, Pair(Options{}), DefaultBudget)
		if err != nil || reduced.Flaky || reduced.Exhausted {
			t.Fatalf("%v, %+v", err, reduced)
		}
		if got := reduced.Divergence.Fingerprint(); got != first.fingerprint {
			t.Errorf("reduced from %s to %s", first.fingerprint, got)
		}
		var ops []string
		for _, o := range reduced.Sequence.Ops {
			ops = append(ops, o.String())
		}
		if d := cmp.Diff(want[first.fingerprint], ops); d != "" {
			t.Errorf("%s (-want +got):\n%s", first.fingerprint, d)
		}
	}
}

// TestReduceIsNearlyCanonical reduces one bug from a dozen sequences to no more
// than three traces.
func TestReduceIsNearlyCanonical(t *testing.T) {
	opens := []Open{Model("main"), Model("free-queue")}
	c := campaignOn(opens)
	c.Gen.Profile, c.KeepGoing = "unbalanced", true
	result, err := c.Run(context.Background())
	if err != nil || len(result.Findings) < 3 {
		t.Fatalf("%d findings, error %v", len(result.Findings), err)
	}
	texts := map[string]int{}
	for _, f := range result.Findings[:min(len(result.Findings), 12)] {
		reduced, err := Reduce(context.Background(), f.Sequence, f.Divergence, opens, Pair(Options{}), DefaultBudget)
		if err != nil {
			t.Fatal(err)
		}
		if gen.Simpler(f.Sequence, reduced.Sequence) {
			t.Errorf("case %d became longer", f.Divergence.Case)
		}
		var text strings.Builder
		for _, o := range reduced.Sequence.Ops {
			text.WriteString(o.String() + "\n")
		}
		if reduced.Divergence.Fingerprint() == "put/queue/key|key/differs-after-error" {
			texts[text.String()]++
		}
	}
	if len(texts) == 0 || len(texts) > 3 {
		t.Errorf("one fingerprint came out as %d traces: %v", len(texts), texts)
	}
}

func TestReduceFindsTheConstructor(t *testing.T) {
	refuses := bent(Model("main"), func(s *op.Sequence, run *op.Run) {
		if s.Slots > 2 {
			*run = op.Run{Refused: op.NewError(op.ArgumentError, "ValueError", "too many", "")}
		}
	})
	opens := []Open{Model("main"), refuses}
	s := sequence(t, 9, 4, "put a=61616161", "get a")
	found, err := Diverge(s, opens, Pair(Options{}))
	if err != nil {
		t.Fatal(err)
	}
	reduced, err := Reduce(context.Background(), s, found, opens, Pair(Options{}), DefaultBudget)
	if err != nil || len(reduced.Sequence.Ops) != 0 || reduced.Sequence.Slots != 3 || reduced.Divergence.Step != -1 {
		t.Errorf("%v, %+v", err, reduced)
	}
}

// once shows a planted bug in the first n sequences that it runs, over all
// subjects that are opened, and never again.
func once(n int) Open {
	return bent(Model("main"), func(s *op.Sequence, run *op.Run) {
		if n--; n >= 0 {
			silentReleases(s, run)
		}
	})
}

func TestReduceConfirmsFirst(t *testing.T) {
	s := sequence(t, 2, 1, "put a=61", "put release a")
	for _, c := range []struct {
		name  string
		shows int
		flaky bool
		fails string
	}{
		{"once", 1, true, ""},
		{"twice", 2, true, ""},
		{"until the last check in fresh subjects", 3, false, "does not diverge in fresh"},
	} {
		opens := []Open{Model("main"), once(c.shows)}
		found, err := Diverge(s, opens, Pair(Options{}))
		if err != nil || found == nil {
			t.Fatal(err, found)
		}
		reduced, err := Reduce(context.Background(), s, found, opens, Pair(Options{}), DefaultBudget)
		if reduced.Flaky != c.flaky {
			t.Errorf("shown %s: flaky is %v", c.name, reduced.Flaky)
		}
		if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("shown %s: error %v", c.name, err)
		}
	}
}

// TestReduceKeepsToItsBudget: what cannot be searched for is still confirmed,
// and is not called flaky.
func TestReduceKeepsToItsBudget(t *testing.T) {
	opens := []Open{Model("main"), bent(Model("main"), silentReleases)}
	f := lowestFinding(t, opens)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		budget Budget
	}{
		{"no evaluations", context.Background(), Budget{Evaluations: 0, Time: time.Minute}},
		{"no time", context.Background(), Budget{Evaluations: 1000, Time: 0}},
		{"interrupted", cancelled, DefaultBudget},
	} {
		reduced, err := Reduce(c.ctx, f.Sequence, f.Divergence, opens, Pair(Options{}), c.budget)
		if err != nil || reduced.Flaky || !reduced.Exhausted {
			t.Errorf("%s: %v, %+v", c.name, err, reduced)
		}
		if len(reduced.Sequence.Ops) != f.Divergence.Step+1 || reduced.Divergence.Case != f.Divergence.Case {
			t.Errorf("%s: the sequence is not the one that was found, cut behind the op", c.name)
		}
	}
	some := Budget{Evaluations: 100, Time: time.Minute}
	reduced, err := Reduce(context.Background(), f.Sequence, f.Divergence, opens, Pair(Options{}), some)
	if err != nil || reduced.Evaluations > some.Evaluations+reduceBatch {
		t.Errorf("%v, %d evaluations of %d", err, reduced.Evaluations, some.Evaluations)
	}
}

func TestReducePassesFailuresOn(t *testing.T) {
	s := sequence(t, 2, 1, "put a=61", "put release a")
	bug := bent(Model("main"), silentReleases)
	found, err := Diverge(s, []Open{Model("main"), bug}, Pair(Options{}))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 { // at the first confirmation, the second, and in the search
		_, err := Reduce(context.Background(), s, found, []Open{Model("main"), breaking(bug, n)}, Pair(Options{}), DefaultBudget)
		if err == nil || !strings.Contains(err.Error(), errBroken.Error()) {
			t.Errorf("broken at batch %d: error %v", n, err)
		}
	}
	refuses := func() (Subject, error) { return nil, errBroken }
	if _, err := Diverge(s, []Open{Model("main"), refuses}, Pair(Options{})); err != errBroken {
		t.Errorf("a subject that does not open: error %v", err)
	}
}
