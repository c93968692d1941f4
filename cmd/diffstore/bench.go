package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/pflag"

	"github.com/diffstore/diffstore/bench"
	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/oracle"
)

var benchCommand = command{
	name:      "bench",
	says:      "measure how fast comparing goes, or what a put costs as a store grows",
	arguments: "throughput|store [--oracle SPEC] [--rounds N]",
	example:   "diffstore bench throughput\n  diffstore bench store --preset seeds --oracle embedded --oracle embedded:free-queue",
	flags: func(set *pflag.FlagSet) func(*environment, []string) (diff.Verdict, error) {
		f := &benchFlags{set: set}
		set.StringArrayVar(&f.oracles, "oracle", nil, "the Python store, for bench store also several (default embedded; store: and embedded:free-queue):\n"+strings.Join(oracle.SpecForms, "\n"))
		set.StringVar(&f.python, "python", "", "the Python interpreter (default: python3 on the PATH)")
		set.IntVar(&f.rounds, "rounds", 5, "how often each arm runs, in turns with the others")
		set.BoolVar(&f.json, "json", false, "print the figures as JSON")
		set.BoolVar(&f.markdown, "markdown", false, "print the tables as Markdown")
		set.IntVar(&f.throughput.Sequences, "sequences", 5000, "throughput: sequences a round")
		set.IntVar(&f.throughput.Ops, "ops", 30, "throughput: ops of a sequence")
		set.Uint64Var(&f.throughput.Seed, "seed", 1, "throughput: seed of the work")
		set.IntVar(&f.throughput.Cores, "workers", runtime.NumCPU(), "throughput: processes of the arm with one a core")
		set.StringVar(&f.throughput.Model, "model", "main", "throughput: variant of the Go model")
		return f.run
	},
}

type benchFlags struct {
	set            *pflag.FlagSet
	oracles        []string
	python         string
	rounds         int
	json, markdown bool
	throughput     bench.Throughput
}

// measured is what a bench run gives.
type measured interface {
	Write(w io.Writer, markdown bool)
}

func (f *benchFlags) run(env *environment, args []string) (diff.Verdict, error) {
	modes := []string{"throughput", "store"}
	if len(args) != 1 {
		return 0, &usageError{"bench takes one word: " + strings.Join(modes, " or ")}
	}
	if f.rounds < 1 {
		return 0, &usageError{"--rounds must be above 0"}
	}
	var (
		out measured
		err error
	)
	switch args[0] {
	case "throughput":
		out, err = f.runThroughput(env)
	default:
		err = &usageError{fmt.Sprintf("unknown bench %q%s", args[0], suggestion(args[0], modes, "there are "+strings.Join(modes, " and ")))}
	}
	if err != nil {
		return 0, err
	}
	if f.json {
		encoder := json.NewEncoder(env.stdout)
		encoder.SetIndent("", "  ")
		return diff.Agree, encoder.Encode(out)
	}
	out.Write(env.stdout, f.markdown)
	return diff.Agree, nil
}

// launches resolves the specs of --oracle, or the default ones. Each has to be a
// store that a Python process of ours can load.
func (f *benchFlags) launches(env *environment, wire string, defaults ...string) ([]oracle.Launch, error) {
	specs := f.oracles
	if len(specs) == 0 {
		specs = defaults
	}
	var out []oracle.Launch
	for _, spec := range specs {
		if strings.HasPrefix(spec, "exec:") {
			return nil, &usageError{"bench runs the bare store itself, which it cannot do with exec:"}
		}
		launch, err := oracle.Resolve(spec, oracle.Options{Python: f.python, Wire: wire, Progress: env.progressLine()})
		if err != nil {
			return nil, err
		}
		out = append(out, launch)
	}
	return out, nil
}

// progress shows what runs to a person who watches.
func (env *environment) progress() func(string) {
	if !env.terminal {
		return nil
	}
	return func(line string) { fmt.Fprintf(os.Stderr, "\r\033[K%s", line) }
}

func (f *benchFlags) runThroughput(env *environment) (measured, error) {
	t := &f.throughput
	switch {
	case len(f.oracles) > 1:
		return nil, &usageError{"bench throughput takes one --oracle"}
	case t.Sequences < 1 || t.Ops < 1:
		return nil, &usageError{"--sequences and --ops must be above 0"}
	case t.Cores < 1:
		return nil, &usageError{"--workers must be above 0"}
	}
	for wire, launch := range map[string]*oracle.Launch{oracle.WireMarshal: &t.Launch, oracle.WireJSON: &t.JSON} {
		found, err := f.launches(env, wire, "embedded")
		if err != nil {
			return nil, err
		}
		*launch = found[0]
	}
	t.Rounds, t.Progress = f.rounds, env.progress()
	return t.Run(env.ctx)
}
