package traces

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// parser walks strict JSON. encoding/json is not used for reading because it
// takes field names in any case, keeps the last of two equal fields, takes null
// for anything and turns invalid UTF-8 and unpaired surrogates into U+FFFD: a
// key must come back byte for byte or not at all.
//
// It never recurses: the shape of a file is fixed, so no input can exhaust the
// stack.
type parser struct {
	file string
	// line is the number of the line on which data starts.
	line int
	data []byte
	at   int
}

const mendJSON = "correct the JSON there"

// fail makes the error for the place the parser is at. Columns count bytes from 1.
func (p *parser) fail(mend, format string, args ...any) error {
	before := p.data[:p.at]
	return &Error{
		File: p.file,
		Line: p.line + bytes.Count(before, []byte{'\n'}),
		What: fmt.Sprintf("column %d: ", p.at-bytes.LastIndexByte(before, '\n')) + fmt.Sprintf(format, args...),
		Mend: mend,
	}
}

// wrong makes the error for the line as a whole.
func (p *parser) wrong(mend, format string, args ...any) error {
	return &Error{File: p.file, Line: p.line, What: fmt.Sprintf(format, args...), Mend: mend}
}

// found describes what the parser is at.
func (p *parser) found() string {
	if p.at >= len(p.data) {
		return "the end"
	}
	r, _ := utf8.DecodeRune(p.data[p.at:])
	return strconv.QuoteRuneToASCII(r)
}

// checkUTF8 refuses data that is not UTF-8 throughout.
func (p *parser) checkUTF8() error {
	if utf8.Valid(p.data) {
		return nil
	}
	for {
		r, size := utf8.DecodeRune(p.data[p.at:])
		if r == utf8.RuneError && size == 1 {
			return p.fail("use UTF-8 throughout", "byte 0x%02x is not UTF-8", p.data[p.at])
		}
		p.at += size
	}
}

