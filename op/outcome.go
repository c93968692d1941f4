package op

import (
	"fmt"
	"strconv"
	"strings"
)

// ErrorKind is the family of an error: what a caller can tell errors apart by.
type ErrorKind uint8

// The error kinds. NoError is the kind of an outcome that is no error.
const (
	NoError ErrorKind = iota
	// KeyError: a key without references was released; Error.Key is that key.
	KeyError
	// CapacityError: too few victims for the batch; Error.Limit is the capacity.
	CapacityError
	// MissingError: a key of a get is not stored; Error.Used and Error.Limit count objects.
	MissingError
	// ClosedError: the store is closed.
	ClosedError
	// SizeError: a payload does not fit the room at its slot.
	SizeError
	// ArgumentError: the constructor refused its arguments.
	ArgumentError
	// OtherError: an exception of no kind above.
	OtherError
	// CrashError: the oracle's process died in the op.
	CrashError
	// HangError: the op did not end within its time limit.
	HangError
	numErrorKinds
)

var errorKindNames = [numErrorKinds]string{
	"none", "key", "capacity", "missing", "closed", "size", "argument", "other", "crash", "hang",
}

// String gives the word for the kind in traces, on the wire and in reports.
func (k ErrorKind) String() string {
	if k < numErrorKinds {
		return errorKindNames[k]
	}
	return "unknown"
}

// ErrorKindNamed is the inverse of String for every kind but NoError.
func ErrorKindNamed(name string) (ErrorKind, bool) {
	for kind := KeyError; kind < numErrorKinds; kind++ {
		if errorKindNames[kind] == name {
			return kind, true
		}
	}
	return NoError, false
}

// ErrorKindNames lists the words of every kind but NoError, in order.
func ErrorKindNames() []string {
	return append([]string(nil), errorKindNames[KeyError:]...)
}

// Error is what an op raised.
type Error struct {
	Kind ErrorKind
	// Type is the exception's class name as the subject gave it.
	Type string
	// Message is the exception's text; it is compared on request only.
	Message string
	// Key is the key of a KeyError.
	Key string
	// Used and Limit are the counts in objects that a capacity or missing error
	// states; -1 where the message states none.
	Used, Limit int
}

// NewError classifies nothing: it reads the counts that the kind's message
// states ("used=U", "limit=N objects") and keeps the rest as given.
func NewError(kind ErrorKind, typeName, message, key string) *Error {
	e := &Error{Kind: kind, Type: typeName, Message: message, Key: key, Used: -1, Limit: -1}
	switch kind {
	case MissingError:
		e.Used = numberAfter(message, "used=")
		e.Limit = numberAfter(message, "limit=")
	case CapacityError:
		e.Limit = numberAfter(message, "limit=")
	}
	return e
}

// numberAfter reads the decimal number behind the first label in text, or -1.
func numberAfter(text, label string) int {
	_, rest, found := strings.Cut(text, label)
	if !found {
		return -1
	}
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(rest[:end])
	if err != nil {
		return -1
	}
	return n
}

// Error makes the outcome usable as a Go error.
func (e *Error) Error() string {
	if e.Kind == KeyError {
		return fmt.Sprintf("%s error: key %q", e.Kind, e.Key)
	}
	return fmt.Sprintf("%s error: %s", e.Kind, e.Message)
}

// Same tells whether two errors are equal in everything a caller can rely on:
// kind, the key of a KeyError, the counts of a capacity or missing error.
// Nil stands for no error.
func (e *Error) Same(other *Error) bool {
	if e == nil || other == nil {
		return e == other
	}
	return e.Kind == other.Kind && e.Key == other.Key && e.Used == other.Used && e.Limit == other.Limit
}

// Outcome is what one op gave back: a payload (of a get that succeeded), an
// error, or neither.
type Outcome struct {
	// Payload is the joined bytes of a get that succeeded; nil for the rest.
	Payload []byte
	Err     *Error
}

// Kind is the kind of the outcome's error, NoError where there is none.
func (o *Outcome) Kind() ErrorKind {
	if o.Err == nil {
		return NoError
	}
	return o.Err.Kind
}

// Terminal tells whether nothing can follow: the process is gone.
func (o *Outcome) Terminal() bool {
	kind := o.Kind()
	return kind == CrashError || kind == HangError
}
