package report

import (
	"fmt"
	"strings"

	"github.com/diffstore/diffstore/diff"
)

// Document is the run for reports.
func (r *Run) Document() *Document {
	d := &Document{Title: "diffstore " + r.Command, Verdict: r.Verdict}
	if r.Result != nil {
		d.Took = r.Result.Took
		for i, id := range r.Result.Identities {
			d.Reference = append(d.Reference, Pair{[]string{"left", "right"}[min(i, 1)], Identify(id)})
		}
		if r.Profile != "" {
			d.Reference = append(d.Reference, Pair{"seed", fmt.Sprintf("%d, profile %s", r.Seed, r.Profile)})
		}
		d.Reference = append(d.Reference, Pair{"ran", r.amount()})
	}
	d.Reference = append(d.Reference, Pair{"repeat", r.Repeat})
	one := Case{Name: strings.TrimSpace(r.Command + " " + r.Profile), Group: r.Command, Took: d.Took}
	if known := knownCounts(r.knownMet()); len(known) > 0 {
		d.Sections = append(d.Sections, Section{Title: "Known divergences", Code: &Code{"text", strings.Join(known, "\n")}})
	}
	switch {
	case r.Verdict == diff.Agree:
		d.Headline = r.agreement()
	case len(r.Stale) > 0:
		d.Headline = staleHeadline
		one.Failure = strings.Join(append([]string{d.Headline}, r.Stale...), "\n")
		d.Sections = append(d.Sections, Section{Title: "Stale", Notes: r.Stale})
	case r.Verdict == diff.Diverges:
		s, found := r.finding()
		left, right := r.shownNames()
		d.Headline = fmt.Sprintf("divergence (%s): %s and %s differ in %s", found.Class, left, right, found.Field)
		lines := divergenceLines(s, found, left, right)
		reduced := r.reducedLines(s, found)
		one.Failure = d.Headline + "\n" + strings.Join(append(lines, reduced...), "\n")
		d.Sections = append(d.Sections,
			Section{Title: "Divergence", Code: &Code{"text", strings.Join(lines, "\n")}},
			Section{Title: "Reduced trace", Code: &Code{"json", strings.Join(reduced[1:], "\n")}, Notes: reduced[:1]})
		if len(reduced) == 1 {
			d.Sections[len(d.Sections)-1].Code = nil
		}
		if r.Reduced != nil && !r.Reduced.Flaky {
			trace := r.Trace(s, found, Note(found))
			if test, err := Pytest(&trace, DefaultImport); err == nil {
				d.Sections = append(d.Sections, Section{Title: "The same as pytest", Code: &Code{"python", test}, FileOnly: true})
			}
		}
		d.Sections = append(d.Sections, Section{Title: "Go on with", Code: &Code{"sh", strings.Join(r.commands(r.Result.Findings[0].Divergence.Case), "\n")}})
	default:
		d.Headline = "infrastructure: nothing can be said of the store: " + strings.Join(r.Why, "; ")
		one.Error = d.Headline
	}
	if r.Result != nil && r.Profile != "" && r.Result.Ops > 0 {
		d.Sections = append(d.Sections, Section{Title: "Exercised", Code: &Code{"text", strings.Join(Exercised(&r.Result.Stats), "\n")}})
	}
	d.Cases = []Case{one}
	return d
}

func (r *Run) knownMet() map[string]int {
	if r.Result == nil {
		return nil
	}
	return r.Result.Known
}