// peek skips blanks and gives the next byte, or 0 at the end.
func (p *parser) peek() byte {
	for ; p.at < len(p.data); p.at++ {
		switch c := p.data[p.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// end refuses anything behind the value.
func (p *parser) end() error {
	p.peek()
	if p.at < len(p.data) {
		return p.fail("end the line, or the file, behind the closing brace", "trailing data: %s behind the JSON object", p.found())
	}
	return nil
}

// series reads an opening byte, items between commas and the closing byte.
func (p *parser) series(opening, closing byte, what string, item func() error) error {
	if p.peek() != opening {
		return p.fail(mendJSON, "expected %s, found %s", what, p.found())
	}
	p.at++
	if p.peek() == closing {
		p.at++
		return nil
	}
	for n := 1; ; n++ {
		if n > MaxList {
			return p.fail("split the operation into several", "more than %d entries in one list", MaxList)
		}
		if err := item(); err != nil {
			return err
		}
		switch p.peek() {
		case ',':
			p.at++
		case closing:
			p.at++
			return nil
		default:
			return p.fail(mendJSON, "expected , or %c, found %s", closing, p.found())
		}
	}
}

// array reads a JSON array, calling item before each of its values.
func (p *parser) array(what string, item func() error) error {
	return p.series('[', ']', what, item)
}

// object reads a JSON object, calling member before each value with the field's
// name and the place of that. It gives the names that were there and refuses a
// name that comes twice.
func (p *parser) object(what string, member func(name string, start int) error) (map[string]bool, error) {
	seen := map[string]bool{}
	err := p.series('{', '}', what, func() error {
		p.peek()
		start := p.at
		name, err := p.text("a field name in quotes")
		if err != nil {
			return err
		}
		if seen[name] {
			p.at = start
			return p.fail("keep one of the two", "%s appears twice in one JSON object", quote(name))
		}
		seen[name] = true
		if p.peek() != ':' {
			return p.fail(mendJSON, "expected : behind %s, found %s", quote(name), p.found())
		}
		p.at++
		p.peek()
		return member(name, start)
	})
	return seen, err
}

// text reads a JSON string.
func (p *parser) text(what string) (string, error) {
	if p.peek() != '"' {
		return "", p.fail(mendJSON, "expected %s, found %s", what, p.found())
	}
	p.at++
	start := p.at
	for p.at < len(p.data) && p.data[p.at] != '"' && p.data[p.at] != '\\' && p.data[p.at] >= ' ' {
		p.at++
	}
	if p.at < len(p.data) && p.data[p.at] == '"' {
		p.at++
		return string(p.data[start : p.at-1]), nil
	}
	out := append([]byte(nil), p.data[start:p.at]...)
	for p.at < len(p.data) {
		switch c := p.data[p.at]; {
		case c == '"':
			p.at++
			return string(out), nil
		case c < ' ':
			return "", p.fail(fmt.Sprintf(`write it as \u%04x`, c), "raw control character 0x%02x in a string", c)
		case c == '\\':
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, c)
			p.at++
		}
	}
	return "", p.fail(mendJSON, "the string does not end")
}

// escape reads what a backslash starts.
func (p *parser) escape() (rune, error) {
	rest := p.data[p.at:]
	if len(rest) > 1 {
		if i := strings.IndexByte(`"\/bfnrt`, rest[1]); i >= 0 {
			p.at += 2
			return rune("\"\\/\b\f\n\r\t"[i]), nil
		}
	}
	r, ok := escapedUnit(rest)
	if !ok {
		return 0, p.fail(`write \\ for a backslash`, "bad escape in a string")
	}
	if !utf16.IsSurrogate(r) {
		p.at += 6
		return r, nil
	}
	low, _ := escapedUnit(rest[6:])
	pair := utf16.DecodeRune(r, low)
	if pair == unicode.ReplacementChar {
		return 0, p.fail("write the whole pair, or the character itself: a key is UTF-8", "unpaired surrogate %s", rest[:6])
	}
	p.at += 12
	return pair, nil
}

// escapedUnit reads one \uXXXX.
func escapedUnit(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}

// number reads a whole number within the bound.
func (p *parser) number(what string) (int, error) {
	p.peek()
	start := p.at
	digits := start
	if digits < len(p.data) && p.data[digits] == '-' {
		digits++
	}
	end := digits
	for end < len(p.data) && p.data[end] >= '0' && p.data[end] <= '9' {
		end++
	}
	switch {
	case end == digits:
		return 0, p.fail(mendJSON, "expected %s, found %s", what, p.found())
	case end > digits+1 && p.data[digits] == '0',
		end < len(p.data) && strings.IndexByte(".eE", p.data[end]) >= 0:
		return 0, p.fail("write it in plain digits without a leading zero, point or exponent", "expected %s", what)
	}
	n, err := strconv.Atoi(string(p.data[start:end]))
	if err != nil || int64(n) > maxNumber || int64(n) < -maxNumber {
		return 0, p.fail("use a number from -2^40 to 2^40", "the number is out of bounds")
	}
	p.at = end
	return n, nil
}

// version reads a format's version and refuses every one but the known.
func (p *parser) version(known int) (int, error) {
	start := p.at
	version, err := p.number("the format's version")
	if err == nil && version != known {
		p.at = start
		err = p.fail("use a diffstore that knows it", "unknown version %d, this diffstore reads %d", version, known)
	}
	return version, err
}

// affirm reads the word true.
func (p *parser) affirm() error {
	if !bytes.HasPrefix(p.data[p.at:], []byte("true")) {
		return p.fail("write true, or leave the field out", "expected true, found %s", p.found())
	}
	p.at += len("true")
	return nil
}

// maxQuoted is how many bytes of a key or name an error shows.
const maxQuoted = 80

// quote makes a key or name safe to show in one line.
func quote(text string) string {
	if len(text) > maxQuoted {
		return strconv.QuoteToASCII(strings.ToValidUTF8(text[:maxQuoted], "")) + "..."
	}
	return strconv.QuoteToASCII(text)
}
