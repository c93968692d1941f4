package prove

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/python"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// tiny are bounds that a search without a process goes through at once.
var tiny = Bounds{Slots: 2, Keys: 2, Counts: 1, Batch: 2, Lists: 1, ObjectBytes: 1}

// misused are small bounds with misuse.
var misused = Bounds{Slots: 1, Keys: 2, Counts: 1, Batch: 1, Lists: 2, ObjectBytes: 1, Misuse: true, Lost: 1}

// misusedOnce are the same for ops of two objects.
var misusedOnce = Bounds{Slots: 1, Keys: 2, Counts: 1, Batch: 2, Lists: 1, ObjectBytes: 1, Misuse: true, Lost: 1}

var strict = diff.Options{Strict: true}

// launched opens a store in a process, or skips the test where there is no Python.
func launched(t *testing.T, spec string, options oracle.Options) diff.Open {
	t.Helper()
	options.OpTimeout = time.Minute
	launch, err := oracle.Resolve(spec, options)
	return opened(t, launch, err)
}

func opened(t *testing.T, launch oracle.Launch, err error) diff.Open {
	t.Helper()
	var fault *oracle.Fault
	if errors.As(err, &fault) && fault.Kind == "python" {
		t.Skip("needs Python: ", fault.What)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() (diff.Subject, error) {
		o, err := oracle.Open(launch, oracle.Ask{FirstDeath: true})
		if err != nil {
			return nil, err
		}
		return o, nil
	}
}

// planted opens a store with a planted bug, and gives the model of what it should be.
func planted(t *testing.T, name string) (diff.Open, python.Mutant) {
	t.Helper()
	all, err := python.Mutants()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.Name != name {
			continue
		}
		source, err := m.Apply()
		if err != nil {
			t.Fatal(err)
		}
		launch, err := oracle.Source(name, source, oracle.Options{OpTimeout: time.Minute})
		return opened(t, launch, err), m
	}
	t.Fatalf("no planted bug %s", name)
	return nil, python.Mutant{}
}

