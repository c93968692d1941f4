package diff

import (
	"errors"
	"testing"

	"github.com/diffstore/diffstore/op"
)

// bent opens a subject whose runs are changed before they are handed out: a
// store with a planted bug.
func bent(open Open, bend func(s *op.Sequence, run *op.Run)) Open {
	return func() (Subject, error) {
		subject, err := open()
		if err != nil {
			return nil, err
		}
		return &bentSubject{Subject: subject, bend: bend}, nil
	}
}

type bentSubject struct {
	Subject
	bend    func(s *op.Sequence, run *op.Run)
	pending [][]op.Sequence
}

func (b *bentSubject) Submit(batch []op.Sequence) error {
	b.pending = append(b.pending, batch)
	return b.Subject.Submit(batch)
}

func (b *bentSubject) Receive() (next func(dst *op.Run) error, err error) {
	inner, err := b.Subject.Receive()
	batch := b.pending[0]
	b.pending = b.pending[1:]
	return func(dst *op.Run) error {
		if err := inner(dst); err != nil {
			return err
		}
		b.bend(&batch[0], dst)
		batch = batch[1:]
		return nil
	}, err
}

var errBroken = errors.New("the subject broke")

// breaking opens a subject whose Receive fails from the n-th on, counted from 0.
func breaking(open Open, n int) Open {
	return func() (Subject, error) {
		subject, err := open()
		return &breakingSubject{subject, n}, err
	}
}

type breakingSubject struct {
	Subject
	left int
}

func (b *breakingSubject) Receive() (next func(dst *op.Run) error, err error) {
	if b.left--; b.left < 0 {
		return nil, errBroken
	}
	return b.Subject.Receive()
}

func (b *breakingSubject) Incidents() []string { return []string{"an incident"} }
func (b *breakingSubject) Stderr() string      { return "last words" }

// reversedGets is a planted bug: a get of several keys touches them in the
// wrong order, as far as the queue behind it shows.
func reversedGets(s *op.Sequence, run *op.Run) {
	for i := range run.Steps {
		o, seen := &s.Ops[i], &run.Steps[i]
		if n := len(seen.State.Queue); o.Kind == op.Get && seen.Outcome.Err == nil && len(o.Keys) > 1 && n > 1 {
			q := seen.State.Queue
			q[n-1], q[n-2] = q[n-2], q[n-1]
		}
	}
}

// silentReleases is a planted bug: a put without objects raises no KeyError.
func silentReleases(s *op.Sequence, run *op.Run) {
	for i := range run.Steps {
		o, seen := &s.Ops[i], &run.Steps[i]
		if o.Kind == op.Put && len(o.Objects) == 0 && seen.Outcome.Kind() == op.KeyError {
			seen.Outcome = op.Outcome{}
		}
	}
}

// died makes a run that ends in a death at its first op.
func died(s *op.Sequence, run *op.Run) {
	if len(run.Steps) > 0 {
		run.Steps = run.Steps[:1]
		run.Steps[0] = op.Observation{Outcome: op.Outcome{Err: op.NewError(op.CrashError, "a death of the process", "gone", "")}}
	}
}

// sequence reads ops in the notation of package op.
func sequence(t *testing.T, slots, objectBytes int, ops ...string) op.Sequence {
	t.Helper()
	s := op.Sequence{Slots: slots, ObjectBytes: objectBytes}
	for _, text := range ops {
		o, err := op.ParseOp(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Ops = append(s.Ops, o)
	}
	return s
}

// runOn runs a sequence on a variant of the model.
func runOn(t *testing.T, variant string, s op.Sequence) op.Run {
	t.Helper()
	subject, err := Model(variant)()
	if err != nil {
		t.Fatal(err)
	}
	defer subject.Close()
	runs := make([]op.Run, 1)
	if err := subject.Submit([]op.Sequence{s}); err != nil {
		t.Fatal(err)
	}
	if err := op.Collect(subject, runs); err != nil {
		t.Fatal(err)
	}
	for i := range runs[0].Steps {
		runs[0].Steps[i] = runs[0].Steps[i].Clone()
	}
	return runs[0]
}
