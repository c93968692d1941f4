package oracle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// Bounds on one decoded message. A node is one value of a message.
const (
	maxDepth = 16
	maxNodes = 4 << 20
	// bytesAValue is about how many bytes of a message one value takes.
	bytesAValue = 4
	// maxInterned is the length in bytes up to which equal texts are kept as one.
	maxInterned = 512
)

// nodeKind is the type of one value of a message.
type nodeKind uint8

const (
	nodeNone nodeKind = iota
	nodeBool
	nodeInt
	nodeBytes
	nodeText
	nodeList // list or tuple: children in order
	nodeDict // children are key, value, key, value
)

// node is one value. Nodes lie in the order of the message: the children of node
// i begin at i+1, and its next sibling is at end.
type node struct {
	kind nodeKind
	end  int32
	// n is the value of an integer or boolean, or the number of elements or pairs.
	n int64
	// text is the text, or the bytes as a view of the message.
	text string
}

// tree is one decoded message. Its memory is reused by the next.
type tree struct {
	nodes []node
	// refs are the values that later ones may refer to, in their order.
	refs []node
	// names keeps one string for each short text that this decoder has seen, so
	// that equal keys are one string and decoding allocates nothing for them.
	names map[string]string
	// asked, where given, wrote the last request: a text that it holds becomes the
	// very string, so that equal keys of both sides lie in one place.
	asked *marshalEncoder
}

// intern gives the one string for text.
func (t *tree) intern(text []byte) string {
	if len(text) > maxInterned {
		return string(text)
	}
	if s, ok := t.names[string(text)]; ok {
		return s
	}
	if t.names == nil || len(t.names) > 1<<16 {
		t.names = make(map[string]string)
	}
	var s string
	if id, ok := t.sent(text); ok {
		s = t.asked.objects.keys[id].text
	} else {
		s = string(text)
	}
	t.names[s] = s
	return s
}

func (t *tree) sent(text []byte) (id int32, ok bool) {
	if t.asked == nil {
		return none, false
	}
	id, ok = t.asked.objects.ids[string(text)]
	return id, ok
}

// add adds an empty value, within the bounds.
func (t *tree) add(depth int) (place int32, err error) {
	if depth > maxDepth {
		return 0, errDeep
	}
	if len(t.nodes) >= maxNodes {
		return 0, errMany
	}
	place = int32(len(t.nodes))
	t.nodes = append(t.nodes, node{end: place + 1})
	return place, nil
}

// resolve gives the value at a place. References were replaced by what they stand
// for as they were read.
func (t *tree) resolve(i int32) *node { return &t.nodes[i] }

// decodeMarshal reads one value of Python's marshal format: None, booleans,
// integers that fit 64 bits, bytes, text, lists, tuples, dicts and references.
// The tree's bytes are views of data, its texts are not.
func (t *tree) decodeMarshal(data []byte) error {
	t.nodes, t.refs = slices.Grow(t.nodes[:0], len(data)/bytesAValue), t.refs[:0]
	d := marshalDecoder{tree: t, data: data}
	if err := d.value(0); err != nil {
		return fmt.Errorf("at byte %d: %w", d.pos, err)
	}
	if d.pos != len(data) {
		return fmt.Errorf("at byte %d: %d bytes behind the message", d.pos, len(data)-d.pos)
	}
	return nil
}

type marshalDecoder struct {
	*tree
	data []byte
	pos  int
}

var (
	errShort   = errors.New("the message is cut off")
	errDeep    = fmt.Errorf("values are nested more than %d deep", maxDepth)
	errMany    = fmt.Errorf("more than %d values", maxNodes)
	errNumber  = errors.New("a number is no integer of 64 bits")
	errNotUTF8 = errors.New("text is not UTF-8")
	errRef     = errors.New("a reference to something other than a whole plain value before it")
)

// The type codes of the marshal format, and the flag of a value that later
// values may refer to.
const (
	codeNull, codeNone, codeTrue, codeFalse = '0', 'N', 'T', 'F'
	codeInt, codeLong, codeBytes            = 'i', 'l', 's'
	codeUnicode, codeInterned               = 'u', 't'
	codeASCII, codeASCIIInterned            = 'a', 'A'
	codeShortASCII, codeShortASCIIInterned  = 'z', 'Z'
	codeTuple, codeSmallTuple, codeList     = '(', ')', '['
	codeDict, codeRef                       = '{', 'r'
	flagRef                                 = 0x80
)

func (d *marshalDecoder) take(n int) ([]byte, error) {
	if n < 0 || n > len(d.data)-d.pos {
		return nil, errShort
	}
	out := d.data[d.pos : d.pos+n]
	d.pos += n
	return out, nil
}

func (d *marshalDecoder) length() (int, error) {
	b, err := d.take(4)
	if err != nil {
		return 0, err
	}
	return int(int32(binary.LittleEndian.Uint32(b))), nil
}

// quick appends the next value if it is what most are: a small integer or a
// reference. It says false of any other, which value then reads or refuses.
func (d *marshalDecoder) quick(depth int) bool {
	if len(d.data)-d.pos < 5 || depth > maxDepth || len(d.nodes) >= maxNodes {
		return false
	}
	number := int32(binary.LittleEndian.Uint32(d.data[d.pos+1:]))
	end := int32(len(d.nodes)) + 1
	switch d.data[d.pos] {
	case codeInt:
		d.nodes = append(d.nodes, node{kind: nodeInt, end: end, n: int64(number)})
	case codeRef:
		if uint(number) >= uint(len(d.refs)) || !d.refs[number].leaf() {
			return false
		}
		d.nodes = append(d.nodes, d.refs[number])
		d.nodes[end-1].end = end
	default:
		return false
	}
	d.pos += 5
	return true
}

