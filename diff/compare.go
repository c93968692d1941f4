package diff

import (
	"bytes"
	"slices"

	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/op"
)

// Field names what differs, in the order in which it is compared.
type Field string

// The fields. Construct is the constructor's outcome, ahead of any op.
const (
	FieldConstruct  Field = "construct"
	FieldOutcome    Field = "outcome"
	FieldVictims    Field = "victims"
	FieldStored     Field = "stored"
	FieldZombies    Field = "unallocated"
	FieldRefs       Field = "references"
	FieldQueue      Field = "queue"
	FieldInvariants Field = "invariants"
	FieldHashes     Field = "hashes"
	FieldSlots      Field = "slots"
	FieldFree       Field = "free"
	FieldNext       Field = "next"
)

// Fields lists every field with what it is, for help and docs.
var Fields = []struct {
	Field  Field
	Says   string
	Strict bool
}{
	{FieldConstruct, "what the constructor raised", false},
	{FieldOutcome, "payload, or error kind with its key or counts", false},
	{FieldVictims, "evicted keys in eviction order, those the put itself brought included", false},
	{FieldStored, "stored keys", false},
	{FieldZombies, "stored keys without a slot", false},
	{FieldRefs, "reference counts", false},
	{FieldQueue, "unreferenced keys in eviction order", false},
	{FieldInvariants, "what must hold in every state", false},
	{FieldHashes, "hashes of keys the call does not name, against --hash-bound", false},
	{FieldSlots, "slot of every stored key", true},
	{FieldFree, "the stack of free slots", true},
	{FieldNext, "the next unused slot", true},
}

// Options says what a comparison covers beside the rest.
type Options struct {
	// Strict adds slots, free stack and next slot.
	Strict bool
	// Text adds error types and messages.
	Text bool
	// HashBound, when above 0, bounds the hashes of keys that a call does not
	// name to that many for each key it names or evicts.
	HashBound int
	// IgnoreLimit leaves the counts that errors state out: stores of different
	// capacity differ in them by design.
	IgnoreLimit bool
	// Unbounded says that a store may hold more keys than slots.
	Unbounded bool
	// Rewrites says that a put may store the bytes of an unreferenced key anew.
	Rewrites bool
	// Headroom is how many times a sequence's slots both stores are built with;
	// 0 is 1.
	Headroom int
}

// capacity is how many keys a store may hold, 0 for any number.
func (o *Options) capacity(s *op.Sequence) int {
	if o.Unbounded {
		return 0
	}
	return s.Slots * max(1, o.Headroom)
}

// comparer compares runs; its memory is reused.
type comparer struct {
	Options
	find finder
}

// Compare gives the first difference between two runs of one sequence, or nil.
// The divergence shares no memory with the runs.
func Compare(sequence *op.Sequence, left, right *op.Run, options Options) *Divergence {
	c := comparer{Options: options}
	return c.runs(sequence, left, right)
}

func (c *comparer) runs(sequence *op.Sequence, left, right *op.Run) *Divergence {
	if left.Refused != nil || right.Refused != nil {
		if c.sameError(left.Refused, right.Refused) {
			return nil
		}
		return &Divergence{Step: -1, Field: FieldConstruct, Class: Differs,
			Left:  op.Observation{Outcome: op.Outcome{Err: left.Refused}},
			Right: op.Observation{Outcome: op.Outcome{Err: right.Refused}}}
	}
	steps := min(len(left.Steps), len(right.Steps))
	for i := range steps {
		l, r := &left.Steps[i], &right.Steps[i]
		field, detail := c.step(sequence, i, l, r)
		if field == "" {
			continue
		}
		return &Divergence{
			Step: i, Op: sequence.Ops[i].Clone(), Field: field, Detail: detail, Class: classAt(sequence, i, left, right),
			Left: l.Clone(), Right: r.Clone(),
		}
	}
	return nil
}

// classAt tells a plain difference from one that shows only once a call has
// failed on both sides, the failed call's own effects included.
func classAt(sequence *op.Sequence, at int, left, right *op.Run) Class {
	for i := range at + 1 {
		if op.Table[sequence.Ops[i].Kind].Mutates && left.Steps[i].Outcome.Err != nil && right.Steps[i].Outcome.Err != nil {
			return DiffersAfterError
		}
	}
	return Differs
}

