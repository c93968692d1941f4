package gen

import (
	"fmt"

	"github.com/diffstore/diffstore/op"
)

// draws makes one op of each kind.
var draws = [op.NumKinds]func(b *book, o *op.Op){
	op.Put:   (*book).put,
	op.Get:   (*book).get,
	op.Close: (*book).close,
}

// draw fills the next op; left counts the ops still to come, this one included.
func (b *book) draw(o *op.Op, left int) {
	if b.closeAt > 0 {
		left -= b.closeAt
	}
	switch {
	case b.closed:
		b.afterClose(o)
		return
	case left == 0 && b.closeAt > 0:
		b.close(o)
		return
	case b.drained && (left == 1 || b.references > 0 && left <= 1+len(b.held)/4):
		b.drain(o, left)
		return
	case left == b.rough:
		b.misuse = b.later
	}
	kind := b.kind()
	if b.production && kind != op.Close {
		b.worker.draw(b, o)
		return
	}
	draws[kind](b, o)
}

// kind draws the kind of the next op by weight.
func (b *book) kind() op.Kind {
	total := 0
	for _, weight := range b.weights {
		total += weight
	}
	roll := b.below(total)
	for kind, weight := range b.weights {
		if roll < weight {
			return op.Kind(kind)
		}
		roll -= weight
	}
	panic(fmt.Sprintf("gen: no kind drawn from weights %v", b.weights))
}

// put draws the three lists of a put in the order in which the store applies
// retains and releases, so that a release may be aimed at what the same call
// retains.
func (b *book) put(o *op.Op) {
	o.Kind = op.Put
	if b.chance(b.repeat) || b.failed && b.chance(b.repeatFailed) {
		b.again(o)
		return
	}
	b.newCall()
	if b.chance(b.squeeze) {
		b.squeezes(o)
	} else {
		b.brings(o)
		b.retains(o)
		b.releasesOf(o)
		if len(o.Objects)+len(o.Retain)+len(o.Release) == 0 {
			b.says(o)
		}
	}
	if b.chance(b.broken) {
		b.breaks(o)
	}
	b.callDone()
}

// newCall forgets the last put.
func (b *book) newCall() {
	b.failed = false
	b.batch, b.retained, b.released = b.batch[:0], b.retained[:0], b.released[:0]
}

// callDone notes what a put stored; one that failed at a release stored nothing.
func (b *book) callDone() {
	if b.failed {
		return
	}
	for _, key := range b.batch {
		b.touch(key)
	}
}

// again repeats the last put, as a caller would who tries a failed call anew.
// References are counted twice then, as in the store.
func (b *book) again(o *op.Op) {
	b.failed = false
	for _, key := range b.batch {
		o.Objects = append(o.Objects, op.Object{Key: b.name(key), Payload: b.payload(key)})
	}
	for _, key := range b.retained {
		o.Retain = append(o.Retain, b.name(key))
		b.hold(key)
	}
	balanced := b.unknown+b.broken == 0
	for _, key := range b.released {
		if balanced && b.counts[key] == 0 {
			continue
		}
		o.Release = append(o.Release, b.name(key))
		b.release(key)
	}
	b.callDone()
}

func (b *book) brings(o *op.Op) {
	n := 1 + b.below(b.objects)
	if b.chance(20) {
		n = 0
	}
	if b.chance(b.flood) {
		n = min(b.slots, largeBatch) + 1 + b.below(3)
	}
	if b.fits {
		n = min(n, b.slots-len(b.held))
	}
	for ; n > 0; n-- {
		b.bring(o, b.batchKey())
		if b.chance(b.twice) {
			b.bring(o, b.batch[b.below(len(b.batch))])
		}
	}
}

// says mostly keeps a put from being empty: it brings a key that needs no room.
func (b *book) says(o *op.Op) {
	if b.chance(10) {
		return
	}
	if key, ok := b.liveKey(); ok && (b.counts[key] > 0 || !b.fits || len(b.held) < b.slots) {
		b.bring(o, key)
	}
}

// squeezes makes a put that needs about all the room there is: it releases some
// keys for good and brings as many objects as no key holds a slot for then, one
// more or one less. What decides who goes and whether it suffices shows there.
func (b *book) squeezes(o *op.Op) {
	held := len(b.held)
	for n := b.below(min(held, 2) + 1); n > 0; n-- {
		b.releaseAll(o, b.held[b.below(len(b.held))])
	}
	n := b.slots - len(b.held) + b.below(4) - 1
	if b.fits {
		n = min(n, b.slots-held)
	}
	for n = min(n, largeBatch); n > 0; n-- {
		key := b.batchKey()
		if b.chance(40) {
			key = b.newKey()
		}
		b.bring(o, key)
	}
}

// releaseAll gives the op every release that the key has references for.
func (b *book) releaseAll(o *op.Op, key int32) {
	for n := b.counts[key]; n > 0; n-- {
		b.releaseKey(o, key)
	}
}

// breaks ends a put's releases with some that free keys and one that fails.
func (b *book) breaks(o *op.Op) {
	for n := 1 + b.below(2); n > 0 && len(b.held) > 0; n-- {
		b.releaseAll(o, b.held[b.below(len(b.held))])
	}
	key, ok := b.liveKey()
	if !ok || b.counts[key] > 0 {
		key = b.newKey()
	}
	b.releaseKey(o, key)
}

