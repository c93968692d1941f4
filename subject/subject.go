// Package subject opens, as subjects of a comparison, the stores that package
// oracle runs. It is the one place where the two meet: package diff knows no
// processes, and package oracle compares nothing.
package subject

import (
	"github.com/diffstore/diffstore/diff"
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
