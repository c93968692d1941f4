package traces

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sebdah/goldie/v2"

	"github.com/diffstore/diffstore/op"
)

const (
	head      = `{"diffstore_trace":1,"slots":2,"object_nbytes":4}` + "\n"
	wantStart = head + `{"get":["a"],"want":{"payload":"61",`
)

// badTraces is one input for each way a trace file can be wrong.
var badTraces = []struct{ name, input string }{
	{"empty file", ""},
	{"blank line", head + "\n" + `{"close":true}` + "\n"},
	{"line of blanks", head + " \t\r\n"},
	{"op before a header", `{"close":true}` + "\n"},
	{"truncated last line", head + `{"put":[["a","61`},
	{"truncated in a word", head + `{"close":tr`},
	{"broken line with a newline", head + `{"put":[["a","61` + "\n"},
	{"not an object", head + "[]\n"},
	{"byte-order mark", "\ufeff" + head},
	{"not UTF-8", head + "{\"get\":[\"a\xff\"]}\n"},
	{"cut UTF-8", head + "{\"get\":[\"a\xf0\x9f\"]}\n"},
	{"high surrogate alone", head + `{"get":["\ud83d"]}` + "\n"},
	{"low surrogate alone", head + `{"get":["\ude00"]}` + "\n"},
	{"surrogate and another character", head + `{"get":["\ud83d\u0041"]}` + "\n"},
	{"bad escape", head + `{"get":["\x41"]}` + "\n"},
	{"bad unicode escape", head + `{"get":["\u00g1"]}` + "\n"},
	{"raw control character", head + "{\"get\":[\"a\tb\"]}\n"},
	{"trailing data", head + `{"close":true}{}` + "\n"},
	{"trailing comma", head + `{"get":["a",]}` + "\n"},
	{"no comma", head + `{"get":["a" "b"]}` + "\n"},
	{"no colon", head + `{"get"["a"]}` + "\n"},
	{"unquoted name", head + `{get:["a"]}` + "\n"},

	{"unknown version", `{"diffstore_trace":2,"slots":2,"capacity":4}` + "\n"},
	{"version as text", `{"diffstore_trace":"1","slots":2,"object_nbytes":4}` + "\n"},
	{"header without version", `{"slots":2,"object_nbytes":4}` + "\n"},
	{"header without slots", `{"diffstore_trace":1,"object_nbytes":4}` + "\n"},
	{"header without object_nbytes", `{"diffstore_trace":1,"slots":2}` + "\n"},
	{"slots out of bounds", `{"diffstore_trace":1,"slots":1099511627777,"object_nbytes":4}` + "\n"},
	{"slots beyond 64 bits", `{"diffstore_trace":1,"slots":-99999999999999999999,"object_nbytes":4}` + "\n"},
	{"slots with a point", `{"diffstore_trace":1,"slots":2.0,"object_nbytes":4}` + "\n"},
	{"slots with an exponent", `{"diffstore_trace":1,"slots":2e1,"object_nbytes":4}` + "\n"},
	{"slots with a leading zero", `{"diffstore_trace":1,"slots":02,"object_nbytes":4}` + "\n"},
	{"null for a number", `{"diffstore_trace":1,"slots":null,"object_nbytes":4}` + "\n"},
	{"negative case", `{"diffstore_trace":1,"slots":2,"object_nbytes":4,"case":-1}` + "\n"},
	{"seed as a number", `{"diffstore_trace":1,"slots":2,"object_nbytes":4,"seed":7}` + "\n"},
	{"unknown field of recorded", `{"diffstore_trace":1,"slots":2,"object_nbytes":4,"recorded":{"branch":"x"}}` + "\n"},
	{"header with an op", `{"diffstore_trace":1,"slots":2,"object_nbytes":4,"close":true}` + "\n"},
	{"header with a want", `{"diffstore_trace":1,"slots":2,"object_nbytes":4,"want":{"victims":[],"stored":[],"queue":[],"refs":{}}}` + "\n"},
	{"want_construct with a key", `{"diffstore_trace":1,"slots":2,"object_nbytes":0,"want_construct":{"kind":"argument","type":"ValueError","message":"","key":""}}` + "\n"},

	{"unknown field", head + `{"puts":[]}` + "\n"},
	{"field in another case", head + `{"Put":[]}` + "\n"},
	{"long unknown field", head + `{"` + strings.Repeat("é", 60) + `":[]}` + "\n"},
	{"field twice", head + `{"get":["a"],"get":["b"]}` + "\n"},
	{"field twice by an escape", head + `{"get":["a"],"g\u0065t":["b"]}` + "\n"},
	{"no operation", head + `{}` + "\n"},
	{"want alone", head + `{"want":{"victims":[],"stored":[],"queue":[],"refs":{}}}` + "\n"},
	{"get with put", head + `{"get":["a"],"put":[]}` + "\n"},
	{"close with release", head + `{"close":true,"release":["a"]}` + "\n"},
	{"close with get", head + `{"close":true,"get":[]}` + "\n"},
	{"close false", head + `{"close":false}` + "\n"},
	{"null for a list", head + `{"get":null}` + "\n"},
	{"key as a number", head + `{"get":[1]}` + "\n"},
	{"object of one part", head + `{"put":[["a"]]}` + "\n"},
	{"object of no part", head + `{"put":[[]]}` + "\n"},
	{"object of three parts", head + `{"put":[["a","61","62"]]}` + "\n"},
	{"objects by name", head + `{"put":{"a":"61"}}` + "\n"},
	{"upper-case hex", head + `{"put":[["a","6A"]]}` + "\n"},
	{"odd hex", head + `{"put":[["a","616"]]}` + "\n"},
	{"not hex", head + `{"put":[["a","zz"]]}` + "\n"},

	{"want without victims", wantStart + `"stored":[],"queue":[],"refs":{}}}` + "\n"},
	{"want without stored", wantStart + `"victims":[],"queue":[],"refs":{}}}` + "\n"},
	{"want without queue", wantStart + `"victims":[],"stored":[],"refs":{}}}` + "\n"},
	{"want without refs", wantStart + `"victims":[],"stored":[],"queue":[]}}` + "\n"},
	{"want with slots alone", wantStart + `"victims":[],"stored":[],"queue":[],"refs":{},"slots":{}}}` + "\n"},
	{"want without next", wantStart + `"victims":[],"stored":[],"queue":[],"refs":{},"slots":{},"free":[]}}` + "\n"},
	{"unknown field of want", wantStart + `"victim":[]}}` + "\n"},
	{"stored twice", wantStart + `"victims":[],"stored":["a","a"],"queue":[],"refs":{}}}` + "\n"},
	{"slot of a key that is not stored", wantStart + `"victims":[],"stored":[],"queue":[],"refs":{},"slots":{"a":0},"free":[],"next":1}}` + "\n"},
	{"stored key without a slot", wantStart + `"victims":[],"stored":["a"],"queue":[],"refs":{},"slots":{},"free":[],"next":1}}` + "\n"},
	{"slot below -1", wantStart + `"victims":[],"stored":["a"],"queue":[],"refs":{},"slots":{"a":-2},"free":[],"next":1}}` + "\n"},
	{"refs twice", wantStart + `"victims":[],"stored":[],"queue":[],"refs":{"a":1,"a":2}}}` + "\n"},
	{"payload of a put", head + `{"put":[],"want":{"payload":"","victims":[],"stored":[],"queue":[],"refs":{}}}` + "\n"},
	{"get without payload", head + `{"get":[],"want":{"victims":[],"stored":[],"queue":[],"refs":{}}}` + "\n"},
	{"payload and error", wantStart + `"error":{"kind":"closed","type":"","message":""},"victims":[],"stored":[],"queue":[],"refs":{}}}` + "\n"},
	{"unknown error kind", head + `{"close":true,"want":{"error":{"kind":"value","type":"","message":""},"victims":[],"stored":[],"queue":[],"refs":{}}}` + "\n"},
	{"error kind none", head + `{"close":true,"want":{"error":{"kind":"none","type":"","message":""},"victims":[],"stored":[],"queue":[],"refs":{}}}` + "\n"},
	{"error without kind", head + `{"close":true,"want":{"error":{"type":"","message":""},"victims":[],"stored":[],"queue":[],"refs":{}}}` + "\n"},
	{"error without message", head + `{"close":true,"want":{"error":{"kind":"closed","type":""},"victims":[],"stored":[],"queue":[],"refs":{}}}` + "\n"},
	{"KeyError without key", head + `{"release":["a"],"want":{"error":{"kind":"key","type":"KeyError","message":"'a'"},"victims":[],"stored":[],"queue":[],"refs":{}}}` + "\n"},
	{"key of another error", head + `{"release":["a"],"want":{"error":{"kind":"size","type":"IndexError","message":"","key":"a"},"victims":[],"stored":[],"queue":[],"refs":{}}}` + "\n"},
}

