package diff

import "github.com/diffstore/diffstore/op"

// Comparer compares one op at a time, for searches that hold no whole runs. It
// is used by one goroutine.
type Comparer struct {
	c   comparer
	one op.Sequence
}

// NewComparer makes a Comparer for stores of that many slots.
func NewComparer(slots int, options Options) *Comparer {
	return &Comparer{c: comparer{Options: options}, one: op.Sequence{Slots: slots, Ops: make([]op.Op, 1)}}
}

// Step gives the first field in which two observations of an op differ, with
// the broken invariant in words where it is that; an empty field is no difference.
func (c *Comparer) Step(o *op.Op, left, right *op.Observation) (field Field, detail string) {
	c.one.Ops[0] = *o
	return c.c.step(&c.one, 0, left, right)
}
