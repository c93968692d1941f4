package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fatih/color"
	"github.com/jstemmer/go-junit-report/v2/junit"

	"github.com/diffstore/diffstore/diff"
)

// Document is a finished comparison, check or gate in the parts that every form
// of report is made of.
type Document struct {
	// Title names what ran, Headline says the verdict in words.
	Title    string
	Verdict  diff.Verdict
	Headline string
	// Reference says what ran exactly and how to repeat it.
	Reference []Pair
	Sections  []Section
	// Cases are what a test report counts.
	Cases []Case
	Took  time.Duration
}

// Pair is a label with its text.
type Pair struct{ Label, Text string }

// Section is a titled part: a note, a table, a block of code, any of them.
type Section struct {
	Title string
	Notes []string
	Table *Table
	Code  *Code
	// FileOnly leaves the section out on a terminal: it is long, and lies in a file.
	FileOnly bool
}

// Table is rows of cells under a head.
type Table struct {
	Head []string
	Rows [][]string
}

// Code is a block of text in a language that Markdown knows by name.
type Code struct{ Language, Text string }

// Case is one test case: it passed unless it says otherwise.
type Case struct {
	Name, Group string
	Took        time.Duration
	Failure     string
	// Error is a failure that says nothing of the store; Skipped why it did not run.
	Error, Skipped string
}

// verdictColour is green, red or yellow.
func verdictColour(v diff.Verdict) color.Attribute {
	switch v {
	case diff.Agree:
		return color.FgGreen
	case diff.Diverges:
		return color.FgRed
	}
	return color.FgYellow
}

// Text writes the document for a terminal.
func (d *Document) Text(w io.Writer, p Palette) {
	paint := verdictColour(d.Verdict)
	p.block(w, "VERDICT", paint, d.Headline)
	for _, pair := range d.Reference {
		p.block(w, strings.ToUpper(pair.Label), paint, pair.Text)
	}
	for _, s := range d.Sections {
		if s.FileOnly {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", p.paint(paint, s.Title))
		for _, note := range s.Notes {
			fmt.Fprintf(w, "  %s\n", note)
		}
		if s.Table != nil {
			s.Table.text(w)
		}
		if s.Code != nil {
			for _, line := range strings.Split(strings.TrimRight(s.Code.Text, "\n"), "\n") {
				fmt.Fprintf(w, "  %s\n", line)
			}
		}
	}
}

func (t *Table) text(w io.Writer) {
	widths := make([]int, len(t.Head))
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		line := ""
		for i, cell := range row {
			line += fmt.Sprintf("  %-*s", widths[i], cell)
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// The bounds of a Markdown report: it has to fit a pull request's comment, which
// holds 65,536 characters.
const (
	markdownLimit = 65_000
	codeLimit     = 9_000
	rowLimit      = 120
)

// Markdown writes the document for a pull request. It is below 65,536
// characters whatever the document holds: long blocks are cut, and say so.
func (d *Document) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n**%s**\n\n", inline(d.Title), inline(d.Headline))
	for _, pair := range d.Reference {
		fmt.Fprintf(&b, "- %s: %s\n", inline(pair.Label), inlineCode(pair.Text))
	}
	for i, s := range d.Sections {
		part := s.markdown()
		if b.Len()+len(part) > markdownLimit {
			fmt.Fprintf(&b, "\n%d more sections do not fit a comment; the other reports hold them.\n", len(d.Sections)-i)
			break
		}
		b.WriteString(part)
	}
	return b.String()
}

func (s *Section) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n\n", inline(s.Title))
	for _, note := range s.Notes {
		fmt.Fprintf(&b, "%s\n\n", inline(clipped(note, 2000)))
	}
	if s.Table != nil {
		s.Table.markdown(&b)
	}
	if s.Code != nil {
		text := clipped(strings.TrimRight(s.Code.Text, "\n"), codeLimit)
		fence := "```"
		for strings.Contains(text, fence) {
			fence += "`"
		}
		fmt.Fprintf(&b, "%s%s\n%s\n%s\n", fence, s.Code.Language, text, fence)
	}
	return b.String()
}

func clipped(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := strings.ToValidUTF8(text[:limit], "")
	return cut + fmt.Sprintf("\n… cut: %d more characters", len(text)-len(cut))
}

func (t *Table) markdown(b *strings.Builder) {
	row := func(cells []string) {
		b.WriteString("|")
		for _, cell := range cells {
			fmt.Fprintf(b, " %s |", inline(clipped(cell, 300)))
		}
		b.WriteString("\n")
	}
	row(t.Head)
	fmt.Fprintf(b, "|%s\n", strings.Repeat(" --- |", len(t.Head)))
	for i, cells := range t.Rows {
		if i == rowLimit {
			fmt.Fprintf(b, "\n%d more rows are left out.\n", len(t.Rows)-rowLimit)
			break
		}
		row(cells)
	}
}

// inline makes text safe in a line of Markdown: no markup, no new line.
func inline(text string) string {
	return strings.NewReplacer("\n", " ", "\r", " ", "|", `\|`, "<", "&lt;", "`", "'", "*", `\*`, "_", `\_`, "[", `\[`, "#", `\#`).Replace(text)
}

func inlineCode(text string) string {
	return "`" + strings.NewReplacer("\n", " ", "`", "'").Replace(clipped(text, 1000)) + "`"
}

// JUnit writes the document as a test report.
func (d *Document) JUnit(w io.Writer) error {
	suite := junit.Testsuite{Name: "diffstore " + d.Title, Time: fmt.Sprintf("%.3f", d.Took.Seconds())}
	for _, pair := range d.Reference {
		suite.AddProperty(pair.Label, xmlSafe(pair.Text))
	}
	for _, c := range d.Cases {
		out := junit.Testcase{Name: xmlSafe(c.Name), Classname: "diffstore." + c.Group, Time: fmt.Sprintf("%.3f", c.Took.Seconds())}
		result := func(text string) *junit.Result {
			first, _, _ := strings.Cut(text, "\n")
			return &junit.Result{Message: xmlSafe(first), Data: xmlSafe(text)}
		}
		switch {
		case c.Failure != "":
			out.Failure = result(c.Failure)
		case c.Error != "":
			out.Error = result(c.Error)
		case c.Skipped != "":
			out.Skipped = result(c.Skipped)
		}
		suite.AddTestcase(out)
	}
	var all junit.Testsuites
	all.AddSuite(suite)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// xmlSafe leaves out what XML cannot hold.
func xmlSafe(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r >= ' ' && r != 0xfffe && r != 0xffff {
			return r
		}
		return -1
	}, strings.ToValidUTF8(text, "?"))
}

// Annotation is a GitHub workflow command that shows a failure at the run. What
// would end the command or its title is escaped.
func Annotation(title, text string) string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	return fmt.Sprintf("::error title=%s::%s", property.Replace(title), data.Replace(clipped(text, 4000)))
}
