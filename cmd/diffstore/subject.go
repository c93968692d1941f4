package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/report"
	"github.com/diffstore/diffstore/subject"
)

// subjectFlags are how a user names the two sides of a comparison.
type subjectFlags struct {
	model     string
	oracle    string
	python    string
	wire      string
	blackBox  bool
	opTimeout time.Duration
	options   diff.Options
}

func (f *subjectFlags) declare(set *pflag.FlagSet) {
	f.declareModel(set)
	set.StringVar(&f.oracle, "oracle", "embedded", "the Python store to run:\n"+strings.Join(oracle.SpecForms, "\n"))
	f.declareComparison(set)
}

func (f *subjectFlags) declareModel(set *pflag.FlagSet) {
	set.StringVar(&f.model, "model", "main", "variant of the Go model: "+strings.Join(model.Variants(), ", "))
}

// declareComparison declares how stores are run and what is compared.
func (f *subjectFlags) declareComparison(set *pflag.FlagSet) {
	f.declareInterpreter(set)
	set.BoolVar(&f.blackBox, "black-box", false, "use put, get_concatenated and close alone; slower")
	set.BoolVar(&f.options.Strict, "strict", false, "compare slots, free stack and next slot, too")
	set.BoolVar(&f.options.Text, "text", false, "compare error types and messages, too")
	set.IntVar(&f.options.HashBound, "hash-bound", 0, "most hashes of keys a call does not name, for each key it names or evicts (0: not counted)")
}

func (f *subjectFlags) declareInterpreter(set *pflag.FlagSet) {
	set.StringVar(&f.python, "python", "", "the Python interpreter (default: python3 on the PATH)")
	set.StringVar(&f.wire, "wire", oracle.WireMarshal, "how messages are written: marshal or json")
	set.DurationVar(&f.opTimeout, "op-timeout", oracle.DefaultOpTimeout, "how long one op may take before it is a hang")
}

func (f *subjectFlags) oracleOptions(env *environment) oracle.Options {
	return oracle.Options{Python: f.python, Wire: f.wire, BlackBox: f.blackBox, OpTimeout: f.opTimeout, Progress: env.progressLine()}
}

// progressLine shows what pip and git say to a person who watches.
func (env *environment) progressLine() func(string) {
	if !env.terminal {
		return nil
	}
	return func(line string) { fmt.Fprintln(env.stderr, line) }
}

// check tells whether the flags make sense before anything is started.
func (f *subjectFlags) check() error {
	store, err := model.New(f.model, 1, 1)
	if err != nil {
		return &usageError{fmt.Sprintf("unknown model %q%s", f.model, suggestion(f.model, model.Variants(), "there are "+strings.Join(model.Variants(), ", ")))}
	}
	store.Release()
	if f.opTimeout <= 0 {
		return &usageError{"--op-timeout must be above 0"}
	}
	if f.options.HashBound < 0 {
		return &usageError{"--hash-bound must not be below 0"}
	}
	return nil
}

// pair opens the model and the oracle. With firstDeath the oracle leaves out what
// is behind a death in a batch, for runs that end at one.
func (f *subjectFlags) pair(env *environment, firstDeath bool) ([]diff.Open, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	f.options.Unbounded = model.Grows(f.model)
	launch, err := oracle.Resolve(f.oracle, f.oracleOptions(env))
	if err != nil {
		return nil, err
	}
	ask := oracle.Ask{Hashes: f.options.HashBound > 0, FirstDeath: firstDeath, Foresee: subject.Foresee(f.model)}
	return []diff.Open{diff.Model(f.model), subject.Oracle(launch, ask)}, nil
}

// again writes the flags that were given and that a command on the same two
// subjects needs as well, beside --oracle and --strict.
func (f *subjectFlags) again(set *pflag.FlagSet) string {
	var line strings.Builder
	for _, name := range []string{"python", "wire", "op-timeout", "black-box", "text", "hash-bound"} {
		if set.Changed(name) {
			fmt.Fprintf(&line, " --%s=%s", name, report.Quote(set.Lookup(name).Value.String()))
		}
	}
	return line.String()
}
