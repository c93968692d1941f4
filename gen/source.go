package gen

import "math/bits"

// golden is the step of a splitmix64 stream.
const golden = 0x9e3779b97f4a7c15

// mix is splitmix64's finaliser: it spreads the bits of one word.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// source is a splitmix64 stream. Seeding is one assignment; math/rand's default
// source takes about as long to seed as it takes to make a whole sequence.
type source struct{ state uint64 }

func (s *source) next() uint64 {
	s.state += golden
	return mix(s.state)
}

// below draws from 0 to n-1; n must be above zero.
func (s *source) below(n int) int {
	high, _ := bits.Mul64(s.next(), uint64(n))
	return int(high)
}

// deal is a case's turn in a campaign. What is drawn by chance alone comes in
// clumps: a share of one in 32 is often missing for a hundred cases. What is dealt
// comes once in every block of 32, at a place that changes from block to block.
type deal struct{ turn, salt uint64 }

// The things that are dealt; equal numbers would always fall together.
const (
	dealtSize = iota
	dealtPlan
	dealtKeys
	dealtRare
)

// place gives each turn of a block of n, a power of two, another number from 0
// to n-1.
func (d *deal) place(n, what uint64) int {
	order := mix((d.turn/n)*golden + d.salt + what)
	return int((d.turn*(order|1) + order>>32) & (n - 1))
}

// chance is true in so many of a hundred draws.
func (s *source) chance(percent int) bool {
	return percent > 0 && s.below(100) < percent
}
