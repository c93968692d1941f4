package selfcheck

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/diffstore/diffstore/oracle"
)

// opened is a store file.
func opened(t *testing.T, spec string, o oracle.Options) *file {
	t.Helper()
	launch, err := oracle.Resolve(spec, o)
	if err != nil {
		t.Skipf("%s is not to be had: %v", spec, err)
	}
	f, err := openFile(Store{Spec: spec, Model: "main", Strict: true}, launch)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// mutantsOf are the automatic mutants of a file. To make them takes a second, so
// they are kept.
func mutantsOf(t *testing.T, f *file) []Automatic {
	t.Helper()
	if made[f.Spec] == nil {
		list, err := automaticMutants(context.Background(), &f.launch, f.source)
		if err != nil {
			t.Fatal(err)
		}
		made[f.Spec] = list
	}
	return slices.Clone(made[f.Spec])
}

var made = map[string][]Automatic{}

// TestMutantsMeetTheirFates runs a few mutants of the embedded main, made by Python
// and by hand.
func TestMutantsMeetTheirFates(t *testing.T) {
	o := options(t)
	o.Sequences, o.Seeds = 100, 1
	o = o.withDefaults()
	f := opened(t, "embedded", o.Oracle)
	mutants := mutantsOf(t, f)
	f.launch.OpTimeout = 300 * time.Millisecond
	const mark = "        if self._arena is None:\n"
	if strings.Count(f.source, mark) != 1 {
		t.Fatal("the store is not what this test knows")
	}
	hang := strings.Replace(f.source, mark, "        while keys_are_many():\n            pass\n"+mark, 1) + "\n\ndef keys_are_many():\n    return True\n"
	byHand := []Automatic{
		{Line: 1, Change: "hang", Source: hang},
		{Line: 1, Change: "no store", Source: "1 / 0"},
		{Line: 1, Change: "nothing", Source: f.source},
	}
	cases := []struct {
		line    int
		change  string
		records bool
		fate    Fate
	}{
		{116, "0 became 1", false, Killed},
		{116, "0 became 1", true, Disproved},
		{116, "<= became <", true, Equivalent},
		{116, "<= became <", false, Survived},
		{1, "hang", false, Killed},
		{1, "no store", false, Killed},
		{1, "no store", true, Disproved},
		{1, "nothing", true, Equivalent},
	}
	for _, c := range cases {
		all := slices.Concat(mutants, byHand)
		at := slices.IndexFunc(all, func(m Automatic) bool { return m.Line == c.line && m.Change == c.change })
		if at < 0 {
			t.Errorf("line %d, %s: no such mutant", c.line, c.change)
			continue
		}
		r := &Report{Mutants: all[at : at+1]}
		if c.records {
			if stale := match(r, []Record{{c.line, c.change, "because"}}); len(stale) > 0 {
				t.Errorf("stale: %+v", stale)
			}
		}
		m := &r.Mutants[0]
		if err := f.try(context.Background(), m, &o); err != nil {
			t.Fatal(err)
		}
		dead := m.Fate == Killed || m.Fate == Disproved
		if m.Fate != c.fate || (m.How != "") != dead || (m.Reason != "") != c.records || r.Count(c.fate) != 1 {
			t.Errorf("line %d, %s: %s, %q, %q: expected %s", c.line, c.change, m.Fate, m.How, m.Reason, c.fate)
		}
	}
	if stale := match(&Report{Mutants: byHand}, []Record{{2, "hang", "because"}}); len(stale) != 1 {
		t.Errorf("a record without a mutant is not stale: %+v", stale)
	}
	if err := f.agrees(context.Background(), &o); err != nil {
		t.Errorf("the unchanged store: %v", err)
	}
	f.source = mutants[slices.IndexFunc(mutants, func(m Automatic) bool { return m.Change == "0 became 1" })].Source
	if err := f.agrees(context.Background(), &o); err == nil || !strings.Contains(err.Error(), "as it is") {
		t.Errorf("a store that differs as it is gives %v", err)
	}
}

// TestRecordsNameMutants: those that come with the package, of the files that
// are to be had here.
func TestRecordsNameMutants(t *testing.T) {
	o := options(t).Oracle
	o.NoFetch = true
	for _, spec := range []string{"embedded", "vllm-tpu==0.32.0"} {
		t.Run(spec, func(t *testing.T) {
			f := opened(t, spec, o)
			mutants := mutantsOf(t, f)
			list, err := recordsOf("", hashOf(f.source))
			if err != nil || len(list) == 0 {
				t.Fatalf("%d records, %v", len(list), err)
			}
			names := map[Record]bool{}
			for _, m := range mutants {
				key := Record{Line: m.Line, Change: m.Change}
				if names[key] {
					t.Errorf("two mutants are called line %d, %s", m.Line, m.Change)
				}
				names[key] = true
			}
			if stale := match(&Report{Mutants: mutants}, list); len(stale) > 0 {
				t.Errorf("stale: %+v", stale)
			}
		})
	}
}

func TestParseRecords(t *testing.T) {
	const good = `{"store":"s","sha256":"ab","mutants":[{"line":3,"change":"1 became 2","reason":"Because."}]}`
	file := filepath.Join(t.TempDir(), "records.json")
	if err := os.WriteFile(file, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := recordsOf(file, "ab")
	if d := cmp.Diff([]Record{{3, "1 became 2", "Because."}}, got); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
	if _, err := recordsOf(file, "cd"); err == nil || !strings.Contains(err.Error(), "sha256 ab, not cd") {
		t.Errorf("the records of another file give %v", err)
	}
	if _, err := recordsOf(file+".no", "ab"); err == nil {
		t.Error("a missing file gives no error")
	}
	if list, err := recordsOf("", "ab"); err != nil || list != nil {
		t.Errorf("a file without records gives %v, %v", list, err)
	}
	for _, bad := range []string{
		``, `{}`, `{"sha256":"ab","mutants":[{"line":0,"change":"c","reason":"r"}]}`, `{"sha256":"ab","mutants":[{"line":1,"change":"","reason":"r"}]}`,
		`{"sha256":"ab","mutants":[{"line":1,"change":"c","reason":" "}]}`, `{"sha256":"ab","why":1}`,
	} {
		if _, err := parseRecords("f.json", []byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "f.json: ") {
			t.Errorf("%s gives %v", bad, err)
		}
	}
}

// TestFilesOfTheirOwnTree mutates a file that imports another one of its package.
func TestFilesOfTheirOwnTree(t *testing.T) {
	o := options(t)
	o.Sequences = 20
	o = o.withDefaults()
	main := opened(t, "embedded", o.Oracle)
	root := t.TempDir()
	inner := filepath.Join(root, "outer", "inner")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	store := strings.Replace(main.source, "NO_SLOT = -1\n", "from outer.inner.marks import NO_SLOT\nfrom outer.far import PLACE\n", 1)
	for name, text := range map[string]string{
		"outer/__init__.py": "1 / 0  # never run\n", "outer/inner/__init__.py": "", "outer/inner/marks.py": "NO_SLOT = -1\n",
		"outer/far.py": "PLACE = 1\n", "outer/inner/store.py": store,
	} {
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := opened(t, filepath.Join(inner, "store.py"), o.Oracle)
	if err := f.agrees(context.Background(), &o); err != nil {
		t.Fatal(err)
	}
	m := &Automatic{Source: strings.Replace(store, "self._next += 1", "self._next += 2", 1)}
	if err := f.try(context.Background(), m, &o); err != nil || m.Fate != Killed {
		t.Errorf("%s, %q, %v", m.Fate, m.How, err)
	}
	text, err := os.ReadFile(f.path)
	if err != nil || string(text) != store {
		t.Errorf("the file itself was changed: %v", err)
	}
	if _, err := openFile(Store{}, oracle.Launch{Command: []string{"x"}}); err == nil {
		t.Error("a command was taken for a store file")
	}
}
