package oracle

import (
	"errors"
	"fmt"

	"github.com/diffstore/diffstore/op"
)

// Ask says what a request wants beside the full observation of every op.
type Ask struct {
	// Hashes asks for hash counts; Watched are the keys counted apart.
	Hashes  bool
	Watched []string
	// Blind leaves the state out of steps whose hashes are counted: what a large
	// store costs is then the store's alone.
	Blind bool
	// FirstDeath leaves the runs behind the first death or hang of a batch empty,
	// without steps: a store that hangs in every sequence would cost two op
	// time-outs for each. It is for callers who want the first alone.
	FirstDeath bool
	// Foresee, where given, makes a function that an oracle asks for a plan of each
	// sequence; nil means that every state is wanted whole. An oracle calls it from
	// one goroutine.
	Foresee func() func(*op.Sequence) *Plan
	// stepwise asks for one message a step, so that the last op before a death
	// is known.
	stepwise bool
}

// reader turns a decoded message into runs. Its memory is reused.
type reader struct {
	tree
	sees op.Sees
	hex  bool // bytes come as hex text
	// body is the message that the tree's bytes are views of.
	body []byte
	// set holds the referenced keys of the state being read, when they are too
	// many to look through.
	set map[string]struct{}
	stream
	// seen says in which look a key was met last; looks counts them.
	seen  map[string]int
	looks int
}

// manyKeys is the number of keys from which a set beats looking through a list.
const manyKeys = 16

// child iterates: first child of a container, then next sibling.
func (r *reader) children(i int32) (first, end int32) {
	return i + 1, r.nodes[i].end
}

// field finds the value of a text key in a dict.
func (r *reader) field(dict int32, name string) (int32, bool) {
	if r.resolve(dict).kind != nodeDict {
		return 0, false
	}
	at, end := r.children(dict)
	for at < end {
		value := r.nodes[at].end
		if key := r.resolve(at); key.kind == nodeText && key.text == name {
			return value, true
		}
		at = r.nodes[value].end
	}
	return 0, false
}

// list checks that a node is a list of the wanted length (-1: any) and gives
// its bounds.
func (r *reader) list(i int32, what string, want int) (first, end int32, err error) {
	n := &r.nodes[i]
	if n.kind != nodeList || want >= 0 && n.n != int64(want) {
		return 0, 0, notList(what, want)
	}
	return i + 1, n.end, nil
}

// The errors are made apart from what finds them, which is called for every value.

func notList(what string, want int) error { return fmt.Errorf("%s is no list of %d", what, want) }

func (r *reader) text(i int32, what string) (string, error) {
	if n := &r.nodes[i]; n.kind == nodeText {
		return n.text, nil
	}
	return "", notText(what)
}

func notText(what string) error { return fmt.Errorf("%s is no text", what) }

func (r *reader) integer(i int32, what string) (int, error) {
	if n := &r.nodes[i]; n.kind == nodeInt {
		return int(n.n), nil
	}
	return 0, notInteger(what)
}

func notInteger(what string) error { return fmt.Errorf("%s is no integer", what) }

func (r *reader) run(i int32, sequence *op.Sequence, plan *Plan, hashes bool, dst *op.Run) error {
	refused, _, err := r.list(i, "a run", 2)
	if err != nil {
		return err
	}
	dst.Refused, dst.Steps = nil, dst.Steps[:0]
	want := len(sequence.Ops)
	if r.resolve(refused).kind != nodeNone {
		if dst.Refused, err = r.failure(refused); err != nil {
			return err
		}
		want = 0
	}
	at, _, err := r.list(r.nodes[refused].end, "steps", want)
	if err != nil {
		return err
	}
	for len(dst.Steps) < want {
		if err := r.step(at, sequence, plan, hashes, dst); err != nil {
			return fmt.Errorf("step %d: %w", len(dst.Steps), err)
		}
		at = r.nodes[at].end
	}
	return nil
}

