package oracle

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/python"
)

// privateName is a name with one leading underscore, as the stores' attributes
// and helpers have.
var privateName = regexp.MustCompile(`\b_([a-z]\w*)`)

// renamed is a store whose private parts are called otherwise, so that no layout fits.
func renamed(t testing.TB, name string) string {
	t.Helper()
	source, ok := python.Store(name)
	if !ok {
		t.Fatalf("no embedded store %s", name)
	}
	return privateName.ReplaceAllString(source, "_other_$1")
}

// TestBlackBoxSeesWhatTheWhiteBoxSees compares each store with itself under other
// names. The server falls back to the black box of its own accord.
func TestBlackBoxSeesWhatTheWhiteBoxSees(t *testing.T) {
	needPython(t)
	count := 25
	if os.Getenv("DIFFSTORE_LONG") == "1" {
		count = 200
	}
	for _, name := range python.StoreNames() {
		t.Run(name, func(t *testing.T) {
			white := resolve(t, "embedded:"+name, Options{})
			black, err := Source(name+" renamed", renamed(t, name), Options{OpTimeout: 30 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			var batch []op.Sequence
			ops := 0
			for _, profile := range []string{"mixed", "unbalanced", "sized", "balanced"} {
				batch = append(batch, generated(profile, count)...)
			}
			for i := range batch {
				ops += len(batch[i].Ops)
			}
			began := time.Now()
			left, w := show(t, white, Ask{}, batch)
			middle := time.Now()
			right, b := show(t, black, Ask{}, batch)
			if w.BlackBox() || !b.BlackBox() || b.Sees() != op.SeesQueue|op.SeesRefs|op.SeesZombies {
				t.Fatalf("adapters %s and %s, which sees %b", w.Identity().Adapter, b.Identity().Adapter, b.Sees())
			}
			sameRuns(t, batch, left, right, diff.Options{Unbounded: model.Grows(name)})
			t.Logf("%d ops, starts included: white box %v, black box %v", ops, middle.Sub(began), time.Since(middle))
		})
	}
}

// TestBlackBoxOnRequest uses the black box on a store that has a layout.
func TestBlackBoxOnRequest(t *testing.T) {
	needPython(t)
	batch := generated("mixed", 20)
	runs, o := show(t, resolve(t, "embedded", Options{BlackBox: true}), Ask{}, batch)
	if !o.BlackBox() {
		t.Fatalf("adapter %s", o.Identity().Adapter)
	}
	sameRuns(t, batch, modelled(t, "main", batch), runs, diff.Options{})
}

// TestAHalfKnownLayoutIsNoLayout holds stores that use the names of a layout for
// something else: they are black boxes.
func TestAHalfKnownLayoutIsNoLayout(t *testing.T) {
	needPython(t)
	for name, source := range map[string]string{
		"keys as bytes":    spoiled(t, "        self._order = OrderedDict()\n", "        self._order = Encoded()\n", "class BlockObjectStore:", encodedOrder+"class BlockObjectStore:"),
		"counts elsewhere": spoiled(t, "        self._counts = {}\n", "        self._counts, self.counts = {}, {}\n", "self._counts[key] = self._counts.get(key, 0) + 1", "self.counts[key] = self.counts.get(key, 0) + 1"),
	} {
		launch, err := Source(name, source, Options{})
		if err != nil {
			t.Fatal(err)
		}
		o, err := Open(launch, Ask{})
		if err != nil {
			t.Fatal(err)
		}
		if !o.BlackBox() {
			t.Errorf("%s: adapter %s, want the black box", name, o.Identity().Adapter)
		}
		o.Close()
	}
}

// encodedOrder is an ordered dict that keeps its keys as bytes.
const encodedOrder = `class Encoded(OrderedDict):
    def setdefault(self, key, value):
        return super().setdefault(key.encode(), value)

    def move_to_end(self, key):
        super().move_to_end(key.encode())


`

// TestBlackBoxCorners has, by hand, what a probe could easily confuse.
func TestBlackBoxCorners(t *testing.T) {
	needPython(t)
	put := func(key, payload string) op.Op {
		return op.Op{Kind: op.Put, Objects: []op.Object{{Key: key, Payload: []byte(payload)}}}
	}
	batch := []op.Sequence{
		{Slots: 2, ObjectBytes: 2, Ops: []op.Op{ // references without objects, and releases that fail half-way
			{Kind: op.Put, Retain: []string{"a", "a", "b"}}, {Kind: op.Put, Release: []string{"b", "b"}}, put("a", "aa"), put("c", "cc"),
			{Kind: op.Put, Release: []string{"a", "nope"}}, put("d", "dd"), put("e", "ee"),
		}},
		{Slots: 2, ObjectBytes: 2, Ops: []op.Op{ // lost slots, then empty payloads in slots beyond the arena
			put("a", "a"), put("b", "b"), put("c", ""), put("d", ""), {Kind: op.Get, Keys: []string{"c", "d"}}, put("e", "ee"), put("a", "aa"), put("f", ""), put("f", "ff"),
		}},
		{Slots: 1, ObjectBytes: 1, Ops: []op.Op{ // a referenced zombie that blocks all
			{Kind: op.Put, Objects: []op.Object{{Key: "a", Payload: []byte("toolong")}}, Retain: []string{"a"}}, put("b", "b"), {Kind: op.Get, Keys: []string{"a"}},
			{Kind: op.Put, Release: []string{"a"}}, put("b", "b"),
		}},
		{Slots: 2, ObjectBytes: 1, Ops: []op.Op{ // ops behind a close change nothing
			put("a", "a"), {Kind: op.Close}, put("b", "b"), {Kind: op.Get, Keys: []string{"a"}}, {Kind: op.Close},
		}},
		{Slots: 0, ObjectBytes: 1, Ops: []op.Op{put("a", "a")}},
		{Slots: 1, ObjectBytes: 0, Ops: []op.Op{put("a", "")}},
	}
	for _, name := range python.StoreNames() {
		t.Run(name, func(t *testing.T) {
			white, _ := show(t, resolve(t, "embedded:"+name, Options{}), Ask{}, batch)
			black, _ := show(t, resolve(t, "embedded:"+name, Options{BlackBox: true}), Ask{}, batch)
			sameRuns(t, batch, white, black, diff.Options{Unbounded: model.Grows(name)})
		})
	}
}

// TestBlackBoxOfAStoreThatNeverRefuses ends: what a store should refuse is not
// asked without end.
func TestBlackBoxOfAStoreThatNeverRefuses(t *testing.T) {
	needPython(t)
	source := spoiled(t, "            count = self._counts[key] - 1\n", "            count = 1\n",
		"        victims = list(islice(eligible, excess))\n        if len(victims) < excess:", "        victims = []\n        if False:")
	launch, err := Source("takes all", source, Options{BlackBox: true, OpTimeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	batch := []op.Sequence{{Slots: 1, ObjectBytes: 1, Ops: []op.Op{
		{Kind: op.Put, Objects: []op.Object{{Key: "a", Payload: []byte("a")}, {Key: "b", Payload: []byte("b")}}, Retain: []string{"a", "a"}},
		{Kind: op.Put, Release: []string{"b"}},
	}}}
	runs, _ := show(t, launch, Ask{}, batch)
	state := runs[0].Steps[1].State
	if len(state.Entries) != 2 || len(state.Refs) != 1 || state.Refs[0] != (op.Ref{Key: "a", Count: 3}) {
		t.Errorf("state %+v: want both keys, and one reference more than a was given", state)
	}
}

// TestHashCounts counts what the real check counts: how often a full store hashes
// the referenced keys when it must evict.
func TestHashCounts(t *testing.T) {
	needPython(t)
	const referenced, free, puts = 900, 100, 100
	first := op.Op{Kind: op.Put}
	object := func(i int) op.Object { return op.Object{Key: "k" + string(rune(0x4e00+i)), Payload: []byte("p")} }
	for i := range referenced {
		first.Objects = append(first.Objects, object(i))
		first.Retain = append(first.Retain, object(i).Key)
	}
	second := op.Op{Kind: op.Put}
	for i := range free {
		second.Objects = append(second.Objects, object(referenced+i))
	}
	s := op.Sequence{Slots: referenced + free, ObjectBytes: 1, Ops: []op.Op{first, second}}
	for i := range puts {
		s.Ops = append(s.Ops, op.Op{Kind: op.Put, Objects: []op.Object{object(referenced + free + i)}})
	}
	batch := []op.Sequence{s}
	for name, want := range map[string]int{"main": 180000, "free-queue": 0} {
		for _, ask := range []Ask{{Hashes: true, Watched: first.Retain}, {Hashes: true, Watched: first.Retain, Blind: true}} {
			runs, o := show(t, resolve(t, "embedded:"+name, Options{}), ask, batch)
			watched, all := 0, 0
			for _, step := range runs[0].Steps[2:] {
				watched += step.Watched
				all += step.Hashes
				if !ask.Blind && step.State.Sees&op.SeesHashes == 0 {
					t.Fatal("the steps do not say that hashes were counted")
				}
			}
			if watched != want || all < watched || all > watched+puts*10 || o.Sees()&op.SeesHashes == 0 {
				t.Errorf("%s (blind: %v): %d hashes of referenced keys, %d of all that the puts do not name; want %d", name, ask.Blind, watched, all, want)
			}
			if !ask.Blind {
				sameRuns(t, batch, modelled(t, name, batch), runs, diff.Options{Strict: true})
			}
		}
	}
}

// TestTheServerKnowsEveryKind reads the server's table of operations.
func TestTheServerKnowsEveryKind(t *testing.T) {
	rows := regexp.MustCompile(`(?m)^(\w+(?:, \w+)*) = (\d+(?:, \d+)*)  # the rows of the table of operations$`).FindStringSubmatch(python.OracleServer())
	if rows == nil {
		t.Fatal("the server has no table of operations")
	}
	words, codes := "", ""
	for kind := op.Kind(0); kind < op.NumKinds; kind++ {
		if kind > 0 {
			words, codes = words+", ", codes+", "
		}
		words, codes = words+strings.ToUpper(op.Table[kind].Name), codes+string(rune('0'+kind))
		if !regexp.MustCompile(`store\.` + op.Table[kind].Method + `\(`).MatchString(python.OracleServer()) {
			t.Errorf("the server never calls %s", op.Table[kind].Method)
		}
	}
	if rows[1] != words || rows[2] != codes {
		t.Errorf("the server has %s = %s, the table %s = %s", rows[1], rows[2], words, codes)
	}
}
