package diff

import (
	"strings"

	"github.com/diffstore/diffstore/op"
)

// Class keeps apart what maintainers must not mix up.
type Class string

const (
	// Differs: the two showed different things while all calls had succeeded.
	Differs Class = "differs"
	// DiffersAfterError: the two agreed until a call failed on both, and differ
	// in what that call left behind or later. Production stops at the call. A get
	// that misses changes nothing and does not count.
	DiffersAfterError Class = "differs-after-error"
	// Intended: the claim under test predicts the difference.
	Intended Class = "intended"
)

// Divergence is the first difference between two subjects in one sequence. It
// shares no memory with the runs it came from.
type Divergence struct {
	// Case is the index of the sequence in its campaign; -1 outside of one.
	Case int
	// Step is the op's place in the sequence, from 0; -1 is the constructor.
	Step  int
	Op    op.Op
	Field Field
	// Detail is the broken invariant, in words.
	Detail      string
	Left, Right op.Observation
	Class       Class
}

// Fingerprint is what makes two divergences the same bug as far as can be told:
// op kind, field, the error kinds on both sides, and the class. A reduction
// keeps it.
func (d *Divergence) Fingerprint() string {
	parts := []string{"construct"}
	if d.Step >= 0 {
		parts[0] = d.Op.Kind.String()
	}
	parts = append(parts, string(d.Field), d.Left.Outcome.Kind().String()+"|"+d.Right.Outcome.Kind().String())
	if d.Class != Differs {
		parts = append(parts, string(d.Class))
	}
	return strings.Join(parts, "/")
}

// Steps is how many ops of the sequence show the divergence.
func (d *Divergence) Steps() int { return d.Step + 1 }