// last reads the message behind the steps of a single sequence, which says
// whether the constructor refused.
func (r *reader) last(sequence *op.Sequence, dst *op.Run) error {
	list, ok := r.field(0, "runs")
	if !ok {
		return errors.New("the reply has neither a step nor runs")
	}
	run, _, err := r.list(list, "runs", 1)
	if err != nil {
		return err
	}
	refused, _, err := r.list(run, "a run", 2)
	if err != nil {
		return err
	}
	want := len(sequence.Ops)
	if r.resolve(refused).kind != nodeNone {
		if dst.Refused, err = r.failure(refused); err != nil {
			return err
		}
		want = 0
	}
	if len(dst.Steps) != want {
		return fmt.Errorf("it sent %d steps, expected %d", len(dst.Steps), want)
	}
	return nil
}

// emptyState is the state before the first op.
var emptyState op.State

// extend adds an observation to the run, reusing the memory of an earlier one.
func extend(run *op.Run) (before *op.State, now *op.Observation) {
	n := len(run.Steps)
	if n < cap(run.Steps) {
		run.Steps = run.Steps[:n+1]
	} else {
		run.Steps = append(run.Steps, op.Observation{})
	}
	before = &emptyState
	if n > 0 {
		before = &run.Steps[n-1].State
	}
	return before, &run.Steps[n]
}

// step reads one (outcome, state) or (outcome, state, hashes).
func (r *reader) step(i int32, sequence *op.Sequence, plan *Plan, hashes bool, run *op.Run) error {
	parts := 2
	if hashes {
		parts = 3
	}
	outcome, _, err := r.list(i, "a step", parts)
	if err != nil {
		return err
	}
	before, dst := extend(run)
	o := &sequence.Ops[len(run.Steps)-1]
	if dst.Outcome, err = r.outcome(outcome); err != nil {
		return err
	}
	state := r.nodes[outcome].end
	if plan != nil {
		err = r.planState(state, o, plan, len(run.Steps)-1, dst)
	} else if err = r.state(state, &dst.State); err == nil {
		dst.Victims = op.Victims(o, &dst.Outcome, before, &dst.State, dst.Victims[:0])
	}
	if err != nil {
		return err
	}
	dst.Hashes, dst.Watched = 0, 0
	if hashes {
		dst.State.Sees |= op.SeesHashes
		counts, _, err := r.list(r.nodes[state].end, "hashes", 2)
		if err != nil {
			return err
		}
		if dst.Hashes, err = r.integer(counts, "hashes"); err != nil {
			return err
		}
		if dst.Watched, err = r.integer(r.nodes[counts].end, "watched hashes"); err != nil {
			return err
		}
	}
	return nil
}

// outcome reads None, the bytes of a get, or an error.
func (r *reader) outcome(i int32) (op.Outcome, error) {
	n := r.resolve(i)
	switch {
	case n.kind == nodeNone:
		return op.Outcome{}, nil
	case n.kind == nodeBytes:
		return op.Outcome{Payload: viewBytes(n.text)}, nil
	case n.kind == nodeText && r.hex:
		payload, err := hexBytes(n.text)
		if err != nil {
			return op.Outcome{}, errors.New("a payload is not hex")
		}
		return op.Outcome{Payload: payload}, nil
	case n.kind == nodeList && n.n == 4:
		failure, err := r.failure(i)
		return op.Outcome{Err: failure}, err
	}
	// The store gave back what no get gives back: an outcome to be compared.
	return op.Outcome{Err: op.NewError(op.OtherError, "not bytes", "the store returned something that is no bytes", "")}, nil
}

// failure reads (kind, type, message, key or None).
func (r *reader) failure(i int32) (*op.Error, error) {
	at, _, err := r.list(i, "an error", 4)
	if err != nil {
		return nil, err
	}
	var parts [3]string
	for p := range parts {
		if parts[p], err = r.text(at, "a part of an error"); err != nil {
			return nil, err
		}
		at = r.nodes[at].end
	}
	kind, ok := op.ErrorKindNamed(parts[0])
	if !ok || kind == op.CrashError || kind == op.HangError {
		return nil, fmt.Errorf("error kind %.40q is not one an oracle may send", parts[0])
	}
	key := ""
	if r.resolve(at).kind == nodeText {
		key = r.resolve(at).text
	}
	return op.NewError(kind, parts[1], parts[2], key), nil
}

