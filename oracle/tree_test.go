package oracle

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/diffstore/diffstore/op"
)

// saplings is a table of ops on a store of two slots.
func saplings(t *testing.T) []op.Op {
	t.Helper()
	var ops []op.Op
	for _, text := range []string{
		"put a=61 b=62 retain a", "put c=63", "put retain b release a", "put release c", "put a=41 b=42 c=43 retain a b",
		"get a", "get b a b", "get c", "put b=6262", "put c=", "close", "put a=61 c=63 a=41 retain c release c",
	} {
		o, err := op.ParseOp(text)
		if err != nil {
			t.Fatal(err)
		}
		ops = append(ops, o)
	}
	return ops
}

func every(n int) (places []int32) {
	for i := range n {
		places = append(places, int32(i))
	}
	return places
}

// bush is a tree of several states, a closed one and one with a zombie among them.
func bush(t *testing.T) *Tree {
	ops := saplings(t)
	tree := &Tree{Slots: 2, ObjectBytes: 1, Ops: ops, Keys: []string{"a", "b", "c"}}
	for _, path := range [][]int32{nil, {0}, {0, 2}, {0, 9, 1}, {8, 1}, {0, 10}} {
		tree.Branches = append(tree.Branches, Branch{Path: path, Tries: every(len(ops))})
	}
	return tree
}

// grown collects what an oracle shows of trees that are under way together.
func grown(t *testing.T, o *Oracle, trees ...*Tree) (shown [][]Shown, work []Work) {
	t.Helper()
	for _, tree := range trees {
		if err := o.SubmitTree(tree); err != nil {
			t.Fatal(err)
		}
	}
	for _, tree := range trees {
		dst := make([]Shown, len(tree.Branches))
		done, err := o.CollectTree(dst)
		if err != nil {
			t.Fatal(err)
		}
		shown, work = append(shown, dst), append(work, done)
	}
	return shown, work
}

// tell is what a try showed, in one text, with the contents.
func tell(shown *Shown, place int) string {
	at := shown.At[place]
	if at == Unseen {
		return "unseen"
	}
	leaf := shown.Leaves[at]
	refs := map[string]int{}
	for _, ref := range leaf.State.Refs {
		refs[ref.Key] = ref.Count
	}
	return fmt.Sprintf("%q %v %v %v %v %d %t %q", leaf.Outcome.Payload, leaf.Outcome.Err, leaf.State.Queue, refs, leaf.State.Free, leaf.State.Next, leaf.Read || len(leaf.State.Entries) == 0, leaf.Contents)
}

