// Package gen makes the sequences that a comparison runs: profiles of traffic,
// case seeds, a gopter generator and property of whole sequences, and the counts
// that say what a campaign has exercised.
//
// It knows the vocabulary and gopter and nothing else. It never asks a store: a
// sequence is a pure function of a seed, a size and a Config, so one case reruns
// alone. What a generator believes about a store (see book) is a guess that aims
// calls well; nothing is judged by it.
package gen

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/diffstore/diffstore/op"
	"github.com/leanovate/gopter"
)

// The values that a zero Config stands for.
const (
	DefaultProfile  = "mixed"
	DefaultMaxOps   = 30
	DefaultMaxSlots = 10
)

// The limits of a Config. They keep a case within what one process can hold.
const (
	MostOps         = 1_000_000
	MostSlots       = 10_000_000
	MostObjectBytes = 1 << 24
)

// Sizes is how many sizes there are: sizes run from 0 to Sizes-1, as gopter's do
// with its default parameters.
const Sizes = 100

// leastSize is the smallest size that Case gives: below it hardly a store fills.
const leastSize = 30

// Config says what sequences to make. The zero value is ready to use.
type Config struct {
	// Profile names the traffic; empty means DefaultProfile. See Profiles.
	Profile string
	// MaxOps is the number of ops at the largest size; 0 means DefaultMaxOps,
	// and then one sequence in 32 is up to four times as long, for bugs that need
	// a history. A MaxOps that is given is never exceeded.
	MaxOps int
	// MaxSlots limits the drawn number of slots; 0 means DefaultMaxSlots.
	MaxSlots int
	// Slots is the number of slots of every store; 0 draws it per sequence.
	Slots int
	// ObjectBytes is the room of one slot in bytes; 0 draws it per sequence.
	ObjectBytes int
}

// Check tells what is wrong with the config, or nil.
func (c Config) Check() error {
	if _, err := profileNamed(c.Profile); err != nil {
		return err
	}
	for _, limit := range []struct {
		name        string
		value, most int
	}{
		{"MaxOps", c.MaxOps, MostOps},
		{"MaxSlots", c.MaxSlots, MostSlots},
		{"Slots", c.Slots, MostSlots},
		{"ObjectBytes", c.ObjectBytes, MostObjectBytes},
	} {
		if limit.value < 0 || limit.value > limit.most {
			return fmt.Errorf("%s is %d: expected 0 to %d", limit.name, limit.value, limit.most)
		}
	}
	return nil
}

// CaseSeed is the seed of one case: the index-th word of the splitmix64 stream
// that starts at base. It depends on no other case.
func CaseSeed(base uint64, index int) uint64 {
	return mix(base + (uint64(index)+1)*golden)
}

// Case writes the case with this index of the campaign with this base seed into
// dst. Sizes and what is rare are dealt like cards (see deal): a few successive
// cases hold some of everything, so that bugs fall early; a long campaign holds
// each in its share.
//
// The memory of dst is used again: it must be a zero sequence or one that Case
// filled and that nobody else holds parts of. Payloads are shared between all
// cases and must not be written to. Case panics where c.Check reports an error.
func Case(base uint64, index int, c Config, dst *op.Sequence) {
	d := deal{turn: uint64(index), salt: mix(base)}
	generate(CaseSeed(base, index), leastSize+d.place(128, dealtSize)*(Sizes-leastSize)/128, d, c, dst)
}

// Sequences generates whole sequences, as op.Sequence. The size is gopter's
// MaxSize, from 0 to 100. Two words are drawn from the parameters' Rng and seed
// the rest, because gopter's own source takes a lock for each draw.
//
// The result has no sieve (gopter 0.2.11's commands lose theirs while shrinking
// and a sequence needs none: every sequence is valid) and no shrinker: give one
// to ForAll, or with WithShrinker.
func Sequences(c Config) gopter.Gen {
	if err := c.Check(); err != nil {
		panic("gen: " + err.Error())
	}
	resultType := reflect.TypeFor[op.Sequence]()
	return func(parameters *gopter.GenParameters) *gopter.GenResult {
		var sequence op.Sequence
		rng := parameters.Rng
		generate(rng.Uint64(), parameters.MaxSize, deal{turn: rng.Uint64()}, c, &sequence)
		return &gopter.GenResult{Result: sequence, ResultType: resultType, Shrinker: gopter.NoShrinker}
	}
}

// books keeps the generators' tables for the next case. A book starts anew with
// every case: what a pool hands out never shows in a sequence.
var books = sync.Pool{New: func() any { return new(book) }}

// generate is the one way in which sequences are made.
func generate(seed uint64, size int, d deal, c Config, dst *op.Sequence) {
	drawn, err := profileNamed(c.Profile)
	if err != nil {
		panic("gen: " + err.Error())
	}
	b := books.Get().(*book)
	defer books.Put(b)
	b.source, b.deal = source{state: seed}, d
	b.shape(min(max(size, 0), Sizes-1), c)
	drawn.plan(b)
	b.start()

	dst.Slots, dst.ObjectBytes = b.slots, b.objectBytes
	room(dst, b.ops)
	for left := b.ops; left > 0; left-- {
		b.draw(nextOp(dst), left)
	}
	if b.invalid != 0 {
		b.spoil(dst)
	}
}

// room empties dst and makes it hold n ops without moving; the ops behind its
// length keep their lists for reuse.
func room(dst *op.Sequence, n int) {
	if cap(dst.Ops) < n {
		grown := make([]op.Op, n)
		copy(grown, dst.Ops[:cap(dst.Ops)])
		dst.Ops = grown
	}
	dst.Ops = dst.Ops[:0]
}

// nextOp appends one empty op, whose lists keep the memory they had.
func nextOp(dst *op.Sequence) *op.Op {
	n := len(dst.Ops)
	dst.Ops = dst.Ops[:n+1]
	o := &dst.Ops[n]
	*o = op.Op{Objects: o.Objects[:0], Retain: o.Retain[:0], Release: o.Release[:0], Keys: o.Keys[:0]}
	return o
}
