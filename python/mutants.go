package python

import (
	"fmt"
	"slices"
	"strings"
)

// Mutant is one planted bug: a small edit of an embedded store that a rewrite
// could have made by mistake.
type Mutant struct {
	// Name is unique among the mutants.
	Name string
	// Store is the name of the embedded store that is edited.
	Store string
	// Family is the part of the behaviour that goes wrong, one of Families; a
	// family is a file.
	Family string
	// Says is a sentence on what was got wrong.
	Says string
	// Issues names public reports of this kind of bug as owner/repository#number;
	// mostly empty.
	Issues []string
	// Strict tells that only slot numbers are sure to show the edit, which a
	// legitimate rewrite may choose otherwise.
	Strict bool
	// Equivalent says why no sequence of operations can show the edit. It is
	// empty for the mutants that a harness has to notice.
	Equivalent string
	// Edits are made together, each in the source as it is.
	Edits []Edit
	// File and Line are where the mutant starts, lines counted from 1.
	File string
	Line int
}

// Edit replaces whole lines of a source by others.
type Edit struct {
	// Find are adjacent lines that stand in the source exactly once.
	Find []string
	// Replace are the lines for their place.
	Replace []string
	// Line is where the edit starts in its file, counted from 1.
	Line int
}

// Families lists the words for what a mutant can get wrong, in the order in
// which Mutants gives them.
func Families() []string {
	return []string{"order", "references", "capacity", "slots", "payload", "errors"}
}

// Mutants reads the embedded planted bugs, family by family. An error names the
// file and the line.
func Mutants() ([]Mutant, error) {
	p := newMutantParser(StoreNames()...)
	for _, family := range Families() {
		file := "mutants/" + family + ".txt"
		text, err := mutants.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := p.parse(family, file, string(text)); err != nil {
			return nil, err
		}
	}
	return p.done, nil
}

// Apply gives the source of the mutant's store with the bug in it. It fails when
// the lines of an edit do not stand in the store exactly once, or when two edits
// overlap.
func (m Mutant) Apply() (source string, err error) {
	text, ok := Store(m.Store)
	if !ok {
		return "", fmt.Errorf("%s:%d: mutant %s: unknown store %q", m.File, m.Line, m.Name, m.Store)
	}
	lines := strings.Split(text, "\n")
	type place struct{ start, edit int }
	places := make([]place, 0, len(m.Edits))
	for i, edit := range m.Edits {
		start, found := occurrences(lines, edit.Find)
		if found != 1 {
			return "", fmt.Errorf("%s:%d: mutant %s: the lines of this edit stand in store %s %d times, expected once",
				m.File, edit.Line, m.Name, m.Store, found)
		}
		places = append(places, place{start, i})
	}
	slices.SortFunc(places, func(a, b place) int { return a.start - b.start })
	var out []string
	at := 0
	for _, p := range places {
		edit := m.Edits[p.edit]
		if p.start < at {
			return "", fmt.Errorf("%s:%d: mutant %s: this edit overlaps another", m.File, edit.Line, m.Name)
		}
		out = append(out, lines[at:p.start]...)
		out = append(out, edit.Replace...)
		at = p.start + len(edit.Find)
	}
	out = append(out, lines[at:]...)
	return strings.Join(out, "\n"), nil
}

// occurrences counts where find stands in lines; start is the last such place.
func occurrences(lines, find []string) (start, count int) {
	for i := 0; i+len(find) <= len(lines); i++ {
		if slices.Equal(lines[i:i+len(find)], find) {
			start, count = i, count+1
		}
	}
	return start, count
}

// mutantParser reads the files of planted bugs. They are lines of text:
//
//	== NAME             starts a mutant; the name is unique
//	store: NAME         the embedded store that is edited
//	says: SENTENCE      what was got wrong, and what it does
//	issue: NAMES        optional: public issues, with commas between
//	needs: strict       optional: see Mutant.Strict
//	equivalent: REASON  optional: see Mutant.Equivalent
//	@@                  starts an edit; lines as in a unified diff follow, with a
//	                    blank or - in front of what is there, and a blank or + in
//	                    front of what shall be
//
// Empty lines and lines that begin with # mean nothing.
type mutantParser struct {
	// stores are the names that may be edited.
	stores       []string
	family, file string
	line         int
	done         []Mutant
	// open is the mutant being read, nil before the first of a file.
	open *Mutant
	// fields are the names of the fields that open has had.
	fields map[string]bool
	// names says where each mutant starts.
	names map[string]string
}

