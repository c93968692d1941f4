package gen

import (
	"testing"

	"github.com/diffstore/diffstore/op"
)

// BenchmarkCase measures generation alone; ns/drawn is per op generated.
func BenchmarkCase(b *testing.B) {
	for _, info := range Profiles() {
		b.Run("profile="+info.Name, func(b *testing.B) {
			benchmarkCase(b, Config{Profile: info.Name})
		})
	}
	b.Run("slots=1000000", func(b *testing.B) {
		benchmarkCase(b, Config{Profile: "balanced", Slots: 1_000_000, MaxOps: 1000})
	})
}

func benchmarkCase(b *testing.B, c Config) {
	b.ReportAllocs()
	var s op.Sequence
	ops := 0
	for i := 0; b.Loop(); i++ {
		Case(1, i, c, &s)
		ops += len(s.Ops)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(ops), "ns/drawn")
	b.ReportMetric(0, "ns/op")
}
