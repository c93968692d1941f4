package model

import "hash/maphash"

// Store is one store of fixed-size objects by key, of one variant. It is not
// safe for concurrent use.
type Store struct {
	variant     *variant
	seed        maphash.Seed
	slots       int
	objectBytes int
	closed      bool
	// stored and referenced count keys; a referenced key need not be stored.
	stored, referenced int
	clock              uint64

	entries []entry
	// idleHead starts the list of entries for reuse, linked by next; root ends it.
	idleHead int32
	table    table
	texts    texts
	arena    arena
	// free is the stack of free slots; next the next slot never used, which lost
	// slots can push past the arena.
	free []int32
	next int
	// rotations belong to front-rotation.
	rotations []rotation

	// lately are the last entries that joined the queue's tail, joined counts them.
	lately [aheadBy]int32
	joined uint

	// victims are the entries that the last put evicted. They, and all in dead,
	// keep their text until the next put recycles them.
	victims, dead []int32

	callScratch
}

// callScratch is memory that calls use again; nothing in it outlives a call but
// names, which Victims hands out.
type callScratch struct {
	batch []batchKey
	// brought are the entries of a put's objects.
	brought  []int32
	terminal []int32
	found    []int32
	order    []int32
	ropes    []rope
	names    []string
	// payload is a buffer that a Step took back from an observation.
	payload []byte
	// tags are hashes of keys that are about to be looked for.
	tags []uint32
	// failure is why the last failed call did; failures what Steps made of such.
	failure  failure
	failures *failures
}

// batchKey is one distinct key of a put's objects and the object that counts.
type batchKey struct {
	entry, object int32
}

// processSeed is the hash seed of every store; nothing observable depends on it.
var processSeed = maphash.MakeSeed()

// New builds an empty store of a variant (see Variants) with room for slots
// objects of objectBytes bytes. Sizes that the store's constructor refuses are an
// *ArgumentError; an unknown variant's error lists the known ones.
func New(variant string, slots, objectBytes int) (*Store, error) {
	v, err := variantNamed(variant)
	if err != nil {
		return nil, err
	}
	s := &Store{variant: v, seed: processSeed}
	if err := s.Reset(slots, objectBytes); err != nil {
		return nil, err
	}
	return s, nil
}

// Reset begins a new life: an empty, open store of another size on the memory of
// the old one. Its errors are those of New; the store is closed after one.
func (s *Store) Reset(slots, objectBytes int) error {
	s.closed = true
	if err := checkArguments(slots, objectBytes); err != nil {
		return err
	}
	if err := s.arena.reset(slots, objectBytes); err != nil {
		return err
	}
	s.closed = false
	s.slots, s.objectBytes = slots, objectBytes
	s.stored, s.referenced, s.clock, s.next = 0, 0, 0, 0
	s.entries = append(s.entries[:0], entry{slot: idle})
	s.idleHead = root
	s.lately = [aheadBy]int32{}
	s.table.reset(min(slots, 1<<20))
	s.texts.reset(slots)
	s.free = s.free[:0]
	s.rotations = s.rotations[:0]
	s.victims, s.dead = s.victims[:0], s.dead[:0]
	return nil
}

// Variant is the name that the store was built with.
func (s *Store) Variant() string { return s.variant.name }

// Len counts the stored keys, zombies included.
func (s *Store) Len() int { return s.stored }

// Slots is how many objects fit. It changes in the growing variants alone.
func (s *Store) Slots() int { return s.slots }

// ObjectBytes is the room of one slot in bytes.
func (s *Store) ObjectBytes() int { return s.objectBytes }

// References is how many references the key has, whether it is stored or not.
func (s *Store) References(key string) int {
	e := s.find(key, s.tagOf(key))
	return int(s.entries[e].refs)
}

// Stored tells whether the key is stored, zombies included.
func (s *Store) Stored(key string) bool {
	e := s.find(key, s.tagOf(key))
	return e != root && s.entries[e].stored()
}

