// Package diff compares what two subjects showed after every op, says what a
// difference is, reduces it to the shortest sequence that shows it, and runs
// campaigns of many sequences.
//
// It decides; it prints nothing (that is package report's) and starts nothing
// (subjects are opened by functions that the caller hands in).
package diff

import (
	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/op"
)

// Subject executes batches of sequences and brings back what it saw. It is used
// by one goroutine. Batches are collected in the order they were submitted.
type Subject interface {
	Identity() op.Identity
	// Sees says what its observations hold.
	Sees() op.Sees
	// Submit hands over a batch that stays unchanged until it is collected.
	Submit(batch []op.Sequence) error
	// Runs come back one by one, so that each is compared while it lies in a near
	// cache, and the next takes its memory.
	op.Receiver
	// Incidents lists what went wrong without being the store's doing.
	Incidents() []string
	// Stderr is the end of what the subject wrote to its standard error.
	Stderr() string
	Close()
}

// Open makes a subject; a campaign opens one a worker.
type Open func() (Subject, error)

// Model opens a variant of the Go store as a subject.
func Model(variant string) Open {
	return func() (Subject, error) {
		store, err := model.New(variant, 1, 1)
		if err != nil {
			return nil, err
		}
		return &modelSubject{variant: variant, store: store}, nil
	}
}

type modelSubject struct {
	variant string
	store   *model.Store
	pending [][]op.Sequence
	sees    op.Sees
}

func (m *modelSubject) Identity() op.Identity {
	return op.Identity{Name: "model:" + m.variant, Class: "model.Store", Adapter: "Go"}
}

func (m *modelSubject) Sees() op.Sees {
	if m.sees == 0 {
		var state op.State
		m.store.Observe(&state)
		m.sees = state.Sees
	}
	return m.sees
}

func (m *modelSubject) Incidents() []string { return nil }
func (m *modelSubject) Stderr() string      { return "" }
func (m *modelSubject) Close()              { m.store.Release() }

func (m *modelSubject) Submit(batch []op.Sequence) error {
	m.pending = append(m.pending, batch)
	return nil
}

func (m *modelSubject) Receive() (next func(dst *op.Run) error, err error) {
	batch := m.pending[0]
	m.pending = append(m.pending[:0], m.pending[1:]...)
	return func(dst *op.Run) error {
		RunModel(m.store, &batch[0], dst)
		batch = batch[1:]
		return nil
	}, nil
}

// RunModel runs one sequence on a store that is reset for it, reusing dst's memory.
func RunModel(store *model.Store, sequence *op.Sequence, dst *op.Run) {
	dst.Refused, dst.Steps = nil, dst.Steps[:0]
	if err := store.Reset(sequence.Slots, sequence.ObjectBytes); err != nil {
		dst.Refused = model.OpError(err)
		return
	}
	for i := range sequence.Ops {
		if i < cap(dst.Steps) {
			dst.Steps = dst.Steps[:i+1]
		} else {
			dst.Steps = append(dst.Steps, op.Observation{})
		}
		o, seen := &sequence.Ops[i], &dst.Steps[i]
		store.Do(o, seen)
		if wholeAt(sequence, i) {
			store.Observe(&seen.State)
		} else {
			store.Touched(o, seen.Victims, &seen.State)
		}
	}
}