func mustRun(t *testing.T, s *Search) *Result {
	t.Helper()
	result, err := s.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestSymmetryLosesNothing holds the search that keeps one state for all names of
// its keys against the one that keeps each: the same verdict in as many ops, the
// same states but for the names, and as many of them as the orbits say.
func TestSymmetryLosesNothing(t *testing.T) {
	for _, c := range []struct {
		bounds       Bounds
		model, store string
		differs      int // ops; 0 is no difference
	}{
		{tiny, "main", "main", 0},
		{tiny, "front-rotation", "front-rotation", 0},
		{tiny, "main", "free-queue", 0},
		{Bounds{Slots: 1, Keys: 2, Counts: 1, Batch: 2, Lists: 1, ObjectBytes: 1}, "growing", "growing", 0},
		{Bounds{Slots: 1, Keys: 3, Counts: 1, Batch: 1, Lists: 1, ObjectBytes: 1}, "main", "growing", 2},
		{misused, "main", "main", 0},
		{Bounds{Slots: 2, Keys: 2, Counts: 1, Batch: 1, Lists: 2, ObjectBytes: 1, Misuse: true}, "main", "free-queue", 3},
	} {
		t.Run(c.model+" and "+c.store+" with "+c.bounds.String(), func(t *testing.T) {
			var results [2]*Result
			for i := range results {
				s := &Search{Bounds: c.bounds, Model: c.model, Stores: []diff.Open{diff.Model(c.store)}, Options: strict, Unreduced: i == 1}
				s.Options.IgnoreLimit = c.model != c.store
				results[i] = mustRun(t, s)
			}
			reduced, unreduced := results[0], results[1]
			if c.differs > 0 {
				for _, r := range results {
					if r.Finding == nil || len(r.Finding.Sequence.Ops) != c.differs {
						t.Fatalf("finding %+v, want one of %d ops", r.Finding, c.differs)
					}
				}
				if a, b := reduced.Finding.Divergence.Fingerprint(), unreduced.Finding.Divergence.Fingerprint(); a != b {
					t.Errorf("they differ as %s and as %s", a, b)
				}
				return
			}
			if !reduced.Complete || !unreduced.Complete || reduced.Finding != nil || unreduced.Finding != nil {
				t.Fatalf("complete: %t and %t; findings %+v and %+v", reduced.Complete, unreduced.Complete, reduced.Finding, unreduced.Finding)
			}
			if reduced.StandFor != unreduced.States || reduced.States >= unreduced.States || reduced.Depth != unreduced.Depth {
				t.Errorf("%d states stand for %d, in paths of %d; with names there are %d, in paths of %d",
					reduced.States, reduced.StandFor, reduced.Depth, unreduced.States, unreduced.Depth)
			}
			if a, b := anonymous(t, c.bounds, c.model, false), anonymous(t, c.bounds, c.model, true); !reflect.DeepEqual(a, b) {
				t.Errorf("%d states by the reduced search, %d by the other, and they are not the same", len(a), len(b))
			}
		})
	}
}

// anonymous gives the states that a search keeps, without names, each with the
// length of its path.
func anonymous(t *testing.T, b Bounds, variant string, unreduced bool) map[string]int {
	t.Helper()
	r := &run{Search: &Search{Bounds: b, Model: variant, Stores: []diff.Open{diff.Model(variant)}, Unreduced: unreduced}, twins: map[string]struct{}{}}
	r.stores = r.Stores
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	err := r.search(context.Background())
	r.close()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(b)
	found := map[string]int{}
	for i := range r.states.len() {
		path := r.states.path(i, nil)
		encoding := w.anonymously(w.reach(t, variant, path))
		if length, ok := found[encoding]; ok && length != len(path) {
			t.Errorf("one state is reached in %d ops under some names and in %d under others", length, len(path))
		}
		found[encoding] = len(path)
	}
	return found
}

// counts is a result without what depends on the machine.
func counts(r *Result) Result {
	out := *r
	out.Took, out.Memory, out.Identities, out.Stderr = 0, 0, nil, nil
	return out
}

func TestWorkersChangeNothing(t *testing.T) {
	var want Result
	for workers := 1; workers <= 3; workers++ {
		s := &Search{Bounds: tiny, Model: "main", Stores: []diff.Open{diff.Model("main")}, Options: strict, Workers: workers, flightTries: 50}
		got := counts(mustRun(t, s))
		if workers == 1 {
			want = got
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%d workers: %+v\none: %+v", workers, got, want)
		}
	}
}

// TestStores goes through all states of real processes.
func TestStores(t *testing.T) {
	free := Bounds{Slots: 2, Keys: 2, Counts: 1, Batch: 2, Lists: 2, ObjectBytes: 1, Misuse: true, Lost: 0}
	small := Bounds{Slots: 1, Keys: 2, Counts: 1, Batch: 1, Lists: 1, ObjectBytes: 1, Misuse: true, Lost: 1}
	for name, c := range map[string]struct {
		bounds  Bounds
		model   string
		stores  []string
		options oracle.Options
		copies  bool
		differs int
	}{
		"main":             {tiny, "main", []string{"embedded"}, oracle.Options{}, true, 0},
		"main, misuse":     {small, "main", []string{"embedded"}, oracle.Options{}, true, 0},
		"json":             {small, "main", []string{"embedded"}, oracle.Options{Wire: oracle.WireJSON}, true, 0},
		"black box":        {Bounds{Slots: 1, Keys: 2, Counts: 1, Batch: 1, Lists: 1, ObjectBytes: 1}, "main", []string{"embedded"}, oracle.Options{BlackBox: true}, false, 0},
		"growing":          {tiny, "growing", []string{"embedded:growing"}, oracle.Options{}, true, 0},
		"0.33":             {tiny, "release-0.33", []string{"embedded:release-0.33"}, oracle.Options{}, true, 0},
		"head is base":     {tiny, "main", []string{"embedded", "embedded:free-queue"}, oracle.Options{}, true, 0},
		"free-queue":       {free, "main", []string{"embedded:free-queue"}, oracle.Options{}, true, 2},
		"head is not base": {free, "main", []string{"embedded", "embedded:free-queue"}, oracle.Options{}, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Search{Bounds: c.bounds, Model: c.model, Options: strict}
			for _, spec := range c.stores {
				s.Stores = append(s.Stores, launched(t, spec, c.options))
			}
			r := mustRun(t, s)
			verdict, why := Conclude(r, nil)
			if c.differs == 0 {
				if verdict != diff.Agree || !r.Complete || r.Remembered != 0 {
					t.Fatalf("verdict %v (%v), %d states remembered, finding %+v", verdict, why, r.Remembered, r.Finding)
				}
			} else if verdict != diff.Diverges || len(r.Finding.Sequence.Ops) != c.differs || r.Finding.Divergence.Class != diff.DiffersAfterError {
				t.Fatalf("verdict %v (%v), finding %+v", verdict, why, r.Finding)
			}
			if len(r.Identities) != 2 || len(r.Copies) != len(c.stores) || r.Copies[0] != c.copies {
				t.Errorf("identities %v, copies %v", r.Identities, r.Copies)
			}
			if saves := r.Work[0].Performed < r.Plain*2/3; saves != c.copies && c.differs == 0 {
				t.Errorf("%d ops performed where plain replays take %d; it copies: %t", r.Work[0].Performed, r.Plain, c.copies)
			}
		})
	}
}

