package selfcheck

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/python"
)

// Fate is what became of an automatic mutant.
type Fate string

const (
	// Killed: the campaign found a divergence, or the mutant did not even load.
	Killed Fate = "killed"
	// Survived: nothing was found.
	Survived Fate = "survived"
	// Equivalent: nothing was found, and it is on record why nothing can be.
	Equivalent Fate = "equivalent"
	// Disproved: it is on record that nothing can be found, and something was.
	Disproved Fate = "recorded as equivalent, but killed"
)

// Automatic is one automatic mutant of a store file and its fate.
type Automatic struct {
	// Operator names the kind of change, Change says what was changed, Line is
	// where in the file, counted from 1.
	Operator string `json:"operator"`
	Line     int    `json:"line"`
	Change   string `json:"change"`
	// Source is the changed file.
	Source string `json:"source"`

	Fate Fate `json:"-"`
	// How is the fingerprint of the divergence, or why it did not load.
	How string `json:"-"`
	// Sequences and Ops are how many it took; of one that was not killed, all.
	Sequences, Ops int `json:"-"`
	// Reason says why an equivalent mutant is one.
	Reason string `json:"-"`
}

// Report is what became of all automatic mutants of one store file.
type Report struct {
	// Spec names the store as the user did, SHA256 is the hash of its file.
	Spec, SHA256 string
	Mutants      []Automatic
	// Stale are the records that name no mutant of the file.
	Stale []Record
}

// Count is how many mutants met a fate.
func (r *Report) Count(fate Fate) int {
	n := 0
	for i := range r.Mutants {
		if r.Mutants[i].Fate == fate {
			n++
		}
	}
	return n
}

// Store is a store whose automatic mutants are to be tried.
type Store struct {
	// Spec names it, Model is the variant of the model that it agrees with.
	Spec, Model string
	// Strict compares slots, too.
	Strict bool
	// Records is a file of equivalent mutants; empty takes those that come with
	// this package, if they are of this very store file.
	Records string
}

// Mutate makes the automatic mutants of a store and runs each as a campaign
// against the model.
//
// An error is a failure of the set-up, an unchanged store that does not agree
// with the model among them: nothing could be said of its mutants then.
func Mutate(ctx context.Context, s Store, o Options) (*Report, error) {
	o = o.withDefaults()
	launch, err := oracle.Resolve(s.Spec, o.Oracle)
	if err != nil {
		return nil, err
	}
	f, err := openFile(s, launch)
	if err != nil {
		return nil, err
	}
	r := &Report{Spec: s.Spec, SHA256: hashOf(f.source)}
	list, err := recordsOf(s.Records, r.SHA256)
	if err != nil {
		return nil, err
	}
	if r.Mutants, err = automaticMutants(ctx, &launch, f.source); err != nil {
		return nil, err
	}
	r.Stale = match(r, list)
	if err := f.agrees(ctx, &o); err != nil {
		return nil, err
	}
	return r, o.each(ctx, len(r.Mutants), func(ctx context.Context, i int) error {
		return f.try(ctx, &r.Mutants[i], &o)
	})
}

func hashOf(source string) string {
	sum := sha256.Sum256([]byte(source))
	return hex.EncodeToString(sum[:])
}

// automaticMutants lets Python change the source in every way that it knows.
func automaticMutants(ctx context.Context, launch *oracle.Launch, source string) ([]Automatic, error) {
	command := exec.CommandContext(ctx, launch.Command[0], "-c", python.Mutator())
	if launch.Config.Class != "" {
		command.Args = append(command.Args, launch.Config.Class)
	}
	command.Stdin = strings.NewReader(source)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	out, err := command.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(complaint.String()), "\n")
		return nil, fmt.Errorf("%s cannot be mutated: %w: %s", launch.Spec, err, lines[len(lines)-1])
	}
	var mutants []Automatic
	if err := json.Unmarshal(out, &mutants); err != nil {
		return nil, fmt.Errorf("the list of mutants: %w", err)
	}
	if len(mutants) == 0 {
		return nil, fmt.Errorf("%s holds nothing that can be mutated", launch.Spec)
	}
	return mutants, nil
}

