// Package prove tries every operation in every state that a store can get into
// within small bounds, and so ends with a statement about all of them, or with
// the shortest sequence that shows a difference.
//
// The Go model drives. Its states are searched breadth first; each is kept once,
// as an encoding in which keys and payloads are anonymous, with the op that led
// to it. In each state every op of the bounds is tried on the model and on the
// stores, and compared by the rules of package diff. What a store remembers
// beyond the model's state is part of a state, too: where it tells two ways to
// the same model state apart, both are followed.
//
// The pieces: bounds.go says what is tried, alphabet.go lists it, states.go keeps
// the states, flight.go brings them to the stores, judge.go compares and finds
// new states, search.go runs it all, save.go keeps a search over an interruption,
// verdict.go says what it comes to, and shortest.go is for callers who want the
// counterexample alone.
//
// How a store is run is package oracle's, what a difference is package diff's;
// nothing here prints.
package prove
