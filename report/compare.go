package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/traces"
)

// Comparison is a finished test of a claim, ready to be told.
type Comparison struct {
	Repeat   string
	Claim    diff.Claim
	Verdict  diff.Verdict
	Why      []string
	Seed     uint64
	Profile  string
	Model    string
	Base     string
	Head     string
	Compared *diff.Compared
	// Folder is where the files of a failing comparison lie.
	Folder string
}

func (c *Comparison) headline() string {
	switch c.Verdict {
	case diff.Agree:
		text := fmt.Sprintf("agree: the claim %q holds in %s of %s sequences", c.Claim, grouped(c.Compared.Sequences), grouped(c.Compared.Sequences))
		if n := c.known(); n > 0 {
			text += fmt.Sprintf(", %s of them with known divergences", grouped(n))
		}
		return text
	case diff.Diverges:
		if len(c.Why) > 0 {
			return staleHeadline + ": " + strings.Join(c.Why, "; ")
		}
		return fmt.Sprintf("divergence: the claim %q is broken in %s of %s sequences, %s of them only after an error",
			c.Claim, grouped(c.Compared.Differing), grouped(c.Compared.Sequences), grouped(c.Compared.AfterError))
	}
	return "infrastructure: nothing can be said of the claim: " + strings.Join(c.Why, "; ")
}

func (c *Comparison) known() int {
	n := 0
	for _, count := range c.Compared.Known {
		n += count
	}
	return n
}

// reference is who ran and how.
func (c *Comparison) reference() []Pair {
	names := []string{"base", "head", "model", "base without headroom"}
	var pairs []Pair
	for i, id := range c.Compared.Identities {
		if i < len(names) {
			pairs = append(pairs, Pair{names[i], Identify(id)})
		}
	}
	if c.Folder != "" {
		pairs = append(pairs, Pair{"files", c.Folder})
	}
	return append(pairs,
		Pair{"ran", fmt.Sprintf("seed %d, profile %s, %s sequences, %s ops, %s", c.Seed, c.Profile, grouped(c.Compared.Sequences), grouped(c.Compared.Ops), seconds(c.Compared.Took))},
		Pair{"repeat", c.Repeat})
}

// Document is the comparison for people and test reports.
func (c *Comparison) Document() *Document {
	d := &Document{Title: fmt.Sprintf("diffstore compare: %s", c.Claim), Verdict: c.Verdict, Headline: c.headline(), Took: c.Compared.Took}
	d.Reference = c.reference()
	d.Sections = append(d.Sections, c.table())
	if c.Compared.ModelAlone > 0 {
		d.Sections = append(d.Sections, Section{Title: "The model's voice", Notes: []string{
			fmt.Sprintf("In %s sequences base and head agree and model:%s does not (first: case %d). That is the model's fault or the wrong --model, not the stores'.",
				grouped(c.Compared.ModelAlone), c.Model, c.Compared.ModelFirst)}})
	}
	if s, ok := c.intended(); ok {
		d.Sections = append(d.Sections, s)
	}
	if len(c.Compared.Known) > 0 {
		d.Sections = append(d.Sections, c.knownSection())
	}
	list := c.Compared.ByWeight()
	if len(list) > 0 {
		d.Sections = append(d.Sections, c.distinct(list))
		d.Sections = append(d.Sections, c.counterexamples(list)...)
	}
	d.Sections = append(d.Sections, Section{Title: "Exercised", Code: &Code{"text", strings.Join(Exercised(&c.Compared.Stats), "\n")}})
	d.Cases = c.cases(list)
	return d
}

func (c *Comparison) table() Section {
	t := &Table{Head: []string{"class of sequence", "sequences", "ops", "differing", "first case", "fields"}}
	for i := range c.Compared.Rows {
		row := &c.Compared.Rows[i]
		first := "-"
		if row.First >= 0 {
			first = fmt.Sprint(row.First)
		}
		t.Rows = append(t.Rows, []string{string(row.Class), grouped(row.Sequences), grouped(row.Ops), grouped(row.Differing), first, fieldCounts(row.Fields)})
	}
	return Section{Title: "Verdict by class of sequence", Table: t, Notes: []string{
		fmt.Sprintf("%s of %s sequences differ. For scale: vllm#62044 reports 404 of 5,000 unbalanced sequences for its own change.",
			grouped(c.Compared.Differing), grouped(c.Compared.Sequences))}}
}

