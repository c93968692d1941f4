package model

import "unsafe"

// prefetch starts to bring the cache line of an address near and waits for
// nothing. It is here because the compiler has no name for the instruction.
//
//go:noescape
func prefetch(at unsafe.Pointer)
