package python

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// compileAll reads a JSON object of named sources and prints what does not
// import or lacks a store, one a line.
const compileAll = `
import json, sys, types
for name, source in json.load(sys.stdin).items():
    module = types.ModuleType(name)
    sys.modules[name] = module
    try:
        exec(compile(source, name, "exec"), module.__dict__)
        store = module.BlockObjectStore(max_bytes=12, object_nbytes=4)
        store.put([module.BlockObject("a", b"aaaa")])
        store.close()
    except Exception as error:
        print(name, type(error).__name__, error)
`

func TestMutantsApplyAndImport(t *testing.T) {
	all, err := Mutants()
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for _, m := range all {
		source, err := m.Apply()
		if err != nil {
			t.Error(err)
			continue
		}
		if original, _ := Store(m.Store); source == original {
			t.Errorf("mutant %s is its store", m.Name)
		}
		for name, other := range sources {
			if source == other {
				t.Errorf("mutants %s and %s are the same", m.Name, name)
			}
		}
		sources[m.Name] = source
	}
	python := interpreter(t)
	input, err := json.Marshal(sources)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(python, "-c", compileAll)
	command.Stdin = strings.NewReader(string(input))
	out, err := command.CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("python3: %v\n%s", err, out)
	}
}

func TestMutantsCoverTheBehaviour(t *testing.T) {
	all, err := Mutants()
	if err != nil {
		t.Fatal(err)
	}
	observable, families, stores, issues := 0, map[string]int{}, map[string]int{}, map[string]bool{}
	for _, m := range all {
		if m.Equivalent != "" {
			continue
		}
		observable++
		families[m.Family]++
		stores[m.Store]++
		for _, issue := range m.Issues {
			issues[issue] = true
		}
	}
	if observable < 40 {
		t.Errorf("%d mutants can be observed, expected at least 40", observable)
	}
	for _, family := range Families() {
		if families[family] == 0 {
			t.Errorf("no mutant of family %s", family)
		}
	}
	for _, store := range []string{"main", "free-queue"} {
		if stores[store] == 0 {
			t.Errorf("no mutant of store %s", store)
		}
	}
	for _, issue := range []string{
		"vllm-project/vllm#35846", "vllm-project/vllm#42571", "ai-dynamo/dynamo#13398", "vllm-project/vllm#48489",
		"vllm-project/vllm#54284", "llm-d/llm-d-inference-sim#704", "sgl-project/sglang#26975",
	} {
		if !issues[issue] {
			t.Errorf("no mutant is the bug of %s", issue)
		}
	}
}

func TestParseMutants(t *testing.T) {
	const text = `# a comment
== one
store: main
# a comment between fields
says: This: that.
issue: a/b#1, c/d#2
needs: strict
equivalent: Because.
@@
 kept
-old
-
+new
@@
-gone

== two
store: free-queue
says: More.
@@
-x
+
`
	p := newMutantParser("main", "free-queue")
	if err := p.parse("order", "f.txt", text); err != nil {
		t.Fatal(err)
	}
	if err := p.parse("slots", "g.txt", "== three\nstore: main\nsays: S.\n@@\n-x\n"); err != nil {
		t.Fatal(err)
	}
	want := []Mutant{
		{
			Name: "one", Store: "main", Family: "order", Says: "This: that.", Issues: []string{"a/b#1", "c/d#2"},
			Strict: true, Equivalent: "Because.", File: "f.txt", Line: 2,
			Edits: []Edit{
				{Find: []string{"kept", "old", ""}, Replace: []string{"kept", "new"}, Line: 9},
				{Find: []string{"gone"}, Line: 14},
			},
		},
		{
			Name: "two", Store: "free-queue", Family: "order", Says: "More.", File: "f.txt", Line: 17,
			Edits: []Edit{{Find: []string{"x"}, Replace: []string{""}, Line: 20}},
		},
		{
			Name: "three", Store: "main", Family: "slots", Says: "S.", File: "g.txt", Line: 1,
			Edits: []Edit{{Find: []string{"x"}, Line: 4}},
		},
	}
	if diff := cmp.Diff(want, p.done); diff != "" {
		t.Errorf("read otherwise (-want +got):\n%s", diff)
	}
}

