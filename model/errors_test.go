package model

import (
	"errors"
	"fmt"
	"testing"

	"github.com/diffstore/diffstore/op"
)

func TestOpError(t *testing.T) {
	const missing = "auxiliary output object does not exist; the object may have been evicted (used=3, limit=5 objects)."
	for _, c := range []struct {
		err  error
		want op.Error
	}{
		{&KeyError{"it's"}, op.Error{Kind: op.KeyError, Type: "KeyError", Message: `"it's"`, Key: "it's", Used: -1, Limit: -1}},
		{&CapacityError{5}, op.Error{Kind: op.CapacityError, Type: "BlockObjectStoreError", Message: "auxiliary output store cannot retain the requested batch: limit=5 objects", Used: -1, Limit: 5}},
		{&MissingError{Used: 3, Limit: 5}, op.Error{Kind: op.MissingError, Type: "BlockObjectStoreError", Message: missing + " Increase aux_output_config.max_bytes when a KV cache hit requires it.", Used: 3, Limit: 5}},
		{&MissingError{Used: 3, Limit: 5, Plain: true}, op.Error{Kind: op.MissingError, Type: "BlockObjectStoreError", Message: missing, Used: 3, Limit: 5}},
		{&SizeError{}, op.Error{Kind: op.SizeError, Type: "IndexError", Message: "mmap slice assignment is wrong size", Used: -1, Limit: -1}},
		{&ClosedError{}, op.Error{Kind: op.ClosedError, Type: "RuntimeError", Message: "auxiliary output store is closed", Used: -1, Limit: -1}},
		{&ArgumentError{"no"}, op.Error{Kind: op.ArgumentError, Type: "ValueError", Message: "no", Used: -1, Limit: -1}},
		{errors.New("other"), op.Error{Kind: op.OtherError, Type: "Exception", Message: "other", Used: -1, Limit: -1}},
	} {
		for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
			want := c.want
			if want.Kind == op.OtherError {
				want.Message = err.Error()
			}
			if got := OpError(err); *got != want {
				t.Errorf("%v: %+v, want %+v", err, *got, want)
			}
		}
	}
	if OpError(nil) != nil {
		t.Error("no error became one")
	}
}

// TestPythonRepr's wants are what CPython 3.12 prints.
func TestPythonRepr(t *testing.T) {
	for key, want := range map[string]string{
		"":                   `''`,
		"nope":               `'nope'`,
		"it's":               `"it's"`,
		`say "no"`:           `'say "no"'`,
		`it's "no"`:          `'it\'s "no"'`,
		`back\slash`:         `'back\\slash'`,
		"\n\r\t":             `'\n\r\t'`,
		"\x00\x1f\x7f\a":     `'\x00\x1f\x7f\x07'`,
		"é e\u0301":          "'é e\u0301'",
		"\u00a0\u00ad\u200b": `'\xa0\xad\u200b'`,
		"\u2028\ue000":       `'\u2028\ue000'`,
		"😀\U000e0001":        `'😀\U000e0001'`,
		"\xff":               `'\udcff'`,
	} {
		if got := pythonRepr(key); got != want {
			t.Errorf("%q: %s, want %s", key, got, want)
		}
	}
}

// TestStepKeepsErrors: the same failure is the same value, a different one is not.
func TestStepKeepsErrors(t *testing.T) {
	s := mustNew(t, "main", 2, 1)
	get := op.Op{Kind: op.Get, Keys: []string{"nope"}}
	put := op.Op{Kind: op.Put, Objects: []op.Object{{Key: "a", Payload: []byte("a")}}}
	var first, second, third op.Observation
	s.Step(&get, &first)
	s.Step(&get, &second)
	if first.Outcome.Err != second.Outcome.Err {
		t.Error("the same failure was made twice")
	}
	s.Step(&put, &third)
	s.Step(&get, &third)
	if first.Outcome.Err.Used != 0 || third.Outcome.Err.Used != 1 {
		t.Errorf("used is %d and %d, want 0 and 1", first.Outcome.Err.Used, third.Outcome.Err.Used)
	}
}
