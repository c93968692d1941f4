package model

import (
	"math/bits"
	"unsafe"
)

// table finds entries by key: open addressing with linear probing. A cell holds
// the low 32 bits of the key's hash above the entry's index; zero is an empty
// cell, since entry 0 is the queue's root. Deletion moves cells back, so that
// there are no tombstones and a table that only ever churns never grows.
type table struct {
	cells []uint64
	used  int
}

// minCells is the size of the smallest table: two cache lines.
const minCells = 16

// keptCells is up to what size a table that has grown stays so over a reset.
const keptCells = 256

// reset empties the table and makes it fit for about n keys, on the memory it
// has where that suffices.
func (t *table) reset(n int) {
	size := minCells
	if n > minCells/2 {
		size = 1 << bits.Len(uint(n+n/2))
	}
	size = max(size, min(cap(t.cells), keptCells))
	if size <= cap(t.cells) {
		t.cells = t.cells[:size]
		clear(t.cells)
	} else {
		t.cells = make([]uint64, size)
	}
	t.used = 0
}

// insert adds an entry that is not in the table.
func (t *table) insert(tag uint32, entry int32) {
	if 3*(t.used+1) > 2*len(t.cells) {
		t.grow()
	}
	t.place(uint64(tag)<<32 | uint64(entry))
	t.used++
}

func (t *table) place(cell uint64) {
	mask := len(t.cells) - 1
	i := int(cell>>32) & mask
	for t.cells[i] != 0 {
		i = (i + 1) & mask
	}
	t.cells[i] = cell
}

func (t *table) grow() {
	old := t.cells
	t.cells = make([]uint64, 2*len(old))
	for _, cell := range old {
		if cell != 0 {
			t.place(cell)
		}
	}
}

// remove takes out an entry that is in the table.
func (t *table) remove(tag uint32, entry int32) {
	mask := len(t.cells) - 1
	cell := uint64(tag)<<32 | uint64(entry)
	hole := int(tag) & mask
	for t.cells[hole] != cell {
		hole = (hole + 1) & mask
	}
	for i := (hole + 1) & mask; t.cells[i] != 0; i = (i + 1) & mask {
		home := int(t.cells[i]>>32) & mask
		// The cell may fill the hole unless its home lies behind the hole.
		if (i-home)&mask >= (i-hole)&mask {
			t.cells[hole] = t.cells[i]
			hole = i
		}
	}
	t.cells[hole] = 0
	t.used--
}

// home is where the cell of a tag is, or near.
func (t *table) home(tag uint32) unsafe.Pointer {
	return unsafe.Pointer(&t.cells[int(tag)&(len(t.cells)-1)])
}

// first gives the first entry with the tag, root where there is none.
func (t *table) first(tag uint32) int32 {
	mask := len(t.cells) - 1
	for i := int(tag) & mask; t.cells[i] != 0; i = (i + 1) & mask {
		if uint32(t.cells[i]>>32) == tag {
			return int32(uint32(t.cells[i]))
		}
	}
	return root
}
