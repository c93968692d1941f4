package model

import (
	"fmt"

	"github.com/diffstore/diffstore/op"
)

// Invariants tells what is wrong with a state of any subject, nil if nothing:
// no more keys than slots are stored (slots 0 is a store without bound), every
// key stands once, no slot has two owners or is both owned and free or free
// twice, every count is above zero, and the queue is the stored keys without
// references, each once. What the state does not see is not judged.
func Invariants(state *op.State, slots int) error {
	stored := len(state.Entries)
	part := state.Sees&op.SeesPart != 0
	if part {
		stored = state.Total
	}
	if slots > 0 && stored > slots {
		return fmt.Errorf("%d keys are stored in %d slots", stored, slots)
	}
	if state.Sees&op.SeesSlots != 0 {
		if err := checkSlots(state); err != nil {
			return err
		}
	}
	return checkKeys(state, state.Sees&op.SeesRefs != 0, state.Sees&op.SeesQueue != 0 && !part)
}

// fewItems bounds the lists that are judged on the stack; longer ones take maps.
const fewItems = 32

// checkSlots judges owned and free slots.
func checkSlots(state *op.State) error {
	var claimed claims
	if len(state.Entries)+len(state.Free) > fewItems {
		claimed.index = make(map[int]struct{}, len(state.Entries)+len(state.Free))
	}
	for i := range state.Entries {
		if e := &state.Entries[i]; e.Slot >= 0 && !claimed.add(e.Slot) {
			return fmt.Errorf("slot %d of key %s has two owners", e.Slot, op.FormatKey(e.Key))
		}
	}
	for i, slot := range state.Free {
		if claimed.add(slot) {
			continue
		}
		for _, earlier := range state.Free[:i] {
			if earlier == slot {
				return fmt.Errorf("slot %d is free twice", slot)
			}
		}
		return fmt.Errorf("slot %d is both owned and free", slot)
	}
	return nil
}

// claims is a set of slots.
type claims struct {
	low   uint64           // a bit for each of the first 64 slots
	index map[int]struct{} // nil for few slots
	few   [fewItems]int
	n     int
}

// add tells whether the slot is new to the set.
func (c *claims) add(slot int) bool {
	if uint(slot) < 64 {
		bit := uint64(1) << uint(slot)
		fresh := c.low&bit == 0
		c.low |= bit
		return fresh
	}
	if c.index != nil {
		before := len(c.index)
		c.index[slot] = struct{}{}
		return len(c.index) > before
	}
	for _, claimed := range c.few[:c.n] {
		if claimed == slot {
			return false
		}
	}
	c.few[c.n] = slot
	c.n++
	return true
}

// What a state says of a key.
const (
	isStored = 1 << iota
	isReferenced
	isQueued
)

// checkKeys judges the stored keys, and as far as they are seen the references
// and the queue.
func checkKeys(state *op.State, seesRefs, seesQueue bool) error {
	var said keyNotes
	if n := len(state.Entries) + len(state.Refs) + len(state.Queue); n > fewItems {
		said.large = make(map[string]uint8, n)
	}
	for i := range state.Entries {
		key := state.Entries[i].Key
		if said.note(key, isStored)&isStored != 0 {
			return fmt.Errorf("key %s is stored twice", op.FormatKey(key))
		}
	}
	accounted := 0 // stored keys that have references or stand in the queue
	if seesRefs {
		for i := range state.Refs {
			r := &state.Refs[i]
			if r.Count <= 0 {
				return fmt.Errorf("key %s is kept with %d references", op.FormatKey(r.Key), r.Count)
			}
			before := said.note(r.Key, isReferenced)
			if before&isReferenced != 0 {
				return fmt.Errorf("key %s has two counts", op.FormatKey(r.Key))
			}
			if before&isStored != 0 {
				accounted++
			}
		}
	}
	if !seesQueue {
		return nil
	}
	for _, key := range state.Queue {
		switch before := said.note(key, isQueued); {
		case before&isQueued != 0:
			return fmt.Errorf("key %s stands twice in the queue", op.FormatKey(key))
		case before&isStored == 0:
			return fmt.Errorf("key %s is in the queue but not stored", op.FormatKey(key))
		case before&isReferenced != 0:
			return fmt.Errorf("key %s is in the queue but has references", op.FormatKey(key))
		}
		accounted++
	}
	if !seesRefs || accounted == len(state.Entries) {
		return nil
	}
	for i := range state.Entries {
		key := state.Entries[i].Key
		if said.note(key, 0)&(isQueued|isReferenced) == 0 {
			return fmt.Errorf("key %s has no references but is not in the queue", op.FormatKey(key))
		}
	}
	return nil
}

// keyNotes keeps what was said of each key so far.
type keyNotes struct {
	large map[string]uint8 // nil for few keys
	// For few keys, cells is a hash table of 1 + a place in keys and notes.
	cells [2 * fewItems]uint8
	keys  [fewItems]string
	notes [fewItems]uint8
	n     uint8
}

// note adds to what is said of a key and gives what was said before.
func (k *keyNotes) note(key string, what uint8) (before uint8) {
	if k.large != nil {
		before = k.large[key]
		k.large[key] = before | what
		return before
	}
	// Keys differ at their ends, if anywhere; that serves for so few.
	i := uint32(len(key))
	for at := max(0, len(key)-6); at < len(key); at++ {
		i = i*31 + uint32(key[at])
	}
	i %= uint32(len(k.cells))
	for ; k.cells[i] != 0; i = (i + 1) % uint32(len(k.cells)) {
		if at := k.cells[i] - 1; k.keys[at] == key {
			before = k.notes[at]
			k.notes[at] |= what
			return before
		}
	}
	k.keys[k.n], k.notes[k.n] = key, what
	k.n++
	k.cells[i] = k.n
	return 0
}