// oneLine checks what every error of this package promises, and gives its text.
func oneLine(t *testing.T, err error) string {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%v (%T) is not an *Error", err, err)
	}
	if e.File == "" || e.What == "" || e.Mend == "" || strings.ContainsAny(err.Error(), "\n\r") {
		t.Errorf("the error is not whole or not one line: %#v", e)
	}
	return err.Error()
}

func TestBadTraces(t *testing.T) {
	var all strings.Builder
	for _, bad := range badTraces {
		_, err := Read(strings.NewReader(bad.input), "bad.jsonl")
		if err == nil {
			t.Errorf("%s: no error", bad.name)
			continue
		}
		fmt.Fprintf(&all, "%s\n\t%s\n", bad.name, oneLine(t, err))
	}
	golden(t, "bad_traces", all.String())
}

func golden(t *testing.T, name, text string) {
	t.Helper()
	goldie.New(t, goldie.WithFixtureDir("testdata/golden"), goldie.WithNameSuffix(".golden")).Assert(t, name, []byte(text))
}

// TestBounds goes one above each bound. The place of the error shows that the
// bound itself was still taken.
func TestBounds(t *testing.T) {
	read := func(text string) error {
		_, err := Read(strings.NewReader(text), "bad.jsonl")
		return err
	}
	for _, bound := range []struct {
		name string
		err  error
		want string
	}{
		{
			"line", read(head + `{"get":["` + strings.Repeat("k", MaxLine-len(`{"get":[""]}`)) + `"]}` + "\n" + strings.Repeat(" ", MaxLine+1) + "\n"),
			"bad.jsonl:3: the line is longer than 16777216 bytes; split the operation into several",
		},
		{
			"list", read(head + `{"get":["` + strings.Repeat(`","`, MaxList) + `"]}` + "\n"),
			"bad.jsonl:2: column 3145737: more than 1048576 entries in one list; split the operation into several",
		},
		{
			"ops", func() error {
				s := &scanner{
					name: "bad.jsonl", r: bufio.NewReader(strings.NewReader(strings.Repeat("{\"close\":true}\n", 2))),
					number: MaxOps, header: &Trace{Ops: make([]op.Op, MaxOps-1)},
				}
				_, err := s.next()
				return err
			}(),
			"bad.jsonl:1048578: more than 1048576 operations in one trace; split the trace",
		},
		{
			"traces", read(strings.Repeat(head, MaxTraces+1)),
			"bad.jsonl:262145: more than 262144 traces in one file; split the file",
		},
	} {
		if bound.err == nil || oneLine(t, bound.err) != bound.want {
			t.Errorf("%s: one above the bound gives %v, want %s", bound.name, bound.err, bound.want)
		}
	}
}

