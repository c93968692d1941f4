package report

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/fatih/color"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/traces"
)

// Palette colours a text; the zero Palette leaves it plain.
type Palette struct{ On bool }

func (p Palette) paint(attribute color.Attribute, text string) string {
	if !p.On {
		return text
	}
	c := color.New(attribute, color.Bold)
	c.EnableColor()
	return c.Sprint(text)
}

// block writes one block: its name, then its lines beside it.
func (p Palette) block(w io.Writer, name string, attribute color.Attribute, lines ...string) {
	for i, line := range lines {
		label := ""
		if i == 0 {
			label = name
		}
		fmt.Fprintf(w, "%s %s\n", p.paint(attribute, fmt.Sprintf("%-14s", label)), line)
	}
}

// lastOps is how many ops before the failing one are shown.
const lastOps = 6

// Text writes the run for people: one line when the two agree, fixed blocks and
// the commands to go on with when they do not.
func (r *Run) Text(w io.Writer, p Palette) {
	switch r.Verdict {
	case diff.Agree:
		p.block(w, "VERDICT", color.FgGreen, r.agreement())
		p.block(w, "VERSIONS", color.FgGreen, r.versions()...)
		if known := knownCounts(r.Result.Known); len(known) > 0 {
			p.block(w, "KNOWN", color.FgYellow, known...)
		}
		if r.Profile != "" {
			p.block(w, "EXERCISED", color.FgGreen, Exercised(&r.Result.Stats)...)
		}
	case diff.Diverges:
		if len(r.Stale) > 0 {
			p.block(w, "VERDICT", color.FgRed, append([]string{staleHeadline}, r.Stale...)...)
			return
		}
		r.failure(w, p)
	default:
		p.block(w, "VERDICT", color.FgYellow, append([]string{"infrastructure: nothing can be said of the store"}, r.Why...)...)
		if r.Result != nil && r.Result.Sequences > 0 {
			p.block(w, "RAN", color.FgYellow, r.amount())
			p.block(w, "VERSIONS", color.FgYellow, r.versions()...)
		}
	}
}

// staleHeadline is the verdict when a known divergence is none any more.
const staleHeadline = "divergence: a known divergence no longer holds"

// knownCounts says how often each known divergence was met, a line each.
func knownCounts(known map[string]int) []string {
	var lines []string
	for fingerprint, n := range known {
		lines = append(lines, fmt.Sprintf("%s in %s sequences", fingerprint, grouped(n)))
	}
	sort.Strings(lines)
	return lines
}

func (r *Run) agreement() string {
	left, right := r.shownNames()
	return fmt.Sprintf("agree: %s and %s, %s", left, right, r.amount())
}

func (r *Run) amount() string {
	res := r.Result
	return fmt.Sprintf("%s sequences, %s ops in %s (%s compared ops/s)", grouped(res.Sequences), grouped(res.Ops),
		seconds(res.Took), grouped(int(perSecond(res.Ops, res.Took))))
}

