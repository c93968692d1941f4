package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/pflag"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/traces"
)

var version = command{
	name:      "version",
	says:      "print the version of this build and of its formats",
	arguments: "",
	example:   "diffstore version",
	flags: func(*pflag.FlagSet) func(*environment, []string) (diff.Verdict, error) {
		return func(env *environment, args []string) (diff.Verdict, error) {
			if err := noArguments(args); err != nil {
				return 0, err
			}
			build := "unknown"
			if info, ok := debug.ReadBuildInfo(); ok {
				build = info.Main.Version
				for _, setting := range info.Settings {
					if setting.Key == "vcs.revision" {
						build += " " + setting.Value
					}
				}
			}
			fmt.Fprintf(env.stdout, "diffstore %s, %s %s/%s, trace format %d, oracle protocol %d\n",
				build, runtime.Version(), runtime.GOOS, runtime.GOARCH, traces.Version, oracle.Protocol)
			return diff.Agree, nil
		}
	},
}
