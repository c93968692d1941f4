package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/report"
)

var upstream = command{
	name:      "upstream",
	says:      "bring real stores into the cache, list them, remove them",
	arguments: "add SPEC... | list | remove SPEC...",
	example:   "diffstore upstream add vllm==0.32.0",
	flags: func(set *pflag.FlagSet) func(*environment, []string) (diff.Verdict, error) {
		f := &subjectFlags{}
		set.StringVar(&f.python, "python", "", "the Python whose pip downloads (default: python3 on the PATH)")
		return func(env *environment, args []string) (diff.Verdict, error) {
			return runUpstream(env, oracle.Options{Python: f.python, Progress: env.progressLine()}, args)
		}
	},
}

func runUpstream(env *environment, options oracle.Options, args []string) (diff.Verdict, error) {
	actions := []string{"add", "list", "remove"}
	if len(args) == 0 {
		return 0, &usageError{"upstream takes add SPEC..., list, or remove SPEC..."}
	}
	specs := args[1:]
	switch {
	case args[0] == "list":
		if err := noArguments(specs); err != nil {
			return 0, err
		}
		return diff.Agree, listUpstream(env, options)
	case args[0] != "add" && args[0] != "remove":
		return 0, &usageError{fmt.Sprintf("unknown action %q%s", args[0], suggestion(args[0], actions, "use add, list or remove"))}
	case len(specs) == 0:
		return 0, &usageError{fmt.Sprintf("upstream %s takes at least one spec, such as vllm==0.32.0", args[0])}
	}
	for _, spec := range specs {
		if args[0] == "remove" {
			there, err := oracle.Remove(spec, options)
			if err != nil {
				return 0, err
			}
			if !there {
				return 0, &usageError{fmt.Sprintf("%s is not in the cache; diffstore upstream list shows what is", report.Escape(spec))}
			}
			fmt.Fprintf(env.stdout, "removed %s\n", spec)
			continue
		}
		added, err := oracle.Add(spec, options)
		if err != nil {
			return 0, err
		}
		printUpstream(env, added)
	}
	return diff.Agree, nil
}

func listUpstream(env *environment, options oracle.Options) error {
	list, err := oracle.List(options)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(env.stderr, "the cache is empty; add a store with: diffstore upstream add vllm==0.32.0")
	}
	for _, u := range list {
		printUpstream(env, u)
	}
	return nil
}

func printUpstream(env *environment, u oracle.Upstream) {
	amount := "downloaded as git needed"
	if u.Bytes > 0 {
		amount = fmt.Sprintf("downloaded %d bytes", u.Bytes)
	}
	fmt.Fprintf(env.stdout, "%s\n  class %s, sha256 %s\n  from %s, %s\n  files %s\n", u.Spec, u.Class, u.SHA256, u.From, amount, strings.Join(u.Files, " "))
}
