package prove

import (
	"fmt"
	"slices"
	"testing"

	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/op"
)

func TestBoundsThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		change func(b *Bounds)
		says   string
	}{
		{func(*Bounds) {}, ""},
		{func(b *Bounds) { b.Slots = 0 }, "slots must be from 1 to 100, not 0"},
		{func(b *Bounds) { b.Keys = 9 }, "keys must be from 1 to 8, not 9"},
		{func(b *Bounds) { b.Counts = -1 }, "counts must be from 0 to 100, not -1"},
		{func(b *Bounds) { b.ObjectBytes = 0 }, "object bytes must be from 1 to 100, not 0"},
		{func(b *Bounds) { b.Batch = 100 }, "these bounds have about"},
		{func(b *Bounds) { b.Keys, b.Lists = 4, 6 }, "make batch, lists or keys smaller"},
	} {
		b := DefaultBounds
		c.change(&b)
		err := b.Check()
		if c.says == "" && err == nil {
			continue
		}
		if err == nil || c.says == "" || !contains(err.Error(), c.says) {
			t.Errorf("%+v: error %v, want %q", b, err, c.says)
		}
	}
}

func TestAlphabetHoldsEveryOpOnce(t *testing.T) {
	for _, b := range []Bounds{
		DefaultBounds,
		{Slots: 1, Keys: 1, Batch: 0, Lists: 0, ObjectBytes: 1},
		{Slots: 1, Keys: 2, Counts: 1, Batch: 2, Lists: 1, ObjectBytes: 2, Misuse: true},
	} {
		a := newAlphabet(b)
		seen := map[string]bool{}
		kinds := map[op.Kind]int{}
		last := 0
		for i := range a.ops {
			seen[a.ops[i].String()] = true
			kinds[a.ops[i].Kind]++
			if size := a.letters[i].size(); size < last {
				t.Errorf("%s stands behind longer ops", a.ops[i])
			} else {
				last = size
			}
		}
		if len(seen) != len(a.ops) || float64(len(a.ops)) != b.letters() {
			t.Errorf("%s: %d ops, %d of them distinct, expected %.0f", b, len(a.ops), len(seen), b.letters())
		}
		if kinds[op.Close] != 1 || float64(kinds[op.Get]) != listsOf(b.Keys, b.Lists) {
			t.Errorf("%s: kinds %v", b, kinds)
		}
	}
}

// world is a model with an alphabet, for tests.
type world struct {
	*alphabet
	place map[string]int32 // of an op's text
}

func newWorld(b Bounds) *world {
	w := &world{newAlphabet(b), map[string]int32{}}
	for i := range w.ops {
		w.place[w.ops[i].String()] = int32(i)
	}
	return w
}

// reach gives the store behind a path.
func (w *world) reach(t *testing.T, variant string, path []int32) *model.Store {
	t.Helper()
	s, err := model.New(variant, w.bounds.Slots, w.bounds.ObjectBytes)
	if err != nil {
		t.Fatal(err)
	}
	var ignored op.Observation
	for _, place := range path {
		s.Do(&w.ops[place], &ignored)
	}
	return s
}

// exactly encodes a store with the names of its keys.
func (w *world) exactly(s *model.Store) string {
	j := &judge{alphabet: w.alphabet, at: s, exact: true}
	return string(j.encode())
}

func (w *world) anonymously(s *model.Store) string {
	encoding, _ := s.Canonical(nil, w.own, nil)
	return string(encoding)
}

// symmetry renames key k to to[k], and swaps the payloads of k where flip has it.
type symmetry struct {
	to   []int
	flip uint
}

// symmetries lists the whole group of the alphabet.
func (w *world) symmetries() (all []symmetry) {
	var permute func(rest, done []int)
	permute = func(rest, done []int) {
		if len(rest) == 0 {
			for flip := range uint(1) << len(done) {
				all = append(all, symmetry{slices.Clone(done), flip})
			}
			return
		}
		for i, k := range rest {
			permute(append(slices.Clone(rest[:i]), rest[i+1:]...), append(done, k))
		}
	}
	var keys []int
	for k := range w.names {
		keys = append(keys, k)
	}
	permute(keys, nil)
	return all
}

// apply renames an op.
func (w *world) apply(s symmetry, place int32) int32 {
	o := w.ops[place].Clone()
	key := func(name string) string { return w.names[s.to[name[0]-'a']] }
	for i, object := range o.Objects {
		k := int(object.Key[0] - 'a')
		version := slices.IndexFunc(w.objects[k], func(x op.Object) bool { return slices.Equal(x.Payload, object.Payload) })
		if version < 2 && s.flip&(1<<k) != 0 {
			version = 1 - version
		}
		o.Objects[i] = w.objects[s.to[k]][version]
	}
	for _, list := range [][]string{o.Retain, o.Release, o.Keys} {
		for i := range list {
			list[i] = key(list[i])
		}
	}
	return w.place[o.String()]
}

func (w *world) applyAll(s symmetry, path []int32) (renamed []int32) {
	for _, place := range path {
		renamed = append(renamed, w.apply(s, place))
	}
	return renamed
}

