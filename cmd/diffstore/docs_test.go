package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/diffstore/diffstore/diff"
)

// A block of a page: what it is marked with, and its text.
type block struct {
	marks      []string
	text       string
	start, end int // of the text in the page
}

var fence = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")

func blocksOf(page string) (list []block) {
	for _, m := range fence.FindAllStringSubmatchIndex(page, -1) {
		list = append(list, block{marks: strings.Fields(page[m[2]:m[3]]), text: page[m[4]:m[5]], start: m[4], end: m[5]})
	}
	return list
}

func (b *block) is(mark string) bool { return slices.Contains(b.marks, mark) }

// exit is the code that a block ends with: 0, or that of exit=CODE.
func (b *block) exit(t *testing.T) int {
	for _, mark := range b.marks {
		if text, ok := strings.CutPrefix(mark, "exit="); ok {
			code, err := strconv.Atoi(text)
			if err != nil {
				t.Fatalf("the mark %s has no number", mark)
			}
			return code
		}
	}
	return 0
}

// network is what the environment lets a test fetch: nothing, what is small and
// on the package index (1), or everything (all).
var network = os.Getenv("DIFFSTORE_NETWORK")

// prelude stands before every block. Running and testing this module means the
// command and the tests that are running now.
const prelude = `set -e
go() {
	case "$1 $2" in
	"run ./cmd/diffstore") shift 2; diffstore "$@" ;;
	"install ./cmd/diffstore" | "test ./...") ;;
	*) command go "$@" ;;
	esac
}
`

// masks are the parts of an output that differ from run to run and from machine
// to machine.
var masks = []*regexp.Regexp{
	regexp.MustCompile(`[0-9.]+ s\b`), regexp.MustCompile(`[0-9,]+ compared ops/s`), regexp.MustCompile(`Python 3\.[0-9]+\.[0-9]+`),
	regexp.MustCompile(`sha256 [0-9a-f]+`), regexp.MustCompile(`[0-9,]+ evaluations`), regexp.MustCompile(`[0-9.]+ MiB`),
}

func masked(text string) string {
	for _, m := range masks {
		text = m.ReplaceAllString(text, "*")
	}
	return text
}

// TestEveryCommandOfThePagesRuns runs the sh blocks of README.md and docs in a
// copy of the repository, page by page. A block ends with 0 unless it is marked
// exit=CODE; one that is marked network needs DIFFSTORE_NETWORK=1, and one that
// is marked large, too, DIFFSTORE_NETWORK=all. Where a text block follows, it is
// what the command prints; -update writes it anew.
func TestEveryCommandOfThePagesRuns(t *testing.T) {
	interpreter, err := realPython()
	if err != nil {
		t.Skip("python3 is missing: the commands of the pages are not run")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(pages, filepath.Join(root, "README.md")) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			page, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			runPage(t, root, path, string(page), interpreter)
		})
	}
}

func runPage(t *testing.T, root, path, page, interpreter string) {
	blocks := blocksOf(page)
	if !slices.ContainsFunc(blocks, func(b block) bool { return b.is("sh") }) {
		return
	}
	dir := t.TempDir()
	for _, name := range []string{"testdata", "traces", "examples", "docs", "python", "op", "model"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(root, name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} { // so that parts of the module can be tested
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	renewed, shift := page, 0
	for i := range blocks {
		b := &blocks[i]
		if !b.is("sh") {
			continue
		}
		if b.is("network") && (network == "" || b.is("large") && network != "all") {
			t.Logf("needs the network, not run: %s", strings.TrimSpace(b.text))
			continue
		}
		out := runBlock(t, b, dir, interpreter)
		if i+1 == len(blocks) || !blocks[i+1].is("text") || strings.TrimSpace(page[b.end+len("```"):blocks[i+1].start-len("```text\n")]) != "" {
			continue
		}
		shown := &blocks[i+1]
		switch {
		case updating():
			renewed = renewed[:shown.start+shift] + out + renewed[shown.end+shift:]
			shift += len(out) - len(shown.text)
		case masked(out) != masked(shown.text):
			t.Errorf("%s shows\n%s\nbut the command prints\n%s", filepath.Base(path), shown.text, out)
		}
	}
	if renewed != page {
		if err := os.WriteFile(path, []byte(renewed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// runBlock runs a block in a shell and gives what it prints.
func runBlock(t *testing.T, b *block, dir, interpreter string) string {
	command := exec.CommandContext(t.Context(), "sh", "-c", prelude+b.text)
	command.Dir = dir
	command.Env = append(os.Environ(),
		"PATH="+filepath.Dir(interpreter)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"XDG_CACHE_HOME="+filepath.Join(dir, ".cache"), "NO_COLOR=1",
		// What a page says for a whole table is tried on one row.
		"STORES=vllm-tpu==0.32.0", "PYTHONS=python3", "PROFILES=production", "SEQUENCES=300", "MODEL=main")
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	err := command.Run()
	code := 0
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		code = ended.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if want := b.exit(t); code != want {
		t.Errorf("exit code %d, expected %d, of\n%s\n%s%s", code, want, b.text, out.String(), said.String())
	}
	return out.String()
}

// TestReadmeIsComplete: every command, every compared field and every verdict
// has its line in the tables of README.md.
func TestReadmeIsComplete(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for i := range commands {
		if !strings.Contains(page, "| `"+commands[i].name+"` |") {
			t.Errorf("the table of commands lacks %s", commands[i].name)
		}
	}
	for _, f := range diff.Fields {
		when := "always"
		if f.Strict {
			when = "`--strict`"
		} else if f.Field == diff.FieldHashes {
			when = "`--hash-bound`"
		}
		if row := fmt.Sprintf("| `%s` | %s | %s |\n", f.Field, f.Says, when); !strings.Contains(page, row) {
			t.Errorf("the table of what is compared lacks the row\n%s", row)
		}
	}
	for v := diff.Agree; v <= diff.Infrastructure; v++ {
		if !strings.Contains(page, fmt.Sprintf("| %d | %s | ", v, v)) {
			t.Errorf("the table of exit codes lacks %d, %s", v, v)
		}
	}
	for _, link := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(page, -1) {
		if strings.Contains(link[1], "://") {
			continue
		}
		if _, err := os.Stat(filepath.Join("..", "..", link[1])); err != nil {
			t.Errorf("README.md links to %s: %v", link[1], err)
		}
	}
}
