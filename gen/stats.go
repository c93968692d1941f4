package gen

import (
	"encoding/binary"

	"github.com/diffstore/diffstore/op"
)

// ErrorKinds sizes an array with one element for each op.ErrorKind.
const ErrorKinds = int(op.HangError) + 1

// Stats counts what sequences have exercised, by what a store showed for them.
// The zero value is ready to use. It is not safe for concurrent use: each worker
// counts for itself and the counts are merged.
//
// ReputsEvicted and Duplicates are found by small hash tables and may miss a few
// in sequences that name thousands of keys; they never count too much.
type Stats struct {
	Sequences int `json:"sequences"`
	// Ops counts the ops that were observed, by kind.
	Ops [op.NumKinds]int `json:"ops"`
	// Outcomes counts them by kind and by the kind of their error.
	Outcomes [op.NumKinds][ErrorKinds]int `json:"outcomes"`
	// Failed counts the sequences with at least one error.
	Failed int `json:"failed"`
	// Refused counts the sequences whose constructor's arguments are invalid.
	Refused int `json:"refused"`
	// Victims counts evicted keys, OwnVictims those that the same put brought.
	Victims    int `json:"victims"`
	OwnVictims int `json:"own_victims"`
	// Hits counts keys of gets that were read or, in a get that failed, could
	// have been; Misses counts the other keys of gets of an open store.
	Hits   int `json:"hits"`
	Misses int `json:"misses"`
	// DeepestRef is the highest reference count of one key.
	DeepestRef int `json:"deepest_ref"`
	// RetainReleases counts calls that retain and release one key.
	RetainReleases int `json:"retain_releases"`
	// ReleasedBatch counts calls that release a key of their own batch.
	ReleasedBatch int `json:"released_batch"`
	// ReputsEvicted counts objects whose key had been evicted before.
	ReputsEvicted int `json:"reputs_evicted"`
	// Zombies counts the batch keys left without a slot by puts that failed.
	Zombies int `json:"zombies"`
	// MostStored is the highest number of stored keys.
	MostStored int `json:"most_stored"`
	// Duplicates counts lists that name a key twice.
	Duplicates int `json:"duplicates"`
	// AllReferenced counts ops that left a full store without a possible victim.
	AllReferenced int `json:"all_referenced"`
	// Full counts ops that left a full store.
	Full int `json:"full"`
	// AfterClose counts ops on a closed store.
	AfterClose int `json:"after_close"`

	evicted, named keySet
}

// Add counts one sequence. steps are a store's observations, one for each op
// from the first; there may be fewer than ops.
func (s *Stats) Add(seq *op.Sequence, steps []op.Observation) {
	s.Sequences++
	refused := seq.Slots < 1 || seq.ObjectBytes < 1
	failed := refused
	s.evicted.clear()
	for i := range min(len(seq.Ops), len(steps)) {
		o, step := &seq.Ops[i], &steps[i]
		kind := step.Outcome.Kind()
		s.Ops[o.Kind]++
		s.Outcomes[o.Kind][kind]++
		failed = failed || kind != op.NoError
		if kind == op.ClosedError {
			s.AfterClose++
		}
		counters[o.Kind](s, o, step)
		s.MostStored = max(s.MostStored, step.State.Total)
		if !refused && step.State.Total >= seq.Slots {
			s.Full++
			if step.State.Sees&op.SeesQueue != 0 && len(step.State.Queue) == 0 {
				s.AllReferenced++
			}
		}
	}
	if failed {
		s.Failed++
	}
	if refused {
		s.Refused++
	}
}

// counters counts what is particular to one kind of op.
var counters = [op.NumKinds]func(s *Stats, o *op.Op, step *op.Observation){
	op.Put:   (*Stats).put,
	op.Get:   (*Stats).get,
	op.Close: func(*Stats, *op.Op, *op.Observation) {},
}

func (s *Stats) put(o *op.Op, step *op.Observation) {
	if len(o.Retain) > 0 {
		for i := range step.State.Refs {
			s.DeepestRef = max(s.DeepestRef, step.State.Refs[i].Count)
		}
		if s.twice(o.Retain) {
			s.Duplicates++
		}
		// named holds the retained keys now.
		if len(o.Release) > 0 && s.named.hasAny(o.Release) {
			s.RetainReleases++
		}
	}
	if len(o.Release) > 1 && s.twice(o.Release) {
		s.Duplicates++
	}
	if len(o.Objects) > 0 {
		s.objects(o, step)
	}
	for _, key := range step.Victims {
		s.evicted.add(hash(key))
	}
	s.Victims += len(step.Victims)
	if step.Outcome.Kind() == op.SizeError {
		s.zombies(o, &step.State)
	}
}

