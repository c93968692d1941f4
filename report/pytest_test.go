package report

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/python"
	"github.com/diffstore/diffstore/traces"
)

// runTests reads a JSON object with a store's source and named test files,
// runs every test of every file with just as much of pytest as the files use,
// and prints a line for each file: its name, how many tests it has, and the
// first that failed.
const runTests = `
import json, re, sys, types

class raises:
    def __init__(self, kind, match=""):
        self.kind, self.match, self.value = kind, match, None
    def __enter__(self):
        return self
    def __exit__(self, kind, value, _):
        self.value = value
        assert value is not None, "nothing was raised"
        if not isinstance(value, self.kind):
            return False
        assert re.search(self.match, str(value)), "%s does not match %s" % (value, self.match)
        return True

given = json.load(sys.stdin)
store = types.ModuleType("mine")
sys.modules["mine"] = store
exec(compile(given["store"], "mine", "exec"), store.__dict__)
sys.modules["pytest"] = types.ModuleType("pytest")
sys.modules["pytest"].raises = raises
for name, text in sorted(given["files"].items()):
    said, count = "", 0
    try:
        module = {}
        exec(compile(text, name, "exec"), module)
        for test in [f for n, f in module.items() if n.startswith("test_")]:
            count += 1
            test()
    except Exception as error:
        said = " %s: %s" % (type(error).__name__, str(error).replace("\n", " "))
    print("%s %d%s" % (name, count, said))
`

// run gives what runTests says of each file, without those that pass.
func runPytest(t *testing.T, source string, files map[string]string) (failed map[string]string) {
	t.Helper()
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is missing: the files are not run")
	}
	input, err := json.Marshal(map[string]any{"store": source, "files": files})
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(interpreter, "-c", runTests)
	command.Stdin = strings.NewReader(string(input))
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	failed = map[string]string{}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(files) {
		t.Fatalf("%d files, %d lines:\n%s", len(files), len(lines), out)
	}
	for _, line := range lines {
		fields := strings.SplitN(line, " ", 3)
		if len(fields) > 2 {
			failed[fields[0]] = fields[2]
		}
		if fields[1] == "0" && len(fields) == 2 {
			failed[fields[0]] = "the file holds no test"
		}
	}
	return failed
}

func storeSource(t *testing.T, name, bug string) string {
	t.Helper()
	all, err := python.Mutants()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.Store == name && m.Name == bug {
			source, err := m.Apply()
			if err != nil {
				t.Fatal(err)
			}
			return source
		}
	}
	source, ok := python.Store(name)
	if !ok || bug != "" {
		t.Fatalf("no store %s with the bug %q", name, bug)
	}
	return source
}

// generated gives the pytest files of sequences of all profiles.
func generated(t *testing.T, variant string, each int) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, p := range gen.Profiles() {
		for i := range each {
			var s op.Sequence
			gen.Case(11, i, gen.Config{Profile: p.Name}, &s)
			trace := traces.Trace{Header: traces.Header{Slots: s.Slots, ObjectBytes: s.ObjectBytes, Model: variant}, Ops: s.Ops}
			text, err := Pytest(&trace, "mine")
			if err != nil {
				t.Fatalf("%s %d: %v", p.Name, i, err)
			}
			files[fmt.Sprintf("%s-%d", p.Name, i)] = text
		}
	}
	return files
}

// TestPytestFilesPassOnARightStore runs the files of hundreds of sequences, odd
// keys, refused constructors and closed stores among them.
func TestPytestFilesPassOnARightStore(t *testing.T) {
	for variant, each := range map[string]int{"main": 50, "free-queue": 10, "front-rotation": 10, "growing": 10, "release-0.33": 10} {
		files := generated(t, variant, each)
		for name, why := range runPytest(t, storeSource(t, variant, ""), files) {
			t.Errorf("%s, %s: %s\n%s", variant, name, why, files[name])
		}
	}
}

func TestPytestFilesFailOnABrokenStore(t *testing.T) {
	files := generated(t, "main", 10)
	for _, bug := range []string{"evict-newest-first", "get-does-not-touch", "put-hit-does-not-touch"} {
		if failed := runPytest(t, storeSource(t, "main", bug), files); len(failed) < 5 {
			t.Errorf("%s: %d of %d files fail", bug, len(failed), len(files))
		}
	}
	// A difference that only the order of evictions shows.
	trace := plainTrace(t, "free-queue", 2, 1, "put a=61 b=62 retain a", "put release a a")
	text, err := Pytest(&trace, "mine")
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{"order": text}
	if failed := runPytest(t, storeSource(t, "main", ""), files); !strings.Contains(failed["order"], "AssertionError") {
		t.Errorf("main passes as free-queue: %v", failed)
	}
	if failed := runPytest(t, storeSource(t, "free-queue", ""), files); len(failed) != 0 {
		t.Errorf("free-queue fails as itself: %v", failed)
	}
}

// TestPytestOfOddKeys: keys that Python would read otherwise than Go wrote them.
func TestPytestOfOddKeys(t *testing.T) {
	keys := []string{"", "\x00", "'", `"`, `\`, `\x41`, "\n", "é", "e\u0301", "\u2028", "\U0001f600", "\x7f", "{0}", "%s", "\ufffd", "fresh-0"}
	o := op.Op{Kind: op.Put}
	for _, key := range keys {
		o.Objects = append(o.Objects, op.Object{Key: key, Payload: []byte(`"`)})
		o.Retain = append(o.Retain, key)
	}
	trace := traces.Trace{
		Header: traces.Header{Slots: len(keys), ObjectBytes: 1, Note: "a note\nof two lines \x1b[31m"},
		Ops:    []op.Op{o, {Kind: op.Get, Keys: keys}, {Kind: op.Put, Release: keys}, {Kind: op.Put, Release: []string{"é"}}},
	}
	text, err := Pytest(&trace, "mine")
	if err != nil {
		t.Fatal(err)
	}
	if failed := runPytest(t, storeSource(t, "main", ""), map[string]string{"odd": text}); len(failed) != 0 {
		t.Errorf("%v\n%s", failed, text)
	}
	for _, r := range text {
		if r > '~' || r < ' ' && r != '\n' {
			t.Fatalf("the file holds %q", r)
		}
	}
}

func TestPytestRefusesAnUnknownModel(t *testing.T) {
	trace := plainTrace(t, "nonsense", 1, 1, "close")
	if _, err := Pytest(&trace, "mine"); err == nil {
		t.Error("a trace of an unknown model has a pytest file")
	}
}

// TestEveryOpHasItsShare fails while an op lacks its Python call.
func TestEveryOpHasItsShare(t *testing.T) {
	for kind := op.Kind(0); kind < op.NumKinds; kind++ {
		if calls[kind] == nil || !strings.Contains(calls[kind](&op.Op{Kind: kind}), op.Table[kind].Method+"(") {
			t.Errorf("%s has no Python call of %s", kind, op.Table[kind].Method)
		}
	}
}
