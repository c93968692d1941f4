package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"strings"
	"time"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/report"
	"github.com/diffstore/diffstore/rescan"
	"github.com/diffstore/diffstore/subject"
	"github.com/diffstore/diffstore/traces"
)

// Gate is one run of the settings.
type Gate struct {
	Settings
	// SeedFrom is the text that the fresh seeds are derived from: a commit, say.
	SeedFrom string
	// Duration bounds the whole gate; stages that do not fit are skipped, and
	// say so. 0 means no bound.
	Duration time.Duration
	// Workers is how many oracle processes run side by side.
	Workers int
	// Out is the folder for the files of failing stages.
	Out string
	// Options open the oracles.
	Options oracle.Options
	// Tell is told each stage as it ends.
	Tell func(stage *Stage)

	began time.Time
	known traces.KnownList
}

// Told is what a stage has to tell.
type Told interface {
	Document() *report.Document
	JSON() ([]byte, error)
}

// Stage is one finished part of a gate.
type Stage struct {
	Name    string
	Verdict diff.Verdict
	// Why is a line for each thing that kept the stage from running.
	Why []string
	// Skipped says why the stage did not run; it fails nothing.
	Skipped string
	Took    time.Duration
	// Told is nil where nothing ran.
	Told Told
}

// Result is a finished gate.
type Result struct {
	Repeat  string
	Verdict diff.Verdict
	Stages  []*Stage
	Took    time.Duration
}

// stage is a part to run.
type stage struct {
	name string
	run  func(ctx context.Context) (Told, diff.Verdict, []string, error)
}

// Run runs every stage; one that fails keeps none from running. A divergence
// outweighs what is wrong with the set-up.
func (g *Gate) Run(ctx context.Context) (*Result, error) {
	g.began = time.Now()
	if err := g.Check(); err != nil {
		return nil, err
	}
	var err error
	if g.Known != "" {
		if g.known, err = traces.ReadKnown(g.Known); err != nil {
			return nil, err
		}
	}
	stages, err := g.stages()
	if err != nil {
		return nil, err
	}
	out := &Result{}
	ran := 0
	for _, s := range stages {
		done := &Stage{Name: s.name}
		began := time.Now()
		switch {
		case ctx.Err() != nil:
			done.Verdict, done.Why = diff.Infrastructure, []string{"interrupted before it ran"}
		case g.Duration > 0 && time.Since(g.began) >= g.Duration:
			done.Skipped = fmt.Sprintf("the budget of %v was spent", g.Duration)
		default:
			ran++
			told, verdict, why, err := s.run(ctx)
			if err != nil {
				verdict, why = diff.Infrastructure, []string{err.Error()}
			}
			done.Told, done.Verdict, done.Why = told, verdict, why
		}
		done.Took = time.Since(began)
		out.Stages = append(out.Stages, done)
		if g.Tell != nil {
			g.Tell(done)
		}
		if out.Verdict != diff.Diverges && done.Verdict != diff.Agree {
			out.Verdict = done.Verdict
		}
	}
	if ran == 0 && out.Verdict == diff.Agree {
		out.Verdict = diff.Infrastructure
	}
	out.Took = time.Since(g.began)
	return out, nil
}

// stages lists what is to run.
func (g *Gate) stages() ([]stage, error) {
	var list []stage
	for _, place := range g.Corpus {
		files, err := corpusFiles(place)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			list = append(list, stage{"replay " + file, func(ctx context.Context) (Told, diff.Verdict, []string, error) { return g.replay(ctx, file) }})
		}
	}
	if g.Sequences > 0 {
		for _, profile := range g.Profiles {
			for _, seed := range g.Seeds {
				list = append(list, g.fuzzStage(fmt.Sprintf("fuzz %s seed %d", profile, seed), profile, seed, g.Sequences))
			}
		}
	}
	if g.Fresh > 0 {
		seed := FreshSeed(g.SeedFrom)
		list = append(list, g.fuzzStage(fmt.Sprintf("fuzz fresh seed %d", seed), gen.DefaultProfile, seed, g.Fresh))
	}
	if g.Rescan != "off" {
		list = append(list, stage{"rescan", g.rescan})
	}
	if g.Base != "" {
		for _, profile := range g.ClaimProfiles {
			list = append(list, stage{"compare " + profile, func(ctx context.Context) (Told, diff.Verdict, []string, error) { return g.compare(ctx, profile) }})
		}
	}
	return list, nil
}

// FreshSeed derives a seed from a text; the same text gives the same seed.
func FreshSeed(text string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, text) // a hash takes every byte
	return h.Sum64()
}

func corpusFiles(place string) ([]string, error) {
	info, err := os.Stat(place)
	if err != nil {
		return nil, &SettingsError{fmt.Sprintf("corpus: %v", err)}
	}
	if !info.IsDir() {
		return []string{place}, nil
	}
	return traces.Corpus(place)
}

