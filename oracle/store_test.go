package oracle

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/python"
)

func TestAStoreThatCannotBeHeld(t *testing.T) {
	needPython(t)
	whole := spoiled(t)
	for name, c := range map[string]struct {
		source, class, kind, says string
	}{
		"syntax error":        {spoiled(t, atImport, atImport+"def broken(:\n"), "", "import", "store.py does not import: SyntaxError: invalid syntax at line 9"},
		"needs torch":         {spoiled(t, atImport, atImport+"import torch_that_is_not_there\n"), "", "import", "does not import: ModuleNotFoundError: No module named 'torch_that_is_not_there' at line 9"},
		"exits at import":     {spoiled(t, atImport, atImport+"raise SystemExit(5)\n"), "", "import", "does not import: SystemExit: 5 at line 9"},
		"dies at import":      {spoiled(t, atImport, atImport+"import os\nos._exit(5)\n"), "", "death", "it ended before its hello"},
		"not text":            {"\xff\xfe", "", "import", "cannot read"},
		"no class":            {strings.ReplaceAll(whole, "class BlockObjectStore:", "class Store:"), "", "class", "has no class BlockObjectStore or ShmBlockObjectStore or InProcessArtifactStore; it has BlockObject, BlockObjectStoreError, Store"},
		"no such class":       {whole, "Nope", "class", "has no class Nope; it has BlockObject, BlockObjectStore, BlockObjectStoreError"},
		"no method":           {strings.ReplaceAll(whole, "def get_concatenated", "def get"), "", "class", "class BlockObjectStore has no method get_concatenated"},
		"another constructor": {strings.ReplaceAll(whole, "*, max_bytes, object_nbytes)", "*, capacity)"), "", "constructor", "class BlockObjectStore has another constructor: missing a required argument: 'capacity'; expected (max_bytes=, object_nbytes=)"},
		"another put":         {strings.ReplaceAll(whole, "retain_keys=(), release_keys=())", "retain=())"), "", "constructor", "BlockObjectStore.put has another signature"},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, "store.py", c.source)
			spec := path
			if c.class != "" {
				spec += ":" + c.class
			}
			_, err := Open(resolve(t, spec, Options{}), Ask{})
			wantFault(t, err, c.kind, c.says)
		})
	}
}

// wantFault checks that an error is one clear line of a kind.
func wantFault(t testing.TB, err error, kind, says string) {
	t.Helper()
	var fault *Fault
	if !errors.As(err, &fault) {
		t.Fatalf("error %v, want a fault of kind %s", err, kind)
	}
	line := fault.Error()
	if fault.Kind != kind || !strings.Contains(line, says) || strings.ContainsAny(line, "\n\x1b") {
		t.Errorf("fault of kind %s: %q\nwant kind %s and one line with %q", fault.Kind, line, kind, says)
	}
	if verdict, _ := diff.Conclude(&diff.Result{}, err, nil); verdict != diff.Infrastructure {
		t.Errorf("verdict %v, want %v", verdict, diff.Infrastructure)
	}
}

// touchy is a sequence that calls put, get and close, with an op behind each.
var touchy = []op.Sequence{{Slots: 2, ObjectBytes: 2, Ops: []op.Op{
	{Kind: op.Put, Objects: []op.Object{{Key: "a", Payload: []byte("aa")}}, Retain: []string{"a"}},
	{Kind: op.Get, Keys: []string{"a"}},
	{Kind: op.Put, Release: []string{"a"}},
	{Kind: op.Close},
}}}

