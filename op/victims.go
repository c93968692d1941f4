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
		return appendGone(dst, before, &lookup{entries: after.Entries}, o.Objects, nil)
	default:
		if len(after.Entries) >= len(before.Entries) {
			return dst
		}
		return appendGone(dst, before, &lookup{entries: after.Entries}, nil, nil)
	}
	if len(after.Entries) >= len(before.Entries)+len(batch) {
		return dst
	}
	stored := &lookup{entries: after.Entries}
	dst = appendGone(dst, before, stored, batch, o.Release)
	// Touched keys that are gone, each at its last place.
	for i := range o.Objects {
		key := o.Objects[i].Key
		if stored.has(key) || containsObject(batch[:i], key) || containsKey(o.Release, key) {
			continue
		}
		dst = append(dst, key)
	}
	for i, key := range o.Release {
		if stored.has(key) || containsKey(o.Release[i+1:], key) {
			continue
		}
		if before.Has(key) || containsObject(batch, key) {
			dst = append(dst, key)
		}
	}
	return dst
}

// appendGone appends the keys of before that are not stored and that neither list
// names: those of the queue in its order, then the rest.
func appendGone(dst []string, before *State, stored *lookup, batch []Object, release []string) []string {
	isGone := func(key string) bool {
		return !stored.has(key) && !containsObject(batch, key) && !containsKey(release, key)
	}
	gone := 0
	for i := range before.Entries {
		if isGone(before.Entries[i].Key) {
			gone++
		}
	}
	if gone == 0 {
		return dst // as behind most calls
	}
	start := len(dst)
	for i := 0; len(dst)-start < gone && i < len(before.Queue); i++ {
		if key := before.Queue[i]; isGone(key) && !containsKey(dst[start:], key) {
			dst = append(dst, key)
		}
	}
	for i := 0; len(dst)-start < gone && i < len(before.Entries); i++ {
		if key := before.Entries[i].Key; isGone(key) && !containsKey(dst[start:], key) {
			dst = append(dst, key)
		}
	}
	return dst
}

// manyEntries is the number of entries from which an index beats looking through.
const manyEntries = 32

// lookup tells which keys are stored. Keys are mostly asked for in the order in
// which they stand, but for some, so at is where the next one should be.
type lookup struct {
	entries []Entry
	at      int
	index   map[string]struct{} // of many entries, once one is looked for
}

func (l *lookup) has(key string) bool {
	if len(l.entries) > manyEntries {
		if l.index == nil {
			l.index = make(map[string]struct{}, len(l.entries))
			for i := range l.entries {
				l.index[l.entries[i].Key] = struct{}{}
			}
		}
		_, ok := l.index[key]
		return ok
	}
	if l.at < len(l.entries) && l.entries[l.at].Key == key {
		l.at++
		return true
	}
	for i := range l.entries {
		if l.entries[i].Key == key {
			return true
		}
	}
	return false
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