func (g *Gate) compareOptions() diff.Options {
	return diff.Options{Strict: g.Strict, Text: g.Text, Unbounded: model.Grows(g.Model)}
}

// open resolves a spec.
func (g *Gate) open(spec string) (diff.Open, error) {
	launch, err := oracle.Resolve(spec, g.Options)
	if err != nil {
		return nil, err
	}
	return subject.Oracle(launch, oracle.Ask{}), nil
}

func (g *Gate) isKnown(store string) func(*diff.Divergence) bool {
	return func(d *diff.Divergence) bool {
		_, ok := g.known.Match(d.Fingerprint(), store)
		return ok
	}
}

// flags are what every command that repeats a stage needs.
func (g *Gate) flags() string {
	text := " --oracle " + report.Quote(g.Oracle) + " --model " + g.Model
	if g.Strict {
		text += " --strict"
	}
	if g.Python != "" {
		text += " --python " + report.Quote(g.Python)
	}
	return text
}

func (g *Gate) fuzzStage(name, profile string, seed uint64, sequences int) stage {
	return stage{name, func(ctx context.Context) (Told, diff.Verdict, []string, error) {
		open, err := g.open(g.Oracle)
		if err != nil {
			return nil, 0, nil, err
		}
		opens, options := []diff.Open{diff.Model(g.Model), open}, g.compareOptions()
		campaign := &diff.Campaign{
			Gen: gen.Config{Profile: profile}, Seed: seed, Sequences: sequences, Workers: g.Workers,
			Subjects: opens, Judge: func() diff.Judge { return diff.Pair(options) }, Known: g.isKnown(g.Oracle),
		}
		if g.Duration > 0 {
			campaign.Duration = g.Duration - time.Since(g.began)
		}
		result, failure := campaign.Run(ctx)
		r := &report.Run{
			Command: "fuzz", Repeat: fmt.Sprintf("diffstore fuzz --profile %s --seed %d --sequences %d%s", profile, seed, sequences, g.flags()),
			Seed: seed, Profile: profile, Model: g.Model, Oracle: g.Oracle, Result: result, Strict: g.Strict,
		}
		r.Verdict, r.Why = diff.Conclude(result, failure, result.Stats.Floors(campaign.Gen, options.Unbounded))
		return r, r.Verdict, r.Why, g.finish(ctx, r, opens, options)
	}}
}

// finish reduces and saves the finding of a failing run.
func (g *Gate) finish(ctx context.Context, r *report.Run, opens []diff.Open, options diff.Options) error {
	if r.Verdict != diff.Diverges {
		return nil
	}
	found := r.Result.Findings[0]
	reduced, err := diff.Reduce(ctx, found.Sequence, found.Divergence, opens, diff.Pair(options), diff.DefaultBudget)
	if err == nil {
		r.Reduced = &reduced
	}
	return r.Save(g.Out)
}

func (g *Gate) replay(ctx context.Context, file string) (Told, diff.Verdict, []string, error) {
	list, err := traces.ReadFile(file)
	if err != nil {
		return nil, 0, nil, err
	}
	open, err := g.open(g.Oracle)
	if err != nil {
		return nil, 0, nil, err
	}
	opens, options := []diff.Open{diff.Model(g.Model), open}, g.compareOptions()
	result, failure := diff.Replay(ctx, list, opens, options)
	r := &report.Run{Command: "replay", Source: report.SourceName(file), Repeat: "diffstore replay " + report.Quote(file) + g.flags(), Model: g.Model, Oracle: g.Oracle, Result: result, Strict: g.Strict}
	r.Verdict, r.Why = diff.Conclude(result, failure, nil)
	if r.Verdict == diff.Diverges && list[result.Findings[0].Divergence.Case].Wants != nil {
		// What was recorded cannot be run again, so there is nothing to reduce against.
		return r, r.Verdict, nil, r.Save(g.Out)
	}
	return r, r.Verdict, r.Why, g.finish(ctx, r, opens, options)
}

func (g *Gate) rescan(ctx context.Context) (Told, diff.Verdict, []string, error) {
	launch, err := oracle.Resolve(g.Oracle, g.Options)
	if err != nil {
		return nil, 0, nil, err
	}
	config := rescan.Default
	config.Limit = g.RescanLimit
	result, err := rescan.Run(ctx, config, rescan.Oracle(launch))
	if err != nil {
		return nil, 0, nil, err
	}
	verdict := result.Verdict()
	if g.Rescan == "report" && len(result.Wrong) == 0 {
		verdict = diff.Agree
	}
	return &report.Rescan{Repeat: "diffstore rescan --oracle " + report.Quote(g.Oracle), Result: result, ReportOnly: g.Rescan == "report"}, verdict, nil, nil
}

