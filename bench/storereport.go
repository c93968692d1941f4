package bench

import (
	"fmt"
	"io"
	"time"
)

// Write writes the costs as text or as Markdown.
func (c *Costs) Write(w io.Writer, markdown bool) {
	fmt.Fprintf(w, "%s\n", c.Machine)
	pythons := ""
	for _, p := range c.Points {
		if p.Python != "" {
			pythons = ", Python " + p.Python
			break
		}
	}
	fmt.Fprintf(w, "%d rounds in turns%s; medians of the rounds, and the worst put of all.\n\n", c.Rounds, pythons)
	t := &table{head: []string{"store", "slots", "referenced", "payload", "keys a put", "a put", "a key", "median put", "worst put", "allocs", "bytes", "memory a key"}}
	for _, p := range c.Points {
		allocs, bytes, memory := "-", "-", "-"
		if p.Allocations != nil {
			allocs, bytes = figure(*p.Allocations), figure(*p.Bytes)
		}
		if p.KeyBytes != nil {
			memory = figure(*p.KeyBytes) + " B"
		}
		t.row(p.Arm, thousands(int64(p.Slots)), thousands(int64(p.Held)), thousands(int64(p.Payload)), fmt.Sprint(p.Batch),
			duration(p.PutNs.Median), duration(p.KeyNs.Median), duration(p.MedianNs.Median), duration(p.WorstNs.Max), allocs, bytes, memory)
	}
	t.write(w, markdown)
	if len(c.Growth) > 0 {
		fmt.Fprintf(w, "\nGrowth: a put costs slots to the power of the exponent (0: nothing, 1: in proportion).\n\n")
		t = &table{head: []string{"store", "payload", "keys a put", "exponent"}}
		for _, g := range c.Growth {
			t.row(g.Arm, thousands(int64(g.Payload)), fmt.Sprint(g.Batch), fmt.Sprintf("%.2f", g.Exponent))
		}
		t.write(w, markdown)
	}
	if len(c.Ratios) > 0 {
		fmt.Fprintf(w, "\nHow many times dearer a put is.\n\n")
		t = &table{head: []string{"store", "beside", "slots", "payload", "keys a put", "times", "lowest", "highest"}}
		for _, r := range c.Ratios {
			t.row(r.Of, r.To, thousands(int64(r.Slots)), thousands(int64(r.Payload)), fmt.Sprint(r.Batch),
				figure(r.Times.Median), figure(r.Times.Min), figure(r.Times.Max))
		}
		t.write(w, markdown)
	}
}

// duration writes nanoseconds with three digits that count.
func duration(ns float64) string {
	d := time.Duration(ns)
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", ns/1e6)
	case d >= time.Millisecond:
		return fmt.Sprintf("%.2f ms", ns/1e6)
	case d >= 10*time.Microsecond:
		return fmt.Sprintf("%.1f us", ns/1e3)
	case d >= time.Microsecond:
		return fmt.Sprintf("%.2f us", ns/1e3)
	}
	return fmt.Sprintf("%.0f ns", ns)
}