// TestPlantedBugs finds a bug of each family, in no more ops than it takes.
func TestPlantedBugs(t *testing.T) {
	for _, c := range []struct {
		bug    string
		bounds Bounds
		ops    int
	}{
		{"get-does-not-touch", tiny, 2},              // order
		{"batch-inserted-in-reverse", tiny, 1},       // order
		{"first-duplicate-wins", tiny, 2},            // payload
		{"first-duplicate-wins", misusedOnce, 1},     // the same by a payload of a wrong size
		{"payload-overwritten", tiny, 3},             // payload: the state is the same, the bytes are not
		{"slot-leaked-on-eviction", wide(1), 2},      // slots
		{"payload-overwritten", misused, 2},          // the same by a payload of a wrong size
		{"capacity-one-more", misusedOnce, 1},        // capacity
		{"release-drops-every-reference", hidden, 1}, // references
		{"get-after-close-answers", misused, 2},      // errors
		{"retain-touches", hidden, 2},                // a hidden order that only an error shows
		{"third-life-goes-first", wide(1), 4},        // a memory that no state shows
	} {
		t.Run(c.bug, func(t *testing.T) {
			open, m := planted(t, c.bug)
			sequence, d, err := Shortest(context.Background(), c.bounds, m.Store, diff.Options{Strict: m.Strict}, open)
			if err != nil {
				t.Fatal(err)
			}
			if d == nil || len(sequence.Ops) != c.ops {
				t.Errorf("%d ops (%s), want %d", len(sequence.Ops), spelled(sequence), c.ops)
			}
		})
	}
}

// TestBoundedLength: what takes three ops is not found in two, and with three it is.
func TestBoundedLength(t *testing.T) {
	open, m := planted(t, "payload-overwritten")
	for ops, want := range map[int]int{1: 0, 2: 0, 3: 3, 4: 3} {
		bounds := tiny
		bounds.Ops = ops
		r := mustRun(t, &Search{Bounds: bounds, Model: m.Store, Stores: []diff.Open{open}})
		found := 0
		if r.Finding != nil {
			found = len(r.Finding.Sequence.Ops)
		}
		if found != want || r.Complete != (want == 0) || r.Depth >= ops {
			t.Errorf("%s: found in %d ops, want %d; %+v", bounds, found, want, r.Progress)
		}
	}
}

// hidden are bounds in which a KeyError can show the order of referenced keys.
var hidden = Bounds{Slots: 2, Keys: 2, Counts: 1, Batch: 2, Lists: 2, ObjectBytes: 1, Misuse: true}

// wide are bounds with evictions.
func wide(counts int) Bounds {
	return Bounds{Slots: 2, Keys: 3, Counts: counts, Batch: 2, Lists: 1, ObjectBytes: 1}
}

// TestOtherSlots: a store that fills its slots in another order is told apart by a
// strict comparison alone. Without it the slots are its own affair, and a part of
// its states all the same.
func TestOtherSlots(t *testing.T) {
	open, m := planted(t, "fresh-slots-first")
	_, d, err := Shortest(context.Background(), wide(0), m.Store, strict, open)
	if err != nil || d == nil || d.Field != diff.FieldSlots {
		t.Errorf("strict: %+v, %v", d, err)
	}
	s := &Search{Bounds: wide(0), Model: m.Store, Stores: []diff.Open{open}}
	if r := mustRun(t, s); !r.Complete || r.Finding != nil || r.Remembered == 0 {
		t.Errorf("not strict: complete %t, finding %+v, %d states by the slots alone", r.Complete, r.Finding, r.Remembered)
	}
}

func TestShortestSaysThatThereIsNone(t *testing.T) {
	sequence, d, err := Shortest(context.Background(), tiny, "main", strict, diff.Model("main"))
	if err != nil || d != nil || len(sequence.Ops) != 0 {
		t.Errorf("%v, %+v, %v", sequence, d, err)
	}
	ended, stop := context.WithCancel(context.Background())
	stop()
	if _, _, err := Shortest(ended, tiny, "main", strict, diff.Model("main")); err == nil {
		t.Error("an interrupted search says that there is none")
	}
}

