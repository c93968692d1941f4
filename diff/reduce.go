package diff

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/op"
)

// Budget bounds a reduction. Evaluations decide, so that the same divergence is
// reduced alike on a slow machine; the time is a guard against a store that hangs.
type Budget struct {
	Evaluations int
	Time        time.Duration
}

// DefaultBudget reduces what the default campaign finds, with room to spare.
var DefaultBudget = Budget{Evaluations: 60000, Time: 60 * time.Second}

// Reduced is the shortest sequence found that shows the same divergence.
type Reduced struct {
	Sequence   op.Sequence
	Divergence *Divergence
	// Evaluations is how many sequences were run for it, Took the time.
	Evaluations int
	Took        time.Duration
	// Flaky says that the divergence did not show again when it was confirmed;
	// Exhausted that the budget ended before the search did.
	Flaky, Exhausted bool
}

// Judge finds the divergence in the runs of one sequence, one run a subject, or
// gives nil.
type Judge func(sequence *op.Sequence, runs []op.Run) *Divergence

// Pair judges two subjects by Compare.
func Pair(options Options) Judge {
	c := &comparer{Options: options}
	return func(sequence *op.Sequence, runs []op.Run) *Divergence {
		return c.runs(sequence, &runs[0], &runs[1])
	}
}

// evaluator runs candidates on subjects and judges them.
type evaluator struct {
	subjects []Subject
	judge    Judge
	runs     [][]op.Run // by subject, then by sequence
	one      []op.Run   // of one sequence, by subject
	count    int
}

func openAll(opens []Open) ([]Subject, error) {
	var subjects []Subject
	for _, open := range opens {
		subject, err := open()
		if err != nil {
			closeAll(subjects)
			return nil, err
		}
		subjects = append(subjects, subject)
	}
	return subjects, nil
}

func closeAll(subjects []Subject) {
	for _, subject := range subjects {
		subject.Close()
	}
}

func newEvaluator(opens []Open, judge Judge) (*evaluator, error) {
	subjects, err := openAll(opens)
	if err != nil {
		return nil, err
	}
	return &evaluator{subjects: subjects, judge: judge, runs: make([][]op.Run, len(subjects)), one: make([]op.Run, len(subjects))}, nil
}

// evaluate runs a batch on every subject and gives each sequence's divergence.
func (e *evaluator) evaluate(batch []op.Sequence, visit func(i int, d *Divergence) (more bool)) error {
	e.count += len(batch)
	for _, subject := range e.subjects {
		if err := subject.Submit(batch); err != nil {
			return err
		}
	}
	for s, subject := range e.subjects {
		for len(e.runs[s]) < len(batch) {
			e.runs[s] = append(e.runs[s], op.Run{})
		}
		if err := op.Collect(subject, e.runs[s][:len(batch)]); err != nil {
			return err
		}
	}
	for i := range batch {
		for s := range e.subjects {
			e.one[s] = e.runs[s][i]
		}
		if d := e.judge(&batch[i], e.one); !visit(i, d) {
			return nil
		}
	}
	return nil
}

// Diverge runs one sequence on freshly opened subjects.
func Diverge(sequence op.Sequence, opens []Open, judge Judge) (*Divergence, error) {
	e, err := newEvaluator(opens, judge)
	if err != nil {
		return nil, err
	}
	defer closeAll(e.subjects)
	return e.single(sequence)
}

// single runs one sequence.
func (e *evaluator) single(sequence op.Sequence) (found *Divergence, err error) {
	err = e.evaluate([]op.Sequence{sequence}, func(_ int, d *Divergence) bool { found = d; return true })
	return found, err
}

// reduceBatch is how many candidates are run in one request at most, firstBatch
// how many are in the first one of a pass.
const (
	reduceBatch = 64
	firstBatch  = 6
)

