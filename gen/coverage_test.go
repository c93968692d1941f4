package gen

import (
	"testing"
	"unicode/utf8"

	"github.com/diffstore/diffstore/op"
)

func TestEveryKindOfOpHasItsShare(t *testing.T) {
	var s Stats
	for i := range 2000 {
		sequence := drawn(9, i, Config{})
		_, steps := runNaive(&sequence)
		s.Add(&sequence, steps)
	}
	for kind := range op.NumKinds {
		if draws[kind] == nil {
			t.Errorf("%s: no generator", kind)
		}
		if counters[kind] == nil {
			t.Errorf("%s: not counted", kind)
		}
		if s.Ops[kind] == 0 {
			t.Errorf("%s: never drawn by the default profile", kind)
		}
	}
	if ErrorKinds != len(op.ErrorKindNames())+1 {
		t.Errorf("ErrorKinds is %d: expected one more than the %d names", ErrorKinds, len(op.ErrorKindNames()))
	}
}

// TestMixedCoversWhatItPromises counts what 5,000 cases of the default profile
// contain and lead to.
func TestMixedCoversWhatItPromises(t *testing.T) {
	var stats Stats
	count := map[string]int{}
	for i := range 5000 {
		s := drawn(17, i, Config{})
		store, steps := runNaive(&s)
		stats.Add(&s, steps)
		structure(&s, steps, count)
		count["zombies rolled back"] += store.rolledBack
		count["empty payloads behind the last slot"] += store.outside
	}
	for what, least := range map[string]int{
		"zombies rolled back":                  20,
		"empty payloads behind the last slot":  20,
		"sequences with odd keys":              100,
		"sequences with a case pair":           5,
		"sequences with a normal form pair":    5,
		"sequences with an empty key":          5,
		"ops after close":                      200,
		"second closes":                        5,
		"zero slots":                           5,
		"zero object bytes":                    5,
		"negative object bytes":                5,
		"batches larger than the store":        300,
		"empty puts":                           100,
		"empty gets":                           100,
		"keys retained three times in a call":  100,
		"counts above 255":                     5,
		"duplicate objects":                    500,
		"duplicate objects with other bytes":   50,
		"duplicate retains":                    500,
		"duplicate releases":                   500,
		"duplicate keys of a get":              500,
		"failed puts repeated":                 100,
		"stored keys put with other bytes":     300,
		"stored keys put with a wrong size":    50,
		"keys put again after two evictions":   200,
		"zombies put with the right size":      50,
		"all slots referenced, then a new key": 100,
		"same-call retain and release":         500,
		"releases of a batch key":              500,
		"absent keys retained":                 500,
		"drained sequences":                    500,
	} {
		if count[what] < least {
			t.Errorf("%s: %d, expected at least %d", what, count[what], least)
		}
	}
	for _, short := range stats.Floors(Config{}, false) {
		t.Error(short)
	}
}

// structure counts what one sequence contains, by what a store showed for it.
func structure(s *op.Sequence, steps []op.Observation, count map[string]int) {
	add := func(what string, yes bool) {
		if yes {
			count[what]++
		}
	}
	add("zero slots", s.Slots == 0)
	add("zero object bytes", s.ObjectBytes == 0)
	add("negative object bytes", s.ObjectBytes < 0)
	keys := map[string]bool{}
	for i := range s.Ops {
		s.Ops[i].EachKey(func(key string) { keys[key] = true })
	}
	add("sequences with a case pair", keys["k1"] && keys["K1"])
	add("sequences with a normal form pair", keys["\u00e9"] && keys["e\u0301"])
	add("sequences with an empty key", keys[""])
	for key := range keys {
		if len(key) != utf8.RuneCountInString(key) {
			count["sequences with odd keys"]++
			break
		}
	}
	unknown, left := balance(s)
	add("drained sequences", unknown == 0 && len(left) == 0 && len(s.Ops) > 10)

	evictions := map[string]int{}
	first := map[string]string{}
	closed := false
	before := &op.State{}
	for i := range steps {
		o, step := &s.Ops[i], &steps[i]
		add("ops after close", closed)
		add("second closes", closed && o.Kind == op.Close)
		closed = closed || o.Kind == op.Close
		add("empty puts", o.Kind == op.Put && len(o.Objects)+len(o.Retain)+len(o.Release) == 0)
		add("empty gets", o.Kind == op.Get && len(o.Keys) == 0)
		add("duplicate keys of a get", twice(o.Keys, 2))
		if o.Kind == op.Put {
			put(s, o, before, first, evictions, add)
			add("failed puts repeated", i > 0 && steps[i-1].Outcome.Err != nil && o.String() == s.Ops[i-1].String() &&
				len(o.Objects)+len(o.Retain)+len(o.Release) > 0)
		}
		for _, ref := range step.State.Refs {
			add("counts above 255", ref.Count > 255)
		}
		for _, key := range step.Victims {
			evictions[key]++
			delete(first, key)
		}
		before = &step.State
	}
}

// put counts what one put contains: first is the payload that each key was first
// put with since it was last evicted.
func put(
	s *op.Sequence, o *op.Op, before *op.State, first map[string]string, evictions map[string]int, add func(string, bool),
) {
	objects := map[string]string{}
	for _, object := range o.Objects {
		key, payload := object.Key, string(object.Payload)
		was, again := objects[key]
		add("duplicate objects", again)
		add("duplicate objects with other bytes", again && was != payload)
		objects[key] = payload
		add("keys put again after two evictions", evictions[key] >= 2 && !before.Has(key))
		slot := slotOf(before, key)
		was, stored := first[key]
		add("stored keys put with other bytes", slot >= 0 && stored && len(payload) == s.ObjectBytes && was != payload)
		add("stored keys put with a wrong size", slot >= 0 && len(payload) != s.ObjectBytes)
		add("zombies put with the right size", slot == op.Unallocated && before.Has(key) && len(payload) == s.ObjectBytes)
		add("all slots referenced, then a new key", before.Total == s.Slots && len(before.Queue) == 0 && !before.Has(key))
		if !stored {
			first[key] = payload
		}
	}
	add("batches larger than the store", len(objects) > s.Slots)
	add("duplicate retains", twice(o.Retain, 2))
	add("keys retained three times in a call", twice(o.Retain, 3))
	add("duplicate releases", twice(o.Release, 2))
	retained := map[string]bool{}
	for _, key := range o.Retain {
		_, batch := objects[key]
		add("absent keys retained", !batch && !before.Has(key))
		retained[key] = true
	}
	for _, key := range o.Release {
		_, batch := objects[key]
		add("same-call retain and release", retained[key])
		add("releases of a batch key", batch)
	}
}

func slotOf(state *op.State, key string) int {
	for _, entry := range state.Entries {
		if entry.Key == key {
			return entry.Slot
		}
	}
	return op.Unallocated
}

// twice tells whether a key stands n times in a list.
func twice(keys []string, n int) bool {
	seen := map[string]int{}
	for _, key := range keys {
		if seen[key]++; seen[key] >= n {
			return true
		}
	}
	return false
}

func TestNoProfileFallsShortByChance(t *testing.T) {
	for _, info := range Profiles() {
		c := Config{Profile: info.Name}
		for base := range uint64(3) {
			var s Stats
			for i := range 1000 {
				sequence := drawn(base, i, c)
				_, steps := runNaive(&sequence)
				s.Add(&sequence, steps)
				if i+1 == fewSequences || i+1 == 1000 {
					for _, short := range s.Floors(c, false) {
						t.Errorf("%s, seed %d, %d sequences: %s", info.Name, base, i+1, short)
					}
				}
			}
		}
	}
}
