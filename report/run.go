package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/traces"
)

// Run is a finished run of two subjects, ready to be told.
type Run struct {
	// Command is the subcommand, Repeat the whole command line that does the
	// same again.
	Command, Repeat string
	Verdict         diff.Verdict
	// Why says what an infrastructure verdict comes from, a line each.
	Why  []string
	Seed uint64
	// Profile is the profile of a campaign; empty where there was none.
	Profile string
	// Source is the name of what was replayed, without folder and ending; empty
	// for a campaign.
	Source string
	// Model is the variant that the left side is, for the traces' headers.
	Model string
	// Oracle is the spec of the right side, for the commands to go on with.
	Oracle  string
	Result  *diff.Result
	Reduced *diff.Reduced
	// Stale lists known divergences that are none any more.
	Stale []string
	// Folder is where the files of a failing run lie; empty when there are none.
	Folder string
	// Strict says that private parts were compared; Flags are the further flags
	// that the commands to go on with need, each with a blank in front.
	Strict bool
	Flags  string
	// Place, for replayed traces, says where one comes from.
	Place func(index int) string
}

// finding is the divergence to tell: reduced where there is one.
func (r *Run) finding() (op.Sequence, *diff.Divergence) {
	if r.Reduced != nil && !r.Reduced.Flaky {
		return r.Reduced.Sequence, r.Reduced.Divergence
	}
	f := r.Result.Findings[0]
	return f.Sequence, f.Divergence
}

// names are what the two sides are called.
func (r *Run) names() (left, right string) {
	left, right = "left", "right"
	if r.Result != nil && len(r.Result.Identities) > 1 {
		left, right = r.Result.Identities[0].Name, r.Result.Identities[1].Name
	}
	return left, right
}

// shownNames are the names as they are safe to show.
func (r *Run) shownNames() (left, right string) {
	left, right = r.names()
	return Escape(left), Escape(right)
}

// Trace makes the trace file's content of a sequence that diverges.
func (r *Run) Trace(s op.Sequence, d *diff.Divergence, note string) traces.Trace {
	left, right := r.names()
	h := traces.Header{
		Slots: s.Slots, ObjectBytes: s.ObjectBytes, Model: r.Model, Note: note,
		Fingerprint: d.Fingerprint(), Left: left, Right: right,
	}
	if d.Case >= 0 && r.Profile != "" {
		h.Seed, h.Case = strconv.FormatUint(r.Seed, 10), &d.Case
	}
	return traces.Trace{Header: h, Ops: s.Ops}
}

// Note says in one line what a divergence is.
func Note(d *diff.Divergence) string {
	return fmt.Sprintf("%s: %s of %s", d.Class, d.Field, opWord(d))
}

func opWord(d *diff.Divergence) string {
	if d.Step < 0 {
		return "the constructor"
	}
	return fmt.Sprintf("op %d (%s)", d.Step+1, d.Op.Kind)
}

// jsonRun is the machine form of a run, stable by name.
type jsonRun struct {
	Command     string          `json:"command"`
	Repeat      string          `json:"repeat"`
	Verdict     string          `json:"verdict"`
	ExitCode    int             `json:"exit_code"`
	Why         []string        `json:"why,omitempty"`
	Seed        string          `json:"seed"`
	Profile     string          `json:"profile,omitempty"`
	Sequences   int             `json:"sequences"`
	Ops         int             `json:"ops"`
	Seconds     float64         `json:"seconds"`
	OpsPerSec   float64         `json:"ops_per_second"`
	Subjects    []op.Identity   `json:"subjects"`
	Stats       any             `json:"stats,omitempty"`
	Divergence  *jsonDivergence `json:"divergence,omitempty"`
	Reduced     *jsonReduced    `json:"reduced,omitempty"`
	Folder      string          `json:"folder,omitempty"`
	Interrupted bool            `json:"interrupted,omitempty"`
}

type jsonDivergence struct {
	Case        int          `json:"case"`
	Step        int          `json:"step"`
	Op          string       `json:"op"`
	Field       diff.Field   `json:"field"`
	Detail      string       `json:"detail,omitempty"`
	Class       diff.Class   `json:"class"`
	Fingerprint string       `json:"fingerprint"`
	Differences []Difference `json:"differences"`
}

type jsonReduced struct {
	Ops         []string `json:"ops"`
	Slots       int      `json:"slots"`
	ObjectBytes int      `json:"object_nbytes"`
	Evaluations int      `json:"evaluations"`
	Seconds     float64  `json:"seconds"`
	Flaky       bool     `json:"flaky,omitempty"`
	Exhausted   bool     `json:"exhausted,omitempty"`
}

