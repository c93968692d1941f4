package model

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/diffstore/diffstore/op"
)

// randomSequence draws a life of a small store. The share of misuse differs by
// seed: some sequences have none, some have unknown releases, some wrong sizes.
func randomSequence(seed uint64, ops int) op.Sequence {
	r := rand.New(rand.NewPCG(seed, 1))
	s := op.Sequence{Slots: 1 + r.IntN(8), ObjectBytes: 1 + r.IntN(3)}
	keys := 2 + r.IntN(14)
	misuse := r.IntN(4)
	key := func() string { return "k" + strconv.Itoa(r.IntN(keys)) }
	list := func(most int) (out []string) {
		for range r.IntN(most + 1) {
			out = append(out, key())
		}
		return out
	}
	var held []string // references that a balanced caller could give back
	for range ops {
		switch draw := r.IntN(20); {
		case draw < 4:
			s.Ops = append(s.Ops, op.Op{Kind: op.Get, Keys: list(3)})
			continue
		case draw == 4 && misuse == 3 && r.IntN(20) == 0:
			s.Ops = append(s.Ops, op.Op{Kind: op.Close})
			continue
		}
		o := op.Op{Kind: op.Put, Retain: list(2)}
		held = append(held, o.Retain...)
		for _, k := range list(4) {
			size := s.ObjectBytes
			if misuse >= 2 && r.IntN(12) == 0 {
				size = r.IntN(4)
			}
			payload := make([]byte, size)
			for i := range payload {
				payload[i] = byte(r.Uint32())
			}
			o.Objects = append(o.Objects, op.Object{Key: k, Payload: payload})
		}
		for range r.IntN(4) {
			if misuse == 1 && r.IntN(300) == 0 || misuse > 1 && r.IntN(10) == 0 {
				o.Release = append(o.Release, key())
			} else if len(held) > 0 {
				i := r.IntN(len(held))
				o.Release = append(o.Release, held[i])
				held = slices.Delete(held, i, i+1)
			}
		}
		s.Ops = append(s.Ops, o)
	}
	return s
}

// describe writes an observation in one text, with what has no order sorted.
func describe(seen *op.Observation) string {
	var b strings.Builder
	switch err := seen.Outcome.Err; {
	case err != nil:
		fmt.Fprintf(&b, "error %+v\n", *err)
	case seen.Outcome.Payload != nil:
		fmt.Fprintf(&b, "payload %x\n", seen.Outcome.Payload)
	}
	state := &seen.State
	entries, refs := slices.Clone(state.Entries), slices.Clone(state.Refs)
	slices.SortFunc(entries, func(a, b op.Entry) int { return strings.Compare(a.Key, b.Key) })
	slices.SortFunc(refs, func(a, b op.Ref) int { return strings.Compare(a.Key, b.Key) })
	fmt.Fprintf(&b, "victims %q\nentries %v\nqueue %q\nrefs %v\nfree %v next %d\nsees %d total %d %d",
		seen.Victims, entries, state.Queue, refs, state.Free, state.Next, state.Sees, state.Total, state.TotalRefs)
	return b.String()
}

