package prove

import (
	"context"
	"fmt"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/op"
)

// Shortest gives a sequence with the fewest ops, within the bounds, on which a
// store differs from the model variant, or, of two stores, the second from the
// first; a nil divergence says that there is none. An error leaves both open:
// the search could not be brought to its end.
func Shortest(ctx context.Context, bounds Bounds, variant string, options diff.Options, stores ...diff.Open) (op.Sequence, *diff.Divergence, error) {
	search := &Search{Bounds: bounds, Model: variant, Stores: stores, Options: options}
	result, err := search.Run(ctx)
	switch {
	case err != nil:
		return op.Sequence{}, nil, err
	case result.Finding != nil:
		return result.Finding.Sequence, result.Finding.Divergence, nil
	case !result.Complete:
		return op.Sequence{}, nil, fmt.Errorf("the search ended after %d states of %d", result.Expanded, result.States)
	case len(result.Incidents) > 0:
		return op.Sequence{}, nil, fmt.Errorf("%s", result.Incidents[0])
	}
	return op.Sequence{}, nil, nil
}
