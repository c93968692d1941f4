package rescan

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/op"
)

// counting is the Go model as a subject whose puts pretend to hash: per says how
// many hashes of watched keys the n-th evicting put costs.
type counting struct {
	diff.Subject
	watched int
	per     func(put, watched int) int
}

func (c *counting) Receive() (next func(dst *op.Run) error, err error) {
	inner, err := c.Subject.Receive()
	return func(dst *op.Run) error {
		if err := inner(dst); err != nil {
			return err
		}
		put := 0
		for i := range dst.Steps {
			if step := &dst.Steps[i]; len(step.Victims) > 0 {
				step.Watched = c.per(put, c.watched)
				put++
			}
		}
		return nil
	}, err
}

func open(variant string, per func(put, watched int) int) Open {
	return func(watched []string) (diff.Subject, error) {
		subject, err := diff.Model(variant)()
		return &counting{subject, len(watched), per}, err
	}
}

func TestRunTellsTheShape(t *testing.T) {
	config := Config{Referenced: 90, Unreferenced: 10, Puts: 10, Limit: 90, Slope: []int{10, 100, 1000}}
	for name, test := range map[string]struct {
		per                        func(put, watched int) int
		total, first, median, last int
		slope                      float64
		verdict                    diff.Verdict
	}{
		"rescans":       {func(_, n int) int { return 2 * n }, 1800, 180, 180, 180, 2, diff.Diverges},
		"never":         {func(_, _ int) int { return 0 }, 0, 0, 0, 0, 0, diff.Agree},
		"once":          {func(put, n int) int { return 3 * n * max(0, 1-put) }, 270, 270, 0, 0, 0, diff.Diverges},
		"a constant":    {func(_, _ int) int { return 5 }, 50, 5, 5, 5, 0, diff.Agree},
		"ever slower":   {func(put, _ int) int { return put }, 45, 0, 5, 9, 0, diff.Agree},
		"at the limit":  {func(_, _ int) int { return 9 }, 90, 9, 9, 9, 0, diff.Agree},
		"over by a bit": {func(put, _ int) int { return 9 + put/9 }, 91, 9, 9, 10, 0, diff.Diverges},
	} {
		r, err := Run(context.Background(), config, open("main", test.per))
		if err != nil {
			t.Fatal(err)
		}
		s := r.Shape
		if s.Total != test.total || s.First != test.first || s.Median != test.median || s.Last != test.last {
			t.Errorf("%s: shape %+v, want %+v", name, s, test)
		}
		if math.Abs(r.Slope-test.slope) > 1e-9 || len(r.Growth) != 3 || r.Verdict() != test.verdict || len(r.Wrong) != 0 {
			t.Errorf("%s: slope %v, verdict %v, wrong %v; want %+v", name, r.Slope, r.Verdict(), r.Wrong, test)
		}
	}
}

// TestRunSeesWrongVictims runs the check on a store of another life: one whose
// keys are put in the opposite order, so that the wrong ones go.
func TestRunSeesWrongVictims(t *testing.T) {
	backwards := func(watched []string) (diff.Subject, error) {
		subject, err := diff.Model("main")()
		return &reversing{subject}, err
	}
	config := Config{Referenced: 9, Unreferenced: 4, Puts: 2, Limit: 9}
	r, err := Run(context.Background(), config, backwards)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(r.Wrong, "; ")
	for _, want := range []string{"unreferenced-0 was not evicted", "unreferenced-3 was evicted out of turn"} {
		if !strings.Contains(got, want) {
			t.Errorf("wrong: %s; want %q in it", got, want)
		}
	}
	if r.Verdict() != diff.Diverges {
		t.Errorf("verdict %v", r.Verdict())
	}
}

// reversing gives its store the unreferenced keys in the opposite order.
type reversing struct{ diff.Subject }

func (r *reversing) Submit(batch []op.Sequence) error {
	s := batch[0].Clone()
	objects := s.Ops[1].Objects
	for i, j := 0, len(objects)-1; i < j; i, j = i+1, j-1 {
		objects[i], objects[j] = objects[j], objects[i]
	}
	return r.Subject.Submit([]op.Sequence{s})
}

func TestCheckRefuses(t *testing.T) {
	for _, c := range []Config{
		{},
		{Referenced: 1, Unreferenced: 1, Puts: 2},
		{Referenced: 1, Unreferenced: 1, Puts: 1, Limit: -1},
		{Referenced: 1_000_000, Unreferenced: 1, Puts: 1},
		{Referenced: 1, Unreferenced: 1, Puts: 1, Slope: []int{0}},
	} {
		if c.Check() == nil {
			t.Errorf("%+v passes", c)
		}
	}
	if err := Default.Check(); err != nil {
		t.Error(err)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, Default, open("main", func(_, _ int) int { return 0 })); err == nil {
		t.Error("an interrupted check is no error")
	}
}
