// Package traces reads and writes saved sequences: trace files, the corpus of
// them, and the list of known divergences.
//
// A trace is plain text that outlives the generator that made it, so the reader
// is strict: what it does not understand it refuses, with the file, the line and
// the mend. What the writer writes, the reader reads back, and equal traces give
// equal bytes. The format is described in docs/trace-format.md.
//
// Nothing here runs a store or judges one. A want that no sound store could show
// is still a want: soundness is for the comparison to say. The room imports the
// vocabulary and nothing else of this project.
package traces

import "github.com/diffstore/diffstore/op"

// Version is the version of the trace format that is read and written.
const Version = 1

// The bounds of a trace file. Larger files are refused, not cut.
const (
	// MaxLine is the longest line in bytes, without its newline.
	MaxLine = 16 << 20
	// MaxList is the largest number of entries in one list or JSON object.
	MaxList = 1 << 20
	// MaxOps is the largest number of operations in one trace.
	MaxOps = 1 << 20
	// MaxTraces is the largest number of traces that Read and ReadFile hold at
	// once; the streaming forms have no such bound.
	MaxTraces = 1 << 18
	// maxNumber bounds every number in both directions.
	maxNumber = 1 << 40
)

// Header says what a trace is of: the line that starts it.
type Header struct {
	// Version is the format's version: Read sets it, and Write takes 0 for the
	// current one.
	Version int
	// Slots is how many objects fit and ObjectBytes the room of one in bytes.
	// Both may be zero or negative: a constructor that refuses is an outcome.
	Slots       int
	ObjectBytes int
	// Model is the variant of the model that the trace speaks of.
	Model string
	// Note is one line for the reader.
	Note string
	// Seed and Case are provenance: the base seed and the index of the case in
	// its campaign. Case is nil where there was none.
	Seed string
	Case *int
	// Recorded says which store the wants were recorded from.
	Recorded *Recorded
	// Fingerprint, Left and Right belong to a reduced counterexample: the
	// divergence's fingerprint and the names of the two subjects.
	Fingerprint string
	Left, Right string
	// WantConstruct is what the recorded constructor raised; nil where it
	// raised nothing or nothing was recorded.
	WantConstruct *op.Error
}

// Recorded identifies the store that the wants of a trace were recorded from.
// Empty fields are unknown.
type Recorded struct {
	Project string
	Commit  string
	Version string
	// Class is the store's class and SHA256 the digest of its file in hex.
	Class  string
	SHA256 string
	Python string
}

// Trace is one saved sequence, with what a recorded store did where that is known.
type Trace struct {
	Header
	Ops []op.Op
	// Wants is nil when no op has a want, else it has one entry for each op,
	// nil for an op without.
	Wants []*op.Observation
	// Name and Line say where the trace was read: the file as it was named and
	// the header's line, counted from 1. Writing ignores both.
	Name string
	Line int
}

// Sequence gives what is to be run. It shares the trace's ops.
func (t *Trace) Sequence() op.Sequence {
	return op.Sequence{Slots: t.Slots, ObjectBytes: t.ObjectBytes, Ops: t.Ops}
}
