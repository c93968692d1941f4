package traces

import (
	"encoding/hex"
	"sort"
	"strconv"
	"strings"

	"github.com/diffstore/diffstore/op"
)

// field is one field of a JSON object: its name, how it is read into a T, when
// it is written and how. One table of fields serves the reader and the writer,
// in the order in which the writer puts them.
type field[T any] struct {
	name  string
	read  func(*parser, *T) error
	has   func(*T) bool
	write func([]byte, *T) []byte
}

// readFields reads an object whose fields are those of the table and gives the
// names it held.
func readFields[T any](p *parser, what string, table []field[T], into *T) (map[string]bool, error) {
	return p.object(what, func(name string, start int) error {
		for i := range table {
			if table[i].name == name {
				return table[i].read(p, into)
			}
		}
		p.at = start
		return p.fail("the fields known here are "+fieldNames(table), "unknown field %s", quote(name))
	})
}

// appendFields writes the fields that from has.
func appendFields[T any](b []byte, table []field[T], from *T) []byte {
	b = append(b, '{')
	for i := range table {
		if table[i].has(from) {
			b = appendField(b, &table[i], from)
		}
	}
	return append(b, '}')
}

// appendField writes one field, and the comma before it unless it is the first.
func appendField[T any](b []byte, f *field[T], from *T) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return f.write(append(appendString(b, f.name), ':'), from)
}

// fieldNames lists the names of a table, for errors.
func fieldNames[T any](table []field[T]) string {
	names := make([]string, len(table))
	for i := range table {
		names[i] = table[i].name
	}
	return strings.Join(names, ", ")
}

// always is the has of a field that is never left out.
func always[T any](*T) bool { return true }

// required gives the same field, written even when it is empty.
func required[T any](f field[T]) field[T] {
	f.has = always[T]
	return f
}

// textField is a string, left out when it is empty.
func textField[T any](name string, at func(*T) *string) field[T] {
	return field[T]{
		name: name,
		read: func(p *parser, into *T) (err error) {
			*at(into), err = p.text("a string")
			return err
		},
		has:   func(from *T) bool { return *at(from) != "" },
		write: func(b []byte, from *T) []byte { return appendString(b, *at(from)) },
	}
}

// numberField is a whole number, left out when it is zero.
func numberField[T any](name string, at func(*T) *int) field[T] {
	return field[T]{
		name: name,
		read: func(p *parser, into *T) (err error) {
			*at(into), err = p.number("a whole number")
			return err
		},
		has:   func(from *T) bool { return *at(from) != 0 },
		write: func(b []byte, from *T) []byte { return strconv.AppendInt(b, int64(*at(from)), 10) },
	}
}

// keysField is a list of keys, left out when it is empty.
func keysField[T any](name string, at func(*T) *[]string) field[T] {
	return field[T]{
		name: name,
		read: func(p *parser, into *T) error {
			return p.array("a list of keys", func() error {
				key, err := p.text("a key in quotes")
				*at(into) = append(*at(into), key)
				return err
			})
		},
		has:   func(from *T) bool { return len(*at(from)) > 0 },
		write: func(b []byte, from *T) []byte { return appendList(b, *at(from), appendString) },
	}
}

// countsField is an object from keys to numbers, written sorted by key.
func countsField[T any](name string, at func(*T) *[]op.Ref) field[T] {
	return field[T]{
		name: name,
		read: func(p *parser, into *T) error {
			_, err := p.object("an object from keys to whole numbers", func(key string, _ int) error {
				n, err := p.number("a whole number")
				*at(into) = append(*at(into), op.Ref{Key: key, Count: n})
				return err
			})
			return err
		},
		has: always[T],
		write: func(b []byte, from *T) []byte {
			counts := append([]op.Ref(nil), *at(from)...)
			sort.Slice(counts, func(i, j int) bool { return counts[i].Key < counts[j].Key })
			b = append(b, '{')
			for i := range counts {
				if i > 0 {
					b = append(b, ',')
				}
				b = append(appendString(b, counts[i].Key), ':')
				b = strconv.AppendInt(b, int64(counts[i].Count), 10)
			}
			return append(b, '}')
		},
	}
}

// within makes a field of a part a field of the whole.
func within[Whole, Part any](f field[Part], part func(*Whole) *Part) field[Whole] {
	return field[Whole]{
		name:  f.name,
		read:  func(p *parser, into *Whole) error { return f.read(p, part(into)) },
		has:   func(from *Whole) bool { return f.has(part(from)) },
		write: func(b []byte, from *Whole) []byte { return f.write(b, part(from)) },
	}
}

// payload reads a payload in lower-case hex. An empty one is not nil.
func (p *parser) payload() ([]byte, error) {
	p.peek()
	start := p.at
	text, err := p.text("a payload in hex")
	if err != nil {
		return nil, err
	}
	bytes, err := hex.DecodeString(text)
	if err != nil || strings.ContainsAny(text, "ABCDEF") {
		p.at = start
		return nil, p.fail("write two of 0-9a-f for each byte", "the payload is not lower-case hex")
	}
	return bytes, nil
}

func appendPayload(b, payload []byte) []byte {
	return append(hex.AppendEncode(append(b, '"'), payload), '"')
}

func appendList[T any](b []byte, list []T, item func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = item(b, list[i])
	}
	return append(b, ']')
}

// appendString writes a JSON string, escaping only what JSON demands.
func appendString(b []byte, text string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(text); i++ {
		c := text[i]
		if short := strings.IndexByte("\"\\\b\f\n\r\t", c); short >= 0 {
			b = append(b, '\\', `"\bfnrt`[short])
		} else if c < ' ' {
			b = append(b, `\u00`...)
			b = append(b, digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return append(b, '"')
}
