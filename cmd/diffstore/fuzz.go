package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/pflag"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/report"
	"github.com/diffstore/diffstore/traces"
)

var fuzz = command{
	name:      "fuzz",
	says:      "run generated sequences on the Go model and a Python store, and compare after every op",
	arguments: "[--oracle SPEC] [--profile NAME] [--seed N] [--sequences N]",
	example:   "diffstore fuzz --oracle vllm==0.32.0 --profile production --sequences 20000 --strict",
	flags: func(set *pflag.FlagSet) func(*environment, []string) (diff.Verdict, error) {
		f := &fuzzFlags{set: set}
		f.subjectFlags.declare(set)
		f.campaignFlags.declare(set)
		f.knownFlags.declare(set)
		f.outputFlags.declare(set)
		return f.run
	},
}

// campaignFlags are what sequences to make and how many.
type campaignFlags struct {
	config     gen.Config
	seed       uint64
	first      int
	sequences  int
	duration   time.Duration
	workers    int
	writeAhead string
	cpuProfile string
}

func (f *campaignFlags) declare(set *pflag.FlagSet) {
	var names []string
	for _, p := range gen.Profiles() {
		names = append(names, fmt.Sprintf("%-11s %s", p.Name, p.Says))
	}
	set.StringVar(&f.config.Profile, "profile", gen.DefaultProfile, "what traffic to make:\n"+strings.Join(names, "\n"))
	set.Uint64Var(&f.seed, "seed", 1, "base seed; the same seed gives the same cases and the same reduced trace")
	set.IntVar(&f.first, "first", 0, "index of the first case")
	set.IntVar(&f.sequences, "sequences", 5000, "how many sequences; 0 with --duration: as many as fit")
	set.DurationVar(&f.duration, "duration", 0, "stop after this time (0: when all sequences are done)")
	set.IntVar(&f.workers, "workers", 0, "how many oracle processes (0: one a core)")
	set.IntVar(&f.config.MaxOps, "ops", 0, fmt.Sprintf("most ops in a sequence (0: %d, and rarely more)", gen.DefaultMaxOps))
	set.IntVar(&f.config.MaxSlots, "max-slots", 0, fmt.Sprintf("most slots of a drawn store (0: %d)", gen.DefaultMaxSlots))
	set.IntVar(&f.config.Slots, "slots", 0, "slots of every store (0: drawn)")
	set.IntVar(&f.config.ObjectBytes, "object-bytes", 0, "bytes of every object (0: drawn)")
	set.StringVar(&f.writeAhead, "write-ahead", "", "file that every sequence is written to before the store sees it")
	set.StringVar(&f.cpuProfile, "cpuprofile", "", "file for a CPU profile of diffstore itself, for go tool pprof")
}

func (f *campaignFlags) check() error {
	if err := f.config.Check(); err != nil {
		return &usageError{f.profileError(err)}
	}
	if f.workers == 0 {
		f.workers = runtime.NumCPU()
	}
	switch {
	case f.sequences < 0 || f.first < 0:
		return &usageError{"--sequences and --first must not be below 0"}
	case f.sequences == 0 && f.duration <= 0:
		return &usageError{"--sequences 0 needs --duration"}
	case f.workers < 1 || f.workers > 1024:
		return &usageError{"--workers must be from 0 to 1024"}
	case strings.HasSuffix(f.writeAhead, ".gz"):
		return &usageError{"--write-ahead writes line by line, uncompressed: name a .jsonl"}
	}
	return nil
}

// profileError says what is wrong with the config in the words of the flags.
func (f *campaignFlags) profileError(err error) string {
	var names []string
	for _, p := range gen.Profiles() {
		if p.Name == f.config.Profile {
			return strings.NewReplacer("MaxOps", "--ops", "MaxSlots", "--max-slots", "Slots", "--slots", "ObjectBytes", "--object-bytes").Replace(err.Error())
		}
		names = append(names, p.Name)
	}
	return fmt.Sprintf("unknown profile %q%s", f.config.Profile, suggestion(f.config.Profile, names, "there are "+strings.Join(names, ", ")))
}

