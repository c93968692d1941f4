package diff

import (
	"strings"
	"testing"

	"github.com/diffstore/diffstore/op"
)

// spoilers change the right side in one field each, or both sides where the
// field judges each alone.
var spoilers = map[Field]func(left, right *op.Observation){
	FieldOutcome: func(_, right *op.Observation) { right.Outcome = op.Outcome{Payload: []byte("zz")} },
	FieldVictims: func(_, right *op.Observation) { right.Victims = append(right.Victims, "ghost") },
	FieldStored:  func(_, right *op.Observation) { right.State.Entries[0].Key = "ghost" },
	FieldZombies: func(_, right *op.Observation) { right.State.Entries[0].Slot = op.Unallocated },
	FieldRefs:    func(_, right *op.Observation) { right.State.Refs[0].Count++ },
	FieldQueue: func(_, right *op.Observation) {
		q := right.State.Queue
		q[0], q[1] = q[1], q[0]
	},
	FieldInvariants: func(left, right *op.Observation) {
		for _, side := range []*op.Observation{left, right} {
			side.State.Queue = append(side.State.Queue, side.State.Queue[0])
		}
	},
	FieldHashes: func(_, right *op.Observation) { right.Hashes, right.State.Sees = 1000, right.State.Sees|op.SeesHashes },
	FieldSlots: func(_, right *op.Observation) {
		e := right.State.Entries
		e[0].Slot, e[1].Slot = e[1].Slot, e[0].Slot
	},
	FieldFree: func(left, right *op.Observation) {
		left.State.Free, right.State.Free = []int{4, 3}, []int{3, 4}
	},
	FieldNext: func(_, right *op.Observation) { right.State.Next++ },
}

// TestFieldsAreComparedInOrder spoils a field and all that come behind it: the
// first one must be named, whatever else is wrong.
func TestFieldsAreComparedInOrder(t *testing.T) {
	s := sequence(t, 5, 2, "put a=6161 b=6262 c=6363 retain a", "get b")
	options := Options{Strict: true, HashBound: 10}
	for i, row := range Fields {
		if row.Field == FieldConstruct {
			continue
		}
		if spoilers[row.Field] == nil {
			t.Errorf("no test spoils the field %s", row.Field)
			continue
		}
		left, right := runOn(t, "main", s), runOn(t, "main", s)
		for j := len(Fields) - 1; j >= i; j-- {
			spoilers[Fields[j].Field](&left.Steps[1], &right.Steps[1])
		}
		d := Compare(&s, &left, &right, options)
		if d == nil || d.Field != row.Field || d.Step != 1 {
			t.Errorf("%s spoiled: got %+v", row.Field, d)
		}
		if d != nil && (d.Field == FieldInvariants) != (d.Detail != "") {
			t.Errorf("%s: detail %q", row.Field, d.Detail)
		}
	}
}

func TestEqualRunsDoNotDiverge(t *testing.T) {
	s := sequence(t, 2, 2, "put a=6161 b=62 retain a", "get a b", "put c=6363", "put release nope", "close", "get")
	left, right := runOn(t, "main", s), runOn(t, "main", s)
	if d := Compare(&s, &left, &right, Options{Strict: true, Text: true, HashBound: 1}); d != nil {
		t.Errorf("a store differs from itself: %+v", d)
	}
}