func TestAModelThatIsNotTheBase(t *testing.T) {
	s := &Search{Bounds: hidden, Model: "main", Options: strict, Stores: []diff.Open{diff.Model("free-queue"), diff.Model("free-queue")}}
	result, err := s.Run(context.Background())
	if err == nil || !contains(err.Error(), "model main is not what the first store does") || !contains(err.Error(), "choose another --model") {
		t.Fatalf("error %v", err)
	}
	if verdict, _ := Conclude(result, err); verdict != diff.Infrastructure {
		t.Errorf("verdict %v", verdict)
	}
	s.Model, s.Bounds = "free-queue", tiny
	if result := mustRun(t, s); !result.Complete || result.Finding != nil {
		t.Errorf("complete %t, finding %+v", result.Complete, result.Finding)
	}
}

// TestStoresThatDie: what ends a store's process is a difference, or, where both
// stores die alike, the end of the search.
func TestStoresThatDie(t *testing.T) {
	source, ok := python.Store("main")
	if !ok {
		t.Fatal("no embedded main")
	}
	const place = "        self._check_open()\n        for key in keys:\n"
	if !contains(source, place) {
		t.Fatal("the embedded store has changed")
	}
	source = strings.Replace(source, place, "        if len(keys) == 1 and keys[0] in self._counts:\n            import os\n            os._exit(7)\n"+place, 1)
	launch, err := oracle.Source("dies", source, oracle.Options{OpTimeout: time.Minute})
	dies := opened(t, launch, err)
	s := &Search{Bounds: tiny, Model: "main", Options: strict, Stores: []diff.Open{dies}}
	r := mustRun(t, s)
	if r.Finding == nil || r.Finding.Divergence.Right.Outcome.Kind().String() != "crash" || len(r.Finding.Sequence.Ops) != 2 {
		t.Fatalf("finding %+v", r.Finding)
	}
	s.Stores = []diff.Open{dies, dies}
	if _, err := s.Run(context.Background()); err == nil || !contains(err.Error(), "both stores end their process") {
		t.Errorf("error %v", err)
	}
}

func TestConclude(t *testing.T) {
	done := Progress{States: 3, Expanded: 3, Ops: 9}
	for _, c := range []struct {
		result  Result
		failure error
		verdict diff.Verdict
		says    string
	}{
		{Result{Progress: done, Complete: true}, nil, diff.Agree, ""},
		{Result{Progress: done, Finding: &diff.Finding{}}, nil, diff.Diverges, ""},
		{Result{Progress: done, Complete: true, Incidents: []string{"a death that did not recur"}}, nil, diff.Infrastructure, "a death that did not recur"},
		{Result{Progress: done, Interrupted: true}, nil, diff.Infrastructure, "interrupted: 3 of 3 states"},
		{Result{Progress: done, Limit: "there are more than 2 states"}, nil, diff.Infrastructure, "more than 2 states: 3 of them were searched"},
		{Result{Progress: done}, errors.New("no Python"), diff.Infrastructure, "no Python"},
		{Result{Complete: true}, nil, diff.Infrastructure, "no operation was executed"},
	} {
		verdict, why := Conclude(&c.result, c.failure)
		if verdict != c.verdict || c.says != "" && !contains(fmt.Sprint(why), c.says) {
			t.Errorf("%+v: %v, %v", c.result, verdict, why)
		}
	}
}

func TestLimits(t *testing.T) {
	for name, s := range map[string]*Search{
		"there are more than 5 states":         {MaxStates: 5},
		"the states take more than 0 MiB":      {MaxMemory: 1},
		"a search takes one store or two, not": {},
		"unknown model":                        {Model: "nope"},
		"keys must be from":                    {Bounds: Bounds{Slots: 1, ObjectBytes: 1}},
	} {
		s.Options, s.flightTries = strict, 1
		if s.Model == "" {
			s.Model = "main"
		}
		if s.Bounds == (Bounds{}) {
			s.Bounds = tiny
		}
		if s.MaxStates+int(s.MaxMemory) > 0 || s.Model == "nope" {
			s.Stores = []diff.Open{diff.Model("main")}
		}
		result, err := s.Run(context.Background())
		said := result.Limit
		if err != nil {
			said = err.Error()
		}
		if !contains(said, name) || result.Complete {
			t.Errorf("want %q, said %q, complete %t", name, said, result.Complete)
		}
	}
}