func newMutantParser(stores ...string) *mutantParser {
	return &mutantParser{stores: stores, names: map[string]string{}}
}

// parse reads one file and adds its mutants to done.
func (p *mutantParser) parse(family, file, text string) error {
	p.family, p.file, p.line = family, file, 0
	for line := range strings.SplitSeq(text, "\n") {
		p.line++
		if err := p.read(line); err != nil {
			return err
		}
	}
	return p.finish()
}

func (p *mutantParser) errorf(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", p.file, line, fmt.Sprintf(format, args...))
}

func (p *mutantParser) read(line string) error {
	name, starts := strings.CutPrefix(line, "== ")
	switch {
	case line == "" || line[0] == '#':
		return nil
	case starts:
		return p.start(name)
	case p.open == nil:
		return p.errorf(p.line, "expected a mutant (== NAME), found %q", line)
	case line == "@@":
		p.open.Edits = append(p.open.Edits, Edit{Line: p.line})
		return nil
	case len(p.open.Edits) > 0:
		return p.edit(&p.open.Edits[len(p.open.Edits)-1], line)
	}
	return p.field(line)
}

func (p *mutantParser) start(name string) error {
	if err := p.finish(); err != nil {
		return err
	}
	if name == "" || strings.ContainsAny(name, " \t") {
		return p.errorf(p.line, "a mutant's name is one word, found %q", name)
	}
	if place, taken := p.names[name]; taken {
		return p.errorf(p.line, "the name %s is taken by the mutant at %s", name, place)
	}
	p.names[name] = fmt.Sprintf("%s:%d", p.file, p.line)
	p.open = &Mutant{Name: name, Family: p.family, File: p.file, Line: p.line}
	p.fields = map[string]bool{}
	return nil
}

func (p *mutantParser) field(line string) error {
	name, value, found := strings.Cut(line, ": ")
	if !found || strings.TrimSpace(value) == "" {
		return p.errorf(p.line, "expected a field (name: value) or an edit (@@), found %q", line)
	}
	if p.fields[name] {
		return p.errorf(p.line, "mutant %s has a second field %q", p.open.Name, name)
	}
	p.fields[name] = true
	switch name {
	case "store":
		if !slices.Contains(p.stores, value) {
			return p.errorf(p.line, "unknown store %q: expected one of %s", value, strings.Join(p.stores, ", "))
		}
		p.open.Store = value
	case "says":
		p.open.Says = value
	case "issue":
		p.open.Issues = strings.Split(value, ", ")
	case "needs":
		if value != "strict" {
			return p.errorf(p.line, "unknown need %q: expected strict", value)
		}
		p.open.Strict = true
	case "equivalent":
		p.open.Equivalent = value
	default:
		return p.errorf(p.line, "unknown field %q: expected store, says, issue, needs or equivalent", name)
	}
	return nil
}

// edit reads one line of an edit's body.
func (p *mutantParser) edit(edit *Edit, line string) error {
	text := line[1:]
	switch line[0] {
	case ' ':
		edit.Find = append(edit.Find, text)
		edit.Replace = append(edit.Replace, text)
	case '-':
		edit.Find = append(edit.Find, text)
	case '+':
		edit.Replace = append(edit.Replace, text)
	default:
		return p.errorf(p.line, "expected a line of an edit with a blank, - or + in front, found %q", line)
	}
	return nil
}

// finish checks the mutant being read, if any, and keeps it.
func (p *mutantParser) finish() error {
	m := p.open
	if m == nil {
		return nil
	}
	for _, name := range []string{"store", "says"} {
		if !p.fields[name] {
			return p.errorf(m.Line, "mutant %s has no field %q", m.Name, name)
		}
	}
	if len(m.Edits) == 0 {
		return p.errorf(m.Line, "mutant %s has no edit", m.Name)
	}
	for _, edit := range m.Edits {
		if len(edit.Find) == 0 {
			return p.errorf(edit.Line, "mutant %s: this edit says not where: it has no line with a blank or - in front", m.Name)
		}
		if slices.Equal(edit.Find, edit.Replace) {
			return p.errorf(edit.Line, "mutant %s: this edit changes nothing", m.Name)
		}
	}
	p.done = append(p.done, *m)
	p.open = nil
	return nil
}
