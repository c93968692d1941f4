package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/report"
	"github.com/diffstore/diffstore/traces"
)

var reduce = command{
	name:      "reduce",
	says:      "shorten a saved trace on which the model and a store differ",
	arguments: "FILE [--oracle SPEC] [--into FILE]",
	example:   "diffstore reduce diffstore-runs/fuzz-mixed-seed1-case17/full.jsonl --oracle embedded:free-queue",
	flags: func(set *pflag.FlagSet) func(*environment, []string) (diff.Verdict, error) {
		f := &reduceFlags{set: set}
		f.subjectFlags.declare(set)
		set.StringVar(&f.into, "into", "-", "file for the reduced trace; - prints it")
		set.IntVar(&f.number, "trace", 1, "which trace of the file, counted from 1")
		set.IntVar(&f.budget.Evaluations, "evaluations", diff.DefaultBudget.Evaluations, "most sequences to run")
		set.DurationVar(&f.budget.Time, "time", diff.DefaultBudget.Time, "most time to spend")
		return f.run
	},
}

type reduceFlags struct {
	subjectFlags
	set    *pflag.FlagSet
	into   string
	number int
	budget diff.Budget
}

func (f *reduceFlags) run(env *environment, args []string) (diff.Verdict, error) {
	if len(args) != 1 {
		return 0, &usageError{"reduce takes one trace file"}
	}
	list, err := readTraces(args)
	if err != nil {
		return 0, err
	}
	if f.number < 1 || f.number > len(list) {
		return 0, &usageError{fmt.Sprintf("%s holds %d traces; --trace %d is none of them", args[0], len(list), f.number)}
	}
	trace := list[f.number-1]
	if err := f.variant(f.set, []traces.Trace{trace}); err != nil {
		return 0, err
	}
	opens, err := f.pair(env, true)
	if err != nil {
		return 0, err
	}
	judge := diff.Pair(f.options)
	found, err := diff.Diverge(trace.Sequence(), opens, judge)
	if err != nil {
		return 0, err
	}
	if found == nil {
		fmt.Fprintf(env.stderr, "diffstore: %s does not diverge on model:%s and %s: there is nothing to reduce\n", args[0], f.model, f.oracle)
		return diff.Agree, nil
	}
	found.Case = -1
	reduced, err := diff.Reduce(env.ctx, trace.Sequence(), found, opens, judge, f.budget)
	if err != nil {
		return 0, err
	}
	if reduced.Flaky {
		return 0, fmt.Errorf("flaky: the divergence did not show again when the sequence was run once more")
	}
	header := traces.Header{
		Slots: reduced.Sequence.Slots, ObjectBytes: reduced.Sequence.ObjectBytes, Model: f.model, Note: report.Note(reduced.Divergence),
		Seed: trace.Seed, Case: trace.Case, Fingerprint: found.Fingerprint(), Left: "model:" + f.model, Right: f.oracle,
	}
	fmt.Fprintf(env.stderr, "%d ops from %d, %d evaluations, %s\n", len(reduced.Sequence.Ops), len(trace.Ops), reduced.Evaluations, reduced.Took.Round(time.Millisecond))
	out := traces.Trace{Header: header, Ops: reduced.Sequence.Ops}
	if f.into != "-" {
		return diff.Diverges, traces.WriteFile(f.into, out)
	}
	return diff.Diverges, traces.Write(env.stdout, out)
}
