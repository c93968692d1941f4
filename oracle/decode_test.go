package oracle

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/diffstore/diffstore/op"
)

// decode reads a message by a wire.
func (t *tree) decode(wire string, data []byte) error {
	if wire == WireJSON {
		return t.decodeJSON(data)
	}
	return t.decodeMarshal(data)
}

// le is four bytes, little endian.
func le(n int) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }

func TestMalformedMessages(t *testing.T) {
	for _, c := range []struct{ name, wire, data, says string }{
		{"empty", WireMarshal, "", "at byte 0: the message is cut off"},
		{"unknown code", WireMarshal, "g\x00\x00\x00\x00\x00\x00\xf0\x3f", `type code 'g' is not one this protocol uses`},
		{"code object", WireMarshal, "c", "type code 'c'"},
		{"set", WireMarshal, "<" + le(0), "type code '<'"},
		{"null at the top", WireMarshal, "0", "type code '0'"},
		{"cut integer", WireMarshal, "i\x01\x00", "at byte 1: the message is cut off"},
		{"cut text", WireMarshal, "u" + le(5) + "abc", "cut off"},
		{"negative length", WireMarshal, "s" + le(-1), "cut off"},
		{"cut short text", WireMarshal, "z\x05abc", "cut off"},
		{"no length of a short text", WireMarshal, "z", "cut off"},
		{"no length of a small tuple", WireMarshal, ")", "cut off"},
		{"more items than bytes", WireMarshal, "[" + le(1<<30), "cut off"},
		{"negative count", WireMarshal, "(" + le(-5), "cut off"},
		{"cut dict", WireMarshal, "{u" + le(1) + "aN", "cut off"},
		{"dict with a key alone", WireMarshal, "{N0", "type code '0'"},
		{"long of too many digits", WireMarshal, "l" + le(6) + strings.Repeat("\x01\x00", 6), "a number is no integer of 64 bits"},
		{"long of 65 bits", WireMarshal, "l" + le(5) + strings.Repeat("\xff\x7f", 4) + "\x1f\x00", "a number is no integer of 64 bits"},
		{"long of 64 bits", WireMarshal, "l" + le(5) + strings.Repeat("\x00\x00", 4) + "\x08\x00", "a number is no integer of 64 bits"},
		{"long below 64 bits", WireMarshal, "l" + le(-5) + "\x01\x00" + strings.Repeat("\x00\x00", 3) + "\x08\x00", "a number is no integer of 64 bits"},
		{"long of the least count", WireMarshal, "l" + le(math.MinInt32), "a number is no integer of 64 bits"},
		{"cut long", WireMarshal, "l" + le(2) + "\x01\x00", "cut off"},
		{"text that is no UTF-8", WireMarshal, "u" + le(2) + "\xc3\x28", "text is not UTF-8"},
		{"half a character", WireMarshal, "u" + le(3) + "\xed\xa0\x80", "text is not UTF-8"},
		{"reference to nothing", WireMarshal, "r" + le(0), "a reference to something other than a whole plain value before it"},
		{"negative reference", WireMarshal, ")\x02\xe9" + le(1) + "r" + le(-1), "a reference to something other"},
		{"list that holds itself", WireMarshal, "\xdb" + le(1) + "r" + le(0), "a reference to something other"},
		{"dict that holds itself", WireMarshal, "\xfb" + "Nr" + le(0) + "0", "a reference to something other"},
		{"reference to a large value", WireMarshal, ")\x02\xa9\x01Nr" + le(0), "a reference to something other"},
		{"bytes behind the message", WireMarshal, "NN", "1 bytes behind the message"},
		{"too deep", WireMarshal, strings.Repeat(")\x01", 20) + "N", "values are nested more than 16 deep"},
		{"too many", WireMarshal, "[" + le(maxNodes) + strings.Repeat("N", maxNodes), "more than 4194304 values"},
		{"empty", WireJSON, "", "cut off"},
		{"blank", WireJSON, "  \n", "cut off"},
		{"cut list", WireJSON, `{"a":[1,`, "cut off"},
		{"two values", WireJSON, `{} {}`, "more than one value"},
		{"bracket too many", WireJSON, `[]]`, "more than one value"},
		{"wrong bracket", WireJSON, `[1}`, "invalid character"},
		{"not UTF-8", WireJSON, "\"\xc3\x28\"", "text is not UTF-8"},
		{"fraction", WireJSON, "[1.5]", "a number is no integer of 64 bits"},
		{"exponent", WireJSON, "1e400", "a number is no integer of 64 bits"},
		{"beyond 64 bits", WireJSON, "9223372036854775808", "a number is no integer of 64 bits"},
		{"too deep", WireJSON, strings.Repeat("[", 20) + strings.Repeat("]", 20), "values are nested more than 16 deep"},
		{"too deep in objects", WireJSON, strings.Repeat(`{"a":`, 20) + "1" + strings.Repeat("}", 20), "values are nested more than 16 deep"},
	} {
		t.Run(c.wire+"/"+c.name, func(t *testing.T) {
			var tree tree
			err := tree.decode(c.wire, []byte(c.data))
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want one with %q", err, c.says)
			}
			if len(tree.nodes) > min(maxNodes, len(c.data)+1) {
				t.Errorf("%d values from %d bytes", len(tree.nodes), len(c.data))
			}
		})
	}
}

