package model

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/diffstore/diffstore/op"
)

// load drives a store as a worker does: every put brings new objects, retains
// them and releases as many old ones, so that a full store evicts as many.
type load struct {
	store   *Store
	objects []op.Object
	retain  []string
	release []string
	keys    []string // twice as many as slots, used in a ring
	at      int
	held    int
}

const loadObjects = 4

// newLoad fills a store to the slots with held keys referenced. Keys look like
// the worker's.
func newLoad(tb testing.TB, variant string, slots, held, objectBytes int) *load {
	tb.Helper()
	l := &load{store: mustNew(tb, variant, slots, objectBytes), held: held, keys: loadKeys(2 * slots)}
	payload := make([]byte, objectBytes)
	for range loadObjects {
		l.objects = append(l.objects, op.Object{Payload: payload})
	}
	l.retain, l.release = make([]string, loadObjects), make([]string, loadObjects)
	for range slots / loadObjects {
		l.put(tb, l.at >= held)
	}
	for range 2 * slots / loadObjects { // until all memory has its size
		l.put(tb, true)
	}
	return l
}

func loadKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("vllm-artifact/1/%064x", i*0x9E3779B1)
	}
	return keys
}

func (l *load) put(tb testing.TB, release bool) {
	n := len(l.keys)
	for i := range loadObjects {
		key := l.keys[(l.at+i)%n]
		l.objects[i].Key, l.retain[i] = key, key
		l.release[i] = l.keys[(l.at+i-l.held+n)%n]
	}
	l.at += loadObjects
	releases := l.release
	if !release {
		releases = nil
	}
	if err := l.store.Put(l.objects, l.retain, releases); err != nil {
		tb.Fatal(err)
	}
}

func TestPutAllocatesNothing(t *testing.T) {
	for _, variant := range Variants() {
		for _, slots := range []int{16, 4096, 8192} {
			l := newLoad(t, variant, slots, slots/2, 64)
			allocations := testing.AllocsPerRun(2000, func() {
				l.put(t, true)
				if len(l.store.Victims()) != loadObjects {
					t.Fatalf("%d victims, want %d", len(l.store.Victims()), loadObjects)
				}
			})
			if allocations != 0 {
				t.Errorf("%s, %d slots: %v allocations a put", variant, slots, allocations)
			}
		}
	}
}

// TestStepAllocatesNothing runs whole lives, errors and growth included, on one
// store and one observation.
func TestStepAllocatesNothing(t *testing.T) {
	for _, variant := range Variants() {
		s := mustNew(t, variant, 10, 4)
		var seen op.Observation
		var sequences []op.Sequence
		for seed := range uint64(40) {
			sequences = append(sequences, randomSequence(seed, 40))
		}
		allocations := testing.AllocsPerRun(20, func() {
			for i := range sequences {
				if err := s.Reset(sequences[i].Slots, sequences[i].ObjectBytes); err != nil {
					t.Fatal(err)
				}
				for j := range sequences[i].Ops {
					s.Step(&sequences[i].Ops[j], &seen)
				}
			}
		})
		if allocations != 0 {
			t.Errorf("%s: %v allocations in %d lives", variant, allocations, len(sequences))
		}
	}
}

func TestTouchedAllocatesNothing(t *testing.T) {
	l := newLoad(t, "main", 8192, 4096, 64)
	o := op.Op{Kind: op.Put, Objects: l.objects, Retain: l.retain, Release: l.release}
	var state op.State
	if allocations := testing.AllocsPerRun(100, func() { l.store.Touched(&o, l.keys[:4], &state) }); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func TestSmallInvariantsAllocateNothing(t *testing.T) {
	state := sound(10)
	allocations := testing.AllocsPerRun(100, func() {
		if err := Invariants(&state, 10); err != nil {
			t.Fatal(err)
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

// TestMemoryAKey measures what a million keys take beside their text and payload.
func TestMemoryAKey(t *testing.T) {
	if testing.Short() {
		t.Skip("fills a million slots")
	}
	const slots = 1_000_000
	s := mustNew(t, "main", slots, 1)
	defer s.Release()
	var key [1]string
	objects := make([]op.Object, 1)
	objects[0].Payload = []byte{1}
	before := heapBytes()
	text := 0
	for i := range slots {
		key[0] = fmt.Sprintf("vllm-artifact/1/%064x", i)
		objects[0].Key = key[0]
		retain := key[:0]
		if i%3 > 0 {
			retain = key[:]
		}
		if err := s.Put(objects, retain, nil); err != nil {
			t.Fatal(err)
		}
		text += len(key[0])
	}
	// New has made the table already; count it too.
	used := heapBytes() - before + 8*len(s.table.cells)
	// The text arena's unused capacity is overhead, the text itself is not.
	perKey := float64(used-text) / slots
	t.Logf("%.1f bytes a key beside %.1f bytes of text", perKey, float64(text)/slots)
	if perKey > 120 {
		t.Errorf("%.1f bytes a key beside text and payload, want at most 120", perKey)
	}
}

func heapBytes() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
