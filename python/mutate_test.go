package python

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/sebdah/goldie/v2"
)

// made is one mutant as the script writes it.
type made struct {
	Operator string
	Line     int
	Change   string
	Source   string
}

// mutate runs the script on a source.
func mutate(t *testing.T, source string, args ...string) ([]made, error) {
	t.Helper()
	command := exec.Command(interpreter(t), append([]string{"-c", Mutator()}, args...)...)
	command.Stdin = strings.NewReader(source)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, complaint.String())
	}
	var list []made
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatal(err)
	}
	return list, nil
}

func TestMutate(t *testing.T) {
	text, err := os.ReadFile("testdata/mutate/store.py")
	if err != nil {
		t.Fatal(err)
	}
	source := string(text)
	list, err := mutate(t, source)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(source, "\n")
	var all strings.Builder
	names, sources := map[string]bool{}, map[string]bool{}
	for _, m := range list {
		name := fmt.Sprintf("%d %s", m.Line, m.Change)
		fmt.Fprintf(&all, "%d %s: %s | %s\n", m.Line, m.Operator, m.Change, strings.TrimSpace(lines[m.Line-1]))
		if names[name] || sources[m.Source] {
			t.Errorf("there are two of %s", name)
		}
		names[name], sources[m.Source] = true, true
		for _, kept := range []string{"UNUSED = 7\n", "return UNUSED + 1", "return len(objects) - 1", "Text is left alone: 1 + 1.", "'list[1]'", "'1 < 2'"} {
			if !strings.Contains(m.Source, kept) {
				t.Errorf("%s touches %q", name, kept)
			}
		}
	}
	goldie.New(t, goldie.WithFixtureDir("testdata/golden")).Assert(t, "mutate", []byte(all.String()))
	again, err := mutate(t, source, "BlockObjectStore")
	if err != nil || len(again) != len(list) {
		t.Errorf("%d mutants of the class by its name, %v", len(again), err)
	}
	if list, err := mutate(t, source, "Background"); err != nil || len(list) == 0 || list[0].Line < 19 || list[len(list)-1].Line > 23 {
		t.Errorf("%d mutants of another class, %v", len(list), err)
	}
}

func TestMutateRefuses(t *testing.T) {
	for _, c := range []struct{ source, class, want string }{
		{"class Store:\n    pass\n", "", "no class BlockObjectStore or"},
		{"class Store:\n    pass\n", "Other", "no class Other"},
		{"class Store(\n", "Store", "SyntaxError"},
	} {
		var args []string
		if c.class != "" {
			args = []string{c.class}
		}
		if _, err := mutate(t, c.source, args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, expected %q", c.source, err, c.want)
		}
	}
}
