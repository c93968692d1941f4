package report

import "testing"

func TestRenew(t *testing.T) {
	const part = "<!-- made by the command: a -->\n\nnew\n\n<!-- end: a -->\n"
	for _, c := range []struct{ page, want string }{
		{"", part},
		{"# Title\n", "# Title\n\n" + part},
		{"x\n" + part + "y\n", "x\n" + part + "y\n"},
		{"x\n<!-- made by the command: a -->\nold\n<!-- end: a -->\ny\n", "x\n" + part + "y\n"},
		{"<!-- made by the command: ab -->\nother\n<!-- end: ab -->\n", "<!-- made by the command: ab -->\nother\n<!-- end: ab -->\n\n" + part},
	} {
		if got := Renew(c.page, "a", "new\n"); got != c.want {
			t.Errorf("%q became\n%q, expected\n%q", c.page, got, c.want)
		}
	}
}
