package bench

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table is rows of cells under headings; the first column is text, the others
// are figures.
type table struct {
	head []string
	rows [][]string
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// text writes the table in columns.
func (t *table) text(w io.Writer) {
	width := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range append([][]string{t.head}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			fill := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line.WriteString(cell + fill)
			} else {
				line.WriteString("  " + fill + cell)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// markdown writes the table in Markdown.
func (t *table) markdown(w io.Writer) {
	fmt.Fprintf(w, "| %s |\n|---|%s\n", strings.Join(t.head, " | "), strings.Repeat("---:|", len(t.head)-1))
	for _, row := range t.rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
}

// write writes the table in one form or the other.
func (t *table) write(w io.Writer, markdown bool) {
	if markdown {
		t.markdown(w)
	} else {
		t.text(w)
	}
}

// figure writes a number with three digits that count, and thousands set apart.
func figure(v float64) string {
	switch {
	case v >= 100:
		return thousands(int64(v + 0.5))
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