// seconds writes a duration as people say it.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// grouped writes a number with commas.
func grouped(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func (r *Run) versions() []string {
	var lines []string
	for i, id := range r.Result.Identities {
		side := "left "
		if i == 1 {
			side = "right"
		}
		lines = append(lines, side+"  "+Identify(id))
	}
	return lines
}

// Identify writes everything that is known of a subject in one line.
func Identify(id op.Identity) string {
	parts := []string{Escape(id.Name)}
	add := func(label, value string) {
		if value != "" {
			parts = append(parts, strings.TrimSpace(label+" "+Escape(value)))
		}
	}
	add("version", id.Version)
	add("commit", shortened(id.Commit, 12))
	add("class", id.Class)
	add("sha256", shortened(id.SHA256, 12))
	add("adapter", id.Adapter)
	add("Python", id.Python)
	add("wire", id.Wire)
	add("from", id.Path)
	return strings.Join(parts, ", ")
}

func shortened(text string, n int) string {
	if len(text) > n {
		return text[:n]
	}
	return text
}

func (r *Run) failure(w io.Writer, p Palette) {
	sequence, d := r.finding()
	full := r.Result.Findings[0]
	left, right := r.shownNames()
	verdict := []string{
		fmt.Sprintf("divergence (%s): %s and %s differ in %s", d.Class, left, right, d.Field),
		"fingerprint " + d.Fingerprint(),
	}
	if r.Profile == "" {
		verdict = append(verdict, fmt.Sprintf("in %s of %s traces; this is the first", grouped(len(r.Result.Findings)), grouped(r.Result.Sequences)))
	}
	p.block(w, "VERDICT", color.FgRed, verdict...)
	switch {
	case r.Profile != "":
		p.block(w, "SEED", color.FgRed, fmt.Sprintf("seed %d, case %d, profile %s", r.Seed, full.Divergence.Case, r.Profile))
	case r.Place != nil:
		p.block(w, "SEED", color.FgRed, "none: the trace at "+Escape(r.Place(full.Divergence.Case)))
	default:
		p.block(w, "SEED", color.FgRed, fmt.Sprintf("none: trace %d of what was replayed", full.Divergence.Case+1))
	}
	p.block(w, "VERSIONS", color.FgRed, r.versions()...)
	p.block(w, "DIVERGENCE", color.FgRed, divergenceLines(sequence, d, left, right)...)
	p.block(w, "LAST OPS", color.FgRed, lastOpLines(full)...)
	p.block(w, "REDUCED TRACE", color.FgRed, r.reducedLines(sequence, d)...)
	p.block(w, "GO ON WITH", color.FgRed, r.commands(full.Divergence.Case)...)
}

// longName is the length from which the sides are called left and right.
const longName = 32

func divergenceLines(s op.Sequence, d *diff.Divergence, left, right string) []string {
	lines := []string{fmt.Sprintf("constructor, %d slots of %d bytes", s.Slots, s.ObjectBytes)}
	if d.Step >= 0 {
		lines = []string{fmt.Sprintf("op %d of %d: %s", d.Step+1, len(s.Ops), d.Op)}
	}
	if d.Detail != "" {
		lines = append(lines, "invariant broken: "+Escape(d.Detail))
	}
	if max(len(left), len(right)) > longName {
		left, right = "left", "right"
	}
	width := max(len(left), len(right))
	for _, x := range Differences(d) {
		lines = append(lines, x.Field, fmt.Sprintf("  %-*s  %s", width, left, orNone(x.Left)), fmt.Sprintf("  %-*s  %s", width, right, orNone(x.Right)))
	}
	return lines
}

func orNone(text string) string {
	if text == "" {
		return "(none)"
	}
	return text
}

func lastOpLines(f diff.Finding) []string {
	d := f.Divergence
	if d.Step < 0 {
		return []string{"none: the constructor differs"}
	}
	var lines []string
	for i := max(0, d.Step-lastOps); i <= d.Step; i++ {
		mark := " "
		if i == d.Step {
			mark = ">"
		}
		lines = append(lines, fmt.Sprintf("%s %3d  %s", mark, i+1, f.Sequence.Ops[i]))
	}
	return lines
}

func (r *Run) reducedLines(s op.Sequence, d *diff.Divergence) []string {
	if r.Reduced == nil {
		return []string{"not reduced"}
	}
	if r.Reduced.Flaky {
		return []string{"flaky: the divergence did not show again when the sequence was run once more"}
	}
	lines := []string{fmt.Sprintf("%d ops (from %d), %d evaluations, %s", len(s.Ops), len(r.Result.Findings[0].Sequence.Ops), r.Reduced.Evaluations, seconds(r.Reduced.Took))}
	if r.Reduced.Exhausted {
		lines[0] += "; the budget ended before the search did"
	}
	var file bytes.Buffer
	if err := traces.Write(&file, r.Trace(s, d, Note(d))); err == nil {
		lines = append(lines, strings.Split(strings.TrimSpace(file.String()), "\n")...)
	}
	return lines
}

// commands are what a reader types next.
func (r *Run) commands(index int) []string {
	var lines []string
	oracle := ""
	if r.Oracle != "" {
		oracle = " --oracle " + Quote(r.Oracle)
	}
	if r.Strict {
		oracle += " --strict"
	}
	oracle += r.Flags
	if r.Folder != "" {
		if r.Reduced != nil && !r.Reduced.Flaky {
			lines = append(lines, "diffstore replay "+Quote(filepath.Join(r.Folder, "reduced.jsonl"))+oracle,
				"diffstore show "+Quote(filepath.Join(r.Folder, "reduced.jsonl"))+" --format pytest")
		}
		if r.Oracle != "" { // what was recorded cannot be run again
			lines = append(lines, "diffstore reduce "+Quote(filepath.Join(r.Folder, "full.jsonl"))+oracle)
		}
	}
	if r.Profile != "" {
		// Of a flag that is given twice the last counts.
		lines = append(lines, fmt.Sprintf("%s --first %d --sequences 1", r.Repeat, index))
	}
	return append(lines, r.Repeat)
}

// Quote makes a word safe to paste into a shell.
func Quote(word string) string {
	safe := word != ""
	for _, c := range word {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_-./:=@+,%", c)) {
			safe = false
		}
	}
	if safe {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
