package traces

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/diffstore/diffstore/op"
)

// compressed tells whether a file of that name is gzip.
func compressed(path string) bool { return strings.HasSuffix(path, ".gz") }

// Read reads every trace of r, which is plain text. The name stands in errors
// and in Trace.Name. Every error is an *Error.
func Read(r io.Reader, name string) ([]Trace, error) { return collect(Stream(r, name), name) }

// ReadFile reads every trace of a file; one whose name ends in .gz is gzip.
// Every error is an *Error.
func ReadFile(path string) ([]Trace, error) { return collect(StreamFile(path), path) }

func collect(stream iter.Seq2[Trace, error], name string) ([]Trace, error) {
	var all []Trace
	for trace, err := range stream {
		if err != nil {
			return nil, err
		}
		if len(all) == MaxTraces {
			return nil, &Error{
				File: name, Line: trace.Line, What: fmt.Sprintf("more than %d traces in one file", MaxTraces), Mend: "split the file",
			}
		}
		all = append(all, trace)
	}
	return all, nil
}

// StreamFile is Stream for a file; one whose name ends in .gz is gzip. The file
// is opened when the iteration starts and closed when it ends.
func StreamFile(path string) iter.Seq2[Trace, error] {
	return func(yield func(Trace, error) bool) {
		file, err := os.Open(path)
		if err != nil {
			yield(Trace{}, systemError(path, "open", err))
			return
		}
		defer file.Close()
		var r io.Reader = file
		if compressed(path) {
			if r, err = gzip.NewReader(file); err != nil {
				yield(Trace{}, readError(path, 1, err))
				return
			}
		}
		Stream(r, path)(yield)
	}
}

// Stream reads one trace at a time, so that memory holds no more than one. It
// ends behind the first error, which is an *Error that comes with no trace; the
// trace that the error is in is not yielded.
func Stream(r io.Reader, name string) iter.Seq2[Trace, error] {
	return func(yield func(Trace, error) bool) {
		s := &scanner{name: name, r: bufio.NewReaderSize(r, 1<<16)}
		for {
			trace, err := s.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(Trace{}, err)
				return
			}
			if !yield(*trace, nil) {
				return
			}
		}
	}
}

// scanner cuts a file into lines and the lines into traces.
type scanner struct {
	name string
	r    *bufio.Reader
	// number is that of the last line read, and buf the room for it.
	number int
	buf    []byte
	// header is the trace whose header has been read and whose ops have not.
	header *Trace
}

// next gives the next trace, or io.EOF behind the last one.
func (s *scanner) next() (*Trace, error) {
	trace := s.header
	s.header = nil
	for {
		l, err := s.line()
		switch {
		case err == io.EOF && trace != nil:
			return trace, nil
		case err == io.EOF && s.number == 0:
			return nil, &Error{File: s.name, Line: 1, What: "the file holds no trace", Mend: "start it with a header line"}
		case err != nil:
			return nil, err
		case l.isHeader:
			started := &Trace{Header: l.header, Name: s.name, Line: s.number}
			if trace != nil {
				s.header = started
				return trace, nil
			}
			trace = started
		case trace == nil:
			return nil, &Error{File: s.name, Line: s.number, What: "an operation before any header", Mend: "start the file with a header line"}
		case len(trace.Ops) == MaxOps:
			return nil, &Error{File: s.name, Line: s.number, What: fmt.Sprintf("more than %d operations in one trace", MaxOps), Mend: "split the trace"}
		default:
			trace.add(l)
		}
	}
}

// add appends the op of a line, and its want where it or an earlier op has one.
func (t *Trace) add(l *line) {
	t.Ops = append(t.Ops, l.op)
	if l.want != nil && t.Wants == nil {
		t.Wants = make([]*op.Observation, len(t.Ops)-1)
	}
	switch {
	case l.want != nil:
		t.Wants = append(t.Wants, l.want.observation())
	case t.Wants != nil:
		t.Wants = append(t.Wants, nil)
	}
}

// line reads and parses the next line, or gives io.EOF behind the last one.
func (s *scanner) line() (*line, error) {
	s.buf = s.buf[:0]
	for {
		part, err := s.r.ReadSlice('\n')
		s.buf = append(s.buf, part...)
		if len(s.buf) > MaxLine+1 {
			return nil, &Error{File: s.name, Line: s.number + 1, What: fmt.Sprintf("the line is longer than %d bytes", MaxLine), Mend: "split the operation into several"}
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err == io.EOF && len(s.buf) == 0 {
			return nil, io.EOF
		}
		if err != nil && err != io.EOF {
			return nil, readError(s.name, s.number+1, err)
		}
		s.number++
		text := s.buf
		if err == nil {
			text = text[:len(text)-1]
		}
		l, parseErr := parseLine(s.name, s.number, text)
		if parseErr != nil && err == io.EOF && !json.Valid(text) {
			return nil, &Error{File: s.name, Line: s.number, What: "the last line is truncated", Mend: "delete it to keep what is before it"}
		}
		return l, parseErr
	}
}

// readError tells a cut or damaged gzip file from a failing disk.
func readError(name string, number int, err error) error {
	const mend = "copy or record the file again"
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &Error{File: name, Line: number, What: "the compressed file is truncated", Mend: mend, Err: err}
	case errors.Is(err, gzip.ErrHeader):
		return &Error{File: name, Line: number, What: "the file, or what is behind its end, is not gzip", Mend: "name plain text .jsonl, or " + mend, Err: err}
	case errors.Is(err, gzip.ErrChecksum), errors.As(err, new(flate.CorruptInputError)):
		return &Error{File: name, Line: number, What: "the compressed file is damaged", Mend: mend, Err: err}
	}
	e := systemError(name, "read", err)
	e.Line = number
	return e
}
