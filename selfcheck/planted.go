package selfcheck

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/python"
)

// Catch is how one mutant fared on one base seed.
type Catch struct {
	Seed   uint64
	Caught bool
	// Sequences and Ops are how many it took until the mutant was caught, the
	// failing ones included; where it was not, all that were run.
	Sequences, Ops int
	// Fingerprint and Class are the divergence's.
	Fingerprint string
	Class       diff.Class
	// Trace is the reduced sequence as text, Length its ops.
	Trace  string
	Length int
	// Evaluations and Took are the cost of the reduction.
	Evaluations int
	Took        time.Duration
	// Flaky and Exhausted are the reduction's.
	Flaky, Exhausted bool
}

// Planted is how one planted bug fared.
type Planted struct {
	Mutant  python.Mutant
	Catches []Catch
	// Shortest is the least number of ops on record to show it, 0 where none is.
	Shortest int
}

// Caught tells whether every base seed caught the mutant.
func (p *Planted) Caught() bool {
	return !slices.ContainsFunc(p.Catches, func(c Catch) bool { return !c.Caught })
}

// Same tells whether the reduced trace is one and the same for all base seeds.
func (p *Planted) Same() bool {
	return !slices.ContainsFunc(p.Catches, func(c Catch) bool { return c.Trace != p.Catches[0].Trace })
}

// Longest and Least are the lengths of the longest and of the shortest reduced
// trace in ops.
func (p *Planted) Longest() int { return p.worst(func(c *Catch) int { return c.Length }) }

// Least is the length of the shortest reduced trace in ops.
func (p *Planted) Least() int {
	return -p.worst(func(c *Catch) int { return -c.Length })
}

// worst is the highest of a number over the base seeds.
func (p *Planted) worst(number func(c *Catch) int) int {
	worst := number(&p.Catches[0])
	for i := range p.Catches {
		worst = max(worst, number(&p.Catches[i]))
	}
	return worst
}

// Plant runs planted bugs, each on every base seed, and reduces what is caught.
// Mutants that are marked equivalent run as well, on one seed: catching one
// disproves the mark. An error is a failure of the set-up.
func Plant(ctx context.Context, mutants []python.Mutant, o Options) ([]Planted, error) {
	o = o.withDefaults()
	known, err := readShortest()
	if err != nil {
		return nil, err
	}
	rows := make([]Planted, len(mutants))
	err = o.each(ctx, len(mutants), func(ctx context.Context, i int) error {
		rows[i] = Planted{Mutant: mutants[i], Shortest: known[mutants[i].Name]}
		source, err := mutants[i].Apply()
		if err != nil {
			return err
		}
		launch, err := oracle.Source("mutant "+mutants[i].Name, source, o.Oracle)
		if err != nil {
			return err
		}
		trial, err := newTrial(mutants[i].Store, launch, mutants[i].Strict)
		if err != nil {
			return err
		}
		defer trial.close()
		seeds := o.Seeds
		if mutants[i].Equivalent != "" {
			seeds = 1
		}
		for seed := range uint64(seeds) {
			c, err := trial.catch(ctx, seed+1, &o)
			if err != nil {
				return fmt.Errorf("mutant %s: %w", mutants[i].Name, err)
			}
			rows[i].Catches = append(rows[i].Catches, c)
		}
		if o.Fewest && mutants[i].Equivalent == "" && rows[i].Caught() {
			if rows[i].Shortest, err = fewest(ctx, &rows[i], launch, rows[i].Known()); err != nil {
				return fmt.Errorf("mutant %s: %w", mutants[i].Name, err)
			}
		}
		return nil
	})
	return rows, err
}
