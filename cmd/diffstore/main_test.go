package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sebdah/goldie/v2"

	"github.com/diffstore/diffstore/python"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"diffstore": main})
}

// TestScripts runs testdata/script: each is a user's session with the command.
func TestScripts(t *testing.T) {
	interpreter, _ := realPython()
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			return setup(env, interpreter)
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "python":
				return interpreter != "", nil
			case "pytest":
				return interpreter != "" && exec.Command(interpreter, "-c", "import pytest").Run() == nil, nil
			case "network":
				return os.Getenv("DIFFSTORE_NETWORK") == "1", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "waitfor": waitfor, "gone": gone, "planted": planted,
		},
		UpdateScripts: updating(),
	})
}

// updating tells whether goldie's flag asks to write what the tests expect anew.
func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// setup gives a script the repository as $ROOT, an empty cache, and python3
// without whatever picks one by the home folder.
func setup(env *testscript.Env, interpreter string) error {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return err
	}
	command, err := exec.LookPath("diffstore")
	if err != nil {
		return err
	}
	env.Setenv("ROOT", root)
	env.Setenv("BIN", filepath.Dir(command))
	env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
	if interpreter != "" {
		env.Setenv("PATH", filepath.Dir(interpreter)+string(os.PathListSeparator)+env.Getenv("PATH"))
	}
	return nil
}

// realPython is the interpreter behind python3, which may be a launcher.
func realPython() (string, error) {
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	return strings.TrimSpace(string(out)), err
}

// exits runs a command and checks its exit code: exits CODE COMMAND ARGUMENTS.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARGUMENTS]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var ended *exec.ExitError
	switch {
	case err == nil && want == 0:
	case errors.As(err, &ended) && ended.ExitCode() == want:
	default:
		ts.Fatalf("%v, expected exit code %d", err, want)
	}
}

// patience bounds how long a script waits for another process; nothing is
// judged by it.
const patience = 60 * time.Second

// waitfor waits until each of the files has something in it.
func waitfor(ts *testscript.TestScript, neg bool, args []string) {
	until(ts, "nothing is written to "+strings.Join(args, ", "), func() bool {
		for _, name := range args {
			if info, err := os.Stat(ts.MkAbs(name)); err != nil || info.Size() == 0 {
				return false
			}
		}
		return true
	})
}

func until(ts *testscript.TestScript, otherwise string, done func() bool) {
	for end := time.Now().Add(patience); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("%s", otherwise)
		}
	}
}

// gone checks that the processes whose ids a file lists have ended.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	ids := strings.Fields(ts.ReadFile(args[0]))
	if len(ids) == 0 {
		ts.Fatalf("%s lists no process", args[0])
	}
	for _, text := range ids {
		id, err := strconv.Atoi(text)
		ts.Check(err)
		until(ts, "process "+text+" is still there", func() bool { return syscall.Kill(id, 0) != nil })
	}
}

// planted writes an embedded store with a planted bug to a file; without a bug
// the store as it is: planted FILE STORE [BUG].
func planted(ts *testscript.TestScript, neg bool, args []string) {
	source, ok := python.Store(args[1])
	if !ok {
		ts.Fatalf("no store %s", args[1])
	}
	if len(args) > 2 {
		all, err := python.Mutants()
		ts.Check(err)
		for _, m := range all {
			if m.Name == args[2] && m.Store == args[1] {
				source, err = m.Apply()
				ts.Check(err)
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(source), 0o644))
				return
			}
		}
		ts.Fatalf("no planted bug %s in %s", args[2], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(source), 0o644))
}

// TestHelp keeps every help text. Each must show a command that is a command.
func TestHelp(t *testing.T) {
	g := goldie.New(t, goldie.WithFixtureDir(filepath.Join("testdata", "golden")))
	help := func(args ...string) []byte {
		var out bytes.Buffer
		env := &environment{ctx: t.Context(), stdout: &out, stderr: &out}
		if verdict := run(env, args); verdict != 0 {
			t.Errorf("%v: %s", args, verdict)
		}
		return out.Bytes()
	}
	g.Assert(t, "help", help("help"))
	for i := range commands {
		c := &commands[i]
		text := help(c.name, "--help")
		g.Assert(t, "help-"+c.name, text)
		if other := help("help", c.name); !bytes.Equal(text, other) {
			t.Errorf("help %s and %s --help differ", c.name, c.name)
		}
		if c.says == "" || !strings.HasPrefix(c.example, "diffstore "+c.name) {
			t.Errorf("%s: says %q, example %q", c.name, c.says, c.example)
		}
	}
}