func (s *Stats) objects(o *op.Op, step *op.Observation) {
	s.named.clear()
	twice := false
	for i := range o.Objects {
		h := hash(o.Objects[i].Key)
		if s.evicted.has(h) {
			s.ReputsEvicted++
			s.evicted.remove(h)
		}
		twice = s.named.add(h) || twice
	}
	if twice {
		s.Duplicates++
	}
	if len(o.Release) > 0 && s.named.hasAny(o.Release) {
		s.ReleasedBatch++
	}
	for _, key := range step.Victims {
		if s.named.has(hash(key)) {
			s.OwnVictims++
		}
	}
}

// zombies counts the batch keys that the state shows without a slot.
func (s *Stats) zombies(o *op.Op, state *op.State) {
	s.named.clear()
	for i := range o.Objects {
		s.named.add(hash(o.Objects[i].Key))
	}
	for i := range state.Entries {
		if state.Entries[i].Slot == op.Unallocated && s.named.has(hash(state.Entries[i].Key)) {
			s.Zombies++
		}
	}
}

func (s *Stats) get(o *op.Op, step *op.Observation) {
	if len(o.Keys) > 1 && s.twice(o.Keys) {
		s.Duplicates++
	}
	switch step.Outcome.Kind() {
	case op.NoError:
		s.Hits += len(o.Keys)
	case op.MissingError:
		for _, key := range o.Keys {
			if step.State.Has(key) {
				s.Hits++
			} else {
				s.Misses++
			}
		}
	}
}

// twice tells whether a key stands twice in the list, and leaves in named all
// keys of the list.
func (s *Stats) twice(keys []string) bool {
	s.named.clear()
	twice := false
	for _, key := range keys {
		twice = s.named.add(hash(key)) || twice
	}
	return twice
}

// Merge adds the counts of another; the highest of the highest values stays.
// Any order of merging gives the same.
func (s *Stats) Merge(other *Stats) {
	for kind := range s.Ops {
		s.Ops[kind] += other.Ops[kind]
		for e := range s.Outcomes[kind] {
			s.Outcomes[kind][e] += other.Outcomes[kind][e]
		}
	}
	for _, pair := range [...]struct{ to, from *int }{
		{&s.Sequences, &other.Sequences}, {&s.Failed, &other.Failed}, {&s.Refused, &other.Refused},
		{&s.Victims, &other.Victims}, {&s.OwnVictims, &other.OwnVictims},
		{&s.Hits, &other.Hits}, {&s.Misses, &other.Misses},
		{&s.RetainReleases, &other.RetainReleases}, {&s.ReleasedBatch, &other.ReleasedBatch},
		{&s.ReputsEvicted, &other.ReputsEvicted}, {&s.Zombies, &other.Zombies},
		{&s.Duplicates, &other.Duplicates}, {&s.AllReferenced, &other.AllReferenced},
		{&s.Full, &other.Full}, {&s.AfterClose, &other.AfterClose},
	} {
		*pair.to += *pair.from
	}
	s.DeepestRef = max(s.DeepestRef, other.DeepestRef)
	s.MostStored = max(s.MostStored, other.MostStored)
}

// Total is the number of ops of all kinds.
func (s *Stats) Total() int {
	total := 0
	for _, n := range s.Ops {
		total += n
	}
	return total
}

// setSize is the number of places of a keySet, a power of two.
const setSize = 1024

// keySet holds hashes of keys, each at one place that it may lose to another. It
// is emptied by a step of its round, not by clearing its memory.
type keySet struct {
	places *[setSize]uint64
	round  uint64
}

func (k *keySet) clear() {
	if k.places == nil {
		k.places = new([setSize]uint64)
	}
	k.round += golden
}

// add puts the hash in and tells whether it was there.
func (k *keySet) add(h uint64) bool {
	place := &k.places[h%setSize]
	was := *place == h^k.round
	*place = h ^ k.round
	return was
}

func (k *keySet) has(h uint64) bool { return k.places[h%setSize] == h^k.round }

func (k *keySet) remove(h uint64) { k.places[h%setSize] = ^(h ^ k.round) }

func (k *keySet) hasAny(keys []string) bool {
	for _, key := range keys {
		if k.has(hash(key)) {
			return true
		}
	}
	return false
}

// hash spreads a key over 64 bits, the same in every process, so that equal
// campaigns count the same.
func hash(key string) uint64 {
	h := uint64(len(key)) * golden
	for len(key) >= 8 {
		h = mix(h ^ binary.LittleEndian.Uint64([]byte(key[:8])))
		key = key[8:]
	}
	var tail uint64
	for i := 0; i < len(key); i++ {
		tail = tail<<8 | uint64(key[i])
	}
	return mix(h ^ tail ^ golden)
}
