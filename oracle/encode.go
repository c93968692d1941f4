package oracle

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"

	"github.com/diffstore/diffstore/op"
)

// share is what this room adds to each row of the table of operations: how the
// op's arguments stand behind its code in a request.
var share = [op.NumKinds]struct {
	marshal func(e *marshalEncoder, o *op.Op)
	json    func(t *objectTable, o *op.Op) []any
}{
	op.Put: {
		marshal: func(e *marshalEncoder, o *op.Op) {
			e.tuple(4)
			e.integer(int(op.Put))
			e.tuple(len(o.Objects))
			for i := range o.Objects {
				e.integer(e.objects.place(&o.Objects[i]))
			}
			e.keys(o.Retain)
			e.keys(o.Release)
		},
		json: func(t *objectTable, o *op.Op) []any {
			places := make([]int, len(o.Objects))
			for i := range o.Objects {
				places[i] = t.place(&o.Objects[i])
			}
			return []any{int(op.Put), places, orEmpty(o.Retain), orEmpty(o.Release)}
		},
	},
	op.Get: {
		marshal: func(e *marshalEncoder, o *op.Op) {
			e.tuple(2)
			e.integer(int(op.Get))
			e.list(len(o.Keys))
			for _, key := range o.Keys {
				e.key(key)
			}
		},
		json: func(_ *objectTable, o *op.Op) []any { return []any{int(op.Get), orEmpty(o.Keys)} },
	},
	op.Close: {
		marshal: func(e *marshalEncoder, _ *op.Op) {
			e.tuple(1)
			e.integer(int(op.Close))
		},
		json: func(_ *objectTable, _ *op.Op) []any { return []any{int(op.Close)} },
	},
}

func orEmpty(keys []string) []string {
	if keys == nil {
		return []string{}
	}
	return keys
}

// objectTable lists the distinct keys and objects of a request, so that each key
// is written once and the oracle makes each object once however often it is put.
type objectTable struct {
	list []placedObject
	keys []knownKey
	ids  map[string]int32
}

// knownKey is one key of a request.
type knownKey struct {
	text string
	// ref is the key's number as a value that may be referred to, object the last
	// object with the key, and recent the one that was last asked for; none where
	// there is none yet.
	ref, object, recent int32
}

// placedObject is one object of a request; next is another one with its key.
type placedObject struct {
	*op.Object
	key, next int32
}

const none = -1

func (t *objectTable) reset() {
	t.list, t.keys = t.list[:0], t.keys[:0]
	if len(t.ids) > 1<<16 {
		t.ids = nil // to clear it would cost as much for every small request to come
	}
	clear(t.ids)
}

// id gives a key's place among the keys, adding it when it is new.
func (t *objectTable) id(key string) int32 {
	id, ok := t.ids[key]
	if !ok {
		if t.ids == nil {
			t.ids = make(map[string]int32)
		}
		id = int32(len(t.keys))
		t.ids[key] = id
		t.keys = append(t.keys, knownKey{text: key, ref: none, object: none, recent: none})
	}
	return id
}

// place gives an object's place in the table, adding it when it is new.
func (t *objectTable) place(object *op.Object) int {
	id := t.id(object.Key)
	known := &t.keys[id]
	at := known.recent
	if at == none || !bytes.Equal(t.list[at].Payload, object.Payload) {
		at = known.object
		for at != none && !bytes.Equal(t.list[at].Payload, object.Payload) {
			at = t.list[at].next
		}
	}
	if at == none {
		at = int32(len(t.list))
		t.list = append(t.list, placedObject{Object: object, key: id, next: known.object})
		known.object = at
	}
	known.recent = at
	return int(at)
}

// json is the table as a message in JSON holds it.
func (t *objectTable) json() [][2]string {
	objects := make([][2]string, len(t.list))
	for i, object := range t.list {
		objects[i] = [2]string{object.Key, hex.EncodeToString(object.Payload)}
	}
	return objects
}

// marshalEncoder writes requests in Python's marshal format. A key is written
// once in a message and referred to afterwards, which is quick to read and makes
// equal keys one object, as they are in a real caller.
type marshalEncoder struct {
	buf     []byte
	objects objectTable
	written int32 // keys that have been written
}

