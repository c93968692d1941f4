package diff

import (
	"slices"
	"strings"

	"github.com/diffstore/diffstore/op"
)

// accepted gives the fingerprints that a reduction of the divergence may go on
// with: its own first, then those that say the same with fewer errors about it.
//
//   - What differs after an error may differ the same way without one.
//   - What differs in the state that a failed call left may do so after one that
//     succeeds, if the error was the same on both sides.
//   - Where the two sides failed in different ways, the error that a put finds
//     later in its course may go: the other side never came that far.
//
// A reader then sees the bug without what the generator did beside it, and one
// bug ends less often as several traces. None of it leads back.
func accepted(d *Divergence) []string { return plainerThan(d.Fingerprint()) }

// plainerThan is accepted on fingerprints.
func plainerThan(fingerprint string) []string {
	list := []string{fingerprint}
	parts := strings.Split(fingerprint, "/")
	if class := string(DiffersAfterError); parts[len(parts)-1] == class {
		list = append(list, strings.Join(parts[:len(parts)-1], "/"))
	}
	left, right, _ := strings.Cut(parts[2], "|")
	if l, r := plainer(Field(parts[1]), left, right); l != left || r != right {
		for i := range list {
			other := slices.Clone(parts[:len(parts)-i])
			other[2] = l + "|" + r
			list = append(list, strings.Join(other, "/"))
		}
	}
	return list
}

// course is the order in which a put finds what is wrong with it, from 1.
var course = map[string]int{
	op.ClosedError.String(): 1, op.KeyError.String(): 2, op.CapacityError.String(): 3, op.SizeError.String(): 4,
}

// plainer leaves out the errors that have no part in the difference, as accepted
// says.
func plainer(field Field, left, right string) (string, string) {
	none := op.NoError.String()
	l, r := course[left], course[right]
	switch {
	case l == 0 || r == 0:
	case l > r:
		return none, right
	case r > l:
		return left, none
	case field != FieldOutcome:
		return none, none
	}
	return left, right
}
