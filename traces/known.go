package traces

import (
	"os"
	"path/filepath"
	"strconv"
)

// KnownVersion is the version of the file of known divergences.
const KnownVersion = 1

// maxKnown is the largest file of known divergences in bytes.
const maxKnown = MaxLine

// Known is a divergence that is understood and accepted: a run that meets it
// says so and goes on. It always comes with a trace that shows it, so that an
// entry which no longer holds can be found out.
type Known struct {
	// Fingerprint is the divergence's, and Store the name of the store it is of.
	Fingerprint string
	Store       string
	// Why it is accepted, in one sentence.
	Why string
	// Link is where it is discussed; empty where it is not.
	Link string
	// Trace is the path of the reproducer. The file gives it relative to
	// itself; ReadKnown gives it joined to the file's folder.
	Trace string
}

// KnownList is the entries of a file of known divergences.
type KnownList []Known

// Match finds the entry for a divergence of that fingerprint on that store.
// Both must be equal: a known divergence of one store is news on another.
func (list KnownList) Match(fingerprint, store string) (Known, bool) {
	for _, known := range list {
		if known.Fingerprint == fingerprint && known.Store == store {
			return known, true
		}
	}
	return Known{}, false
}

// knownFile is the shape of the file.
type knownFile struct {
	entries KnownList
}

var knownFileFields = []field[knownFile]{
	{
		name: "diffstore_known",
		read: func(p *parser, _ *knownFile) error {
			_, err := p.version(KnownVersion)
			return err
		},
	},
	{name: "entries", read: readKnownEntries},
}

var knownFields = []field[Known]{
	textField("fingerprint", func(k *Known) *string { return &k.Fingerprint }),
	textField("store", func(k *Known) *string { return &k.Store }),
	textField("why", func(k *Known) *string { return &k.Why }),
	textField("link", func(k *Known) *string { return &k.Link }),
	textField("trace", func(k *Known) *string { return &k.Trace }),
}

func readKnownEntries(p *parser, file *knownFile) error {
	return p.array("a list of entries", func() error {
		p.peek()
		start := p.at
		var known Known
		if _, err := readFields(p, "an entry object", knownFields, &known); err != nil {
			return err
		}
		end := p.at
		p.at = start
		for _, part := range [...]struct{ name, text string }{
			{"fingerprint", known.Fingerprint}, {"store", known.Store}, {"why", known.Why}, {"trace", known.Trace},
		} {
			if part.text == "" {
				return p.fail("every part but link must say something", "the entry has no %s", part.name)
			}
		}
		if filepath.IsAbs(known.Trace) {
			return p.fail("give the path relative to this file", "the path %s is absolute", quote(known.Trace))
		}
		if _, twice := file.entries.Match(known.Fingerprint, known.Store); twice {
			return p.fail("keep one of the two", "a second entry for %s on %s", quote(known.Fingerprint), quote(known.Store))
		}
		p.at = end
		file.entries = append(file.entries, known)
		return nil
	})
}

// ReadKnown reads a file of known divergences. Every error is an *Error; a
// reproducer that is not there is one.
func ReadKnown(path string) (KnownList, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, systemError(path, "open", err)
	}
	if info.Size() > maxKnown {
		return nil, &Error{File: path, What: "the file is longer than " + strconv.Itoa(maxKnown) + " bytes", Mend: "remove entries that no longer hold"}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, systemError(path, "read", err)
	}
	list, err := parseKnown(data, path)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Trace = filepath.Join(filepath.Dir(path), filepath.FromSlash(list[i].Trace))
		if _, err := os.Stat(list[i].Trace); err != nil {
			e := systemError(path, "find the trace "+quote(list[i].Trace), err)
			e.Mend = "save the trace there, or remove the entry"
			return nil, e
		}
	}
	return list, nil
}

// parseKnown reads the file's text.
func parseKnown(data []byte, name string) (KnownList, error) {
	p := &parser{file: name, line: 1, data: data}
	if err := p.checkUTF8(); err != nil {
		return nil, err
	}
	var file knownFile
	seen, err := readFields(p, "a JSON object", knownFileFields, &file)
	if err == nil {
		err = p.end()
	}
	if err == nil {
		err = p.needs(seen, "the file", "diffstore_known", "entries")
	}
	return file.entries, err
}
