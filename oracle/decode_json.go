package oracle

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"
)

// decodeJSON reads one value of JSON into the tree, token by token: a message
// decoded as a whole would take twenty times its size before it could be counted.
func (t *tree) decodeJSON(data []byte) error {
	t.nodes, t.refs = t.nodes[:0], t.refs[:0]
	if !utf8.Valid(data) {
		return errNotUTF8
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := t.addJSON(decoder, 0); err != nil {
		if errors.Is(err, io.EOF) {
			err = errShort
		}
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value in the line")
	}
	return nil
}

// addJSON adds the next value and its children.
func (t *tree) addJSON(decoder *json.Decoder, depth int) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	place, err := t.add(depth)
	if err != nil {
		return err
	}
	n := node{}
	switch token := token.(type) {
	case bool:
		n.kind = nodeBool
		if token {
			n.n = 1
		}
	case json.Number:
		n.kind = nodeInt
		if n.n, err = token.Int64(); err != nil {
			return errNumber
		}
	case string:
		n.kind, n.text = nodeText, t.intern([]byte(token))
	case json.Delim:
		n.kind = nodeList
		width := 1
		if token == '{' {
			n.kind, width = nodeDict, 2
		}
		for decoder.More() {
			for range width {
				if err := t.addJSON(decoder, depth+1); err != nil {
					return err
				}
			}
			n.n++
		}
		if _, err := decoder.Token(); err != nil { // the closing bracket
			return err
		}
	}
	n.end = int32(len(t.nodes))
	t.nodes[place] = n
	return nil
}

// hexBytes reads bytes that a JSON message carries as text.
func hexBytes(text string) ([]byte, error) { return hex.DecodeString(text) }
