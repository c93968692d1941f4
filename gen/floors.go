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
// so that no seed fails them by chance. What needs a full store is asked least of
// all: a head that is built with more slots still has to reach it.
var floors = []floor{
	{"puts that succeeded", outcomes(op.Put, op.NoError),
		map[string]int{"mixed": 3200, "balanced": 4700, "unbalanced": 3300, "sized": 3000, "evict-heavy": 4200, "production": 5600}},
	{"gets that succeeded", outcomes(op.Get, op.NoError),
		map[string]int{"mixed": 1300, "balanced": 1700, "unbalanced": 1600, "sized": 1700, "evict-heavy": 1700, "production": 1200}},
	{"puts with an unknown release", outcomes(op.Put, op.KeyError),
		map[string]int{"mixed": 740, "unbalanced": 1300}},
	{beyondCapacity, outcomes(op.Put, op.CapacityError),
		map[string]int{"mixed": 100, "balanced": 4, "unbalanced": 4, "sized": 4, "evict-heavy": 8}},
	{"puts with a wrong payload size", outcomes(op.Put, op.SizeError),
		map[string]int{"mixed": 290, "sized": 1600}},
	{"gets of a missing key", outcomes(op.Get, op.MissingError),
		map[string]int{"mixed": 510, "balanced": 320, "unbalanced": 470, "sized": 300, "evict-heavy": 680}},
	{"puts on a closed store", outcomes(op.Put, op.ClosedError),
		map[string]int{"mixed": 88}},
	{"gets on a closed store", outcomes(op.Get, op.ClosedError),
		map[string]int{"mixed": 50}},
	{"closes", func(s *Stats) int { return s.Ops[op.Close] },
		map[string]int{"mixed": 140, "balanced": 6, "unbalanced": 6, "sized": 6, "evict-heavy": 6, "production": 58}},
	{"refused constructors", func(s *Stats) int { return s.Refused },
		map[string]int{"mixed": 2}},
	{"victims", func(s *Stats) int { return s.Victims },
		map[string]int{"mixed": 2600, "balanced": 3900, "unbalanced": 2600, "sized": 3600, "evict-heavy": 4300, "production": 2600}},
	{"victims of their own put", func(s *Stats) int { return s.OwnVictims },
		map[string]int{"mixed": 18}},
	{"evicted keys put again", func(s *Stats) int { return s.ReputsEvicted },
		map[string]int{"mixed": 500, "balanced": 880, "unbalanced": 550, "sized": 940, "evict-heavy": 270, "production": 110}},
	{"keys read", func(s *Stats) int { return s.Hits },
		map[string]int{"mixed": 2600, "balanced": 3000, "unbalanced": 2800, "sized": 3100, "evict-heavy": 3700, "production": 2300}},
	{"calls that retain and release a key", func(s *Stats) int { return s.RetainReleases },
		map[string]int{"mixed": 920, "balanced": 900, "unbalanced": 1000, "sized": 910, "evict-heavy": 160, "production": 130}},
	{"calls that release a key of their batch", func(s *Stats) int { return s.ReleasedBatch },
		map[string]int{"mixed": 990, "balanced": 880, "unbalanced": 1200, "sized": 910, "evict-heavy": 150}},
	{"stored keys left without a slot", func(s *Stats) int { return s.Zombies },
		map[string]int{"mixed": 420, "sized": 2400}},
	{"lists that name a key twice", func(s *Stats) int { return s.Duplicates },
		map[string]int{"mixed": 2200, "balanced": 1500, "unbalanced": 2500, "sized": 1700, "evict-heavy": 800, "production": 440}},
	{"ops that left a full store", func(s *Stats) int { return s.Full },
		map[string]int{"mixed": 5400, "balanced": 5800, "unbalanced": 5300, "sized": 5600, "evict-heavy": 6100, "production": 5300}},
	{noVictimLeft, func(s *Stats) int { return s.AllReferenced },
		map[string]int{"mixed": 200, "balanced": 20, "unbalanced": 15, "sized": 20, "production": 900}},
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
