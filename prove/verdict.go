package prove

import (
	"fmt"

	"github.com/diffstore/diffstore/diff"
)

// Conclude gives the verdict of a search and, where it is Infrastructure, why, a
// line each. A search that was not brought to its end proves nothing, whatever it
// compared; a difference that was seen outweighs everything else.
func Conclude(result *Result, failure error) (diff.Verdict, []string) {
	if result.Finding != nil && failure == nil {
		return diff.Diverges, nil
	}
	var why []string
	if failure != nil {
		why = append(why, failure.Error())
	}
	why = append(why, result.Incidents...)
	switch {
	case result.Interrupted:
		why = append(why, fmt.Sprintf("interrupted: %d of %d states known so far were searched, without a difference", result.Expanded, result.States))
	case result.Limit != "":
		why = append(why, fmt.Sprintf("%s: %d of them were searched, without a difference", result.Limit, result.Expanded))
	case failure == nil && result.Ops == 0:
		why = append(why, "no operation was executed")
	}
	if len(why) > 0 {
		return diff.Infrastructure, why
	}
	return diff.Agree, nil
}
