package traces

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/diffstore/diffstore/op"
)

// content gives the text of a trace file, unpacked.
func content(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil && compressed(path) {
		var zip *gzip.Reader
		if zip, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			data, err = io.ReadAll(zip)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// written gives the traces as the text that Write makes of them.
func written(t testing.TB, all []Trace) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, all...); err != nil {
		t.Error(err)
	}
	return out.Bytes()
}

func upstream(t testing.TB) []string {
	t.Helper()
	paths, err := Corpus(filepath.Join("..", "testdata", "upstream"))
	if err != nil || len(paths) != 4 {
		t.Fatalf("the recorded runs are %v, %v: want four", paths, err)
	}
	return paths
}

// TestUpstreamIdentity reads what the real store did and writes it: no byte may change.
func TestUpstreamIdentity(t *testing.T) {
	for _, path := range upstream(t) {
		all, err := ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want, got := content(t, path), written(t, all); !bytes.Equal(got, want) {
			t.Errorf("%s: %s", path, firstDifference(want, got))
		}
		for i := range all {
			if len(all[i].Wants) != len(all[i].Ops) || len(all[i].Ops) == 0 {
				t.Errorf("%s:%d: %d ops and %d wants", path, all[i].Line, len(all[i].Ops), len(all[i].Wants))
			}
		}
	}
}

func firstDifference(want, got []byte) string {
	a, b := bytes.Split(want, []byte("\n")), bytes.Split(got, []byte("\n"))
	for i := range a {
		if i >= len(b) || !bytes.Equal(a[i], b[i]) {
			return fmt.Sprintf("line %d\n%s\nbecame\n%s", i+1, a[i], b[min(i, len(b)-1)])
		}
	}
	return "lines were added"
}

// TestCorpus keeps the saved traces readable, canonical and one to a file.
func TestCorpus(t *testing.T) {
	paths, err := Corpus("corpus")
	if err != nil || len(paths) == 0 {
		t.Fatalf("the corpus is %v, %v", paths, err)
	}
	for _, path := range paths {
		all, err := ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if want, got := content(t, path), written(t, all); !bytes.Equal(got, want) {
			t.Errorf("%s is not canonical: %s", path, firstDifference(want, got))
		}
		if len(all) != 1 || all[0].Note == "" || len(all[0].Ops) == 0 {
			t.Errorf("%s: a corpus file is one trace with a note and ops", path)
		}
	}
}

func TestCorpusLists(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.jsonl", "a.jsonl.gz", "c.gz", "README.md", "d.jsonl.bak"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "e.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	paths, err := Corpus(dir)
	want := []string{filepath.Join(dir, "a.jsonl.gz"), filepath.Join(dir, "b.jsonl")}
	if err != nil || !cmp.Equal(want, paths) {
		t.Errorf("Corpus gives %v, %v: want %v", paths, err, want)
	}
	if _, err := Corpus(filepath.Join(dir, "absent")); err == nil || !strings.Contains(oneLine(t, err), "cannot list the folder") {
		t.Errorf("an absent folder gives %v", err)
	}
}

// full is a trace that fills every field of the format.
func full() Trace {
	closed := op.NewError(op.ClosedError, "RuntimeError", "auxiliary output store is closed", "")
	return Trace{
		Header: Header{
			Version: 1, Slots: -3, ObjectBytes: 0, Model: "main", Note: "<&>\u2028\"\\\x00\x1f\x7f\b\f\n\r\t é", Seed: "7", Case: new(0),
			Recorded:    &Recorded{Project: "vllm", Commit: "57c6", Version: "0.32.0", Class: "BlockObjectStore", SHA256: "f4bb", Python: "3.12.1"},
			Fingerprint: "put/victims", Left: "model:main", Right: "embedded",
			WantConstruct: op.NewError(op.ArgumentError, "ValueError", "auxiliary output object size must be positive", ""),
		},
		Ops: []op.Op{
			{Kind: op.Put, Objects: []op.Object{{Key: "b", Payload: []byte{0xab, 0}}, {Key: ""}}, Retain: []string{"x", "x"}, Release: []string{"\x00"}},
			{Kind: op.Get},
			{Kind: op.Close},
			{Kind: op.Put},
		},
		Wants: []*op.Observation{
			{
				Outcome: op.Outcome{Err: op.NewError(op.KeyError, "KeyError", `'\x00'`, "\x00")},
				Victims: []string{"v", "b"},
				State: op.State{
					Sees: op.SeesAll, Entries: []op.Entry{{Key: "", Slot: op.Unallocated}, {Key: "b", Slot: 1}}, Queue: []string{"b", ""},
					Refs: []op.Ref{{Key: "x", Count: 2}, {Key: "z", Count: 1}}, Free: []int{2, 0}, Next: 3, Total: 2, TotalRefs: 2,
				},
			},
			{
				Outcome: op.Outcome{Payload: []byte{}},
				State:   op.State{Sees: op.SeesQueue | op.SeesRefs, Entries: []op.Entry{{Key: "b", Slot: op.Allocated}}, Queue: []string{"b"}, Total: 1},
			},
			nil,
			{Outcome: op.Outcome{Err: closed}, State: op.State{Sees: op.SeesQueue | op.SeesRefs}},
		},
	}
}

