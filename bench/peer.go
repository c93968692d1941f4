package bench

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/python"
)

//go:embed peers/*.py
var peerFiles embed.FS

// peers is a folder with the scripts, beside the oracle's own file that they
// import to find and load stores.
type peers struct{ dir string }

// unpack writes the scripts into a folder that remove deletes.
func unpack() (*peers, error) {
	dir, err := os.MkdirTemp("", "diffstore-bench-")
	if err != nil {
		return nil, err
	}
	p := &peers{dir: dir}
	entries, err := peerFiles.ReadDir("peers")
	if err == nil {
		err = os.WriteFile(p.path("oracle_server.py"), []byte(python.OracleServer()), 0o600)
	}
	for _, entry := range entries {
		var text []byte
		if err == nil {
			text, err = peerFiles.ReadFile("peers/" + entry.Name())
		}
		if err == nil {
			err = os.WriteFile(p.path(entry.Name()), text, 0o600)
		}
	}
	if err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

func (p *peers) path(name string) string { return filepath.Join(p.dir, name) }

func (p *peers) remove() { _ = os.RemoveAll(p.dir) }

// order is what a script is told. Each uses what it needs.
type order struct {
	Store oracle.Config `json:"store"`
	// Work is a trace file with the sequences to run; without it a script makes
	// Sequences of Ops from Seed itself.
	Work      string `json:"work,omitempty"`
	Seed      uint64 `json:"seed"`
	Sequences int    `json:"sequences"`
	Ops       int    `json:"ops"`
}

// skipped is why a script cannot run here, which ends nothing.
type skipped struct{ why string }

func (s *skipped) Error() string { return s.why }

// script is one running script that is ready for rounds.
type script struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
	// Python is the interpreter's version.
	Python string
}

// start runs a script and waits until it is ready. A script that cannot run here
// gives a *skipped.
func (p *peers) start(ctx context.Context, launch oracle.Launch, name string, what order) (*script, error) {
	s := &script{name: name, cmd: exec.CommandContext(ctx, launch.Command[0], p.path(name))}
	s.cmd.Env = append(os.Environ(), "PYTHONHASHSEED=0", "PYTHONDONTWRITEBYTECODE=1")
	s.cmd.Stderr = &s.stderr
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.stdin, s.out = stdin, bufio.NewReader(stdout)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	var ready struct{ Python, Skip, Error string }
	if err := s.ask(what, &ready); err != nil {
		return nil, err
	}
	switch {
	case ready.Error != "":
		s.stop()
		return nil, errors.New(ready.Error)
	case ready.Skip != "":
		s.stop()
		return nil, &skipped{ready.Skip}
	}
	s.Python = ready.Python
	return s, nil
}

// ask sends one line and reads the answer.
func (s *script) ask(question, answer any) error {
	line, err := json.Marshal(question)
	if err != nil {
		return err
	}
	_, _ = s.stdin.Write(append(line, '\n')) // a broken pipe shows as a missing answer
	reply, err := s.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(reply, answer)
	}
	if err != nil {
		s.stop()
		said := strings.Split(strings.TrimSpace(s.stderr.String()), "\n")
		return fmt.Errorf("%s ended without an answer: %s", s.name, said[len(said)-1])
	}
	return nil
}

// sample runs one round.
func (s *script) sample() (out sample, err error) {
	return out, s.ask(nil, &out)
}

// stop lets the script end.
func (s *script) stop() {
	_ = s.stdin.Close()
	_ = s.cmd.Wait()
}
