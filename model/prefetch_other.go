//go:build !amd64

package model

import "unsafe"

// prefetch does nothing on other machines, where a put of a large store waits for
// its memory a little longer.
func prefetch(unsafe.Pointer) {}
