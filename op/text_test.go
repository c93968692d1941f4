package op

import (
	"reflect"
	"strings"
	"testing"
)

func TestTableIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for kind := Kind(0); kind < NumKinds; kind++ {
		info := Table[kind]
		if info.Kind != kind || info.Name == "" || info.Method == "" || seen[info.Name] {
			t.Errorf("row %d of the table of operations is not whole: %+v", kind, info)
		}
		seen[info.Name] = true
		// An op of every kind must have a text form that reads back.
		parsed, err := ParseOp(Op{Kind: kind}.String())
		if err != nil || parsed.Kind != kind {
			t.Errorf("%s: text form does not read back: %v", info.Name, err)
		}
	}
}

func TestParseOpReadsWhatStringWrites(t *testing.T) {
	ops := []Op{
		{Kind: Put},
		{Kind: Put, Objects: []Object{{"a", []byte("aaaa")}, {"", []byte{}}, {"retain", []byte{0xff}}}},
		{Kind: Put, Objects: []Object{{"=", []byte("x")}}, Retain: []string{"release", "retain", "\x00"}, Release: []string{"retain", "é"}},
		{Kind: Put, Release: []string{"release", "release"}},
		{Kind: Get, Keys: []string{"retain", "a b", "\n", "\"q\"", "vllm-artifact/1/00ff"}},
		{Kind: Get},
		{Kind: Close},
	}
	for _, want := range ops {
		got, err := ParseOp(want.String())
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s read back as %s", want, got)
		}
	}
}

func TestParseOpSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":             "column 1: unknown operation",
		"puts a=":      "unknown operation \"puts\"",
		"put a":        "column 6: expected = and a payload",
		"put a=6":      "column 7: the payload of key a is not hex",
		"put a=zz":     "is not hex",
		"get \"a":      "column 5: the quoted key does not end",
		"get a, b":     "column 6: expected a key",
		"close now":    "column 7: close takes no arguments",
		"put retain =": "expected a key",
	} {
		_, err := ParseOp(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

func FuzzParseOp(f *testing.F) {
	f.Add("put a=61 retain b release c")
	f.Add("get \"\\x00\" b")
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseOp(text)
		if err != nil {
			return
		}
		again, err := ParseOp(o.String())
		if err != nil || again.String() != o.String() {
			t.Errorf("%q does not survive a round trip: %v", text, err)
		}
	})
}
