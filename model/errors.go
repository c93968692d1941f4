package model

import (
	"errors"
	"fmt"

	"github.com/diffstore/diffstore/op"
)

// KeyError is the release of a key that has no references.
type KeyError struct{ Key string }

func (e *KeyError) Error() string { return fmt.Sprintf("released key %q has no references", e.Key) }

// CapacityError is a put that found too few victims.
type CapacityError struct {
	// Limit is the store's capacity in objects.
	Limit int
}

func (e *CapacityError) Error() string { return capacityText(e.Limit) }

// MissingError is a get of a key that is not stored.
type MissingError struct {
	// Used counts the stored objects, Limit is the capacity.
	Used, Limit int
	// Plain leaves out the advice to raise max_bytes, as release-0.33 does.
	Plain bool
}

func (e *MissingError) Error() string { return missingText(e.Used, e.Limit, e.Plain) }

// SizeError is a payload that does not fill the room at its slot exactly.
type SizeError struct{}

func (*SizeError) Error() string { return sizeText }

// ClosedError is a call on a closed store.
type ClosedError struct{}

func (*ClosedError) Error() string { return closedText }

// ArgumentError is a size that the constructor refuses.
type ArgumentError struct {
	// Message is the constructor's text.
	Message string
}

func (e *ArgumentError) Error() string { return e.Message }

func checkArguments(slots, objectBytes int) error {
	switch {
	case objectBytes <= 0:
		return &ArgumentError{"auxiliary output object size must be positive"}
	case slots < 1:
		return &ArgumentError{"auxiliary output store must fit at least one object"}
	}
	return nil
}

// The texts of the Python store.
const (
	closedText = "auxiliary output store is closed"
	sizeText   = "mmap slice assignment is wrong size"
)

func capacityText(limit int) string {
	return fmt.Sprintf("auxiliary output store cannot retain the requested batch: limit=%d objects", limit)
}

func missingText(used, limit int, plain bool) string {
	text := fmt.Sprintf("auxiliary output object does not exist; the object may have been evicted (used=%d, limit=%d objects).", used, limit)
	if plain {
		return text
	}
	return text + " Increase aux_output_config.max_bytes when a KV cache hit requires it."
}

// OpError says what the Python store would have raised for an error of this
// package: kind, exception type, message, and the values that the message
// states. Nil stays nil; a foreign error is of kind op.OtherError.
func OpError(err error) *op.Error {
	var (
		key      *KeyError
		capacity *CapacityError
		missing  *MissingError
		argument *ArgumentError
	)
	out := &op.Error{Used: -1, Limit: -1}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &key):
		out.Kind, out.Type, out.Message, out.Key = op.KeyError, "KeyError", pythonRepr(key.Key), key.Key
	case errors.As(err, &capacity):
		out.Kind, out.Type, out.Message, out.Limit = op.CapacityError, storeErrorType, capacity.Error(), capacity.Limit
	case errors.As(err, &missing):
		out.Kind, out.Type, out.Message = op.MissingError, storeErrorType, missing.Error()
		out.Used, out.Limit = missing.Used, missing.Limit
	case errors.As(err, new(*SizeError)):
		out.Kind, out.Type, out.Message = op.SizeError, "IndexError", sizeText
	case errors.As(err, new(*ClosedError)):
		out.Kind, out.Type, out.Message = op.ClosedError, "RuntimeError", closedText
	case errors.As(err, &argument):
		out.Kind, out.Type, out.Message = op.ArgumentError, "ValueError", argument.Message
	default:
		out.Kind, out.Type, out.Message = op.OtherError, "Exception", err.Error()
	}
	return out
}

// storeErrorType is the Python store's own exception.
const storeErrorType = "BlockObjectStoreError"

// failure is how a call failed, before anybody asked for it as an error: most
// calls of a campaign are Steps, which need neither the error nor its text anew.
type failure struct {
	kind        op.ErrorKind
	key         string
	used, limit int
	err         error
}

// fail notes why the call under way fails. It returns false, for the caller to
// return.
func (s *Store) fail(f failure) bool {
	s.failure = f
	return false
}

// asError gives the failure as the error that the calls document.
func (f *failure) asError(v *variant) error {
	switch f.kind {
	case op.KeyError:
		return &KeyError{f.key}
	case op.CapacityError:
		return &CapacityError{f.limit}
	case op.MissingError:
		return &MissingError{Used: f.used, Limit: f.limit, Plain: v.plainMissing}
	case op.SizeError:
		return &SizeError{}
	case op.ClosedError:
		return &ClosedError{}
	}
	return f.err
}

// failures keeps the op.Errors that a store raised. They are written once and
// never changed, so that observations may share them.
type failures struct {
	closed, size *op.Error
	// capacity is by limit, missing by limit and used, for small stores.
	capacity [keptLimits]*op.Error
	missing  [keptLimits * keptLimits]*op.Error
	// key is by key, for a campaign's few.
	key map[string]*op.Error
}

// keptLimits bounds the store size up to which errors are kept, keptKeys how many
// keys' errors are: a campaign's.
const (
	keptLimits = 17
	keptKeys   = 256
)

// kept gives the failure as an op.Error, the same one for the same failure where
// it is kept.
func (f *failure) kept(s *Store) *op.Error {
	if s.failures == nil {
		s.failures = &failures{key: map[string]*op.Error{}}
	}
	k := s.failures
	var fresh *op.Error
	at := &fresh
	switch small := f.limit < keptLimits && f.used < keptLimits; {
	case f.kind == op.KeyError:
		fresh = k.key[f.key]
	case f.kind == op.ClosedError:
		at = &k.closed
	case f.kind == op.SizeError:
		at = &k.size
	case f.kind == op.CapacityError && small:
		at = &k.capacity[f.limit]
	case f.kind == op.MissingError && small:
		at = &k.missing[f.limit*keptLimits+f.used]
	}
	if *at == nil {
		*at = OpError(f.asError(s.variant))
		if f.kind == op.KeyError {
			if len(k.key) >= keptKeys {
				clear(k.key)
			}
			k.key[f.key] = *at
		}
	}
	return *at
}
