package model

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/diffstore/diffstore/op"
)

func TestDispatchIsComplete(t *testing.T) {
	for kind, row := range perform {
		if row == nil {
			t.Errorf("nothing performs %s", op.Kind(kind))
		}
	}
}

func TestNewRefuses(t *testing.T) {
	_, err := New("mian", 1, 1)
	for _, name := range Variants() {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error for an unknown variant is %v, without %s", err, name)
		}
	}
	for _, c := range []struct {
		slots, objectBytes int
		want               string
	}{
		{0, 0, "auxiliary output object size must be positive"},
		{1, -1, "auxiliary output object size must be positive"},
		{0, 1, "auxiliary output store must fit at least one object"},
	} {
		_, err := New("main", c.slots, c.objectBytes)
		var argument *ArgumentError
		if !errors.As(err, &argument) || argument.Message != c.want {
			t.Errorf("New of %d slots of %d bytes: %v, want %q", c.slots, c.objectBytes, err, c.want)
		}
	}
	for _, c := range [][2]int{{1 << 40, 1}, {1 << 30, 1 << 40}} {
		_, err := New("main", c[0], c[1])
		if err == nil || OpError(err).Kind != op.OtherError {
			t.Errorf("New of %d slots of %d bytes: %v, want an error of no Python kind", c[0], c[1], err)
		}
	}
}

