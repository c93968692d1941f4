package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/report"
	"github.com/diffstore/diffstore/traces"
)

var replay = command{
	name:      "replay",
	says:      "run saved traces again: recorded ones against the model or a store, others on both",
	arguments: "FILE... [--oracle SPEC]",
	example:   "diffstore replay --strict testdata/upstream/* --oracle embedded",
	flags: func(set *pflag.FlagSet) func(*environment, []string) (diff.Verdict, error) {
		f := &replayFlags{set: set}
		f.subjectFlags.declare(set)
		f.outputFlags.declare(set)
		return f.run
	},
}

type replayFlags struct {
	subjectFlags
	outputFlags
	set *pflag.FlagSet
}

func isRecorded(t *traces.Trace) bool { return t.Wants != nil || t.WantConstruct != nil }

// readTraces reads every file that is named.
func readTraces(files []string) ([]traces.Trace, error) {
	if len(files) == 0 {
		return nil, &usageError{"no trace file; name at least one .jsonl or .jsonl.gz"}
	}
	var list []traces.Trace
	for _, name := range files {
		more, err := traces.ReadFile(name)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// variant takes the model that the traces' headers name, unless the user named one.
func (f *subjectFlags) variant(set *pflag.FlagSet, list []traces.Trace) error {
	if set.Changed("model") {
		return nil
	}
	for i := range list {
		if named := list[i].Model; named != "" {
			if i > 0 && named != f.model {
				return &usageError{fmt.Sprintf("%s:%d: the traces name models %s and %s; replay them apart or choose with --model", list[i].Name, list[i].Line, f.model, named)}
			}
			f.model = named
		}
	}
	return nil
}

func (f *replayFlags) run(env *environment, args []string) (diff.Verdict, error) {
	list, err := readTraces(args)
	if err != nil {
		return 0, err
	}
	if err := f.variant(f.set, list); err != nil {
		return 0, err
	}
	recorded := true
	for i := range list {
		recorded = recorded && isRecorded(&list[i])
	}
	if err := f.subjectFlags.check(); err != nil {
		return 0, err
	}
	opens := []diff.Open{diff.Model(f.model)}
	if recorded && !f.set.Changed("oracle") {
		f.oracle = ""
	} else {
		if opens, err = f.pair(env, true); err != nil {
			return 0, err
		}
	}
	if err := f.outputFlags.check(); err != nil {
		return 0, err
	}
	result, failure := diff.Replay(env.ctx, list, opens, f.options)
	if failure != nil && result.Sequences == 0 {
		return 0, failure
	}
	r := &report.Run{
		Command: "replay", Repeat: env.line, Model: f.model, Oracle: f.oracle, Result: result, Strict: f.options.Strict,
		Flags: f.again(f.set), Place: func(at int) string { return fmt.Sprintf("%s:%d", list[at].Name, list[at].Line) },
	}
	r.Verdict, r.Why = diff.Conclude(result, failure, nil)
	if r.Verdict == diff.Diverges {
		r.Source = report.SourceName(list[result.Findings[0].Divergence.Case].Name)
		// What was recorded cannot be run again, so there is nothing to reduce against.
		f.noReduce = f.noReduce || isRecorded(&list[result.Findings[0].Divergence.Case])
		if err := f.finish(env, r, opens, diff.Pair(f.options)); err != nil {
			return 0, err
		}
	}
	return r.Verdict, f.tell(env, r)
}
