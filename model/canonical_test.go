package model

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/diffstore/diffstore/op"
)

// smallWorld is a store of few slots under few ops, in which states recur.
type smallWorld struct {
	slots, objectBytes int
	keys               []string
	// payloads are by key: two of the right size, then wrong ones.
	payloads map[string][][]byte
}

func newSmallWorld() *smallWorld {
	w := &smallWorld{slots: 2, objectBytes: 2, keys: []string{"a", "b", "c"}, payloads: map[string][][]byte{}}
	for _, key := range w.keys {
		upper := strings.ToUpper(key)
		w.payloads[key] = [][]byte{[]byte(key + key), []byte(upper + upper), {}, []byte(key)}
	}
	return w
}

func (w *smallWorld) own(key string, content []byte) bool {
	return bytes.Equal(content, w.payloads[key][0]) || bytes.Equal(content, w.payloads[key][1])
}

// draw makes an op of the world; misuse is rare, so that states stay close.
func (w *smallWorld) draw(r *rand.Rand) op.Op {
	list := func(most int) (keys []string) {
		for range r.IntN(most + 1) {
			keys = append(keys, w.keys[r.IntN(len(w.keys))])
		}
		return keys
	}
	if r.IntN(5) == 0 {
		return op.Op{Kind: op.Get, Keys: list(2)}
	}
	o := op.Op{Kind: op.Put, Retain: list(1), Release: list(1)}
	for _, key := range list(2) {
		version := r.IntN(2)
		if r.IntN(12) == 0 {
			version += 2
		}
		o.Objects = append(o.Objects, op.Object{Key: key, Payload: w.payloads[key][version]})
	}
	return o
}

// renaming maps keys to keys, and flips the two payloads of some.
type renaming struct {
	world *smallWorld
	key   map[string]string
	flip  map[string]bool // by old key
}

func (n *renaming) keys(list []string) (out []string) {
	for _, key := range list {
		out = append(out, n.key[key])
	}
	return out
}

func (n *renaming) op(o *op.Op) op.Op {
	out := op.Op{Kind: o.Kind, Retain: n.keys(o.Retain), Release: n.keys(o.Release), Keys: n.keys(o.Keys)}
	for _, object := range o.Objects {
		version := slices.IndexFunc(n.world.payloads[object.Key], func(p []byte) bool { return bytes.Equal(p, object.Payload) })
		if n.flip[object.Key] && version < 2 {
			version = 1 - version
		}
		key := n.key[object.Key]
		out.Objects = append(out.Objects, op.Object{Key: key, Payload: n.world.payloads[key][version]})
	}
	return out
}

// payload renames the payload of a get, piece by piece. Bytes that nobody wrote,
// as an arena that grew may show, stay.
func (n *renaming) payload(joined []byte) []byte {
	out := []byte{}
	for ; len(joined) > 0; joined = joined[n.world.objectBytes:] {
		out = append(out, n.piece(joined[:n.world.objectBytes])...)
	}
	return out
}

func (n *renaming) piece(content []byte) []byte {
	for key, payloads := range n.world.payloads {
		for version := range 2 {
			if !bytes.Equal(payloads[version], content) {
				continue
			}
			if n.flip[key] {
				version = 1 - version
			}
			return n.world.payloads[n.key[key]][version]
		}
	}
	return content
}

func (n *renaming) observation(seen *op.Observation) op.Observation {
	out := seen.Clone()
	out.Victims = n.keys(seen.Victims)
	out.State.Queue = n.keys(seen.State.Queue)
	for i := range out.State.Entries {
		out.State.Entries[i].Key = n.key[out.State.Entries[i].Key]
	}
	for i := range out.State.Refs {
		out.State.Refs[i].Key = n.key[out.State.Refs[i].Key]
	}
	if out.Outcome.Payload != nil {
		out.Outcome.Payload = n.payload(out.Outcome.Payload)
	}
	if out.Outcome.Kind() == op.KeyError {
		out.Outcome.Err.Key = n.key[out.Outcome.Err.Key]
		out.Outcome.Err.Message = pythonRepr(out.Outcome.Err.Key)
	}
	return out
}