// step compares two observations of one op: the first field that differs.
func (c *comparer) step(sequence *op.Sequence, at int, l, r *op.Observation) (field Field, detail string) {
	if !c.sameOutcome(&l.Outcome, &r.Outcome) {
		return FieldOutcome, ""
	}
	if l.Outcome.Terminal() {
		return "", "" // both died alike: there is no state to compare
	}
	if !sameKeys(l.Victims, r.Victims) {
		return FieldVictims, ""
	}
	left, right := &l.State, &r.State
	if left.Sees&op.SeesPart != right.Sees&op.SeesPart {
		left, right = part(&sequence.Ops[at], l), part(&sequence.Ops[at], r)
	}
	both := left.Sees & right.Sees
	stored, zombies, slots := c.sameEntries(left, right, both)
	switch {
	case !stored:
		return FieldStored, ""
	case !zombies:
		return FieldZombies, ""
	case both&op.SeesRefs != 0 && !c.sameRefs(left, right):
		return FieldRefs, ""
	case both&op.SeesQueue != 0 && !sameKeys(left.Queue, right.Queue):
		return FieldQueue, ""
	}
	// The sides hold the same keys, so what the invariants say of keys need be told
	// of the left one only; of slots, of both where they have other ones.
	if err := c.invariants(sequence, left, right, slots); err != nil {
		return FieldInvariants, err.Error()
	}
	if c.HashBound > 0 {
		if overBound(&sequence.Ops[at], l, c.HashBound) || overBound(&sequence.Ops[at], r, c.HashBound) {
			return FieldHashes, ""
		}
	}
	if !c.Strict || both&op.SeesSlots == 0 {
		return "", ""
	}
	switch {
	case !slots:
		return FieldSlots, ""
	case !slices.Equal(left.Free, right.Free):
		return FieldFree, ""
	case left.Next != right.Next:
		return FieldNext, ""
	}
	return "", ""
}

// invariants judges two states that hold the same keys.
func (c *comparer) invariants(sequence *op.Sequence, l, r *op.State, sameSlots bool) error {
	if err := model.Invariants(l, c.capacity(sequence)); err != nil {
		return err
	}
	sameSlots = sameSlots && l.Sees&op.SeesSlots != 0 && slices.Equal(l.Free, r.Free)
	if sameSlots || r.Sees&op.SeesSlots == 0 {
		return nil
	}
	return model.Invariants(r, c.capacity(sequence))
}

// overBound tells whether an op hashed keys it does not name more often than
// the bound allows: a constant for every call and for each key that it names or
// evicts, and nothing for what is merely stored.
func overBound(o *op.Op, seen *op.Observation, bound int) bool {
	if seen.State.Sees&op.SeesHashes == 0 && seen.Hashes == 0 {
		return false
	}
	named := len(o.Objects) + len(o.Retain) + len(o.Release) + len(o.Keys)
	return seen.Hashes > bound*(1+named+len(seen.Victims))
}

func (c *comparer) sameOutcome(l, r *op.Outcome) bool {
	if l.Err != nil || r.Err != nil {
		return c.sameError(l.Err, r.Err)
	}
	return (l.Payload == nil) == (r.Payload == nil) && bytes.Equal(l.Payload, r.Payload)
}

func (c *comparer) sameError(l, r *op.Error) bool {
	switch {
	case l == nil || r == nil:
		return l == r
	case c.IgnoreLimit:
		if l.Kind != r.Kind || l.Key != r.Key {
			return false
		}
	case !l.Same(r):
		return false
	}
	if c.Text && (l.Type != r.Type || l.Message != r.Message) {
		return false
	}
	return l.Kind != op.OtherError || l.Type == r.Type
}

// sameEntries compares stored keys, which of them are zombies, and slots.
func (c *comparer) sameEntries(l, r *op.State, both op.Sees) (stored, zombies, slots bool) {
	if len(l.Entries) != len(r.Entries) || l.Total != r.Total {
		return false, false, false
	}
	zombies, slots = true, true
	c.find.reset()
	for i := range r.Entries {
		c.find.add(r.Entries[i].Key)
	}
	for i := range l.Entries {
		j := c.find.place(l.Entries[i].Key)
		if j < 0 {
			return false, false, false
		}
		a, b := l.Entries[i].Slot, r.Entries[j].Slot
		if a != b {
			slots = false
			if a == op.Unallocated || b == op.Unallocated {
				zombies = false
			}
		}
	}
	return true, zombies || both&op.SeesZombies == 0, slots
}

func (c *comparer) sameRefs(l, r *op.State) bool {
	if len(l.Refs) != len(r.Refs) || l.TotalRefs != r.TotalRefs {
		return false
	}
	c.find.reset()
	for i := range r.Refs {
		c.find.add(r.Refs[i].Key)
	}
	for i := range l.Refs {
		j := c.find.place(l.Refs[i].Key)
		if j < 0 || l.Refs[i].Count != r.Refs[j].Count {
			return false
		}
	}
	return true
}