func mustNew(t testing.TB, variant string, slots, objectBytes int) *Store {
	t.Helper()
	s, err := New(variant, slots, objectBytes)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStoreFollowsTheDescription runs random sequences through the store and the
// naive one, on one reused store a variant, and judges every observation.
func TestStoreFollowsTheDescription(t *testing.T) {
	for _, variant := range Variants() {
		t.Run(variant, func(t *testing.T) {
			s := mustNew(t, variant, 1, 1)
			ledger := Ledger{Rewrites: Rewrites(variant)}
			kinds := map[op.ErrorKind]int{}
			for seed := range uint64(300) {
				ops := 40
				if seed%100 == 0 {
					ops = 2000 // long enough for what happens once in many ops
				}
				sequence := randomSequence(seed, ops)
				if err := s.Reset(sequence.Slots, sequence.ObjectBytes); err != nil {
					t.Fatal(err)
				}
				ledger.Reset()
				literal := newNaive(variant, sequence.Slots, sequence.ObjectBytes)
				var seen op.Observation
				var before op.State
				s.Observe(&before)
				for i := range sequence.Ops {
					o := &sequence.Ops[i]
					s.Step(o, &seen)
					want := literal.step(o)
					kinds[seen.Outcome.Kind()]++
					if got, want := describe(&seen), describe(&want); got != want {
						t.Fatalf("seed %d, op %d, %s:\n%s\nwant\n%s", seed, i, o, got, want)
					}
					if derived := op.Victims(o, &seen.Outcome, &before, &seen.State, nil); !slices.Equal(derived, seen.Victims) {
						t.Fatalf("seed %d, op %d, %s: op.Victims derives %q, the store evicted %q", seed, i, o, derived, seen.Victims)
					}
					if err := Invariants(&seen.State, s.Slots()); err != nil {
						t.Fatalf("seed %d, op %d, %s: %v", seed, i, o, err)
					}
					if err := ledger.Check(o, &seen); err != nil {
						t.Fatalf("seed %d, op %d, %s: %v", seed, i, o, err)
					}
					if err := s.leak(&seen.State); err != nil {
						t.Fatalf("seed %d, op %d, %s: %v", seed, i, o, err)
					}
					s.Observe(&before)
				}
			}
			// The sequences must reach every error that the variant has.
			reach := []op.ErrorKind{op.NoError, op.KeyError, op.MissingError, op.SizeError, op.ClosedError}
			if !s.variant.grows {
				reach = append(reach, op.CapacityError)
			}
			for _, kind := range reach {
				if kinds[kind] < 50 {
					t.Errorf("only %d ops ended in %q", kinds[kind], kind)
				}
			}
		})
	}
}

// leak tells of an entry that is kept for no key or lost for reuse.
func (s *Store) leak(state *op.State) error {
	keys := map[string]bool{}
	for _, e := range state.Entries {
		keys[e.Key] = true
	}
	for _, ref := range state.Refs {
		keys[ref.Key] = true
	}
	idleEntries := len(s.dead)
	for index := s.idleHead; index != root; index = s.entries[index].next {
		idleEntries++
	}
	if s.table.used != len(keys) || len(s.entries) != 1+len(keys)+idleEntries {
		return fmt.Errorf("%d keys have %d places in the table and all but %d of %d entries", len(keys), s.table.used, idleEntries+1, len(s.entries))
	}
	return nil
}

// TestRotations drives front-rotation as it is rarely driven: many references held
// for long, many evictions, and now and then a failing call that shows where the
// referenced keys have come to stand.
func TestRotations(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 9))
		slots := 6 + r.IntN(20)
		s := mustNew(t, "front-rotation", slots, 1)
		literal := newNaive("front-rotation", slots, 1)
		var held, again []string
		for i := range 600 {
			key := "k" + strconv.Itoa(i)
			o := op.Op{Kind: op.Put, Objects: []op.Object{{Key: key, Payload: []byte{byte(i)}}}}
			switch draw := r.IntN(60); {
			case len(again) > 0: // referenced again at the place they came back to
				o.Retain = again
				held = append(held, again...)
				again = nil
			case draw < 20 && len(held) < slots*2/3:
				o.Retain = []string{key}
				held = append(held, key)
			case draw < 24 && len(held) > 0:
				o.Objects = nil
				o.Release = held[:1]
				held = held[1:]
			case draw == 24 && (i > 300 || seed%2 == 0):
				r.Shuffle(len(held), func(a, b int) { held[a], held[b] = held[b], held[a] })
				n := r.IntN(len(held) + 1)
				o.Release = append(slices.Clone(held[:n]), "unknown")
				again = slices.Clone(held[:r.IntN(n+1)])
				held = slices.Clone(held[n:])
			}
			var seen op.Observation
			s.Step(&o, &seen)
			want := literal.step(&o)
			if got, want := describe(&seen), describe(&want); got != want {
				t.Fatalf("seed %d, op %d, %s:\n%s\nwant\n%s", seed, i, o, got, want)
			}
			if len(s.rotations) > slots+65 {
				t.Fatalf("%d rotations are noted for %d keys", len(s.rotations), s.Len())
			}
		}
	}
}

