package prove

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// none is the parent of the first state.
const none = ^uint32(0)

// states keeps the states of a search, each once: its encoding, which is what
// tells states apart, and the op that led to it from an earlier one. A state is
// named by its number; numbers follow the order of discovery.
type states struct {
	encodings   []byte
	ends        []uint64 // of each encoding
	parent, via []uint32
	// cells is a hash table of 1 + a number, with linear probing.
	cells []uint32
	seed  maphash.Seed
}

func (s *states) len() int { return len(s.ends) }

// encoding is what a state is told by.
func (s *states) encoding(i int) []byte {
	start := uint64(0)
	if i > 0 {
		start = s.ends[i-1]
	}
	return s.encodings[start:s.ends[i]]
}

// add keeps a state unless it is there already, and tells which.
func (s *states) add(encoding []byte, parent, via uint32) (fresh bool) {
	if 3*(len(s.ends)+1) > 2*len(s.cells) {
		s.index(max(1024, 2*len(s.cells)))
	}
	cell := s.find(encoding)
	if s.cells[cell] != 0 {
		return false
	}
	s.encodings = append(s.encodings, encoding...)
	s.ends = append(s.ends, uint64(len(s.encodings)))
	s.parent = append(s.parent, parent)
	s.via = append(s.via, via)
	s.cells[cell] = uint32(len(s.ends))
	return true
}

// find gives the cell that holds the encoding, or the empty one where it belongs.
func (s *states) find(encoding []byte) int {
	mask := len(s.cells) - 1
	for cell := int(maphash.Bytes(s.seed, encoding)) & mask; ; cell = (cell + 1) & mask {
		if number := s.cells[cell]; number == 0 || string(s.encoding(int(number-1))) == string(encoding) {
			return cell
		}
	}
}

// index makes the hash table anew, with a power of two of cells.
func (s *states) index(cells int) {
	s.seed = maphash.MakeSeed()
	s.cells = make([]uint32, cells)
	for i := range s.ends {
		s.cells[s.find(s.encoding(i))] = uint32(i + 1)
	}
}

// path appends the ops that lead to a state, as places in the alphabet.
func (s *states) path(i int, dst []int32) []int32 {
	start := len(dst)
	for at := uint32(i); s.parent[at] != none; at = s.parent[at] {
		dst = append(dst, int32(s.via[at]))
	}
	slices.Reverse(dst[start:])
	return dst
}

// bytes is the memory that the states take.
func (s *states) bytes() int64 {
	return int64(cap(s.encodings) + 8*cap(s.ends) + 4*cap(s.parent) + 4*cap(s.via) + 4*cap(s.cells))
}

// has tells whether a state is kept.
func (s *states) has(encoding []byte) bool { return s.cells[s.find(encoding)] != 0 }

// split parts an encoding into what the stores remember beyond the model's state
// and the model's state; see judge.encode.
func split(encoding []byte) (token, rest []byte) {
	n, width := binary.Uvarint(encoding)
	return encoding[width : width+int(n)], encoding[width+int(n):]
}