type fuzzFlags struct {
	set *pflag.FlagSet
	subjectFlags
	campaignFlags
	outputFlags
	knownFlags
}

func (f *fuzzFlags) run(env *environment, args []string) (diff.Verdict, error) {
	if err := noArguments(args); err != nil {
		return 0, err
	}
	for _, check := range []func() error{f.campaignFlags.check, f.outputFlags.check, f.knownFlags.read} {
		if err := check(); err != nil {
			return 0, err
		}
	}
	opens, err := f.pair(env, f.knownFlags.of(f.oracle) == nil)
	if err != nil {
		return 0, err
	}
	campaign := &diff.Campaign{
		Gen: f.config, Seed: f.seed, First: f.first, Sequences: f.sequences, Duration: f.duration, Workers: f.workers,
		Subjects: opens, Judge: func() diff.Judge { return diff.Pair(f.options) }, Known: f.knownFlags.of(f.oracle),
	}
	done, err := f.watch(env, campaign, f.model)
	if err != nil {
		return 0, err
	}
	result, failure := campaign.Run(env.ctx)
	if err := done(); err != nil && failure == nil {
		failure = err
	}
	if failure != nil && result.Sequences == 0 {
		return 0, failure
	}
	r := &report.Run{
		Command: "fuzz", Repeat: env.line, Seed: f.seed, Profile: f.config.Profile, Model: f.model, Oracle: f.oracle,
		Result: result, Strict: f.options.Strict, Flags: f.again(f.set),
	}
	r.Verdict, r.Why = diff.Conclude(result, failure, result.Stats.Floors(f.config, f.options.Unbounded))
	if r.Verdict == diff.Diverges {
		if err := f.finish(env, r, opens, diff.Pair(f.options)); err != nil {
			return 0, err
		}
	}
	if r.Verdict == diff.Agree {
		if r.Stale, err = diff.Stale(f.list, f.oracle, opens, diff.Pair(f.options)); err != nil {
			return 0, err
		}
		if len(r.Stale) > 0 {
			r.Verdict = diff.Diverges
		}
	}
	return r.Verdict, f.tell(env, r)
}

// watch sets up what follows a campaign as it runs: a progress bar where a
// person looks, and the write-ahead file, whose traces name the model.
func (f *campaignFlags) watch(env *environment, c *diff.Campaign, model string) (done func() error, err error) {
	var closers []func() error
	if f.cpuProfile != "" {
		file, err := os.Create(f.cpuProfile)
		if err == nil {
			err = pprof.StartCPUProfile(file)
		}
		if err != nil {
			return nil, fmt.Errorf("the profile cannot be made: %w", err)
		}
		closers = append(closers, func() error { pprof.StopCPUProfile(); return file.Close() })
	}
	if f.writeAhead != "" {
		file, err := os.Create(f.writeAhead)
		if err != nil {
			return nil, &usageError{fmt.Sprintf("the write-ahead file cannot be made: %v", err)}
		}
		writer := traces.NewWriter(file, f.writeAhead)
		closers = append(closers, file.Close)
		c.WriteAhead = func(index int, s *op.Sequence) error {
			if err := writer.Begin(traces.Header{Slots: s.Slots, ObjectBytes: s.ObjectBytes, Model: model, Seed: fmt.Sprint(f.seed), Case: &index}); err != nil {
				return err
			}
			for i := range s.Ops {
				if err := writer.Op(&s.Ops[i], nil); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if env.terminal {
		total := int64(f.sequences)
		if total == 0 {
			total = -1
		}
		bar := progressbar.NewOptions64(total, progressbar.OptionSetWriter(env.stderr), progressbar.OptionSetDescription("sequences"),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
		c.Progress = func(sequences, _ int) { _ = bar.Add(sequences) }
		closers = append(closers, bar.Finish, bar.Clear)
	}
	return func() error {
		var first error
		for _, closer := range closers {
			if err := closer(); err != nil && first == nil {
				first = err
			}
		}
		return first
	}, nil
}
