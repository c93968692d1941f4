package gen

import (
	"math/rand"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/diffstore/diffstore/op"
	"github.com/leanovate/gopter"
)

// drawn gives one case on memory of its own.
func drawn(base uint64, index int, c Config) op.Sequence {
	var s op.Sequence
	Case(base, index, c, &s)
	return s
}

// ofSize gives a case of one size on memory of its own.
func ofSize(turn, size int, c Config) op.Sequence {
	var s op.Sequence
	generate(CaseSeed(5, turn), size, deal{turn: uint64(turn)}, c, &s)
	return s
}

func TestOneCaseRerunsAlone(t *testing.T) {
	for _, info := range Profiles() {
		c := Config{Profile: info.Name}
		want := make([]string, 300)
		var reused op.Sequence
		for i := range want {
			Case(7, i, c, &reused)
			want[i] = reused.String()
		}
		for i := len(want) - 1; i >= 0; i-- {
			if got := drawn(7, i, c).String(); got != want[i] {
				t.Fatalf("%s: case %d alone:\n%s\nin order and on used memory:\n%s", info.Name, i, got, want[i])
			}
		}
		if drawn(8, 250, c).String() == want[250] {
			t.Errorf("%s: case 250 is the same for another base seed", info.Name)
		}
	}
}

func TestWorkersGetTheSameCases(t *testing.T) {
	want := make([]string, 200)
	for i := range want {
		want[i] = drawn(13, i, Config{}).String()
	}
	var workers sync.WaitGroup
	for first := range 4 {
		workers.Go(func() {
			var s op.Sequence
			for n := range want {
				i := (n + 50*first) % len(want)
				Case(13, i, Config{}, &s)
				if got := s.String(); got != want[i] {
					t.Errorf("worker %d: case %d is\n%s\nalone it is\n%s", first, i, got, want[i])
					return
				}
			}
		})
	}
	workers.Wait()
}

func TestCasesDoNotWriteToOneAnother(t *testing.T) {
	c := Config{}
	first := drawn(1, 60, c)
	before := first.String()
	drawn(1, 61, c)
	drawn(1, 62, Config{ObjectBytes: 100_000})
	if first.String() != before {
		t.Errorf("a later case changed an earlier one:\n%s\nwas\n%s", first.String(), before)
	}
	for i := range first.Ops {
		for _, object := range first.Ops[i].Objects {
			if cap(object.Payload) != len(object.Payload) {
				t.Fatalf("an append to the payload of %q would write to shared bytes", object.Key)
			}
		}
	}
}

func TestCaseAllocatesNothingOnUsedMemory(t *testing.T) {
	var s op.Sequence
	for i := range 3 * Sizes {
		Case(1, i, Config{}, &s)
	}
	i := 0
	average := testing.AllocsPerRun(2*Sizes, func() {
		Case(1, i, Config{}, &s)
		i++
	})
	if average > 1 {
		t.Errorf("%.1f allocations a case on memory that has held these cases: expected at most 1", average)
	}
}

func TestSizesRampAndLongSequencesOccur(t *testing.T) {
	long, longest := 0, 0
	for i := range 2000 {
		size := i % Sizes
		s := ofSize(i, size, Config{})
		ramp := 1 + size*(DefaultMaxOps-1)/(Sizes-1)
		switch n := len(s.Ops); {
		case n > DefaultMaxOps:
			long++
			longest = max(longest, n)
		case n > ramp:
			t.Errorf("case %d of size %d has %d ops: expected at most %d", i, size, n, ramp)
		}
		if limit := 2 + size*DefaultMaxSlots/Sizes; s.Slots > limit {
			t.Errorf("case %d of size %d has %d slots: expected at most %d", i, size, s.Slots, limit)
		}
	}
	if long < 40 || longest <= 64 || longest > 4*DefaultMaxOps {
		t.Errorf("%d long sequences, the longest of %d ops: expected 40 or more, up to %d", long, longest, 4*DefaultMaxOps)
	}
}

func TestGivenNumbersAreKept(t *testing.T) {
	for _, info := range Profiles() {
		c := Config{Profile: info.Name, MaxOps: 9, Slots: 17, ObjectBytes: 33}
		limited := Config{Profile: info.Name, MaxSlots: 3}
		longest := 0
		for i := range 500 {
			s := drawn(2, i, c)
			longest = max(longest, len(s.Ops))
			refused := s.Slots == 0 || s.ObjectBytes < 1
			if !refused && (s.Slots != 17 || s.ObjectBytes != 33) {
				t.Fatalf("%s: case %d has %d slots of %d bytes", info.Name, i, s.Slots, s.ObjectBytes)
			}
			if s := drawn(2, i, limited); s.Slots > 3 {
				t.Fatalf("%s: case %d has %d slots: expected at most 3", info.Name, i, s.Slots)
			}
		}
		if longest != 9 {
			t.Errorf("%s: the longest sequence has %d ops: expected 9", info.Name, longest)
		}
	}
}

