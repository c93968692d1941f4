package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/selfcheck"
)

// Selfcheck is a finished check of the harness itself, ready to be told: by
// planted bugs, or by automatic mutants of one file.
type Selfcheck struct {
	Repeat string
	Took   time.Duration
	// Planted and Alarms are the rows of planted bugs and of right stores.
	Planted []selfcheck.Planted
	Alarms  []selfcheck.Alarm
	// Auto is the report of automatic mutants; nil where planted bugs were run.
	Auto *selfcheck.Report
}

// wrong lists, a line each, what a sound harness would not have shown.
func (s *Selfcheck) wrong() []string {
	var lines []string
	for i := range s.Planted {
		p := &s.Planted[i]
		caught := p.Mutant.Equivalent != "" && slices.ContainsFunc(p.Catches, func(c selfcheck.Catch) bool { return c.Caught })
		switch {
		case caught:
			lines = append(lines, p.Mutant.Name+" is marked equivalent and was caught")
		case p.Mutant.Equivalent == "" && !p.Caught():
			lines = append(lines, p.Mutant.Name+" survived")
		}
	}
	for _, a := range s.Alarms {
		if a.Finding != "" {
			lines = append(lines, fmt.Sprintf("false alarm: %s in profile %s, %s", a.Store, a.Profile, a.Finding))
		}
	}
	if s.Auto == nil {
		return lines
	}
	for i := range s.Auto.Mutants {
		if m := &s.Auto.Mutants[i]; m.Fate == selfcheck.Survived || m.Fate == selfcheck.Disproved {
			lines = append(lines, fmt.Sprintf("line %d, %s: %s", m.Line, m.Change, m.Fate))
		}
	}
	for _, record := range s.Auto.Stale {
		lines = append(lines, fmt.Sprintf("line %d, %s: recorded as equivalent, but there is no such mutant", record.Line, record.Change))
	}
	return lines
}

// Verdict is Diverges when anything is wrong with the harness.
func (s *Selfcheck) Verdict() diff.Verdict {
	if len(s.wrong()) > 0 {
		return diff.Diverges
	}
	return diff.Agree
}

// summary is what the planted bugs come to.
type summary struct {
	Bugs, Caught, Equivalent, Seeds int
	// Median and P95 are of the sequences until caught, over bugs and seeds.
	Median, P95 int
	// AtShortest counts the bugs whose reduced traces are all as short as any
	// known one, Farthest is the most ops that one is longer, Same the bugs with
	// one trace for every seed.
	AtShortest, Farthest, Same int
	Slowest                    time.Duration
}

func (s *Selfcheck) summary() summary {
	var sum summary
	var until []int
	for i := range s.Planted {
		p := &s.Planted[i]
		if p.Mutant.Equivalent != "" {
			sum.Equivalent++
			continue
		}
		sum.Bugs++
		sum.Seeds = len(p.Catches)
		if !p.Caught() {
			continue
		}
		sum.Caught++
		over := p.Longest() - p.Known()
		if over <= 0 {
			sum.AtShortest++
		}
		sum.Farthest = max(sum.Farthest, over)
		if p.Same() {
			sum.Same++
		}
		for _, c := range p.Catches {
			until = append(until, c.Sequences)
			sum.Slowest = max(sum.Slowest, c.Took)
		}
	}
	slices.Sort(until)
	if len(until) > 0 {
		sum.Median, sum.P95 = until[len(until)/2], until[min(len(until)-1, len(until)*95/100)]
	}
	return sum
}

func (s *Selfcheck) headline() string {
	word := "agree"
	wrong := s.wrong()
	if len(wrong) > 0 {
		word = fmt.Sprintf("divergence: %d things a sound harness would not show", len(wrong))
	}
	if s.Auto != nil {
		return fmt.Sprintf("%s: of %d automatic mutants %d killed, %d equivalent with reason, %d survived", word, len(s.Auto.Mutants),
			s.Auto.Count(selfcheck.Killed), s.Auto.Count(selfcheck.Equivalent), s.Auto.Count(selfcheck.Survived))
	}
	sum := s.summary()
	return fmt.Sprintf("%s: %d of %d planted bugs caught on every one of %d seeds, after %d sequences in the median and %d in the 95th percentile",
		word, sum.Caught, sum.Bugs, sum.Seeds, sum.Median, sum.P95)
}

