// Package report turns a finished run into what people and machines read: text
// blocks, a pytest file, JSON, a folder of files.
//
// It alone writes such texts. It compares nothing and runs nothing but the Go
// model, which it asks what a right store would do.
package report

import (
	"encoding/hex"
	"fmt"
	"sort"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/op"
)

// view is an observation as a reader wants it: every part a plain text, keys
// escaped, sets sorted.
type view struct {
	Outcome     string
	Victims     string
	Stored      string
	Unallocated string
	References  string
	Queue       string
	Hashes      string
	Slots       string
	Free        string
	Next        string
}

// viewFields orders and names the parts of a view for display; private parts
// are shown only where they were compared.
var viewFields = []struct {
	name    string
	field   diff.Field
	of      func(v *view) string
	private bool
}{
	{"outcome", diff.FieldOutcome, func(v *view) string { return v.Outcome }, false},
	{"victims", diff.FieldVictims, func(v *view) string { return v.Victims }, false},
	{"stored", diff.FieldStored, func(v *view) string { return v.Stored }, false},
	{"unallocated", diff.FieldZombies, func(v *view) string { return v.Unallocated }, false},
	{"references", diff.FieldRefs, func(v *view) string { return v.References }, false},
	{"queue", diff.FieldQueue, func(v *view) string { return v.Queue }, false},
	{"hashes", diff.FieldHashes, func(v *view) string { return v.Hashes }, false},
	{"slots", diff.FieldSlots, func(v *view) string { return v.Slots }, true},
	{"free", diff.FieldFree, func(v *view) string { return v.Free }, true},
	{"next", diff.FieldNext, func(v *view) string { return v.Next }, true},
}

func viewOf(o *op.Observation) view {
	s := &o.State
	v := view{Outcome: outcomeText(&o.Outcome), Victims: keysText(o.Victims)}
	if o.Outcome.Terminal() {
		return v
	}
	var stored, zombies, slots, refs []string
	for _, e := range s.Entries {
		key := op.FormatKey(e.Key)
		stored = append(stored, key)
		if e.Slot == op.Unallocated {
			zombies = append(zombies, key)
		}
		slots = append(slots, fmt.Sprintf("%s:%d", key, e.Slot))
	}
	for _, r := range s.Refs {
		refs = append(refs, fmt.Sprintf("%s:%d", op.FormatKey(r.Key), r.Count))
	}
	v.Stored = setText(stored)
	if s.Sees&op.SeesZombies != 0 {
		v.Unallocated = setText(zombies)
	}
	if s.Sees&op.SeesRefs != 0 {
		v.References = setText(refs)
	}
	if s.Sees&op.SeesQueue != 0 {
		v.Queue = keysText(s.Queue)
	}
	if s.Sees&op.SeesHashes != 0 || o.Hashes > 0 {
		v.Hashes = fmt.Sprint(o.Hashes)
	}
	if s.Sees&op.SeesSlots != 0 {
		v.Slots, v.Free, v.Next = setText(slots), strings.Trim(fmt.Sprint(s.Free), "[]"), fmt.Sprint(s.Next)
	}
	return v
}

// shownKeys bounds how many keys of a list are shown.
const shownKeys = 40

func keysText(keys []string) string {
	var shown []string
	for _, key := range keys {
		shown = append(shown, op.FormatKey(key))
	}
	return joined(shown)
}

func setText(words []string) string {
	sort.Strings(words)
	return joined(words)
}

func joined(words []string) string {
	if over := len(words) - shownKeys; over > 0 {
		return strings.Join(words[:shownKeys], " ") + fmt.Sprintf(" … and %d more", over)
	}
	return strings.Join(words, " ")
}

// shownBytes bounds how many bytes of a payload are shown.
const shownBytes = 32

func outcomeText(o *op.Outcome) string {
	switch {
	case o.Err != nil && o.Err.Kind == op.OtherError:
		return fmt.Sprintf("%s error (%s): %s", o.Err.Kind, Escape(o.Err.Type), Escape(o.Err.Message))
	case o.Err != nil && o.Err.Kind == op.KeyError:
		return "key error: " + op.FormatKey(o.Err.Key)
	case o.Err != nil:
		return fmt.Sprintf("%s error: %s", o.Err.Kind, Escape(o.Err.Message))
	case o.Payload == nil:
		return "done"
	case len(o.Payload) > shownBytes:
		return fmt.Sprintf("payload %s… of %d bytes", hex.EncodeToString(o.Payload[:shownBytes]), len(o.Payload))
	}
	return "payload " + hex.EncodeToString(o.Payload)
}

// Escape makes foreign text safe to show on a terminal, in one line.
func Escape(text string) string {
	quoted := fmt.Sprintf("%+q", text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// Difference is one field on both sides.
type Difference struct {
	Field string `json:"field"`
	Left  string `json:"left"`
	Right string `json:"right"`
}

// Differences lists the fields in which the two sides of a divergence differ,
// in the order of comparison. The private ones are left out unless the
// divergence is in one of them.
func Differences(d *diff.Divergence) []Difference {
	left, right := viewOf(&d.Left), viewOf(&d.Right)
	reporter := &fieldReporter{differs: map[string]bool{}}
	cmp.Equal(left, right, cmp.Reporter(reporter))
	private := false
	for _, f := range viewFields {
		private = private || f.private && f.field == d.Field
	}
	var out []Difference
	for _, f := range viewFields {
		a, b := f.of(&left), f.of(&right)
		if reporter.differs[f.name] && (!f.private || private) {
			out = append(out, Difference{f.name, a, b})
		}
	}
	return out
}

// fieldReporter collects the names of the fields that go-cmp finds unequal. Its
// own text is not used: it changes from build to build on purpose.
type fieldReporter struct {
	path    cmp.Path
	differs map[string]bool
}

func (r *fieldReporter) PushStep(step cmp.PathStep) { r.path = append(r.path, step) }
func (r *fieldReporter) PopStep()                   { r.path = r.path[:len(r.path)-1] }
func (r *fieldReporter) Report(result cmp.Result) {
	if result.Equal() {
		return
	}
	for _, step := range r.path {
		if field, ok := step.(cmp.StructField); ok {
			r.differs[strings.ToLower(field.Name())] = true
		}
	}
}