func TestParseMutantsSaysWhatIsWrong(t *testing.T) {
	const head = "== a\nstore: main\nsays: S.\n"
	for _, test := range []struct{ text, want string }{
		{"store: main\n", "f.txt:1: expected a mutant (== NAME)"},
		{"== \n", `f.txt:1: a mutant's name is one word, found ""`},
		{"== a b\n", "f.txt:1: a mutant's name is one word"},
		{"== a\nsays: S.\n@@\n-x\n", `f.txt:1: mutant a has no field "store"`},
		{"== a\nstore: main\n@@\n-x\n", `mutant a has no field "says"`},
		{"== a\nstore: old\n", `f.txt:2: unknown store "old": expected one of main, free-queue`},
		{"== a\nsays: \n", `f.txt:2: expected a field (name: value) or an edit (@@), found "says: "`},
		{"== a\nsays: S.\nsays: S.\n", `f.txt:3: mutant a has a second field "says"`},
		{"== a\nauthor: me\n", `f.txt:2: unknown field "author"`},
		{"== a\nneeds: luck\n", `f.txt:2: unknown need "luck"`},
		{head, "f.txt:1: mutant a has no edit"},
		{head + "== b\n", "f.txt:1: mutant a has no edit"},
		{head + "@@\nx\n", `f.txt:5: expected a line of an edit with a blank, - or + in front, found "x"`},
		{head + "@@\n", "f.txt:4: mutant a: this edit says not where"},
		{head + "@@\n+x\n", "f.txt:4: mutant a: this edit says not where"},
		{head + "@@\n x\n", "f.txt:4: mutant a: this edit changes nothing"},
		{head + "@@\n-x\n== a\n", "f.txt:6: the name a is taken by the mutant at f.txt:1"},
	} {
		err := newMutantParser("main", "free-queue").parse("order", "f.txt", test.text)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v, want one with %q", test.text, err, test.want)
		}
	}
}

func TestApplySaysWhatIsWrong(t *testing.T) {
	once := Edit{Find: []string{"import mmap"}, Line: 5}
	for _, test := range []struct {
		mutant Mutant
		want   string
	}{
		{Mutant{Name: "m", Store: "old", File: "f.txt", Line: 3}, `f.txt:3: mutant m: unknown store "old"`},
		{
			Mutant{Name: "m", Store: "main", File: "f.txt", Edits: []Edit{{Find: []string{"import"}, Line: 4}}},
			"f.txt:4: mutant m: the lines of this edit stand in store main 0 times, expected once",
		},
		{
			Mutant{Name: "m", Store: "main", File: "f.txt", Edits: []Edit{{Find: []string{"        self._check_open()"}, Line: 4}}},
			"stand in store main 2 times, expected once",
		},
		{
			Mutant{Name: "m", Store: "main", File: "f.txt", Edits: []Edit{once, {Find: once.Find, Line: 9}}},
			"f.txt:9: mutant m: this edit overlaps another",
		},
	} {
		_, err := test.mutant.Apply()
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want one with %q", err, test.want)
		}
	}
}

func TestApplyMakesEditsTogether(t *testing.T) {
	source, err := Mutant{Store: "main", Edits: []Edit{
		{Find: []string{"NO_SLOT = -1"}, Replace: []string{"import mmap", "NO_SLOT = -2"}},
		{Find: []string{"import mmap"}, Replace: []string{"NO_SLOT = -1"}},
	}}.Apply()
	if err != nil {
		t.Fatal(err)
	}
	original, _ := Store("main")
	want := strings.NewReplacer("import mmap\n", "NO_SLOT = -1\n", "NO_SLOT = -1\n", "import mmap\nNO_SLOT = -2\n").Replace(original)
	if source != want {
		t.Errorf("the edits saw each other's lines:\n%s", cmp.Diff(want, source))
	}
}
