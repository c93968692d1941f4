package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/report"
)

var show = command{
	name:      "show",
	says:      "print saved traces as text, or one as a pytest file",
	arguments: "FILE [--format text|pytest]",
	example:   "diffstore show traces/corpus/free-queue-after-key-error.jsonl --format pytest",
	flags: func(set *pflag.FlagSet) func(*environment, []string) (diff.Verdict, error) {
		f := &showFlags{}
		set.StringVar(&f.format, "format", "text", "text, or pytest: a test that needs only the store's public interface")
		set.StringVar(&f.module, "import", report.DefaultImport, "module that the test imports the store from")
		set.IntVar(&f.number, "trace", 0, "which trace of the file, counted from 1 (0: all, or the only one)")
		return f.run
	},
}

type showFlags struct {
	format, module string
	number         int
}

func (f *showFlags) run(env *environment, args []string) (diff.Verdict, error) {
	if len(args) != 1 {
		return 0, &usageError{"show takes one trace file"}
	}
	list, err := readTraces(args)
	if err != nil {
		return 0, err
	}
	if f.number < 0 || f.number > len(list) {
		return 0, &usageError{fmt.Sprintf("%s holds %d traces; --trace %d is none of them", args[0], len(list), f.number)}
	}
	if f.number > 0 {
		list = list[f.number-1 : f.number]
	}
	switch f.format {
	case "text":
		for i := range list {
			if err := report.ShowTrace(env.stdout, env.palette, &list[i]); err != nil {
				return 0, err
			}
		}
	case "pytest":
		if len(list) > 1 {
			return 0, &usageError{fmt.Sprintf("%s holds %d traces; choose one with --trace", args[0], len(list))}
		}
		test, err := report.Pytest(&list[0], f.module)
		if err != nil {
			return 0, &usageError{err.Error()}
		}
		fmt.Fprint(env.stdout, test)
	default:
		return 0, &usageError{fmt.Sprintf("unknown format %q%s", f.format, suggestion(f.format, []string{"text", "pytest"}, "use text or pytest"))}
	}
	return diff.Agree, nil
}
