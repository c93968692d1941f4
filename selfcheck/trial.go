package selfcheck

import (
	"context"
	"errors"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/subject"
)

// trial is a pair of subjects that ought to differ, or to agree. Its store keeps
// one process for all campaigns and reductions: there are hundreds of mutants,
// and starting Python costs more than catching most of them.
type trial struct {
	opens  []diff.Open
	strict bool
	store  diff.Subject
}

// newTrial starts the store's process; the caller closes the trial.
func newTrial(model string, launch oracle.Launch, strict bool) (*trial, error) {
	store, err := subject.Oracle(launch, oracle.Ask{})()
	if err != nil {
		return nil, err
	}
	keep := func() (diff.Subject, error) { return &kept{Subject: store}, nil }
	return &trial{[]diff.Open{diff.Model(model), keep}, strict, store}, nil
}

func (t *trial) close() { t.store.Close() }

// kept is a subject that outlives the campaign or reduction that it is lent to.
type kept struct {
	diff.Subject
	// underWay counts the batches that were not received.
	underWay int
}

// Submit notes the batch and hands it over.
func (k *kept) Submit(batch []op.Sequence) error {
	k.underWay++
	return k.Subject.Submit(batch)
}

// Receive takes the oldest batch.
func (k *kept) Receive() (next func(dst *op.Run) error, err error) {
	k.underWay--
	return k.Subject.Receive()
}

// Close leaves the process running and nothing under way, for the next borrower.
func (k *kept) Close() {
	for k.underWay > 0 {
		if _, err := k.Receive(); err != nil {
			return
		}
	}
}

func (t *trial) judge() diff.Judge { return diff.Pair(diff.Options{Strict: t.strict}) }

// stages are after how many sequences a campaign looks up: most mutants fall at
// once, and some run so slowly that a whole batch of them would take minutes.
var stages = [...]int{4, 32}

// campaign looks for the first divergence of one base seed.
func (t *trial) campaign(ctx context.Context, seed uint64, o *Options) (*diff.Result, error) {
	total := &diff.Result{}
	for _, until := range append(stages[:], o.Sequences) {
		c := diff.Campaign{
			Gen: o.Gen, Seed: seed, First: total.Sequences, Sequences: min(until, o.Sequences) - total.Sequences, Workers: 1,
			Subjects: t.opens, Judge: t.judge,
		}
		if c.Sequences == 0 {
			break
		}
		result, err := c.Run(ctx)
		if err == nil && result.Interrupted {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
		total.Sequences += result.Sequences
		total.Ops += result.Ops
		total.Findings = result.Findings
		if len(total.Findings) > 0 {
			break
		}
	}
	if total.Ops == 0 && len(total.Findings) == 0 {
		return nil, errors.New("no operation was executed")
	}
	return total, nil
}

// catch runs one campaign and reduces what it finds.
func (t *trial) catch(ctx context.Context, seed uint64, o *Options) (Catch, error) {
	c := Catch{Seed: seed}
	result, err := t.campaign(ctx, seed, o)
	if err != nil {
		return c, err
	}
	if len(result.Findings) == 0 {
		c.Sequences, c.Ops = result.Sequences, result.Ops
		return c, nil
	}
	found := result.Findings[0]
	c.Caught = true
	c.Sequences, c.Ops = found.Divergence.Case+1, opsUntil(seed, o.Gen, found.Divergence)
	reduced, err := diff.Reduce(ctx, found.Sequence, found.Divergence, t.opens, t.judge(), o.Budget)
	if err != nil {
		return c, err
	}
	c.Fingerprint, c.Class = reduced.Divergence.Fingerprint(), reduced.Divergence.Class
	c.Trace, c.Length = reduced.Sequence.String(), len(reduced.Sequence.Ops)
	c.Evaluations, c.Took = reduced.Evaluations, reduced.Took
	c.Flaky, c.Exhausted = reduced.Flaky, reduced.Exhausted
	return c, nil
}

// opsUntil counts the ops up to a divergence, those of the cases before it
// included: a campaign may have run later ones already.
func opsUntil(seed uint64, config gen.Config, d *diff.Divergence) int {
	ops := d.Steps()
	var s op.Sequence
	for i := range d.Case {
		gen.Case(seed, i, config, &s)
		ops += len(s.Ops)
	}
	return ops
}
