package report

import "strings"

// Renew gives a page with the part of this name written anew, or added at the end
// of a page that has none. A part stands between two comments that name it; what
// lies outside of them is left alone.
func Renew(page, name, text string) string {
	begin, end := "<!-- made by the command: "+name+" -->\n", "<!-- end: "+name+" -->\n"
	part := begin + "\n" + strings.TrimRight(text, "\n") + "\n\n" + end
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		if page != "" && !strings.HasSuffix(page, "\n\n") {
			page = strings.TrimRight(page, "\n") + "\n\n"
		}
		return page + part
	}
	return before + part + after
}
