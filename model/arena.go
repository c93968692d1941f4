package model

import (
	"fmt"
	"math"
	"syscall"
)

// mappedBytes is the size from which an arena is mapped memory. A mapping costs
// a system call but no collector's attention, and untouched pages cost nothing.
const mappedBytes = 1 << 20

// arena holds the payloads: one run of slots of equal size.
type arena struct {
	bytes []byte
	// mapped says that bytes is a mapping, to be given back by release.
	mapped bool
}

// reset makes an arena of slots times objectBytes bytes, on the memory it has
// where that suffices. What the bytes are is unspecified: a slot is written in
// full before it can be read.
func (a *arena) reset(slots, objectBytes int) error {
	if slots > math.MaxInt32-1 || objectBytes > math.MaxInt/slots {
		return fmt.Errorf("a store of %d slots of %d bytes is beyond this model", slots, objectBytes)
	}
	size := slots * objectBytes
	if size <= cap(a.bytes) && (!a.mapped || size >= mappedBytes) {
		a.bytes = a.bytes[:size]
		return nil
	}
	a.release()
	fresh, err := newArena(size)
	if err == nil {
		*a = fresh
	}
	return err
}

func newArena(size int) (arena, error) {
	if size < mappedBytes {
		return arena{bytes: make([]byte, size)}, nil
	}
	bytes, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		return arena{}, fmt.Errorf("mapping an arena of %d bytes: %w", size, err)
	}
	return arena{bytes: bytes, mapped: true}, nil
}

// grow makes the arena size bytes long; the payloads stay, the new part reads as
// zeros.
func (a *arena) grow(size int) error {
	if !a.mapped && size <= cap(a.bytes) {
		old := len(a.bytes)
		a.bytes = a.bytes[:size]
		clear(a.bytes[old:])
		return nil
	}
	larger, err := newArena(size)
	if err != nil {
		return err
	}
	copy(larger.bytes, a.bytes)
	a.release()
	*a = larger
	return nil
}

// release gives mapped memory back and forgets the rest.
func (a *arena) release() {
	if a.mapped {
		// Unmapping what Mmap returned, once, cannot fail.
		_ = syscall.Munmap(a.bytes[:cap(a.bytes)])
	}
	*a = arena{}
}

func (a *arena) clone() (arena, error) {
	out, err := newArena(len(a.bytes))
	copy(out.bytes, a.bytes)
	return out, err
}

// slot gives the bytes of a slot: objectBytes of them, or none where the slot
// lies past the end. The arena is a whole number of slots, so there is nothing
// between.
func (a *arena) slot(slot int32, objectBytes int) []byte {
	start := int(slot) * objectBytes
	if start >= len(a.bytes) {
		return nil
	}
	return a.bytes[start : start+objectBytes]
}
