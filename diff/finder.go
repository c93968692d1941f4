package diff

import "unsafe"

// Both sides mostly hold the very strings that the ops name their keys by, so
// keys are told by where their text lies before they are told by the text.

// is tells whether two keys are the same string in memory.
func is(a, b string) bool {
	return len(a) == len(b) && unsafe.StringData(a) == unsafe.StringData(b)
}

// sameKeys tells whether two lists hold equal keys in the same order.
func sameKeys(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !is(a[i], b[i]) && a[i] != b[i] {
			return false
		}
	}
	return true
}

// manyKeys is the number of keys from which an index beats looking through a list.
const manyKeys = 32

// finder finds keys in a list. Keys are mostly asked for in nearly the order in
// which they stand, so each is looked for from behind the one before it.
type finder struct {
	keys  []string
	next  int
	index map[string]int
	// indexed says that index is of these keys.
	indexed bool
}

// reset empties the list.
func (f *finder) reset() { f.keys, f.next, f.indexed = f.keys[:0], 0, false }

// add adds a key to the list.
func (f *finder) add(key string) { f.keys = append(f.keys, key) }

// place gives the key's place in the list, or -1.
func (f *finder) place(key string) int {
	if f.next < len(f.keys) && is(f.keys[f.next], key) {
		f.next++
		return f.next - 1
	}
	at := -1
	if len(f.keys) > manyKeys {
		at = f.lookUp(key)
	} else {
		at = f.search(key)
	}
	if at >= 0 {
		f.next = at + 1
	}
	return at
}

func (f *finder) search(key string) int {
	for i := range f.keys {
		if is(f.keys[i], key) {
			return i
		}
	}
	for i := range f.keys {
		if f.keys[i] == key {
			return i
		}
	}
	return -1
}

func (f *finder) lookUp(key string) int {
	if !f.indexed {
		f.indexed = true
		if f.index == nil {
			f.index = make(map[string]int, len(f.keys))
		}
		clear(f.index)
		for i := len(f.keys) - 1; i >= 0; i-- {
			f.index[f.keys[i]] = i
		}
	}
	if at, ok := f.index[key]; ok {
		return at
	}
	return -1
}
