package model

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unsafe"
)

// plainTextSlots bounds the stores that keep keys as the strings they are given:
// that costs nothing a call, but leaves the garbage collector one string a key
// to follow. Larger stores copy key text into a textArena.
const plainTextSlots = 4096

// texts keeps the text of the stored keys, by entry.
type texts struct {
	// plain holds the strings of a small store; arena is nil then.
	plain []string
	arena *textArena
}

func (t *texts) reset(slots int) {
	clear(t.plain)
	t.plain = t.plain[:0]
	switch {
	case slots <= plainTextSlots:
		t.arena = nil
	case t.arena == nil:
		t.plain = nil
		t.arena = new(textArena)
	default:
		t.arena.bytes = t.arena.bytes[:0]
		clear(t.arena.heads[:])
	}
}

// set keeps the key of an entry.
func (t *texts) set(index int32, e *entry, key string) {
	if t.arena != nil {
		e.text, e.textLen = t.arena.put(key), uint32(len(key))
		return
	}
	for int(index) >= len(t.plain) {
		t.plain = append(t.plain, "")
	}
	t.plain[index] = key
}

// drop frees the key of an entry for reuse.
func (t *texts) drop(index int32, e *entry) {
	if t.arena != nil {
		t.arena.free(e.text, int(e.textLen))
	} else {
		t.plain[index] = ""
	}
}

// view gives the key of an entry. The text of a large store is overwritten some
// time after the entry is dropped.
func (t *texts) view(index int32, e *entry) string {
	if t.arena != nil {
		return t.arena.view(e.text, int(e.textLen))
	}
	return t.plain[index]
}

// key gives the key of an entry for good.
func (t *texts) key(index int32, e *entry) string {
	if t.arena != nil {
		return strings.Clone(t.arena.view(e.text, int(e.textLen)))
	}
	return t.plain[index]
}

func (t *texts) clone() texts {
	out := texts{plain: append([]string(nil), t.plain...)}
	if t.arena != nil {
		arena := *t.arena
		arena.bytes = append([]byte(nil), arena.bytes...)
		out.arena = &arena
	}
	return out
}

// textArena keeps many short texts in one run of bytes that the garbage
// collector does not look into. Freed texts are reused by texts of the same
// size class; the classes lie an eighth apart, so at most that much is wasted.
type textArena struct {
	bytes []byte
	// heads are the first free text of each class, plus one; the freed bytes
	// hold the next one.
	heads [64 * 8]uint64
}

// linkBytes is the room that a freed text needs for its link.
const linkBytes = 8

// classOf gives the size class that holds n bytes, and that class's size.
func classOf(n int) (class, size int) {
	if n <= linkBytes {
		return 0, linkBytes
	}
	shift := bits.Len(uint(n-1)) - 4 // the size's top four bits step through the classes
	if shift < 0 {
		shift = 0
	}
	steps := (n + 1<<shift - 1) >> shift
	return shift*8 + steps - linkBytes, steps << shift
}

func (a *textArena) put(text string) uint64 {
	class, size := classOf(len(text))
	if head := a.heads[class]; head != 0 {
		at := head - 1
		a.heads[class] = binary.LittleEndian.Uint64(a.bytes[at:])
		copy(a.bytes[at:], text)
		return at
	}
	at := len(a.bytes)
	a.bytes = append(a.bytes, make([]byte, size)...)
	copy(a.bytes[at:], text)
	return uint64(at)
}

func (a *textArena) free(at uint64, n int) {
	class, _ := classOf(n)
	binary.LittleEndian.PutUint64(a.bytes[at:], a.heads[class])
	a.heads[class] = at + 1
}

func (a *textArena) view(at uint64, n int) string {
	return unsafe.String((*byte)(a.at(at)), n)
}

// at is where the byte at an offset lies.
func (a *textArena) at(offset uint64) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(unsafe.SliceData(a.bytes)), offset)
}
