package subject_test

import (
	"context"
	"testing"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/python"
	"github.com/diffstore/diffstore/subject"
)

// largeCampaign compares stores of 2,000 slots, on which states are looked at in
// part.
func largeCampaign(model string, right diff.Open) *diff.Campaign {
	c := campaign(diff.Model(model), right, 4, 2)
	c.First = 60 // sizes grow with the case, and only long sequences fill the store
	c.Gen = gen.Config{Profile: "balanced", Slots: 2000, MaxOps: 800}
	return c
}

// planned opens a store that is looked at by plan.
func planned(t *testing.T, name, text, wire, model string) diff.Open {
	t.Helper()
	launch := launchOf(t, name, text)
	launch.Config.Wire = wire
	return subject.Oracle(launch, oracle.Ask{FirstDeath: true, Foresee: subject.Foresee(model)})
}

func TestLargeStoresAgree(t *testing.T) {
	for _, c := range []struct{ model, wire string }{{"main", oracle.WireMarshal}, {"free-queue", oracle.WireJSON}, {"growing", oracle.WireMarshal}} {
		text, _ := python.Store(c.model)
		run := largeCampaign(c.model, planned(t, c.model, text, c.wire, c.model))
		run.Judge = func() diff.Judge {
			return diff.Pair(diff.Options{Strict: true, Text: true, Unbounded: c.model == "growing"})
		}
		parts, wholes := 0, 0
		run.Workers = 1
		run.Visit = func() diff.Visitor {
			return func(_ int, _ *op.Sequence, runs []op.Run, _ *diff.Divergence) {
				for _, step := range runs[1].Steps {
					if step.State.Sees&op.SeesPart != 0 {
						parts++
					} else {
						wholes++
					}
				}
			}
		}
		result, err := run.Run(context.Background())
		if err != nil || len(result.Findings) > 0 {
			t.Fatalf("%s: %v, %d findings", c.model, err, len(result.Findings))
		}
		if result.Stats.Victims == 0 || parts == 0 || wholes != result.Sequences {
			t.Errorf("%s: %d victims; %d states in part and %d whole ones in %d sequences", c.model, result.Stats.Victims, parts, wholes, result.Sequences)
		}
	}
}

// TestPlantedBugsInLargeStores: what is looked at in part must show a bug, also
// one that changes at first only what is not looked at, and reduce as far.
func TestPlantedBugsInLargeStores(t *testing.T) {
	for _, c := range []struct {
		mutant, model string
		most          int // ops it must reduce to
	}{
		{"evict-newest-first", "main", 3},
		{"get-does-not-touch", "main", 3},
	} {
		t.Run(c.mutant, func(t *testing.T) {
			run := largeCampaign(c.model, planned(t, c.mutant, mutantText(t, c.mutant), oracle.WireMarshal, c.model))
			result, err := run.Run(context.Background())
			if err != nil || len(result.Findings) == 0 {
				t.Fatalf("%v, nothing found in %d sequences", err, result.Sequences)
			}
			f := result.Findings[0]
			reduced, err := diff.Reduce(context.Background(), f.Sequence, f.Divergence, run.Subjects, diff.Pair(diff.Options{}), diff.DefaultBudget)
			if err != nil || reduced.Flaky || len(reduced.Sequence.Ops) > c.most {
				t.Errorf("%v, flaky %t, reduced to %d ops on %d slots", err, reduced.Flaky, len(reduced.Sequence.Ops), reduced.Sequence.Slots)
			}
			t.Logf("%s at op %d; %d evaluations, %v: %v", f.Divergence.Fingerprint(), f.Divergence.Step, reduced.Evaluations, reduced.Took, reduced.Sequence.Ops)
		})
	}
}
