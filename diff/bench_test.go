package diff

import (
	"testing"

	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/op"
)

// BenchmarkSides measures what a campaign does on this side of the pipe beside
// encoding and decoding; ns/storeop is per op of a store.
func BenchmarkSides(b *testing.B) {
	batch := make([]op.Sequence, 100)
	left, right := make([]op.Run, len(batch)), make([]op.Run, len(batch))
	ops := 0
	for i := range batch {
		gen.Case(1, i, gen.Config{Profile: "balanced"}, &batch[i])
		ops += len(batch[i].Ops)
	}
	run := func(runs []op.Run) {
		store, err := model.New("main", 1, 1)
		if err != nil {
			b.Fatal(err)
		}
		for i := range batch {
			RunModel(store, &batch[i], &runs[i])
		}
	}
	run(left)
	run(right)
	measure := func(name string, do func(i int)) {
		b.Run("part="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for i := range batch {
					do(i)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*ops), "ns/storeop")
			b.ReportMetric(0, "ns/op")
		})
	}
	var scratch op.Sequence
	measure("generate", func(i int) { gen.Case(1, i, gen.Config{Profile: "balanced"}, &scratch) })
	store, err := model.New("main", 1, 1)
	if err != nil {
		b.Fatal(err)
	}
	measure("model", func(i int) { RunModel(store, &batch[i], &left[i]) })
	c := &comparer{}
	measure("compare", func(i int) {
		if d := c.runs(&batch[i], &left[i], &right[i]); d != nil {
			b.Fatal(d.Field)
		}
	})
	var stats gen.Stats
	measure("count", func(i int) { stats.Add(&batch[i], left[i].Steps) })
}
