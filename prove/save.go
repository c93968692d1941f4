package prove

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// FileVersion is the version of the file that keeps a search.
const FileVersion = 1

// FileError is a file that keeps no search that can go on here.
type FileError struct {
	// File is the file as the caller named it, What is wrong with it.
	File, What string
}

// Error gives the error in one line.
func (e *FileError) Error() string { return fmt.Sprintf("%s: %s", e.File, e.What) }

// heading starts a file: what it is, its version, and the SHA-256 of the rest.
const heading = "diffstore prove state %d %x\n"

// kept is what a file holds.
type kept struct {
	// Identity says of what search it is.
	Identity    []string
	Encodings   []byte
	Ends        []uint64
	Parent, Via []uint32
	// Result counts what was done so far.
	Result Result
}

// identify says everything that a search must share with one it goes on from.
func (r *run) identify() []string {
	parts := []string{
		r.Bounds.String(), fmt.Sprintf("objects of %s", several(r.Bounds.ObjectBytes, "byte")), "model " + r.Model,
		fmt.Sprintf("options %+v", r.Options), fmt.Sprintf("unreduced %t", r.Unreduced),
	}
	for _, id := range r.result.Identities {
		parts = append(parts, fmt.Sprintf("%s %s %s %s %s", id.Name, id.SHA256, id.Class, id.Adapter, id.Python))
	}
	return parts
}

// otherSearch says in what a kept search is another one.
func otherSearch(kept, wanted []string) string {
	for i := range min(len(kept), len(wanted)) {
		if kept[i] != wanted[i] {
			return fmt.Sprintf("it keeps another search, of %s and not %s; name another file", kept[i], wanted[i])
		}
	}
	return "it keeps another search, of other stores; name another file"
}

// resume takes up what the file holds; no file is a new search.
func (r *run) resume() error {
	if r.File == "" {
		return nil
	}
	data, err := os.ReadFile(r.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &FileError{r.File, fmt.Sprintf("the saved search cannot be read: %v", err)}
	}
	k, what := parseKept(data)
	if what == "" && !slices.Equal(k.Identity, r.identity) {
		what = otherSearch(k.Identity, r.identity)
	}
	if what != "" {
		return &FileError{r.File, what}
	}
	r.states = states{encodings: k.Encodings, ends: k.Ends, parent: k.Parent, via: k.Via}
	cells := 1024
	for 2*cells < 3*(len(k.Ends)+1) {
		cells *= 2
	}
	r.states.index(cells)
	for i := range k.Ends {
		if token, rest := split(r.states.encoding(i)); len(token) > 0 {
			r.twins[string(rest)] = struct{}{}
		}
	}
	old, now := &k.Result, &r.result
	now.Progress, now.StandFor, now.Depth, now.Beyond = old.Progress, old.StandFor, old.Depth, old.Beyond
	now.Remembered, now.Plain, now.Work, now.Incidents = old.Remembered, old.Plain, old.Work, old.Incidents
	r.before = old.Took
	if r.Resumed != nil {
		r.Resumed(now.States, now.Expanded)
	}
	return nil
}

// parseKept reads a file's content, or says what is wrong with it.
func parseKept(data []byte) (k kept, what string) {
	const mend = "; remove it to start anew"
	line, body, _ := bytes.Cut(data, []byte("\n"))
	var version int
	var sum []byte
	if n, _ := fmt.Sscanf(string(line)+"\n", heading, &version, &sum); n < 1 {
		return k, "it keeps no search" + mend
	}
	if version != FileVersion {
		return k, fmt.Sprintf("it is of version %d, this diffstore writes version %d%s", version, FileVersion, mend)
	}
	if is := sha256.Sum256(body); !bytes.Equal(is[:], sum) {
		return k, "it is damaged: its checksum does not fit" + mend
	}
	if err := gob.NewDecoder(bytes.NewReader(body)).Decode(&k); err != nil {
		return k, fmt.Sprintf("it is damaged: %v%s", err, mend)
	}
	return k, ""
}

// save writes the file, whole or not at all.
func (r *run) save() error {
	var body bytes.Buffer
	s := &r.states
	err := gob.NewEncoder(&body).Encode(&kept{r.identity, s.encodings, s.ends, s.parent, s.via, r.result})
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body.Bytes())
	if err := replaceFile(r.File, fmt.Appendf(nil, heading, FileVersion, sum[:]), body.Bytes()); err != nil {
		return &FileError{r.File, fmt.Sprintf("the search cannot be saved: %v", err)}
	}
	r.saved = time.Now()
	return nil
}

func replaceFile(path string, parts ...[]byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err == nil {
			_, err = file.Write(part)
		}
	}
	if err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		os.Remove(file.Name())
	}
	return err
}

// keep saves a search that ended before it was done, and removes the file of one
// that was.
func (r *run) keep(failure error) error {
	if r.File == "" || r.states.len() == 0 {
		return nil
	}
	if r.result.Complete || r.result.Finding != nil {
		if err := os.Remove(r.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if failure != nil {
		return nil // what was counted may lie between two states; the last save does not
	}
	return r.save()
}
