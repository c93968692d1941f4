package selfcheck

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/python"
)

// options try little, so that the tests are quick; they skip without Python.
func options(t *testing.T) Options {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 on the PATH: no store can be run")
	}
	return Options{Sequences: 200, Seeds: 2, Oracle: oracle.Options{OpTimeout: 5 * time.Second}}
}

// planted finds mutants by name.
func planted(t *testing.T, names ...string) []python.Mutant {
	t.Helper()
	all, err := python.Mutants()
	if err != nil {
		t.Fatal(err)
	}
	var some []python.Mutant
	for _, name := range names {
		at := slices.IndexFunc(all, func(m python.Mutant) bool { return m.Name == name })
		if at < 0 {
			t.Fatalf("no mutant %s", name)
		}
		some = append(some, all[at])
	}
	return some
}

func TestPlant(t *testing.T) {
	o := options(t)
	told := 0
	o.Progress = func(done, total int) {
		told++
		if done != told || total != 6 {
			t.Errorf("told %d of %d after %d", done, total, told)
		}
	}
	rows, err := Plant(context.Background(), planted(t, "evict-newest-first", "released-key-not-queued", "counts-capped-at-3",
		"free-slots-first-in-first-out", "close-not-idempotent", "terminal-batch-key-moved-once"), o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		p := &rows[i]
		if p.Mutant.Equivalent != "" {
			if len(p.Catches) != 1 || p.Caught() || p.Catches[0].Sequences != o.Sequences {
				t.Errorf("%s: %+v", p.Mutant.Name, p.Catches)
			}
			continue
		}
		if len(p.Catches) != o.Seeds || !p.Caught() {
			t.Errorf("%s was not caught: %+v", p.Mutant.Name, p.Catches)
			continue
		}
		for _, c := range p.Catches {
			if c.Sequences < 1 || c.Ops < c.Length || c.Length < 1 || c.Evaluations < 3 || c.Flaky || c.Exhausted || c.Fingerprint == "" {
				t.Errorf("%s: %+v", p.Mutant.Name, c)
			}
		}
		if p.Shortest == 0 || p.Longest() > p.Shortest+2 {
			t.Errorf("%s: reduced to %d ops, %d are on record", p.Mutant.Name, p.Longest(), p.Shortest)
		}
	}
	const want = "1 slots of 1 bytes\nput a=61 b=62 retain a b release a b"
	if c := rows[0].Catches[0]; c.Trace != want || c.Class != diff.Differs || !rows[0].Same() {
		t.Errorf("evict-newest-first came out as\n%s\nof class %s, the same for all seeds: %v", c.Trace, c.Class, rows[0].Same())
	}
}

func TestPlantEnds(t *testing.T) {
	o := options(t)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Plant(ctx, planted(t, "evict-newest-first"), o); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted check gives %v", err)
	}
	o.Oracle.Python = "no-such-python"
	var fault *oracle.Fault
	if _, err := Plant(context.Background(), planted(t, "evict-newest-first"), o); !errors.As(err, &fault) {
		t.Errorf("a missing interpreter gives %v", err)
	}
}

func TestCanary(t *testing.T) {
	o := options(t).withDefaults()
	right, _ := python.Store("main")
	broken, err := planted(t, canaryMutant)[0].Apply()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ right, broken, want string }{
		{right, broken, ""},
		{broken, broken, "the unchanged store was reported as different"},
		{right, right, "was not reported"},
	} {
		err := canaries(context.Background(), "main", c.right, c.broken, &o)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, expected %q", err, c.want)
		}
	}
}

func TestAlarms(t *testing.T) {
	const sequences = 90
	alarms, err := Alarms(context.Background(), sequences, options(t))
	if err != nil {
		t.Fatal(err)
	}
	run := map[string]int{}
	for _, a := range alarms {
		run[a.Store] += a.Sequences
		if a.Finding != "" || a.Ops == 0 {
			t.Errorf("%+v", a)
		}
	}
	if d := cmp.Diff(map[string]int{"main": sequences, "free-queue": sequences}, run); d != "" {
		t.Error(d)
	}
}

// TestFewest: a search finds what a reduction may not, and nothing shorter than there is.
func TestFewest(t *testing.T) {
	o := options(t)
	for name, want := range map[string]int{"evict-newest-first": 1, "get-does-not-touch": 2} {
		m := planted(t, name)[0]
		source, err := m.Apply()
		if err != nil {
			t.Fatal(err)
		}
		launch, err := oracle.Source(name, source, o.Oracle)
		if err != nil {
			t.Fatal(err)
		}
		for known := want; known < want+2; known++ {
			if got, err := fewest(context.Background(), &Planted{Mutant: m}, launch, known); err != nil || got != want {
				t.Errorf("%s, known in %d ops: found in %d, %v", name, known, got, err)
			}
		}
	}
}

func TestShortest(t *testing.T) {
	known, err := readShortest()
	if err != nil {
		t.Fatal(err)
	}
	all, err := python.Mutants()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if _, there := known[m.Name]; there != (m.Equivalent == "") {
			t.Errorf("%s: on record %v, equivalent %q", m.Name, there, m.Equivalent)
		}
		delete(known, m.Name)
	}
	if len(known) > 0 {
		t.Errorf("there are no mutants %v", known)
	}
	file := filepath.Join(t.TempDir(), "shortest.json")
	rows := []Planted{
		{Mutant: python.Mutant{Name: "evict-newest-first"}, Shortest: 1, Catches: []Catch{{Caught: true, Length: 3}, {Caught: true, Length: 1}}},
		{Mutant: python.Mutant{Name: "new"}, Catches: []Catch{{Caught: true, Length: 9}, {Caught: true, Length: 7}}},
		{Mutant: python.Mutant{Name: "missed"}, Catches: []Catch{{}}},
	}
	if err := WriteShortest(file, rows); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`  "evict-newest-first": 1,`, `  "new": 7,`} {
		if !strings.Contains(string(text), line+"\n") {
			t.Errorf("%s is missing", line)
		}
	}
	if strings.Contains(string(text), `"missed"`) {
		t.Error("a bug that was not caught has a length")
	}
}
