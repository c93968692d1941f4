package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/pflag"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/python"
	"github.com/diffstore/diffstore/report"
	"github.com/diffstore/diffstore/selfcheck"
)

var selfcheckCommand = command{
	name:      "selfcheck",
	says:      "show that the harness notices: planted bugs, or automatic mutants of a store file",
	arguments: "[--only NAME] | --auto [--oracle SPEC]",
	example:   "diffstore selfcheck --auto --oracle vllm==0.32.0",
	flags: func(set *pflag.FlagSet) func(*environment, []string) (diff.Verdict, error) {
		f := &selfcheckFlags{}
		set.StringArrayVar(&f.only, "only", nil, "planted bug to run; may be repeated (default: all)")
		set.IntVar(&f.options.Seeds, "seeds", 5, "base seeds that each bug is tried on")
		set.IntVar(&f.options.Sequences, "sequences", selfcheck.DefaultSequences, "most sequences until a bug has to be caught")
		set.IntVar(&f.alarms, "alarm-sequences", 100_000, "sequences of all profiles that the right stores have to agree on (0: none)")
		set.BoolVar(&f.auto, "auto", false, "make mutants of a store file automatically instead")
		set.StringVar(&f.store.Spec, "oracle", "embedded", "with --auto: the store whose file is changed")
		set.StringVar(&f.store.Model, "model", "main", "with --auto: the variant that the unchanged store is")
		set.BoolVar(&f.store.Strict, "strict", true, "with --auto: compare slots, free stack and next slot, too")
		set.StringVar(&f.store.Records, "equivalent", "", "with --auto: file of mutants on record as equivalent (default: those that come with diffstore)")
		set.IntVar(&f.options.Workers, "workers", 0, "how many mutants run side by side (0: one a core)")
		set.StringVar(&f.python, "python", "", "the Python interpreter (default: python3 on the PATH)")
		set.DurationVar(&f.opTimeout, "op-timeout", time.Second, "how long one op may take before it is a hang")
		set.StringVar(&f.page, "markdown", "", "page whose part on this check is written anew")
		set.StringVar(&f.shortest, "update-shortest", "", "search for shorter sequences than are known, and write the least lengths to this file (selfcheck/shortest.json)")
		f.declareForms(set)
		return f.run
	},
}

type selfcheckFlags struct {
	outputFlags
	only      []string
	alarms    int
	auto      bool
	store     selfcheck.Store
	options   selfcheck.Options
	python    string
	opTimeout time.Duration
	page      string
	shortest  string
}

func (f *selfcheckFlags) run(env *environment, args []string) (diff.Verdict, error) {
	if err := noArguments(args); err != nil {
		return 0, err
	}
	if f.options.Seeds < 1 || f.options.Sequences < 1 || f.alarms < 0 || f.options.Workers < 0 || f.opTimeout <= 0 {
		return 0, &usageError{"--seeds, --sequences and --op-timeout must be above 0, --alarm-sequences and --workers not below"}
	}
	mutants, err := f.chosen()
	if err != nil {
		return 0, err
	}
	if err := f.check(); err != nil {
		return 0, err
	}
	f.options.Oracle = oracle.Options{Python: f.python, OpTimeout: f.opTimeout, Progress: env.progressLine()}
	f.options.Fewest = f.shortest != ""
	if env.terminal {
		f.options.Progress = progress(env)
	}
	began := time.Now()
	// A harness that takes a right store for a wrong one, or misses a glaring bug,
	// has nothing to say about the rest.
	if err := selfcheck.Canary(env.ctx, f.options); err != nil {
		return 0, err
	}
	done := &report.Selfcheck{Repeat: env.line}
	if f.auto {
		done.Auto, err = selfcheck.Mutate(env.ctx, f.store, f.options)
	} else {
		if done.Planted, err = selfcheck.Plant(env.ctx, mutants, f.options); err == nil && f.alarms > 0 {
			done.Alarms, err = selfcheck.Alarms(env.ctx, f.alarms, f.options)
		}
	}
	if err != nil {
		return 0, err
	}
	done.Took = time.Since(began)
	if err := f.write(done); err != nil {
		return 0, err
	}
	return done.Verdict(), f.tell(env, done)
}

// write brings the files up to date that were asked for.
func (f *selfcheckFlags) write(done *report.Selfcheck) error {
	if f.shortest != "" {
		if err := selfcheck.WriteShortest(f.shortest, done.Planted); err != nil {
			return err
		}
	}
	if f.page == "" {
		return nil
	}
	page, err := os.ReadFile(f.page)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	name := "planted bugs"
	if f.auto {
		name = "automatic mutants of " + f.store.Spec
	}
	return os.WriteFile(f.page, []byte(report.Renew(string(page), name, done.Document().Markdown())), 0o644)
}

// chosen are the planted bugs that are to be run.
func (f *selfcheckFlags) chosen() ([]python.Mutant, error) {
	all, err := python.Mutants()
	if err != nil || len(f.only) == 0 {
		return all, err
	}
	var some []python.Mutant
	for _, name := range f.only {
		found := false
		var names []string
		for _, m := range all {
			names = append(names, m.Name)
			if m.Name == name {
				some, found = append(some, m), true
			}
		}
		if !found {
			return nil, &usageError{fmt.Sprintf("unknown planted bug %q%s", name, suggestion(name, names, "python/mutants/ lists them"))}
		}
	}
	return some, nil
}

// progress shows how many mutants are done.
func progress(env *environment) func(done, total int) {
	var bar *progressbar.ProgressBar
	return func(done, total int) {
		if bar == nil || done == 1 {
			bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(env.stderr), progressbar.OptionSetDescription("mutants"),
				progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
		}
		_ = bar.Set(done)
	}
}
