package gen

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/diffstore/diffstore/op"
)

// shrinkable gives sequences of every profile, small enough to try every pass on.
func shrinkable(t *testing.T, each int) (list []op.Sequence) {
	t.Helper()
	for _, p := range Profiles() {
		for i := range each {
			var s op.Sequence
			Case(uint64(i), i*7, Config{Profile: p.Name, MaxOps: 14 - i%4*4, MaxSlots: 6}, &s)
			list = append(list, s.Clone())
		}
	}
	return list
}

// validity says what makes an op well-formed, kind by kind.
var validity = [op.NumKinds]func(o *op.Op) bool{
	op.Put:   func(o *op.Op) bool { return len(o.Keys) == 0 },
	op.Get:   func(o *op.Op) bool { return len(o.Objects)+len(o.Retain)+len(o.Release) == 0 },
	op.Close: func(o *op.Op) bool { return len(o.Objects)+len(o.Retain)+len(o.Release)+len(o.Keys) == 0 },
}

// TestEveryProposalIsValid: of every pass, for sequences of every profile. Keys
// are those of the sequence or the names that keys are renamed to, and the
// sequence itself stays as it was.
func TestEveryProposalIsValid(t *testing.T) {
	proposals := make([]int, len(Passes))
	for _, s := range shrinkable(t, 10) {
		before := s.Clone()
		known := map[string]bool{}
		for _, key := range keysOf(s) {
			known[key] = true
		}
		for p, pass := range Passes {
			for _, c := range pass.Propose(s) {
				proposals[p]++
				if len(c.Ops) > len(s.Ops) {
					t.Fatalf("%s adds ops:\n%s\nfrom\n%s", pass.Name, c.String(), s.String())
				}
				for i := range c.Ops {
					o := &c.Ops[i]
					if o.Kind >= op.NumKinds || !validity[o.Kind](o) {
						t.Fatalf("%s gives no valid op: %s", pass.Name, o)
					}
					o.EachKey(func(key string) {
						if !known[key] && !(len(key) == 1 && key[0] >= 'a' && key[0] <= 'z') {
							t.Fatalf("%s makes up the key %q", pass.Name, key)
						}
					})
				}
			}
			if d := cmp.Diff(before, s); d != "" {
				t.Fatalf("%s changes the sequence it is given:\n%s", pass.Name, d)
			}
		}
	}
	for p, pass := range Passes {
		if proposals[p] == 0 {
			t.Errorf("%s never proposed anything", pass.Name)
		}
	}
}

// TestSimplerIsAStrictOrder: nothing is simpler than itself, no two are simpler
// than each other, and what is simpler than the simpler is simpler.
func TestSimplerIsAStrictOrder(t *testing.T) {
	list := shrinkable(t, 3)
	// Neighbours in the order: proposals differ in little.
	for _, s := range list[:6] {
		for _, pass := range Passes {
			proposed := pass.Propose(s)
			list = append(list, proposed[:min(len(proposed), 2)]...)
		}
	}
	simpler := make([][]bool, len(list))
	for i := range list {
		simpler[i] = make([]bool, len(list))
		for j := range list {
			simpler[i][j] = Simpler(list[i], list[j])
		}
	}
	for i := range list {
		if simpler[i][i] {
			t.Fatalf("simpler than itself:\n%s", list[i].String())
		}
		for j := range list {
			if simpler[i][j] && simpler[j][i] {
				t.Fatalf("each simpler than the other:\n%s\n\n%s", list[i].String(), list[j].String())
			}
			for k := range list {
				if simpler[i][j] && simpler[j][k] && !simpler[i][k] {
					t.Fatalf("not transitive:\n%s\n\n%s\n\n%s", list[i].String(), list[j].String(), list[k].String())
				}
			}
		}
	}
}

func TestCandidatesAreSimpler(t *testing.T) {
	for _, s := range shrinkable(t, 3) {
		for _, pass := range Passes {
			candidates := pass.Candidates(s)
			for _, c := range candidates {
				if !Simpler(c, s) {
					t.Fatalf("%s gives a candidate that is not simpler:\n%s\nfrom\n%s", pass.Name, c.String(), s.String())
				}
			}
			simpler := map[string]bool{}
			for _, c := range pass.Propose(s) {
				if Simpler(c, s) {
					simpler[c.String()] = true
				}
			}
			if len(simpler) != len(candidates) {
				t.Fatalf("%s gives %d of %d simpler proposals", pass.Name, len(candidates), len(simpler))
			}
		}
	}
}

// TestShrinkingEnds follows the shrinker from sequences of every profile, with
// failures that keep more and less, to where nothing simpler fails.
func TestShrinkingEnds(t *testing.T) {
	for name, c := range map[string]struct {
		fails func(s op.Sequence) bool
		ends  string
	}{
		"always": {func(op.Sequence) bool { return true }, "0 slots of 1 bytes"},
		"with a release behind an object": {func(s op.Sequence) bool {
			seen := false
			for i := range s.Ops {
				if seen && len(s.Ops[i].Release) > 0 {
					return true
				}
				seen = seen || len(s.Ops[i].Objects) > 0
			}
			return false
		}, "0 slots of 1 bytes\nput a=61\nput release a"},
		"with two keys in a get": {func(s op.Sequence) bool {
			return slices.ContainsFunc(s.Ops, func(o op.Op) bool { return len(o.Keys) > 1 && o.Keys[0] != o.Keys[1] })
		}, "0 slots of 1 bytes\nget a b"},
	} {
		tried := 0
		for _, s := range shrinkable(t, 8) {
			if !c.fails(s) {
				continue
			}
			tried++
			const most = 20_000
			evaluations := 0
			for next := Shrinker(s); ; {
				value, ok := next()
				if !ok {
					break
				}
				if evaluations++; evaluations > most {
					t.Fatalf("%s: no end within %d candidates, at\n%s", name, most, s.String())
				}
				if candidate := value.(op.Sequence); c.fails(candidate) {
					s, next = candidate, Shrinker(candidate)
				}
			}
			if s.ObjectBytes < 1 { // refused arguments are as small as they are
				continue
			}
			if got := s.String(); got != c.ends {
				t.Errorf("%s: ends at\n%s", name, got)
			}
		}
		if tried == 0 {
			t.Errorf("%s: no sequence fails", name)
		}
	}
}

