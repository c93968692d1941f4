// Command diffstore compares a rewritten block-object store with the one it
// replaces. Each subcommand is one file; what they do lives in the packages
// they call.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/report"
	"github.com/diffstore/diffstore/traces"
)

// command is one subcommand.
type command struct {
	name, says string
	// arguments are what stands behind the name in a usage line.
	arguments string
	example   string
	// flags declares the command's flags and gives what runs once they are read.
	flags func(set *pflag.FlagSet) func(env *environment, args []string) (diff.Verdict, error)
}

// commands lists the subcommands in the order of the help text.
var commands = []command{fuzz, compare, proveCommand, selfcheckCommand, rescanCommand, gateCommand, replay, reduce, show, upstream, benchCommand, version}

// environment is what a command may touch of the world.
type environment struct {
	ctx            context.Context
	stdout, stderr io.Writer
	// terminal says that a person watches stderr; colour that stdout may be coloured.
	terminal bool
	palette  report.Palette
	// line is the command line as typed, for reports.
	line string
}

// waitWithoutAWord is how long an interrupt waits for what is under way before it says so.
const waitWithoutAWord = 3 * time.Second

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel() // what is under way is brought in and told
		select {
		case <-signals:
		case <-time.After(waitWithoutAWord):
			fmt.Fprintln(os.Stderr, "diffstore: interrupted: waiting for the calls that are under way; interrupt again to end at once")
			<-signals
		}
		oracle.EndAll()
		fmt.Fprintln(os.Stderr, "diffstore: interrupted twice: what was under way is lost")
		os.Exit(int(diff.Infrastructure))
	}()
	env := &environment{
		ctx: ctx, stdout: os.Stdout, stderr: os.Stderr,
		terminal: term.IsTerminal(int(os.Stderr.Fd())),
		palette:  report.Palette{On: term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"},
	}
	os.Exit(int(run(env, os.Args[1:])))
}

// usageError is a mistake in the command line.
type usageError struct{ what string }

func (e *usageError) Error() string { return e.what }

func run(env *environment, args []string) diff.Verdict {
	env.line = "diffstore"
	for _, arg := range args {
		env.line += " " + report.Quote(arg)
	}
	if len(args) == 2 && args[0] == "help" {
		args = []string{args[1], "--help"}
	}
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		fmt.Fprint(env.stdout, overview())
		if len(args) == 0 {
			return diff.BadUsage
		}
		return diff.Agree
	}
	for i := range commands {
		if commands[i].name == args[0] {
			return commands[i].run(env, args[1:])
		}
	}
	names := make([]string, len(commands))
	for i := range commands {
		names[i] = commands[i].name
	}
	return fail(env, &usageError{fmt.Sprintf("unknown command %q%s", args[0], suggestion(args[0], names, "diffstore help lists them"))})
}

func overview() string {
	var b strings.Builder
	b.WriteString("diffstore tells whether one block-object store behaves like another, after every operation.\n\nUsage: diffstore COMMAND [FLAGS]\n\nCommands:\n")
	for i := range commands {
		fmt.Fprintf(&b, "  %-10s %s\n", commands[i].name, commands[i].says)
	}
	b.WriteString("\nStart with:  diffstore fuzz\nHelp:        diffstore COMMAND --help\nExit codes:  0 agree, 1 divergence, 2 usage, 3 infrastructure (nothing can be said of the store)\n")
	return b.String()
}

// run parses the flags and runs the command; it is the one place where an error
// becomes a line and an exit code.
func (c *command) run(env *environment, args []string) diff.Verdict {
	set := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.SortFlags = false
	do := c.flags(set)
	err := set.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintf(env.stdout, "%s\n\nUsage: %s\n\nExample:\n  %s\n", c.says, strings.TrimSpace("diffstore "+c.name+" "+c.arguments), c.example)
		if set.HasFlags() {
			fmt.Fprintf(env.stdout, "\nFlags:\n%s", set.FlagUsages())
		}
		return diff.Agree
	}
	if err != nil {
		var names []string
		set.VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		what := err.Error()
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			flag := "--" + unknown.GetSpecifiedName()
			what = fmt.Sprintf("unknown flag %s%s", flag, suggestion(flag, names, "see diffstore "+c.name+" --help"))
		}
		return fail(env, &usageError{what})
	}
	verdict, err := do(env, set.Args())
	if err != nil {
		return fail(env, err)
	}
	return verdict
}

func suggestion(word string, known []string, otherwise string) string {
	if near := oracle.Nearest(word, known); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return "; " + otherwise
}

// fail prints one line and gives the exit code that fits the error.
func fail(env *environment, err error) diff.Verdict {
	fmt.Fprintf(env.stderr, "diffstore: %v\n", err)
	var (
		usage *usageError
		spec  *oracle.UsageError
		bad   *traces.Error
		fault *oracle.Fault
	)
	if errors.As(err, &fault) && fault.Stderr != "" {
		fmt.Fprintf(env.stderr, "its standard error ends with:\n%s\n", indent(fault.Stderr))
	}
	if errors.As(err, &usage) || errors.As(err, &spec) || errors.As(err, &bad) {
		return diff.BadUsage
	}
	return diff.Infrastructure
}

// indent shows the last lines of foreign text, escaped, beside a bar.
func indent(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	lines = lines[max(0, len(lines)-12):]
	for i, line := range lines {
		lines[i] = "  | " + report.Escape(line)
	}
	return strings.Join(lines, "\n")
}

// noArguments refuses arguments where a command takes none.
func noArguments(args []string) error {
	if len(args) > 0 {
		return &usageError{fmt.Sprintf("unexpected argument %q", args[0])}
	}
	return nil
}
