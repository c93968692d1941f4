package model

import (
	"bufio"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/diffstore/diffstore/op"
)

// record is one line of a recorded run: a header or an op with what it did.
type record struct {
	Version     int         `json:"diffstore_trace"`
	Slots       int         `json:"slots"`
	ObjectBytes int         `json:"object_nbytes"`
	Note        string      `json:"note"`
	Put         [][2]string `json:"put"`
	Retain      []string    `json:"retain"`
	Release     []string    `json:"release"`
	Get         *[]string   `json:"get"`
	Close       bool        `json:"close"`
	Want        *recorded   `json:"want"`
}

type recorded struct {
	Error *struct {
		Kind, Type, Message string
		Key                 string
	}
	Payload *string
	Victims []string
	Stored  []string
	Queue   []string
	Refs    map[string]int
	Slots   map[string]int
	Free    []int
	Next    int
}

// readRecords reads the lines of one file of recorded runs.
func readRecords(t *testing.T, name string) (out []record) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var in io.Reader = file
	if strings.HasSuffix(name, ".gz") {
		if in, err = gzip.NewReader(file); err != nil {
			t.Fatal(err)
		}
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r record
		// The header's "slots" is a number, an op's stands inside want.
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v in %s", name, err, lines.Text())
		}
		out = append(out, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	out, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// op gives the operation of a line that is no header.
func (r *record) op(t *testing.T) op.Op {
	switch {
	case r.Close:
		return op.Op{Kind: op.Close}
	case r.Get != nil:
		return op.Op{Kind: op.Get, Keys: *r.Get}
	}
	o := op.Op{Kind: op.Put, Retain: r.Retain, Release: r.Release}
	for _, object := range r.Put {
		o.Objects = append(o.Objects, op.Object{Key: object[0], Payload: unhex(t, object[1])})
	}
	return o
}

// observation gives what the real store did in the form of a Step.
func (w *recorded) observation(t *testing.T) op.Observation {
	var seen op.Observation
	if e := w.Error; e != nil {
		kind, known := op.ErrorKindNamed(e.Kind)
		if !known {
			t.Fatalf("unknown error kind %q", e.Kind)
		}
		seen.Outcome.Err = op.NewError(kind, e.Type, e.Message, e.Key)
	} else if w.Payload != nil {
		seen.Outcome.Payload = unhex(t, *w.Payload)
	}
	seen.Victims = w.Victims
	state := op.State{Sees: op.SeesAll, Queue: w.Queue, Free: w.Free, Next: w.Next, Total: len(w.Stored), TotalRefs: len(w.Refs)}
	for _, key := range w.Stored {
		state.Entries = append(state.Entries, op.Entry{Key: key, Slot: w.Slots[key]})
	}
	for _, key := range slices.Sorted(maps.Keys(w.Refs)) {
		state.Refs = append(state.Refs, op.Ref{Key: key, Count: w.Refs[key]})
	}
	seen.State = state
	return seen
}

// TestUpstreamTraces replays what the real store was recorded to do and compares
// all of it after every op.
func TestUpstreamTraces(t *testing.T) {
	files, err := filepath.Glob("../testdata/upstream/*.jsonl*")
	if err != nil {
		t.Fatal(err)
	}
	s := mustNew(t, "main", 1, 1)
	var ledger Ledger
	traces, ops := 0, 0
	for _, name := range files {
		note := ""
		for i, r := range readRecords(t, name) {
			if r.Version != 0 {
				traces++
				note = r.Note
				if err := s.Reset(r.Slots, r.ObjectBytes); err != nil {
					t.Fatalf("%s: %v", note, err)
				}
				ledger.Reset()
				continue
			}
			ops++
			o := r.op(t)
			want := r.Want.observation(t)
			var seen op.Observation
			s.Step(&o, &seen)
			if got, want := describe(&seen), describe(&want); got != want {
				t.Fatalf("%s, line %d, %q, %s:\n%s\nwant\n%s", name, i+1, note, o, got, want)
			}
			if err := Invariants(&want.State, r.Slots); err != nil {
				t.Errorf("%s, line %d, %q, %s: the recorded state: %v", name, i+1, note, o, err)
			}
			if err := ledger.Check(&o, &want); err != nil {
				t.Errorf("%s, line %d, %q, %s: the recorded run: %v", name, i+1, note, o, err)
			}
		}
	}
	t.Logf("%d traces, %d ops", traces, ops)
	if traces < 450 {
		t.Errorf("only %d traces were replayed", traces)
	}
}