// Document is the check for people and test reports.
func (s *Selfcheck) Document() *Document {
	d := &Document{
		Title: "diffstore selfcheck", Verdict: s.Verdict(), Headline: s.headline(), Took: s.Took,
		Reference: []Pair{{"took", seconds(s.Took)}, {"repeat", s.Repeat}},
	}
	if wrong := s.wrong(); len(wrong) > 0 {
		d.Sections = append(d.Sections, Section{Title: "Wrong", Code: &Code{"text", strings.Join(wrong, "\n")}})
	}
	if s.Auto != nil {
		s.automatic(d)
		return d
	}
	s.planted(d)
	return d
}

func (s *Selfcheck) planted(d *Document) {
	sum := s.summary()
	d.Sections = append(d.Sections, Section{Title: "Summary", Notes: []string{
		fmt.Sprintf("Reduced to the shortest known length on every seed: %d of %d; never more than %d ops longer. The same trace on every seed: %d. The slowest reduction took %s.",
			sum.AtShortest, sum.Caught, sum.Farthest, sum.Same, seconds(sum.Slowest)),
	}})
	t := &Table{Head: []string{"planted bug", "store", "caught", "sequences", "ops", "reduced", "shortest", "evaluations", "seconds", "same trace", "fingerprint"}}
	for i := range s.Planted {
		p := &s.Planted[i]
		caught, one := 0, Case{Name: p.Mutant.Name, Group: "selfcheck." + p.Mutant.Family}
		var sequences, ops, evaluations, length []string
		took := time.Duration(0)
		for _, c := range p.Catches {
			if c.Caught {
				caught++
			}
			sequences, ops = append(sequences, fmt.Sprint(c.Sequences)), append(ops, fmt.Sprint(c.Ops))
			evaluations, length = append(evaluations, fmt.Sprint(c.Evaluations)), append(length, fmt.Sprint(c.Length))
			took = max(took, c.Took)
		}
		row := []string{p.Mutant.Name, p.Mutant.Store, fmt.Sprintf("%d/%d", caught, len(p.Catches)),
			strings.Join(sequences, " "), strings.Join(ops, " "), strings.Join(length, " "), fmt.Sprint(p.Known()),
			strings.Join(evaluations, " "), fmt.Sprintf("%.2f", took.Seconds()), fmt.Sprint(p.Same()), p.Catches[0].Fingerprint}
		if p.Mutant.Equivalent != "" {
			row = []string{p.Mutant.Name, p.Mutant.Store, fmt.Sprintf("%d/%d", caught, len(p.Catches)), "-", "-", "-", "-", "-", "-", "-", "equivalent: " + p.Mutant.Equivalent}
		}
		t.Rows = append(t.Rows, row)
		if slices.ContainsFunc(s.wrong(), func(line string) bool { return strings.HasPrefix(line, p.Mutant.Name+" ") }) {
			one.Failure = p.Mutant.Name + ": " + p.Mutant.Says
		}
		d.Cases = append(d.Cases, one)
	}
	d.Sections = append(d.Sections, Section{Title: "Planted bugs", Table: t, Notes: []string{"Figures are one a seed, in order; seconds are the slowest reduction's."}})
	what := &Table{Head: []string{"planted bug", "what somebody got wrong", "public reports of the kind"}}
	for i := range s.Planted {
		m := &s.Planted[i].Mutant
		what.Rows = append(what.Rows, []string{m.Name, m.Says, strings.Join(m.Issues, ", ")})
	}
	d.Sections = append(d.Sections, Section{Title: "What the planted bugs are", Table: what, FileOnly: true})
	if len(s.Alarms) == 0 {
		return
	}
	alarms := &Table{Head: []string{"right store", "profile", "sequences", "ops", "false alarm"}}
	for _, a := range s.Alarms {
		alarms.Rows = append(alarms.Rows, []string{a.Store, a.Profile, grouped(a.Sequences), grouped(a.Ops), orNone(a.Finding)})
	}
	d.Sections = append(d.Sections, Section{Title: "Right stores", Table: alarms})
}