func TestOptionsDecideWhatIsCompared(t *testing.T) {
	s := sequence(t, 2, 2, "put a=6161 b=6262", "get nope")
	for _, c := range []struct {
		name    string
		spoil   func(left, right *op.Observation)
		options Options
		want    Field
	}{
		{"slots are private", spoilers[FieldSlots], Options{}, ""},
		{"slots on request", spoilers[FieldSlots], Options{Strict: true}, FieldSlots},
		{"slots that one side does not see", func(l, r *op.Observation) {
			spoilers[FieldSlots](l, r)
			r.State.Sees &^= op.SeesSlots
		}, Options{Strict: true}, ""},
		{"hashes are not counted", spoilers[FieldHashes], Options{}, ""},
		{"a queue that one side does not see", func(_, r *op.Observation) { r.State.Queue, r.State.Sees = nil, r.State.Sees&^op.SeesQueue }, Options{}, ""},
		{"references that one side does not see", func(_, r *op.Observation) {
			r.State.Refs, r.State.Sees = []op.Ref{{Key: "a", Count: 1}}, r.State.Sees&^op.SeesRefs
		}, Options{}, ""},
		{"a message", func(_, r *op.Observation) { r.Outcome.Err.Message = "other words" }, Options{}, ""},
		{"a message on request", func(_, r *op.Observation) { r.Outcome.Err.Message = "other words" }, Options{Text: true}, FieldOutcome},
		{"the limit an error states", func(_, r *op.Observation) { r.Outcome.Err.Limit = 9 }, Options{}, FieldOutcome},
		{"the limit left out", func(_, r *op.Observation) { r.Outcome.Err.Limit = 9 }, Options{IgnoreLimit: true}, ""},
		{"another kind, the limit left out", func(_, r *op.Observation) { r.Outcome.Err.Kind = op.KeyError }, Options{IgnoreLimit: true}, FieldOutcome},
		{"two exceptions of no known kind", func(l, r *op.Observation) {
			l.Outcome.Err = op.NewError(op.OtherError, "TypeError", "", "")
			r.Outcome.Err = op.NewError(op.OtherError, "ValueError", "", "")
		}, Options{}, FieldOutcome},
		{"an empty payload and none", func(l, r *op.Observation) {
			l.Outcome, r.Outcome = op.Outcome{Payload: []byte{}}, op.Outcome{}
		}, Options{}, FieldOutcome},
		{"two deaths: no state is left", func(l, r *op.Observation) {
			for _, side := range []*op.Observation{l, r} {
				side.Outcome.Err = op.NewError(op.CrashError, "", "", "")
			}
			spoilers[FieldQueue](l, r)
		}, Options{}, ""},
	} {
		left, right := runOn(t, "main", s), runOn(t, "main", s)
		c.spoil(&left.Steps[1], &right.Steps[1])
		d := Compare(&s, &left, &right, c.options)
		if got := fieldOf(d); got != c.want {
			t.Errorf("%s: differs in %q, expected %q", c.name, got, c.want)
		}
	}
}

func fieldOf(d *Divergence) Field {
	if d == nil {
		return ""
	}
	return d.Field
}

func TestMoreKeysThanSlots(t *testing.T) {
	s := sequence(t, 1, 1, "put a=61", "put b=62 c=63")
	left, right := runOn(t, "growing", s), runOn(t, "growing", s)
	if d := Compare(&s, &left, &right, Options{}); fieldOf(d) != FieldInvariants || !strings.Contains(d.Detail, "2") {
		t.Errorf("two keys in one slot: %+v", d)
	}
	if d := Compare(&s, &left, &right, Options{Unbounded: true}); d != nil {
		t.Errorf("a store that may grow: %+v", d)
	}
}

func TestManyKeysAreFound(t *testing.T) {
	s := op.Sequence{Slots: 200, ObjectBytes: 1, Ops: []op.Op{{Kind: op.Put}}}
	for i := range 200 {
		key := string(rune('a'+i%26)) + strings.Repeat("x", i)
		s.Ops[0].Objects = append(s.Ops[0].Objects, op.Object{Key: key, Payload: []byte{1}})
		s.Ops[0].Retain = append(s.Ops[0].Retain, key)
	}
	for _, spoil := range []struct {
		how  func(right *op.State)
		want Field
	}{
		{func(r *op.State) { // another order is no difference
			for i, j := 0, len(r.Entries)-1; i < j; i, j = i+1, j-1 {
				r.Entries[i], r.Entries[j] = r.Entries[j], r.Entries[i]
				r.Refs[i], r.Refs[j] = r.Refs[j], r.Refs[i]
			}
		}, ""},
		{func(r *op.State) { r.Entries[150].Key = "ghost" }, FieldStored},
		{func(r *op.State) { r.Refs[150].Key = "ghost" }, FieldRefs},
		{func(r *op.State) { r.Refs[150].Count = 7 }, FieldRefs},
	} {
		left, right := runOn(t, "main", s), runOn(t, "main", s)
		spoil.how(&right.Steps[0].State)
		if d := Compare(&s, &left, &right, Options{Strict: true}); fieldOf(d) != spoil.want {
			t.Errorf("differs in %q, expected %q", fieldOf(d), spoil.want)
		}
	}
}

