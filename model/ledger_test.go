package model

import (
	"strings"
	"testing"

	"github.com/diffstore/diffstore/op"
)

// spoiled runs a sequence with an observation changed before the ledger sees it,
// and gives the first complaint.
func spoiled(t *testing.T, ledger *Ledger, variant, lines string, spoil func(i int, seen *op.Observation)) error {
	t.Helper()
	s := mustNew(t, variant, 2, 1)
	var seen op.Observation
	for i, line := range strings.Split(lines, "; ") {
		o, err := op.ParseOp(line)
		if err != nil {
			t.Fatal(err)
		}
		s.Step(&o, &seen)
		spoil(i, &seen)
		if err := ledger.Check(&o, &seen); err != nil {
			return err
		}
	}
	return nil
}

func TestLedger(t *testing.T) {
	nothing := func(int, *op.Observation) {}
	payload := func(at int, bytes string) func(int, *op.Observation) {
		return func(i int, seen *op.Observation) {
			if i == at {
				seen.Outcome.Payload = []byte(bytes)
			}
		}
	}
	blind := func(_ int, seen *op.Observation) { seen.State.Sees &^= op.SeesZombies | op.SeesSlots }
	for _, c := range []struct {
		name   string
		ledger Ledger
		model  string
		ops    string
		spoil  func(i int, seen *op.Observation)
		want   string
	}{
		{name: "the first payload stays", ops: "put a=61; put a=62; get a", spoil: nothing},
		{name: "the second payload came back", ops: "put a=61; put a=62; get a", spoil: payload(2, "b"), want: "get returned 62, but its keys were stored as 61"},
		{name: "the last of two counts", ops: "put a=61 a=62; get a", spoil: nothing},
		{name: "the first of two came back", ops: "put a=61 a=62; get a", spoil: payload(1, "a"), want: "get returned 61"},
		{name: "stored anew after an eviction", ops: "put a=61; put b=62 c=63; put a=64; get a", spoil: nothing},
		{name: "the old bytes came back", ops: "put a=61; put b=62 c=63; put a=64; get a", spoil: payload(3, "a"), want: "get returned 61, but its keys were stored as 64"},
		{name: "a zombie is empty", ops: "put a=6161; get a", spoil: nothing},
		{name: "a zombie gave bytes", ops: "put a=6161; get a", spoil: payload(1, "a"), want: "stored as "},
		{name: "a healed zombie", ops: "put a=6161; put a=62; get a a", spoil: nothing},
		{name: "the bytes of another key", ops: "put a=61 b=62; get b a", spoil: payload(1, "ab"), want: "get returned 6162, but its keys were stored as 6261"},
		{name: "a key that nobody put", ops: "put a=61; put b=62 c=63; get a", spoil: func(i int, seen *op.Observation) {
			if i == 2 {
				seen.Outcome = op.Outcome{Payload: []byte("a")}
			}
		}, want: "get returned key a, which no put has stored"},
		{name: "a failed put stores nothing", ops: "put a=61 retain a; put b=62 release b; put b=63 retain b; put c=64 b=65; get b", spoil: nothing},
		{name: "without sight of zombies a wrong size tells nothing", ops: "put a=6161; get a", spoil: func(i int, seen *op.Observation) {
			blind(i, seen)
			payload(1, "x")(i, seen)
		}},
		{name: "without sight of zombies a whole put is known", ops: "put a=61; get a", spoil: func(i int, seen *op.Observation) {
			blind(i, seen)
			payload(1, "x")(i, seen)
		}, want: "get returned 78"},
		{name: "a rewriting store", ledger: Ledger{Rewrites: true}, model: "release-0.33", ops: "put a=61; put a=62; get a", spoil: nothing},
		{name: "a rewriting store that did not", ledger: Ledger{Rewrites: true}, model: "release-0.33", ops: "put a=61; put a=62; get a", spoil: payload(2, "a"), want: "stored as 62"},
		{name: "a rewriting store keeps referenced keys", ledger: Ledger{Rewrites: true}, model: "release-0.33", ops: "put a=61 retain a; put a=62 release a; get a", spoil: nothing},
		{name: "past the end, then grown over", model: "growing", ops: "put a=6161 b=62 retain a b; put a=6161; put a=; get a; put c=63; get a", spoil: nothing},
	} {
		t.Run(c.name, func(t *testing.T) {
			model := c.model
			if model == "" {
				model = "main"
			}
			err := spoiled(t, &c.ledger, model, c.ops, c.spoil)
			if c.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
