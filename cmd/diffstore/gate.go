package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/gate"
	"github.com/diffstore/diffstore/report"
)

var gateCommand = command{
	name:      "gate",
	says:      "run everything a CI needs: saved traces, every profile, fresh seeds, hash counting, a claim",
	arguments: "[--settings FILE] [--seed-from TEXT]",
	example:   "diffstore gate --oracle vllm==0.32.0 --seed-from \"$GITHUB_SHA\" --report junit=diffstore.xml",
	flags: func(set *pflag.FlagSet) func(*environment, []string) (diff.Verdict, error) {
		f := &gateFlags{set: set}
		set.StringVar(&f.settings, "settings", "", "settings file (default: "+gate.DefaultFile+" where there is one)")
		set.StringVar(&f.seedFrom, "seed-from", "", "text that the fresh seeds are derived from: a commit, say")
		set.StringVar(&f.over.Oracle, "oracle", "", "the store under test, in place of the settings'")
		set.StringVar(&f.over.Model, "model", "", "the variant it has to behave like, in place of the settings'")
		set.StringVar(&f.over.Base, "base", "", "the store that is replaced, for the claim")
		set.StringVar(&f.over.Head, "head", "", "the store that replaces it, for the claim")
		set.StringVar(&f.over.Claim, "claim", "", strings.Join(diff.ClaimForms, "\n"))
		set.StringArrayVar(&f.over.Corpus, "corpus", nil, "trace file or folder of them to replay; may be repeated")
		set.IntVar(&f.sequences, "sequences", -1, "sequences a profile and seed; the fresh window gets twice as many")
		set.DurationVar(&f.duration, "duration", 0, "budget; stages that do not fit are skipped (0: none)")
		set.IntVar(&f.workers, "workers", 0, "how many oracle processes (0: one a core)")
		set.StringVar(&f.output.out, "out", "diffstore-runs", "folder for the files of failing stages")
		f.declareInterpreter(set)
		f.output.declareForms(set)
		return f.run
	},
}

type gateFlags struct {
	subjectFlags
	set       *pflag.FlagSet
	settings  string
	seedFrom  string
	over      gate.Settings
	sequences int
	duration  time.Duration
	workers   int
	output    outputFlags
}

// merge lays the flags over the settings.
func (f *gateFlags) merge() (gate.Settings, error) {
	s, err := gate.Read(f.settings)
	if err != nil {
		return s, err
	}
	for _, pair := range []struct {
		to   *string
		from string
	}{
		{&s.Oracle, f.over.Oracle}, {&s.Model, f.over.Model}, {&s.Base, f.over.Base}, {&s.Head, f.over.Head}, {&s.Claim, f.over.Claim}, {&s.Python, f.python},
	} {
		if pair.from != "" {
			*pair.to = pair.from
		}
	}
	if f.over.Corpus != nil {
		s.Corpus = f.over.Corpus
	}
	if f.sequences >= 0 {
		s.Sequences, s.Fresh = f.sequences, 2*f.sequences
	}
	return s, nil
}

func (f *gateFlags) run(env *environment, args []string) (diff.Verdict, error) {
	if err := noArguments(args); err != nil {
		return 0, err
	}
	settings, err := f.merge()
	var bad *gate.SettingsError
	if errors.As(err, &bad) {
		return 0, &usageError{bad.What}
	}
	if err != nil {
		return 0, err
	}
	if err := f.output.check(); err != nil {
		return 0, err
	}
	if f.workers == 0 {
		f.workers = runtime.NumCPU()
	}
	f.python = settings.Python
	g := &gate.Gate{
		Settings: settings, SeedFrom: f.seedFrom, Duration: f.duration, Workers: max(1, f.workers), Out: f.output.out,
		Options: f.oracleOptions(env),
	}
	if !f.output.json {
		g.Tell = func(s *gate.Stage) {
			word := s.Verdict.String()
			if s.Skipped != "" {
				word = "skipped"
			}
			fmt.Fprintf(env.stderr, "%-14s %s (%.1f s)\n", word, s.Name, s.Took.Seconds())
		}
	}
	result, err := g.Run(env.ctx)
	if errors.As(err, &bad) {
		return 0, &usageError{bad.What}
	}
	if err != nil {
		return 0, err
	}
	result.Repeat = env.line
	if err := f.output.tell(env, result); err != nil {
		return 0, err
	}
	return result.Verdict, tellGitHub(env, result)
}

// tellGitHub writes the step summary and annotations where a GitHub runner's
// environment asks for them.
func tellGitHub(env *environment, result *gate.Result) error {
	document := result.Document()
	if path := os.Getenv("GITHUB_STEP_SUMMARY"); path != "" {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return fmt.Errorf("the step summary cannot be written: %w", err)
		}
		if _, err := file.WriteString(document.Markdown()); err != nil {
			file.Close()
			return fmt.Errorf("the step summary cannot be written: %w", err)
		}
		if err := file.Close(); err != nil {
			return fmt.Errorf("the step summary cannot be written: %w", err)
		}
	}
	if os.Getenv("GITHUB_ACTIONS") == "true" {
		for _, c := range document.Cases {
			if text := c.Failure + c.Error; text != "" {
				fmt.Fprintln(env.stderr, report.Annotation("diffstore "+c.Name, text))
			}
		}
	}
	return nil
}
