package report

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/prove"
	"github.com/diffstore/diffstore/traces"
)

// proof searches all states of a model variant held against main.
func proof(t *testing.T, variant string, maxStates int, change func(b *prove.Bounds)) *Proof {
	t.Helper()
	bounds := prove.Bounds{Slots: 2, Keys: 2, Counts: 1, Batch: 2, Lists: 1, ObjectBytes: 1}
	change(&bounds)
	search := &prove.Search{Bounds: bounds, Model: "main", Stores: []diff.Open{diff.Model(variant)}, Options: diff.Options{Strict: true}, MaxStates: maxStates}
	result, err := search.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	result.Took, result.Memory = 2*time.Second, 3<<19
	p := &Proof{Repeat: "diffstore prove --keys 2", Bounds: bounds, Model: "main", Result: result}
	p.Verdict, p.Why = prove.Conclude(result, nil)
	return p
}

func TestProofsAreTold(t *testing.T) {
	misuse := func(b *prove.Bounds) { b.Misuse, b.Lists = true, 2 }
	for name, p := range map[string]*Proof{
		"proof-agree":   proof(t, "front-rotation", 0, func(*prove.Bounds) {}),
		"proof-diverge": proof(t, "free-queue", 0, misuse),
		"proof-limit":   proof(t, "main", 2, func(*prove.Bounds) {}),
	} {
		if name == "proof-limit" {
			p.Resume = "diffstore prove --keys 2 --state kept"
		}
		var text bytes.Buffer
		p.Text(&text, Palette{})
		golden(t).Assert(t, name, text.Bytes())
		machine, err := p.JSON()
		if err != nil {
			t.Fatal(err)
		}
		golden(t).Assert(t, name+"-json", machine)
	}
}

// TestTheCounterexampleOfAProofIsSaved: what is saved replays to the same difference.
func TestTheCounterexampleOfAProofIsSaved(t *testing.T) {
	p := proof(t, "free-queue", 0, func(b *prove.Bounds) { b.Misuse, b.Lists = true, 2 })
	if err := p.Save(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"full.jsonl", "reduced.jsonl"} {
		list, err := traces.ReadFile(filepath.Join(p.Folder, name))
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %d traces, %v", name, len(list), err)
		}
		d, err := diff.Diverge(list[0].Sequence(), []diff.Open{diff.Model("main"), diff.Model("free-queue")}, diff.Pair(diff.Options{Strict: true}))
		if err != nil || d == nil || d.Fingerprint() != list[0].Fingerprint {
			t.Errorf("%s replays to %+v, %v; want %s", name, d, err, list[0].Fingerprint)
		}
	}
	for _, name := range []string{"divergence.json", "repro.py", "oracle.stderr"} {
		if _, err := os.Stat(filepath.Join(p.Folder, name)); err != nil {
			t.Error(err)
		}
	}
}
