package traces

import (
	"sort"
	"strconv"
	"strings"

	"github.com/diffstore/diffstore/op"
)

// want is an observation in the shape that a line gives it.
type want struct {
	// payload is nil where there is none.
	payload []byte
	err     *op.Error
	victims []string
	stored  []string
	queue   []string
	refs    []op.Ref
	// slotted tells whether slots, free and next are there.
	slotted bool
	slots   []op.Ref
	free    []int
	next    int
}

var wantFields = []field[want]{
	{
		name: "payload",
		read: func(p *parser, w *want) (err error) {
			w.payload, err = p.payload()
			return err
		},
		has:   func(w *want) bool { return w.payload != nil },
		write: func(b []byte, w *want) []byte { return appendPayload(b, w.payload) },
	},
	raisedField("error", func(w *want) **op.Error { return &w.err }),
	required(keysField("victims", func(w *want) *[]string { return &w.victims })),
	required(keysField("stored", func(w *want) *[]string { return &w.stored })),
	required(keysField("queue", func(w *want) *[]string { return &w.queue })),
	countsField("refs", func(w *want) *[]op.Ref { return &w.refs }),
	whenSlotted(countsField("slots", func(w *want) *[]op.Ref { return &w.slots })),
	whenSlotted(field[want]{
		name: "free",
		read: func(p *parser, w *want) error {
			return p.array("a list of slots", func() error {
				slot, err := p.number("a slot")
				w.free = append(w.free, slot)
				return err
			})
		},
		write: func(b []byte, w *want) []byte {
			return appendList(b, w.free, func(b []byte, slot int) []byte { return strconv.AppendInt(b, int64(slot), 10) })
		},
	}),
	whenSlotted(numberField("next", func(w *want) *int { return &w.next })),
}

// whenSlotted gives the same field, written whenever the slots are known.
func whenSlotted(f field[want]) field[want] {
	f.has = func(w *want) bool { return w.slotted }
	return f
}

var errorFields = []field[op.Error]{
	{
		name: "kind",
		read: func(p *parser, e *op.Error) error {
			p.peek()
			start := p.at
			name, err := p.text("a word for the kind of error")
			if err != nil {
				return err
			}
			var known bool
			if e.Kind, known = op.ErrorKindNamed(name); !known {
				p.at = start
				return p.fail("the kinds are "+strings.Join(op.ErrorKindNames(), ", "), "unknown error kind %s", quote(name))
			}
			return nil
		},
		has:   always[op.Error],
		write: func(b []byte, e *op.Error) []byte { return appendString(b, e.Kind.String()) },
	},
	required(textField("type", func(e *op.Error) *string { return &e.Type })),
	required(textField("message", func(e *op.Error) *string { return &e.Message })),
	{
		name:  "key",
		read:  textField("key", func(e *op.Error) *string { return &e.Key }).read,
		has:   func(e *op.Error) bool { return e.Kind == op.KeyError },
		write: func(b []byte, e *op.Error) []byte { return appendString(b, e.Key) },
	},
}

// raisedField is an error, left out when it is nil.
func raisedField[T any](name string, at func(*T) **op.Error) field[T] {
	return field[T]{
		name: name,
		read: func(p *parser, into *T) error {
			var e op.Error
			seen, err := readFields(p, "an error object", errorFields, &e)
			if err == nil {
				err = p.needs(seen, name, "kind", "type", "message")
			}
			if err == nil && e.Kind == op.KeyError {
				err = p.needs(seen, name+" of kind key", "key")
			} else if err == nil && seen["key"] {
				err = p.wrong("write key only where the kind is key", "%s of kind %s has a key", name, e.Kind)
			}
			*at(into) = op.NewError(e.Kind, e.Type, e.Message, e.Key)
			return err
		},
		has:   func(from *T) bool { return *at(from) != nil },
		write: func(b []byte, from *T) []byte { return appendFields(b, errorFields, *at(from)) },
	}
}

// needs refuses an object that lacks one of the names.
func (p *parser) needs(seen map[string]bool, what string, names ...string) error {
	for _, name := range names {
		if !seen[name] {
			return p.wrong("add it as docs/trace-format.md shows", "%s lacks %s", what, name)
		}
	}
	return nil
}

// readWant reads a want and checks it as far as that needs no op.
func readWant(p *parser) (*want, error) {
	var w want
	seen, err := readFields(p, "a want object", wantFields, &w)
	if err != nil {
		return nil, err
	}
	if err := p.needs(seen, "want", "victims", "stored", "queue", "refs"); err != nil {
		return nil, err
	}
	if seen["slots"] != seen["free"] || seen["free"] != seen["next"] {
		return nil, p.wrong("write all three or none", "want has only some of slots, free, next")
	}
	if w.payload != nil && w.err != nil {
		return nil, p.wrong("keep the one that came", "want has both payload and error")
	}
	w.slotted = seen["slots"]
	return &w, w.checkStored(p)
}

// checkStored holds stored against itself and the slots: they are two columns
// of one table, so one without the other has no reading.
func (w *want) checkStored(p *parser) error {
	stored := make(map[string]bool, len(w.stored))
	for _, key := range w.stored {
		if stored[key] {
			return p.wrong("list each stored key once", "stored lists %s twice", quote(key))
		}
		stored[key] = true
	}
	if !w.slotted {
		return nil
	}
	for _, slot := range w.slots {
		if !stored[slot.Key] {
			return p.wrong("list it in both or in neither", "slots lists %s, stored does not", quote(slot.Key))
		}
		if slot.Count < op.Unallocated {
			return p.wrong("write -1 for a key without a slot", "slot %d of %s is below -1", slot.Count, quote(slot.Key))
		}
		delete(stored, slot.Key)
	}
	for _, key := range w.stored {
		if stored[key] {
			return p.wrong("list it in both or in neither", "stored lists %s, slots does not", quote(key))
		}
	}
	return nil
}

// observation turns the want into the vocabulary's shape.
func (w *want) observation() *op.Observation {
	slots := make(map[string]int, len(w.slots))
	for _, slot := range w.slots {
		slots[slot.Key] = slot.Count
	}
	state := op.State{
		Sees: op.SeesQueue | op.SeesRefs, Queue: w.queue, Refs: w.refs,
		Total: len(w.stored), TotalRefs: len(w.refs),
	}
	if w.slotted {
		state.Sees = op.SeesAll
		state.Free, state.Next = w.free, w.next
	}
	for _, key := range w.stored {
		entry := op.Entry{Key: key, Slot: op.Allocated}
		if w.slotted {
			entry.Slot = slots[key]
		}
		state.Entries = append(state.Entries, entry)
	}
	return &op.Observation{
		Outcome: op.Outcome{Payload: w.payload, Err: w.err},
		Victims: w.victims,
		State:   state,
	}
}

// wantOf is the inverse of observation, with the stored keys sorted.
func wantOf(o *op.Observation) *want {
	w := &want{
		payload: o.Outcome.Payload,
		err:     o.Outcome.Err,
		victims: o.Victims,
		queue:   o.State.Queue,
		refs:    o.State.Refs,
		slotted: o.State.Sees&op.SeesSlots != 0,
		free:    o.State.Free,
		next:    o.State.Next,
	}
	for _, entry := range o.State.Entries {
		w.stored = append(w.stored, entry.Key)
		w.slots = append(w.slots, op.Ref{Key: entry.Key, Count: entry.Slot})
	}
	sort.Strings(w.stored)
	return w
}
