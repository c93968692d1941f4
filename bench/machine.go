package bench

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Machine is where a measurement was made.
type Machine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	OS    string `json:"os"`
	Go    string `json:"go"`
	// Load is the load average of the last minute before the measurement, where
	// the system tells it.
	Load string `json:"load,omitempty"`
}

// thisMachine describes the machine this runs on.
func thisMachine() Machine {
	m := Machine{CPU: runtime.GOARCH, Cores: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: strings.TrimPrefix(runtime.Version(), "go")}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				m.CPU = strings.TrimSpace(value)
				break
			}
		}
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(load), " ")
	}
	return m
}

// String says it in one line.
func (m Machine) String() string {
	text := fmt.Sprintf("%s, %d cores, %s, Go %s", m.CPU, m.Cores, m.OS, m.Go)
	if m.Load != "" {
		text += ", load " + m.Load
	}
	return text
}

// ownCPU is the processor time this process has taken so far.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
