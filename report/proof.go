package report

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/prove"
	"github.com/diffstore/diffstore/traces"
)

// Proof is a finished search of all states within bounds, ready to be told.
type Proof struct {
	// Repeat is the command line that does the same again.
	Repeat  string
	Bounds  prove.Bounds
	Model   string
	Verdict diff.Verdict
	Why     []string
	Result  *prove.Result
	// Reduced is the finding with its arguments made simpler; nil if it was not.
	Reduced *diff.Reduced
	// Resume is the command that goes on with a search that was kept; empty
	// where none was.
	Resume string
	// Folder is where the files of a finding lie.
	Folder string
}

// names are what the two sides are called.
func (p *Proof) names() (left, right string) {
	ids := p.Result.Identities
	if len(ids) < 2 {
		return "left", "right"
	}
	return ids[0].Name, ids[1].Name
}

// Statement is what was found, in one sentence. It does not speak of time, so
// that an interrupted search ends with the same one.
func (p *Proof) Statement() string {
	r := p.Result
	left, right := p.names()
	switch p.Verdict {
	case diff.Agree:
		return fmt.Sprintf("%s and %s agree on all %s states x %s operations with %s: 0 differences",
			left, right, grouped(r.States), grouped(r.Letters), p.Bounds)
	case diff.Diverges:
		d := r.Finding.Divergence
		return fmt.Sprintf("divergence (%s): %s and %s differ in %s after %d ops, the fewest there are with %s",
			d.Class, left, right, d.Field, len(r.Finding.Sequence.Ops), p.Bounds)
	}
	return "infrastructure: nothing is proved: " + strings.Join(p.Why, "; ")
}

// counted says what the search did.
func (p *Proof) counted() []Pair {
	r := p.Result
	states := fmt.Sprintf("%s, which stand for %s under all names of keys and payloads; paths of up to %d ops", grouped(r.States), grouped(r.StandFor), r.Depth)
	if r.Remembered > 0 {
		states += fmt.Sprintf("; %s of them told apart only by what a store remembers", grouped(r.Remembered))
	}
	if !r.Complete {
		states += "; the search ended before it had been through all"
	}
	pairs := []Pair{
		{"states", states},
		{"ops", fmt.Sprintf("%s compared, %s of them with a state beyond the bounds, which was not followed", grouped(r.Ops), grouped(r.Beyond))},
		{"took", fmt.Sprintf("%s (%s compared ops/s), %.1f MiB for the states", seconds(r.Took), grouped(int(perSecond(r.Ops, r.Took))), float64(r.Memory)/(1<<20))},
	}
	for i, work := range r.Work {
		name := r.Identities[len(r.Identities)-len(r.Work)+i].Name
		way := "built anew for each op"
		if r.Copies[i] && work.Rebuilt < r.Ops/2 {
			way = fmt.Sprintf("put back for each op, built anew %s times", grouped(work.Rebuilt))
		}
		pairs = append(pairs, Pair{"work", fmt.Sprintf("%s %s: %s ops performed where replays of every path take %s", name, way, grouped(work.Performed), grouped(r.Plain))})
	}
	return pairs
}

// Document is the search for people and test reports.
func (p *Proof) Document() *Document {
	d := &Document{Title: "diffstore prove: " + p.Bounds.String(), Verdict: p.Verdict, Headline: p.Statement(), Took: p.Result.Took}
	for i, id := range p.Result.Identities {
		d.Reference = append(d.Reference, Pair{[]string{"left", "right"}[min(i, 1)], Identify(id)})
	}
	if p.Result.Ops > 0 {
		d.Reference = append(d.Reference, p.counted()...)
	}
	if p.Folder != "" {
		d.Reference = append(d.Reference, Pair{"files", p.Folder})
	}
	if p.Resume != "" {
		d.Reference = append(d.Reference, Pair{"go on with", p.Resume})
	}
	d.Reference = append(d.Reference, Pair{"repeat", p.Repeat})
	one := Case{Name: p.Bounds.String(), Group: "prove", Took: p.Result.Took}
	switch p.Verdict {
	case diff.Diverges:
		d.Sections = append(d.Sections, p.counterexample())
		one.Failure = d.Headline + "\n" + d.Sections[0].Code.Text
	case diff.Infrastructure:
		one.Error = strings.Join(p.Why, "\n")
	}
	d.Cases = []Case{one}
	return d
}

// finding is the divergence to tell.
func (p *Proof) finding() (op.Sequence, *diff.Divergence) {
	if p.Reduced != nil && !p.Reduced.Flaky {
		return p.Reduced.Sequence, p.Reduced.Divergence
	}
	return p.Result.Finding.Sequence, p.Result.Finding.Divergence
}

