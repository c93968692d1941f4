package python

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sebdah/goldie/v2"
)

// interpreter finds the Python that the tests run, or skips the test.
func interpreter(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on PATH: what Python makes of the sources is not tested")
	}
	return path
}

func TestStoresShowWhatTheyAreFor(t *testing.T) {
	python := interpreter(t)
	var all strings.Builder
	for _, name := range StoreNames() {
		source, ok := Store(name)
		if !ok {
			t.Fatalf("%s is listed but not embedded", name)
		}
		file := filepath.Join(t.TempDir(), "store.py")
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"testdata/show.py", file}
		if name == "main" {
			args = append(args, "../testdata/upstream")
		}
		out, err := exec.Command(python, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		fmt.Fprintf(&all, "== %s\n%s", name, out)
	}
	goldie.New(t, goldie.WithFixtureDir("testdata/golden")).Assert(t, "stores", []byte(all.String()))
}

func TestStoreNames(t *testing.T) {
	edited, err := editedStores()
	if err != nil {
		t.Fatal(err)
	}
	names := StoreNames()
	if len(names) != len(storeFiles)+len(edited) || names[0] != "main" {
		t.Errorf("the names are %q, expected one a file and one an edited store, main first", names)
	}
	for _, name := range names {
		if source, ok := Store(name); !ok || source == "" {
			t.Errorf("there is no store %s", name)
		}
	}
	for _, store := range edited {
		if _, err := store.Apply(); err != nil {
			t.Error(err)
		}
	}
	for _, unknown := range []string{"", "Main", "stores/main.py", "free_queue"} {
		if source, ok := Store(unknown); ok || source != "" {
			t.Errorf("Store(%q) is a store", unknown)
		}
	}
}

func TestOracleServerIsOnePythonFile(t *testing.T) {
	if source := OracleServer(); !strings.HasPrefix(source, "#!") || !strings.Contains(source, "\nimport ") {
		t.Errorf("the oracle server starts with %.40q, expected a Python script", source)
	}
}
