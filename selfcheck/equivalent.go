package selfcheck

import (
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

//go:embed equivalent/*.json
var equivalent embed.FS

// Record says why one automatic mutant cannot be noticed. The reason is for
// people; line and change name the mutant of the file with the records' hash.
type Record struct {
	Line   int    `json:"line"`
	Change string `json:"change"`
	Reason string `json:"reason"`
}

// records is a file of them, all of one source file.
type records struct {
	// Store names the source file for people.
	Store   string   `json:"store"`
	SHA256  string   `json:"sha256"`
	Mutants []Record `json:"mutants"`
}

// parseRecords reads a file of records and checks that each says something.
func parseRecords(name string, text []byte) (*records, error) {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	var r records
	if err := decoder.Decode(&r); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if r.SHA256 == "" {
		return nil, fmt.Errorf("%s: no sha256 says which file it is of", name)
	}
	for _, record := range r.Mutants {
		if record.Line < 1 || record.Change == "" || strings.TrimSpace(record.Reason) == "" {
			return nil, fmt.Errorf("%s: a record needs line, change and reason, found %+v", name, record)
		}
	}
	return &r, nil
}

// recordsOf reads the records of the source with this hash: those of the file at
// path, or where path is empty those that come with this package, if any do.
func recordsOf(path, sha256 string) ([]Record, error) {
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		r, err := parseRecords(path, text)
		if err == nil && r.SHA256 != sha256 {
			err = fmt.Errorf("%s: it is of a file with sha256 %.12s, not %.12s", path, r.SHA256, sha256)
		}
		if err != nil {
			return nil, err
		}
		return r.Mutants, nil
	}
	shipped, err := shippedRecords()
	if err != nil {
		return nil, err
	}
	for _, r := range shipped {
		if r.SHA256 == sha256 {
			return r.Mutants, nil
		}
	}
	return nil, nil
}

// shippedRecords reads the records that come with this package.
func shippedRecords() ([]*records, error) {
	entries, err := equivalent.ReadDir("equivalent")
	if err != nil {
		return nil, err
	}
	var list []*records
	for _, entry := range entries {
		text, err := equivalent.ReadFile("equivalent/" + entry.Name())
		if err != nil {
			return nil, err
		}
		r, err := parseRecords(entry.Name(), text)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// match marks the mutants that are on record and gives the records without one.
func match(r *Report, list []Record) (stale []Record) {
	for _, record := range list {
		found := false
		for i := range r.Mutants {
			m := &r.Mutants[i]
			if m.Line == record.Line && m.Change == record.Change {
				m.Fate, m.Reason, found = Equivalent, record.Reason, true
			}
		}
		if !found {
			stale = append(stale, record)
		}
	}
	return stale
}