// TestTreesShowWhatSequencesShow holds a tree against the same ops run as
// sequences, for stores that can be put back and for others.
func TestTreesShowWhatSequencesShow(t *testing.T) {
	needPython(t)
	const locked = "        self._next = 0\n"
	for name, c := range map[string]struct {
		source   string
		blackBox bool
		copies   bool
	}{
		"copied":    {spoiled(t), false, true},
		"a lock":    {spoiled(t, atImport, atImport+"import threading\n", locked, locked+"        self._lock = threading.Lock()\n"), false, false},
		"a part":    {spoiled(t, locked, locked+"        self._log = [[]]\n"), false, true}, // an empty store shows no such part: found out on the way
		"slots":     {spoiled(t, "    def __init__(self, *, max_bytes", "    __slots__ = ('num_slots', '__dict__')\n\n    def __init__(self, *, max_bytes"), false, false},
		"black box": {spoiled(t), true, false},
	} {
		wires := []string{WireMarshal}
		if name == "copied" || c.blackBox {
			wires = append(wires, WireJSON)
		}
		for _, wire := range wires {
			t.Run(name+"/"+wire, func(t *testing.T) {
				launch, err := Source(name, c.source, Options{Wire: wire, BlackBox: c.blackBox, OpTimeout: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				o, err := Open(launch, Ask{})
				if err != nil {
					t.Fatal(err)
				}
				defer o.Close()
				if name == "a part" {
					c.copies = false
				}
				if o.Copies() != c.copies {
					t.Errorf("it copies: %t, want %t", o.Copies(), c.copies)
				}
				tree := bush(t)
				plain := make([]Shown, len(tree.Branches))
				if _, err := Plainly(o, tree, plain, true); err != nil {
					t.Fatal(err)
				}
				want := map[string]string{}
				tries := 0
				for b := range tree.Branches {
					for i := range tree.Branches[b].Tries {
						want[fmt.Sprint(b, i)] = tell(&plain[b], i)
						tries++
					}
				}
				shown, work := grown(t, o, tree, tree)
				for i := range shown {
					for b := range tree.Branches {
						for j, try := range tree.Branches[b].Tries {
							if got, want := tell(&shown[i][b], j), want[fmt.Sprint(b, j)]; got != want {
								t.Errorf("branch %d, %s:\n%s\nwant\n%s", b, tree.Ops[try], got, want)
							}
						}
					}
					if rebuilt := work[i].Rebuilt == tries; rebuilt == c.copies {
						t.Errorf("%d of %d states were reached anew; it copies: %t", work[i].Rebuilt, tries, c.copies)
					}
				}
			})
		}
	}
}

// TestAStoreThatKeepsStateElsewhere: a store put back without what it keeps in its
// module behaves otherwise than one built anew; that is noticed, and then it is built anew.
func TestAStoreThatKeepsStateElsewhere(t *testing.T) {
	needPython(t)
	launch, err := Source("elsewhere", spoiled(t,
		atImport, atImport+"GETS = {}\n",
		"        self._next = 0\n", "        self._next = 0\n        GETS.clear()\n",
		inGet, "        GETS[len(GETS)] = None\n        if len(GETS) > 2:\n            return b''\n"+inGet), Options{OpTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	o, err := Open(launch, Ask{})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if !o.Copies() {
		t.Fatal("nothing of it shows beforehand")
	}
	tree := &Tree{Slots: 2, ObjectBytes: 1, Ops: saplings(t), Keys: []string{"a", "b", "c"}, Branches: []Branch{{Path: []int32{0}, Tries: []int32{5, 5, 5, 5}}}}
	shown, work := grown(t, o, tree)
	for i := range tree.Branches[0].Tries {
		if got := string(shown[0][0].Leaves[shown[0][0].At[i]].Outcome.Payload); got != "a" {
			t.Errorf("get %d gives %q, want a", i, got)
		}
	}
	if work[0].Rebuilt < 4 {
		t.Errorf("it was built anew %d times for 4 gets", work[0].Rebuilt)
	}
}

// TestADeathAmongManyStates: the op that ends the process is found, what lies
// behind it is unseen, and the tree behind is answered by the next process. A
// death that does not recur is an incident.
func TestADeathAmongManyStates(t *testing.T) {
	needPython(t)
	marker := filepath.ToSlash(filepath.Join(t.TempDir(), "died"))
	const dies = "        if 'c' in keys:\n            import os\n"
	for name, c := range map[string]struct {
		dies  string
		kind  op.ErrorKind
		times int
	}{
		"always": {dies + "            os._exit(9)\n", op.CrashError, 0},
		"hangs":  {dies + "            while True:\n                pass\n", op.HangError, 0},
		"once":   {dies + "            if not os.path.exists(" + fmt.Sprintf("%q", marker) + "):\n                open(" + fmt.Sprintf("%q", marker) + ", 'w').close()\n                os._exit(9)\n", op.NoError, 1},
	} {
		t.Run(name, func(t *testing.T) {
			timeout := 30 * time.Second
			if c.kind == op.HangError {
				timeout = time.Second
			}
			launch, err := Source(name, spoiled(t, "        for key in keys:\n            if key not in", c.dies+"        for key in keys:\n            if key not in"), Options{OpTimeout: timeout})
			if err != nil {
				t.Fatal(err)
			}
			o, err := Open(launch, Ask{})
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			first := &Tree{Slots: 2, ObjectBytes: 1, Ops: saplings(t), Keys: []string{"a", "b"}, Branches: []Branch{{Path: []int32{0}, Tries: []int32{5, 7, 6}}, {Tries: []int32{5}}}}
			second := &Tree{Slots: 2, ObjectBytes: 1, Ops: first.Ops, Keys: first.Keys, Branches: []Branch{{Path: []int32{0}, Tries: []int32{5}}}}
			shown, _ := grown(t, o, first, second)
			at, rest := shown[0][0].At, shown[0][1].At
			if c.kind == op.NoError {
				if last := shown[0][0].Leaves[at[1]]; last.Outcome.Kind() != op.MissingError || rest[0] == Unseen || len(o.Incidents()) != c.times {
					t.Errorf("outcome %v, places %v, incidents %v", last.Outcome.Err, rest, o.Incidents())
				}
			} else if got := shown[0][0].Leaves[at[1]].Outcome.Kind(); got != c.kind || at[2] != Unseen || rest[0] != Unseen || len(o.Incidents()) != 0 {
				t.Errorf("kind %v, places %v and %v, incidents %v", got, at, rest, o.Incidents())
			}
			if got := shown[1][0].Leaves[shown[1][0].At[0]].Outcome.Payload; string(got) != "a" {
				t.Errorf("the tree behind shows %q", got)
			}
		})
	}
}

// TestMemory: what a store keeps beside its layout is told apart, under the names
// that stand for its keys, and nothing is told of one that keeps nothing.
func TestMemory(t *testing.T) {
	needPython(t)
	for _, wire := range []string{WireMarshal, WireJSON} {
		launch, err := Source("counts", spoiled(t, "        self._next = 0\n", "        self._next = 0\n        self._puts = {}\n",
			inPut, "        for item in objects:\n            self._puts[item.key] = self._puts.get(item.key, 0) + 1\n"+inPut), Options{Wire: wire, OpTimeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		o, err := Open(launch, Ask{})
		if err != nil {
			t.Fatal(err)
		}
		tree := &Tree{Slots: 2, ObjectBytes: 1, Ops: saplings(t), Branches: []Branch{{Path: []int32{0}, Tries: []int32{1, 8}}, {Tries: []int32{5, 1}}}}
		shown, _ := grown(t, o, tree)
		label := func(text string) string {
			if len(text) == 1 {
				return strings.Repeat("key", 2)
			}
			return text
		}
		memory := func(branch, try int) string {
			return string(shown[0][branch].Leaves[shown[0][branch].At[try]].AppendMemory(nil, label))
		}
		if got := memory(1, 0); got != "" {
			t.Errorf("a fresh store remembers %s", got)
		}
		if !strings.Contains(memory(1, 1), "keykey") || strings.Contains(memory(1, 1), `"c"`) {
			t.Errorf("keys do not go by their labels: %s", memory(1, 1))
		}
		if a, b := memory(0, 0), memory(0, 1); a == b || !strings.Contains(a, "_puts") {
			t.Errorf("two memories are told as %s and %s", a, b)
		}
		o.Close()
	}
}

// TestATreeIsSentWithItsTableOnce: the table of ops is the bulk of a request.
func TestATreeIsSentWithItsTableOnce(t *testing.T) {
	tree := bush(t)
	var e marshalEncoder
	fresh := bytes.Clone(e.treeRequest(tree, true))
	again := bytes.Clone(e.treeRequest(tree, false))
	var decoded reader
	if err := decoded.decodeMarshal(fresh[4:]); err != nil {
		t.Fatal(err)
	}
	if err := decoded.decodeMarshal(again[4:]); err != nil {
		t.Fatal(err)
	}
	line, err := jsonTreeRequest(tree, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := decoded.decodeJSON(line); err != nil {
		t.Fatal(err)
	}
	if len(again) >= len(fresh) || !reflect.DeepEqual(fresh[4:10], again[4:10]) {
		t.Errorf("%d bytes with the table, %d without", len(fresh), len(again))
	}
}
