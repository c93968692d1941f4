package gen

import (
	"fmt"
	"strings"

	"github.com/diffstore/diffstore/op"
)

// Info describes a profile to a user.
type Info struct {
	Name string
	// Says is one sentence on the traffic.
	Says string
}

// profile is a kind of traffic: plan settles what one sequence of it is like.
type profile struct {
	Info
	plan func(b *book)
}

// profiles lists every profile, the default first. It is filled by init because
// mixed draws from the others.
var profiles []profile

func init() {
	profiles = []profile{
		{Info{"mixed", "A mixture of all the others and of every misuse, drawn per sequence."}, mixed},
		{Info{"balanced", "References are released only by who holds them; payloads fit; some sequences are drained."}, balanced},
		{Info{"unbalanced", "Balanced traffic plus releases of keys that hold no reference, or fewer than are released."}, unbalanced},
		{Info{"sized", "Balanced traffic plus empty, short and long payloads, lost slots and keys that are put again."}, sized},
		{Info{"evict-heavy", "Small stores, many new keys, few references, many gets."}, evictHeavy},
		{Info{"production", "The worker's traffic: requests with shared prefixes, up to three puts a step, a full store."}, production},
	}
}

// Profiles lists the profiles, the default first.
func Profiles() []Info {
	infos := make([]Info, len(profiles))
	for i := range profiles {
		infos[i] = profiles[i].Info
	}
	return infos
}

// profileNamed finds a profile; the empty name is the default's. Its error names
// the profiles there are.
func profileNamed(name string) (*profile, error) {
	if name == "" {
		name = DefaultProfile
	}
	for i := range profiles {
		if profiles[i].Name == name {
			return &profiles[i], nil
		}
	}
	var known []string
	for i := range profiles {
		known = append(known, profiles[i].Name)
	}
	return nil, fmt.Errorf("unknown profile %q: expected one of %s", name, strings.Join(known, ", "))
}

func balanced(b *book) {
	b.traffic()
	b.twice = b.below(15)
	b.sameCall = b.below(15)
	b.repeat = b.below(4)
	b.other = b.below(20)
}

func unbalanced(b *book) {
	balanced(b)
	b.unknown = 2 + b.below(25)
	b.broken = b.below(30)
	b.twice = 3 + b.below(20)
	b.repeatFailed = 30
	b.releases += b.below(2)
}

func sized(b *book) {
	balanced(b)
	b.wrong = 2 + b.below(30)
	b.repeatFailed = 20
}

func evictHeavy(b *book) {
	b.traffic()
	if !b.fixed {
		b.slots = 1 + b.below(min(b.mostSlots, 4))
	}
	if !b.large() {
		b.objects = 2 + b.below(b.slots+1)
		b.gets = 1 + b.slots
	}
	b.squeeze = b.below(15)
	b.ceiling = b.slots / 2
	b.retain = b.below(15)
	b.lone = b.below(5)
	b.releases = 1
	b.universe = 0
	b.fresh = 60 + b.below(40)
	b.live = b.below(101 - b.fresh)
	b.aim = 40 + b.below(61)
	b.weights = [op.NumKinds]int{op.Put: 65, op.Get: 35}
}

func production(b *book) {
	b.production = true
	b.keys = artifactKeys
	// Start near the end of a generation, so that some sequences see the next.
	b.firstName = (1+b.below(4))*generationKeys - b.below(2*generationKeys/3)
	b.weights = [op.NumKinds]int{op.Put: 70, op.Get: 30}
	if !b.fixed {
		b.slots = max(b.slots, 1+b.below(b.mostSlots))
	}
	b.ceiling = b.slots
	switch {
	case b.large():
		b.ceiling = b.slots * 7 / 10
	case b.chance(2):
		b.ceiling += 1 + b.slots/4
	}
	b.drained = !b.large() && b.chance(30)
	if b.chance(20) {
		b.closeAt = 1
	}
}

// wild is every misuse at once, each with a drawn share.
func wild(b *book) {
	unbalanced(b)
	if b.chance(40) {
		b.wrong = b.below(25)
	}
	b.flood = b.below(10)
	b.fits = false
	b.sameCall = b.below(50)
	b.repeat = b.below(8)
	b.repeatFailed = b.below(60)
	b.ceiling = b.slots + b.below(4)
	b.deep, b.deepest = b.below(20), 9
}

// pinned fills the store with referenced keys and pushes on: all slots
// referenced, puts that cannot keep their batch, zombies rolled back.
func pinned(b *book) {
	balanced(b)
	b.ceiling = b.slots + 1 + b.below(3)
	b.fits = false
	b.retain = 80 + b.below(21)
	b.releases = 1 + b.below(2)
	b.live = max(b.live, 25)
	b.fresh = min(b.fresh, 70)
	b.repeatFailed = 30
	if b.chance(50) {
		b.wrong = 3 + b.below(15)
	}
	if b.chance(50) {
		b.unknown = 1 + b.below(10)
	}
}

// crowded fills a store of many slots with referenced keys but for a few, so that
// what can go stands far behind in the order.
func crowded(b *book) {
	balanced(b)
	if !b.fixed {
		b.slots = b.mostSlots
	}
	b.ceiling = b.slots - 1 - b.below(2)
	b.objects = min(b.slots, 6)
	b.retain = 95
	b.releases = 1
	b.universe = 0
	b.fresh, b.live = 80, 10
	b.squeeze = 10
}

// mixture is what mixed is dealt, as many of each as stand here.
var mixture = [16]func(b *book){
	balanced, balanced, balanced, balanced, unbalanced, unbalanced, sized, sized,
	evictHeavy, evictHeavy, production, crowded, wild, wild, pinned, pinned,
}

func mixed(b *book) {
	mixture[b.place(uint64(len(mixture)), dealtPlan)](b)
	if b.chance(30) {
		b.closeAt = min(1+b.below(5), b.ops)
	}
	if b.production {
		return
	}
	if b.chance(55) {
		b.roughen()
	}
	if b.place(8, dealtKeys) == 0 {
		b.keys = oddKeys
		b.universe = max(b.universe, min(b.universe, 1)*6)
		if b.chance(25) {
			b.firstName = b.below(len(oddNames))
		}
	}
	switch b.rare {
	case longShare:
		// Past 255, where a count in one byte would wrap.
		b.deep, b.deepest = 12, 300
	case longShare + 1:
		b.invalid = 1 + max(0, b.below(4)-1)
		b.ops = min(b.ops, 2)
	}
}

// roughen lets the last ops of a sequence be misused in every way.
func (b *book) roughen() {
	b.rough = 1 + b.ops/4 + b.below(1+b.ops/3)
	b.drained = false
	b.later = b.misuse
	b.later.ceiling = max(b.ceiling, b.slots+1)
	b.later.fits = false
	b.later.flood += b.below(15)
	b.later.unknown += b.below(15)
	b.later.broken += 10 + b.below(40)
	b.later.miss += b.below(25)
	b.later.wrong += b.below(30)
	b.later.repeatFailed += b.below(30)
}