// Reduce shortens a sequence that diverges. A candidate counts only when it
// shows a divergence of the same fingerprint, so that a reduction never slips to
// another bug. One exception makes a trace say more: see accepted. The result is
// verified in fresh subjects.
//
// It is canonical: from the same sequence and subjects it comes out the same
// whatever the machine, and mostly so from other sequences with the same bug.
func Reduce(ctx context.Context, sequence op.Sequence, found *Divergence, opens []Open, judge Judge, budget Budget) (Reduced, error) {
	began := time.Now()
	out := Reduced{Sequence: sequence, Divergence: found}
	e, err := newEvaluator(opens, judge)
	if err != nil {
		return out, err
	}
	defer func() { closeAll(e.subjects) }()
	r := &reducer{ctx: ctx, evaluator: e, want: accepted(found), budget: budget, deadline: began.Add(budget.Time), failed: map[string]bool{}}
	// Twice: what shows once and not again must not be searched for.
	for range 2 {
		again, err := e.single(sequence)
		if err != nil {
			return out, err
		}
		if again == nil || again.Fingerprint() != r.want[0] {
			out.Flaky = true
			return out, nil
		}
		out.Divergence = again
	}
	out.Sequence = cut(sequence, out.Divergence)
	if sequence.Slots >= LargeStore {
		if out.Sequence, out.Divergence, err = r.narrow(out.Sequence, out.Divergence); err != nil {
			return out, err
		}
	}
	if out.Sequence, out.Divergence, err = r.search(out.Sequence, out.Divergence); err != nil {
		return out, err
	}
	out.Evaluations, out.Exhausted = e.count, r.exhausted()
	d, err := Diverge(out.Sequence, opens, judge)
	if err != nil {
		return out, err
	}
	if d == nil || d.Fingerprint() != r.want[0] {
		return out, fmt.Errorf("the reduced sequence does not diverge in fresh processes")
	}
	d.Case = found.Case
	out.Divergence, out.Took = d, time.Since(began)
	return out, nil
}

// cut leaves out what lies behind the failing op.
func cut(s op.Sequence, d *Divergence) op.Sequence {
	s.Ops = s.Ops[:d.Step+1]
	return s
}

type reducer struct {
	ctx context.Context
	*evaluator
	// want holds the fingerprints that count, the last hit's first.
	want     []string
	budget   Budget
	deadline time.Time
	// failed are the candidates that did not count, as text: several ways of
	// making a sequence simpler lead to the same one.
	failed map[string]bool
}

func (r *reducer) exhausted() bool {
	return r.count >= r.budget.Evaluations || time.Now().After(r.deadline) || r.ctx.Err() != nil
}

// same tells whether a candidate counts.
func (r *reducer) same(d *Divergence) bool {
	return d != nil && slices.Contains(r.want, d.Fingerprint())
}

// first gives the first candidate with the wanted fingerprint, or -1.
func (r *reducer) first(candidates []op.Sequence) (hit int, found *Divergence, err error) {
	count, tried := 0, 0
	for from := 0; from < len(candidates) && !r.exhausted(); from += count {
		// The first ones hit most, and long ones are large messages.
		count = max(1, min(reduceBatch, firstBatch+tried, batchOps/max(1, len(candidates[from].Ops))))
		tried += count
		batch := candidates[from:min(from+count, len(candidates))]
		hit = -1
		err = r.evaluate(batch, func(i int, d *Divergence) bool {
			if !r.same(d) {
				r.failed[batch[i].String()] = true
				return true
			}
			hit, found = from+i, d
			return false
		})
		if err != nil || hit >= 0 {
			return hit, found, err
		}
	}
	return -1, nil, nil
}

// search applies the passes until none of them finds anything simpler.
func (r *reducer) search(s op.Sequence, d *Divergence) (op.Sequence, *Divergence, error) {
	for improved := true; improved; {
		improved = false
		for _, pass := range gen.Passes {
			for !r.exhausted() {
				candidates := slices.DeleteFunc(pass.Candidates(s), func(c op.Sequence) bool { return r.failed[c.String()] })
				hit, found, err := r.first(candidates)
				if err != nil {
					return s, d, err
				}
				if hit < 0 {
					break
				}
				s, d, improved = cut(candidates[hit], found), found, true
				r.want = accepted(d)
			}
		}
	}
	return s, d, nil
}
