package model

import (
	"fmt"
	"testing"

	"github.com/diffstore/diffstore/op"
)

// BenchmarkStep is a campaign: lives of 40 ops on small stores, everything
// observed after each. One iteration is one op.
func BenchmarkStep(b *testing.B) {
	var sequences []op.Sequence
	for seed := range uint64(64) {
		sequences = append(sequences, randomSequence(seed, 40))
	}
	for _, variant := range Variants() {
		b.Run("variant="+variant, func(b *testing.B) {
			s := mustNew(b, variant, 10, 4)
			var seen op.Observation
			b.ReportAllocs()
			life, at := 0, 0
			for b.Loop() {
				if at == 0 {
					if err := s.Reset(sequences[life].Slots, sequences[life].ObjectBytes); err != nil {
						b.Fatal(err)
					}
				}
				s.Step(&sequences[life].Ops[at], &seen)
				if at++; at == len(sequences[life].Ops) {
					at, life = 0, (life+1)%len(sequences)
				}
			}
		})
	}
}

// BenchmarkPut is a worker's put on a full store: four new objects with their
// retains, as many releases, as many victims. Seven tenths of the keys are
// referenced.
func BenchmarkPut(b *testing.B) {
	for _, variant := range Variants() {
		for _, slots := range []int{1_000, 10_000, 100_000, 450_000, 1_000_000} {
			for _, payload := range []int{64, 4096} {
				if payload > 64 && slots > 100_000 {
					continue
				}
				b.Run(fmt.Sprintf("variant=%s/slots=%d/payload=%d", variant, slots, payload), func(b *testing.B) {
					l := newLoad(b, variant, slots, slots/10*7, payload)
					defer l.store.Release()
					b.ReportAllocs()
					for b.Loop() {
						l.put(b, true)
					}
				})
			}
		}
	}
}

// BenchmarkLines brings cache lines from random places of 128 MiB, as many at once as
// a put of four new keys in a large store does: four times three cells, an entry
// released and one evicted, two lines of text brought, two released and two looked
// up, and a slot. It is the least that such a put can take.
func BenchmarkLines(b *testing.B) {
	const lines = 4 * (3 + 2 + 2 + 2 + 2 + 1)
	memory := make([]uint64, 128<<20/8)
	for i := range memory {
		memory[i] = uint64(i)
	}
	at, sum := uint64(1), uint64(0)
	for b.Loop() {
		for range lines {
			at = at*6364136223846793005 + 1442695040888963407
			sum += memory[at>>40] // of 2^24 words
		}
	}
	if sum == 0 {
		b.Fatal("nothing was read")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*lines), "ns/line")
}

// BenchmarkGet reads eight keys of a full store in one call.
func BenchmarkGet(b *testing.B) {
	for _, slots := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("slots=%d", slots), func(b *testing.B) {
			l := newLoad(b, "main", slots, slots/2, 64)
			defer l.store.Release()
			var state op.State
			l.store.Observe(&state)
			var payload []byte
			at := 0
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if payload, err = l.store.Get(state.Queue[at:at+8], payload[:0]); err != nil {
					b.Fatal(err)
				}
				at = (at + 8) % (len(state.Queue) - 8)
			}
		})
	}
}

// BenchmarkKeyError is the one path that walks the queue: a put that releases a
// key, fails, and puts it back at its old place in main.
func BenchmarkKeyError(b *testing.B) {
	for _, variant := range []string{"main", "free-queue", "front-rotation"} {
		for _, slots := range []int{10, 1_000, 100_000} {
			b.Run(fmt.Sprintf("variant=%s/slots=%d", variant, slots), func(b *testing.B) {
				l := newLoad(b, variant, slots/4*4, slots/2/4*4, 64)
				defer l.store.Release()
				key := []string{l.keys[(l.at-4+len(l.keys))%len(l.keys)]}
				unknown := []string{key[0], "unknown"}
				for b.Loop() {
					if l.store.Put(nil, nil, unknown) == nil || l.store.Put(nil, key, nil) != nil {
						b.Fatal("the release did not fail or the retain did")
					}
				}
			})
		}
	}
}

// BenchmarkClone is one step of a search of the state space.
func BenchmarkClone(b *testing.B) {
	l := newLoad(b, "main", 8, 4, 4)
	b.ReportAllocs()
	for b.Loop() {
		l.store.Clone()
	}
}

func BenchmarkInvariants(b *testing.B) {
	for _, keys := range []int{10, 1000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			state := sound(keys)
			b.ReportAllocs()
			for b.Loop() {
				if err := Invariants(&state, keys); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
