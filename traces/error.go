package traces

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"
)

// Error is every error of this package: what is wrong where, and how to mend it.
type Error struct {
	// File is the file as the caller named it.
	File string
	// Line counts from 1; it is 0 when the file as a whole is meant.
	Line int
	// What is wrong and how to Mend it, each a phrase without a full stop.
	What string
	Mend string
	// Err is the cause where the system gave one, else nil.
	Err error
}

// Error gives one line: "file:line: what; how to mend".
func (e *Error) Error() string {
	file := e.File
	if strings.ContainsFunc(file, func(r rune) bool { return !unicode.IsPrint(r) }) {
		file = strconv.QuoteToASCII(file)
	}
	if e.Line > 0 {
		file += ":" + strconv.Itoa(e.Line)
	}
	return fmt.Sprintf("%s: %s; %s", file, e.What, e.Mend)
}

// Unwrap gives the system's cause, so that errors.Is finds fs.ErrNotExist.
func (e *Error) Unwrap() error { return e.Err }

// systemError dresses an error of the operating system. The path it names is
// left out: the error's own File says it.
func systemError(file, doing string, err error) *Error {
	reason := err
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		reason = path.Err
	}
	return &Error{
		File: file,
		What: fmt.Sprintf("cannot %s: %s", doing, strings.ReplaceAll(reason.Error(), "\n", " ")),
		Mend: "check the path, its permissions and the disk",
		Err:  err,
	}
}