func (s *Selfcheck) automatic(d *Document) {
	d.Reference = append([]Pair{{"store", fmt.Sprintf("%s, sha256 %s", Escape(s.Auto.Spec), shortened(s.Auto.SHA256, 12))}}, d.Reference...)
	counts := map[string]map[selfcheck.Fate]int{}
	var operators []string
	equivalents := &Table{Head: []string{"line", "change", "why nothing can show it"}}
	for i := range s.Auto.Mutants {
		m := &s.Auto.Mutants[i]
		if counts[m.Operator] == nil {
			counts[m.Operator] = map[selfcheck.Fate]int{}
			operators = append(operators, m.Operator)
		}
		counts[m.Operator][m.Fate]++
		if m.Fate == selfcheck.Equivalent {
			equivalents.Rows = append(equivalents.Rows, []string{fmt.Sprint(m.Line), m.Change, m.Reason})
		}
		one := Case{Name: fmt.Sprintf("line %d: %s", m.Line, m.Change), Group: "selfcheck.auto"}
		if m.Fate == selfcheck.Survived || m.Fate == selfcheck.Disproved {
			one.Failure = string(m.Fate) + " " + m.How
		}
		d.Cases = append(d.Cases, one)
	}
	t := &Table{Head: []string{"kind of change", "mutants", "killed", "equivalent", "survived"}}
	for _, operator := range operators {
		c := counts[operator]
		t.Rows = append(t.Rows, []string{operator, fmt.Sprint(c[selfcheck.Killed] + c[selfcheck.Equivalent] + c[selfcheck.Survived] + c[selfcheck.Disproved]),
			fmt.Sprint(c[selfcheck.Killed]), fmt.Sprint(c[selfcheck.Equivalent]), fmt.Sprint(c[selfcheck.Survived])})
	}
	d.Sections = append(d.Sections, Section{Title: "Automatic mutants", Table: t})
	if len(equivalents.Rows) > 0 {
		d.Sections = append(d.Sections, Section{Title: "Equivalent", Table: equivalents})
	}
}

// Text writes the check for a terminal.
func (s *Selfcheck) Text(w io.Writer, p Palette) { s.Document().Text(w, p) }

// JSON is the check for machines.
func (s *Selfcheck) JSON() ([]byte, error) {
	type mutant struct {
		Name        string `json:"name"`
		Caught      bool   `json:"caught"`
		Equivalent  string `json:"equivalent,omitempty"`
		Sequences   []int  `json:"sequences,omitempty"`
		Lengths     []int  `json:"reduced,omitempty"`
		Shortest    int    `json:"shortest,omitempty"`
		Same        bool   `json:"same_trace"`
		Trace       string `json:"trace,omitempty"`
		Fingerprint string `json:"fingerprint,omitempty"`
	}
	mutants := []mutant{}
	for i := range s.Planted {
		p := &s.Planted[i]
		one := mutant{Name: p.Mutant.Name, Caught: p.Caught(), Equivalent: p.Mutant.Equivalent, Shortest: p.Known(), Same: p.Same(), Trace: p.Catches[0].Trace, Fingerprint: p.Catches[0].Fingerprint}
		for _, c := range p.Catches {
			one.Sequences, one.Lengths = append(one.Sequences, c.Sequences), append(one.Lengths, c.Length)
		}
		mutants = append(mutants, one)
	}
	if s.Auto != nil {
		for i := range s.Auto.Mutants {
			m := &s.Auto.Mutants[i]
			mutants = append(mutants, mutant{Name: fmt.Sprintf("line %d: %s", m.Line, m.Change), Caught: m.Fate == selfcheck.Killed,
				Equivalent: m.Reason, Sequences: []int{m.Sequences}, Fingerprint: m.How})
		}
	}
	out, err := json.MarshalIndent(struct {
		Command  string            `json:"command"`
		Repeat   string            `json:"repeat"`
		Verdict  string            `json:"verdict"`
		ExitCode int               `json:"exit_code"`
		Wrong    []string          `json:"wrong,omitempty"`
		Summary  summary           `json:"summary"`
		Mutants  []mutant          `json:"mutants"`
		Alarms   []selfcheck.Alarm `json:"right_stores,omitempty"`
		Seconds  float64           `json:"seconds"`
	}{"selfcheck", s.Repeat, s.Verdict().String(), int(s.Verdict()), s.wrong(), s.summary(), mutants, s.Alarms, s.Took.Seconds()}, "", "  ")
	return append(out, '\n'), err
}