func fieldCounts(fields map[diff.Field]int) string {
	var parts []string
	for _, f := range diff.Fields {
		if n := fields[f.Field]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", f.Field, n))
		}
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

// intended tells of the differences that the claim predicts.
func (c *Comparison) intended() (Section, bool) {
	if c.Claim.Kind != diff.Grows && c.Claim.Kind != diff.Headroom {
		return Section{}, false
	}
	return Section{Title: "Intended differences", Notes: []string{fmt.Sprintf(
		"%s sequences in which base raises a capacity error and head does not; %s in which head raises one.",
		grouped(c.Compared.Avoided), grouped(c.Compared.Left))}}, true
}

func (c *Comparison) knownSection() Section {
	return Section{Title: "Known divergences", Code: &Code{"text", strings.Join(knownCounts(c.Compared.Known), "\n")}}
}

// reducedOf gives the shortest that is known of a fingerprint.
func (c *Comparison) reducedOf(d *diff.Distinct) (op.Sequence, *diff.Divergence, string) {
	if r, ok := c.Compared.Reduced[d.Fingerprint]; ok {
		if r.Flaky {
			return d.Lowest.Sequence, d.Lowest.Divergence, "flaky: it did not show again"
		}
		return r.Sequence, r.Divergence, fmt.Sprintf("%d ops", len(r.Sequence.Ops))
	}
	return d.Lowest.Sequence, d.Lowest.Divergence, "not reduced"
}

func (c *Comparison) distinct(list []*diff.Distinct) Section {
	t := &Table{Head: []string{"fingerprint", "class", "sequences", "first case", "reduced", "stands alone"}}
	for _, d := range list {
		_, _, length := c.reducedOf(d)
		t.Rows = append(t.Rows, []string{d.Fingerprint, string(d.Class), grouped(d.Sequences), fmt.Sprint(d.Lowest.Divergence.Case), length, string(d.Vote)})
	}
	return Section{Title: "Distinct divergences", Table: t}
}

// shownExamples bounds how many counterexamples are written out.
const shownExamples = 3

func (c *Comparison) counterexamples(list []*diff.Distinct) []Section {
	var sections []Section
	shown := 0
	for _, d := range list {
		if shown == shownExamples {
			break
		}
		r, ok := c.Compared.Reduced[d.Fingerprint]
		if !ok || r.Flaky {
			continue
		}
		shown++
		var b strings.Builder
		fmt.Fprintf(&b, "%d slots of %d bytes\n", r.Sequence.Slots, r.Sequence.ObjectBytes)
		for i := range r.Sequence.Ops {
			fmt.Fprintf(&b, "%3d  %s\n", i+1, r.Sequence.Ops[i])
		}
		for _, line := range divergenceLines(r.Sequence, r.Divergence, "base", "head")[1:] {
			fmt.Fprintf(&b, "%s\n", line)
		}
		sections = append(sections, Section{Title: "Counterexample: " + d.Fingerprint, Code: &Code{"text", b.String()}})
		if shown > 1 {
			continue
		}
		trace := c.trace(r.Sequence, r.Divergence)
		if test, err := Pytest(&trace, DefaultImport); err == nil {
			sections = append(sections, Section{Title: "The same as pytest (what base does)", Code: &Code{"python", test}, FileOnly: true})
		}
	}
	return sections
}

func (c *Comparison) trace(s op.Sequence, d *diff.Divergence) traces.Trace {
	h := traces.Header{
		Slots: s.Slots, ObjectBytes: s.ObjectBytes, Model: c.Model, Note: Note(d), Seed: fmt.Sprint(c.Seed),
		Fingerprint: d.Fingerprint(), Left: c.Base, Right: c.Head,
	}
	if d.Case >= 0 {
		h.Case = &d.Case
	}
	return traces.Trace{Header: h, Ops: s.Ops}
}

func (c *Comparison) cases(list []*diff.Distinct) []Case {
	group := "compare." + string(c.Claim.Kind)
	if c.Verdict == diff.Infrastructure {
		return []Case{{Name: c.Claim.String(), Group: group, Error: strings.Join(c.Why, "\n")}}
	}
	var cases []Case
	for i := range c.Compared.Rows {
		row := &c.Compared.Rows[i]
		one := Case{Name: string(row.Class), Group: group}
		switch {
		case row.Sequences == 0:
			one.Skipped = "no sequence of this class was made"
		case row.Differing > 0:
			one.Failure = fmt.Sprintf("%d of %d sequences differ, first case %d: %s", row.Differing, row.Sequences, row.First, fieldCounts(row.Fields))
			for _, d := range list {
				if d.Lived != row.Class {
					continue
				}
				s, found, length := c.reducedOf(d)
				one.Failure += fmt.Sprintf("\n%s in %d sequences (%s)", d.Fingerprint, d.Sequences, length)
				if _, ok := c.Compared.Reduced[d.Fingerprint]; ok {
					var file bytes.Buffer
					if err := traces.Write(&file, c.trace(s, found)); err == nil {
						one.Failure += "\n" + file.String()
					}
				}
			}
		}
		cases = append(cases, one)
	}
	return cases
}

// jsonComparison is the machine form.
type jsonComparison struct {
	Command   string         `json:"command"`
	Repeat    string         `json:"repeat"`
	Claim     string         `json:"claim"`
	Verdict   string         `json:"verdict"`
	ExitCode  int            `json:"exit_code"`
	Why       []string       `json:"why,omitempty"`
	Seed      string         `json:"seed"`
	Profile   string         `json:"profile"`
	Subjects  []op.Identity  `json:"subjects"`
	Sequences int            `json:"sequences"`
	Ops       int            `json:"ops"`
	Seconds   float64        `json:"seconds"`
	Differing int            `json:"differing"`
	AfterErr  int            `json:"differing_after_error"`
	Avoided   int            `json:"capacity_errors_avoided"`
	Left      int            `json:"capacity_errors_left"`
	Model     int            `json:"model_alone"`
	Known     map[string]int `json:"known,omitempty"`
	Classes   []jsonRow      `json:"classes"`
	Distinct  []jsonDistinct `json:"distinct"`
	Stats     any            `json:"stats"`
	Folder    string         `json:"folder,omitempty"`
}

type jsonRow struct {
	Class     string             `json:"class"`
	Sequences int                `json:"sequences"`
	Ops       int                `json:"ops"`
	Differing int                `json:"differing"`
	First     int                `json:"first_case"`
	Fields    map[diff.Field]int `json:"fields,omitempty"`
}

type jsonDistinct struct {
	Fingerprint string          `json:"fingerprint"`
	Class       string          `json:"class"`
	Sequences   int             `json:"sequences"`
	Vote        string          `json:"stands_alone"`
	Divergence  *jsonDivergence `json:"divergence"`
	Reduced     *jsonReduced    `json:"reduced,omitempty"`
}

// JSON is the comparison for machines.
func (c *Comparison) JSON() ([]byte, error) {
	j := jsonComparison{
		Command: "compare", Repeat: c.Repeat, Claim: c.Claim.String(), Verdict: c.Verdict.String(), ExitCode: int(c.Verdict), Why: c.Why,
		Seed: fmt.Sprint(c.Seed), Profile: c.Profile, Subjects: c.Compared.Identities, Sequences: c.Compared.Sequences, Ops: c.Compared.Ops,
		Seconds: c.Compared.Took.Seconds(), Differing: c.Compared.Differing, AfterErr: c.Compared.AfterError,
		Avoided: c.Compared.Avoided, Left: c.Compared.Left, Model: c.Compared.ModelAlone, Known: c.Compared.Known,
		Stats: &c.Compared.Stats, Folder: c.Folder, Distinct: []jsonDistinct{},
	}
	for i := range c.Compared.Rows {
		row := &c.Compared.Rows[i]
		j.Classes = append(j.Classes, jsonRow{string(row.Class), row.Sequences, row.Ops, row.Differing, row.First, row.Fields})
	}
	for _, d := range c.Compared.ByWeight() {
		one := jsonDistinct{Fingerprint: d.Fingerprint, Class: string(d.Class), Sequences: d.Sequences, Vote: string(d.Vote), Divergence: divergenceJSON(d.Lowest.Divergence)}
		if r, ok := c.Compared.Reduced[d.Fingerprint]; ok {
			one.Reduced = reducedJSON(&r)
			if !r.Flaky {
				one.Divergence = divergenceJSON(r.Divergence)
			}
		}
		j.Distinct = append(j.Distinct, one)
	}
	out, err := json.MarshalIndent(j, "", "  ")
	return append(out, '\n'), err
}

// Text writes the comparison for a terminal.
func (c *Comparison) Text(w io.Writer, p Palette) { c.Document().Text(w, p) }

// Save writes the folder of a comparison that breaks its claim: that of its
// weightiest divergence, as for a run. It sets c.Folder.
func (c *Comparison) Save(dir string) error {
	list := c.Compared.ByWeight()
	if len(list) == 0 {
		return nil
	}
	found := list[0].Lowest
	c.Folder = filepath.Join(dir, fmt.Sprintf("compare-%s-seed%d-case%d", c.Profile, c.Seed, found.Divergence.Case))
	full := c.trace(found.Sequence, found.Divergence)
	s := saved{full: &full, stderr: c.Compared.Stderr, json: c.JSON}
	if r, ok := c.Compared.Reduced[list[0].Fingerprint]; ok && !r.Flaky {
		reduced := c.trace(r.Sequence, r.Divergence)
		s.reduced = &reduced
	}
	return s.write(c.Folder)
}
