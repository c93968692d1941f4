package prove

import (
	"bytes"
	"slices"

	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/op"
)

// alphabet is every op of the bounds, with the fewest arguments first.
type alphabet struct {
	bounds  Bounds
	names   []string
	objects [][]op.Object // by key, then by version
	ops     []op.Op
	letters []letter
}

// letter is one op in numbers.
type letter struct {
	objects              []brought
	retain, release, get []uint8
}

// brought is one object of a batch: versions 0 and 1 have the right size.
type brought struct{ key, version uint8 }

func newAlphabet(b Bounds) *alphabet {
	a := &alphabet{bounds: b}
	var choices []brought
	for k := range b.Keys {
		name := keyName(k)
		a.names = append(a.names, name)
		var objects []op.Object
		for version, size := range b.sizes() {
			letter := name[0]
			if version == 1 {
				letter -= 'a' - 'A'
			}
			objects = append(objects, op.Object{Key: name, Payload: bytes.Repeat([]byte{letter}, size)})
			choices = append(choices, brought{uint8(k), uint8(version)})
		}
		a.objects = append(a.objects, objects)
	}
	var keys []uint8
	for k := range b.Keys {
		keys = append(keys, uint8(k))
	}
	keyLists := everyList(keys, b.Lists)
	for _, batch := range everyList(choices, b.Batch) {
		for _, retain := range keyLists {
			for _, release := range keyLists {
				a.letters = append(a.letters, letter{objects: batch, retain: retain, release: release})
			}
		}
	}
	puts := len(a.letters)
	for _, get := range keyLists {
		a.letters = append(a.letters, letter{get: get})
	}
	a.letters = append(a.letters, letter{})
	kinds := make([]op.Kind, len(a.letters))
	order := make([]int, len(a.letters))
	for i := range a.letters {
		order[i] = i
		switch {
		case i == len(a.letters)-1:
			kinds[i] = op.Close
		case i >= puts:
			kinds[i] = op.Get
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return a.letters[x].size() - a.letters[y].size() })
	sorted := make([]letter, len(order))
	for i, from := range order {
		sorted[i] = a.letters[from]
		a.ops = append(a.ops, a.spell(kinds[from], &sorted[i]))
	}
	a.letters = sorted
	return a
}

func (l *letter) size() int { return len(l.objects) + len(l.retain) + len(l.release) + len(l.get) }

// everyList gives all lists of at most most of the choices, the shortest first.
func everyList[T any](choices []T, most int) [][]T {
	all := [][]T{{}}
	for from, length := 0, 0; length < most; length++ {
		to := len(all)
		for _, shorter := range all[from:to] {
			for _, choice := range choices {
				all = append(all, append(slices.Clone(shorter), choice))
			}
		}
		from = to
	}
	return all
}

// spell writes a letter out as an op.
func (a *alphabet) spell(kind op.Kind, l *letter) op.Op {
	o := op.Op{Kind: kind, Retain: a.spellKeys(l.retain), Release: a.spellKeys(l.release), Keys: a.spellKeys(l.get)}
	for _, b := range l.objects {
		o.Objects = append(o.Objects, a.objects[b.key][b.version])
	}
	return o
}

func (a *alphabet) spellKeys(list []uint8) []string {
	var keys []string
	for _, k := range list {
		keys = append(keys, a.names[k])
	}
	return keys
}

// foreign is the version of bytes that no put of the right size brings.
const foreign = -1

// version tells which of a key's payloads of the right size the bytes are.
func (a *alphabet) version(key string, content []byte) int {
	for version := range 2 {
		if bytes.Equal(a.objects[key[0]-'a'][version].Payload, content) {
			return version
		}
	}
	return foreign
}

func (a *alphabet) own(key string, content []byte) bool { return a.version(key, content) != foreign }

// standing is what decides which ops are worth trying in a state.
type standing struct {
	refs [maxKeys]int
	// before holds, for each key, the keys ahead of it that the state does not
	// tell from it, as bits.
	before [maxKeys]uint
	// unwritten holds the keys without bytes, as bits.
	unwritten uint
}

// tries appends the places of the ops to try in a state of the model. Without
// misuse they leave out releases of keys without references. With reduced they
// leave out ops that a renaming turns into others that are tried, where the
// renaming leaves the state as it is; see docs/prove.md.
func (a *alphabet) tries(at *model.Store, reduced bool, dst []int32) []int32 {
	var s standing
	for k, name := range a.names {
		s.refs[k] = at.References(name)
		if len(at.Peek(name)) == 0 {
			s.unwritten |= 1 << k
		}
		for earlier := range k {
			if !at.Stored(name) && !at.Stored(a.names[earlier]) && s.refs[earlier] == s.refs[k] {
				s.before[k] |= 1 << earlier
			}
		}
	}
	for i := range a.letters {
		l := &a.letters[i]
		if !a.bounds.Misuse && !s.balanced(l) || reduced && s.redundant(l) {
			continue
		}
		dst = append(dst, int32(i))
	}
	return dst
}

// balanced tells whether every release has a reference to give back.
func (s *standing) balanced(l *letter) bool {
	if len(l.release) == 0 {
		return true
	}
	refs := s.refs
	for _, k := range l.retain {
		refs[k]++
	}
	for _, k := range l.release {
		if refs[k]--; refs[k] < 0 {
			return false
		}
	}
	return true
}

// redundant tells whether the op is not the first of those that are one but for
// a renaming that leaves the state alone. The first names keys that cannot be
// told apart in their order, and brings version 0 of a key without bytes ahead
// of version 1.
func (s *standing) redundant(l *letter) bool {
	var named, put uint
	for _, b := range l.objects {
		bit := uint(1) << b.key
		if s.before[b.key]&^named != 0 && named&bit == 0 {
			return true
		}
		named |= bit
		if b.version > 1 {
			continue
		}
		if b.version == 1 && s.unwritten&bit != 0 && put&bit == 0 {
			return true
		}
		put |= bit
	}
	for _, list := range [...][]uint8{l.retain, l.release, l.get} {
		for _, k := range list {
			bit := uint(1) << k
			if s.before[k]&^named != 0 && named&bit == 0 {
				return true
			}
			named |= bit
		}
	}
	return false
}
