package op

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// String writes the op in one line that ParseOp reads back:
//
//	put a=61616161 "odd key"= retain a b release c
//	get a b
//	close
//
// Payloads are lower-case hex. A key is bare when it is made of letters, digits
// and any of _ - . / : and is no word of the notation, else quoted as in Go.
func (o Op) String() string {
	var b strings.Builder
	b.WriteString(o.Kind.String())
	for i := range o.Objects {
		b.WriteByte(' ')
		b.WriteString(FormatKey(o.Objects[i].Key))
		b.WriteByte('=')
		b.WriteString(hex.EncodeToString(o.Objects[i].Payload))
	}
	writeKeys(&b, " retain", o.Retain)
	writeKeys(&b, " release", o.Release)
	writeKeys(&b, "", o.Keys)
	return b.String()
}

// String writes the sequence so that equal ones are equal text: the store, then
// one op a line.
func (s Sequence) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d slots of %d bytes", s.Slots, s.ObjectBytes)
	for i := range s.Ops {
		b.WriteByte('\n')
		b.WriteString(s.Ops[i].String())
	}
	return b.String()
}

func writeKeys(b *strings.Builder, word string, keys []string) {
	if len(keys) == 0 {
		return
	}
	b.WriteString(word)
	for _, key := range keys {
		b.WriteByte(' ')
		b.WriteString(FormatKey(key))
	}
}

// FormatKey writes a key so that it can be read back and is safe to show: bare
// where that is unambiguous, else quoted with everything unprintable escaped.
func FormatKey(key string) string {
	if key == "" || key == "retain" || key == "release" {
		return strconv.QuoteToASCII(key)
	}
	for i := 0; i < len(key); i++ {
		if !bareByte(key[i]) {
			return strconv.QuoteToASCII(key)
		}
	}
	return key
}

func bareByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-./:", c) >= 0
}

// ParseOp reads the notation of String. Its errors name the column, counted in
// bytes from 1.
func ParseOp(text string) (Op, error) {
	p := &opParser{text: text}
	name := p.bare()
	var o Op
	switch name {
	case Table[Put].Name:
		o.Kind = Put
		return o, p.put(&o)
	case Table[Get].Name:
		o.Kind = Get
		for p.more() {
			key, err := p.key()
			if err != nil {
				return Op{}, err
			}
			o.Keys = append(o.Keys, key)
		}
		return o, nil
	case Table[Close].Name:
		o.Kind = Close
		if p.more() {
			return Op{}, p.errorf("close takes no arguments")
		}
		return o, nil
	}
	return Op{}, p.errorf("unknown operation %q: expected put, get or close", name)
}

// opParser walks one line of the notation.
type opParser struct {
	text string
	at   int
}

func (p *opParser) errorf(format string, args ...any) error {
	return fmt.Errorf("column %d: %s", p.at+1, fmt.Sprintf(format, args...))
}

// more skips blanks and tells whether anything is left.
func (p *opParser) more() bool {
	for p.at < len(p.text) && p.text[p.at] == ' ' {
		p.at++
	}
	return p.at < len(p.text)
}

func (p *opParser) bare() string {
	start := p.at
	for p.at < len(p.text) && bareByte(p.text[p.at]) {
		p.at++
	}
	return p.text[start:p.at]
}

func (p *opParser) key() (string, error) {
	if p.at < len(p.text) && p.text[p.at] == '"' {
		quoted, err := strconv.QuotedPrefix(p.text[p.at:])
		if err != nil {
			return "", p.errorf("the quoted key does not end or has a bad escape")
		}
		key, err := strconv.Unquote(quoted)
		if err != nil {
			return "", p.errorf("the quoted key has a bad escape")
		}
		p.at += len(quoted)
		return key, nil
	}
	key := p.bare()
	if key == "" {
		return "", p.errorf("expected a key, found %q", p.text[p.at:])
	}
	return key, nil
}

// put reads the arguments of a put: objects, then retains, then releases.
func (p *opParser) put(o *Op) error {
	var list *[]string
	for p.more() {
		quoted := p.text[p.at] == '"'
		key, err := p.key()
		if err != nil {
			return err
		}
		switch {
		case !quoted && key == "retain" && list == nil:
			list = &o.Retain
			continue
		case !quoted && key == "release" && list != &o.Release:
			list = &o.Release
			continue
		case list != nil:
			*list = append(*list, key)
			continue
		}
		if p.at >= len(p.text) || p.text[p.at] != '=' {
			return p.errorf("expected = and a payload in hex behind key %s", FormatKey(key))
		}
		p.at++
		start := p.at
		payload, err := hex.DecodeString(p.bare())
		if err != nil {
			p.at = start
			return p.errorf("the payload of key %s is not hex", FormatKey(key))
		}
		o.Objects = append(o.Objects, Object{key, payload})
	}
	return nil
}
