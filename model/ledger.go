package model

import (
	"bytes"
	"fmt"

	"github.com/diffstore/diffstore/op"
)

// Ledger checks, from ops and observations alone, that a get returns what the
// first successful put of each key stored since the key was last evicted. It
// needs no model, so it judges any subject whose victims are known.
//
// It has to see every op of a store's life, observed in full or as far as the op
// touched. The zero Ledger is ready for one life.
type Ledger struct {
	// Rewrites is for a store that stores batch keys without references anew in
	// every put, as release-0.33 does. The observations must see references.
	Rewrites bool

	held map[string]holding
	// referenced is the keys with references after the last op, kept for Rewrites.
	referenced map[string]bool
	// spare is buffers for payloads to come, want one for the bytes of a get.
	spare [][]byte
	want  []byte
}

// holding is what a stored key holds.
type holding struct {
	payload []byte
	// written is false for a zombie, which has no bytes and can get some yet.
	written bool
	// unknown says that the observations do not tell which payload was written.
	unknown bool
}

// Reset forgets everything, for the next store's life.
func (l *Ledger) Reset() {
	for key := range l.held {
		l.drop(key)
	}
	clear(l.referenced)
}

// Check takes in one op with what was observed after it, and tells what is wrong
// with the payload of a get; nil if nothing.
func (l *Ledger) Check(o *op.Op, seen *op.Observation) error {
	for _, key := range seen.Victims {
		l.drop(key)
	}
	switch {
	case o.Kind == op.Put && seen.Outcome.Kind() != op.ClosedError:
		l.put(o, seen)
	case o.Kind == op.Get && seen.Outcome.Err == nil:
		return l.get(o.Keys, seen.Outcome.Payload)
	}
	return nil
}

func (l *Ledger) put(o *op.Op, seen *op.Observation) {
	kind := seen.Outcome.Kind()
	writes := kind != op.KeyError && kind != op.CapacityError
	for i := range o.Objects {
		key := o.Objects[i].Key
		if namedAgain(o.Objects[i+1:], key) {
			continue // the last payload counts
		}
		slot, stored := slotIn(&seen.State, key)
		if !stored {
			l.drop(key)
			continue
		}
		held := l.held[key]
		if !writes || held.written && (!l.Rewrites || l.referenced[key]) {
			continue // it keeps its bytes
		}
		l.drop(key)
		switch sees := seen.State.Sees&op.SeesZombies != 0; {
		case sees && slot == op.Unallocated:
			l.hold(key, holding{})
		case !sees && kind != op.NoError:
			// The put may have stopped before this key, or after.
			l.hold(key, holding{written: true, unknown: true})
		default:
			l.hold(key, holding{payload: l.copyOf(o.Objects[i].Payload), written: true})
		}
	}
	if l.Rewrites {
		l.noteReferences(o, &seen.State)
	}
}

func namedAgain(objects []op.Object, key string) bool {
	for i := range objects {
		if objects[i].Key == key {
			return true
		}
	}
	return false
}

// slotIn finds a stored key's slot.
func slotIn(state *op.State, key string) (slot int, stored bool) {
	for i := range state.Entries {
		if state.Entries[i].Key == key {
			return state.Entries[i].Slot, true
		}
	}
	return 0, false
}

// noteReferences brings l.referenced up to date for the keys that the op names:
// no other key's count can have changed.
func (l *Ledger) noteReferences(o *op.Op, state *op.State) {
	if l.referenced == nil {
		l.referenced = map[string]bool{}
	}
	o.EachKey(func(key string) { delete(l.referenced, key) })
	for i := range state.Refs {
		l.referenced[state.Refs[i].Key] = true
	}
}

func (l *Ledger) get(keys []string, payload []byte) error {
	want := l.want[:0]
	empty := false
	for _, key := range keys {
		held, found := l.held[key]
		if !found {
			return fmt.Errorf("get returned key %s, which no put has stored since it was last evicted", op.FormatKey(key))
		}
		if held.unknown {
			return nil
		}
		empty = empty || held.written && len(held.payload) == 0
		want = append(want, held.payload...)
	}
	l.want = want
	if bytes.Equal(want, payload) {
		return nil
	}
	if empty && len(payload) > len(want) {
		// An empty payload was stored past the arena's end. A store that has
		// grown over that slot since reads bytes there that nobody wrote.
		return nil
	}
	return fmt.Errorf("get returned %x, but its keys were stored as %x", payload, want)
}

func (l *Ledger) hold(key string, h holding) {
	if l.held == nil {
		l.held = map[string]holding{}
	}
	l.held[key] = h
}

func (l *Ledger) copyOf(payload []byte) []byte {
	var buffer []byte
	if n := len(l.spare); n > 0 {
		buffer = l.spare[n-1][:0]
		l.spare = l.spare[:n-1]
	}
	return append(buffer, payload...)
}

func (l *Ledger) drop(key string) {
	if h, found := l.held[key]; found {
		delete(l.held, key)
		if h.payload != nil {
			l.spare = append(l.spare, h.payload)
		}
	}
}