// state reads (order, keys or None, slots, refs, free, next). Order holds the
// stored keys that are no victims yet or are referenced, oldest first; the queue
// is what is left of it without the referenced ones.
func (r *reader) state(i int32, dst *op.State) error {
	if r.resolve(i).kind == nodeNone {
		*dst = op.State{}
		return nil
	}
	order, _, err := r.list(i, "a state", 6)
	if err != nil {
		return err
	}
	keys := r.nodes[order].end
	slots := r.nodes[keys].end
	refs := r.nodes[slots].end
	free := r.nodes[refs].end
	next := r.nodes[free].end
	if r.resolve(keys).kind == nodeNone {
		keys = order
	}
	dst.Sees = r.sees
	if err := r.entries(keys, slots, dst); err != nil {
		return err
	}
	if err := r.references(refs, dst); err != nil {
		return err
	}
	dst.Queue = dst.Queue[:0]
	at, end, err := r.list(order, "order", -1)
	if err != nil {
		return err
	}
	for at < end {
		n := &r.nodes[at]
		if n.kind != nodeText {
			return notText("a key of the order")
		}
		if !r.referenced(dst.Refs, n.text) {
			dst.Queue = append(dst.Queue, n.text)
		}
		at = n.end
	}
	dst.Free, dst.Next = dst.Free[:0], 0
	if r.sees&op.SeesSlots == 0 {
		return nil
	}
	if dst.Next, err = r.integer(next, "the next slot"); err != nil {
		return err
	}
	at, end, err = r.list(free, "the free slots", -1)
	for ; err == nil && at < end; at = r.nodes[at].end {
		var slot int
		slot, err = r.integer(at, "a free slot")
		dst.Free = append(dst.Free, slot)
	}
	return err
}

func (r *reader) entries(keys, slots int32, dst *op.State) error {
	dst.Entries = dst.Entries[:0]
	at, end, err := r.list(keys, "the stored keys", -1)
	if err != nil {
		return err
	}
	slot, _, err := r.list(slots, "the slots", int(r.nodes[keys].n))
	if err != nil {
		return err
	}
	for at < end {
		key, number := &r.nodes[at], &r.nodes[slot]
		if key.kind != nodeText {
			return notText("a stored key")
		}
		if number.kind != nodeInt {
			return notInteger("a slot")
		}
		dst.Entries = append(dst.Entries, op.Entry{Key: key.text, Slot: int(number.n)})
		at, slot = key.end, number.end
	}
	dst.Total = len(dst.Entries)
	return nil
}

func (r *reader) references(refs int32, dst *op.State) error {
	dst.Refs = dst.Refs[:0]
	if r.nodes[refs].kind != nodeDict {
		return errors.New("the references are no mapping")
	}
	at, end := r.children(refs)
	for at < end {
		key := &r.nodes[at]
		count := &r.nodes[key.end]
		if key.kind != nodeText {
			return notText("a referenced key")
		}
		if count.kind != nodeInt {
			return notInteger("a reference count")
		}
		dst.Refs = append(dst.Refs, op.Ref{Key: key.text, Count: int(count.n)})
		at = count.end
	}
	dst.TotalRefs = len(dst.Refs)
	if len(dst.Refs) > manyKeys {
		if r.set == nil {
			r.set = make(map[string]struct{})
		}
		clear(r.set)
		for i := range dst.Refs {
			r.set[dst.Refs[i].Key] = struct{}{}
		}
	}
	return nil
}

func (r *reader) referenced(refs []op.Ref, key string) bool {
	if len(refs) > manyKeys {
		_, ok := r.set[key]
		return ok
	}
	for i := range refs {
		if refs[i].Key == key {
			return true
		}
	}
	return false
}
