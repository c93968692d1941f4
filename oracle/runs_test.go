package oracle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/python"
)

// needPython skips a test where there is no Python.
func needPython(t testing.TB) string {
	t.Helper()
	interpreter, err := findPython("")
	if err != nil {
		t.Skip("needs python3 on the PATH")
	}
	return interpreter
}

// spoiled is the embedded main store with replacements, given in pairs.
func spoiled(t *testing.T, pairs ...string) string {
	t.Helper()
	source, ok := python.Store("main")
	if !ok {
		t.Fatal("no embedded store main")
	}
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(source, pairs[i]) {
			t.Fatalf("the embedded store has no %q", pairs[i])
		}
		source = strings.Replace(source, pairs[i], pairs[i+1], 1)
	}
	return source
}

// The places at which the tests spoil the embedded store.
const (
	atImport = "import mmap\n"
	inPut    = "        payloads = {item.key"
	inGet    = "        payload = b\"\".join"
	getGives = "        return payload\n"
)

// writeFile puts a file into a new folder and gives its path.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// resolve resolves a spec that must be one.
func resolve(t testing.TB, spec string, options Options) Launch {
	t.Helper()
	if options.OpTimeout == 0 {
		options.OpTimeout = 30 * time.Second // no test that uses this waits for it
	}
	launch, err := Resolve(spec, options)
	if err != nil {
		t.Fatal(err)
	}
	return launch
}

// show runs a batch in a process of its own and gives runs that outlive it.
func show(t testing.TB, launch Launch, ask Ask, batch []op.Sequence) ([]op.Run, *Oracle) {
	t.Helper()
	o, err := Open(launch, ask)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	if err := o.Submit(batch); err != nil {
		t.Fatal(err)
	}
	runs := make([]op.Run, len(batch))
	if err := op.Collect(o, runs); err != nil {
		t.Fatal(err)
	}
	for i := range runs {
		steps := make([]op.Observation, len(runs[i].Steps))
		for j := range steps {
			steps[j] = runs[i].Steps[j].Clone()
		}
		runs[i].Steps = steps
	}
	return runs, o
}

// generated makes the first cases of a profile.
func generated(profile string, count int) []op.Sequence {
	batch := make([]op.Sequence, count)
	for i := range batch {
		gen.Case(1, i, gen.Config{Profile: profile}, &batch[i])
	}
	return batch
}

// modelled runs a batch on the Go model.
func modelled(t testing.TB, variant string, batch []op.Sequence) []op.Run {
	t.Helper()
	store, err := model.New(variant, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	runs := make([]op.Run, len(batch))
	for i := range batch {
		diff.RunModel(store, &batch[i], &runs[i])
		for j := range runs[i].Steps {
			runs[i].Steps[j] = runs[i].Steps[j].Clone()
		}
	}
	return runs
}

// sameRuns fails at the first divergence between two sets of runs.
func sameRuns(t testing.TB, batch []op.Sequence, left, right []op.Run, options diff.Options) {
	t.Helper()
	for i := range batch {
		if l, r := len(left[i].Steps), len(right[i].Steps); l != r {
			t.Fatalf("sequence %d: %d steps and %d", i, l, r)
		}
		d := diff.Compare(&batch[i], &left[i], &right[i], options)
		if d == nil {
			continue
		}
		for _, o := range batch[i].Ops[:d.Step+1] {
			t.Log(o.String())
		}
		t.Fatalf("sequence %d (%d slots of %d bytes), op %d, %s %s\n%+v\n%+v", i, batch[i].Slots, batch[i].ObjectBytes, d.Step, d.Field, d.Detail, d.Left, d.Right)
	}
}
