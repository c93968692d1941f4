package oracle

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/diffstore/diffstore/op"
)

// any writes what a reply is made of.
func (e *marshalEncoder) any(value any) {
	switch value := value.(type) {
	case nil:
		e.buf = append(e.buf, codeNone)
	case int:
		e.integer(value)
	case string:
		e.key(value)
	case []byte:
		e.buf = append(e.buf, codeBytes)
		e.length(len(value))
		e.buf = append(e.buf, value...)
	case []any:
		e.list(len(value))
		for _, part := range value {
			e.any(part)
		}
	case map[string]any:
		e.buf = append(e.buf, codeDict)
		for key, part := range value {
			e.key(key)
			e.any(part)
		}
		e.buf = append(e.buf, codeNull)
	default:
		panic(fmt.Sprintf("%T is not part of a reply", value))
	}
}

var emptyStateValue = []any{[]any{}, nil, []any{}, map[string]any{}, []any{}, 0}

func list[T any](items []T) []any {
	out := make([]any, len(items))
	for i := range items {
		out[i] = items[i]
	}
	return out
}

func errorValue(e *op.Error) any {
	var key any
	if e.Kind == op.KeyError {
		key = e.Key
	}
	return []any{e.Kind.String(), e.Type, e.Message, key}
}

// stepValue writes an observation as a reply does.
func stepValue(seen *op.Observation, asHex bool) any {
	var outcome any
	switch {
	case seen.Outcome.Err != nil:
		outcome = errorValue(seen.Outcome.Err)
	case seen.Outcome.Payload != nil && asHex:
		outcome = hex.EncodeToString(seen.Outcome.Payload)
	case seen.Outcome.Payload != nil:
		outcome = seen.Outcome.Payload
	}
	state := &seen.State
	var keys, slots []any
	for _, entry := range state.Entries {
		keys, slots = append(keys, entry.Key), append(slots, entry.Slot)
	}
	refs := map[string]any{}
	for _, ref := range state.Refs {
		refs[ref.Key] = ref.Count
	}
	return []any{outcome, []any{list(state.Queue), list(keys), list(slots), refs, list(state.Free), state.Next}}
}

// batch reads the sequences of a request: the inverse of encoding one.
func (r *reader) batch() ([]op.Sequence, error) {
	var objects []op.Object
	if err := r.each(0, "objects", func(i int32) error {
		key, _, err := r.list(i, "an object", 2)
		if err != nil {
			return err
		}
		payload := []byte(r.resolve(r.nodes[key].end).text)
		if r.hex {
			if payload, err = hex.DecodeString(string(payload)); err != nil {
				return err
			}
		}
		objects = append(objects, op.Object{Key: r.resolve(key).text, Payload: payload})
		return nil
	}); err != nil {
		return nil, err
	}
	var batch []op.Sequence
	err := r.each(0, "sequences", func(i int32) error {
		at, _, err := r.list(i, "a sequence", 3)
		if err != nil {
			return err
		}
		slots, size := r.nodes[at], r.nodes[r.nodes[at].end]
		s := op.Sequence{Slots: int(slots.n), ObjectBytes: int(size.n)}
		first, end, err := r.list(size.end, "ops", -1)
		for ; err == nil && first < end; first = r.nodes[first].end {
			var o op.Op
			o, err = r.op(first, objects)
			s.Ops = append(s.Ops, o)
		}
		batch = append(batch, s)
		return err
	})
	return batch, err
}

// each visits the parts of a list that a dict holds.
func (r *reader) each(dict int32, name string, visit func(i int32) error) error {
	field, ok := r.field(dict, name)
	if !ok {
		return errors.New("no " + name)
	}
	at, end, err := r.list(field, name, -1)
	for ; err == nil && at < end; at = r.nodes[at].end {
		err = visit(at)
	}
	return err
}

func (r *reader) op(i int32, objects []op.Object) (o op.Op, err error) {
	at, end, err := r.list(i, "an op", -1)
	if err != nil {
		return o, err
	}
	o.Kind = op.Kind(r.resolve(at).n)
	var parts [][]*node
	for at = r.nodes[at].end; at < end; at = r.nodes[at].end {
		first, last, err := r.list(at, "an argument", -1)
		if err != nil {
			return o, err
		}
		var part []*node
		for ; first < last; first = r.nodes[first].end {
			part = append(part, r.resolve(first))
		}
		parts = append(parts, part)
	}
	texts := func(nodes []*node) (out []string) {
		for _, n := range nodes {
			out = append(out, n.text)
		}
		return out
	}
	switch {
	case o.Kind == op.Put && len(parts) == 3:
		for _, n := range parts[0] {
			o.Objects = append(o.Objects, objects[n.n])
		}
		o.Retain, o.Release = texts(parts[1]), texts(parts[2])
	case o.Kind == op.Get && len(parts) == 1:
		o.Keys = texts(parts[0])
	case o.Kind != op.Close || len(parts) != 0:
		return o, errors.New("no op: code " + strconv.Itoa(int(o.Kind)))
	}
	return o, nil
}
