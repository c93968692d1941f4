package oracle

import (
	"testing"
	"time"

	"github.com/diffstore/diffstore/op"
)

// TestBatchLimit: a batch on stores of a few keys has to end soon, one on a large
// store may look at every key in every op.
func TestBatchLimit(t *testing.T) {
	o := &Oracle{launch: Launch{OpTimeout: time.Second}}
	objects := make([]op.Object, 1000)
	put := op.Op{Kind: op.Put, Objects: objects}
	for _, c := range []struct {
		slots, ops int
		want       time.Duration
	}{
		{slots: 10, ops: 100, want: time.Second + 100*(batchSlack+10*keySlack)},
		{slots: 1500, ops: 4, want: time.Second + 4*batchSlack + (1000+1500+1500+1500)*keySlack},
		{slots: 1 << 40, ops: 2, want: time.Second + 2*batchSlack + (1000+2000)*keySlack},
		{slots: -1, ops: 2, want: time.Second + 2*batchSlack},
	} {
		s := op.Sequence{Slots: c.slots, ObjectBytes: 1}
		for range c.ops {
			s.Ops = append(s.Ops, put)
		}
		if got := o.batchLimit([]op.Sequence{s}); got != c.want {
			t.Errorf("%d slots, %d ops: %v, want %v", c.slots, c.ops, got, c.want)
		}
	}
}
