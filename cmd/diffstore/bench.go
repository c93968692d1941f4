package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/diffstore/diffstore/bench"
	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/model"
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
		set.StringVar(&f.preset, "preset", "ladder", "store: ladder (1,000 to 1,000,000 slots) or seeds (450,000 slots, 320,000 live keys, 4 new ones a put)")
		set.IntSliceVar(&f.slots, "slots", nil, "store: slots of the stores, in place of the preset's")
		set.IntSliceVar(&f.payloads, "payload", nil, "store: bytes of an object, in place of the preset's")
		set.IntSliceVar(&f.batches, "batch", nil, "store: new keys a put, in place of the preset's")
		set.StringSliceVar(&f.models, "models", nil, "store: variants of the Go store (default all)")
		set.DurationVar(&f.budget, "time", 0, "store: how long each store is put to in a round, in place of the preset's")
		set.StringVar(&f.plot, "plot", "", "store: file for a plot, .svg or .png")
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

	preset                   string
	slots, payloads, batches []int
	models                   []string
	budget                   time.Duration
	plot                     string
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
	case "store":
		out, err = f.runStore(env)
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

func (f *benchFlags) runStore(env *environment) (measured, error) {
	preset, known := bench.Presets[f.preset]
	if !known {
		return nil, &usageError{fmt.Sprintf("unknown preset %q%s", f.preset, suggestion(f.preset, []string{"ladder", "seeds"}, "there are ladder and seeds"))}
	}
	c := preset()
	for _, list := range []struct {
		name        string
		given, into *[]int
	}{{"slots", &f.slots, &c.Slots}, {"payload", &f.payloads, &c.Payloads}, {"batch", &f.batches, &c.Batches}} {
		if len(*list.given) > 0 {
			*list.into = *list.given
		}
		if slices.Min(*list.into) < 1 {
			return nil, &usageError{fmt.Sprintf("--%s must be above 0", list.name)}
		}
	}
	if f.set.Changed("models") {
		c.Variants = f.models
	}
	for _, variant := range c.Variants {
		if !slices.Contains(model.Variants(), variant) {
			return nil, &usageError{fmt.Sprintf("unknown model %q%s", variant, suggestion(variant, model.Variants(), "there are "+strings.Join(model.Variants(), ", ")))}
		}
	}
	if f.budget < 0 {
		return nil, &usageError{"--time must not be below 0"}
	}
	if f.budget > 0 {
		c.Budget = f.budget
	}
	if f.plot != "" {
		if err := bench.CheckPlot(f.plot); err != nil {
			return nil, &usageError{err.Error()}
		}
	}
	var err error
	if c.Launches, err = f.launches(env, oracle.WireMarshal, "embedded", "embedded:free-queue"); err != nil {
		return nil, err
	}
	c.Rounds, c.Progress = f.rounds, env.progress()
	costs, err := c.Run(env.ctx)
	if err != nil {
		return nil, err
	}
	if f.plot != "" {
		err = costs.Plot(f.plot, c.PlotBatch())
	}
	return costs, err
}
