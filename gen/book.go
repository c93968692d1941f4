package gen

import "github.com/diffstore/diffstore/op"

// book is what one generator knows while it makes a sequence: the plan, which
// keys hold how many references, and a guess at which keys are stored.
//
// The counts are exact as long as only KeyErrors stop a call half-way, which
// the book follows. What is stored is guessed from the last keys that moved.
// Keys are numbers here; names turns them into strings.
type book struct {
	source
	deal
	plan
	names []string
	bytes []byte

	// counts and heldAt are by key: references, and the place in held plus one.
	counts, heldAt []int32
	// held lists the keys with references.
	held []int32
	// references is the sum of all counts.
	references int
	// recent is a ring of the last keys to move to the tail of the queue, at most
	// slots of them; oldest is where the next one goes once it is full.
	recent []int32
	oldest int
	// spoilt are the last keys put with a wrong size, likely zombies.
	spoilt  [8]int32
	spoiled int

	// batch, retained and released are the keys of the last put.
	batch, retained, released []int32
	// failed tells that the last put met an unknown release.
	failed bool

	closed bool

	worker worker
}

// start begins a sequence once the plan is settled.
func (b *book) start() {
	b.names = b.keys.atLeast(b.firstName + b.universe + 1)
	b.bytes = payloadBytes.atLeast(payloadStarts + 2*b.objectBytes + 1)
	b.counts, b.heldAt = b.counts[:0], b.heldAt[:0]
	for range b.universe {
		b.newKey()
	}
	b.held, b.recent = b.held[:0], b.recent[:0]
	b.batch, b.retained, b.released = b.batch[:0], b.retained[:0], b.released[:0]
	b.references, b.oldest, b.spoiled = 0, 0, 0
	b.failed, b.closed = false, false
	b.worker.start()
}

// newKey brings a key into play that no op has named.
func (b *book) newKey() int32 {
	key := int32(len(b.counts))
	b.counts = append(b.counts, 0)
	b.heldAt = append(b.heldAt, 0)
	return key
}

func (b *book) name(key int32) string {
	i := b.firstName + int(key)
	if i >= len(b.names) {
		b.names = b.keys.atLeast(i + 1)
	}
	return b.names[i]
}

// anyKey draws from all keys in play.
func (b *book) anyKey() int32 {
	if len(b.counts) == 0 {
		return b.newKey()
	}
	return int32(b.below(len(b.counts)))
}

// liveKey draws a key that is believed to be stored: one that holds references,
// or one of the last to move to the tail, as many as fit beside those. It is
// false where there is none.
func (b *book) liveKey() (int32, bool) {
	held := len(b.held)
	n := held + min(len(b.recent), max(b.slots-held, 0))
	if n == 0 {
		return 0, false
	}
	i := b.below(n)
	if i < held {
		return b.held[i], true
	}
	at := b.oldest - 1 - (i - held)
	if at < 0 {
		at += len(b.recent)
	}
	return b.recent[at], true
}

// aimedKey draws a live key, or any at the drawn miss rate. It is false where
// none is live.
func (b *book) aimedKey() (int32, bool) {
	if b.chance(b.aim) {
		return b.liveKey()
	}
	return b.anyKey(), true
}

// batchKey draws a key for a put to bring.
func (b *book) batchKey() int32 {
	if b.wrong > 0 && b.spoiled > 0 && b.chance(25) {
		return b.spoilt[b.below(min(b.spoiled, len(b.spoilt)))]
	}
	roll := b.below(100)
	switch {
	case roll < b.fresh:
		return b.newKey()
	case roll < b.fresh+b.live:
		if key, ok := b.liveKey(); ok {
			return key
		}
	}
	return b.anyKey()
}

// mayRetain tells whether one more reference to the key stays below the ceiling.
func (b *book) mayRetain(key int32) bool {
	return b.counts[key] > 0 || len(b.held) < b.ceiling
}

// retainKey gives the op one more retain.
func (b *book) retainKey(o *op.Op, key int32) {
	o.Retain = append(o.Retain, b.name(key))
	b.retained = append(b.retained, key)
	b.hold(key)
}

// hold counts one more reference.
func (b *book) hold(key int32) {
	if b.counts[key] == 0 {
		b.held = append(b.held, key)
		b.heldAt[key] = int32(len(b.held))
	}
	b.counts[key]++
	b.references++
}

// releaseKey gives the op one more release.
func (b *book) releaseKey(o *op.Op, key int32) {
	o.Release = append(o.Release, b.name(key))
	b.released = append(b.released, key)
	b.release(key)
}

// release counts one release. Behind an unknown one nothing counts any more:
// the call has failed there.
func (b *book) release(key int32) {
	switch {
	case b.failed:
	case b.counts[key] == 0:
		b.failed = true
	default:
		b.drop(key)
		b.touch(key)
	}
}

// drop counts one reference less; the key must hold one.
func (b *book) drop(key int32) {
	b.references--
	b.counts[key]--
	if b.counts[key] > 0 {
		return
	}
	place, last := b.heldAt[key]-1, b.held[len(b.held)-1]
	b.held[place] = last
	b.heldAt[last] = place + 1
	b.held = b.held[:len(b.held)-1]
}

// touch notes that a stored key without references has moved to the tail.
func (b *book) touch(key int32) {
	if b.counts[key] > 0 {
		return
	}
	if len(b.recent) < b.slots {
		b.recent = append(b.recent, key)
		return
	}
	b.recent[b.oldest] = key
	b.oldest++
	if b.oldest == len(b.recent) {
		b.oldest = 0
	}
}