// TestCalls is the use of the store without ops: typed errors and counts.
func TestCalls(t *testing.T) {
	s := mustNew(t, "main", 2, 4)
	if err := s.Put([]op.Object{{Key: "a", Payload: []byte("aaaa")}, {Key: "b", Payload: []byte("bbbb")}}, []string{"a", "x"}, nil); err != nil {
		t.Fatal(err)
	}
	var key *KeyError
	if err := s.Put(nil, nil, []string{"b"}); !errors.As(err, &key) || key.Key != "b" {
		t.Errorf("releasing b: %v", err)
	}
	var capacity *CapacityError
	if err := s.Put([]op.Object{{Key: "c"}, {Key: "d"}}, nil, nil); !errors.As(err, &capacity) || capacity.Limit != 2 {
		t.Errorf("putting c and d: %v", err)
	}
	got, err := s.Get([]string{"b", "a"}, []byte("> "))
	if err != nil || string(got) != "> bbbbaaaa" {
		t.Errorf("getting b and a: %q, %v", got, err)
	}
	var missing *MissingError
	if got, err := s.Get([]string{"a", "c"}, []byte("> ")); !errors.As(err, &missing) || missing.Used != 2 || missing.Limit != 2 || string(got) != "> " {
		t.Errorf("getting a and c: %q, %v", got, err)
	}
	var size *SizeError
	if err := s.Put([]op.Object{{Key: "c"}}, nil, nil); !errors.As(err, &size) || !slices.Equal(s.Victims(), []string{"b"}) {
		t.Errorf("putting an empty c: %v, victims %q", err, s.Victims())
	}
	if s.Len() != 2 || s.Slots() != 2 || s.ObjectBytes() != 4 || s.Variant() != "main" || s.References("a") != 1 || s.References("nope") != 0 ||
		!s.Stored("c") || s.Stored("b") || s.Stored("x") || s.References("x") != 1 {
		t.Error("the counts are wrong after the calls")
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	var closed *ClosedError
	if err := s.Put(nil, nil, nil); !errors.As(err, &closed) {
		t.Errorf("putting after close: %v", err)
	}
	if _, err := s.Get(nil, nil); !errors.As(err, &closed) {
		t.Errorf("getting after close: %v", err)
	}
	s.Release()
	if s.Len() != 0 || s.Stored("a") {
		t.Error("something is stored after the release")
	}
	if err := s.Put(nil, nil, nil); !errors.As(err, &closed) {
		t.Errorf("putting after release: %v", err)
	}
	if err := s.Reset(1, 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Put([]op.Object{{Key: "a", Payload: []byte("a")}}, nil, nil); err != nil {
		t.Error(err)
	}
}

// TestResetLeavesNothing runs every sequence on a store that has had many lives
// and on a new one.
func TestResetLeavesNothing(t *testing.T) {
	for _, variant := range Variants() {
		used := mustNew(t, variant, 1, 1)
		for seed := range uint64(200) {
			sequence := randomSequence(seed, 40)
			if err := used.Reset(sequence.Slots, sequence.ObjectBytes); err != nil {
				t.Fatal(err)
			}
			fresh := mustNew(t, variant, sequence.Slots, sequence.ObjectBytes)
			var left, right op.Observation
			for i := range sequence.Ops {
				used.Step(&sequence.Ops[i], &left)
				fresh.Step(&sequence.Ops[i], &right)
				if got, want := describe(&left), describe(&right); got != want {
					t.Fatalf("%s, seed %d, op %d:\n%s\nwant\n%s", variant, seed, i, got, want)
				}
			}
			if seed%40 == 0 {
				used.Release()
			}
		}
	}
}

// TestClone lets a store and its clone lead different lives, and the clone repeat
// the original's.
func TestClone(t *testing.T) {
	for _, variant := range Variants() {
		for seed := range uint64(200) {
			sequence := randomSequence(seed, 60)
			other := randomSequence(seed+1000, 30)
			s := mustNew(t, variant, sequence.Slots, sequence.ObjectBytes)
			var left, right op.Observation
			for i := range sequence.Ops[:30] {
				s.Step(&sequence.Ops[i], &left)
			}
			copied, disturbed := s.Clone(), s.Clone()
			for i := range other.Ops {
				disturbed.Step(&other.Ops[i], &right)
			}
			for i := 30; i < len(sequence.Ops); i++ {
				s.Step(&sequence.Ops[i], &left)
				copied.Step(&sequence.Ops[i], &right)
				if got, want := describe(&right), describe(&left); got != want {
					t.Fatalf("%s, seed %d, op %d:\n%s\nwant\n%s", variant, seed, i, got, want)
				}
			}
		}
	}
}

// TestTouched holds the partial observation against the whole one.
func TestTouched(t *testing.T) {
	for seed := range uint64(200) {
		sequence := randomSequence(seed, 40)
		s := mustNew(t, "main", sequence.Slots, sequence.ObjectBytes)
		var seen op.Observation
		var part op.State
		for i := range sequence.Ops {
			o := &sequence.Ops[i]
			s.Step(o, &seen)
			extra := []string{"k0", "k0", "never put"}
			s.Touched(o, extra, &part)
			want := op.State{Sees: op.SeesRefs | op.SeesZombies | op.SeesSlots | op.SeesPart,
				Total: seen.State.Total, TotalRefs: seen.State.TotalRefs, Next: seen.State.Next}
			named := extra
			o.EachKey(func(key string) { named = append(named, key) })
			for _, e := range seen.State.Entries {
				if slices.Contains(named, e.Key) {
					want.Entries = append(want.Entries, e)
				}
			}
			for _, ref := range seen.State.Refs {
				if slices.Contains(named, ref.Key) {
					want.Refs = append(want.Refs, ref)
				}
			}
			got, expected := op.Observation{State: part}, op.Observation{State: want}
			if describe(&got) != describe(&expected) {
				t.Fatalf("seed %d, op %d, %s:\n%s\nwant\n%s", seed, i, o, describe(&got), describe(&expected))
			}
		}
	}
}

// TestObservationsDoNotShare steps one store with two observations in turn: what
// one says of an op must outlast the next op, seen by the other.
func TestObservationsDoNotShare(t *testing.T) {
	sequence := randomSequence(2, 300)
	s := mustNew(t, "main", sequence.Slots, sequence.ObjectBytes)
	var seen [2]op.Observation
	said := ""
	for i := range sequence.Ops {
		s.Step(&sequence.Ops[i], &seen[i%2])
		if i > 0 && describe(&seen[(i+1)%2]) != said {
			t.Fatalf("op %d changed what was observed before it", i)
		}
		said = describe(&seen[i%2])
	}
}

// TestLargeStore fills a store with mapped memory and copied key text, lets it
// grow, and then replaces every key: payloads, victims and texts must hold.
func TestLargeStore(t *testing.T) {
	const slots, objectBytes = plainTextSlots + 1, 512
	s := mustNew(t, "growing", slots, objectBytes)
	defer s.Release()
	if !s.arena.mapped || s.texts.arena == nil {
		t.Fatal("the store is not large")
	}
	r := rand.New(rand.NewPCG(1, 2))
	key := func(i int) string { return fmt.Sprintf("vllm-artifact/1/%0*x", 1+i%60, i) }
	payload := func(i int) []byte { return bytes.Repeat([]byte{byte(i), byte(i >> 8)}, objectBytes/2) }
	for i := range 2 * slots {
		if err := s.Put([]op.Object{{Key: key(i), Payload: payload(i)}}, []string{key(i)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if s.Slots() != 2*slots || s.Len() != 2*slots {
		t.Fatalf("%d keys in %d slots", s.Len(), s.Slots())
	}
	for i := range 2 * slots {
		if err := s.Put(nil, nil, []string{key(i)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := 2 * slots; i < 4*slots; i++ {
		if err := s.Put([]op.Object{{Key: key(i), Payload: payload(i)}}, nil, nil); err != nil {
			t.Fatal(err)
		}
		if got := s.Victims(); len(got) != 1 || got[0] != key(i-2*slots) {
			t.Fatalf("putting key %d evicted %q, want %q", i, got, key(i-2*slots))
		}
	}
	for range 1000 {
		i := 2*slots + r.IntN(2*slots)
		if got, err := s.Get([]string{key(i)}, nil); err != nil || !bytes.Equal(got, payload(i)) {
			t.Fatalf("key %d reads wrong: %v", i, err)
		}
	}
	var state op.State
	s.Observe(&state)
	if err := Invariants(&state, s.Slots()); err != nil {
		t.Error(err)
	}
	copied := s.Clone()
	defer copied.Release()
	last := state.Queue[len(state.Queue)-1]
	s.Release()
	if got, err := copied.Get([]string{last}, nil); err != nil || len(got) != objectBytes {
		t.Errorf("the clone of a released store reads %d bytes, %v", len(got), err)
	}
}
