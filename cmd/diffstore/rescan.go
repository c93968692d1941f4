package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/report"
	"github.com/diffstore/diffstore/rescan"
)

var rescanCommand = command{
	name:      "rescan",
	says:      "count the hashes of referenced keys while a full store evicts",
	arguments: "[--oracle SPEC]",
	example:   "diffstore rescan --oracle embedded:free-queue",
	flags: func(set *pflag.FlagSet) func(*environment, []string) (diff.Verdict, error) {
		f := &rescanFlags{}
		d := rescan.Default
		set.StringVar(&f.oracle, "oracle", "embedded", "the Python store to check:\n"+strings.Join(oracle.SpecForms, "\n"))
		f.declareInterpreter(set)
		set.BoolVar(&f.blackBox, "black-box", false, "use no private attributes; the counts are the same")
		set.IntVar(&f.config.Referenced, "referenced", d.Referenced, "referenced keys in the store")
		set.IntVar(&f.config.Unreferenced, "unreferenced", d.Unreferenced, "unreferenced keys in the store")
		set.IntVar(&f.config.Puts, "puts", d.Puts, "new keys that are put, one a call")
		set.IntVar(&f.config.Limit, "limit", d.Limit, "most hashes of referenced keys in all puts together")
		set.IntSliceVar(&f.config.Slope, "slope", d.Slope, "numbers of referenced keys over which the growth is fitted")
		f.declareForms(set)
		return f.run
	},
}

type rescanFlags struct {
	subjectFlags
	outputFlags
	config rescan.Config
}

func (f *rescanFlags) run(env *environment, args []string) (diff.Verdict, error) {
	if err := noArguments(args); err != nil {
		return 0, err
	}
	if err := f.config.Check(); err != nil {
		return 0, &usageError{err.Error()}
	}
	if err := f.outputFlags.check(); err != nil {
		return 0, err
	}
	launch, err := oracle.Resolve(f.oracle, f.oracleOptions(env))
	if err != nil {
		return 0, err
	}
	result, err := rescan.Run(env.ctx, f.config, rescan.Oracle(launch))
	if err != nil {
		return 0, err
	}
	return result.Verdict(), f.tell(env, &report.Rescan{Repeat: env.line, Result: result})
}