func (g *Gate) compare(ctx context.Context, profile string) (Told, diff.Verdict, []string, error) {
	claim, err := diff.ParseClaim(g.Claim)
	if err != nil {
		return nil, 0, nil, err
	}
	base, err := g.open(g.Base)
	if err != nil {
		return nil, 0, nil, err
	}
	head, err := g.open(g.Head)
	if err != nil {
		return nil, 0, nil, err
	}
	comparison := &diff.Comparison{
		Claim: claim, Options: g.compareOptions(), Base: base, Head: head, Model: g.Model, Budget: diff.DefaultBudget,
		Campaign: diff.Campaign{Gen: gen.Config{Profile: profile}, Seed: g.Seeds[0], Sequences: max(1, g.Sequences), Workers: max(1, g.Workers/2), Known: g.isKnown(g.Head)},
	}
	compared, failure := comparison.Run(ctx)
	c := &report.Comparison{
		Repeat: fmt.Sprintf("diffstore compare --base %s --head %s --claim %s --profile %s --seed %d --sequences %d --model %s",
			report.Quote(g.Base), report.Quote(g.Head), claim, profile, g.Seeds[0], max(1, g.Sequences), g.Model),
		Claim: claim, Seed: g.Seeds[0], Profile: profile, Model: g.Model, Base: g.Base, Head: g.Head, Compared: compared,
	}
	c.Verdict, c.Why = diff.Conclude(compared.Result, failure, nil)
	if c.Verdict == diff.Diverges {
		return c, c.Verdict, nil, c.Save(g.Out)
	}
	return c, c.Verdict, c.Why, nil
}

// Document is the gate for people and test reports: a table of the stages, then
// what each failing one has to tell.
func (r *Result) Document() *report.Document {
	d := &report.Document{Title: "diffstore gate", Verdict: r.Verdict, Took: r.Took, Reference: []report.Pair{{Label: "repeat", Text: r.Repeat}}}
	t := &report.Table{Head: []string{"stage", "verdict", "seconds", "what"}}
	failed := 0
	var details []report.Section
	for _, s := range r.Stages {
		one := report.Case{Name: s.Name, Group: "gate", Took: s.Took, Skipped: s.Skipped}
		what, word := strings.Join(s.Why, "; "), s.Verdict.String()
		if s.Told != nil {
			told := s.Told.Document()
			what = told.Headline
			if s.Verdict == diff.Diverges {
				for _, c := range told.Cases {
					one.Failure += c.Failure
				}
				for _, section := range told.Sections {
					section.Title = s.Name + ": " + section.Title
					details = append(details, section)
				}
			}
			if s == r.first() {
				d.Reference = append(told.Reference[:len(told.Reference)-1:len(told.Reference)-1], d.Reference...)
			}
		}
		switch {
		case s.Skipped != "":
			word, what = "skipped", s.Skipped
		case s.Verdict == diff.Infrastructure:
			one.Error = what
		}
		if s.Verdict != diff.Agree {
			failed++
		}
		t.Rows = append(t.Rows, []string{s.Name, word, fmt.Sprintf("%.1f", s.Took.Seconds()), what})
		d.Cases = append(d.Cases, one)
	}
	d.Headline = fmt.Sprintf("%s: %d of %d stages failed", r.Verdict, failed, len(r.Stages))
	d.Sections = append([]report.Section{{Title: "Stages", Table: t}}, details...)
	return d
}

// first is the first stage with something to tell.
func (r *Result) first() *Stage {
	for _, s := range r.Stages {
		if s.Told != nil {
			return s
		}
	}
	return nil
}

// Text writes the gate for a terminal.
func (r *Result) Text(w io.Writer, p report.Palette) { r.Document().Text(w, p) }

// JSON is the gate for machines: each stage with what it has to tell.
func (r *Result) JSON() ([]byte, error) {
	type jsonStage struct {
		Name    string          `json:"name"`
		Verdict string          `json:"verdict"`
		Why     []string        `json:"why,omitempty"`
		Skipped string          `json:"skipped,omitempty"`
		Seconds float64         `json:"seconds"`
		Told    json.RawMessage `json:"told,omitempty"`
	}
	stages := []jsonStage{}
	for _, s := range r.Stages {
		one := jsonStage{Name: s.Name, Verdict: s.Verdict.String(), Why: s.Why, Skipped: s.Skipped, Seconds: s.Took.Seconds()}
		if s.Told != nil {
			told, err := s.Told.JSON()
			if err != nil {
				return nil, err
			}
			one.Told = told
		}
		stages = append(stages, one)
	}
	out, err := json.MarshalIndent(struct {
		Command  string      `json:"command"`
		Repeat   string      `json:"repeat"`
		Verdict  string      `json:"verdict"`
		ExitCode int         `json:"exit_code"`
		Seconds  float64     `json:"seconds"`
		Stages   []jsonStage `json:"stages"`
	}{"gate", r.Repeat, r.Verdict.String(), int(r.Verdict), r.Took.Seconds(), stages}, "", "  ")
	return append(out, '\n'), err
}
