package report

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/fatih/color"

	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/traces"
)

// SourceName is the name of a trace file without folder and ending.
func SourceName(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".jsonl")
}

// ShowTrace writes a trace for people: its header, then each op with what the
// recorded store did, or where nothing is recorded what the model does.
func ShowTrace(w io.Writer, p Palette, t *traces.Trace) error {
	variant := t.Model
	if variant == "" {
		variant = "main"
	}
	store, err := model.New(variant, 1, 1)
	if err != nil {
		return err
	}
	defer store.Release()
	source := "model:" + variant
	if t.Recorded != nil && t.Wants != nil {
		source = strings.TrimSpace(fmt.Sprintf("recorded %s %s", t.Recorded.Project, shortened(t.Recorded.Commit, 12)))
	}
	p.block(w, "TRACE", color.FgCyan, fmt.Sprintf("%s:%d", Escape(t.Name), t.Line), fmt.Sprintf("%d slots of %d bytes, %d ops; outcomes from %s", t.Slots, t.ObjectBytes, len(t.Ops), source))
	if t.Note != "" {
		p.block(w, "NOTE", color.FgCyan, Escape(t.Note))
	}
	if t.Fingerprint != "" {
		p.block(w, "DIVERGENCE", color.FgCyan, Escape(t.Fingerprint), fmt.Sprintf("%s and %s", Escape(t.Left), Escape(t.Right)))
	}
	if refused := store.Reset(t.Slots, t.ObjectBytes); refused != nil {
		p.block(w, "CONSTRUCTOR", color.FgCyan, refused.Error())
		return nil
	}
	for i := range t.Ops {
		var seen op.Observation
		store.Step(&t.Ops[i], &seen)
		if t.Wants != nil && t.Wants[i] != nil {
			seen = *t.Wants[i]
		}
		v := viewOf(&seen)
		p.block(w, fmt.Sprintf("%3d", i+1), color.FgCyan, t.Ops[i].String(), stepText(&v))
	}
	return nil
}

// stepText says what an op did: outcome, victims, and what is stored behind it.
func stepText(v *view) string {
	parts := []string{v.Outcome}
	for _, part := range []struct{ label, text string }{
		{"victims", v.Victims}, {"stored", v.Stored}, {"without slot", v.Unallocated}, {"references", v.References}, {"queue", v.Queue},
	} {
		if part.text != "" {
			parts = append(parts, part.label+" "+part.text)
		}
	}
	return "  " + strings.Join(parts, "; ")
}
