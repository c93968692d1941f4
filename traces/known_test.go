package traces

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const knownEntry = `{"fingerprint":"put/victims","store":"free-queue","why":"it says so","trace":"corpus/a.jsonl"}`

func TestBadKnown(t *testing.T) {
	file := func(entries string) string { return `{"diffstore_known":1,"entries":[` + entries + `]}` }
	var all strings.Builder
	for _, bad := range []struct{ name, input string }{
		{"empty file", ""},
		{"not UTF-8", "{\"\xff\":1}"},
		{"unknown version", `{"diffstore_known":2,"entries":[]}`},
		{"no version", `{"entries":[]}`},
		{"no entries", `{"diffstore_known":1}`},
		{"unknown field", `{"diffstore_known":1,"known":[]}`},
		{"trailing data", file("") + "\n\n  x"},
		{"unknown field of an entry", file("\n" + `{"finger":"x"}`)},
		{"no fingerprint", file("\n" + `{"store":"s","why":"w","trace":"t"}`)},
		{"no store", file("\n" + `{"fingerprint":"f","why":"w","trace":"t"}`)},
		{"no why", file("\n" + `{"fingerprint":"f","store":"s","why":"","trace":"t"}`)},
		{"no trace", file("\n" + `{"fingerprint":"f","store":"s","why":"w"}`)},
		{"absolute trace", file("\n" + `{"fingerprint":"f","store":"s","why":"w","trace":"/t"}`)},
		{"entry twice", file("\n" + knownEntry + ",\n " + knownEntry)},
	} {
		_, err := parseKnown([]byte(bad.input), "known.json")
		if err == nil {
			t.Errorf("%s: no error", bad.name)
			continue
		}
		fmt.Fprintf(&all, "%s\n\t%s\n", bad.name, oneLine(t, err))
	}
	golden(t, "bad_known", all.String())
}

func TestKnown(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "known.json")
	content := "{\n \"diffstore_known\": 1,\n \"entries\": [\n  " + knownEntry + "\n ]\n}\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKnown(path); err == nil || !strings.Contains(oneLine(t, err), "no such file or directory; save the trace there, or remove the entry") {
		t.Errorf("a reproducer that is not there gives %v", err)
	}
	reproducer := filepath.Join(dir, "corpus", "a.jsonl")
	if err := os.Mkdir(filepath.Dir(reproducer), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(reproducer, []byte(head), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := ReadKnown(path)
	if err != nil {
		t.Fatal(err)
	}
	want := Known{Fingerprint: "put/victims", Store: "free-queue", Why: "it says so", Trace: reproducer}
	if diff := cmp.Diff(KnownList{want}, list); diff != "" {
		t.Error(diff)
	}
	for _, ask := range []struct {
		fingerprint, store string
		found              bool
	}{
		{"put/victims", "free-queue", true},
		{"put/victims", "front-rotation", false},
		{"put/queue", "free-queue", false},
	} {
		known, found := list.Match(ask.fingerprint, ask.store)
		if found != ask.found || found && known != want {
			t.Errorf("Match(%q, %q) = %+v, %t", ask.fingerprint, ask.store, known, found)
		}
	}
	if _, err := ReadKnown(filepath.Join(dir, "absent.json")); err == nil || !strings.Contains(oneLine(t, err), "cannot open") {
		t.Errorf("an absent file gives %v", err)
	}
}

// TestDefaultKnown reads the file that comes with the project.
func TestDefaultKnown(t *testing.T) {
	if _, err := ReadKnown("known.json"); err != nil {
		t.Error(err)
	}
}