var sameTrace = cmp.Options{
	cmpopts.EquateEmpty(),
	cmpopts.IgnoreFields(Trace{}, "Name", "Line"),
	cmpopts.SortSlices(func(a, b op.Entry) bool { return a.Key < b.Key }),
	cmpopts.SortSlices(func(a, b op.Ref) bool { return a.Key < b.Key }),
}

// TestEveryField writes every field, keeps the text, and reads it back equal.
func TestEveryField(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, full()); err != nil {
		t.Fatal(err)
	}
	golden(t, "every_field", out.String())
	back, err := Read(&out, "full.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Trace{full()}, back, sameTrace); diff != "" {
		t.Error(diff)
	}
	if got := back[0].Wants[1].Outcome.Payload; got == nil {
		t.Error("the payload of a get of nothing is nil")
	}
	if back[0].Name != "full.jsonl" || back[0].Line != 1 {
		t.Errorf("the trace was read at %s:%d", back[0].Name, back[0].Line)
	}
	want := op.Sequence{Slots: -3, ObjectBytes: 0, Ops: full().Ops}
	if diff := cmp.Diff(want, back[0].Sequence(), sameTrace); diff != "" {
		t.Error(diff)
	}
	for name, value := range map[string]any{"header": back[0].Header, "recorded": *back[0].Recorded} {
		for i := range reflect.ValueOf(value).NumField() {
			if field := reflect.TypeOf(value).Field(i).Name; reflect.ValueOf(value).Field(i).IsZero() && field != "ObjectBytes" {
				t.Errorf("the %s's %s is not filled: this test must fill every field", name, field)
			}
		}
	}
}

// TestLenientForms reads what the writer would put otherwise and writes its form.
func TestLenientForms(t *testing.T) {
	for _, form := range []struct{ in, out string }{
		{`{"retain":[]}`, `{"put":[]}`},
		{`{"release":["a"],"put":[],"retain":["b"]}`, `{"retain":["b"],"release":["a"]}`},
		{" { \"close\" :\ttrue } \r", `{"close":true}`},
		{`{"get":["\u0061\/\ud83d\ude00\u00e9"]}`, `{"get":["a/😀é"]}`},
		{`{"put":[],"want":{"refs":{"b":1,"a":-0},"queue":["q"],"stored":["d","c"],"victims":[]}}`, `{"put":[],"want":{"victims":[],"stored":["c","d"],"queue":["q"],"refs":{"a":0,"b":1}}}`},
	} {
		all, err := Read(strings.NewReader(head+form.in), "in.jsonl")
		if err != nil {
			t.Error(err)
			continue
		}
		if want, got := head+form.out+"\n", string(written(t, all)); got != want {
			t.Errorf("%s became\n%s, want\n%s", form.in, got, want)
		}
	}
}

func TestWriteFile(t *testing.T) {
	for _, name := range []string{"a.jsonl", "a.jsonl.gz"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		for range 2 {
			if err := WriteFile(path, full(), full()); err != nil {
				t.Fatal(err)
			}
		}
		first, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bad := full()
		bad.Ops[1].Keys = []string{"\xff"}
		if err := WriteFile(path, full(), bad); err == nil || !strings.HasPrefix(oneLine(t, err), path+":8: cannot write: ") {
			t.Errorf("%s: writing a key that is not UTF-8 gives %v", name, err)
		}
		if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, first) {
			t.Errorf("%s: a write that failed changed the file (%v)", name, err)
		}
		if files, _ := os.ReadDir(dir); len(files) != 1 {
			t.Errorf("%s: temporary files are left: %v", name, files)
		}
		back, err := ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Trace{full(), full()}, back, sameTrace); diff != "" {
			t.Error(diff)
		}
	}
	if err := WriteFile(filepath.Join(t.TempDir(), "absent", "a.jsonl"), full()); err == nil || !strings.Contains(oneLine(t, err), "cannot create") {
		t.Errorf("a folder that is not there gives %v", err)
	}
}

