package selfcheck

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
)

//go:embed shortest.json
var shortest []byte

// readShortest reads the least number of ops known to show each planted bug.
func readShortest() (map[string]int, error) {
	known := map[string]int{}
	if err := json.Unmarshal(shortest, &known); err != nil {
		return nil, fmt.Errorf("shortest.json: %w", err)
	}
	return known, nil
}

// Known is the least number of ops known to show the bug: on record, or seen now.
func (p *Planted) Known() int {
	if p.Shortest > 0 {
		return min(p.Shortest, p.Least())
	}
	return p.Least()
}

// WriteShortest writes the lengths on record to a file, with what these bugs
// were reduced to, or a search found, where that is shorter. Bugs that are not among them keep theirs.
func WriteShortest(path string, rows []Planted) error {
	known, err := readShortest()
	if err != nil {
		return err
	}
	for i := range rows {
		if p := &rows[i]; p.Mutant.Equivalent == "" && p.Caught() {
			known[p.Mutant.Name] = p.Known()
		}
	}
	text, err := json.MarshalIndent(known, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
