// Package op is the vocabulary of diffstore: what is done to a store (Op,
// Sequence) and what a store shows afterwards (Outcome, State, Observation).
//
// It holds plain data, its text form and nothing else. It imports no other
// package of this project, so that every room can speak the same words, and it
// knows neither how a store works nor where one runs.
package op

// Kind names one operation of the store's public interface.
type Kind uint8

// The kinds of operation. NumKinds sizes the arrays in which each room keeps
// its share of an operation; a room's completeness test ranges over Kinds.
const (
	Put Kind = iota
	Get
	Close
	NumKinds
)

// Info is one row of the table of operations.
type Info struct {
	Kind Kind
	// Name is the word for the operation in traces, text and on the wire.
	Name string
	// Method is the store's Python method that carries it out.
	Method string
	// Mutates tells whether the operation can change which keys are stored.
	Mutates bool
}

// Table lists every operation. It is the only place where a kind is declared;
// a room that lacks its share of a row fails its completeness test.
var Table = [NumKinds]Info{
	Put:   {Kind: Put, Name: "put", Method: "put", Mutates: true},
	Get:   {Kind: Get, Name: "get", Method: "get_concatenated"},
	Close: {Kind: Close, Name: "close", Method: "close"},
}

// String gives the operation's word.
func (k Kind) String() string {
	if k < NumKinds {
		return Table[k].Name
	}
	return "unknown"
}

// Object is one key with its payload, as a put brings it.
type Object struct {
	Key     string
	Payload []byte
}

// Op is one call on a store. Every op is defined in every state, so leaving ops
// out of a valid sequence leaves a valid sequence.
type Op struct {
	Kind Kind
	// Objects, Retain and Release are the arguments of a put, each in call
	// order and with duplicates; any of them may be empty.
	Objects []Object
	Retain  []string
	Release []string
	// Keys is the argument of a get, in call order and with duplicates.
	Keys []string
}

// EachKey calls visit for every key the op names, in call order, duplicates
// included: objects, retains, releases, then the keys of a get.
func (o *Op) EachKey(visit func(key string)) {
	for i := range o.Objects {
		visit(o.Objects[i].Key)
	}
	for _, list := range [...][]string{o.Retain, o.Release, o.Keys} {
		for _, key := range list {
			visit(key)
		}
	}
}

// Sequence is a whole life of one store: how it is built and what is done to it.
// A constructor that refuses its arguments is an outcome like any other.
type Sequence struct {
	// Slots is how many objects fit: max_bytes is Slots * ObjectBytes.
	Slots int
	// ObjectBytes is object_nbytes, the room of one slot in bytes.
	ObjectBytes int
	Ops         []Op
}

// Clone copies the sequence deeply, payloads included.
func (s Sequence) Clone() Sequence {
	out := s
	out.Ops = make([]Op, len(s.Ops))
	for i := range s.Ops {
		out.Ops[i] = s.Ops[i].Clone()
	}
	return out
}

// Clone copies the op deeply, payloads included.
func (o Op) Clone() Op {
	out := o
	out.Objects = nil
	for _, object := range o.Objects {
		out.Objects = append(out.Objects, Object{object.Key, append([]byte(nil), object.Payload...)})
	}
	out.Retain = append([]string(nil), o.Retain...)
	out.Release = append([]string(nil), o.Release...)
	out.Keys = append([]string(nil), o.Keys...)
	return out
}