// TestRepliesOfAnotherShape decodes well and is refused as a reply.
func TestRepliesOfAnotherShape(t *testing.T) {
	batch := []op.Sequence{{Slots: 1, ObjectBytes: 1, Ops: []op.Op{{Kind: op.Get, Keys: []string{"a"}}}}}
	state := `[[],null,[],{},[],0]`
	for reply, says := range map[string]string{
		`null`:                                     "the reply has no runs",
		`[]`:                                       "the reply has no runs",
		`{"runs":null}`:                            "runs is no list of 1",
		`{"runs":[]}`:                              "runs is no list of 1",
		`{"runs":[[]]}`:                            "run 0: a run is no list of 2",
		`{"runs":[[null,null]]}`:                   "run 0: steps is no list of 1",
		`{"runs":[[null,[null]]]}`:                 "run 0: step 0: a step is no list of 2",
		`{"runs":[[7,[]]]}`:                        "run 0: an error is no list of 4",
		`{"runs":[[[1,2,3,4],[]]]}`:                "a part of an error is no text",
		`{"runs":[[["none","","",null],[]]]}`:      `error kind "none" is not one an oracle may send`,
		`{"runs":[[["hang","","",null],[]]]}`:      `error kind "hang" is not one an oracle may send`,
		`{"runs":[[["key","K","m",null],[7]]]}`:    "steps is no list of 0",
		`{"runs":[[null,[["zz",` + state + `]]]]}`: "a payload is not hex",
		`{"runs":[[null,[[null,[]]]]]}`:            "a state is no list of 6",
		`{"runs":[[null,[[null,[[],null,[1],{},[],0]]]]]}`:        "the slots is no list of 0",
		`{"runs":[[null,[[null,[[1],null,[1],{},[],0]]]]]}`:       "a stored key is no text",
		`{"runs":[[null,[[null,[["a"],null,["a"],{},[],0]]]]]}`:   "a slot is no integer",
		`{"runs":[[null,[[null,[[],{},[],{},[],0]]]]]}`:           "the stored keys is no list",
		`{"runs":[[null,[[null,[[],null,[],[],[],0]]]]]}`:         "the references are no mapping",
		`{"runs":[[null,[[null,[[],null,[],{"a":null},[],0]]]]]}`: "a reference count is no integer",
		`{"runs":[[null,[[null,[7,[],[],{},[],0]]]]]}`:            "order is no list",
		`{"runs":[[null,[[null,[[7],[],[],{},[],0]]]]]}`:          "a key of the order is no text",
		`{"runs":[[null,[[null,[[],null,[],{},7,0]]]]]}`:          "the free slots is no list",
		`{"runs":[[null,[[null,[[],null,[],{},["a"],0]]]]]}`:      "a free slot is no integer",
		`{"runs":[[null,[[null,[[],null,[],{},[],null]]]]]}`:      "the next slot is no integer",
		`{"runs":[[null,[[null,` + state + `,[1,1]]]]]}`:          "a step is no list of 2",
	} {
		r := &reader{hex: true, sees: op.SeesAll, body: []byte(reply)}
		err := r.runs(flight{batch: batch}, false, make([]op.Run, 1))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v, want one with %q", reply, err, says)
		}
	}
}

// oddTexts are keys that go wrong in careless hands.
var oddTexts = []string{
	"", "\x00", "a\x00b", "e\u0301", "\u00e9", "\u212b", "😀", "👩‍👩‍👧", "\u202eevil", "\ufeff", "\U0010ffff", "\n\r\t\"\\",
	strings.Repeat("k", 255), strings.Repeat("k", 256), strings.Repeat("é", 150), strings.Repeat("😀", 300), "vllm-artifact/3/00ff",
}

