package gen

import (
	"fmt"

	"github.com/diffstore/diffstore/op"
	"github.com/leanovate/gopter"
)

// Fingerprinted is an error that knows which failure it is. ForAll shrinks a
// sequence only to one that fails with the same fingerprint.
type Fingerprinted interface {
	error
	// Fingerprint is equal for two errors when they show the same failure.
	Fingerprint() string
}

// fingerprint tells failures apart as far as the error allows: all errors that
// are not Fingerprinted count as one failure.
func fingerprint(err error) string {
	if f, ok := err.(Fingerprinted); ok {
		return f.Fingerprint()
	}
	return ""
}

// ForAll is the property that check finds no error in any sequence. A sequence
// that fails is shrunk by the shrinker, whose values are op.Sequence; nil shrinks
// nothing. The result is false, with the error's text as its label and the
// shrunk and the original sequence as its argument. A check that panics is an
// error of the property, not a failure, and is not shrunk.
//
// It stands in for prop.ForAll, whose shrinking in gopter 0.2.11 loses the bug:
// a candidate that is undecided replaces the failure, a candidate that fails in
// another way does too, and MaxShrinkCount counts only the steps that succeed,
// so that a slow check runs without limit. Here MaxShrinkCount limits the calls
// of check while shrinking. With several workers gopter reports whichever failure
// comes first: set Workers to 1, its default, where the counterexample matters.
func ForAll(c Config, shrinker gopter.Shrinker, check func(op.Sequence) error) gopter.Prop {
	sequences := Sequences(c)
	return gopter.SaveProp(func(parameters *gopter.GenParameters) *gopter.PropResult {
		drawn := sequences(parameters)
		first := drawn.Result.(op.Sequence)
		err := check(first)
		if err == nil {
			return &gopter.PropResult{Status: gopter.PropTrue}
		}
		last, steps := first, 0
		if shrinker != nil {
			last, steps, err = descend(first, err, shrinker, check, parameters.MaxShrinkCount)
		}
		return &gopter.PropResult{
			Status: gopter.PropFalse,
			Labels: []string{err.Error()},
			Args:   []*gopter.PropArg{gopter.NewPropArg(drawn, steps, last, last.String(), first, first.String())},
		}
	})
}

// descend follows the first candidate that fails in the same way until none does
// or the evaluations are spent. It gives the last failing sequence, the
// number of steps taken and its error.
func descend(
	failing op.Sequence, err error, shrinker gopter.Shrinker, check func(op.Sequence) error, evaluations int,
) (op.Sequence, int, error) {
	want := fingerprint(err)
	steps := 0
	for candidates := shrinker(failing); evaluations > 0; evaluations-- {
		value, ok := candidates()
		if !ok {
			break
		}
		candidate, ok := value.(op.Sequence)
		if !ok {
			panic(fmt.Sprintf("gen: the shrinker gave a %T: expected an op.Sequence", value))
		}
		again := check(candidate)
		if again == nil || fingerprint(again) != want {
			continue
		}
		failing, err = candidate, again
		candidates = shrinker(failing)
		steps++
	}
	return failing, steps, err
}
