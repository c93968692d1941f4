package oracle

import (
	"errors"
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
	op.Receiver
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
			if err := op.Collect(runner, runs); err != nil {
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
