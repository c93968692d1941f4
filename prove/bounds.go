package prove

import (
	"fmt"
	"math"
)

// Bounds say which states and which ops a search covers.
type Bounds struct {
	// Slots is how many objects fit in a store, Keys how many keys there are.
	Slots int `json:"slots"`
	Keys  int `json:"keys"`
	// Counts is the largest reference count. An op that leads beyond it is
	// compared, and what comes behind it is not searched.
	Counts int `json:"counts"`
	// Batch is how many objects a put brings at most; Lists how many keys it
	// retains at most, how many it releases, and how many a get names.
	Batch int `json:"batch"`
	Lists int `json:"lists"`
	// ObjectBytes is the room of one slot in bytes.
	ObjectBytes int `json:"object_nbytes"`
	// Misuse adds releases of keys without references, payloads of a wrong size,
	// and ops on a closed store.
	Misuse bool `json:"misuse"`
	// Lost is how far the next unused slot may pass the last one, as it does when
	// payloads do not fit: each time without end, so this is bounded like Counts.
	Lost int `json:"lost"`
	// Ops is how many ops a sequence has at most; 0 is any number.
	Ops int `json:"ops,omitempty"`
}

// DefaultBounds are small enough to be searched in a minute or two, and large
// enough for evictions among protected, referenced and free keys.
var DefaultBounds = Bounds{Slots: 2, Keys: 3, Counts: 2, Batch: 2, Lists: 2, ObjectBytes: 1, Lost: 1}

// The largest bounds that a search takes.
const (
	maxKeys  = 8
	maxOps   = 600_000
	maxBound = 100
	// maxLength is more ops than any search gets to.
	maxLength = 1_000_000
)

// Check tells what is wrong with the bounds, in one line; nil if nothing.
func (b Bounds) Check() error {
	for _, bound := range []struct {
		name      string
		is        int
		low, high int
	}{
		{"slots", b.Slots, 1, maxBound}, {"keys", b.Keys, 1, maxKeys}, {"counts", b.Counts, 0, maxBound}, {"batch", b.Batch, 0, maxBound},
		{"lists", b.Lists, 0, maxBound}, {"object bytes", b.ObjectBytes, 1, maxBound}, {"lost", b.Lost, 0, maxBound}, {"ops", b.Ops, 0, maxLength},
	} {
		if bound.is < bound.low || bound.is > bound.high {
			return fmt.Errorf("%s must be from %d to %d, not %d", bound.name, bound.low, bound.high, bound.is)
		}
	}
	if n := b.letters(); n > maxOps {
		return fmt.Errorf("these bounds have about %.0f operations, more than %d: make batch, lists or keys smaller", n, maxOps)
	}
	return nil
}

// letters is how many different ops the bounds have.
func (b Bounds) letters() float64 {
	lists := listsOf(b.Keys, b.Lists)
	return listsOf(b.Keys*len(b.sizes()), b.Batch)*lists*lists + lists + 1
}

// listsOf is how many lists of at most most things out of n there are.
func listsOf(n, most int) float64 {
	count := 0.0
	for length := range most + 1 {
		count += math.Pow(float64(n), float64(length))
	}
	return count
}

// sizes are the lengths in bytes of a key's payloads: two of the right size, so
// that writing over one shows, then with misuse the wrong ones.
func (b Bounds) sizes() []int {
	sizes := []int{b.ObjectBytes, b.ObjectBytes}
	if !b.Misuse {
		return sizes
	}
	sizes = append(sizes, 0, b.ObjectBytes+1)
	if b.ObjectBytes > 1 {
		sizes = append(sizes, b.ObjectBytes-1)
	}
	return sizes
}

// String says the bounds in words.
func (b Bounds) String() string {
	text := fmt.Sprintf("%s, %s, counts to %d, batches to %d, lists to %d", several(b.Slots, "slot"), several(b.Keys, "key"), b.Counts, b.Batch, b.Lists)
	if b.Misuse {
		text += fmt.Sprintf(", misuse with %s lost", several(b.Lost, "slot"))
	}
	if b.Ops > 0 {
		text += fmt.Sprintf(", at most %s", several(b.Ops, "op"))
	}
	return text
}

func several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// keyName is the name of a key by its number.
func keyName(k int) string { return string(rune('a' + k)) }
