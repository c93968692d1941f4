package model

import "unsafe"

// A put of a large store spends most of its time waiting for memory: every key
// leads to a cell, the cell to an entry, the entry to the key's text, and each of
// them lies somewhere else. The loads of one key wait for each other, but those of
// different keys need not. So a put asks for what it is going to read one step
// ahead, for all keys at once, and does other work meanwhile. None of this is
// seen by anything but a clock.

// nearCells is the size up to which a table lies in a near cache anyway.
const nearCells = 1 << 12

// far tells whether the store is so large that its memory has to be waited for.
func (s *Store) far() bool { return len(s.table.cells) > nearCells }

// fetchArguments asks for the text of keys that a caller names: those it releases
// it may not have looked at for long.
func (s *Store) fetchArguments(keys []string) {
	for _, key := range keys {
		fetchLines(unsafe.Pointer(unsafe.StringData(key)), len(key))
	}
}

// fetchLines asks for the first two lines of a text, which most keys fit in.
func fetchLines(at unsafe.Pointer, n int) {
	if n > 0 {
		prefetch(at)
	}
	if n > line {
		prefetch(unsafe.Add(at, line))
	}
}

// line is the size of a cache line in bytes.
const line = 64

// fetchHead asks for the cells of as many keys at the head of the queue as may be
// evicted.
func (s *Store) fetchHead(brought int) {
	index := s.entries[root].next
	for range s.stored + brought - s.slots {
		prefetch(s.table.home(s.entries[index].tag))
		if index = s.entries[index].next; index == root {
			break
		}
	}
}

// fetchCells asks for the cells of tags.
func (s *Store) fetchCells(tags []uint32) {
	for _, tag := range tags {
		prefetch(s.table.home(tag))
	}
}

// fetchEntries asks for the entries that cells of tags name; fetchTexts for the
// text of those entries.
func (s *Store) fetchEntries(tags []uint32) {
	s.found = s.found[:0]
	for _, tag := range tags {
		index := s.table.first(tag)
		s.found = append(s.found, index)
		prefetch(unsafe.Pointer(&s.entries[index]))
	}
}

// fetchTexts asks for the text of the entries that fetchEntries asked for.
func (s *Store) fetchTexts() {
	for _, index := range s.found {
		s.fetchText(index)
	}
}

// fetchText asks for the text of an entry's key.
func (s *Store) fetchText(index int32) {
	if s.texts.arena != nil {
		e := &s.entries[index]
		fetchLines(s.texts.arena.at(e.text), int(e.textLen))
	}
}

// fetchVictim asks for an entry that stands further in the queue than this one and
// so will be evicted soon, and for this one's text, whose room a new key will take.
func (s *Store) fetchVictim(index int32) {
	prefetch(unsafe.Pointer(&s.entries[s.entries[index].ahead]))
	s.fetchText(index)
}

// aheadBy is how many places of the queue entry.ahead looks ahead.
const aheadBy = 8

// noteTail remembers that the entry joined the queue's tail, so that the one which
// did aheadBy places before it can name it.
func (s *Store) noteTail(index int32) {
	place := &s.lately[s.joined%aheadBy]
	s.joined++
	s.entries[*place].ahead = index
	*place = index
}
