package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/rescan"
)

// Rescan is a finished hash-counting check, ready to be told.
type Rescan struct {
	Repeat string
	Result *rescan.Result
	// ReportOnly says that the limit is told and fails nothing.
	ReportOnly bool
}

func (r *Rescan) headline() string {
	res := r.Result
	counted := fmt.Sprintf("%s hashes of referenced keys in %s puts (limit %s), slope %.2f hashes a put for each referenced key",
		grouped(res.Shape.Total), grouped(res.Shape.Puts), grouped(res.Config.Limit), res.Slope)
	switch {
	case r.ReportOnly && len(res.Wrong) == 0 && res.OverLimit():
		return "over the limit, which is told here and not required: " + counted
	case len(res.Wrong) > 0:
		return "divergence: the store evicts wrongly; " + counted
	case res.OverLimit() && res.Shape.Median == 0:
		return fmt.Sprintf("divergence: over the limit, though not by rescanning: %s of the hashes fall in the first put and none in most; %s", grouped(res.Shape.First), counted)
	case res.OverLimit():
		return "divergence: the store rescans referenced keys: " + counted
	}
	return "agree: the store does not rescan referenced keys: " + counted
}

// Document is the check for people and test reports.
func (r *Rescan) Document() *Document {
	res := r.Result
	d := &Document{
		Title: "diffstore rescan", Verdict: res.Verdict(), Headline: r.headline(), Took: res.Took,
		Reference: []Pair{{"store", Identify(res.Identity)}, {"repeat", r.Repeat}},
	}
	t := &Table{Head: []string{"referenced keys", "puts", "total", "first put", "median put", "last put", "a put and key"}}
	for _, shape := range append([]rescan.Shape{res.Shape}, res.Growth...) {
		t.Rows = append(t.Rows, []string{
			grouped(shape.Referenced), grouped(shape.Puts), grouped(shape.Total), grouped(shape.First), grouped(shape.Median), grouped(shape.Last),
			fmt.Sprintf("%.3f", shape.PerKey()),
		})
	}
	notes := []string{}
	if len(res.Growth) > 1 {
		notes = append(notes, fmt.Sprintf("Fitted over %d sizes: %.3f hashes a put for each referenced key, the line explains %.1f %%.", len(res.Growth), res.Slope, 100*res.Fit))
	}
	d.Sections = []Section{{Title: "Hashes of referenced keys that no call names", Table: t, Notes: notes}}
	if len(res.Wrong) > 0 {
		d.Sections = append(d.Sections, Section{Title: "Evicted wrongly", Code: &Code{"text", strings.Join(res.Wrong[:min(len(res.Wrong), 50)], "\n")}})
	}
	one := Case{Name: "rescan " + res.Identity.Name, Group: "rescan", Took: res.Took}
	if r.ReportOnly && len(res.Wrong) == 0 {
		d.Verdict = diff.Agree
	}
	if d.Verdict == diff.Diverges {
		one.Failure = strings.Join(append([]string{d.Headline}, res.Wrong...), "\n")
	}
	d.Cases = []Case{one}
	return d
}

// Text writes the check for a terminal.
func (r *Rescan) Text(w io.Writer, p Palette) { r.Document().Text(w, p) }

// JSON is the check for machines.
func (r *Rescan) JSON() ([]byte, error) {
	type shape struct {
		Referenced int     `json:"referenced"`
		Puts       int     `json:"puts"`
		Total      int     `json:"total"`
		First      int     `json:"first"`
		Median     int     `json:"median"`
		Last       int     `json:"last"`
		PerKey     float64 `json:"per_put_and_key"`
	}
	of := func(s rescan.Shape) shape {
		return shape{s.Referenced, s.Puts, s.Total, s.First, s.Median, s.Last, s.PerKey()}
	}
	growth := []shape{}
	for _, s := range r.Result.Growth {
		growth = append(growth, of(s))
	}
	out, err := json.MarshalIndent(struct {
		Command  string      `json:"command"`
		Repeat   string      `json:"repeat"`
		Verdict  string      `json:"verdict"`
		ExitCode int         `json:"exit_code"`
		Store    op.Identity `json:"store"`
		Limit    int         `json:"limit"`
		Check    shape       `json:"check"`
		Growth   []shape     `json:"growth"`
		Slope    float64     `json:"slope"`
		Fit      float64     `json:"fit"`
		Wrong    []string    `json:"wrong,omitempty"`
		Seconds  float64     `json:"seconds"`
	}{
		"rescan", r.Repeat, r.Result.Verdict().String(), int(r.Result.Verdict()), r.Result.Identity, r.Result.Config.Limit,
		of(r.Result.Shape), growth, r.Result.Slope, r.Result.Fit, r.Result.Wrong, r.Result.Took.Seconds(),
	}, "", "  ")
	return append(out, '\n'), err
}
