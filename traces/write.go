package traces

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/diffstore/diffstore/op"
)

// Write writes the traces, one behind the other, as plain text. Equal traces
// give equal bytes. A trace that could not be read back equal is refused with
// an *Error; what was written before it stays written.
func Write(w io.Writer, traces ...Trace) error { return writeAll(w, "trace", traces) }

func writeAll(to io.Writer, name string, traces []Trace) error {
	if len(traces) == 0 {
		return &Error{File: name, What: "there is no trace to write", Mend: "write at least one"}
	}
	w := NewWriter(to, name)
	for i := range traces {
		t := &traces[i]
		if len(t.Wants) != 0 && len(t.Wants) != len(t.Ops) {
			return w.refuse("give one want for each operation, or none at all", "the trace has %d operations and %d wants", len(t.Ops), len(t.Wants))
		}
		if err := w.Begin(t.Header); err != nil {
			return err
		}
		for j := range t.Ops {
			var want *op.Observation
			if len(t.Wants) != 0 {
				want = t.Wants[j]
			}
			if err := w.Op(&t.Ops[j], want); err != nil {
				return err
			}
		}
	}
	return nil
}

// WriteFile writes the traces to a file, through gzip when its name ends in
// .gz. The file is there whole or, on an error, as it was before: a temporary
// file beside it is written, brought to the disk and renamed.
func WriteFile(path string, traces ...Trace) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		return systemError(path, "create", err)
	}
	err = fill(temporary, path, traces)
	if closeErr := temporary.Close(); err == nil && closeErr != nil {
		err = systemError(path, "write", closeErr)
	}
	if err == nil {
		if renameErr := os.Rename(temporary.Name(), path); renameErr != nil {
			err = systemError(path, "rename the temporary file to", renameErr)
		}
	}
	if err != nil {
		os.Remove(temporary.Name())
	}
	return err
}

// fill writes the traces into the temporary file and brings it to the disk.
func fill(file *os.File, path string, traces []Trace) error {
	buffered := bufio.NewWriter(file)
	var w io.Writer = buffered
	finish := func() error { return nil }
	if compressed(path) {
		zip := gzip.NewWriter(buffered)
		w, finish = zip, zip.Close
	}
	if err := writeAll(w, path, traces); err != nil {
		return err
	}
	// A temporary file is its owner's alone, a trace file is for everyone.
	for _, step := range []func() error{finish, buffered.Flush, func() error { return file.Chmod(0o644) }, file.Sync} {
		if err := step(); err != nil {
			return systemError(path, "write", err)
		}
	}
	return nil
}

// Writer writes a trace line by line, each with one call on the writer below,
// so that a file that is not buffered holds every op before it is run.
type Writer struct {
	w    io.Writer
	name string
	buf  []byte
	// lines counts what was written; ops is that of this trace, -1 before any.
	lines, ops int
}

// NewWriter makes a Writer on w. The name stands in errors.
func NewWriter(w io.Writer, name string) *Writer { return &Writer{w: w, name: name, ops: -1} }

// refuse makes the error for the line that would be written next.
func (w *Writer) refuse(mend, format string, args ...any) error {
	return &Error{File: w.name, Line: w.lines + 1, What: "cannot write: " + fmt.Sprintf(format, args...), Mend: mend}
}

// Begin writes a header and so starts a trace.
func (w *Writer) Begin(h Header) error {
	if err := w.checkError(h.WantConstruct); err != nil {
		return err
	}
	w.buf = appendFields(w.buf[:0], headerFields, &h)
	if err := w.flush(); err != nil {
		return err
	}
	w.ops = 0
	return nil
}

// Op writes one op of the trace begun last; want is nil where there is none.
// Hash counts, and zombies of a subject that cannot name slots, are not written.
func (w *Writer) Op(o *op.Op, want *op.Observation) error {
	switch {
	case w.ops < 0:
		return w.refuse("begin a trace first", "an operation before any header")
	case w.ops == MaxOps:
		return w.refuse("split the trace", "more than %d operations in one trace", MaxOps)
	case o.Kind >= op.NumKinds:
		return w.refuse("use a kind of the table of operations", "an operation of unknown kind %d", o.Kind)
	case foreignField(o) != "":
		return w.refuse("leave it empty", "a %s that has %s", o.Kind, foreignField(o))
	}
	w.buf = appendOp(w.buf[:0], o)
	if want != nil {
		if err := w.checkWant(want); err != nil {
			return err
		}
		w.buf = append(w.buf, `,"want":`...)
		w.buf = appendFields(w.buf, wantFields, wantOf(want))
	}
	w.buf = append(w.buf, '}')
	if err := w.flush(); err != nil {
		return err
	}
	w.ops++
	return nil
}

// checkWant refuses an observation that the format has no room for.
func (w *Writer) checkWant(want *op.Observation) error {
	const needed = op.SeesQueue | op.SeesRefs
	if want.State.Sees&needed != needed || want.State.Sees&op.SeesPart != 0 {
		return w.refuse("observe the whole state, or leave the want out", "the want lacks the queue, the reference counts or untouched keys")
	}
	return w.checkError(want.Outcome.Err)
}

// checkError refuses an error that its text does not carry whole.
func (w *Writer) checkError(e *op.Error) error {
	if e != nil && *e != *op.NewError(e.Kind, e.Type, e.Message, e.Key) {
		return w.refuse("make it with op.NewError from the store's own message", "the %s error counts what its message does not state", e.Kind)
	}
	if e != nil && e.Key != "" && e.Kind != op.KeyError {
		return w.refuse("leave it empty", "the %s error has a key", e.Kind)
	}
	return nil
}

// flush ends the line and writes it, once the reader has taken it: the reader's
// rules are the writer's, and there is one set of them.
func (w *Writer) flush() error {
	if len(w.buf) > MaxLine {
		return w.refuse("split the operation into several", "the line is longer than %d bytes", MaxLine)
	}
	if _, err := parseLine(w.name, w.lines+1, w.buf); err != nil {
		e := *err.(*Error)
		e.What = "cannot write: " + e.What
		return &e
	}
	if _, err := w.w.Write(append(w.buf, '\n')); err != nil {
		e := systemError(w.name, "write", err)
		e.Line = w.lines + 1
		return e
	}
	w.lines++
	return nil
}