func (p *Proof) counterexample() Section {
	s, d := p.finding()
	left, right := p.names()
	lines := []string{fmt.Sprintf("a store of %d slots of %d bytes", s.Slots, s.ObjectBytes)}
	if s.Slots != p.Bounds.Slots {
		lines[0] += ": the reducer made it smaller than the bounds, too"
	}
	lines = append(lines, divergenceLines(s, d, left, right)...)
	trace := p.trace(s, d)
	var file strings.Builder
	if err := traces.Write(&file, trace); err == nil {
		lines = append(lines, "", strings.TrimSpace(file.String()))
	}
	return Section{Title: "The shortest counterexample: " + d.Fingerprint(), Code: &Code{"text", strings.Join(lines, "\n")}}
}

func (p *Proof) trace(s op.Sequence, d *diff.Divergence) traces.Trace {
	left, right := p.names()
	return traces.Trace{Ops: s.Ops, Header: traces.Header{
		Slots: s.Slots, ObjectBytes: s.ObjectBytes, Model: p.Model, Note: Note(d), Fingerprint: d.Fingerprint(), Left: left, Right: right,
	}}
}

// Text writes the search for a terminal.
func (p *Proof) Text(w io.Writer, palette Palette) { p.Document().Text(w, palette) }

// jsonProof is the machine form.
type jsonProof struct {
	Command     string          `json:"command"`
	Repeat      string          `json:"repeat"`
	Verdict     string          `json:"verdict"`
	ExitCode    int             `json:"exit_code"`
	Statement   string          `json:"statement"`
	Why         []string        `json:"why,omitempty"`
	Bounds      prove.Bounds    `json:"bounds"`
	Subjects    []op.Identity   `json:"subjects"`
	States      int             `json:"states"`
	StandFor    int             `json:"states_with_names"`
	Remembered  int             `json:"states_remembered"`
	Expanded    int             `json:"states_searched"`
	Operations  int             `json:"operations"`
	Ops         int             `json:"ops"`
	Beyond      int             `json:"ops_beyond_bounds"`
	Depth       int             `json:"longest_path"`
	Seconds     float64         `json:"seconds"`
	OpsPerSec   float64         `json:"ops_per_second"`
	StateBytes  int64           `json:"state_bytes"`
	Performed   []int           `json:"ops_performed"`
	Plain       int             `json:"ops_of_plain_replays"`
	Interrupted bool            `json:"interrupted,omitempty"`
	Divergence  *jsonDivergence `json:"divergence,omitempty"`
	Sequence    []string        `json:"sequence,omitempty"`
	Reduced     *jsonReduced    `json:"reduced,omitempty"`
	Resume      string          `json:"resume,omitempty"`
	Folder      string          `json:"folder,omitempty"`
}

// JSON is the search for machines.
func (p *Proof) JSON() ([]byte, error) {
	r := p.Result
	j := jsonProof{
		Command: "prove", Repeat: p.Repeat, Verdict: p.Verdict.String(), ExitCode: int(p.Verdict), Statement: p.Statement(), Why: p.Why,
		Bounds: p.Bounds, Subjects: r.Identities, States: r.States, StandFor: r.StandFor, Remembered: r.Remembered, Expanded: r.Expanded,
		Operations: r.Letters, Ops: r.Ops, Beyond: r.Beyond, Depth: r.Depth, Seconds: r.Took.Seconds(), OpsPerSec: perSecond(r.Ops, r.Took),
		StateBytes: r.Memory, Plain: r.Plain, Interrupted: r.Interrupted, Resume: p.Resume, Folder: p.Folder,
	}
	for _, work := range r.Work {
		j.Performed = append(j.Performed, work.Performed)
	}
	if r.Finding != nil {
		s, d := p.finding()
		j.Divergence, j.Sequence = divergenceJSON(d), opTexts(s)
	}
	if p.Reduced != nil {
		j.Reduced = reducedJSON(p.Reduced)
	}
	out, err := json.MarshalIndent(j, "", "  ")
	return append(out, '\n'), err
}

// Save writes the folder of a finding, as for a run. It sets p.Folder.
func (p *Proof) Save(dir string) error {
	found := p.Result.Finding
	p.Folder = filepath.Join(dir, "prove-"+folderName(found.Divergence))
	full := p.trace(found.Sequence, found.Divergence)
	s := saved{full: &full, stderr: p.Result.Stderr, json: p.JSON}
	reduced := p.trace(p.finding())
	s.reduced = &reduced
	return s.write(p.Folder)
}

// folderName is a divergence's fingerprint as part of a path.
func folderName(d *diff.Divergence) string {
	return strings.NewReplacer("/", "-", "|", "-").Replace(d.Fingerprint())
}
