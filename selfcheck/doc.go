// Package selfcheck shows that the harness notices what it should: it runs bugs
// that are known to be there through the ordinary campaign and reports which
// of them were caught, how soon, and how short the trace was that came out.
//
// The bugs are of two kinds: planted ones, which name a mistake somebody could
// make, and automatic ones, which change one place of a store file at a time. A
// canary and the right stores say that neither silence nor noise is mistaken for
// a result.
//
// It drives package diff as any campaign does and judges only whether a
// divergence came. It knows no store's code: planted bugs are edits in package
// python, and the text of a mutant goes from one Python process to another.
package selfcheck

import (
	"context"
	"runtime"
	"sync"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/oracle"
)

// DefaultSequences is how many sequences a mutant has to be caught in, for each
// base seed: the default budget of a campaign.
const DefaultSequences = 5000

// Options says how hard the harness is tried. The zero value tries it with one
// seed and the default profile.
type Options struct {
	// Gen says what sequences are made.
	Gen gen.Config
	// Sequences bounds the campaign of one mutant on one base seed; 0 means
	// DefaultSequences.
	Sequences int
	// Seeds is how many base seeds are tried: 1, 2 and so on. 0 means one.
	Seeds int
	// Budget bounds one reduction; the zero value means diff.DefaultBudget.
	Budget diff.Budget
	// Fewest asks a search of all short sequences within small bounds for fewer
	// ops than are known to show a planted bug.
	Fewest bool
	// Workers is how many mutants run side by side, each in a process of its
	// own; 0 means one for each processor.
	Workers int
	// Oracle is how the processes are started.
	Oracle oracle.Options
	// Progress, where given, is told after each mutant how many are done. Calls
	// do not overlap.
	Progress func(done, total int)
}

func (o Options) withDefaults() Options {
	if o.Sequences == 0 {
		o.Sequences = DefaultSequences
	}
	if o.Seeds == 0 {
		o.Seeds = 1
	}
	if o.Budget == (diff.Budget{}) {
		o.Budget = diff.DefaultBudget
	}
	if o.Workers == 0 {
		o.Workers = runtime.NumCPU()
	}
	return o
}

// each calls do for 0 to n-1 on the workers. The first error ends it; ctx ends
// it, too.
func (o *Options) each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var (
		wait sync.WaitGroup
		mu   sync.Mutex
		next = make(chan int)
		done int
	)
	for range min(o.Workers, n) {
		wait.Go(func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					stop(err)
					return
				}
				mu.Lock()
				done++
				if o.Progress != nil {
					o.Progress(done, n)
				}
				mu.Unlock()
			}
		})
	}
feed:
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wait.Wait()
	return context.Cause(ctx)
}
