package bench

import (
	"fmt"
	"io"
)

// Write writes what was measured as text or as Markdown.
func (m *Measured) Write(w io.Writer, markdown bool) {
	fmt.Fprintf(w, "%s\n", m.Machine)
	fmt.Fprintf(w, "Store %s, class %s, Python %s. %d rounds in turns; medians, and the lowest and highest round.\n", m.Store.Name, m.Store.Class, m.Store.Python, m.Rounds)
	fmt.Fprintf(w, "Work: %s. Own CPU: processor time of diffstore itself, us an op.\n\n", m.Work)
	arms := &table{head: []string{"arm", "ops a second", "lowest", "highest", "us an op", "own CPU", "ops a round"}}
	for _, arm := range m.Arms {
		if arm.Skipped != "" {
			continue
		}
		s, own := arm.PerSecond, "-"
		if arm.OwnCPU != nil {
			own = figure(arm.OwnCPU.Median)
		}
		arms.row(arm.Name, figure(s.Median), figure(s.Min), figure(s.Max), figure(1e6/s.Median), own, thousands(int64(arm.Ops)))
	}
	arms.write(w, markdown)
	fmt.Fprintln(w)
	ratios := &table{head: []string{"ratio within a round", "median", "lowest", "highest", "asked for"}}
	for i := range m.Ratios {
		r := &m.Ratios[i]
		asked := "-"
		if r.Want > 0 {
			asked = fmt.Sprintf("%s %s", figure(r.Want), map[bool]string{true: "met", false: "missed"}[r.Met()])
		}
		ratios.row(r.Of+" / "+r.To, figure(r.Spread.Median), figure(r.Spread.Min), figure(r.Spread.Max), asked)
	}
	ratios.write(w, markdown)
	fmt.Fprintln(w)
	for _, arm := range m.Arms {
		bullet := map[bool]string{true: "- ", false: ""}[markdown]
		if arm.Skipped != "" {
			fmt.Fprintf(w, "%sskipped: %s: %s\n", bullet, arm.Name, arm.Skipped)
		} else {
			fmt.Fprintf(w, "%s%s: %s\n", bullet, arm.Name, arm.Says)
		}
	}
}
