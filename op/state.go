package op

// Unallocated is the slot of a zombie: a stored key that has no slot.
const Unallocated = -1

// Allocated is the slot of a key that has one which the subject cannot name.
const Allocated = -2

// Entry is one stored key with its slot.
type Entry struct {
	Key string
	// Slot is the index of the key's slot, Unallocated for a zombie, or
	// Allocated where slots are not observed.
	Slot int
}

// Ref is one reference count; counts are above zero in a sound store.
type Ref struct {
	Key   string
	Count int
}

// Sees says which parts of a state a subject can observe. A comparison covers
// what both sides see.
type Sees uint8

// The parts of a state beside the stored keys, which every subject sees.
const (
	SeesQueue   Sees = 1 << iota // State.Queue
	SeesRefs                     // State.Refs
	SeesZombies                  // Entry.Slot tells Unallocated from the rest
	SeesSlots                    // Entry.Slot, State.Free and State.Next
	SeesPart                     // only keys the op touched: see State.Total
	SeesHashes                   // Observation.Hashes
	// SeesAll is what a white-box adapter observes.
	SeesAll = SeesQueue | SeesRefs | SeesZombies | SeesSlots
)

// State is what is stored after an op.
type State struct {
	// Sees says which of the fields below were observed.
	Sees Sees
	// Entries holds every stored key once, in any order.
	Entries []Entry
	// Queue is the unreferenced stored keys in eviction order, next victim first.
	Queue []string
	// Refs holds every key with references once, in any order.
	Refs []Ref
	// Free is the stack of free slots, top last; Next the next unused slot.
	Free []int
	Next int
	// Total and TotalRefs count all stored and all referenced keys. They equal
	// the lengths of Entries and Refs unless Sees has SeesPart: then Entries
	// and Refs speak only of the keys that the observation asked for.
	Total, TotalRefs int
}

// Observation is everything a subject shows after one op.
type Observation struct {
	Outcome Outcome
	// Victims are the keys evicted by this op in eviction order, including
	// keys that the same put brought.
	Victims []string
	State   State
	// Hashes counts how often the op hashed keys that it does not name; Watched
	// counts those of them that the request asked to be counted apart.
	Hashes, Watched int
}

// Identity says exactly which subject ran, for reports and headers.
type Identity struct {
	// Name is how the user named it: a spec, a variant or a file.
	Name string `json:"name"`
	// Version, Commit, SHA256 and Path say where the code is from; empty where unknown.
	Version string `json:"version,omitempty"`
	Commit  string `json:"commit,omitempty"`
	SHA256  string `json:"sha256,omitempty"`
	Path    string `json:"path,omitempty"`
	// Class is the store's class; Adapter how it is observed.
	Class   string `json:"class,omitempty"`
	Adapter string `json:"adapter,omitempty"`
	// Python is the interpreter's version, empty for Go subjects.
	Python string `json:"python,omitempty"`
	// Wire is the encoding of the messages, empty for subjects in this process.
	Wire string `json:"wire,omitempty"`
}

// Run is what a subject showed for one sequence.
type Run struct {
	// Refused is what the constructor raised; then there are no steps.
	Refused *Error
	// Steps holds one observation an op. It ends early only behind an outcome
	// that is Terminal.
	Steps []Observation
}

// Clone copies the observation deeply.
func (o *Observation) Clone() Observation {
	out := *o
	if o.Outcome.Payload != nil {
		out.Outcome.Payload = append([]byte{}, o.Outcome.Payload...)
	}
	if o.Outcome.Err != nil {
		err := *o.Outcome.Err
		out.Outcome.Err = &err
	}
	out.Victims = append([]string(nil), o.Victims...)
	out.State.Entries = append([]Entry(nil), o.State.Entries...)
	out.State.Queue = append([]string(nil), o.State.Queue...)
	out.State.Refs = append([]Ref(nil), o.State.Refs...)
	out.State.Free = append([]int(nil), o.State.Free...)
	return out
}
