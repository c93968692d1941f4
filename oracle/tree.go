package oracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/diffstore/diffstore/op"
)

// Tree is a request of another shape than a batch of sequences: many ops, each
// tried in the same state. An oracle that can copy its store reaches a state
// once, and puts it back before each op.
type Tree struct {
	Slots, ObjectBytes int
	// Ops is the table that paths and tries are places in. It is sent once, so it
	// must be the same slice in all trees of an oracle.
	Ops []op.Op
	// Keys are all keys that the ops name.
	Keys     []string
	Branches []Branch
}

// Branch is one state, said as the ops that lead to it, and the ops to try in it.
type Branch struct{ Path, Tries []int32 }

// Leaf is what a store showed after the last op of a path, its victims apart:
// those follow from the state before it, see op.Victims.
type Leaf struct {
	op.Observation
	// Contents are the bytes of all stored keys, in the order of State.Entries,
	// where Read says that a get gave them; Unreadable that it did not.
	Contents         []byte
	Read, Unreadable bool
	// Order is the store's own order of keys, oldest first, with or without the
	// referenced ones; nil where it was not seen.
	Order []string
	// memory is the place of what the store keeps beside that, in from's message.
	memory int32
	from   *reader
}

// Unseen is the place of a try that was not made since one before it ended the
// process.
const Unseen = -1

// Shown is what a store showed in one branch.
type Shown struct {
	// Leaves holds each different leaf once. The first is the state itself.
	Leaves []Leaf
	// At says which leaf each try led to, or Unseen.
	At []int32
}

// Work is what an oracle had to do for a tree.
type Work struct {
	// Performed counts ops, those that only led to a state included; Rebuilt the
	// tries for which a state was reached anew.
	Performed, Rebuilt int
}

// Copies tells whether the oracle can put a store back as it was.
func (o *Oracle) Copies() bool { return o.hello.Copies }

// SubmitTree hands over a tree. It must stay as it is until it is collected.
// Trees and batches must not be under way at the same time.
func (o *Oracle) SubmitTree(t *Tree) error {
	o.trees = append(o.trees, t)
	if !o.hello.Trees {
		return nil
	}
	return o.process.sendTree(t)
}

// CollectTree waits for the oldest tree under way and fills dst, one Shown a
// branch. What dst holds is valid until the next but one call. Where the process
// dies or hangs, the tree is run again as plain sequences, up to the first that
// does so by the rules of Oracle; what lies behind it is Unseen.
func (o *Oracle) CollectTree(dst []Shown) (Work, error) {
	t := o.trees[0]
	o.trees = o.trees[1:]
	if !o.hello.Trees {
		return o.plainly(t, dst)
	}
	r := &o.readers[o.collected%2]
	o.collected++
	err := o.process.receive(r, o.treeLimit(t))
	if err == nil {
		var work Work
		if work, err = r.branches(t, dst); err == nil {
			return work, nil
		}
	}
	if !errors.Is(err, errDead) {
		return Work{}, o.broken(err)
	}
	how, known := o.drop(), len(o.incidents)
	if err := o.restart(); err != nil {
		return Work{}, err
	}
	work, err := o.plainly(t, dst)
	if err != nil {
		return work, err
	}
	if len(o.incidents) == known && !terminal(dst[:len(t.Branches)]) {
		o.incidents = append(o.incidents, deathWord(how)+" among many states, which did not recur when they were run again")
	}
	for _, t := range o.trees {
		if err := o.process.sendTree(t); err != nil {
			return work, err
		}
	}
	return work, nil
}

func terminal(shown []Shown) bool {
	for i := range shown {
		for j := range shown[i].Leaves {
			if shown[i].Leaves[j].Outcome.Terminal() {
				return true
			}
		}
	}
	return false
}

// treeLimit is how long a tree may take.
func (o *Oracle) treeLimit(t *Tree) time.Duration {
	slack, ops := batchSlack, 0
	if o.BlackBox() {
		slack = batchSlackBlackBox
	}
	for i := range t.Branches {
		b := &t.Branches[i]
		if o.hello.Copies {
			ops += len(b.Path) + len(b.Tries)
		} else {
			ops += (len(b.Path) + 1) * (len(b.Tries) + 1)
		}
	}
	return o.launch.opTimeout() + time.Duration(ops)*slack
}