// TestClassesTellErrorsFromTheRest holds the two facts that the pull requests do
// not say, and what is no error for a class.
func TestClassesTellErrorsFromTheRest(t *testing.T) {
	for _, c := range []struct {
		name, variant string
		s             op.Sequence
		want          Class
		step          int
	}{
		{"front-rotation after a KeyError", "front-rotation",
			sequence(t, 2, 1, "put a=61 b=62 retain a", "put c=63", "put release a nope", "put d=64"), DiffersAfterError, 2},
		{"free-queue after a KeyError", "free-queue",
			sequence(t, 2, 1, "put a=61 b=62 retain a", "put release a nope", "put c=63"), DiffersAfterError, 1},
		{"growing in place of a capacity error", "growing",
			sequence(t, 1, 1, "put a=61 retain a", "put b=62"), Differs, 1},
		{"a get that misses is no failed call", "growing",
			sequence(t, 1, 1, "put a=61 retain a", "get nope", "put b=62"), Differs, 2},
		{"a failure behind which both still agree", "growing",
			sequence(t, 1, 1, "put release nope", "put a=61 retain a", "put b=62"), DiffersAfterError, 2},
	} {
		left, right := runOn(t, "main", c.s), runOn(t, c.variant, c.s)
		d := Compare(&c.s, &left, &right, Options{})
		if d == nil || d.Class != c.want || d.Step != c.step {
			t.Errorf("%s: got %+v, expected %s at step %d", c.name, d, c.want, c.step)
		}
	}
}

func TestConstructors(t *testing.T) {
	refused := op.Run{Refused: op.NewError(op.ArgumentError, "ValueError", "no", "")}
	s := op.Sequence{Slots: 1, ObjectBytes: 1}
	d := Compare(&s, &op.Run{}, &refused, Options{})
	if d == nil || d.Field != FieldConstruct || d.Step != -1 || d.Class != Differs || d.Fingerprint() != "construct/construct/none|argument" {
		t.Errorf("one side refuses: %+v", d)
	}
	if d := Compare(&s, &refused, &refused, Options{Text: true}); d != nil {
		t.Errorf("both refuse alike: %+v", d)
	}
}

func TestADivergenceSharesNoMemory(t *testing.T) {
	s := sequence(t, 2, 1, "put a=61 b=62")
	left, right := runOn(t, "main", s), runOn(t, "main", s)
	spoilers[FieldQueue](nil, &right.Steps[0])
	d := Compare(&s, &left, &right, Options{})
	right.Steps[0].State.Queue[0] = "overwritten"
	s.Ops[0].Objects[0].Payload[0] = 'z'
	if d.Right.State.Queue[0] != "b" || d.Op.Objects[0].Payload[0] != 'a' {
		t.Errorf("the divergence changed with the run: %+v", d)
	}
}

func TestFingerprints(t *testing.T) {
	failed := op.Observation{Outcome: op.Outcome{Err: op.NewError(op.KeyError, "KeyError", "'a'", "a")}}
	for _, c := range []struct {
		d    Divergence
		want string
	}{
		{Divergence{Op: op.Op{Kind: op.Put}, Field: FieldVictims, Class: Differs}, "put/victims/none|none"},
		{Divergence{Op: op.Op{Kind: op.Get}, Field: FieldOutcome, Class: Differs, Right: failed}, "get/outcome/none|key"},
		{Divergence{Op: op.Op{Kind: op.Put}, Field: FieldQueue, Class: DiffersAfterError, Left: failed, Right: failed}, "put/queue/key|key/differs-after-error"},
		{Divergence{Op: op.Op{Kind: op.Put}, Field: FieldOutcome, Class: Intended}, "put/outcome/none|none/intended"},
	} {
		if got := c.d.Fingerprint(); got != c.want {
			t.Errorf("fingerprint %s, expected %s", got, c.want)
		}
	}
}
