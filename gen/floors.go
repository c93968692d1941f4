package gen

import (
	"fmt"

	"github.com/diffstore/diffstore/op"
)

// fewSequences is the size of a campaign below which chance rules: only that
// anything ran is asked of it.
const fewSequences = 200

// Shortfall is something that a campaign has not exercised often enough.
type Shortfall struct {
	What string `json:"what"`
	Got  int    `json:"got"`
	Want int    `json:"want"`
}

// String says it in one line.
func (s Shortfall) String() string {
	return fmt.Sprintf("%s: %d, expected at least %d", s.What, s.Got, s.Want)
}

// floor is a count and how high it must be in 1,000 sequences of a profile. A
// profile that is not named need not reach it.
type floor struct {
	what        string
	count       func(s *Stats) int
	perThousand map[string]int
}

func outcomes(kind op.Kind, e op.ErrorKind) func(s *Stats) int {
	return func(s *Stats) int { return s.Outcomes[kind][e] }
}

// floors are about a third of what the profiles give, and less for what comes in bursts,
// so that no seed fails them by chance.
var floors = []floor{
	{"puts that succeeded", outcomes(op.Put, op.NoError),
		map[string]int{"mixed": 3100, "balanced": 3600, "unbalanced": 3000, "sized": 2900, "evict-heavy": 3000, "production": 4300}},
	{"gets that succeeded", outcomes(op.Get, op.NoError),
		map[string]int{"mixed": 1200, "balanced": 1400, "unbalanced": 1300, "sized": 1400, "evict-heavy": 1700, "production": 910}},
	{"puts with an unknown release", outcomes(op.Put, op.KeyError),
		map[string]int{"mixed": 210, "unbalanced": 630}},
	{beyondCapacity, outcomes(op.Put, op.CapacityError),
		map[string]int{"mixed": 50, "balanced": 4, "unbalanced": 4, "sized": 4, "evict-heavy": 8}},
	{"puts with a wrong payload size", outcomes(op.Put, op.SizeError),
		map[string]int{"mixed": 110, "sized": 670}},
	{"gets of a missing key", outcomes(op.Get, op.MissingError),
		map[string]int{"mixed": 270, "balanced": 200, "unbalanced": 280, "sized": 190, "evict-heavy": 450}},
	{"puts on a closed store", outcomes(op.Put, op.ClosedError),
		map[string]int{"mixed": 3}},
	{"gets on a closed store", outcomes(op.Get, op.ClosedError),
		map[string]int{"mixed": 1}},
	{"closes", func(s *Stats) int { return s.Ops[op.Close] },
		map[string]int{"mixed": 15, "balanced": 5, "unbalanced": 5, "sized": 5, "evict-heavy": 5, "production": 65}},
	{"refused constructors", func(s *Stats) int { return s.Refused },
		map[string]int{"mixed": 1}},
	{"victims", func(s *Stats) int { return s.Victims },
		map[string]int{"mixed": 1100, "balanced": 1400, "unbalanced": 940, "sized": 1100, "evict-heavy": 1800, "production": 1800}},
	{"victims of their own put", func(s *Stats) int { return s.OwnVictims },
		map[string]int{"mixed": 5}},
	{"evicted keys put again", func(s *Stats) int { return s.ReputsEvicted },
		map[string]int{"mixed": 170, "balanced": 270, "unbalanced": 170, "sized": 270, "evict-heavy": 130, "production": 35}},
	{"keys read", func(s *Stats) int { return s.Hits },
		map[string]int{"mixed": 2200, "balanced": 2300, "unbalanced": 2400, "sized": 2300, "evict-heavy": 2700, "production": 1700}},
	{"calls that retain and release a key", func(s *Stats) int { return s.RetainReleases },
		map[string]int{"mixed": 760, "balanced": 900, "unbalanced": 900, "sized": 890, "evict-heavy": 100, "production": 90}},
	{"calls that release a key of their batch", func(s *Stats) int { return s.ReleasedBatch },
		map[string]int{"mixed": 730, "balanced": 870, "unbalanced": 910, "sized": 870, "evict-heavy": 90}},
	{"stored keys left without a slot", func(s *Stats) int { return s.Zombies },
		map[string]int{"mixed": 60, "sized": 600}},
	{"lists that name a key twice", func(s *Stats) int { return s.Duplicates },
		map[string]int{"mixed": 1700, "balanced": 1300, "unbalanced": 2300, "sized": 1500, "evict-heavy": 760, "production": 320}},
	{"ops that left a full store", func(s *Stats) int { return s.Full },
		map[string]int{"mixed": 2900, "balanced": 3000, "unbalanced": 2700, "sized": 2800, "evict-heavy": 3900, "production": 3800}},
	{noVictimLeft, func(s *Stats) int { return s.AllReferenced },
		map[string]int{"mixed": 200, "balanced": 25, "unbalanced": 20, "sized": 20, "production": 900}},
}

// boundedOnly are the floors that a store of fixed capacity alone can reach.
var boundedOnly = map[string]bool{beyondCapacity: true, noVictimLeft: true}

const (
	beyondCapacity = "puts beyond the capacity"
	noVictimLeft   = "ops that left a full store without a possible victim"
)

// Floors lists what a campaign of this config should have exercised and did
// not. Floors hold for stores and lengths drawn by default; of another Config,
// and of fewer than 200 sequences, only one op is asked. Which floors are high is
// a matter of the profile: a campaign that meets none of what its profile is for
// has compared less than it claims.
//
// A store that grows instead of refusing is unbounded: what only a fixed
// capacity brings about is not asked of it.
func (s *Stats) Floors(c Config, unbounded bool) []Shortfall {
	if s.Total() == 0 {
		return []Shortfall{{What: "ops", Got: 0, Want: 1}}
	}
	usual := c.Slots == 0 && (c.MaxOps == 0 || c.MaxOps >= DefaultMaxOps) &&
		(c.MaxSlots == 0 || c.MaxSlots == DefaultMaxSlots)
	if s.Sequences < fewSequences || !usual {
		return nil
	}
	name := c.Profile
	if name == "" {
		name = DefaultProfile
	}
	var short []Shortfall
	for i := range floors {
		f := &floors[i]
		perThousand, asked := f.perThousand[name]
		if !asked || unbounded && boundedOnly[f.what] {
			continue
		}
		want := perThousand * s.Sequences / 1000
		if got := f.count(s); got < want {
			short = append(short, Shortfall{What: f.what, Got: got, Want: want})
		}
	}
	return short
}