var oddNumbers = []int{0, 1, -1, 255, -256, 1 << 15, 1<<31 - 1, 1 << 31, -1 << 31, -1<<31 - 1, 1<<45 - 1, 1 << 45, 1 << 59, -1 << 59, 1<<60 - 1, math.MaxInt, math.MinInt}

// runPython runs a script with lines on its input and gives its output.
func runPython(t *testing.T, source, input string) []byte {
	t.Helper()
	cmd := exec.Command(needPython(t), "-c", source)
	cmd.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	return out
}

// TestDecodesWhatPythonMarshals reads odd values as every marshal version writes them.
func TestDecodesWhatPythonMarshals(t *testing.T) {
	input, err := json.Marshal(map[string]any{"texts": oddTexts, "numbers": oddNumbers})
	if err != nil {
		t.Fatal(err)
	}
	out := runPython(t, `import json, marshal, sys
odd = json.load(sys.stdin)
value = [odd["texts"], tuple(odd["texts"]), odd["numbers"], {t: i for i, t in enumerate(odd["texts"])},
         [t.encode() for t in odd["texts"]], [None, True, False, (), [], {}]]
for version in (0, 1, 2, 3, 4):
    print(marshal.dumps(value, version).hex())`, string(input))
	for version, line := range strings.Fields(string(out)) {
		data, err := hex.DecodeString(line)
		if err != nil {
			t.Fatal(err)
		}
		r := &reader{}
		if err := r.decodeMarshal(data); err != nil {
			t.Errorf("version %d: %v", version, err)
			continue
		}
		want := &tree{}
		if err := want.decodeJSON(input); err != nil {
			t.Fatal(err)
		}
		if got, want := r.render(0), oddRendering(); got != want {
			t.Errorf("version %d:\n%s\nwant\n%s", version, got, want)
		}
	}
}

// render writes a tree so that equal values are equal texts.
func (r *reader) render(i int32) string {
	n := r.resolve(i)
	switch n.kind {
	case nodeNone:
		return "None"
	case nodeBool:
		return fmt.Sprint(n.n == 1)
	case nodeInt:
		return fmt.Sprint(n.n)
	case nodeText:
		return fmt.Sprintf("%+q", n.text)
	case nodeBytes:
		return "b" + fmt.Sprintf("%+q", n.text)
	}
	var parts []string
	at, end := r.children(i)
	for ; at < end; at = r.nodes[at].end {
		parts = append(parts, r.render(at))
	}
	return map[nodeKind]string{nodeList: "[", nodeDict: "{"}[n.kind] + strings.Join(parts, " ") + "]"
}

// oddRendering is what render gives for the value of TestDecodesWhatPythonMarshals.
func oddRendering() string {
	var texts, numbers, pairs, raw []string
	for i, text := range oddTexts {
		texts = append(texts, fmt.Sprintf("%+q", text))
		pairs = append(pairs, fmt.Sprintf("%+q %d", text, i))
		raw = append(raw, fmt.Sprintf("b%+q", text))
	}
	for _, number := range oddNumbers {
		numbers = append(numbers, fmt.Sprint(number))
	}
	join := func(parts []string) string { return "[" + strings.Join(parts, " ") + "]" }
	return join([]string{join(texts), join(texts), join(numbers), "{" + strings.Join(pairs, " ") + "]", join(raw), "[None true false [] [] {]]"})
}

// oddBatch names every odd text and has every kind of op.
func oddBatch() []op.Sequence {
	s := op.Sequence{Slots: 3, ObjectBytes: 4}
	for kind := op.Kind(0); kind < op.NumKinds; kind++ {
		s.Ops = append(s.Ops, op.Op{Kind: kind})
	}
	for i, text := range oddTexts {
		s.Ops = append(s.Ops,
			op.Op{Kind: op.Put, Objects: []op.Object{{Key: text, Payload: []byte{0xff, 0, byte(i)}}, {Key: "same", Payload: []byte("same")}}, Retain: []string{text, text}, Release: []string{text}},
			op.Op{Kind: op.Get, Keys: []string{text, "x", text}})
	}
	wide := op.Op{Kind: op.Put}
	for i := range 300 { // more than a small tuple holds
		wide.Retain = append(wide.Retain, fmt.Sprint(i))
		wide.Objects = append(wide.Objects, op.Object{Key: fmt.Sprint(i), Payload: []byte{}})
	}
	s.Ops = append(s.Ops, wide)
	batch := []op.Sequence{s}
	for _, number := range oddNumbers {
		batch = append(batch, op.Sequence{Slots: number, ObjectBytes: number})
	}
	return batch
}

