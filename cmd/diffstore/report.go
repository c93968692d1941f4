package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/report"
	"github.com/diffstore/diffstore/traces"
)

// finished is anything that a command has to tell.
type finished interface {
	Text(w io.Writer, p report.Palette)
	Document() *report.Document
	JSON() ([]byte, error)
}

// outputFlags are where a run's findings go.
type outputFlags struct {
	out      string
	json     bool
	noReduce bool
	reports  []string
}

func (f *outputFlags) declare(set *pflag.FlagSet) {
	set.StringVar(&f.out, "out", "diffstore-runs", "folder for the files of a failing run")
	set.BoolVar(&f.noReduce, "no-reduce", false, "do not shorten the sequence that diverges")
	f.declareForms(set)
}

// declareForms declares how a run is told, for commands that keep no files.
func (f *outputFlags) declareForms(set *pflag.FlagSet) {
	set.BoolVar(&f.json, "json", false, "print the run as JSON")
	set.StringArrayVar(&f.reports, "report", nil, "write a report, FORM=FILE with FORM "+strings.Join(reportForms, ", ")+"; may be repeated")
}

// reportForms are the forms of a report file.
var reportForms = []string{"markdown", "junit", "json"}

// check refuses a bad form and what cannot be written, before anything runs.
func (f *outputFlags) check() error {
	for _, target := range f.reports {
		form, path, _ := strings.Cut(target, "=")
		known := false
		for _, name := range reportForms {
			known = known || name == form
		}
		if !known || path == "" {
			return &usageError{fmt.Sprintf("--report %q is not FORM=FILE%s", target, suggestion(form, reportForms, "the forms are "+strings.Join(reportForms, ", ")))}
		}
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return &usageError{fmt.Sprintf("the report cannot be written: %v", err)}
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	if f.out == "" {
		return nil
	}
	if err := report.Reserve(f.out); err != nil {
		return &usageError{err.Error()}
	}
	return nil
}

// tell prints a finished thing in the form that was asked for and writes its reports.
func (f *outputFlags) tell(env *environment, done finished) error {
	if f.json {
		out, err := done.JSON()
		if err != nil {
			return err
		}
		if _, err := env.stdout.Write(out); err != nil {
			return err
		}
	} else {
		done.Text(env.stdout, env.palette)
	}
	for _, target := range f.reports {
		form, path, _ := strings.Cut(target, "=")
		if err := writeReport(form, path, done); err != nil {
			return err
		}
	}
	return nil
}

// finish reduces the finding of a run and saves its files.
func (f *outputFlags) finish(env *environment, r *report.Run, opens []diff.Open, judge diff.Judge) error {
	r.Reduced = f.shorten(env, r.Result.Findings[0], opens, judge)
	return r.Save(f.out)
}

// shorten reduces a finding; nil where that was not wanted or not possible.
func (f *outputFlags) shorten(env *environment, found diff.Finding, opens []diff.Open, judge diff.Judge) *diff.Reduced {
	if f.noReduce {
		return nil
	}
	reduced, err := diff.Reduce(env.ctx, found.Sequence, found.Divergence, opens, judge, diff.DefaultBudget)
	if err != nil {
		fmt.Fprintf(env.stderr, "diffstore: the sequence could not be reduced: %v\n", err)
		return nil
	}
	return &reduced
}

func writeReport(form, path string, done finished) error {
	if form == "json" {
		out, err := done.JSON()
		if err != nil {
			return err
		}
		return os.WriteFile(path, out, 0o644)
	}
	if form == "markdown" {
		return os.WriteFile(path, []byte(done.Document().Markdown()), 0o644)
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := done.Document().JUnit(file); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

// defaultKnown is the list of known divergences that is read when it is there.
const defaultKnown = "traces/known.json"

// knownFlags are the divergences that are known and fail nothing.
type knownFlags struct {
	path string
	list traces.KnownList
}

func (f *knownFlags) declare(set *pflag.FlagSet) {
	set.StringVar(&f.path, "known", "", "file of known divergences (default: "+defaultKnown+" where there is one)")
}

func (f *knownFlags) read() (err error) {
	path := f.path
	if path == "" {
		if _, err := os.Stat(defaultKnown); err != nil {
			return nil
		}
		path = defaultKnown
	}
	f.list, err = traces.ReadKnown(path)
	return err
}

// of tells the known divergences of a store from new ones.
func (f *knownFlags) of(store string) func(*diff.Divergence) bool {
	if len(f.list) == 0 {
		return nil
	}
	return func(d *diff.Divergence) bool {
		_, ok := f.list.Match(d.Fingerprint(), store)
		return ok
	}
}
