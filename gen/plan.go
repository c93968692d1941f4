package gen

import "github.com/diffstore/diffstore/op"

// largeStore is the number of slots from which a store is driven in large calls
// and kept about seven tenths referenced.
const largeStore = 128

// fewSlots is up to how many slots half of all stores have: the fewer, the more
// often something has to go.
const fewSlots = 4

// rareBlock is in how many turns each rare thing is dealt once; the first
// longShare places of it are long sequences.
const (
	rareBlock = 64
	longShare = 2
)

// largeBatch is the most objects a put brings to a large store.
const largeBatch = 64

// misuse is what a caller should not do, as percentages, and how far it goes.
type misuse struct {
	// ceiling is how many keys the generator lets hold references.
	ceiling int
	// fits keeps batches and references together within the slots.
	fits bool
	// flood is the share of puts that bring more objects than there are slots.
	flood int
	// unknown is the share of releases that are aimed at any key; 0 keeps the
	// references balanced.
	unknown int
	// broken is the share of puts that release keys for good and then one without
	// references, so that the call fails with its releases done.
	broken int
	// wrong is the share of payloads of a wrong size.
	wrong int
	// miss is the share of gets that ask last for a key that was never put.
	miss int
	// repeatFailed is the share of puts that repeat the one before if that is
	// believed to have failed.
	repeatFailed int
}

// plan is what is settled once for a sequence. Numbers named in a comment as
// shares are percentages.
type plan struct {
	misuse
	// later replaces misuse for the last so many ops, so that one sequence first
	// shows what a caller who makes no mistakes sees, and then the rest.
	later misuse
	rough int

	slots, objectBytes int
	// fixed tells that the Config gives the slots; else mostSlots limits them.
	fixed     bool
	mostSlots int
	ops       int
	// size runs from 0 to Sizes-1; rare is the turn's place in a block.
	size, rare int
	// weights are the shares of the kinds of op; they need not add up to 100.
	weights [op.NumKinds]int

	// keys holds the names of the keys by number, from firstName on.
	keys      *table[string]
	firstName int
	// universe is how many keys are in play from the beginning.
	universe int
	// fresh and live are the shares of batch keys that are new and that are
	// believed to be stored; the rest are any keys.
	fresh, live int
	// aim is the share of the keys of gets and retains that are believed to be
	// stored; the rest are any keys, so 100-aim is the drawn miss rate.
	aim int

	// objects, gets and releases are the most entries drawn for each list.
	objects, gets, releases int
	// squeeze is the share of puts that bring about as much as there is room for.
	squeeze int
	// readBack is the share of gets that ask for what the last put brought.
	readBack int
	// retain is the share of batch keys that the same call retains, lone the
	// share of puts that retain another key.
	retain, lone int
	// twice is the share of list entries that are given twice.
	twice int
	// sameCall is the share of puts that release what they have just retained.
	sameCall int
	// deep is the share of puts that retain one key several times, deepest the
	// most times.
	deep, deepest int
	// other is the share of right-sized payloads that are not the key's own.
	other int
	// repeat is the share of puts that repeat the one before.
	repeat int

	// production replaces the whole of the above by the worker's traffic.
	production bool
	// drained makes the last ops release whatever holds references.
	drained bool
	// closeAt is how many ops are left when the store is closed, 0 for never.
	closeAt int
	// invalid spoils the constructor: 1 the slots, 2 and 3 the object size.
	invalid int
}

// shape draws the store and the number of ops, the same way for every profile.
func (b *book) shape(size int, c Config) {
	b.plan = plan{
		slots: c.Slots, mostSlots: c.Slots, fixed: c.Slots != 0,
		objectBytes: c.ObjectBytes, size: size, keys: plainKeys,
	}
	most := c.MaxOps
	if most == 0 {
		most = DefaultMaxOps
	}
	b.ops = 1 + size*(most-1)/(Sizes-1)
	b.rare = b.deal.place(rareBlock, dealtRare)
	if c.MaxOps == 0 && b.rare < longShare {
		b.ops = most + b.below(3*most+1)
	}
	if !b.fixed {
		limit := c.MaxSlots
		if limit == 0 {
			limit = DefaultMaxSlots
		}
		// Two slots at once: with one, no order can be wrong.
		b.mostSlots = min(limit, 2+size*limit/Sizes)
		b.slots = 1 + b.below(b.mostSlots)
		if b.chance(50) {
			b.slots = 1 + b.below(min(b.mostSlots, fewSlots))
		}
	}
	if b.objectBytes == 0 {
		b.objectBytes = 1 << b.below(4)
	}
}

// large tells whether the store is driven in large calls.
func (p *plan) large() bool { return p.slots >= largeStore }

// traffic sets what all profiles but production start from: balanced references,
// right-sized payloads of their own, one of the regimes.
func (b *book) traffic() {
	b.weights = [op.NumKinds]int{op.Put: 70, op.Get: 30}
	b.ceiling = b.slots * (1 + b.below(3)) / 3
	b.objects = 1 + b.below(min(b.slots+1, 5))
	b.retain = 20 + b.below(70)
	b.lone = b.below(25)
	if b.large() {
		b.objects = largeBatch
		b.ceiling = b.slots * 7 / 10
		b.retain = 90
	}
	b.gets = b.objects
	b.releases = 1 + b.objects*b.retain/100
	b.fits = b.chance(80)
	b.squeeze = b.below(45)
	b.readBack = b.below(50)
	b.drained = !b.large() && b.chance(35)
	if b.chance(5) {
		b.closeAt = 1
	}
	b.regime()
	// Production stops at the first error, so what differs only behind one
	// counts less: many sequences should have none.
	if b.chance(50) {
		b.aim = 100
	}
}

// regime draws how keys are chosen. One regime alone is blind to whole classes
// of bugs: a small universe never has many victims in a row, a wide one hardly
// meets a key twice, and aimed calls do not miss.
func (b *book) regime() {
	if b.large() {
		// Only a growing universe ever fills a large store.
		b.fresh = 50 + b.below(50)
		b.live = b.below(100 - b.fresh)
		b.aim = 60 + b.below(41)
		return
	}
	room := min(b.slots, b.ops*b.objects)
	few := 1 + b.below(2*room+3)
	if b.chance(60) { // as many that not all of them fit
		few = room + 1 + b.below(room+2)
	}
	switch b.below(3) {
	case 0: // uniform over all keys
		b.universe = few
		b.aim = b.below(50)
	case 1: // wide and growing
		b.fresh = 60 + b.below(40)
		b.live = b.below(100 - b.fresh)
		b.aim = 40 + b.below(60)
	case 2: // aimed by what is believed to be stored
		b.universe = few
		b.fresh = 5 + b.below(25)
		b.live = 20 + b.below(40)
		b.aim = 70 + b.below(31)
	}
}