// somePaths lead to states of all kinds: empty, full, with keys that are alike
// and not, with zombies and lost slots, closed.
func (w *world) somePaths(t *testing.T, texts [][]string) (paths [][]int32) {
	t.Helper()
	for _, life := range texts {
		var path []int32
		for _, text := range life {
			place, ok := w.place[text]
			if !ok {
				t.Fatalf("%s is no op of the bounds", text)
			}
			path = append(path, place)
		}
		paths = append(paths, path)
	}
	return paths
}

var lives = [][]string{
	{},
	{"put a=61"},
	{"put a=61 b=42"},
	{"put retain b"},
	{"put retain b", "put retain c"},
	{"put a=61 retain c", "put retain b"},
	{"put a=61 c=63 retain a", "get c", "put b=62"},
	{"put retain a release a"},
	{"close"},
	{"put b=62", "close"},
	{"put a=", "put b=62"},
	{"put a=6161 b=62 retain a"},
}

// TestTriesKeepOneOfEachOrbit holds the ops that are left out against the
// symmetries themselves: of the ops that symmetries of a state turn into one
// another, exactly one is tried.
func TestTriesKeepOneOfEachOrbit(t *testing.T) {
	w := newWorld(Bounds{Slots: 2, Keys: 3, Counts: 1, Batch: 2, Lists: 1, ObjectBytes: 1, Misuse: true, Lost: 1})
	group := w.symmetries()
	for i, path := range w.somePaths(t, lives) {
		state := w.reach(t, "main", path)
		exact := w.exactly(state)
		var fixing []symmetry
		for _, s := range group {
			if w.exactly(w.reach(t, "main", w.applyAll(s, path))) == exact {
				fixing = append(fixing, s)
			}
		}
		tried := map[int32]bool{}
		for _, place := range w.tries(state, true, nil) {
			tried[place] = true
		}
		for _, place := range w.tries(state, false, nil) {
			orbit := map[int32]bool{}
			for _, s := range fixing {
				orbit[w.apply(s, place)] = true
			}
			kept := 0
			for member := range orbit {
				if tried[member] {
					kept++
				}
			}
			if kept != 1 {
				t.Errorf("behind %v, %d of the %d ops that are %s by another name are tried", lives[i], kept, len(orbit), w.ops[place])
			}
		}
		if len(fixing) == 1 && len(tried) != len(w.ops) {
			t.Errorf("behind %v nothing is alike, and %d of %d ops are tried", lives[i], len(tried), len(w.ops))
		}
	}
}

// TestWithoutMisuseNothingUnknownIsReleased holds the balance of an op against
// what the model says of it.
func TestWithoutMisuseNothingUnknownIsReleased(t *testing.T) {
	w := newWorld(Bounds{Slots: 2, Keys: 3, Counts: 1, Batch: 1, Lists: 2, ObjectBytes: 1})
	for _, life := range [][]string{{}, {"put retain a"}, {"put a=61 retain a a", "put retain b release a"}} {
		path := w.somePaths(t, [][]string{life})[0]
		state := w.reach(t, "main", path)
		tried := map[int32]bool{}
		for _, place := range w.tries(state, false, nil) {
			tried[place] = true
		}
		refused := 0
		for place := range w.ops {
			var seen op.Observation
			state.Clone().Do(&w.ops[place], &seen)
			unknown := seen.Outcome.Kind() == op.KeyError
			if unknown == tried[int32(place)] {
				t.Errorf("behind %v, %s: tried %t, a KeyError %t", life, w.ops[place], tried[int32(place)], unknown)
			}
			if unknown {
				refused++
			}
		}
		if refused == 0 {
			t.Errorf("behind %v nothing was refused", life)
		}
	}
}

// TestOrbit counts the names of a state by trying all of them.
func TestOrbit(t *testing.T) {
	w := newWorld(Bounds{Slots: 2, Keys: 3, Counts: 1, Batch: 2, Lists: 1, ObjectBytes: 1, Misuse: true, Lost: 1})
	for i, path := range w.somePaths(t, lives) {
		names := map[string]bool{}
		for _, s := range w.symmetries() {
			names[w.exactly(w.reach(t, "main", w.applyAll(s, path)))] = true
		}
		j := &judge{alphabet: w.alphabet, at: w.reach(t, "main", path)}
		j.encode()
		if got := j.orbit(); got != len(names) {
			t.Errorf("behind %v: an orbit of %d, counted %d", lives[i], got, len(names))
		}
	}
}

func TestStatesAreKeptOnce(t *testing.T) {
	var s states
	for i := range 5000 {
		encoding := fmt.Appendf(nil, "state %d", i)
		if !s.add(encoding, uint32(i-1), uint32(i%7)) || s.add(encoding, 0, 0) {
			t.Fatalf("state %d is not kept once", i)
		}
		if string(s.encoding(i)) != string(encoding) {
			t.Fatalf("state %d reads back as %s", i, s.encoding(i))
		}
	}
	if s.has([]byte("state 5000")) || !s.has([]byte("state 4999")) {
		t.Error("what is kept is not told from what is not")
	}
	path := s.path(20, []int32{9})
	if len(path) != 21 || path[0] != 9 || path[20] != 20%7 || path[1] != 1 {
		t.Errorf("path %v", path)
	}
	if s.bytes() < int64(len(s.encodings)) {
		t.Errorf("%d bytes for %d of encodings", s.bytes(), len(s.encodings))
	}
}
