package model

import (
	"fmt"
	"strings"
)

// variant is what sets one store apart from the common one. A nil hook does
// nothing.
type variant struct {
	name string
	// begin runs before the retains of a put, with the batch looked up.
	begin func(s *Store)
	// restore places the stored keys of s.terminal in the queue after a
	// KeyError: they lost their last reference and no more is done.
	restore func(s *Store)
	// beforeEviction runs when a put has to evict, before victims are chosen.
	beforeEviction func(s *Store)
	// afterKeyError appends keys to the victims of a put that raised KeyError.
	afterKeyError func(s *Store)
	// grows makes room where too few victims are left, in place of an error.
	grows bool
	// hidesSlots says that slot numbers are unspecified: they are not observed.
	hidesSlots bool
	// rewrites says that a put stores its unreferenced batch keys anew.
	rewrites bool
	// plainMissing leaves the advice out of a missing error's text.
	plainMissing bool
}

// variants lists the stores that New can build, the unchanged one first.
var variants = [...]*variant{&mainVariant, &freeQueue, &frontRotation, &growing, &release033}

// Variants lists the names that New takes, the unchanged store first.
func Variants() []string {
	names := make([]string, len(variants))
	for i, v := range variants {
		names[i] = v.name
	}
	return names
}

func variantNamed(name string) (*variant, error) {
	for _, v := range variants {
		if v.name == name {
			return v, nil
		}
	}
	return nil, fmt.Errorf("unknown model %q: expected one of %s", name, strings.Join(Variants(), ", "))
}

// Grows tells whether a variant takes more keys than it was built with slots
// for, where another would raise a capacity error.
func Grows(variant string) bool {
	v, err := variantNamed(variant)
	return err == nil && v.grows
}

// Rewrites tells whether a put of a variant stores batch keys anew that are
// stored already and have no references, where another keeps their bytes.
func Rewrites(variant string) bool {
	v, err := variantNamed(variant)
	return err == nil && v.rewrites
}
