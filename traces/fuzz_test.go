package traces

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/diffstore/diffstore/op"
)

// FuzzRead holds the reader to its promises on any bytes: no panic, one-line
// errors, nothing taken that is not JSON, strings as encoding/json reads them,
// and what was read is written and read back equal, in bytes that no longer
// change.
func FuzzRead(f *testing.F) {
	for _, bad := range badTraces {
		f.Add([]byte(bad.input))
	}
	var out bytes.Buffer
	if err := Write(&out, full()); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	for _, path := range upstream(f) {
		text := content(f, path)
		f.Add(text[:bytes.IndexByte(text[2000:], '\n')+2001])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := Read(bytes.NewReader(data), "fuzz")
		if err != nil {
			oneLine(t, err)
			return
		}
		lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
		at := 0
		for i := range all {
			at++ // the header
			for j := range all[i].Ops {
				compareWithJSON(t, lines[at], &all[i].Ops[j])
				at++
			}
		}
		if at != len(lines) {
			t.Fatalf("%d lines gave %d headers and ops", len(lines), at)
		}
		var first, second bytes.Buffer
		if err := Write(&first, all...); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		back, err := Read(bytes.NewReader(first.Bytes()), "fuzz")
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, first.Bytes())
		}
		if diff := cmp.Diff(all, back, sameTrace); diff != "" {
			t.Fatal(diff)
		}
		if err := Write(&second, back...); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("the bytes change when written again (%v)\n%s\n%s", err, first.Bytes(), second.Bytes())
		}
	})
}

// compareWithJSON holds an op against encoding/json's reading of its line.
func compareWithJSON(t *testing.T, line []byte, o *op.Op) {
	t.Helper()
	var judge struct {
		Put                  [][2]string
		Retain, Release, Get []string
	}
	if err := json.Unmarshal(line, &judge); err != nil {
		t.Fatalf("encoding/json refuses a line that was taken: %v\n%s", err, line)
	}
	var keys []string
	for _, object := range judge.Put {
		keys = append(keys, object[0])
	}
	keys = append(append(append(keys, judge.Retain...), judge.Release...), judge.Get...)
	var got []string
	o.EachKey(func(key string) { got = append(got, key) })
	if !cmp.Equal(keys, got) {
		t.Fatalf("the keys are %q, encoding/json reads %q", got, keys)
	}
}

// FuzzRoundTrip writes traces of any content: the writer refuses text that is
// not UTF-8 and numbers out of bounds, and all else comes back equal.
func FuzzRoundTrip(f *testing.F) {
	f.Add(2, 4, "a", "it's \"q\"\x00\u2028", "note\n", []byte{0xab}, 1, uint8(0), true)
	f.Add(-1, 0, "", "\xff", "\ud7ff\U0010ffff", []byte(nil), maxNumber+1, uint8(7), false)
	f.Add(1<<40, -1<<40, "same", "same", "", []byte{}, -5, uint8(200), true)
	f.Fuzz(func(t *testing.T, slots, objectBytes int, a, b, text string, payload []byte, number int, pick uint8, slotted bool) {
		kinds := op.ErrorKindNames()
		kind, _ := op.ErrorKindNamed(kinds[int(pick)%len(kinds)])
		key := ""
		if kind == op.KeyError {
			key = b
		}
		state := op.State{
			Sees: op.SeesQueue | op.SeesRefs, Entries: []op.Entry{{Key: a, Slot: op.Allocated}},
			Queue: []string{b, a, b}, Refs: []op.Ref{{Key: b, Count: number}}, Total: 1, TotalRefs: 1,
		}
		if slotted {
			state.Sees, state.Free, state.Next = op.SeesAll, []int{number, 0}, number
			state.Entries[0].Slot = int(pick) - 1
		}
		trace := Trace{
			Header: Header{
				Version: Version, Slots: slots, ObjectBytes: objectBytes, Model: a, Note: text, Seed: b, Case: new(int(pick)),
				Recorded: &Recorded{Project: text}, Fingerprint: text, Left: a, Right: b,
			},
			Ops: []op.Op{
				{Kind: op.Put, Objects: []op.Object{{Key: a, Payload: payload}, {Key: b}}, Retain: []string{a}, Release: []string{b, b}},
				{Kind: op.Get, Keys: []string{b, a}},
				{Kind: op.Close},
			},
			Wants: []*op.Observation{
				{Outcome: op.Outcome{Err: op.NewError(kind, a, text, key)}, Victims: []string{b, a}, State: state},
				{Outcome: op.Outcome{Payload: append([]byte{}, payload...)}, State: state},
				nil,
			},
		}
		var out bytes.Buffer
		err := Write(&out, trace)
		if err != nil {
			oneLine(t, err)
		}
		bounded := true
		for _, n := range []int{slots, objectBytes, number} {
			bounded = bounded && n >= -maxNumber && n <= maxNumber
		}
		if sound := bounded && utf8.ValidString(a+"\n"+b+"\n"+text); sound != (err == nil) {
			t.Fatalf("the trace can be written: %t, but the writer says %v", sound, err)
		}
		if err != nil {
			return
		}
		back, err := Read(&out, "fuzz")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Trace{trace}, back, sameTrace); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzKnown reads any bytes as a file of known divergences.
func FuzzKnown(f *testing.F) {
	f.Add([]byte(`{"diffstore_known":1,"entries":[` + knownEntry + `]}`))
	text, err := os.ReadFile("known.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parseKnown(data, "fuzz")
		if err != nil {
			oneLine(t, err)
			return
		}
		if !json.Valid(data) {
			t.Fatal("what was taken is not JSON")
		}
		for _, known := range list {
			got, found := list.Match(known.Fingerprint, known.Store)
			if !found || got != known || known.Why == "" || known.Trace == "" {
				t.Fatalf("%+v does not match itself", known)
			}
		}
	})
}