func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	var whole bytes.Buffer
	zip := gzip.NewWriter(&whole)
	zip.Write([]byte(head + strings.Repeat("{\"close\":true}\n", 100)))
	zip.Close()
	damaged := append([]byte(nil), whole.Bytes()...)
	damaged[len(damaged)-6] ^= 1 // in the checksum
	broken := append([]byte(nil), whole.Bytes()...)
	broken[10] |= 6 // a block type that does not exist
	for _, bad := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"empty.jsonl.gz", nil, "empty.jsonl.gz:1: the compressed file is truncated; copy or record the file again"},
		{"plain.jsonl.gz", []byte(head), "plain.jsonl.gz:1: the file, or what is behind its end, is not gzip; name plain text .jsonl, or copy or record the file again"},
		{"cut.jsonl.gz", whole.Bytes()[:whole.Len()-3], "cut.jsonl.gz:102: the compressed file is truncated; copy or record the file again"},
		{"damaged.jsonl.gz", damaged, "damaged.jsonl.gz:102: the compressed file is damaged; copy or record the file again"},
		{"broken.jsonl.gz", broken, "broken.jsonl.gz:1: the compressed file is damaged; copy or record the file again"},
		{"trailing.jsonl.gz", append(append([]byte(nil), whole.Bytes()...), "more behind the end"...), "trailing.jsonl.gz:102: the file, or what is behind its end, is not gzip; name plain text .jsonl, or copy or record the file again"},
		{"a\nb.jsonl", []byte("\n"), `"a\nb.jsonl":1: blank line; delete it`},
	} {
		path := filepath.Join(dir, bad.name)
		if err := os.WriteFile(path, bad.content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadFile(path)
		if err == nil {
			t.Errorf("%s: no error", bad.name)
			continue
		}
		if got := strings.Replace(oneLine(t, err), dir+string(filepath.Separator), "", 1); got != bad.want {
			t.Errorf("%q gives\n%s, want\n%s", bad.name, got, bad.want)
		}
	}
	_, err := ReadFile(filepath.Join(dir, "absent.jsonl"))
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(oneLine(t, err), "absent.jsonl: cannot open: no such file or directory; ") {
		t.Errorf("an absent file gives %v", err)
	}
}
