// Package subject opens, as subjects of a comparison, the stores that package
// oracle runs. It is the one place where the two meet: package diff knows no
// processes, and package oracle compares nothing.
package subject

import (
	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/oracle"
)

// Oracle opens a store in a process of its own.
func Oracle(launch oracle.Launch, ask oracle.Ask) diff.Open {
	return func() (diff.Subject, error) {
		o, err := oracle.Open(launch, ask)
		if err != nil {
			return nil, err
		}
		return o, nil
	}
}

// Foresee plans what to look at on large stores, as the Go store of a variant
// foresees it: the other side of the comparison, or what the store should be.
func Foresee(variant string) func() func(*op.Sequence) *oracle.Plan {
	return func() func(*op.Sequence) *oracle.Plan {
		foresee, err := diff.Foresee(variant)
		if err != nil {
			return func(*op.Sequence) *oracle.Plan { return nil } // its own subject says so
		}
		return func(s *op.Sequence) *oracle.Plan {
			victims, whole := foresee(s)
			if whole == nil {
				return nil
			}
			return &oracle.Plan{Victims: victims, Whole: whole}
		}
	}
}