// Victims lists the keys that the last call evicted, in eviction order. The
// slice and, in a store of more than 4096 slots, the text of the keys are valid
// until the next call.
func (s *Store) Victims() []string {
	s.names = s.names[:0]
	for _, e := range s.victims {
		s.names = append(s.names, s.texts.view(e, &s.entries[e]))
	}
	return s.names
}

// Close ends the store's life as a caller can see it: every later call but Close
// is a *ClosedError. Keys and counts stay readable, and Reset begins anew.
func (s *Store) Close() error {
	s.victims = s.victims[:0]
	s.closed = true
	return nil
}

// Release closes the store and gives its memory back at once. A store of more
// than a mebibyte of payloads holds mapped memory that only Release gives back.
// Reset works afterwards.
func (s *Store) Release() {
	*s = Store{variant: s.variant, seed: s.seed, closed: true, entries: []entry{{slot: idle}}, arena: s.arena}
	s.arena.release()
	s.table.reset(0)
}

// Clone copies the whole store; the copies share nothing that changes. It costs
// in proportion to the store, so it is for small ones.
func (s *Store) Clone() *Store {
	c := *s
	c.callScratch = callScratch{}
	c.entries = append([]entry(nil), s.entries...)
	c.table.cells = append([]uint64(nil), s.table.cells...)
	c.texts = s.texts.clone()
	c.free = append([]int32(nil), s.free...)
	c.rotations = append([]rotation(nil), s.rotations...)
	c.victims = append([]int32(nil), s.victims...)
	c.dead = append([]int32(nil), s.dead...)
	var err error
	if c.arena, err = s.arena.clone(); err != nil {
		panic(err) // a mapping of the size that the original has
	}
	return &c
}

// tagOf is the hash by which the table knows a key.
func (s *Store) tagOf(key string) uint32 { return uint32(maphash.String(s.seed, key)) }

// find gives the key's entry, root where it has none.
func (s *Store) find(key string, tag uint32) int32 {
	mask := len(s.table.cells) - 1
	for i := int(tag) & mask; ; i = (i + 1) & mask {
		cell := s.table.cells[i]
		if cell == 0 {
			return root
		}
		if uint32(cell>>32) == tag {
			index := int32(uint32(cell))
			if s.texts.view(index, &s.entries[index]) == key {
				return index
			}
		}
	}
}

// findOrAdd gives the key's entry, a new one that is not stored where it has none.
func (s *Store) findOrAdd(key string, tag uint32) int32 {
	index := s.find(key, tag)
	if index != root {
		return index
	}
	index = s.idleHead
	if index != root {
		s.idleHead = s.entries[index].next
	} else {
		index = int32(len(s.entries))
		s.entries = append(s.entries, entry{})
	}
	e := &s.entries[index]
	*e = entry{tag: tag, prev: unlinked, slot: absent}
	s.texts.set(index, e, key)
	s.table.insert(tag, index)
	return index
}

// settle forgets an entry that is neither stored nor referenced any more.
func (s *Store) settle(index int32) {
	e := &s.entries[index]
	if e.slot != absent || e.refs != 0 {
		return
	}
	s.table.remove(e.tag, index)
	e.slot = idle
	s.dead = append(s.dead, index)
}

// recycle makes the entries that the last put forgot, and their text, usable again.
func (s *Store) recycle() {
	for _, index := range s.dead {
		e := &s.entries[index]
		s.texts.drop(index, e)
		e.next = s.idleHead
		s.idleHead = index
	}
	s.dead = s.dead[:0]
	s.victims = s.victims[:0]
}

// freeSlot puts a slot on the stack of free slots; a zombie has none to give.
func (s *Store) freeSlot(slot int32) {
	if slot != zombie {
		s.free = append(s.free, slot)
	}
}

// takeSlot gives the top of the stack of free slots, else the next unused slot.
func (s *Store) takeSlot() int32 {
	if n := len(s.free); n > 0 {
		slot := s.free[n-1]
		s.free = s.free[:n-1]
		return slot
	}
	s.next++
	return int32(s.next - 1)
}