// between gives the renaming that makes the first store the second, whose
// encodings are equal, from the order in which the encodings name the keys.
func (w *smallWorld) between(a, b *Store, namesA, namesB []string) *renaming {
	n := &renaming{world: w, key: map[string]string{}, flip: map[string]bool{}}
	for i, key := range namesA {
		n.key[key] = namesB[i]
	}
	left := slices.DeleteFunc(slices.Clone(w.keys), func(k string) bool { return slices.Contains(namesB, k) })
	for _, key := range w.keys {
		if _, named := n.key[key]; !named {
			n.key[key], left = left[0], left[1:]
		}
		other := n.key[key]
		n.flip[key] = bytes.Equal(a.Peek(key), w.payloads[key][0]) != bytes.Equal(b.Peek(other), w.payloads[other][0])
	}
	return n
}

// TestEqualEncodingsBehaveAlike walks at random and meets states again under
// other names: whatever is done to two states with one encoding shows the same
// but for the names, and leaves one encoding. That is what a search that keeps
// one of them relies on.
func TestEqualEncodingsBehaveAlike(t *testing.T) {
	for _, variant := range Variants() {
		t.Run(variant, func(t *testing.T) {
			w := newSmallWorld()
			r := rand.New(rand.NewPCG(1, 2))
			first := map[string]*Store{}
			met := 0
			a, b := mustNew(t, variant, w.slots, w.objectBytes), mustNew(t, variant, w.slots, w.objectBytes)
			walk := mustNew(t, variant, w.slots, w.objectBytes)
			var ignored, seenA, seenB op.Observation
			for range 400 {
				if err := walk.Reset(w.slots, w.objectBytes); err != nil {
					t.Fatal(err)
				}
				for range 1 + r.IntN(12) {
					o := w.draw(r)
					walk.Do(&o, &ignored)
				}
				encoding, names := walk.Canonical(nil, w.own, nil)
				twin, ok := first[string(encoding)]
				if !ok {
					first[string(encoding)] = walk.Clone()
					continue
				}
				met++
				_, twinNames := twin.Canonical(nil, w.own, nil)
				rename := w.between(twin, walk, twinNames, names)
				for range 12 {
					if err := a.Become(twin); err != nil {
						t.Fatal(err)
					}
					if err := b.Become(walk); err != nil {
						t.Fatal(err)
					}
					for range 3 {
						o := w.draw(r)
						p := rename.op(&o)
						a.Step(&o, &seenA)
						b.Step(&p, &seenB)
						want := rename.observation(&seenA)
						if got, want := describe(&seenB), describe(&want); got != want {
							t.Fatalf("two states with one encoding part after %s / %s:\n%s\nwant\n%s", o, p, got, want)
						}
						left, _ := a.Canonical(nil, w.own, nil)
						right, _ := b.Canonical(nil, w.own, nil)
						if !bytes.Equal(left, right) {
							t.Fatalf("%s / %s lead to two encodings, %x and %x", o, p, left, right)
						}
					}
				}
			}
			if met < 100 {
				t.Errorf("only %d states were met twice", met)
			}
		})
	}
}

