// Package oracle runs Python stores in processes of their own and brings back
// what they show.
//
// A Spec says which store; a Launch turns it into a process with a handshake; an
// Oracle sends batches of whole sequences and collects runs, restarts a process
// that died or hung, and finds the op that did it. What a process sends is
// untrusted: every wire is decoded with bounds on size, depth and counts.
//
// Nothing here judges. Comparing is the work of package diff.
package oracle

import (
	"errors"
	"fmt"
	"time"
)

// Protocol is the version of docs/oracle-protocol.md that this package speaks.
const Protocol = 1

// MessageLimit bounds one message in bytes, either way.
const MessageLimit = 64 << 20

// DefaultOpTimeout is how long one op may take before it counts as a hang.
const DefaultOpTimeout = 5 * time.Second

// Fault is a failure of the set-up rather than of the store: no Python, a file
// that does not import, a broken handshake or message. The text is one line and
// says how to mend it where that is known.
type Fault struct {
	// Kind is one of python, import, class, constructor, config, protocol,
	// death, fetch.
	Kind string
	// Spec is the subject as the user named it.
	Spec string
	// What is the line itself.
	What string
	// Stderr is the end of what the process wrote to its standard error.
	Stderr string
}

// Error gives the fault in one line.
func (f *Fault) Error() string { return fmt.Sprintf("oracle %s: %s", f.Spec, f.What) }

// UsageError is a spec that cannot be understood.
type UsageError struct{ What string }

// Error gives the error in one line.
func (e *UsageError) Error() string { return e.What }

// errDead reports that the process ended or was ended while it was waited for.
var errDead = errors.New("the oracle's process ended")
