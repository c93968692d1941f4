//go:build unix

package oracle

import (
	"os/exec"
	"syscall"
)

// isolate gives the process a group of its own, so that a Ctrl-C in the terminal
// reaches us alone and ending it ends what it started.
func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