// TestEncodingTellsStatesApart: what decides something later makes a difference.
func TestEncodingTellsStatesApart(t *testing.T) {
	put := func(text string) op.Op {
		o, err := op.ParseOp(text)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	lives := map[string][]string{
		"empty":                     {},
		"closed":                    {"close"},
		"one":                       {"put a=6161"},
		"one retained":              {"put a=6161 retain a"},
		"two":                       {"put a=6161 b=6262"},
		"two slots the other way":   {"put a=6161 b=6262", "get a"},
		"older referenced":          {"put a=6161 b=6262 retain a"},
		"younger referenced":        {"put a=6161 b=6262 retain b"},
		"hidden order of two":       {"put a=6161 b=6262 retain a b", "get a"},
		"two referenced":            {"put a=6161 b=6262 retain a b"},
		"absent but referenced":     {"put retain a"},
		"absent, two references":    {"put retain a a"},
		"two absent":                {"put retain a b"},
		"zombie and a lost slot":    {"put a=61"},
		"lost slot alone":           {"put a=61", "put b=6262 c=6363", "put a=6161 b=6262"},
		"free slots after eviction": {"put a=6161 b=6262", "put c= release"},
	}
	w := newSmallWorld()
	known := map[string]string{}
	for name, ops := range lives {
		s := mustNew(t, "main", w.slots, w.objectBytes)
		var ignored op.Observation
		for _, text := range ops {
			o := put(text)
			s.Do(&o, &ignored)
		}
		encoding, _ := s.Canonical(nil, w.own, nil)
		if other, ok := known[string(encoding)]; ok {
			t.Errorf("%q and %q have one encoding", name, other)
		}
		known[string(encoding)] = name
	}
}

// TestBecomeSharesNothing: a copy goes its own way, and so does what it is of.
func TestBecomeSharesNothing(t *testing.T) {
	for _, variant := range Variants() {
		copied := mustNew(t, "main", 1, 1)
		for seed := range uint64(30) {
			sequence := randomSequence(seed, 60)
			s, witness := mustNew(t, variant, sequence.Slots, sequence.ObjectBytes), mustNew(t, variant, sequence.Slots, sequence.ObjectBytes)
			var seen, want op.Observation
			for i := range sequence.Ops {
				if err := copied.Become(s); err != nil {
					t.Fatal(err)
				}
				s.Step(&sequence.Ops[i], &seen)
				witness.Step(&sequence.Ops[i], &want)
				if describe(&seen) != describe(&want) {
					t.Fatalf("%s, seed %d: a store that was copied differs at op %d", variant, seed, i)
				}
				copied.Step(&sequence.Ops[i], &seen)
				if describe(&seen) != describe(&want) {
					t.Fatalf("%s, seed %d: the copy differs at op %d", variant, seed, i)
				}
			}
		}
	}
}

func TestPeekMovesNothing(t *testing.T) {
	s := mustNew(t, "main", 2, 2)
	for _, text := range []string{"put a=6161 b=6262", "put c=63"} {
		o, err := op.ParseOp(text)
		if err != nil {
			t.Fatal(err)
		}
		var ignored op.Observation
		s.Do(&o, &ignored)
	}
	for key, want := range map[string]string{"a": "", "b": "bb", "c": "", "d": ""} {
		if got := string(s.Peek(key)); got != want {
			t.Errorf("peek %s: %q, want %q", key, got, want)
		}
	}
	var state op.State
	s.Observe(&state)
	if !slices.Equal(state.Queue, []string{"b", "c"}) {
		t.Errorf("the queue is %v after peeks", state.Queue)
	}
	if s.Closed() || s.Next() != 2 {
		t.Errorf("closed %t, next %d", s.Closed(), s.Next())
	}
}

// TestBecomeInTheMidstOfALargeStore: a large store notes which entries came last to
// its queue, for what to fetch ahead. As a copy of an emptier one it has fewer.
func TestBecomeInTheMidstOfALargeStore(t *testing.T) {
	const slots = 2 * plainTextSlots
	l := newLoad(t, "main", slots, slots/2, 1)
	defer l.store.Release()
	empty := mustNew(t, "main", slots, 1)
	if !empty.far() {
		t.Fatal("the store is too small to note anything")
	}
	if err := l.store.Become(empty); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c"} {
		if err := l.store.Put([]op.Object{{Key: key, Payload: []byte{1}}}, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.store.Len(); got != 3 {
		t.Errorf("%d keys are stored", got)
	}
}
