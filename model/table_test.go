package model

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestTableAgainstMap inserts and removes at random, with so few different
// hashes that runs of cells collide, wrap around and move.
func TestTableAgainstMap(t *testing.T) {
	for _, hashes := range []uint32{1, 3, 16, 1 << 31} {
		r := rand.New(rand.NewPCG(uint64(hashes), 5))
		var table table
		table.reset(0)
		want := map[int32]uint32{}
		for range 20000 {
			entry := 1 + r.Int32N(40)
			if tag, found := want[entry]; found {
				table.remove(tag, entry)
				delete(want, entry)
			} else {
				want[entry] = r.Uint32N(hashes) - 1 // the last hashes of a table wrap
				table.insert(want[entry], entry)
			}
			if table.used != len(want) {
				t.Fatalf("%d used, want %d", table.used, len(want))
			}
			for entry, tag := range want {
				if !reachable(&table, tag, entry) {
					t.Fatalf("with %d hashes entry %d is lost", hashes, entry)
				}
			}
		}
		if len(table.cells) > 128 {
			t.Errorf("the table of 40 entries at most has %d cells", len(table.cells))
		}
	}
}

func reachable(t *table, tag uint32, entry int32) bool {
	mask := len(t.cells) - 1
	for i := int(tag) & mask; t.cells[i] != 0; i = (i + 1) & mask {
		if t.cells[i] == uint64(tag)<<32|uint64(entry) {
			return true
		}
	}
	return false
}

// TestTextArenaReuses: texts keep apart, and churn takes no more room than the
// first round.
func TestTextArenaReuses(t *testing.T) {
	var a textArena
	sizes := []int{0, 1, 7, 8, 9, 15, 16, 17, 33, 80, 81, 1000, 70000}
	size := 0
	for round := range 5 {
		at := make([]uint64, len(sizes))
		for i, n := range sizes {
			at[i] = a.put(strings.Repeat(string(rune('a'+i)), n))
		}
		for i, n := range sizes {
			if got := a.view(at[i], n); got != strings.Repeat(string(rune('a'+i)), n) {
				t.Fatalf("round %d: the text of %d bytes is overwritten", round, n)
			}
			a.free(at[i], n)
		}
		if round == 0 {
			size = len(a.bytes)
		} else if len(a.bytes) != size {
			t.Fatalf("round %d takes %d bytes, the first one %d", round, len(a.bytes), size)
		}
	}
}

func TestClassesHoldTheirTexts(t *testing.T) {
	last := -1
	for n := range 5000 {
		class, size := classOf(n)
		if size < n || size < linkBytes || n > linkBytes && size > n+n/8+1 {
			t.Fatalf("%d bytes are given %d", n, size)
		}
		if class != last && class != last+1 {
			t.Fatalf("%d bytes are of class %d after class %d", n, class, last)
		}
		last = class
	}
}
