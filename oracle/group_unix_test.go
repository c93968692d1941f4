//go:build unix

package oracle

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/diffstore/diffstore/op"
)

// openStubborn opens a fake that does not end by itself, and gives the ids of its
// process and its child's.
func openStubborn(t *testing.T, ctx context.Context, behaviour string, needs ...string) (o *Oracle, pids []int) {
	t.Helper()
	for _, command := range needs {
		if _, err := exec.LookPath(command); err != nil {
			t.Skipf("needs the command %s", command)
		}
	}
	launch := fakeLaunch(t, behaviour, WireMarshal, time.Second)
	o, err := Open(launch, Ask{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	var fields []string
	for len(fields) != 2 {
		if ctx.Err() != nil {
			t.Fatalf("the fake wrote %q, want two process ids", fields)
		}
		time.Sleep(time.Millisecond)
		text, _ := os.ReadFile(os.Getenv(fakeMarker) + ".pids") // absent until it is there
		fields = strings.Fields(string(text))
	}
	return o, processIDs(t, fields)
}

func TestCloseLeavesNoProcess(t *testing.T) {
	ctx := patience(t)
	o, pids := openStubborn(t, ctx, "ignores its input", "sleep")
	if err := o.Submit([]op.Sequence{{Slots: 1, ObjectBytes: 1}}); err != nil {
		t.Fatal(err)
	}
	o.Close()
	gone(t, ctx, pids)
}

// noneLeft fails when a process of the fake of this test is alive.
func noneLeft(t *testing.T, ctx context.Context) {
	t.Helper()
	text, err := os.ReadFile(os.Getenv(fakeMarker))
	if err != nil {
		t.Fatal(err)
	}
	gone(t, ctx, processIDs(t, strings.Fields(string(text))))
}

// gone waits until none of the processes is alive.
func gone(t *testing.T, ctx context.Context, pids []int) {
	t.Helper()
	for _, pid := range pids {
		for alive(pid) {
			if ctx.Err() != nil {
				t.Fatalf("process %d is alive after Close", pid)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

func processIDs(t *testing.T, fields []string) (pids []int) {
	t.Helper()
	for _, field := range fields {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// TestCloseDoesNotWaitForADaemon holds a process whose child has left its group
// and still holds its standard error.
func TestCloseDoesNotWaitForADaemon(t *testing.T) {
	ctx := patience(t)
	o, pids := openStubborn(t, ctx, "leaves a daemon", "sleep", "setsid")
	defer func() { _ = syscall.Kill(pids[1], syscall.SIGKILL) }()
	closed := make(chan struct{})
	go func() {
		o.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-ctx.Done():
		t.Fatal("Close waits for a process that is not its own")
	}
	if alive(pids[0]) {
		t.Errorf("process %d is alive after Close", pids[0])
	}
}

// alive tells whether a process runs; one that ended and was not waited for does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return !os.IsNotExist(err)
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
