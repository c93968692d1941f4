package traces

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFormatPage keeps docs/trace-format.md true: its traces are read and are
// canonical, its errors are the real ones, its tables name every field.
func TestFormatPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "trace-format.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	blocks := map[string][]string{}
	for _, block := range regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		blocks[block[1]] = append(blocks[block[1]], block[2])
	}
	if len(blocks["jsonl"]) == 0 || len(blocks["text"]) != 1 || len(blocks["json"]) != 1 {
		t.Fatalf("the page has %d traces, %d lists of errors and %d known files", len(blocks["jsonl"]), len(blocks["text"]), len(blocks["json"]))
	}
	for _, block := range blocks["jsonl"] {
		all, err := Read(strings.NewReader(block), "docs/trace-format.md")
		if err != nil {
			t.Error(err)
			continue
		}
		if got := written(t, all); string(got) != block {
			t.Errorf("an example is not canonical: %s", firstDifference([]byte(block), got))
		}
	}
	if _, err := parseKnown([]byte(blocks["json"][0]), "docs/trace-format.md"); err != nil {
		t.Error(err)
	}
	actual := map[string]bool{}
	for _, bad := range badTraces {
		_, err := Read(strings.NewReader(bad.input), "bad.jsonl")
		actual[err.Error()] = true
	}
	for line := range strings.Lines(blocks["text"][0]) {
		if !actual[strings.TrimSuffix(line, "\n")] {
			t.Errorf("no bad input gives the error %s", line)
		}
	}
	var names []string
	for _, table := range []string{
		fieldNames(lineFields), fieldNames(recordedFields), fieldNames(wantFields), fieldNames(errorFields),
		fieldNames(knownFields),
	} {
		names = append(names, strings.Split(table, ", ")...)
	}
	for _, name := range names {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page does not name the field %s", name)
		}
	}
}
