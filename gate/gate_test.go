package gate

import (
	"bytes"
	"context"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sebdah/goldie/v2"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/python"
)

// storeFile writes a planted bug, or the right store for no name, into a file.
func storeFile(t *testing.T, mutant string) (path, corpus string) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is missing: no store can be run")
	}
	source, _ := python.Store("main")
	if mutant != "" {
		mutants, err := python.Mutants()
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, m := range mutants {
			if m.Name == mutant {
				found = true
				if source, err = m.Apply(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !found {
			t.Fatalf("there is no mutant %s", mutant)
		}
	}
	// A short relative name, so that reports do not depend on where tests run.
	corpus, err := filepath.Abs(filepath.Join("..", "traces", "corpus"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	path = "store.py"
	if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	return path, corpus
}

func small(store string) Settings {
	s := Default()
	s.Oracle, s.Profiles, s.Sequences, s.Fresh = store, []string{"mixed"}, 60, 60
	return s
}

func run(t *testing.T, s Settings) *Result {
	t.Helper()
	g := &Gate{Settings: s, SeedFrom: "a commit", Workers: 1, Out: t.TempDir(), Options: oracle.Options{}}
	result, err := g.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	result.Repeat = "diffstore gate"
	return result
}

// changing are the parts of a report that differ from run to run.
var changing = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`sha256 [0-9a-f]+`), "sha256 HASH"},
	{regexp.MustCompile(`Python 3[0-9.]+`), "Python 3"},
	{regexp.MustCompile(`in \d+\.\d s \([0-9,]+ compared`), "in SECONDS (MANY compared"},
	{regexp.MustCompile(`\d+ evaluations, \d+\.\d s`), "MANY evaluations, SECONDS"},
	{regexp.MustCompile(`time="[0-9.]+"`), `time="SECONDS"`},
	{regexp.MustCompile(`\| \d+\.\d \|`), "| SECONDS |"},
	{regexp.MustCompile(`[^\s\x60"]*/((fuzz|replay)-[a-z-]+-(seed|trace))`), "OUT/$1"},
	{regexp.MustCompile(`replay [^\s\x60"]*/corpus/`), "replay corpus/"},
}

func steady(text string) []byte {
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.with)
	}
	return []byte(text)
}

