package diff

import (
	"fmt"

	"github.com/diffstore/diffstore/gen"
)

// Verdict is what a run says, and its exit code.
type Verdict int

// The verdicts. A run that executed nothing is never Agree.
const (
	Agree          Verdict = 0
	Diverges       Verdict = 1
	BadUsage       Verdict = 2
	Infrastructure Verdict = 3
)

var verdictNames = map[Verdict]string{
	Agree: "agree", Diverges: "divergence", BadUsage: "usage", Infrastructure: "infrastructure",
}

// String is the verdict's word.
func (v Verdict) String() string { return verdictNames[v] }

// Conclude gives the verdict of a run and, where it is Infrastructure, why, a
// line each; short is what a campaign should have exercised and did not. A
// divergence outweighs everything else: it was seen.
func Conclude(result *Result, failure error, short []gen.Shortfall) (Verdict, []string) {
	var why []string
	if failure != nil {
		why = append(why, failure.Error())
	}
	if result != nil {
		if len(result.Findings) > 0 {
			return Diverges, nil
		}
		why = append(why, result.Incidents...)
		switch {
		case result.Interrupted:
			why = append(why, fmt.Sprintf("interrupted after %d sequences", result.Sequences))
		case failure != nil:
		case result.Ops == 0:
			why = append(why, "no operation was executed")
		default:
			for _, missing := range short {
				why = append(why, "exercised too little: "+missing.String())
			}
		}
	}
	if len(why) > 0 {
		return Infrastructure, why
	}
	return Agree, nil
}
