package diff

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/op"
)

// campaignOn is a small campaign on these subjects.
func campaignOn(opens []Open) *Campaign {
	return &Campaign{
		Seed: 1, Sequences: 600, Workers: 1, Subjects: opens,
		Judge: func() Judge { return Pair(Options{}) },
	}
}

// cases lists the findings by case and fingerprint.
func cases(r *Result) (list []string) {
	for _, f := range r.Findings {
		list = append(list, strings.Join([]string{f.Divergence.Fingerprint(), f.Divergence.Op.String()}, " at "))
	}
	return list
}

// TestWorkersFindTheSame: the lowest case, or all cases, whatever the number of
// workers; and of all cases the same is counted.
func TestWorkersFindTheSame(t *testing.T) {
	rare := bent(Model("main"), func(s *op.Sequence, run *op.Run) {
		if len(run.Steps) > 25 {
			reversedGets(s, run)
		}
	})
	for _, keepGoing := range []bool{false, true} {
		var want *Result
		for _, workers := range []int{1, 2, 4, 7} {
			c := campaignOn([]Open{Model("main"), rare})
			c.Workers, c.KeepGoing, c.First = workers, keepGoing, 17
			got, err := c.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
				if len(want.Findings) == 0 || !keepGoing && len(want.Findings) > 1 || want.Findings[0].Divergence.Case < 20 {
					t.Fatalf("the planted bug is no test: findings %v", cases(want))
				}
				continue
			}
			if d := cmp.Diff(cases(want), cases(got)); d != "" {
				t.Errorf("%d workers, keep going %v (-1 worker +these):\n%s", workers, keepGoing, d)
			}
			for i := range want.Findings {
				if d := cmp.Diff(want.Findings[i].Sequence, got.Findings[i].Sequence); d != "" {
					t.Errorf("%d workers, finding %d:\n%s", workers, i, d)
				}
			}
			if keepGoing && (got.Sequences != 600 || got.Ops != want.Ops || got.Stats.Total() != want.Stats.Total()) {
				t.Errorf("%d workers ran %d sequences, %d ops", workers, got.Sequences, got.Ops)
			}
		}
	}
}

func TestACaseRerunsAlone(t *testing.T) {
	opens := []Open{Model("main"), bent(Model("main"), reversedGets)}
	f := lowestFinding(t, opens)
	c := campaignOn(opens)
	c.First, c.Sequences = f.Divergence.Case, 1
	again, err := c.Run(context.Background())
	if err != nil || len(again.Findings) != 1 {
		t.Fatalf("%v, %d findings", err, len(again.Findings))
	}
	if d := cmp.Diff(f, again.Findings[0]); d != "" {
		t.Errorf("the case alone (-in the campaign +alone):\n%s", d)
	}
}

func TestNothingBehindTheLowestCaseIsWaitedFor(t *testing.T) {
	var mu sync.Mutex
	collected := 0
	counts := bent(Model("main"), func(s *op.Sequence, run *op.Run) {
		mu.Lock()
		defer mu.Unlock()
		collected++
		died(s, run)
	})
	c := campaignOn([]Open{Model("main"), counts})
	result, err := c.Run(context.Background())
	if err != nil || len(result.Findings) != 1 || result.Findings[0].Divergence.Case != 0 {
		t.Fatalf("%v, %v", err, cases(result))
	}
	if collected != 1 {
		t.Errorf("%d sequences were brought in: expected the first alone", collected)
	}
}

func TestKnownDivergencesEndNothing(t *testing.T) {
	c := campaignOn([]Open{Model("main"), bent(Model("main"), silentReleases)})
	c.Known = func(d *Divergence) bool { return strings.HasPrefix(d.Fingerprint(), "put/outcome/key|none") }
	result, err := c.Run(context.Background())
	if err != nil || result.Sequences != 600 || result.Known["put/outcome/key|none"] == 0 {
		t.Errorf("%v, %d sequences, known %v", err, result.Sequences, result.Known)
	}
	for _, f := range result.Findings {
		if c.Known(f.Divergence) {
			t.Errorf("a known divergence is a finding: %s", f.Divergence.Fingerprint())
		}
	}
}

// watched records which sequences its subject was handed.
type watched struct {
	Subject
	handed func(batch []op.Sequence)
}

func (w *watched) Submit(batch []op.Sequence) error {
	w.handed(batch)
	return w.Subject.Submit(batch)
}

func TestWriteAheadIsAhead(t *testing.T) {
	var mu sync.Mutex
	written, handed := map[string]int{}, 0
	key := func(s *op.Sequence) string { return strings.Join(opsOf(s), "\n") }
	open := func() (Subject, error) {
		subject, err := Model("main")()
		return &watched{subject, func(batch []op.Sequence) {
			mu.Lock()
			defer mu.Unlock()
			for i := range batch {
				handed++
				if written[key(&batch[i])] == 0 {
					t.Error("a subject got a sequence that was not written")
				}
			}
		}}, err
	}
	c := campaignOn([]Open{open, Model("main")})
	c.Workers = 3
	seen := map[int]bool{}
	c.WriteAhead = func(index int, s *op.Sequence) error {
		mu.Lock()
		defer mu.Unlock()
		seen[index] = true
		written[key(s)]++
		return nil
	}
	if _, err := c.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 600 || handed != 600 {
		t.Errorf("%d cases were written and %d handed over: expected 600", len(seen), handed)
	}

	full := errors.New("the disk is full")
	c.WriteAhead = func(int, *op.Sequence) error { return full }
	if result, err := c.Run(context.Background()); err != full || result.Sequences != 0 {
		t.Errorf("a write that fails: error %v behind %d sequences", err, result.Sequences)
	}
}