func TestGateOnABrokenStore(t *testing.T) {
	golden, err := filepath.Abs("testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	store, corpus := storeFile(t, "evict-newest-first")
	s := small(store)
	s.Corpus = []string{corpus}
	s.Sequences, s.Fresh = 0, 0 // what they find hangs on the generators
	result := run(t, s)
	if result.Verdict != diff.Diverges {
		t.Fatalf("the gate's verdict on a broken store is %v", result.Verdict)
	}
	var junit bytes.Buffer
	if err := result.Document().JUnit(&junit); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(junit.Bytes(), new(struct{ XMLName xml.Name })); err != nil {
		t.Fatalf("the JUnit report is no XML: %v", err)
	}
	g := goldie.New(t, goldie.WithFixtureDir(golden))
	g.Assert(t, "broken.xml", steady(junit.String()))
	markdown := result.Document().Markdown()
	if len(markdown) >= 65536 {
		t.Errorf("the Markdown has %d characters", len(markdown))
	}
	g.Assert(t, "broken.md", steady(markdown))
	if _, err := result.JSON(); err != nil {
		t.Error(err)
	}
}

func TestGateFuzzesABrokenStore(t *testing.T) {
	store, _ := storeFile(t, "evict-newest-first")
	s := small(store)
	s.Rescan = "off"
	result := run(t, s)
	for _, stage := range result.Stages {
		if stage.Verdict != diff.Diverges {
			t.Errorf("%s: verdict %v on a broken store", stage.Name, stage.Verdict)
		}
	}
	for _, c := range result.Document().Cases {
		if !strings.Contains(c.Failure, "diffstore_trace") {
			t.Errorf("%s: the failure holds no reduced trace: %q", c.Name, c.Failure)
		}
	}
}

func TestGateOnARightStore(t *testing.T) {
	store, _ := storeFile(t, "")
	s := small(store)
	s.Base, s.Head, s.Claim = s.Oracle, "embedded:free-queue", "identical-until-error"
	result := run(t, s)
	if result.Verdict != diff.Agree {
		t.Fatalf("the gate's verdict on a right store is %v: %+v", result.Verdict, result.Stages)
	}
	var names []string
	for _, stage := range result.Stages {
		names = append(names, stage.Name)
	}
	want := "fuzz mixed seed 1, fuzz fresh seed 14694693554450435153, rescan, compare balanced, compare unbalanced"
	if got := strings.Join(names, ", "); got != want {
		t.Errorf("stages are %s, want %s", got, want)
	}
}

func TestRescanCanBeRequired(t *testing.T) {
	store, _ := storeFile(t, "")
	s := small(store)
	s.Sequences, s.Fresh, s.Rescan = 0, 0, "require"
	if verdict := run(t, s).Verdict; verdict != diff.Diverges {
		t.Errorf("main rescans, and the gate that requires otherwise says %v", verdict)
	}
	s.Oracle = "embedded:free-queue"
	if verdict := run(t, s).Verdict; verdict != diff.Agree {
		t.Errorf("free-queue does not rescan, and the gate says %v", verdict)
	}
}

func TestGateThatCannotRun(t *testing.T) {
	s := small(filepath.Join(t.TempDir(), "absent.py"))
	if verdict := run(t, s).Verdict; verdict != diff.Infrastructure {
		t.Errorf("a store that is not there gives %v", verdict)
	}
	s.Sequences, s.Fresh, s.Rescan = 0, 0, "off"
	if verdict := run(t, s).Verdict; verdict != diff.Infrastructure {
		t.Errorf("a gate of no stage gives %v", verdict)
	}
}

func TestABudgetSkips(t *testing.T) {
	store, _ := storeFile(t, "")
	s := small(store)
	g := &Gate{Settings: s, Workers: 1, Out: t.TempDir(), Duration: 1}
	result, err := g.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, stage := range result.Stages {
		if stage.Skipped == "" {
			t.Errorf("%s ran although the budget was spent", stage.Name)
		}
	}
	if result.Verdict != diff.Infrastructure {
		t.Errorf("a gate that skipped everything says %v", result.Verdict)
	}
}

func TestReadIsStrict(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"unknown field": {"{\n\"diffstore_gate\":1,\n\"sequence\":5}", `unknown field "sequence"`},
		"no version":    {`{"sequences":5}`, `"diffstore_gate" is 0`},
		"later version": {`{"diffstore_gate":2}`, `"diffstore_gate" is 2`},
		"wrong type":    {"{\"diffstore_gate\":1,\n\"sequences\":\"many\"}", ":2: json: cannot unmarshal string"},
		"broken":        {"{\"diffstore_gate\":1,\n", "unexpected EOF"},
		"two values":    {`{"diffstore_gate":1} {}`, "something stands behind"},
	} {
		path := filepath.Join(t.TempDir(), "diffstore.json")
		if err := os.WriteFile(path, []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Read(path)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", name, err, test.want)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "absent.json")); err == nil {
		t.Error("a settings file that is named and absent is no error")
	}
}

func TestCheckRefuses(t *testing.T) {
	for name, change := range map[string]func(*Settings){
		"profile": func(s *Settings) { s.Profiles = []string{"mixt"} },
		"model":   func(s *Settings) { s.Model = "mian" },
		"claim":   func(s *Settings) { s.Claim = "same" },
		"rescan":  func(s *Settings) { s.Rescan = "maybe" },
		"one":     func(s *Settings) { s.Head = "embedded" },
		"below":   func(s *Settings) { s.Fresh = -1 },
	} {
		s := Default()
		change(&s)
		if err := s.Check(); err == nil {
			t.Errorf("%s: settings that make no sense pass", name)
		}
	}
}
