package diff

import (
	"context"
	"sort"
	"sync"

	"github.com/diffstore/diffstore/model"
)

// maxReduced bounds how many fingerprints of a comparison are reduced.
const maxReduced = 6

// Comparison tests a claim about two stores, with the Go model as third voice.
type Comparison struct {
	Claim   Claim
	Options Options
	// Base and Head are the stores; Model is the variant that base is.
	Base, Head Open
	Model      string
	// Campaign says what to run; its subjects, judge and visit are set here.
	Campaign Campaign
	// Budget is that of each reduction; nothing is reduced without evaluations.
	Budget Budget
}

// Compared is what a comparison found.
type Compared struct {
	*Result
	*Tally
	// Reduced holds, by fingerprint, what one finding of it was reduced to.
	Reduced map[string]Reduced
}

// voices opens the subjects in the order that a claim's judge wants.
func (c *Comparison) voices() []Open {
	n := c.Claim.Headroom
	voices := []Open{Scaled(c.Base, n), Scaled(c.Head, n), Scaled(Model(c.Model), n)}
	if n > 1 {
		voices = append(voices, c.Base)
	}
	return voices
}

// Run runs the campaign and reduces one finding of each fingerprint, those of
// class Differs first.
func (c *Comparison) Run(ctx context.Context) (*Compared, error) {
	options := c.Options
	options.Headroom = c.Claim.Headroom
	options.Unbounded = options.Unbounded || c.Claim.Kind == Grows || model.Grows(c.Model)
	options.Rewrites = options.Rewrites || model.Rewrites(c.Model)
	var (
		mu      sync.Mutex
		tallies []*Tally
	)
	run := c.Campaign
	run.Subjects = c.voices()
	run.KeepGoing = true
	run.Judge = func() Judge { return c.Claim.Judge(options) }
	run.Visit = func() Visitor {
		tally := NewTally()
		mu.Lock()
		defer mu.Unlock()
		tallies = append(tallies, tally)
		return tally.Visit(options)
	}
	result, err := run.Run(ctx)
	out := &Compared{Result: result, Tally: NewTally(), Reduced: map[string]Reduced{}}
	for _, tally := range tallies {
		out.Merge(tally)
	}
	if err != nil || c.Budget.Evaluations == 0 {
		return out, err
	}
	for _, d := range out.ByWeight() {
		if len(out.Reduced) == maxReduced || ctx.Err() != nil {
			break
		}
		reduced, err := Reduce(ctx, d.Lowest.Sequence, d.Lowest.Divergence, run.Subjects, c.Claim.Judge(options), c.Budget)
		if err != nil {
			return out, err
		}
		out.Reduced[d.Fingerprint] = reduced
	}
	return out, nil
}

// ByWeight lists the fingerprints, plain differences first, then by the number
// of sequences that show them, then by name.
func (t *Tally) ByWeight() []*Distinct {
	var list []*Distinct
	for _, d := range t.Distinct {
		list = append(list, d)
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		switch {
		case (a.Class == Differs) != (b.Class == Differs):
			return a.Class == Differs
		case a.Sequences != b.Sequences:
			return a.Sequences > b.Sequences
		}
		return a.Fingerprint < b.Fingerprint
	})
	return list
}