func opsOf(s *op.Sequence) (texts []string) {
	for i := range s.Ops {
		texts = append(texts, s.Ops[i].String())
	}
	return texts
}

func TestADurationEndsACampaign(t *testing.T) {
	c := campaignOn([]Open{Model("main"), Model("main")})
	c.Sequences, c.Duration, c.Workers = 0, 50*time.Millisecond, 2
	result, err := c.Run(context.Background())
	if err != nil || result.Sequences == 0 || result.Interrupted || len(result.Findings) != 0 {
		t.Errorf("%v, %d sequences, interrupted %v", err, result.Sequences, result.Interrupted)
	}
	if verdict, why := Conclude(result, err, nil); verdict != Agree {
		t.Errorf("%s: %v", verdict, why)
	}
}

func TestAnInterruptLosesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := campaignOn([]Open{Model("main"), Model("main")})
	c.Sequences = 1 << 40
	c.Workers = 2
	var mu sync.Mutex
	told, ops := 0, 0
	c.Progress = func(sequences, n int) {
		mu.Lock()
		defer mu.Unlock()
		told, ops = told+sequences, ops+n
		if told >= 300 {
			cancel()
		}
	}
	result, err := c.Run(ctx)
	if err != nil || !result.Interrupted || result.Sequences != told || result.Ops != ops || result.Stats.Sequences != told {
		t.Errorf("%v, interrupted %v, %d sequences of %d that were told", err, result.Interrupted, result.Sequences, told)
	}
	verdict, why := Conclude(result, err, nil)
	if verdict != Infrastructure || len(why) != 1 || !strings.Contains(why[0], "interrupted after ") {
		t.Errorf("%s: %v", verdict, why)
	}
}

func TestASubjectThatFailsMidway(t *testing.T) {
	c := campaignOn([]Open{Model("main"), breaking(Model("main"), 2)})
	result, err := c.Run(context.Background())
	if err != errBroken || result.Sequences != 2*batchOps/gen.DefaultMaxOps {
		t.Fatalf("error %v behind %d sequences", err, result.Sequences)
	}
	if d := cmp.Diff([]string{"", "last words"}, result.Stderr); d != "" || len(result.Incidents) != 1 || len(result.Identities) != 2 {
		t.Errorf("of the subjects is kept: %v, %v, %v", result.Stderr, result.Incidents, result.Identities)
	}
	if verdict, why := Conclude(result, err, nil); verdict != Infrastructure || why[0] != errBroken.Error() {
		t.Errorf("%s: %v", verdict, why)
	}
	// What was seen before counts all the same.
	c = campaignOn([]Open{Model("main"), breaking(bent(Model("main"), reversedGets), 1)})
	c.KeepGoing = true
	result, err = c.Run(context.Background())
	if verdict, _ := Conclude(result, err, nil); verdict != Diverges || err != errBroken {
		t.Errorf("%s, error %v", verdict, err)
	}
	closed := 0
	refuses := func() (Subject, error) { return nil, errBroken }
	counted := func() (Subject, error) {
		subject, err := Model("main")()
		return &closing{subject, &closed}, err
	}
	result, err = campaignOn([]Open{counted, refuses}).Run(context.Background())
	if err != errBroken || result.Sequences != 0 || closed != 1 {
		t.Errorf("a subject that does not open: error %v, %d sequences, the other closed %d times", err, result.Sequences, closed)
	}
}

type closing struct {
	Subject
	closed *int
}

func (c *closing) Close() { *c.closed++; c.Subject.Close() }

func TestConclude(t *testing.T) {
	ran := &Result{Sequences: 3, Ops: 9}
	found := &Result{Sequences: 3, Ops: 9, Findings: []Finding{{}}, Incidents: []string{"a death"}, Interrupted: true}
	for _, c := range []struct {
		name    string
		result  *Result
		failure error
		short   []gen.Shortfall
		want    Verdict
		why     string
	}{
		{"all is well", ran, nil, nil, Agree, ""},
		{"a finding outweighs the rest", found, errBroken, []gen.Shortfall{{What: "gets"}}, Diverges, ""},
		{"nothing ran", &Result{Sequences: 5}, nil, nil, Infrastructure, "no operation was executed"},
		{"an incident", &Result{Ops: 1, Incidents: []string{"a death"}}, nil, nil, Infrastructure, "a death"},
		{"a failure", ran, errBroken, []gen.Shortfall{{What: "gets"}}, Infrastructure, errBroken.Error()},
		{"no result at all", nil, errBroken, nil, Infrastructure, errBroken.Error()},
		{"interrupted", &Result{Sequences: 3, Ops: 9, Interrupted: true}, nil, []gen.Shortfall{{What: "gets"}}, Infrastructure, "interrupted after 3 sequences"},
		{"too little", ran, nil, []gen.Shortfall{{What: "gets", Got: 1, Want: 2}}, Infrastructure, "exercised too little: gets: 1, expected at least 2"},
	} {
		verdict, why := Conclude(c.result, c.failure, c.short)
		if verdict != c.want || strings.Join(why, "; ") != c.why {
			t.Errorf("%s: %s, %q", c.name, verdict, why)
		}
	}
	for verdict, want := range map[Verdict]string{Agree: "agree", Diverges: "divergence", BadUsage: "usage", Infrastructure: "infrastructure"} {
		if verdict.String() != want {
			t.Errorf("verdict %d reads %q", verdict, verdict)
		}
	}
}
