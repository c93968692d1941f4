package gen

import (
	"strconv"
	"sync"
	"sync/atomic"
)

// table is a list whose element i is a pure function of i, made once for the
// whole process and only as far as it is needed. Readers take no lock.
type table[T any] struct {
	element func(i int) T
	made    atomic.Pointer[[]T]
	mutex   sync.Mutex
}

// atLeast gives the first n elements or more; the result must not be changed.
func (t *table[T]) atLeast(n int) []T {
	if made := t.made.Load(); made != nil && len(*made) >= n {
		return *made
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	var old []T
	if made := t.made.Load(); made != nil {
		old = *made
	}
	if len(old) >= n {
		return old
	}
	grown := make([]T, max(n, 2*len(old), 1024))
	copy(grown, old)
	for i := len(old); i < len(grown); i++ {
		grown[i] = t.element(i)
	}
	t.made.Store(&grown)
	return grown
}

// plainKeys are k0, k1 and so on.
var plainKeys = &table[string]{element: func(i int) string { return "k" + strconv.Itoa(i) }}

// generationKeys is how many successive artifact keys share a generation.
const generationKeys = 1024

// artifactKeys look as the worker's do: vllm-artifact/<generation>/<hex hash>.
var artifactKeys = &table[string]{element: func(i int) string {
	name := make([]byte, 0, 40)
	name = append(name, "vllm-artifact/"...)
	name = strconv.AppendInt(name, int64(i/generationKeys), 10)
	name = append(name, '/')
	hash := mix(uint64(i) + golden)
	for shift := 60; shift >= 0; shift -= 4 {
		name = append(name, "0123456789abcdef"[hash>>shift&15])
	}
	return string(name)
}}

// oddNames are valid keys that careless code confuses or cannot carry. What is
// easily confused stands side by side, so that a small universe holds both.
var oddNames = []string{
	"k1", "K1", "",
	"\u00e9", "e\u0301", // composed and decomposed
	"\x00",
	"k1\x00", "k1 ",
	"\"", "'", "\\", "\\n", "\n",
	"retain", "release",
	"put", "=", "a=61", "a b", "a,b", "{}", "null", "0", "-1", "None",
	"\U0001f600", "\U0001f468\u200d\U0001f469", "\ufeffk1", "\u202ek1", "\u200b",
	"\u043a\u043b\u044e\u0447", "\u9375", "\uffff", "\U0010ffff", "\x7f", "\u0085", "\u2028",
	"ss", "\u00df", "\u0130", "i", "\ufb01", "fi",
}

// oddKeys are oddNames, then plain ones with a letter that is not ASCII.
var oddKeys = &table[string]{element: func(i int) string {
	if i < len(oddNames) {
		return oddNames[i]
	}
	return "\u00f6" + strconv.Itoa(i)
}}

// payloadStarts is how many places of the payload bytes a payload may start at.
const payloadStarts = 1 << 15

// payloadBytes is what all payloads are cut from.
var payloadBytes = &table[byte]{element: func(i int) byte { return byte(mix(uint64(i)) >> 56) }}

// payloadOf cuts a payload of n bytes for a key. Version 0 is the key's own;
// other versions begin elsewhere. The bytes are shared: nobody may write to
// them, and the capacity keeps an append from doing so.
func payloadOf(bytes []byte, key, version, n int) []byte {
	start := (key*12347 + version*20021) & (payloadStarts - 1)
	return bytes[start : start+n : start+n]
}