func TestConfigCheck(t *testing.T) {
	for _, test := range []struct {
		config Config
		want   string
	}{
		{Config{}, ""},
		{Config{Profile: "production", MaxOps: 100_000, Slots: 1_000_000, ObjectBytes: 8192}, ""},
		{Config{Profile: "mxied"}, `unknown profile "mxied": expected one of mixed, balanced, unbalanced, sized, evict-heavy, production`},
		{Config{MaxOps: -1}, "MaxOps is -1: expected 0 to 1000000"},
		{Config{MaxSlots: -1}, "MaxSlots is -1"},
		{Config{Slots: MostSlots + 1}, "Slots is 10000001: expected 0 to 10000000"},
		{Config{ObjectBytes: -4}, "ObjectBytes is -4"},
	} {
		err := test.config.Check()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want %q", test.config, err, test.want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Case took an unknown profile")
		}
	}()
	drawn(1, 1, Config{Profile: "mxied"})
}

func TestSequencesFollowGoptersParameters(t *testing.T) {
	generator := Sequences(Config{Profile: "balanced"})
	sample := func(seed int64, size int) op.Sequence {
		parameters := gopter.DefaultGenParameters().WithSize(size)
		parameters.Rng = rand.New(gopter.NewLockedSource(seed))
		value, ok := generator(parameters).Retrieve()
		if !ok {
			t.Fatal("no sequence was generated")
		}
		return value.(op.Sequence)
	}
	if got, again := sample(3, 80).String(), sample(3, 80).String(); got != again {
		t.Errorf("one seed gave two sequences:\n%s\nand\n%s", got, again)
	}
	if n := len(sample(3, 0).Ops); n != 1 {
		t.Errorf("size 0 gave %d ops: expected 1", n)
	}
	if n := len(sample(3, 100).Ops); n < DefaultMaxOps {
		t.Errorf("size 100 gave %d ops: expected %d", n, DefaultMaxOps)
	}
	if got := generator(gopter.MinGenParameters()).ResultType; got != reflect.TypeFor[op.Sequence]() {
		t.Errorf("the result type is %v", got)
	}
}

func TestGeneratedOpsSurviveTheTextForm(t *testing.T) {
	ops := 0
	for i := 0; ops < 10_000; i++ {
		s := drawn(11, i, Config{})
		for j := range s.Ops {
			o := &s.Ops[j]
			ops++
			got, err := op.ParseOp(o.String())
			if err != nil {
				t.Fatalf("%s: %v", o, err)
			}
			if !equal(&got, o) {
				t.Fatalf("%s\nread back as\n%s", o, got)
			}
		}
	}
}

// equal compares ops but for nil and empty lists.
func equal(a, b *op.Op) bool {
	if a.Kind != b.Kind || len(a.Objects) != len(b.Objects) {
		return false
	}
	for i := range a.Objects {
		if a.Objects[i].Key != b.Objects[i].Key || string(a.Objects[i].Payload) != string(b.Objects[i].Payload) {
			return false
		}
	}
	same := func(x, y []string) bool { return len(x) == len(y) && (len(x) == 0 || reflect.DeepEqual(x, y)) }
	return same(a.Retain, b.Retain) && same(a.Release, b.Release) && same(a.Keys, b.Keys)
}

func TestKeysAreDistinctAndValid(t *testing.T) {
	for name, keys := range map[string]*table[string]{"plain": plainKeys, "artifact": artifactKeys, "odd": oddKeys} {
		seen := map[string]int{}
		for i, key := range keys.atLeast(5000) {
			if j, twice := seen[key]; twice {
				t.Errorf("%s: keys %d and %d are both %q", name, i, j, key)
			}
			if !utf8.ValidString(key) {
				t.Errorf("%s: key %d, %q, is not UTF-8", name, i, key)
			}
			seen[key] = i
		}
	}
}

func TestLargeStoresAreDrivenInProportion(t *testing.T) {
	for _, profile := range []string{"balanced", "production"} {
		c := Config{Profile: profile, Slots: 15_000, MaxOps: 2500}
		s := ofSize(1, Sizes-1, c)
		if len(s.Ops) != 2500 {
			t.Fatalf("%s: %d ops: expected 2500", profile, len(s.Ops))
		}
		counts := map[string]int{}
		keys := map[string]bool{}
		held, most := 0, 0
		for i := range s.Ops {
			o := &s.Ops[i]
			most = max(most, len(o.Objects))
			o.EachKey(func(key string) { keys[key] = true })
			for _, key := range o.Retain {
				counts[key]++
			}
			for _, key := range o.Release {
				if counts[key]--; counts[key] == 0 {
					delete(counts, key)
				}
			}
			held = max(held, len(counts))
		}
		if held < 10_000 || held > 11_000 {
			t.Errorf("%s: at most %d of 15000 slots are referenced: expected about 10500", profile, held)
		}
		if len(keys) <= 15_000 || most < 50 || most > 110 {
			t.Errorf("%s: %d keys, at most %d objects a put", profile, len(keys), most)
		}
	}
}
