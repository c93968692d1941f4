package bench

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/op"
)

// traffic is a worker's: every put brings new objects, retains them and releases
// as many of the oldest, so that a full store evicts as many. A ring of twice as
// many keys as slots comes round before a key does again.
type traffic struct {
	slots, held int
	payload     []byte
	keys        []string
	at          int

	objects         []op.Object
	retain, release []string
	made            []byte
}

// ringKeys makes keys that look as the worker's do.
func ringKeys(slots int) []string {
	keys := make([]string, 2*slots)
	for i := range keys {
		keys[i] = fmt.Sprintf("vllm-artifact/1/%064x", uint64(i)*0x9E3779B1)
	}
	return keys
}

// next sets the arguments of the next put, of count keys or fewer at the end of
// the ring, and gives how many.
func (t *traffic) next(count int) int {
	ring := len(t.keys)
	first := t.at % ring
	count = min(count, ring-first)
	t.objects, t.release = t.objects[:0], t.release[:0]
	t.retain = t.keys[first : first+count]
	for i := range count {
		t.objects = append(t.objects, op.Object{Key: t.keys[first+i], Payload: t.payload})
		if t.at >= t.held {
			t.release = append(t.release, t.keys[(t.at-t.held+i)%ring])
		}
	}
	t.at += count
	// A caller has just made the keys that it brings, so their text is near.
	t.made = t.made[:0]
	for _, key := range t.retain {
		t.made = append(t.made, key...)
	}
	return count
}

// fillBatch is how many keys a put brings while a store is filled.
const fillBatch = 1000

// fill fills a store to its slots: the last held keys referenced, and those that
// were released in the order in which they were.
func (t *traffic) fill(put func() error) error {
	for t.at < t.slots {
		count := min(fillBatch, t.slots-t.at)
		if t.at < t.held {
			count = min(count, t.held-t.at)
		}
		t.next(count)
		if err := put(); err != nil {
			return err
		}
	}
	return nil
}

// leastPuts is how many puts are measured however long they take.
const leastPuts = 8

// cost is what the puts of one batch size took, in seconds.
type cost struct {
	Puts    int     `json:"puts"`
	Seconds float64 `json:"seconds"`
	Median  float64 `json:"median"`
	Worst   float64 `json:"worst"`

	allocations, bytes float64 // a put
}

// measure puts for the given time and keeps what each put took.
func (t *traffic) measure(batch int, budget time.Duration, took []time.Duration, put func() error) (cost, []time.Duration, error) {
	took = took[:0]
	end := time.Now().Add(budget)
	for now := time.Now(); len(took) < leastPuts || now.Before(end); {
		t.next(batch)
		began := time.Now()
		if err := put(); err != nil {
			return cost{}, took, err
		}
		now = time.Now()
		if len(took) < cap(took) {
			took = append(took, now.Sub(began))
		} else {
			break // what is kept must not grow while it is measured
		}
	}
	var c cost
	for _, d := range took {
		c.Seconds += d.Seconds()
		c.Worst = max(c.Worst, d.Seconds())
	}
	slices.Sort(took)
	c.Puts, c.Median = len(took), took[len(took)/2].Seconds()
	return c, took, nil
}

// goStore is a variant of the Go store under the traffic.
type goStore struct {
	*traffic
	store *model.Store
}

func (g *goStore) put() error { return g.store.Put(g.objects, g.retain, g.release) }

// copier is the physical limit: it copies the same payloads to the slots that a
// store would write, and does nothing else. Victims leave in the order in which
// they came, and the last slot that gets free is the first one taken.
type copier struct {
	*traffic
	arena []byte
}

func (c *copier) put() error {
	n := len(c.payload)
	first := c.at - len(c.objects)
	for i := range c.objects {
		slot := (first + len(c.objects) - 1 - i) % c.slots
		copy(c.arena[slot*n:(slot+1)*n], c.payload)
	}
	return nil
}

// sizes are what a store of the traffic is like.
type sizes struct {
	Slots   int `json:"slots"`
	Held    int `json:"held"`
	Payload int `json:"payload"`
}

func (s sizes) check() error {
	if s.Slots < 1 || s.Held < 0 || s.Held >= s.Slots || s.Payload < 1 || s.Payload > math.MaxInt/s.Slots {
		return fmt.Errorf("a store of %d slots of %d bytes with %d referenced keys cannot be driven", s.Slots, s.Payload, s.Held)
	}
	return nil
}