// bring gives the op one more object.
func (b *book) bring(o *op.Op, key int32) {
	o.Objects = append(o.Objects, op.Object{Key: b.name(key), Payload: b.payload(key)})
	b.batch = append(b.batch, key)
}

// payload draws a payload for a key, by default the key's own of the right size.
func (b *book) payload(key int32) []byte {
	n, version := b.objectBytes, 0
	if b.chance(b.wrong) {
		n = b.wrongSize()
		b.spoilt[b.spoiled%len(b.spoilt)] = key
		b.spoiled++
	} else if b.chance(b.other) {
		version = 1 + b.below(3)
	}
	return payloadOf(b.bytes, b.firstName+int(key), version, n)
}

// wrongSize draws a number of bytes that an unwritten slot has no room for. Once
// wrong sizes have cost as many slots as there are, only empty payloads can
// still be stored, so they become likely.
func (b *book) wrongSize() int {
	if b.spoiled >= b.slots && b.chance(60) {
		return 0
	}
	switch b.below(4) {
	case 0:
		return 0
	case 1:
		return b.below(b.objectBytes)
	case 2:
		return b.objectBytes + 1
	}
	return 2 * b.objectBytes
}

func (b *book) retains(o *op.Op) {
	for _, key := range b.batch {
		if b.chance(b.retain) && b.mayRetain(key) {
			b.retainKey(o, key)
			if b.chance(b.twice) {
				b.retainKey(o, key)
			}
		}
	}
	if b.chance(b.lone) && !(b.fits && len(b.held)+len(b.batch) >= b.slots) {
		if key, ok := b.aimedKey(); ok && b.mayRetain(key) {
			b.retainKey(o, key)
		}
	}
	if b.chance(b.deep) {
		key := b.batchKey()
		n := 1 + b.below(b.deepest)
		if b.deepest > 255 {
			n = 256 + b.below(b.deepest-255)
		}
		for ; n > 0 && b.mayRetain(key); n-- {
			b.retainKey(o, key)
		}
	}
}

func (b *book) releasesOf(o *op.Op) {
	if b.chance(b.sameCall) && len(b.retained) > 0 {
		b.releaseKey(o, b.retained[b.below(len(b.retained))])
	}
	// Below the ceiling fewer keys are released than retained, so that the
	// references come to stay near it.
	n := b.below(b.releases + 1)
	switch {
	case b.large() && len(b.held) < b.ceiling:
		n /= 4
	case len(b.held) < b.ceiling/2:
		n = b.below(n + 1)
	}
	for ; n > 0; n-- {
		var key int32
		switch {
		case b.chance(b.unknown):
			key = b.anyKey()
		case len(b.held) > 0:
			key = b.held[b.below(len(b.held))]
		default:
			return
		}
		b.releaseKey(o, key)
		if b.chance(b.twice) && (b.counts[key] > 0 || b.unknown > 0) {
			b.releaseKey(o, key)
		}
	}
}

// drain releases an even share of all references, so that none is left when no
// op is left. With nothing to release it looks at what is left.
func (b *book) drain(o *op.Op, left int) {
	if b.references == 0 && !b.production {
		b.get(o)
		return
	}
	o.Kind = op.Put
	b.newCall()
	if b.production {
		b.worker.drain(b, o, left)
		return
	}
	for n := (b.references + left - 1) / left; n > 0; n-- {
		b.releaseKey(o, b.held[b.below(len(b.held))])
	}
}

func (b *book) get(o *op.Op) {
	o.Kind = op.Get
	if !b.failed && len(b.batch) > 0 && b.chance(b.readBack) {
		appendNames(b, o, b.batch)
		return
	}
	if b.chance(4) {
		return
	}
	for n := 1 + b.below(b.gets); n > 0; n-- {
		key, ok := b.aimedKey()
		if !ok {
			return
		}
		o.Keys = append(o.Keys, b.name(key))
		if b.chance(b.twice) {
			o.Keys = append(o.Keys, o.Keys[b.below(len(o.Keys))])
		}
	}
	if b.chance(b.miss) {
		o.Keys = append(o.Keys, b.name(b.newKey()))
	}
}

func (b *book) close(o *op.Op) {
	o.Kind = op.Close
	b.closed = true
}

// afterClose draws what a caller may try on a closed store.
func (b *book) afterClose(o *op.Op) {
	key, ok := b.liveKey()
	if !ok || b.chance(50) {
		key = b.newKey()
	}
	switch b.below(6) {
	case 0:
		b.close(o)
	case 1: // an empty put
		o.Kind = op.Put
	case 2:
		b.get(o)
	case 3:
		o.Kind = op.Get
		o.Keys = append(o.Keys, b.name(key))
	default:
		o.Kind = op.Put
		b.newCall()
		b.bring(o, key)
		b.retainKey(o, key)
	}
}

// spoil turns the constructor's arguments into ones that it refuses.
func (b *book) spoil(dst *op.Sequence) {
	switch b.invalid {
	case 1:
		dst.Slots = 0
	case 2:
		dst.ObjectBytes = 0
	case 3:
		dst.ObjectBytes = -1
	}
}
