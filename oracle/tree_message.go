package oracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/diffstore/diffstore/op"
)

// sendTree queues a request for a tree.
func (p *process) sendTree(t *Tree) error {
	fresh := p.table != &t.Ops[0]
	p.table = &t.Ops[0]
	if p.hello.Wire != WireJSON {
		return p.post(p.encoder.treeRequest(t, fresh))
	}
	line, err := jsonTreeRequest(t, fresh)
	if err != nil {
		return err
	}
	return p.post(line)
}

// treeRequest encodes a tree, its table only where it is fresh.
func (e *marshalEncoder) treeRequest(t *Tree, fresh bool) []byte {
	e.begin()
	e.word("tree")
	e.tuple(4)
	e.integer(t.Slots)
	e.integer(t.ObjectBytes)
	if fresh {
		e.list(len(t.Ops))
		for i := range t.Ops {
			share[t.Ops[i].Kind].marshal(e, &t.Ops[i])
		}
	} else {
		e.buf = append(e.buf, codeNone)
	}
	e.list(len(t.Branches))
	for i := range t.Branches {
		e.tuple(2)
		e.places(t.Branches[i].Path)
		e.places(t.Branches[i].Tries)
	}
	e.writeObjects()
	return e.frame()
}

func (e *marshalEncoder) places(list []int32) {
	e.list(len(list))
	for _, place := range list {
		e.integer(int(place))
	}
}

func jsonTreeRequest(t *Tree, fresh bool) ([]byte, error) {
	var table objectTable
	table.reset()
	var ops []any
	if fresh {
		for i := range t.Ops {
			ops = append(ops, share[t.Ops[i].Kind].json(&table, &t.Ops[i]))
		}
	}
	branches := make([][2][]int32, len(t.Branches))
	for i := range t.Branches {
		b := &t.Branches[i]
		branches[i] = [2][]int32{append([]int32{}, b.Path...), b.Tries}
	}
	request := map[string]any{"objects": table.json(), "tree": []any{t.Slots, t.ObjectBytes, ops, branches}}
	line, err := json.Marshal(request)
	return append(line, '\n'), err
}

// branches reads the reply to a tree.
func (r *reader) branches(t *Tree, dst []Shown) (work Work, err error) {
	list, ok := r.field(0, "branches")
	if !ok {
		return work, errors.New("the reply has no branches")
	}
	at, _, err := r.list(list, "branches", len(t.Branches))
	if err != nil {
		return work, err
	}
	for i := range t.Branches {
		if err := r.shown(at, len(t.Branches[i].Tries), &dst[i]); err != nil {
			return work, fmt.Errorf("branch %d: %w", i, err)
		}
		at = r.nodes[at].end
	}
	for name, into := range map[string]*int{"performed": &work.Performed, "rebuilt": &work.Rebuilt} {
		if count, ok := r.field(0, name); ok {
			if *into, err = r.integer(count, name); err != nil {
				return work, err
			}
		}
	}
	return work, nil
}

// shown reads (constructor error or None, leaves, places).
func (r *reader) shown(i int32, tries int, dst *Shown) error {
	refused, _, err := r.list(i, "a branch", 3)
	if err != nil {
		return err
	}
	dst.Leaves, dst.At = dst.Leaves[:0], dst.At[:0]
	if r.resolve(refused).kind != nodeNone {
		failure, err := r.failure(refused)
		dst.Leaves = append(dst.Leaves, Leaf{Observation: op.Observation{Outcome: op.Outcome{Err: failure}}})
		dst.At = append(dst.At, make([]int32, tries)...)
		return err
	}
	leaves := r.nodes[refused].end
	at, end, err := r.list(leaves, "leaves", -1)
	if err != nil {
		return err
	}
	for ; at < end; at = r.nodes[at].end {
		if n := len(dst.Leaves); n < cap(dst.Leaves) {
			dst.Leaves = dst.Leaves[:n+1]
		} else {
			dst.Leaves = append(dst.Leaves, Leaf{})
		}
		if err := r.leaf(at, &dst.Leaves[len(dst.Leaves)-1]); err != nil {
			return fmt.Errorf("leaf %d: %w", len(dst.Leaves)-1, err)
		}
	}
	at, _, err = r.list(r.nodes[leaves].end, "places", tries)
	for ; err == nil && len(dst.At) < tries; at = r.nodes[at].end {
		var place int
		place, err = r.integer(at, "a place")
		if err == nil && (place < 0 || place >= len(dst.Leaves)) {
			err = fmt.Errorf("place %d is that of no leaf", place)
		}
		dst.At = append(dst.At, int32(place))
	}
	return err
}

// leaf reads (outcome, state, contents or None, memory or None).
func (r *reader) leaf(i int32, dst *Leaf) (err error) {
	outcome, _, err := r.list(i, "a leaf", 4)
	if err != nil {
		return err
	}
	if dst.Outcome, err = r.outcome(outcome); err != nil {
		return err
	}
	state := r.nodes[outcome].end
	if err := r.state(state, &dst.State); err != nil {
		return err
	}
	contents := r.nodes[state].end
	dst.Contents, dst.Read = nil, r.resolve(contents).kind != nodeNone
	dst.Unreadable = !dst.Read
	if dst.Read {
		read, err := r.outcome(contents)
		if err != nil {
			return err
		}
		dst.Contents = read.Payload
	}
	dst.memory, dst.from = r.nodes[contents].end, r
	order, _ := r.children(state)
	dst.Order = dst.Order[:0]
	for at, end := r.children(order); at < end; at = r.nodes[at].end {
		dst.Order = append(dst.Order, r.resolve(at).text)
	}
	return nil
}

// AppendMemory appends to dst an encoding of what the store keeps beside its
// layout and a new store does not: nothing for most. label says what stands for
// a text that is a key, so that stores which differ in the names of their keys
// alone are encoded alike.
func (l *Leaf) AppendMemory(dst []byte, label func(text string) string) []byte {
	if l.from == nil || l.from.resolve(l.memory).kind == nodeNone {
		return dst
	}
	return l.from.remember(dst, l.memory, label)
}

// remember encodes one value; a dict is sorted, since its order is no memory.
func (r *reader) remember(dst []byte, i int32, label func(text string) string) []byte {
	n := r.resolve(i)
	at, end := r.children(i)
	switch n.kind {
	case nodeText:
		return fmt.Appendf(dst, "t%q", label(n.text))
	case nodeBytes:
		return fmt.Appendf(dst, "b%q", n.text)
	case nodeList:
		dst = fmt.Appendf(dst, "l%d", n.n)
		for ; at < end; at = r.nodes[at].end {
			dst = r.remember(dst, at, label)
		}
		return dst
	case nodeDict:
		var pairs []string
		for at < end {
			value := r.nodes[at].end
			pairs = append(pairs, string(r.remember(r.remember(nil, at, label), value, label)))
			at = r.nodes[value].end
		}
		slices.Sort(pairs)
		return fmt.Appendf(dst, "d%q", pairs)
	}
	return fmt.Appendf(dst, "%d:%d", n.kind, n.n)
}
