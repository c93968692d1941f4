package model

import (
	"unsafe"

	"github.com/diffstore/diffstore/op"
)

// Put takes a reference for every key of retain, gives one back for every key of
// release, and stores what is new of objects, evicting as needed. Payloads are
// copied. What a failing put did before it failed stays done, except that a
// *CapacityError takes the batch's new keys out again.
//
// Its errors, first one first: *ClosedError, *KeyError, *CapacityError,
// *SizeError.
func (s *Store) Put(objects []op.Object, retain, release []string) error {
	if s.put(objects, retain, release) {
		return nil
	}
	return s.failure.asError(s.variant)
}

// put tells whether it succeeded; s.failure says why not.
func (s *Store) put(objects []op.Object, retain, release []string) bool {
	if s.closed {
		s.victims = s.victims[:0]
		return s.fail(failure{kind: op.ClosedError})
	}
	s.recycle()
	far := s.far()
	if far {
		s.fetchArguments(release)
		s.fetchHead(len(objects))
	}
	s.hashKeys(objects, retain, release, far)
	ofRetain := s.tags[len(objects):]
	ofRelease := ofRetain[len(retain):]
	if far {
		s.fetchEntries(ofRelease)
	}
	s.readBatch(objects)
	if far {
		s.fetchTexts()
	}
	if begin := s.variant.begin; begin != nil {
		begin(s)
	}
	s.retain(objects, retain, ofRetain)
	done := s.release(release, ofRelease)
	if done {
		s.moveToTail()
		done = s.evict() && s.write(objects)
	} else {
		s.abandon()
	}
	for _, b := range s.batch {
		s.entries[b.entry].batch = 0
		s.entries[b.entry].dropped = false
	}
	return done
}

// hashKeys fills s.tags with the hashes of all keys of a put, in call order, and asks
// for their cells in a store that is far.
func (s *Store) hashKeys(objects []op.Object, retain, release []string, far bool) {
	s.tags = s.tags[:0]
	for i := range objects {
		s.tags = append(s.tags, s.tagOf(objects[i].Key))
	}
	if far {
		s.fetchCells(s.tags)
	}
	for i, key := range retain {
		if broughtToo(objects, i, key) {
			s.tags = append(s.tags, s.tags[i])
		} else {
			s.tags = append(s.tags, s.tagOf(key))
		}
	}
	start := len(s.tags)
	for _, key := range release {
		s.tags = append(s.tags, s.tagOf(key))
	}
	if far {
		s.fetchCells(s.tags[start:])
	}
}

// broughtToo tells whether a put's i-th retained key is the key of its i-th object,
// the same text at the same place: a caller retains what it brings.
func broughtToo(objects []op.Object, i int, key string) bool {
	return i < len(objects) && len(key) == len(objects[i].Key) && unsafe.StringData(key) == unsafe.StringData(objects[i].Key)
}

// readBatch looks up the batch: each key once, at its first place with its last
// payload. Keys that are new get an entry that is not stored yet.
func (s *Store) readBatch(objects []op.Object) {
	s.batch, s.brought = s.batch[:0], s.brought[:0]
	for i := range objects {
		index := s.findOrAdd(objects[i].Key, s.tags[i])
		s.brought = append(s.brought, index)
		e := &s.entries[index]
		if e.batch != 0 {
			s.batch[e.batch-1].object = int32(i)
			continue
		}
		s.batch = append(s.batch, batchKey{entry: index, object: int32(i)})
		e.batch = int32(len(s.batch))
	}
}

func (s *Store) retain(objects []op.Object, keys []string, tags []uint32) {
	for i, key := range keys {
		var index int32
		if broughtToo(objects, i, key) {
			index = s.brought[i]
		} else {
			index = s.findOrAdd(key, tags[i])
		}
		e := &s.entries[index]
		if e.refs == 0 {
			s.referenced++
			if e.linked() {
				s.unlink(index)
			}
		}
		e.refs++
	}
}

