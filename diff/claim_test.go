package diff

import (
	"context"
	"strings"
	"testing"

	"github.com/diffstore/diffstore/gen"
)

// claimed tests a claim about two variants of the Go store on one profile.
func claimed(t *testing.T, claim, base, head, voice, profile string) *Compared {
	t.Helper()
	c, err := ParseClaim(claim)
	if err != nil {
		t.Fatal(err)
	}
	comparison := &Comparison{
		Claim: c, Base: Model(base), Head: Model(head), Model: voice, Budget: DefaultBudget,
		Campaign: Campaign{Gen: gen.Config{Profile: profile}, Seed: 1, Sequences: 1500, Workers: 2},
	}
	compared, err := comparison.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	sequences := 0
	for _, row := range compared.Rows {
		sequences += row.Sequences
	}
	if sequences != 1500 {
		t.Fatalf("the classes hold %d of 1500 sequences", sequences)
	}
	return compared
}

func TestVariantsThatDifferOnlyAfterAnError(t *testing.T) {
	for head, most := range map[string]int{"free-queue": 3, "front-rotation": 4} {
		if got := claimed(t, "identical", "main", head, "main", "balanced"); got.Differing != 0 {
			t.Errorf("%s differs from main in %d balanced sequences", head, got.Differing)
		}
		got := claimed(t, "identical", "main", head, "main", "unbalanced")
		if got.Differing == 0 || got.AfterError != got.Differing {
			t.Errorf("%s: %d unbalanced sequences differ, %d of them after an error; want all, and some", head, got.Differing, got.AfterError)
		}
		for fingerprint, r := range got.Reduced {
			if len(r.Sequence.Ops) > most {
				t.Errorf("%s: %s is reduced to %d ops, the known counterexample has %d", head, fingerprint, len(r.Sequence.Ops), most)
			}
		}
		for _, d := range got.Distinct {
			if d.Vote != VoteHead {
				t.Errorf("%s: the model votes %q in %s, want head", head, d.Vote, d.Fingerprint)
			}
		}
		if got := claimed(t, "identical-until-error", "main", head, "main", "unbalanced"); got.Differing != 0 {
			t.Errorf("%s breaks identical-until-error in %d sequences", head, got.Differing)
		}
	}
}

func TestGrows(t *testing.T) {
	got := claimed(t, "grows", "main", "growing", "main", "balanced")
	if got.Differing != 0 || got.Avoided == 0 || got.Left != 0 {
		t.Errorf("growing: %d differ, %d capacity errors avoided, %d left", got.Differing, got.Avoided, got.Left)
	}
	if got := claimed(t, "grows", "main", "main", "main", "balanced"); got.Differing == 0 {
		t.Error("a store that does not grow passes as one that does")
	}
}

func TestHeadroom(t *testing.T) {
	got := claimed(t, "headroom=2", "main", "free-queue", "main", "balanced")
	if got.Differing != 0 || got.Avoided == 0 {
		t.Errorf("headroom: %d differ, %d capacity errors avoided", got.Differing, got.Avoided)
	}
}

func TestInvariantsClaim(t *testing.T) {
	if got := claimed(t, "invariants", "main", "free-queue", "main", "unbalanced"); got.Differing != 0 {
		t.Errorf("two sound stores break the invariants in %d sequences", got.Differing)
	}
	got := claimed(t, "invariants", "main", "growing", "main", "balanced")
	if got.Differing == 0 {
		t.Error("a store that holds more keys than slots keeps the invariants")
	}
	for fingerprint := range got.Distinct {
		if !strings.Contains(fingerprint, "/invariants/") {
			t.Errorf("%s is no broken invariant", fingerprint)
		}
	}
}

func TestTheModelsVoice(t *testing.T) {
	for _, test := range []struct {
		base, head, voice string
		differ            bool
		want              Vote
	}{
		{"free-queue", "main", "main", true, VoteBase},
		{"main", "free-queue", "main", true, VoteHead},
		{"main", "free-queue", "growing", true, VoteBase},
	} {
		got := claimed(t, "identical", test.base, test.head, test.voice, "unbalanced")
		if (got.Differing > 0) != test.differ {
			t.Errorf("%v: %d differ", test, got.Differing)
		}
		votes := map[Vote]int{}
		for _, d := range got.Distinct {
			votes[d.Vote]++
		}
		if votes[test.want] == 0 {
			t.Errorf("%v: votes %v, want %q among them", test, votes, test.want)
		}
	}
	got := claimed(t, "identical", "free-queue", "free-queue", "main", "unbalanced")
	if got.Differing != 0 || got.ModelAlone == 0 || got.ModelFirst < 0 {
		t.Errorf("a wrong model: %d differ, the model alone in %d, first %d", got.Differing, got.ModelAlone, got.ModelFirst)
	}
}

func TestParseClaim(t *testing.T) {
	for text, want := range map[string]string{
		"identical=2": "takes no number", "headroom": "from 1 to 1024", "headroom=0": "from 1 to 1024", "headroom=x": "from 1 to 1024", "same": "unknown claim",
	} {
		if _, err := ParseClaim(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
	for _, text := range []string{"identical", "identical-until-error", "grows", "headroom=2", "invariants"} {
		if c, err := ParseClaim(text); err != nil || c.String() != text {
			t.Errorf("%q is read as %v, %v", text, c, err)
		}
	}
}