// requestBody encodes a request by a wire and leaves the frame out.
func requestBody(t testing.TB, wire string, batch []op.Sequence, ask Ask) []byte {
	t.Helper()
	if wire == WireJSON {
		line, err := jsonRequest(unplanned(batch), ask)
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	var e marshalEncoder
	frame := e.request(unplanned(batch), ask)
	if size := binary.LittleEndian.Uint32(frame); int(size) != len(frame)-4 {
		t.Fatalf("the frame says %d bytes and has %d", size, len(frame)-4)
	}
	return frame[4:]
}

// TestEveryKindHasItsShareOfTheWires encodes ops of every kind and reads them back.
func TestEveryKindHasItsShareOfTheWires(t *testing.T) {
	for kind := op.Kind(0); kind < op.NumKinds; kind++ {
		if share[kind].marshal == nil || share[kind].json == nil {
			t.Errorf("%v has no share of the wires", kind)
		}
	}
	batch := oddBatch()
	for _, wire := range []string{WireMarshal, WireJSON} {
		r := &reader{hex: wire == WireJSON}
		if err := r.decode(wire, requestBody(t, wire, batch, Ask{})); err != nil {
			t.Fatal(err)
		}
		got, err := r.batch()
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(batch) {
			t.Fatalf("%s: %d sequences, want %d", wire, len(got), len(batch))
		}
		for i := range batch {
			if got[i].Slots != batch[i].Slots || got[i].ObjectBytes != batch[i].ObjectBytes || len(got[i].Ops) != len(batch[i].Ops) {
				t.Fatalf("%s: sequence %d came back as %d, %d with %d ops", wire, i, got[i].Slots, got[i].ObjectBytes, len(got[i].Ops))
			}
			for j := range batch[i].Ops {
				if g, w := got[i].Ops[j].String(), batch[i].Ops[j].String(); g != w {
					t.Errorf("%s: op %s came back as %s", wire, w, g)
				}
			}
		}
	}
}

// TestPythonReadsWhatIsEncoded lets Python read both requests: they must be the
// same to it, and equal keys one object.
func TestPythonReadsWhatIsEncoded(t *testing.T) {
	batch, ask := oddBatch(), Ask{Hashes: true, Watched: oddTexts, Blind: true, stepwise: true}
	out := runPython(t, `import json, marshal, sys
frame, line = (bytes.fromhex(l) for l in sys.stdin)
one, two = marshal.loads(frame), json.loads(line)
def same(value):
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {k: same(v) for k, v in value.items()}
    return [same(v) for v in value] if isinstance(value, (list, tuple)) else value
for part in two:
    for i, (left, right) in enumerate(zip(same(one[part]), two[part]) if isinstance(two[part], list) else [(one[part], two[part])]):
        assert left == right, (part, i, ascii(left)[:300], ascii(right)[:300])
assert one.keys() == two.keys()
keys = {}
for op in one["sequences"][0][2]:
    for key in (op[1] if op[0] == 1 else op[2] + op[3] if op[0] == 0 else ()):
        assert keys.setdefault(key, key) is key, key
print(len(keys))`, hex.EncodeToString(requestBody(t, WireMarshal, batch, ask))+"\n"+hex.EncodeToString(requestBody(t, WireJSON, batch, ask)))
	if got, want := strings.TrimSpace(string(out)), fmt.Sprint(len(oddTexts)+1+300); got != want {
		t.Errorf("Python saw %s keys, want %s", got, want)
	}
}

// TestTheReaderStandsUsedMemory reads a large reply and then a small one.
func TestTheReaderStandsUsedMemory(t *testing.T) {
	var e marshalEncoder
	long := strings.Repeat("m", maxInterned+1)
	e.any([]any{"a", long, long, []any{"b", "a"}})
	r := &reader{}
	if err := r.decodeMarshal(e.buf); err != nil {
		t.Fatal(err)
	}
	held := r.nodes[2].text
	for i := range e.buf {
		e.buf[i] = 'x'
	}
	if held != long || r.resolve(3).text != long {
		t.Error("a text changed with the message that it came in")
	}
	if err := r.decodeMarshal([]byte("N")); err != nil || len(r.nodes) != 1 {
		t.Errorf("%d values, error %v", len(r.nodes), err)
	}
	if err := r.decodeMarshal([]byte("r" + le(0))); !errors.Is(err, errRef) {
		t.Errorf("error %v: a reference reached into the message before", err)
	}
}