func divergenceJSON(d *diff.Divergence) *jsonDivergence {
	return &jsonDivergence{
		Case: d.Case, Step: d.Step, Op: d.Op.String(), Field: d.Field, Detail: d.Detail,
		Class: d.Class, Fingerprint: d.Fingerprint(), Differences: Differences(d),
	}
}

func reducedJSON(r *diff.Reduced) *jsonReduced {
	return &jsonReduced{
		Ops: opTexts(r.Sequence), Slots: r.Sequence.Slots, ObjectBytes: r.Sequence.ObjectBytes,
		Evaluations: r.Evaluations, Seconds: r.Took.Seconds(), Flaky: r.Flaky, Exhausted: r.Exhausted,
	}
}

// JSON is the run for machines.
func (r *Run) JSON() ([]byte, error) {
	j := jsonRun{
		Command: r.Command, Repeat: r.Repeat, Verdict: r.Verdict.String(), ExitCode: int(r.Verdict), Why: r.Why,
		Seed: strconv.FormatUint(r.Seed, 10), Profile: r.Profile, Folder: r.Folder,
	}
	if res := r.Result; res != nil {
		j.Sequences, j.Ops, j.Seconds, j.Subjects, j.Interrupted = res.Sequences, res.Ops, res.Took.Seconds(), res.Identities, res.Interrupted
		j.OpsPerSec = perSecond(res.Ops, res.Took)
		if res.Stats.Sequences > 0 {
			j.Stats = &res.Stats
		}
		if len(res.Findings) > 0 {
			_, d := r.finding()
			j.Divergence = divergenceJSON(d)
		}
	}
	if r.Reduced != nil {
		j.Reduced = reducedJSON(r.Reduced)
	}
	out, err := json.MarshalIndent(j, "", "  ")
	return append(out, '\n'), err
}

func opTexts(s op.Sequence) []string {
	var out []string
	for i := range s.Ops {
		out = append(out, s.Ops[i].String())
	}
	return out
}

func perSecond(n int, took time.Duration) float64 {
	if took <= 0 {
		return 0
	}
	return float64(n) / took.Seconds()
}

// Reserve checks that failing runs can be kept below dir, before anything runs.
func Reserve(dir string) error {
	var made []string // a passing run leaves nothing, so these go again
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil || at == filepath.Dir(at) {
			break
		}
		made = append(made, at)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("the output folder cannot be made: %v; name another with --out", err)
	}
	probe, err := os.MkdirTemp(dir, ".probe-")
	if err != nil {
		return fmt.Errorf("the output folder cannot be written: %v; name another with --out", err)
	}
	_ = os.Remove(probe)
	for _, at := range made {
		_ = os.Remove(at)
	}
	return nil
}

// saved is what a failing run leaves in its folder.
type saved struct {
	full, reduced *traces.Trace
	stderr        []string
	json          func() ([]byte, error)
}

// Save writes the folder of a failing run: full.jsonl, reduced.jsonl,
// divergence.json, oracle.stderr and repro.py, as far as there is something to
// write. It sets r.Folder.
func (r *Run) Save(dir string) error {
	found := r.Result.Findings[0]
	r.Folder = filepath.Join(dir, r.folderName(found.Divergence.Case))
	full := r.Trace(found.Sequence, found.Divergence, Note(found.Divergence))
	s := saved{full: &full, stderr: r.Result.Stderr, json: r.JSON}
	if r.Reduced != nil && !r.Reduced.Flaky {
		reduced := r.Trace(r.Reduced.Sequence, r.Reduced.Divergence, Note(r.Reduced.Divergence))
		s.reduced = &reduced
	}
	return s.write(r.Folder)
}

// folderName tells runs apart that are kept below one folder.
func (r *Run) folderName(index int) string {
	if r.Profile != "" {
		return fmt.Sprintf("%s-%s-seed%d-case%d", r.Command, r.Profile, r.Seed, index)
	}
	return fmt.Sprintf("%s-%s-trace%d", r.Command, r.Source, index+1)
}

func (s *saved) write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := traces.WriteFile(filepath.Join(folder, "full.jsonl"), *s.full); err != nil {
		return err
	}
	if s.reduced != nil {
		if err := traces.WriteFile(filepath.Join(folder, "reduced.jsonl"), *s.reduced); err != nil {
			return err
		}
	}
	shortest := s.full
	if s.reduced != nil {
		shortest = s.reduced
	}
	if test, err := Pytest(shortest, DefaultImport); err == nil {
		if err := os.WriteFile(filepath.Join(folder, "repro.py"), []byte(test), 0o644); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "oracle.stderr"), []byte(strings.Join(s.stderr, "")), 0o644); err != nil {
		return err
	}
	machine, err := s.json()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "divergence.json"), machine, 0o644)
}