// release collects in s.terminal the keys that lose their last reference. It
// leaves them out of the queue: only the caller knows their place.
func (s *Store) release(keys []string, tags []uint32) bool {
	s.terminal = s.terminal[:0]
	for i, key := range keys {
		index := s.find(key, tags[i])
		e := &s.entries[index]
		if e.refs == 0 { // the root has none either
			return s.fail(failure{kind: op.KeyError, key: key})
		}
		e.refs--
		if e.refs == 0 {
			s.referenced--
			s.terminal = append(s.terminal, index)
		}
	}
	return true
}

// abandon ends a put that raised KeyError: nothing is inserted.
func (s *Store) abandon() {
	s.variant.restore(s)
	if report := s.variant.afterKeyError; report != nil {
		report(s)
	}
	for _, index := range s.terminal {
		s.settle(index)
	}
	for _, b := range s.batch {
		s.settle(b.entry)
	}
}

// moveToTail inserts the batch and moves it to the tail, then the terminal keys,
// which no longer are protected.
func (s *Store) moveToTail() {
	for _, b := range s.batch {
		e := &s.entries[b.entry]
		if e.slot == absent {
			e.slot = zombie
			s.stored++
		}
		s.touch(b.entry)
	}
	for _, index := range s.terminal {
		e := &s.entries[index]
		e.batch = 0
		if e.stored() {
			s.touch(index)
		} else {
			s.settle(index)
		}
	}
}

// evict removes what is stored beyond the slots: the first keys of the queue that
// are not protected, which are those that still have their batch mark.
func (s *Store) evict() bool {
	excess := s.stored - s.slots
	if excess <= 0 {
		return true
	}
	if before := s.variant.beforeEviction; before != nil {
		before(s)
	}
	// Protected keys were moved to the tail just now: no more than the batch is
	// passed over.
	far := s.far()
	for index := s.entries[root].next; index != root && len(s.victims) < excess; index = s.entries[index].next {
		if far {
			s.fetchVictim(index)
		}
		if s.entries[index].batch == 0 {
			s.victims = append(s.victims, index)
		}
	}
	if len(s.victims) < excess && !s.variant.grows {
		s.victims = s.victims[:0]
		s.rollBack()
		return s.fail(failure{kind: op.CapacityError, limit: s.slots})
	}
	for _, index := range s.victims {
		s.freeSlot(s.entries[index].slot)
		s.discard(index)
	}
	if s.stored > s.slots {
		return s.grow(max(s.stored, 2*s.slots))
	}
	return true
}

// rollBack takes the batch keys without a slot out again, old zombies too.
func (s *Store) rollBack() {
	for _, b := range s.batch {
		if s.entries[b.entry].slot == zombie {
			s.discard(b.entry)
		}
	}
}

// discard makes a stored key one that is not; its slot is the caller's.
func (s *Store) discard(index int32) {
	e := &s.entries[index]
	if e.linked() {
		s.unlink(index)
	}
	e.slot = absent
	s.stored--
	s.settle(index)
}

func (s *Store) grow(slots int) bool {
	if err := s.arena.grow(slots * s.objectBytes); err != nil {
		return s.fail(failure{kind: op.OtherError, err: err})
	}
	s.slots = slots
	return true
}

// write gives each batch key that is stored without a slot its slot and bytes.
func (s *Store) write(objects []op.Object) bool {
	for _, b := range s.batch {
		e := &s.entries[b.entry]
		if e.slot != zombie {
			continue
		}
		slot := s.takeSlot()
		room := s.arena.slot(slot, s.objectBytes)
		payload := objects[b.object].Payload
		if len(payload) != len(room) {
			return s.fail(failure{kind: op.SizeError}) // the slot is lost, the key a zombie
		}
		copy(room, payload)
		e.slot = slot
	}
	return true
}