// plainly runs a tree as sequences, up to the first that ends the process.
func (o *Oracle) plainly(t *Tree, dst []Shown) (Work, error) {
	was := o.ask
	o.ask.FirstDeath = true
	defer func() { o.ask = was }()
	// Without gets: they are no ops of the tree, and the store may end in each.
	return Plainly(o, t, dst, !o.hello.Trees)
}

// Runner is what runs sequences: an Oracle, or any other subject.
type Runner interface {
	Sees() op.Sees
	Submit(batch []op.Sequence) error
	Collect(dst []op.Run) error
}

// plainBatch is how many sequences of a tree are run in one request.
const plainBatch = 64

// Plainly runs a tree on a subject that knows sequences alone, one for each try,
// up to the first that ends the subject's process. With contents a get for each
// key stands behind the op that is tried; one that ends the process leaves them
// unreadable.
func Plainly(runner Runner, t *Tree, dst []Shown, contents bool) (Work, error) {
	var work Work
	var keys []string
	if contents {
		keys = t.Keys
	}
	dead := false
	for i := range t.Branches {
		b, shown := &t.Branches[i], &dst[i]
		shown.Leaves, shown.At = shown.Leaves[:0], shown.At[:0]
		tries := append([]int32{Unseen}, b.Tries...) // first the state itself
		for len(tries) > 0 && !dead {
			batch := t.sequences(b.Path, tries[:min(plainBatch, len(tries))], keys)
			if err := runner.Submit(batch); err != nil {
				return work, err
			}
			runs := make([]op.Run, len(batch))
			if err := runner.Collect(runs); err != nil {
				return work, err
			}
			for j := range runs {
				if j > 0 && runs[j].Refused == nil && len(runs[j].Steps) == 0 && len(batch[j].Ops) > 0 {
					break // not run: the process ended in one of the gets before it
				}
				leaf := plainLeaf(b, tries[0], &runs[j], runner.Sees(), keys)
				if tries[0] != Unseen {
					shown.At = append(shown.At, int32(len(shown.Leaves)))
				}
				shown.Leaves = append(shown.Leaves, leaf)
				tries = tries[1:]
				work.Performed += len(b.Path) + 1
				work.Rebuilt++
				if dead = leaf.Outcome.Terminal(); dead {
					break
				}
			}
		}
		for len(shown.At) < len(b.Tries) {
			shown.At = append(shown.At, Unseen)
		}
	}
	return work, nil
}

func (t *Tree) sequences(path, tries []int32, keys []string) []op.Sequence {
	batch := make([]op.Sequence, len(tries))
	for i, try := range tries {
		s := &batch[i]
		s.Slots, s.ObjectBytes = t.Slots, t.ObjectBytes
		s.Ops = make([]op.Op, 0, len(path)+1+len(keys))
		for _, place := range path {
			s.Ops = append(s.Ops, t.Ops[place])
		}
		if try != Unseen {
			s.Ops = append(s.Ops, t.Ops[try])
		}
		for k := range keys {
			s.Ops = append(s.Ops, op.Op{Kind: op.Get, Keys: keys[k : k+1]})
		}
	}
	return batch
}

// plainLeaf reads a leaf out of a run.
func plainLeaf(b *Branch, try int32, run *op.Run, sees op.Sees, keys []string) Leaf {
	leaf := Leaf{Read: keys != nil}
	leaf.State.Sees = sees
	if run.Refused != nil {
		leaf.Outcome.Err = run.Refused
		return leaf
	}
	steps := len(b.Path)
	if try != Unseen {
		steps++
	}
	steps = min(steps, len(run.Steps))
	if steps > 0 {
		leaf.Observation = run.Steps[steps-1].Clone()
	}
	for _, entry := range leaf.State.Entries {
		if keys == nil {
			break
		}
		at := steps + slices.Index(keys, entry.Key)
		if at < steps || at >= len(run.Steps) || run.Steps[at].Outcome.Err != nil {
			leaf.Read, leaf.Unreadable = false, true
			break
		}
		leaf.Contents = append(leaf.Contents, run.Steps[at].Outcome.Payload...)
	}
	return leaf
}

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