// TestAStoreThatDoesOddThings holds stores that do what a store should not. The
// ones that only make noise behave like the model; the others show what they did.
func TestAStoreThatDoesOddThings(t *testing.T) {
	needPython(t)
	for name, c := range map[string]struct {
		source string
		step   int // the op that shows it; -1: it behaves like the model
		kind   op.ErrorKind
		typ    string
	}{
		"prints at import":    {spoiled(t, atImport, atImport+"import os\nprint('noise')\nos.write(1, b'noise')\n"), -1, 0, ""},
		"prints in put":       {spoiled(t, inPut, "        import sys\n        print('noise')\n        sys.__stdout__.write('x' * 100000)\n        sys.__stdout__.flush()\n"+inPut), -1, 0, ""},
		"reads its input":     {spoiled(t, inPut, "        import os, sys\n        assert sys.stdin.read() == '' and os.read(0, 10) == b''\n"+inPut), -1, 0, ""},
		"gives a bytearray":   {spoiled(t, getGives, "        return bytearray(payload)\n"), -1, 0, ""},
		"gives None":          {spoiled(t, getGives, "        return None\n"), 1, op.NoError, ""},
		"gives text":          {spoiled(t, getGives, "        return 'aa'\n"), 1, op.OtherError, "not bytes"},
		"gives an error":      {spoiled(t, getGives, "        return ('key', 'KeyError', 'a', 'a')\n"), 1, op.OtherError, "not bytes"},
		"exits":               {spoiled(t, inPut, "        raise SystemExit(3)\n"+inPut), 0, op.OtherError, "SystemExit"},
		"is interrupted":      {spoiled(t, inPut, "        raise KeyboardInterrupt\n"+inPut), 0, op.OtherError, "KeyboardInterrupt"},
		"raises without text": {spoiled(t, inPut, "        class Mute(Exception):\n            def __str__(self):\n                raise ValueError\n        raise Mute\n"+inPut), 0, op.OtherError, "Mute"},
		"kills itself":        {spoiled(t, inGet, "        import os\n        os._exit(9)\n"+inGet), 1, op.CrashError, ""},
	} {
		wires := []string{WireMarshal}
		if strings.HasPrefix(name, "gives") {
			wires = append(wires, WireJSON)
		}
		for _, wire := range wires {
			t.Run(name+"/"+wire, func(t *testing.T) {
				launch, err := Source(name, c.source, Options{Wire: wire, OpTimeout: 30 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				runs, _ := show(t, launch, Ask{}, touchy)
				want := modelled(t, "main", touchy)
				if c.step < 0 {
					sameRuns(t, touchy, want, runs, diff.Options{Strict: true, Text: true})
					return
				}
				d := diff.Compare(&touchy[0], &want[0], &runs[0], diff.Options{Strict: true})
				if d == nil || d.Step != c.step || d.Field != diff.FieldOutcome || d.Right.Outcome.Kind() != c.kind {
					t.Fatalf("divergence %+v, want one at op %d of kind %v", d, c.step, c.kind)
				}
				if c.typ != "" && d.Right.Outcome.Err.Type != c.typ {
					t.Errorf("error type %q, want %q", d.Right.Outcome.Err.Type, c.typ)
				}
			})
		}
	}
}

func TestAStoreThatLoopsForEver(t *testing.T) {
	needPython(t)
	launch, err := Source("loops", spoiled(t, inGet, "        while True:\n            pass\n"+inGet), Options{OpTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	runs, o := show(t, launch, Ask{}, touchy)
	steps := runs[0].Steps
	if len(steps) != 2 || steps[1].Outcome.Kind() != op.HangError || len(o.Incidents()) != 0 {
		t.Errorf("%d steps, the last %+v, incidents %v; want a hang at op 1", len(steps), steps[len(steps)-1].Outcome.Err, o.Incidents())
	}
}

// TestStateThatNoWireCarries holds stores whose attributes turn strange once they
// are under way: it is said of which step, and nothing is guessed.
func TestStateThatNoWireCarries(t *testing.T) {
	needPython(t)
	for name, c := range map[string]struct{ becomes, says string }{
		"a key that is a number":    {"self._order[7] = 0", "stored key is no text"},
		"a key that is an object":   {"self._order[object()] = 0", ""},
		"a slot that is None":       {"self._order['x'] = None", "a slot is no integer"},
		"a slot that is an object":  {"self._order['x'] = object()", "a slot is no integer"},
		"a slot beyond 64 bits":     {"self._order['x'] = 1 << 80", "a number is no integer of 64 bits"},
		"references as a list":      {"self._counts = []", ""},
		"a count that is a text":    {"self._counts['x'] = 'many'", "a reference count is no integer"},
		"half a character as a key": {"self._order['\\ud800'] = 0", ""},
	} {
		for _, wire := range []string{WireMarshal, WireJSON} {
			t.Run(name+"/"+wire, func(t *testing.T) {
				source := spoiled(t, getGives, "        "+c.becomes+"\n"+getGives)
				launch, err := Source(name, source, Options{Wire: wire, OpTimeout: 30 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				o, err := Open(launch, Ask{})
				if err != nil {
					t.Fatal(err)
				}
				defer o.Close()
				if err := o.Submit(touchy); err != nil {
					t.Fatal(err)
				}
				runs := make([]op.Run, 1)
				if err := op.Collect(o, runs); err != nil {
					wantFault(t, err, "protocol", c.says)
					return
				}
				// What can be written in some way must show as a difference.
				want := modelled(t, "main", touchy)
				if d := diff.Compare(&touchy[0], &want[0], &runs[0], diff.Options{}); d == nil || d.Step != 1 {
					t.Errorf("divergence %+v, want one at op 1", d)
				}
			})
		}
	}
}

func TestPythonThatIsMissing(t *testing.T) {
	t.Setenv("PATH", "")
	_, err := Resolve("embedded", Options{})
	wantFault(t, err, "python", "python3 and python not found; install Python 3.9 or newer")
	_, err = Resolve("embedded", Options{Python: "python9"})
	wantFault(t, err, "python", "python9 not found")
}

// script writes an executable shell script.
func script(t *testing.T, text string) string {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell")
	}
	path := writeFile(t, "interpreter", "#!/bin/sh\n"+text)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPythonThatIsTooOld runs the server in interpreters that give themselves out
// as old ones: one that still reads it, and one that does not.
func TestPythonThatIsTooOld(t *testing.T) {
	interpreter := needPython(t)
	old := script(t, `exec "`+interpreter+`" -c 'import sys
sys.version_info = (3, 8, 18, "final", 0)
exec(compile(sys.argv[1], "oracle", "exec"), {"__name__": "__main__"})' "$2"`+"\n")
	_, err := Open(resolve(t, "embedded", Options{Python: old}), Ask{})
	wantFault(t, err, "python", "Python 3.8 is too old: the oracle needs 3.9 or newer")
	older := script(t, "echo 'SyntaxError: invalid syntax' >&2\nexit 1\n")
	_, err = Open(resolve(t, "embedded", Options{Python: older}), Ask{})
	wantFault(t, err, "python", "it ended before its hello: SyntaxError: invalid syntax; is it Python 3.9 or newer?")
	notPython := script(t, "exit 0\n")
	_, err = Open(resolve(t, "embedded", Options{Python: notPython}), Ask{})
	wantFault(t, err, "death", "it ended before its hello")
}

// TestClassNames finds the store under each of its names, and under one that is given.
func TestClassNames(t *testing.T) {
	needPython(t)
	batch := generated("mixed", 10)
	want := modelled(t, "main", batch)
	for _, name := range []string{"BlockObjectStore", "ShmBlockObjectStore", "InProcessArtifactStore", "Mine"} {
		t.Run(name, func(t *testing.T) {
			source := strings.ReplaceAll(spoiled(t), "class BlockObjectStore:", "class "+name+":")
			source = strings.ReplaceAll(source, "class BlockObject:", "class ArtifactObject:")
			path := writeFile(t, "a store.py", source)
			spec := path
			if name == "Mine" {
				spec += ":Mine"
			}
			runs, o := show(t, resolve(t, spec, Options{}), Ask{}, batch)
			sameRuns(t, batch, want, runs, diff.Options{Strict: true})
			if id := o.Identity(); id.Class != name || id.Path != path || id.SHA256 != hash([]byte(source)) || id.Name != spec || id.Python == "" {
				t.Errorf("identity %+v", id)
			}
		})
	}
}

// TestWiresGiveTheSame compares the runs of one store by both wires, whole.
func TestWiresGiveTheSame(t *testing.T) {
	needPython(t)
	batch := generated("mixed", 300)
	var runs [2][]op.Run
	for i, wire := range []string{WireMarshal, WireJSON} {
		runs[i], _ = show(t, resolve(t, "embedded", Options{Wire: wire}), Ask{}, batch)
	}
	for i := range batch {
		if !reflect.DeepEqual(runs[0][i], runs[1][i]) {
			t.Fatalf("sequence %d differs:\n%+v\n%+v", i, runs[0][i], runs[1][i])
		}
	}
	sameRuns(t, batch, modelled(t, "main", batch), runs[0], diff.Options{Strict: true, Text: true})
}

// TestImportsOfTheSameTree holds a store in packages whose own code must not run,
// since it needs what is not there.
func TestImportsOfTheSameTree(t *testing.T) {
	needPython(t)
	root := t.TempDir()
	source := spoiled(t, atImport, atImport+"import framework.deep.helper\nfrom framework.deep import numbers as more\nfrom framework.logger import init_logger\nfrom . import helper\nfrom ..constants import NONE\n"+
		"init_logger(__name__).info('%s', framework.deep.helper.SLOT + more.ONE + helper.SLOT + NONE)\n")
	for name, text := range map[string]string{
		"framework/__init__.py":      "import a_framework_that_is_not_there\n",
		"framework/deep/__init__.py": "raise RuntimeError('the package ran')\n",
		"framework/logger.py":        "import a_framework_that_is_not_there\n",
		"framework/constants.py":     "NONE = -1\n",
		"framework/deep/helper.py":   "from framework.deep.numbers import ONE\nSLOT = -ONE\n",
		"framework/deep/numbers.py":  "ONE = 1\n",
		"framework/deep/store.py":    source,
		"alone/store.py":             spoiled(t, atImport, atImport+"from neighbour import NOTHING\n"),
		"alone/neighbour.py":         "NOTHING = -1\n",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	batch := generated("mixed", 10)
	want := modelled(t, "main", batch)
	for name, adapter := range map[string]string{
		"framework/deep/store.py": "order-with-slots without framework.logger",
		"alone/store.py":          "order-with-slots",
	} {
		runs, o := show(t, resolve(t, filepath.Join(root, filepath.FromSlash(name)), Options{}), Ask{}, batch)
		sameRuns(t, batch, want, runs, diff.Options{Strict: true})
		if got := o.Identity().Adapter; got != adapter {
			t.Errorf("%s: adapter %q, want %q", name, got, adapter)
		}
	}
}

// TestPythons runs the embedded stores in every Python there is.
func TestPythons(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip("needs a home folder")
	}
	batch := generated("mixed", 60)
	for _, version := range []string{"3.9", "3.10", "3.11", "3.12", "3.13", "3.14"} {
		t.Run(version, func(t *testing.T) {
			interpreter, err := exec.LookPath("python" + version)
			if installed, globErr := filepath.Glob(filepath.Join(home, ".pyenv", "versions", version+".*", "bin", "python")); globErr == nil && len(installed) > 0 {
				interpreter, err = installed[0], nil
			}
			if err != nil {
				t.Skipf("needs Python %s on the PATH or in pyenv", version)
			}
			for _, name := range python.StoreNames() {
				runs, o := show(t, resolve(t, "embedded:"+name, Options{Python: interpreter}), Ask{}, batch)
				sameRuns(t, batch, modelled(t, name, batch), runs, diff.Options{Strict: true, Unbounded: model.Grows(name)})
				if got := o.Identity().Python; !strings.HasPrefix(got, version+".") {
					t.Errorf("identity names Python %s, want %s", got, version)
				}
			}
		})
	}
}
