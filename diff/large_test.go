package diff

import (
	"slices"
	"testing"

	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/op"
)

// largeCase is a sequence that fills a store looked at in part.
func largeCase(t *testing.T) op.Sequence {
	t.Helper()
	var s op.Sequence
	gen.Case(1, gen.Sizes-1, gen.Config{Profile: "balanced", Slots: LargeStore, MaxOps: 3 * LargeStore}, &s)
	return s
}

// TestPartsAgainstWholes sets a side that looks in part beside one that shows
// every state whole: they agree, and what is spoilt in a touched key shows.
func TestPartsAgainstWholes(t *testing.T) {
	s := largeCase(t)
	store, err := model.New("main", 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	var parts, wholes op.Run
	RunModel(store, &s, &parts)
	if err := store.Reset(s.Slots, s.ObjectBytes); err != nil {
		t.Fatal(err)
	}
	wholes.Steps = make([]op.Observation, len(s.Ops))
	inPart, spoilt := 0, -1
	for i := range s.Ops {
		store.Step(&s.Ops[i], &wholes.Steps[i])
		if parts.Steps[i].State.Sees&op.SeesPart == 0 {
			if !wholeAt(&s, i) {
				t.Fatalf("op %d is observed whole", i)
			}
			continue
		}
		inPart++
		if len(parts.Steps[i].Victims) > 0 && len(parts.Steps[i].State.Refs) > 0 {
			spoilt = i
		}
	}
	if inPart < len(s.Ops)/2 || spoilt < 0 {
		t.Fatalf("%d of %d states in part, none with victims and references", inPart, len(s.Ops))
	}
	for _, pair := range [][2]*op.Run{{&parts, &wholes}, {&wholes, &parts}} {
		if d := Compare(&s, pair[0], pair[1], Options{Strict: true}); d != nil {
			t.Fatalf("op %d differs in %s", d.Step, d.Field)
		}
	}
	for field, spoil := range map[Field]func(seen *op.Observation){
		FieldVictims: func(seen *op.Observation) { seen.Victims = seen.Victims[1:] },
		FieldStored:  func(seen *op.Observation) { seen.State.Total-- },
		FieldRefs:    func(seen *op.Observation) { seen.State.Refs[0].Count++ },
		FieldNext:    func(seen *op.Observation) { seen.State.Next++ },
	} {
		wrong := op.Run{Steps: slices.Clone(parts.Steps)}
		wrong.Steps[spoilt] = parts.Steps[spoilt].Clone()
		spoil(&wrong.Steps[spoilt])
		d := Compare(&s, &wrong, &wholes, Options{Strict: true})
		if d == nil || d.Field != field || d.Step != spoilt {
			t.Errorf("%s was spoilt in op %d, found %+v", field, spoilt, d)
		}
	}
}

func TestForesee(t *testing.T) {
	s := largeCase(t)
	foresee, err := Foresee("main")
	if err != nil {
		t.Fatal(err)
	}
	victims, whole := foresee(&s)
	store, _ := model.New("main", 1, 1)
	var run op.Run
	RunModel(store, &s, &run)
	for i := range s.Ops {
		if !slices.Equal(victims[i], run.Steps[i].Victims) || whole[i] != (run.Steps[i].State.Sees&op.SeesPart == 0) {
			t.Fatalf("op %d is foreseen to evict %v, whole %t", i, victims[i], whole[i])
		}
	}
	if !whole[len(whole)-1] {
		t.Error("the last state is not looked at whole")
	}
	small := op.Sequence{Slots: LargeStore - 1, ObjectBytes: 1, Ops: s.Ops}
	if _, whole := foresee(&small); whole != nil {
		t.Error("a small store is looked at in part")
	}
	if _, err := Foresee("no such variant"); err == nil {
		t.Error("a variant that is none foresees")
	}
}

func TestEverySecondKey(t *testing.T) {
	s := op.Sequence{Slots: 4, Ops: []op.Op{
		{Kind: op.Put, Objects: []op.Object{{Key: "a"}, {Key: "b"}}, Retain: []string{"c", "a"}},
		{Kind: op.Get, Keys: []string{"d", "b"}},
	}}
	for first, want := range map[bool]string{true: "put a= retain c a\nget\n", false: "put b=\nget d b\n"} {
		got := ""
		for _, o := range everySecondKey(s, first).Ops {
			got += o.String() + "\n"
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
