package op

// Victims derives the evicted keys of an op from what was stored before and
// after it, for a subject that does not report them: before is the state before
// the op, after the one behind it.
//
// A key is a victim when it was stored before, or was brought by a put that got
// as far as inserting its batch, and is not stored now. Batch keys of a put that
// ended in a capacity error are not victims: they were rolled back.
//
// The order is the store's own: first the keys the call did not touch, in the
// order of the queue before it; then, since touched keys move to the tail, the
// touched ones, by their last place in the batch or the releases.
func Victims(o *Op, outcome *Outcome, before, after *State, dst []string) []string {
	var batch []Object
	switch outcome.Kind() {
	case NoError, SizeError, OtherError:
		batch = o.Objects
	case CapacityError:
		if len(after.Entries) >= len(before.Entries) {
			return dst
		}
		return appendGone(dst, before, after, o.Objects, nil)
	default:
		if len(after.Entries) >= len(before.Entries) {
			return dst
		}
		return appendGone(dst, before, after, nil, nil)
	}
	if len(after.Entries) >= len(before.Entries)+len(batch) {
		return dst
	}
	dst = appendGone(dst, before, after, batch, o.Release)
	// Touched keys that are gone, each at its last place.
	stored, had := after.lookup(), before.lookup()
	for i := range o.Objects {
		key := o.Objects[i].Key
		if stored(key) || containsObject(batch[:i], key) || containsKey(o.Release, key) {
			continue
		}
		dst = append(dst, key)
	}
	for i, key := range o.Release {
		if stored(key) || containsKey(o.Release[i+1:], key) {
			continue
		}
		if had(key) || containsObject(batch, key) {
			dst = append(dst, key)
		}
	}
	return dst
}

// appendGone appends the keys of before that after lacks and that neither list
// names: those of the queue in its order, then the rest.
func appendGone(dst []string, before, after *State, batch []Object, release []string) []string {
	stored := after.lookup()
	start := len(dst)
	add := func(key string) {
		if !stored(key) && !containsObject(batch, key) && !containsKey(release, key) && !containsKey(dst[start:], key) {
			dst = append(dst, key)
		}
	}
	for _, key := range before.Queue {
		add(key)
	}
	for i := range before.Entries {
		add(before.Entries[i].Key)
	}
	return dst
}

// manyEntries is the number of entries from which an index beats looking through.
const manyEntries = 32

// lookup gives a test for what is stored.
func (s *State) lookup() func(key string) bool {
	if len(s.Entries) <= manyEntries {
		return s.Has
	}
	index := make(map[string]struct{}, len(s.Entries))
	for i := range s.Entries {
		index[s.Entries[i].Key] = struct{}{}
	}
	return func(key string) bool {
		_, ok := index[key]
		return ok
	}
}

// Has tells whether the key is stored, by looking through the entries.
func (s *State) Has(key string) bool {
	for i := range s.Entries {
		if s.Entries[i].Key == key {
			return true
		}
	}
	return false
}

func containsObject(objects []Object, key string) bool {
	for i := range objects {
		if objects[i].Key == key {
			return true
		}
	}
	return false
}

func containsKey(keys []string, key string) bool {
	for _, k := range keys {
		if k == key {
			return true
		}
	}
	return false
}