// TestWriteRefuses covers what the vocabulary can say and the format cannot.
func TestWriteRefuses(t *testing.T) {
	seen := func(change func(*op.Observation)) Trace {
		trace := full()
		change(trace.Wants[0])
		return trace
	}
	of := func(change func(*Trace)) Trace {
		trace := full()
		change(&trace)
		return trace
	}
	var all strings.Builder
	for _, bad := range []struct {
		name  string
		trace Trace
	}{
		{"unknown version", of(func(t *Trace) { t.Version = 2 })},
		{"slots out of bounds", of(func(t *Trace) { t.Slots = maxNumber + 1 })},
		{"negative case", of(func(t *Trace) { t.Case = new(-1) })},
		{"note that is not UTF-8", of(func(t *Trace) { t.Note = "\xed\xa0\x80" })},
		{"wants for some ops", of(func(t *Trace) { t.Wants = t.Wants[:2] })},
		{"unknown kind", of(func(t *Trace) { t.Ops[0].Kind = op.NumKinds })},
		{"get that retains", of(func(t *Trace) { t.Ops[1].Retain = []string{"a"} })},
		{"put with keys", of(func(t *Trace) { t.Ops[0].Keys = []string{"a"} })},
		{"close with objects", of(func(t *Trace) { t.Ops[2].Objects = []op.Object{{}} })},
		{"line too long", of(func(t *Trace) { t.Ops[1].Keys = []string{strings.Repeat("k", MaxLine)} })},
		{"queue not seen", seen(func(o *op.Observation) { o.State.Sees &^= op.SeesQueue })},
		{"refs not seen", seen(func(o *op.Observation) { o.State.Sees &^= op.SeesRefs })},
		{"a part of the state", seen(func(o *op.Observation) { o.State.Sees |= op.SeesPart })},
		{"slot unknown", seen(func(o *op.Observation) { o.State.Entries[0].Slot = op.Allocated })},
		{"stored twice", seen(func(o *op.Observation) { o.State.Entries[0].Key = "b" })},
		{"payload of a put", seen(func(o *op.Observation) { o.Outcome = op.Outcome{Payload: []byte{}} })},
		{"no error kind", seen(func(o *op.Observation) { o.Outcome.Err.Kind = op.NoError; o.Outcome.Err.Key = "" })},
		{"key of another kind", seen(func(o *op.Observation) { o.Outcome.Err.Kind = op.SizeError })},
		{"counts without a message", seen(func(o *op.Observation) { o.Outcome.Err = &op.Error{Kind: op.CapacityError, Limit: 3, Used: -1} })},
		{"constructor's counts", of(func(t *Trace) { t.WantConstruct.Limit = 1 })},
	} {
		err := Write(io.Discard, bad.trace)
		if err == nil {
			t.Errorf("%s: no error", bad.name)
			continue
		}
		fmt.Fprintf(&all, "%s\n\t%s\n", bad.name, oneLine(t, err))
	}
	fmt.Fprintf(&all, "no trace\n\t%s\n", oneLine(t, Write(io.Discard)))
	fmt.Fprintf(&all, "op before a header\n\t%s\n", oneLine(t, NewWriter(io.Discard, "trace").Op(&op.Op{}, nil)))
	golden(t, "refused", all.String())
}

// failing is a disk that is full from some byte on.
type failing struct{ room int }

var errFull = errors.New("no space left\non the device")

func (f *failing) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestWriteToFullDisk(t *testing.T) {
	err := Write(&failing{room: 1 << 10}, full(), full())
	if !errors.Is(err, errFull) || !strings.HasPrefix(oneLine(t, err), "trace:") {
		t.Errorf("a full disk gives %v", err)
	}
}

// lines counts calls: a write-ahead file must have each line in one.
type calls [][]byte

func (c *calls) Write(b []byte) (int, error) {
	*c = append(*c, append([]byte(nil), b...))
	return len(b), nil
}

func TestWriterWritesLineByLine(t *testing.T) {
	var got calls
	trace := full()
	if err := Write(&got, trace); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1+len(trace.Ops) {
		t.Errorf("%d calls for a header and %d ops", len(got), len(trace.Ops))
	}
	for _, line := range got {
		if bytes.Count(line, []byte("\n")) != 1 || !bytes.HasSuffix(line, []byte("\n")) {
			t.Errorf("a call does not write one line: %q", line)
		}
	}
}

// TestStreamStops keeps the traces before an error, and lets the caller stop.
func TestStreamStops(t *testing.T) {
	text := head + `{"close":true}` + "\n" + head + head + `{"puts":[]}` + "\n" + head
	var got []string
	for trace, err := range Stream(strings.NewReader(text), "s.jsonl") {
		if err != nil {
			got = append(got, oneLine(t, err)[:len("s.jsonl:5:")])
			continue
		}
		got = append(got, fmt.Sprintf("%s:%d %d", trace.Name, trace.Line, len(trace.Ops)))
	}
	if want := []string{"s.jsonl:1 1", "s.jsonl:3 0", "s.jsonl:5:"}; !cmp.Equal(want, got) {
		t.Errorf("the stream gave %v, want %v", got, want)
	}
	count := 0
	for range StreamFile(upstream(t)[0]) {
		if count++; count == 2 {
			break
		}
	}
	if count != 2 {
		t.Errorf("the stream went on to %d traces", count)
	}
}
