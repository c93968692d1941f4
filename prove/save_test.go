package prove

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/diffstore/diffstore/diff"
)

// keeping is a search that keeps itself in a file of a new folder.
func keeping(t *testing.T) *Search {
	return &Search{
		Bounds: tiny, Model: "main", Stores: []diff.Open{diff.Model("main")}, Options: strict,
		File: filepath.Join(t.TempDir(), "search.state"), flightTries: 100,
	}
}

// whole is what the search finds when nothing disturbs it.
func whole(t *testing.T) Result {
	s := keeping(t)
	s.File = ""
	return counts(mustRun(t, s))
}

// interrupt runs the search until it has done some flights.
func interrupt(t *testing.T, s *Search, flights int) *Result {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	s.Progress = func(Progress) {
		if flights--; flights == 0 {
			stop()
		}
	}
	result, err := s.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.Progress = nil
	return result
}

// TestInterruptedSearchesEndAlike interrupts a search again and again; it ends
// with the same counts as one that was left alone.
func TestInterruptedSearchesEndAlike(t *testing.T) {
	s := keeping(t)
	resumed := 0
	s.Resumed = func(states, expanded int) {
		if resumed++; expanded == 0 || states < expanded {
			t.Errorf("resumed with %d of %d states done", expanded, states)
		}
	}
	for range 3 {
		if r := interrupt(t, s, 2); !r.Interrupted || r.Complete {
			t.Fatalf("interrupted %t, complete %t", r.Interrupted, r.Complete)
		}
	}
	r := mustRun(t, s)
	if got, want := counts(r), whole(t); !reflect.DeepEqual(got, want) || resumed != 3 {
		t.Errorf("resumed %d times, it ended with\n%+v\nwant\n%+v", resumed, got, want)
	}
	if _, err := os.Stat(s.File); err == nil {
		t.Error("the file of a finished search is still there")
	}
}

// TestKilledSearchesGoOnFromTheLastSave takes the file as it is at some moment, as
// a killed process leaves it, and goes on from that.
func TestKilledSearchesGoOnFromTheLastSave(t *testing.T) {
	s := keeping(t)
	s.SaveEvery = time.Nanosecond
	flights := 0
	var left []byte
	s.Progress = func(Progress) {
		if flights++; flights == 4 {
			data, err := os.ReadFile(s.File)
			if err != nil {
				t.Fatal(err)
			}
			left = data
		}
	}
	mustRun(t, s)
	killed := keeping(t)
	if err := os.WriteFile(killed.File, left, 0o644); err != nil {
		t.Fatal(err)
	}
	resumed := false
	killed.Resumed = func(int, int) { resumed = true }
	if got, want := counts(mustRun(t, killed)), whole(t); !reflect.DeepEqual(got, want) || !resumed {
		t.Errorf("resumed %t, it ended with\n%+v\nwant\n%+v", resumed, got, want)
	}
}

// TestFilesThatKeepNoSearch: each is refused in one line, and left alone.
func TestFilesThatKeepNoSearch(t *testing.T) {
	s := keeping(t)
	interrupt(t, s, 2)
	good, err := os.ReadFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spoil func([]byte) []byte
		other func(*Search)
		says  string
	}{
		"empty":         {func([]byte) []byte { return nil }, nil, "it keeps no search; remove it to start anew"},
		"another file":  {func([]byte) []byte { return []byte("{\"diffstore_trace\":1}\n") }, nil, "it keeps no search"},
		"another time":  {func(b []byte) []byte { return bytes.Replace(b, []byte("state 1 "), []byte("state 2 "), 1) }, nil, "it is of version 2, this diffstore writes version 1"},
		"cut off":       {func(b []byte) []byte { return b[:len(b)-5] }, nil, "it is damaged: its checksum does not fit"},
		"a bit flipped": {func(b []byte) []byte { b[len(b)/2] ^= 4; return b }, nil, "it is damaged"},
		"other bounds":  {nil, func(s *Search) { s.Bounds.Counts = 2 }, "it keeps another search, of 2 slots, 2 keys, counts to 1"},
		"other model":   {nil, func(s *Search) { s.Model = "free-queue" }, "it keeps another search"},
		"other store":   {nil, func(s *Search) { s.Stores = []diff.Open{diff.Model("free-queue")} }, "it keeps another search"},
		"less strict":   {nil, func(s *Search) { s.Options.Strict = false }, "it keeps another search"},
	} {
		t.Run(name, func(t *testing.T) {
			s := keeping(t)
			data := bytes.Clone(good)
			if c.spoil != nil {
				data = c.spoil(data)
			}
			if c.other != nil {
				c.other(s)
			}
			if err := os.WriteFile(s.File, data, 0o644); err != nil {
				t.Fatal(err)
			}
			result, err := s.Run(context.Background())
			var bad *FileError
			if !errors.As(err, &bad) || !contains(bad.Error(), c.says) || contains(bad.Error(), "\n") || bad.File != s.File || result.Ops != 0 {
				t.Fatalf("error %v after %d ops, want one with %q", err, result.Ops, c.says)
			}
			if after, err := os.ReadFile(s.File); err != nil || !bytes.Equal(after, data) {
				t.Errorf("the file is not as it was: %v", err)
			}
		})
	}
}

// TestAFileThatCannotBeWritten fails before long, not after the search.
func TestAFileThatCannotBeWritten(t *testing.T) {
	s := keeping(t)
	s.File = filepath.Join(s.File, "below", "a", "file")
	result, err := s.Run(context.Background())
	if err == nil || !contains(err.Error(), "saved") || result.Ops > 0 {
		t.Errorf("error %v after %d ops", err, result.Ops)
	}
}
