// Package model is the store written again in Go: what a Python store is
// expected to do, for comparisons, searches of the state space and benches.
//
// One Store carries every variant; a variant is a few hooks in a file of its
// own, listed in variant.go. The store itself is spread over one idea a file:
// put.go and get.go the two calls, queue.go the order that decides evictions,
// table.go and text.go who is stored, arena.go the bytes, observe.go and step.go
// what a comparison sees, errors.go the errors and their Python texts.
// invariants.go and ledger.go judge any subject's observations, not only the
// model's.
//
// Every call costs in proportion to the keys it names and evicts, never to what
// is stored. The exceptions are a put that ends in a KeyError after releasing
// something (see restoreByStamp), growth, and the whole state of Observe.
//
// Nothing that runs, reads or writes another store may enter here, and no
// comparison: this package imports op alone.
package model
