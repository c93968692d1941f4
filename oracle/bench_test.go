package oracle

import (
	"errors"
	"testing"

	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/op"
)

// benchBatch is a request of a campaign and the reply of the embedded store.
func benchBatch(b *testing.B) (batch []op.Sequence, reply []byte, ops int, sees op.Sees) {
	b.Helper()
	launch, err := Resolve("embedded", Options{})
	var p *process
	if err == nil {
		p, err = start(launch)
	}
	var fault *Fault
	if errors.As(err, &fault) && fault.Kind == "python" {
		b.Skip("no Python: ", fault.What)
	}
	if err != nil {
		b.Fatal(err)
	}
	defer p.end()
	batch = make([]op.Sequence, 100)
	for i := range batch {
		gen.Case(1, i, gen.Config{Profile: "balanced"}, &batch[i])
		ops += len(batch[i].Ops)
	}
	var r reader
	if err := p.send(unplanned(batch), Ask{}); err != nil {
		b.Fatal(err)
	}
	if err := p.receive(&r, DefaultOpTimeout); err != nil {
		b.Fatal(err)
	}
	return batch, r.body, ops, p.sees
}

// unplanned wants every state whole.
func unplanned(batch []op.Sequence) flight { return flight{batch, make([]*Plan, len(batch))} }

// perOp reports the time of one op of a batch.
func perOp(b *testing.B, ops int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*ops), "ns/storeop")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkEncode writes requests of 100 sequences.
func BenchmarkEncode(b *testing.B) {
	batch, _, ops, _ := benchBatch(b)
	var e marshalEncoder
	b.ReportAllocs()
	for b.Loop() {
		e.request(unplanned(batch), Ask{})
	}
	perOp(b, ops)
}

// BenchmarkDecode reads replies to 100 sequences, run by run.
func BenchmarkDecode(b *testing.B) {
	batch, reply, ops, sees := benchBatch(b)
	r := reader{sees: sees, body: reply}
	var run op.Run
	b.ReportAllocs()
	for b.Loop() {
		err := r.open(flight{batch: batch}, false)
		for i := 0; err == nil && i < len(batch); i++ {
			err = r.next(&run)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	perOp(b, ops)
}