// agrees runs the unchanged store, by the same way as its mutants.
func (f *file) agrees(ctx context.Context, o *Options) error {
	once := *o
	once.Sequences = min(o.Sequences, canarySequences)
	return f.with(f.source, func(t *trial) error {
		result, err := t.campaign(ctx, 1, &once)
		if err != nil || len(result.Findings) == 0 {
			return err
		}
		d := result.Findings[0].Divergence
		return fmt.Errorf("%s differs from model:%s as it is (case %d, %s), so nothing can be said of its mutants",
			f.Spec, f.Model, d.Case, d.Fingerprint())
	})
}

// try runs one mutant on one base seed after the other until it is killed.
func (f *file) try(ctx context.Context, m *Automatic, o *Options) error {
	how, err := "", f.with(m.Source, func(t *trial) error { return m.attack(ctx, t, o) })
	var fault *oracle.Fault
	switch {
	case errors.As(err, &fault) && fault.Kind != "python" && ctx.Err() == nil:
		how = "fails as a whole: " + fault.Kind
	case err != nil:
		return fmt.Errorf("line %d, %s: %w", m.Line, m.Change, err)
	default:
		how = m.How
	}
	m.How = how
	switch {
	case how != "" && m.Fate == Equivalent:
		m.Fate = Disproved
	case how != "":
		m.Fate = Killed
	case m.Fate != Equivalent:
		m.Fate = Survived
	}
	return nil
}

// attack runs the mutant on one base seed after the other until it differs, and
// notes how it does.
func (m *Automatic) attack(ctx context.Context, t *trial, o *Options) error {
	for seed := range uint64(o.Seeds) {
		result, err := t.campaign(ctx, seed+1, o)
		if err != nil {
			return err
		}
		if len(result.Findings) > 0 {
			d := result.Findings[0].Divergence
			m.How = d.Fingerprint()
			m.Sequences += d.Case + 1
			m.Ops += opsUntil(seed+1, o.Gen, d)
			return nil
		}
		m.Sequences += result.Sequences
		m.Ops += result.Ops
	}
	return nil
}

// file is a store file whose changed copies are run.
type file struct {
	Store
	launch oracle.Launch
	// path is where the file lies, empty for one that is embedded.
	path, source string
}

// openFile finds the source behind a launch.
func openFile(s Store, launch oracle.Launch) (*file, error) {
	f := &file{Store: s, launch: launch, path: launch.Config.Path}
	switch {
	case launch.Config.Source != nil:
		f.source = *launch.Config.Source
		return f, nil
	case launch.Config.Package != "":
		// Only the interpreter knows where its packages lie.
		o, err := oracle.Open(launch, oracle.Ask{})
		if err != nil {
			return nil, err
		}
		f.path = o.Identity().Path
		o.Close()
	case f.path == "":
		return nil, &oracle.UsageError{What: launch.Spec + " shows no source that could be mutated"}
	}
	text, err := os.ReadFile(f.path)
	if err != nil {
		return nil, err
	}
	f.source = string(text)
	return f, nil
}

// with runs a trial of the file with another source. A file on disk is run from a
// copy of its place, so that what it imports from beside it is found.
func (f *file) with(source string, run func(t *trial) error) error {
	launch := f.launch
	if f.path == "" {
		launch.Config.Source = &source
		return f.start(launch, run)
	}
	root, err := os.MkdirTemp("", "diffstore-mutant-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	launch.Config.Package, launch.Config.PackagePath = "", nil
	if launch.Config.Path, err = mirror(f.path, source, root); err != nil {
		return err
	}
	return f.start(launch, run)
}

func (f *file) start(launch oracle.Launch, run func(t *trial) error) error {
	t, err := newTrial(f.Model, launch, f.Strict)
	if err != nil {
		return err
	}
	defer t.close()
	return run(t)
}