func TestPassesTakeAwayWhatTheySay(t *testing.T) {
	passes := map[string]Pass{}
	for _, p := range Passes {
		passes[p.Name] = p
	}
	for _, c := range []struct{ pass, from, to string }{
		{"cut long runs of ops", "get a|get b|get c|get d|get e|get f|get g|get h", "get a|get b|get c|get d"},
		{"keep a few keys", "put a=61 b=62 c=63 retain b|get a c", "put a=61 c=63|get a c"},
		{"keep a few keys", "put a=61 b=62 c=63 d=64|get a", "put a=61 c=63|get a"},
		{"cut runs of ops", "get a|get b|get c|get d", "get a|get b"},
		{"drop a key everywhere", "put a=61 b=62 retain a release b|get a b", "put b=62 release b|get b"},
		{"drop two ops", "get a|get b|get c", "get b"},
		{"drop list elements", "put a=61 b=62 retain a b", "put a=61 b=62 retain a"},
		{"drop two list elements", "put a=61 retain b|put release b", "put a=61|put"},
		{"merge neighbouring calls", "put a=61 retain a|put b=62 release a", "put a=61 b=62 retain a release a"},
		{"merge two puts, keys leaving", "put a=61 b=62|put c=63", "put a=61 b=62 c=63 retain a b release a b"},
		{"merge two puts, keys leaving", "put a=61 b=62|put c=63", "put a=61 b=62 c=63 retain b release b"},
		{"make two keys one", "put a=61 b=62|get b", "put a=61 a=62|get a"},
		{"move an element to a later put", "put a=61|get a|put b=62 release a", "get a|put a=61 b=62 release a"},
		{"plain payloads", "put a=7a", "put a=61"},
		{"drop three ops", "get a|get b|get c|get d", "get b"},
		{"move an element to an earlier put alone", "put a=61|put retain a release a", "put a=61 retain a|put release a"},
		{"name another key in one place", "put a=61 b=62|put release a b", "put a=61 b=62|put release a a"},
		{"empty runs of ops", "put a=61|put b=62|get a", "put a=61|get|get"},
		{"sort a list", "put a=61 b=62 retain b a|get b a", "put a=61 b=62 retain a b|get b a"},
		{"reorder a list", "put b=62 a=61 retain a|get b a", "put a=61 b=62 retain a|get b a"},
		{"move an op to the front", "get|get|put a=61|put b=62", "put a=61|get|get|put b=62"},
		{"move an element and try all keys", "put a=61 retain b|put b=62", "put a=61 b=62|put"},
		{"say it in one call less", "put a=61|put b=62 retain a", "put a=61 b=62 retain a release a"},
		{"try all keys", "put a=61 b=62 retain a b|get b", "put a=61 retain a a|get a"},
		{"rename keys by first use", "put k9=6b|get k9", "put a=61|get a"},
	} {
		s, want := parsed(t, c.from), parsed(t, c.to).String()
		found := slices.ContainsFunc(passes[c.pass].Propose(s), func(p op.Sequence) bool { return p.String() == want })
		if !found {
			t.Errorf("%s: %s is not proposed for %s", c.pass, c.to, c.from)
		}
	}
	fewer := parsed(t, "put a=61 retain a")
	fewer.Slots--
	with := passes["drop a key or an element with a slot"].Propose(parsed(t, "put a=61 b=62 retain a b"))
	if !slices.ContainsFunc(with, func(p op.Sequence) bool { return p.String() == fewer.String() }) {
		t.Errorf("no proposal is %s", fewer.String())
	}
	big := op.Sequence{Slots: 100, ObjectBytes: 9, Ops: parsed(t, "put a=616161616161616161 b=00").Ops}
	slots := passes["fewer slots"].Propose(big)
	if !slices.ContainsFunc(slots, func(p op.Sequence) bool { return p.Slots == 50 }) || !slices.ContainsFunc(slots, func(p op.Sequence) bool { return p.Slots == 0 }) {
		t.Errorf("fewer slots: %d proposals", len(slots))
	}
	for _, p := range passes["smaller objects"].Propose(big) {
		if p.ObjectBytes >= 9 || len(p.Ops[0].Objects[0].Payload) != p.ObjectBytes || len(p.Ops[0].Objects[1].Payload) != 1 {
			t.Errorf("smaller objects: %s", p.String())
		}
	}
}

// parsed reads ops with bars between them.
func parsed(t *testing.T, ops string) op.Sequence {
	t.Helper()
	s := op.Sequence{Slots: 2, ObjectBytes: 1}
	for line := range strings.SplitSeq(ops, "|") {
		o, err := op.ParseOp(line)
		if err != nil {
			t.Fatal(err)
		}
		s.Ops = append(s.Ops, o)
	}
	return s
}
