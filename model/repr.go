package model

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pythonRepr writes a key as Python's repr does, which is the whole text of a
// KeyError. The two languages' tables of printable characters may be of
// different Unicode versions; a byte that is no UTF-8 is written as the surrogate
// that Python's surrogateescape makes of it.
func pythonRepr(key string) string {
	quote := byte('\'')
	if strings.Contains(key, "'") && !strings.Contains(key, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.Grow(len(key) + 2)
	b.WriteByte(quote)
	for i := 0; i < len(key); {
		r, size := utf8.DecodeRuneInString(key[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\udc%02x`, key[i])
		case r == rune(quote) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += size
	}
	b.WriteByte(quote)
	return b.String()
}
