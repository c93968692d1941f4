package prove

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/oracle"
)

// judge compares what the stores showed in one state with the model, op by op,
// and says which states come next. Its memory is reused.
type judge struct {
	alphabet *alphabet
	comparer *diff.Comparer
	exact    bool // keys keep their names: no symmetry
	base     *model.Store
	at       *model.Store
	seen     op.Observation // of the model
	leaves   []*oracle.Leaf // of this try, by store
	names    []string
	token    []byte
	contents []byte
	free     []int
	key      []byte
}

// difference is where two subjects differ, told before it is confirmed.
type difference struct {
	try int32
	// left is diff's left side: -1 the model, else the number of a store.
	left  int
	field diff.Field
	// dead says that the stores agree and both are gone.
	dead bool
}

// compare carries out one try on the model and compares: store against store
// where there are two, and the first store against the model.
func (j *judge) compare(try int32, shown []*oracle.Shown, place int) (*difference, error) {
	o := &j.alphabet.ops[try]
	if err := j.at.Become(j.base); err != nil {
		return nil, err
	}
	j.at.Step(o, &j.seen)
	j.leaves = j.leaves[:0]
	for _, s := range shown {
		at := s.At[place]
		if at == oracle.Unseen {
			return &difference{try: try, dead: true}, nil
		}
		leaf := &s.Leaves[at]
		leaf.Victims = op.Victims(o, &leaf.Outcome, &s.Leaves[0].State, &leaf.State, leaf.Victims[:0])
		j.leaves = append(j.leaves, leaf)
	}
	if len(j.leaves) == 2 {
		if field, _ := j.comparer.Step(o, &j.leaves[0].Observation, &j.leaves[1].Observation); field != "" {
			return &difference{try: try, left: 0, field: field}, nil
		}
		if j.leaves[0].Outcome.Terminal() {
			return &difference{try: try, dead: true}, nil
		}
	}
	if field, _ := j.comparer.Step(o, &j.seen, &j.leaves[0].Observation); field != "" {
		return &difference{try: try, left: -1, field: field}, nil
	}
	return nil, nil
}

// within tells whether the state behind the op just compared is to be searched.
func (j *judge) within() bool {
	b := &j.alphabet.bounds
	if j.at.Closed() && !b.Misuse || j.at.Next() > j.at.Slots()+b.Lost {
		return false
	}
	for i := range j.seen.State.Refs {
		if j.seen.State.Refs[i].Count > b.Counts {
			return false
		}
	}
	return true
}

// encode gives what tells the state behind the op just compared from others: how
// the stores' memory departs from what the model's state lets expect, nothing
// for most, and then the model's state. It is valid until the next call.
func (j *judge) encode() []byte {
	j.key, j.names = j.at.Canonical(j.key[:0], j.alphabet.own, j.names[:0])
	if j.exact {
		for _, name := range j.names {
			j.key = append(j.key, name[0], byte(j.alphabet.version(name, j.at.Peek(name))))
		}
	}
	j.token = j.token[:0]
	for i, leaf := range j.leaves {
		start := len(j.token)
		if j.token = j.departure(j.token, leaf); len(j.token) > start {
			j.token = append(j.token, byte(i))
		}
	}
	length := binary.AppendUvarint(nil, uint64(len(j.token)))
	j.key = slices.Insert(j.key, 0, append(length, j.token...)...)
	return j.key
}

// departure appends what a store has that no store has which is just like the
// model: other bytes or slots, another order of its keys, anything kept beside.
// States that differ in it are searched apart, for it may show later.
func (j *judge) departure(dst []byte, leaf *oracle.Leaf) []byte {
	if leaf.Unreadable && !j.at.Closed() {
		dst = append(dst, "unreadable"...)
	}
	if leaf.Read {
		j.contents = j.contents[:0]
		for i := range leaf.State.Entries {
			j.contents = append(j.contents, j.at.Peek(leaf.State.Entries[i].Key)...)
		}
		if !bytes.Equal(j.contents, leaf.Contents) {
			dst = fmt.Appendf(dst, "contents %q", leaf.Contents)
		}
	}
	if stored := j.names[:j.at.Len()]; leaf.Order != nil && !slices.Equal(leaf.Order, stored) && !slices.Equal(leaf.Order, leaf.State.Queue) {
		dst = append(dst, "order"...)
		for _, key := range leaf.Order {
			dst = fmt.Appendf(dst, " %q", j.label(key))
		}
	}
	if leaf.State.Sees&op.SeesSlots != 0 && !j.sameSlots(&leaf.State) {
		dst = append(dst, "slots"...)
		for _, key := range j.names[:j.at.Len()] {
			at := slices.IndexFunc(leaf.State.Entries, func(e op.Entry) bool { return e.Key == key })
			dst = fmt.Appendf(dst, " %d", leaf.State.Entries[at].Slot)
		}
		dst = fmt.Appendf(dst, " free %v next %d", leaf.State.Free, leaf.State.Next)
	}
	return leaf.AppendMemory(dst, j.label)
}

// sameSlots tells whether a store's slots are the model's, which a comparison that
// is not strict leaves open.
func (j *judge) sameSlots(state *op.State) bool {
	for i := range state.Entries {
		if state.Entries[i].Slot != j.at.SlotOf(state.Entries[i].Key) {
			return false
		}
	}
	j.free = j.at.FreeSlots(j.free[:0])
	return state.Next == j.at.Next() && slices.Equal(state.Free, j.free)
}

// label is what stands for a key in a state's encoding: its place among the
// state's keys. Other text stands for itself.
func (j *judge) label(text string) string {
	if place := slices.Index(j.names, text); place >= 0 && !j.exact {
		return string(rune('0' + place))
	}
	return text
}

// orbit is how many states the one behind the op just compared stands for: one
// for each way to name its keys and to choose which of the two payloads each
// written key has.
func (j *judge) orbit() int {
	if j.exact {
		return 1
	}
	count := 1
	for i, name := range j.names {
		count *= j.alphabet.bounds.Keys - i
		if content := j.at.Peek(name); len(content) > 0 && j.alphabet.own(name, content) {
			count *= 2
		}
	}
	// Keys that are not stored are told apart by their counts alone.
	alike := 1
	for i := j.at.Len() + 1; i < len(j.names); i++ {
		if j.at.References(j.names[i]) == j.at.References(j.names[i-1]) {
			alike++
		} else {
			alike = 1
		}
		count /= alike
	}
	return count
}

// begin makes the state before any op the one to encode.
func (j *judge) begin() {
	j.leaves = j.leaves[:0]
	j.seen = op.Observation{}
}
