package report

import (
	"fmt"
	"strings"

	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/op"
)

// Exercised says in a few lines what a campaign put its subjects through.
func Exercised(s *gen.Stats) []string {
	var ops, failures []string
	for kind := op.Kind(0); kind < op.NumKinds; kind++ {
		ops = append(ops, fmt.Sprintf("%s %s", grouped(s.Ops[kind]), kind))
		for e := op.KeyError; int(e) < gen.ErrorKinds; e++ {
			if n := s.Outcomes[kind][e]; n > 0 {
				failures = append(failures, fmt.Sprintf("%s %s of %s", grouped(n), e, kind))
			}
		}
	}
	if len(failures) == 0 {
		failures = []string{"none"}
	}
	return []string{
		"ops: " + strings.Join(ops, ", "),
		"errors: " + strings.Join(failures, ", "),
		fmt.Sprintf("victims: %s, of their own put %s; evicted keys put again: %s", grouped(s.Victims), grouped(s.OwnVictims), grouped(s.ReputsEvicted)),
		fmt.Sprintf("keys read: %s, missed %s; deepest count %d; retain and release in one call: %s", grouped(s.Hits), grouped(s.Misses), s.DeepestRef, grouped(s.RetainReleases)),
		fmt.Sprintf("keys left without a slot: %s; full stores: %s, with every key referenced %s", grouped(s.Zombies), grouped(s.Full), grouped(s.AllReferenced)),
	}
}
