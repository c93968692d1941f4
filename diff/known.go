package diff

import (
	"fmt"

	"github.com/diffstore/diffstore/traces"
)

// Stale checks the known divergences of a store: each reproducer must still
// diverge with its fingerprint. It gives a line for each that does not.
func Stale(known traces.KnownList, store string, opens []Open, judge Judge) ([]string, error) {
	var stale []string
	for _, entry := range known {
		if entry.Store != store {
			continue
		}
		list, err := traces.ReadFile(entry.Trace)
		if err != nil {
			return stale, err
		}
		found, err := Diverge(list[0].Sequence(), opens, judge)
		if err != nil {
			return stale, err
		}
		switch {
		case found == nil:
			stale = append(stale, fmt.Sprintf("known divergence %s of %s is stale: %s no longer diverges; take the entry out", entry.Fingerprint, store, entry.Trace))
		case found.Fingerprint() != entry.Fingerprint:
			stale = append(stale, fmt.Sprintf("known divergence %s of %s is stale: %s now diverges as %s", entry.Fingerprint, store, entry.Trace, found.Fingerprint()))
		}
	}
	return stale, nil
}
