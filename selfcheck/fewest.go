package selfcheck

import (
	"context"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/prove"
	"github.com/diffstore/diffstore/subject"
)

// searched are the bounds in which a search looks for a sequence shorter than any
// that is known: one slot with all that can be done wrong, and three keys in two
// slots. Most bugs show there, and their first ops are gone through in seconds.
var searched = []prove.Bounds{
	{Slots: 1, Keys: 2, Counts: 1, Batch: 2, Lists: 2, ObjectBytes: 1, Misuse: true, Lost: 1},
	{Slots: 2, Keys: 3, Counts: 1, Batch: 3, Lists: 2, ObjectBytes: 1},
}

// searchedStates bounds a search: a bug that counts calls has more states than
// one that does not.
const searchedStates = 300

// fewest is the least number of ops that a search finds a bug with; known where it
// finds none shorter.
func fewest(ctx context.Context, p *Planted, launch oracle.Launch, known int) (int, error) {
	for _, bounds := range searched {
		if bounds.Ops = known - 1; bounds.Ops < 1 {
			break
		}
		search := prove.Search{
			Bounds: bounds, Model: p.Mutant.Store, Stores: []diff.Open{subject.Oracle(launch, oracle.Ask{FirstDeath: true})},
			Options: diff.Options{Strict: p.Mutant.Strict}, MaxStates: searchedStates,
		}
		result, err := search.Run(ctx)
		if err != nil {
			return known, err
		}
		if result.Finding != nil {
			known = len(result.Finding.Sequence.Ops)
		}
	}
	return known, nil
}
