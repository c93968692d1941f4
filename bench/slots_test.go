package bench

import (
	"testing"

	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/op"
)

// storeSlots gives, for some puts of four keys on a full store, which slots each
// wrote.
func storeSlots(t *testing.T, s sizes, keys []string) (written []map[int]bool) {
	t.Helper()
	store, err := model.New("main", s.Slots, s.Payload)
	if err != nil {
		t.Fatal(err)
	}
	g := &goStore{traffic: (&costRun{}).traffic(s, keys), store: store}
	if err := g.fill(g.put); err != nil {
		t.Fatal(err)
	}
	for range 3 * s.Slots {
		g.next(4)
		if err := g.put(); err != nil {
			t.Fatal(err)
		}
		var state op.State
		store.Touched(&op.Op{Kind: op.Put, Objects: g.objects}, nil, &state)
		slots := map[int]bool{}
		for _, e := range state.Entries {
			slots[e.Slot] = true
		}
		written = append(written, slots)
	}
	return written
}