// value appends one value and its children to the tree.
func (d *marshalDecoder) value(depth int) error {
	if d.pos >= len(d.data) {
		return errShort
	}
	place, err := d.add(depth)
	if err != nil {
		return err
	}
	code := d.data[d.pos]
	d.pos++
	if code&flagRef == 0 {
		return d.content(place, code, depth)
	}
	ref := len(d.refs)
	d.refs = append(d.refs, unfinished)
	err = d.content(place, code&^flagRef, depth)
	d.refs[ref] = d.nodes[place]
	return err
}

// unfinished stands for a value that may be referred to and is being read.
var unfinished = node{kind: nodeList, n: 1}

// content reads what stands behind a value's code into the value at place.
func (d *marshalDecoder) content(place int32, code byte, depth int) error {
	n := &d.nodes[place]
	switch code {
	case codeNone:
	case codeTrue, codeFalse:
		n.kind = nodeBool
		if code == codeTrue {
			n.n = 1
		}
	case codeInt:
		length, err := d.length()
		if err != nil {
			return err
		}
		n.kind, n.n = nodeInt, int64(length)
	case codeLong:
		number, err := d.long()
		if err != nil {
			return err
		}
		n.kind, n.n = nodeInt, number
	case codeBytes, codeUnicode, codeInterned, codeASCII, codeASCIIInterned, codeShortASCII, codeShortASCIIInterned:
		return d.text(n, code)
	case codeRef:
		index, err := d.length()
		if err != nil {
			return err
		}
		if index < 0 || index >= len(d.refs) {
			return errRef
		}
		target := &d.refs[index]
		if !target.leaf() {
			return errRef
		}
		*n = *target
		n.end = place + 1
	case codeTuple, codeList, codeSmallTuple:
		return d.list(place, code, depth)
	case codeDict:
		return d.dict(place, depth)
	default:
		return fmt.Errorf("type code %q is not one this protocol uses", code)
	}
	return nil
}

// leaf tells whether the node has no children. Only such may be referred to: a
// value that holds itself would never end, and one that holds the same large
// value many times would unfold to more than was sent.
func (n *node) leaf() bool {
	return n.kind != nodeList && n.kind != nodeDict || n.n == 0
}

func (d *marshalDecoder) text(n *node, code byte) error {
	var size int
	if code == codeShortASCII || code == codeShortASCIIInterned {
		b, err := d.take(1)
		if err != nil {
			return err
		}
		size = int(b[0])
	} else {
		length, err := d.length()
		if err != nil {
			return err
		}
		size = length
	}
	b, err := d.take(size)
	if err != nil {
		return err
	}
	if code == codeBytes {
		n.kind, n.text = nodeBytes, view(b)
		return nil
	}
	if !utf8.Valid(b) {
		return errNotUTF8
	}
	n.kind, n.text = nodeText, d.intern(b)
	return nil
}

// long reads an integer in digits of 15 bits, least first; the sign is that of
// the count.
func (d *marshalDecoder) long() (int64, error) {
	count, err := d.length()
	if err != nil {
		return 0, err
	}
	negative := count < 0
	if negative {
		count = -count
	}
	if count < 0 || count > 5 {
		return 0, errNumber
	}
	b, err := d.take(2 * count)
	if err != nil {
		return 0, err
	}
	var number uint64
	for i := count - 1; i >= 0; i-- {
		if number > math.MaxUint64>>15 {
			return 0, errNumber
		}
		number = number<<15 | uint64(binary.LittleEndian.Uint16(b[2*i:])&0x7fff)
	}
	switch {
	case negative && number <= 1<<63:
		return int64(-number), nil
	case negative || number > math.MaxInt64:
		return 0, errNumber
	}
	return int64(number), nil
}

// count reads how many parts a list has.
func (d *marshalDecoder) count(code byte) (int, error) {
	count := 0
	if code == codeSmallTuple {
		b, err := d.take(1)
		if err != nil {
			return 0, err
		}
		count = int(b[0])
	} else {
		length, err := d.length()
		if err != nil {
			return 0, err
		}
		count = length
	}
	if count < 0 || count > len(d.data)-d.pos {
		return 0, errShort
	}
	return count, nil
}

func (d *marshalDecoder) list(place int32, code byte, depth int) error {
	count, err := d.count(code)
	if err != nil {
		return err
	}
	n := &d.nodes[place]
	n.kind, n.n = nodeList, int64(count)
	for range count {
		if d.quick(depth + 1) {
			continue
		}
		if err := d.value(depth + 1); err != nil {
			return err
		}
	}
	d.nodes[place].end = int32(len(d.nodes))
	return nil
}

func (d *marshalDecoder) dict(place int32, depth int) error {
	d.nodes[place].kind = nodeDict
	pairs := int64(0)
	for {
		if d.pos < len(d.data) && d.data[d.pos] == codeNull {
			d.pos++
			break
		}
		for range 2 {
			if d.quick(depth + 1) {
				continue
			}
			if err := d.value(depth + 1); err != nil {
				return err
			}
		}
		pairs++
	}
	d.nodes[place].n = pairs
	d.nodes[place].end = int32(len(d.nodes))
	return nil
}
