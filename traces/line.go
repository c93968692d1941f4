package traces

import (
	"strconv"

	"github.com/diffstore/diffstore/op"
)

var headerFields = []field[Header]{
	{
		name: "diffstore_trace",
		read: func(p *parser, h *Header) (err error) {
			h.Version, err = p.version(Version)
			return err
		},
		has: always[Header],
		write: func(b []byte, h *Header) []byte {
			if h.Version == 0 {
				return strconv.AppendInt(b, Version, 10)
			}
			return strconv.AppendInt(b, int64(h.Version), 10)
		},
	},
	required(numberField("slots", func(h *Header) *int { return &h.Slots })),
	required(numberField("object_nbytes", func(h *Header) *int { return &h.ObjectBytes })),
	textField("model", func(h *Header) *string { return &h.Model }),
	textField("note", func(h *Header) *string { return &h.Note }),
	textField("seed", func(h *Header) *string { return &h.Seed }),
	{
		name: "case",
		read: func(p *parser, h *Header) error {
			start := p.at
			index, err := p.number("a case's index")
			if err == nil && index < 0 {
				p.at = start
				err = p.fail("count cases from 0", "case %d is below 0", index)
			}
			h.Case = &index
			return err
		},
		has:   func(h *Header) bool { return h.Case != nil },
		write: func(b []byte, h *Header) []byte { return strconv.AppendInt(b, int64(*h.Case), 10) },
	},
	{
		name: "recorded",
		read: func(p *parser, h *Header) error {
			h.Recorded = &Recorded{}
			_, err := readFields(p, "an object", recordedFields, h.Recorded)
			return err
		},
		has:   func(h *Header) bool { return h.Recorded != nil },
		write: func(b []byte, h *Header) []byte { return appendFields(b, recordedFields, h.Recorded) },
	},
	textField("fingerprint", func(h *Header) *string { return &h.Fingerprint }),
	textField("left", func(h *Header) *string { return &h.Left }),
	textField("right", func(h *Header) *string { return &h.Right }),
	raisedField("want_construct", func(h *Header) **op.Error { return &h.WantConstruct }),
}

var recordedFields = []field[Recorded]{
	textField("project", func(r *Recorded) *string { return &r.Project }),
	textField("commit", func(r *Recorded) *string { return &r.Commit }),
	textField("version", func(r *Recorded) *string { return &r.Version }),
	textField("class", func(r *Recorded) *string { return &r.Class }),
	textField("sha256", func(r *Recorded) *string { return &r.SHA256 }),
	textField("python", func(r *Recorded) *string { return &r.Python }),
}

// line is one line of a trace file: a header, or an op with or without a want.
type line struct {
	isHeader bool
	header   Header
	op       op.Op
	want     *want
}

// lineFields is every field that can stand at the top of a line.
var lineFields = func() (all []field[line]) {
	for _, f := range headerFields {
		all = append(all, within(f, func(l *line) *Header { return &l.header }))
	}
	for _, table := range shares {
		for _, f := range table {
			all = append(all, within(f, func(l *line) *op.Op { return &l.op }))
		}
	}
	return append(all, field[line]{
		name: "want",
		read: func(p *parser, l *line) (err error) {
			l.want, err = readWant(p)
			return err
		},
	})
}()

// parseLine reads one line. Its errors name the file and the line as given.
func parseLine(file string, number int, data []byte) (*line, error) {
	p := &parser{file: file, line: number, data: data}
	if err := p.checkUTF8(); err != nil {
		return nil, err
	}
	if p.peek(); p.at == len(p.data) {
		return nil, p.wrong("delete it", "blank line")
	}
	l := &line{}
	seen, err := readFields(p, "a JSON object", lineFields, l)
	if err == nil {
		err = p.end()
	}
	if err == nil {
		err = l.check(p, seen)
	}
	return l, err
}

// check holds the fields of a line against each other and finds out what the
// line is.
func (l *line) check(p *parser, seen map[string]bool) error {
	first := "" // a field of the header, if there is one
	for _, f := range headerFields {
		if seen[f.name] {
			first = f.name
			break
		}
	}
	kinds := []op.Kind{}
	for kind, table := range shares {
		for _, f := range table {
			if seen[f.name] {
				kinds = append(kinds, op.Kind(kind))
				break
			}
		}
	}
	switch {
	case first != "" && (len(kinds) > 0 || seen["want"]):
		return p.wrong("give each a line of its own", "the line holds %s of a header and an operation or its want", first)
	case first != "":
		l.isHeader = true
		return p.needs(seen, "the header", "diffstore_trace", "slots", "object_nbytes")
	case len(kinds) == 0:
		return p.wrong("write one of put, get, close, or delete the line", "the line holds no operation")
	case len(kinds) > 1:
		return p.wrong("give each a line of its own", "%s and %s are in one line", kinds[0], kinds[1])
	}
	l.op.Kind = kinds[0]
	if l.want == nil {
		return nil
	}
	// Only a get brings a payload, and one that succeeded always does.
	brings := l.op.Kind == op.Get && l.want.err == nil
	switch {
	case brings && l.want.payload == nil:
		return p.wrong(`write "payload":"" for a get of nothing`, "the want of a get has neither payload nor error")
	case !brings && l.want.payload != nil:
		return p.wrong("remove the payload", "the want of a %s has a payload", l.op.Kind)
	}
	return nil
}