// TestVariantsAgreeUntilAKeyError holds the variants against main: the
// first difference of any kind follows a KeyError that both raised.
func TestVariantsAgreeUntilAKeyError(t *testing.T) {
	for _, variant := range []string{"free-queue", "front-rotation"} {
		differed := 0
		for seed := range uint64(300) {
			sequence := randomSequence(seed, 40)
			base, head := mustNew(t, "main", sequence.Slots, sequence.ObjectBytes), mustNew(t, variant, sequence.Slots, sequence.ObjectBytes)
			var left, right op.Observation
			keyErrors := 0
			for i := range sequence.Ops {
				o := &sequence.Ops[i]
				base.Step(o, &left)
				head.Step(o, &right)
				if left.Outcome.Kind() == op.KeyError {
					keyErrors++
				}
				if describe(&left) == describe(&right) {
					continue
				}
				if differed++; keyErrors == 0 {
					t.Fatalf("%s, seed %d, op %d, %s: differs before any KeyError", variant, seed, i, o)
				}
				break
			}
		}
		if differed == 0 {
			t.Errorf("%s never differed: the sequences do not reach the cases that tell it from main", variant)
		}
	}
}

// TestTextArenaChangesNothing runs the store that copies key text beside one that
// keeps strings: nothing but memory may tell them apart.
func TestTextArenaChangesNothing(t *testing.T) {
	for seed := range uint64(300) {
		sequence := randomSequence(seed, 60)
		plain := mustNew(t, "front-rotation", sequence.Slots, sequence.ObjectBytes)
		copied := mustNew(t, "front-rotation", sequence.Slots, sequence.ObjectBytes)
		copied.texts.arena = new(textArena)
		var left, right op.Observation
		for i := range sequence.Ops {
			o := &sequence.Ops[i]
			stretch(o)
			plain.Step(o, &left)
			copied.Step(o, &right)
			if got, want := describe(&right), describe(&left); got != want {
				t.Fatalf("seed %d, op %d:\n%s\nwant\n%s", seed, i, got, want)
			}
		}
	}
}

// stretch gives the op's keys lengths from nothing to some hundreds of bytes.
func stretch(o *op.Op) {
	long := func(key string) string {
		n, _ := strconv.Atoi(key[1:])
		return strings.Repeat(key, n*n)
	}
	for i := range o.Objects {
		o.Objects[i].Key = long(o.Objects[i].Key)
	}
	for _, list := range [][]string{o.Retain, o.Release, o.Keys} {
		for i := range list {
			list[i] = long(list[i])
		}
	}
}

// TestSeedChangesNothing: the hash seed decides where keys lie in the table and
// nothing else.
func TestSeedChangesNothing(t *testing.T) {
	sequence := randomSequence(7, 400)
	run := func(s *Store) string {
		var b strings.Builder
		var seen op.Observation
		for i := range sequence.Ops {
			s.Step(&sequence.Ops[i], &seen)
			fmt.Fprintf(&b, "%q %v %q %v\n", seen.Victims, seen.State.Entries, seen.State.Queue, seen.State.Refs)
		}
		return b.String()
	}
	first := mustNew(t, "main", sequence.Slots, sequence.ObjectBytes)
	second := mustNew(t, "main", sequence.Slots, sequence.ObjectBytes)
	second.seed = maphash.MakeSeed()
	if run(first) != run(second) {
		t.Error("two hash seeds gave two runs")
	}
}