// request encodes a batch into a frame that is valid until the next call.
func (e *marshalEncoder) request(f flight, ask Ask) []byte {
	e.begin()
	// The sequences come first in the message, so that the table of objects is
	// known when it is written behind them.
	e.word("sequences")
	e.list(len(f.batch))
	for i := range f.batch {
		sequence, plan := &f.batch[i], f.plans[i]
		parts := 3
		if plan != nil {
			parts++
		}
		e.tuple(parts)
		e.integer(sequence.Slots)
		e.integer(sequence.ObjectBytes)
		e.list(len(sequence.Ops))
		for j := range sequence.Ops {
			o := &sequence.Ops[j]
			share[o.Kind].marshal(e, o)
		}
		if plan != nil {
			e.planned(plan)
		}
	}
	e.writeObjects()
	if ask.stepwise {
		e.word("stepwise")
		e.buf = append(e.buf, codeTrue)
	}
	if ask.Hashes {
		e.word("hashes")
		e.buf = append(e.buf, codeTrue)
		if ask.Blind {
			e.word("blind")
			e.buf = append(e.buf, codeTrue)
		}
		e.word("watched")
		e.keys(ask.Watched)
	}
	return e.frame()
}

// begin starts a message: a dict behind its length.
func (e *marshalEncoder) begin() {
	e.objects.reset()
	e.written = 0
	e.buf = append(e.buf[:0], 0, 0, 0, 0, codeDict)
}

// frame ends a message and gives it.
func (e *marshalEncoder) frame() []byte {
	e.buf = append(e.buf, codeNull)
	binary.LittleEndian.PutUint32(e.buf, uint32(len(e.buf)-4))
	return e.buf
}

// writeObjects writes the table of objects.
func (e *marshalEncoder) writeObjects() {
	e.word("objects")
	e.list(len(e.objects.list))
	for _, object := range e.objects.list {
		e.tuple(2)
		e.writeKey(&e.objects.keys[object.key])
		e.buf = append(e.buf, codeBytes)
		e.length(len(object.Payload))
		e.buf = append(e.buf, object.Payload...)
	}
}

func (e *marshalEncoder) length(n int) {
	e.buf = binary.LittleEndian.AppendUint32(e.buf, uint32(n))
}

func (e *marshalEncoder) integer(n int) {
	if n == int(int32(n)) {
		e.buf = append(e.buf, codeInt)
		e.length(n)
		return
	}
	digits, sign := uint64(n), 1
	if n < 0 {
		digits, sign = uint64(-n), -1
	}
	count := 0
	for rest := digits; rest > 0; rest >>= 15 {
		count++
	}
	e.buf = append(e.buf, codeLong)
	e.length(sign * count)
	for ; digits > 0; digits >>= 15 {
		e.buf = binary.LittleEndian.AppendUint16(e.buf, uint16(digits&0x7fff))
	}
}

func (e *marshalEncoder) truth(is bool) {
	if is {
		e.buf = append(e.buf, codeTrue)
	} else {
		e.buf = append(e.buf, codeFalse)
	}
}

func (e *marshalEncoder) tuple(n int) {
	if n < 256 {
		e.buf = append(e.buf, codeSmallTuple, byte(n))
		return
	}
	e.buf = append(e.buf, codeTuple)
	e.length(n)
}

func (e *marshalEncoder) list(n int) {
	e.buf = append(e.buf, codeList)
	e.length(n)
}

func (e *marshalEncoder) keys(keys []string) {
	e.tuple(len(keys))
	for _, key := range keys {
		e.key(key)
	}
}

// word writes a text that is not referred to.
func (e *marshalEncoder) word(text string) {
	e.buf = append(e.buf, codeUnicode)
	e.length(len(text))
	e.buf = append(e.buf, text...)
}

func (e *marshalEncoder) key(key string) {
	e.writeKey(&e.objects.keys[e.objects.id(key)])
}

func (e *marshalEncoder) writeKey(key *knownKey) {
	if key.ref != none {
		e.buf = append(e.buf, codeRef)
		e.length(int(key.ref))
		return
	}
	key.ref = e.written
	e.written++
	e.buf = append(e.buf, codeUnicode|flagRef)
	e.length(len(key.text))
	e.buf = append(e.buf, key.text...)
}

// jsonRequest is the same request for the wire that people read.
func jsonRequest(f flight, ask Ask) ([]byte, error) {
	var table objectTable
	table.reset()
	sequences := make([][]any, len(f.batch))
	for i := range f.batch {
		sequence := &f.batch[i]
		ops := make([]any, len(sequence.Ops))
		for j := range sequence.Ops {
			o := &sequence.Ops[j]
			ops[j] = share[o.Kind].json(&table, o)
		}
		sequences[i] = []any{sequence.Slots, sequence.ObjectBytes, ops}
		if plan := f.plans[i]; plan != nil {
			sequences[i] = append(sequences[i], plan.json())
		}
	}
	request := map[string]any{"objects": table.json(), "sequences": sequences}
	if ask.stepwise {
		request["stepwise"] = true
	}
	if ask.Hashes {
		request["hashes"], request["watched"] = true, orEmpty(ask.Watched)
		if ask.Blind {
			request["blind"] = true
		}
	}
	line, err := json.Marshal(request)
	return append(line, '\n'), err
}
