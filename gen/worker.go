package gen

import "github.com/diffstore/diffstore/op"

// worker makes the traffic of the serving worker. Requests hold one reference
// to each key of their blocks, so a prefix that n requests share has count n.
// A step is, in this order and each only if it has something to say:
//
//  1. a metadata put: objects of the running requests' new blocks, retains of
//     all new keys, releases of the finished requests' keys in reverse order;
//  2. an output put: objects only, the new requests' blocks;
//  3. a get of the prefixes that new requests share with running ones;
//  4. a get of all the keys of a request that ends;
//  5. a put that only releases that request's keys.
//
// A new request is admitted while its keys fit below the ceiling, as the KV
// cache would, so the store stays full and every put evicts.
type worker struct {
	phase   int
	running []request
	// past are blocks of requests that ended, whose prefixes may come again.
	past [4][]int32
	// hits are the keys to get, output the keys whose objects come later.
	hits, output []int32
	// spare are lists to use again.
	spare [][]int32
}

// request is the keys of its blocks, first block first.
type request struct{ blocks []int32 }

// The phases of a step.
const (
	metadataPut = iota
	outputPut
	prefixGet
	finalGet
	releasePut
	numPhases
)

// start forgets every request and keeps the memory.
func (w *worker) start() {
	for i := range w.running {
		w.spare = append(w.spare, w.running[i].blocks[:0])
	}
	for i := range w.past {
		w.past[i] = w.past[i][:0]
	}
	w.running, w.hits, w.output = w.running[:0], w.hits[:0], w.output[:0]
	w.phase = metadataPut
}

// draw makes the next op of the current step, or of the next step.
func (w *worker) draw(b *book, o *op.Op) {
	for {
		phase := w.phase
		w.phase = (phase + 1) % numPhases
		switch phase {
		case metadataPut:
			o.Kind = op.Put
			w.metadata(b, o)
			if len(o.Retain)+len(o.Release) > 0 {
				return
			}
		case prefixGet:
			if len(w.hits) > 0 {
				o.Kind = op.Get
				appendNames(b, o, w.hits)
				return
			}
		case outputPut:
			if len(w.output) > 0 {
				o.Kind = op.Put
				for _, key := range w.output {
					bringOwn(b, o, key)
				}
				return
			}
		case finalGet:
			if len(w.running) == 0 || !b.chance(w.endShare(b)) {
				w.phase = metadataPut
				continue
			}
			// The request that ends goes last in the list until it is released.
			i, last := b.below(len(w.running)), len(w.running)-1
			w.running[i], w.running[last] = w.running[last], w.running[i]
			if b.chance(50) {
				o.Kind = op.Get
				appendNames(b, o, w.running[last].blocks)
				return
			}
		case releasePut:
			o.Kind = op.Put
			w.end(b, o, len(w.running)-1)
			return
		}
	}
}

// endShare is the chance in a hundred that a request ends; it rises as the
// store fills, since nothing else makes room.
func (w *worker) endShare(b *book) int {
	switch {
	case len(b.held) >= b.ceiling*9/10:
		return 60
	case b.large():
		return 5
	}
	return 15
}

// metadata ends some requests, lets others grow and admits new ones. Ending
// comes first in the book and last in the call: the counts are the same.
func (w *worker) metadata(b *book, o *op.Op) {
	w.hits, w.output = w.hits[:0], w.output[:0]
	for n := b.below(3); n > 0 && len(w.running) > 0 && b.chance(w.endShare(b)); n-- {
		w.end(b, o, b.below(len(w.running)))
	}
	for n := min(len(w.running), b.below(4)); n > 0; n-- {
		r := &w.running[b.below(len(w.running))]
		if len(b.held) < b.ceiling {
			key := b.newKey()
			w.give(b, o, r, key)
			bringOwn(b, o, key)
		}
	}
	admitted := 1 + b.below(2)
	if b.large() {
		admitted = 6
	}
	for ; admitted > 0 && len(w.output) <= largeBatch/2; admitted-- {
		w.admit(b, o)
	}
}

// give adds one block to a request, which retains its key.
func (w *worker) give(b *book, o *op.Op, r *request, key int32) {
	r.blocks = append(r.blocks, key)
	o.Retain = append(o.Retain, b.name(key))
	b.hold(key)
}

// admit starts a request with a prefix of its own or of another request.
func (w *worker) admit(b *book, o *op.Op) {
	most := min(largeBatch/2, 1+b.slots/3)
	blocks := 1 + b.below(most)
	if len(b.held)+blocks > b.ceiling {
		return
	}
	r := request{}
	if n := len(w.spare); n > 0 {
		r.blocks, w.spare = w.spare[n-1], w.spare[:n-1]
	}
	switch roll := b.below(100); {
	case roll < 45 && len(w.running) > 0:
		prefix := w.running[b.below(len(w.running))].blocks
		for _, key := range prefix[:b.below(min(len(prefix), blocks))+1] {
			w.give(b, o, &r, key)
			w.hits = append(w.hits, key)
		}
	case roll < 75:
		prefix := w.past[b.below(len(w.past))]
		for _, key := range prefix[:min(len(prefix), b.below(blocks)+1)] {
			w.give(b, o, &r, key)
			// The blocks may be evicted by now, so they are computed again.
			w.output = append(w.output, key)
		}
	}
	for len(r.blocks) < blocks {
		key := b.newKey()
		w.give(b, o, &r, key)
		w.output = append(w.output, key)
	}
	w.running = append(w.running, r)
}

// end releases a request's keys, last block first.
func (w *worker) end(b *book, o *op.Op, i int) {
	last := len(w.running) - 1
	blocks := w.running[i].blocks
	w.running[i] = w.running[last]
	w.running = w.running[:last]
	for at := len(blocks) - 1; at >= 0; at-- {
		o.Release = append(o.Release, b.name(blocks[at]))
		b.drop(blocks[at])
	}
	place := b.below(len(w.past))
	w.spare = append(w.spare, w.past[place][:0])
	w.past[place] = blocks
}

// drain ends requests until their share of the remaining ops is released.
func (w *worker) drain(b *book, o *op.Op, left int) {
	w.phase = metadataPut
	least := (b.references + left - 1) / left
	for len(w.running) > 0 && len(o.Release) < least {
		w.end(b, o, len(w.running)-1)
	}
}

// bringOwn puts the key's object: its own payload, always of the right size.
func bringOwn(b *book, o *op.Op, key int32) {
	own := payloadOf(b.bytes, b.firstName+int(key), 0, b.objectBytes)
	o.Objects = append(o.Objects, op.Object{Key: b.name(key), Payload: own})
}

func appendNames(b *book, o *op.Op, keys []int32) {
	for _, key := range keys {
		o.Keys = append(o.Keys, b.name(key))
	}
}
