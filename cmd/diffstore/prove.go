package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/pflag"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/prove"
	"github.com/diffstore/diffstore/report"
	"github.com/diffstore/diffstore/subject"
)

var proveCommand = command{
	name:      "prove",
	says:      "try every operation in every state within small bounds: a proof for them, or the shortest counterexample",
	arguments: "[--oracle SPEC | --base SPEC --head SPEC] [--slots N] [--keys N] [--misuse]",
	example:   "diffstore prove --oracle vllm==0.32.0 --slots 2 --keys 3",
	flags: func(set *pflag.FlagSet) func(*environment, []string) (diff.Verdict, error) {
		f := &proveFlags{bounds: prove.DefaultBounds}
		b := &f.bounds
		set.IntVar(&b.Slots, "slots", b.Slots, "slots of every store")
		set.IntVar(&b.Keys, "keys", b.Keys, "how many keys there are")
		set.IntVar(&b.Counts, "counts", b.Counts, "largest reference count; what lies beyond is compared, not followed")
		set.IntVar(&b.Batch, "batch", b.Batch, "most objects in a put")
		set.IntVar(&b.Lists, "lists", b.Lists, "most keys that a put retains, that it releases, and that a get names")
		set.IntVar(&b.ObjectBytes, "object-bytes", b.ObjectBytes, "bytes of every object")
		set.BoolVar(&b.Misuse, "misuse", false, "add releases of keys without references, payloads of wrong sizes, and ops on a closed store")
		set.IntVar(&b.Lost, "lost", b.Lost, "with --misuse: how many slots may be lost to payloads that do not fit")
		set.IntVar(&f.search.MaxStates, "max-states", 20_000_000, "give up above this many states (0: never)")
		set.Int64Var(&f.memory, "memory", 1024, "give up when the states take more than this many MiB (0: never)")
		set.BoolVar(&f.search.Unreduced, "unreduced", false, "search each state under all names of its keys: for stores that look into keys")
		set.StringVar(&f.search.File, "state", "", "file that keeps the search: the search goes on from what it holds, and it is removed when all is done")
		set.DurationVar(&f.search.SaveEvery, "save-every", 30*time.Second, "how often --state is written; an interruption writes it, too")
		set.StringVar(&f.base, "base", "", "hold two stores against each other: the one that is replaced, which the model has to describe")
		set.StringVar(&f.head, "head", "", "the store that replaces --base")
		f.subjectFlags.declare(set)
		if err := set.Lookup("strict").Value.Set("true"); err == nil {
			set.Lookup("strict").DefValue = "true"
		}
		set.IntVar(&f.workers, "workers", runtime.NumCPU(), "how many oracle processes")
		f.outputFlags.declare(set)
		return f.run
	},
}

type proveFlags struct {
	subjectFlags
	outputFlags
	bounds     prove.Bounds
	search     prove.Search
	base, head string
	memory     int64
	workers    int
}

func (f *proveFlags) check(args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	if err := f.bounds.Check(); err != nil {
		return &usageError{err.Error()}
	}
	switch {
	case (f.base == "") != (f.head == ""):
		return &usageError{"--base and --head belong together"}
	case f.options.HashBound > 0:
		return &usageError{"prove counts no hashes; see diffstore rescan"}
	case f.workers < 1 || f.workers > 1024:
		return &usageError{"--workers must be from 1 to 1024"}
	case f.memory < 0 || f.search.MaxStates < 0:
		return &usageError{"--memory and --max-states must not be below 0"}
	case f.search.SaveEvery <= 0:
		return &usageError{"--save-every must be above 0"}
	}
	if err := f.subjectFlags.check(); err != nil {
		return err
	}
	return f.outputFlags.check()
}

func (f *proveFlags) run(env *environment, args []string) (diff.Verdict, error) {
	if err := f.check(args); err != nil {
		return 0, err
	}
	sides, err := f.open(env)
	if err != nil {
		return 0, err
	}
	s := &f.search
	s.Bounds, s.Model, s.Options, s.MaxMemory = f.bounds, f.model, f.options, f.memory<<20
	s.Workers = max(1, f.workers/len(s.Stores))
	done := f.watch(env)
	result, failure := s.Run(env.ctx)
	done()
	var bad *prove.FileError
	if errors.As(failure, &bad) {
		return 0, &usageError{bad.Error()}
	}
	if failure != nil && result.Ops == 0 {
		return 0, failure
	}
	p := &report.Proof{Repeat: env.line, Bounds: f.bounds, Model: f.model, Result: result}
	p.Verdict, p.Why = prove.Conclude(result, failure)
	switch {
	case p.Verdict == diff.Diverges:
		p.Reduced = f.shorten(env, *result.Finding, sides, diff.Pair(f.options))
		if err := p.Save(f.out); err != nil {
			return 0, err
		}
	case p.Verdict == diff.Infrastructure && failure == nil && s.File != "":
		p.Resume = env.line
	case result.Interrupted:
		p.Why = append(p.Why, "nothing of it was kept; a search with --state FILE can go on")
	}
	return p.Verdict, f.tell(env, p)
}

// open names the stores of the search, and gives its two sides.
func (f *proveFlags) open(env *environment) (sides []diff.Open, err error) {
	if f.base == "" {
		sides, err = f.pair(env, true)
		if err == nil {
			f.search.Stores = sides[1:]
		}
		return sides, err
	}
	f.options.Unbounded = model.Grows(f.model)
	for _, spec := range []string{f.base, f.head} {
		launch, err := oracle.Resolve(spec, f.oracleOptions(env))
		if err != nil {
			return nil, err
		}
		sides = append(sides, subject.Oracle(launch, oracle.Ask{FirstDeath: true}))
	}
	f.search.Stores = sides
	return sides, nil
}

// watch shows a person how far the search is.
func (f *proveFlags) watch(env *environment) (done func()) {
	f.search.Resumed = func(states, expanded int) {
		fmt.Fprintf(env.stderr, "going on from %s: %d of %d states are searched\n", f.search.File, expanded, states)
	}
	if file := f.search.File; file != "" {
		if _, err := os.Stat(file); err != nil {
			fmt.Fprintf(env.stderr, "%s is not there: starting anew\n", file)
		}
	}
	if !env.terminal {
		return func() {}
	}
	bar := progressbar.NewOptions64(-1, progressbar.OptionSetWriter(env.stderr), progressbar.OptionClearOnFinish(),
		progressbar.OptionThrottle(100*time.Millisecond))
	f.search.Progress = func(p prove.Progress) {
		bar.Describe(fmt.Sprintf("%d states, %d in the frontier, %.0f compared ops/s, %s left at least",
			p.States, p.States-p.Expanded, float64(p.Ops)/p.Took.Seconds(), p.Left().Round(time.Second)))
		_ = bar.Add(1)
	}
	return func() { _ = bar.Clear() }
}
