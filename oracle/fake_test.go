package oracle

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/op"
)

// The variables that make the test binary an oracle that misbehaves: what it
// does, and a file by which it remembers that it was started before.
const (
	fakeBehaviour = "DIFFSTORE_FAKE"
	fakeMarker    = "DIFFSTORE_FAKE_MARKER"
)

func TestMain(m *testing.M) {
	if behaviour := os.Getenv(fakeBehaviour); behaviour != "" {
		f := &fake{behaviour: behaviour, in: bufio.NewReader(os.Stdin)}
		if err := f.serve(); err != nil {
			fmt.Fprintln(os.Stderr, "fake:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// exec gives a launch of the test binary as the fake with this behaviour.
func fakeLaunch(t *testing.T, behaviour, wire string, timeout time.Duration) Launch {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(fakeBehaviour, behaviour)
	t.Setenv(fakeMarker, t.TempDir()+"/started")
	launch, err := Resolve("exec:"+binary, Options{Wire: wire, OpTimeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	return launch
}

// bomb is the key whose get sets off what a fake does at an op.
const bomb = "bomb"

// fake is an oracle that holds the Go model and, at the point its behaviour
// names, does what no oracle should. Its marker holds the id of each process.
type fake struct {
	behaviour string
	in        *bufio.Reader
	wire      string
	starts    int
	store     *model.Store
}

func (f *fake) is(behaviours ...string) bool { return slices.Contains(behaviours, f.behaviour) }

func (f *fake) serve() error {
	f.starts = countStart()
	if f.is("dies at start") {
		return errors.New("no licence")
	}
	if f.is("prints first") {
		fmt.Println("loading weights...")
	}
	line, err := f.in.ReadBytes('\n')
	if err != nil {
		return err
	}
	var config Config
	if err := json.Unmarshal(line, &config); err != nil {
		return err
	}
	f.wire = config.Wire
	if f.is("says a long hello") {
		return flood()
	}
	if err := f.hello(); err != nil {
		return err
	}
	if f.is("ignores its input", "leaves a daemon") {
		return f.ignore()
	}
	if f.store, err = model.New("main", 1, 1); err != nil {
		return err
	}
	for {
		request, err := f.receive()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := f.answer(request); err != nil {
			return err
		}
	}
}

// countStart counts the starts of this behaviour, this one included.
func countStart() int {
	marker := os.Getenv(fakeMarker)
	before, _ := os.ReadFile(marker) // absent at the first start
	if err := os.WriteFile(marker, fmt.Appendf(before, "%d\n", os.Getpid()), 0o600); err != nil {
		panic(err)
	}
	return bytes.Count(before, []byte("\n")) + 1
}

func (f *fake) hello() error {
	greeting := map[string]any{
		"diffstore_protocol": Protocol, "class": "model.Store", "adapter": "fake", "wire": f.wire,
		"sees": []string{"queue", "refs", "zombies", "slots", "something a later version has"},
	}
	switch f.behaviour {
	case "speaks another version":
		greeting["diffstore_protocol"] = Protocol + 1
	case "chooses a wire of its own":
		greeting["wire"] = "smoke"
	case "chooses json":
		f.wire, greeting["wire"] = WireJSON, WireJSON
	case "refuses":
		greeting["error"] = map[string]string{"kind": "config", "message": "no store\nwas named"}
	case "refuses oddly":
		greeting["error"] = map[string]string{"kind": "mood", "message": "not today"}
	case "says something else":
		_, err := fmt.Println(`{"status":"ready"}`)
		return err
	}
	line, err := json.Marshal(greeting)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(line, '\n'))
	return err
}

// ignore lives on, whatever happens to the input, with a child that does, too.
func (f *fake) ignore() error {
	child := exec.Command("sleep", "600")
	if f.is("leaves a daemon") {
		child = exec.Command("setsid", "sleep", "600")
	}
	child.Stderr = os.Stderr
	if err := child.Start(); err != nil {
		return err
	}
	pids := fmt.Sprintf("%d %d", os.Getpid(), child.Process.Pid)
	if err := os.WriteFile(os.Getenv(fakeMarker)+".pids", []byte(pids), 0o600); err != nil {
		return err
	}
	select {}
}

// flood writes 100 MB that hold no end of line.
func flood() error {
	block := bytes.Repeat([]byte("x"), 1<<20)
	for range 100 {
		if _, err := os.Stdout.Write(block); err != nil {
			return err
		}
	}
	time.Sleep(time.Hour)
	return nil
}

// receive reads a request into a tree; both wires carry the same one.
func (f *fake) receive() (*reader, error) {
	r := &reader{hex: f.wire == WireJSON}
	if r.hex {
		line, err := f.in.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		return r, r.decodeJSON(line)
	}
	var size [4]byte
	if _, err := io.ReadFull(f.in, size[:]); err != nil {
		return nil, err
	}
	r.body = make([]byte, binary.LittleEndian.Uint32(size[:]))
	if _, err := io.ReadFull(f.in, r.body); err != nil {
		return nil, err
	}
	return r, r.decodeMarshal(r.body)
}

func (f *fake) answer(request *reader) error {
	switch f.behaviour {
	case "answers garbage":
		_, err := os.Stdout.WriteString("\x10\x00\x00\x00Segmentation fault\n")
		return err
	case "stops inside a message":
		if _, err := os.Stdout.WriteString("\x10\x00\x00\x00{"); err != nil {
			return err
		}
		time.Sleep(time.Hour)
	case "answers a long line":
		if f.wire == WireJSON {
			return flood()
		}
		_, err := os.Stdout.Write(binary.LittleEndian.AppendUint32(nil, 100<<20))
		return err
	}
	batch, err := request.batch()
	if err != nil {
		return err
	}
	_, stepwise := request.field(0, "stepwise")
	var runs []any
	for i := range batch {
		if !stepwise && f.is("dies in a batch once") && f.starts == 1 && i == 1 {
			return errors.New("out of memory")
		}
		refused, steps := f.run(&batch[i])
		explodesAt := f.fuse(&batch[i])
		if !stepwise && explodesAt >= 0 {
			f.explode()
		}
		switch f.behaviour {
		case "sends a step too many":
			steps = append(steps, []any{nil, emptyStateValue})
		case "sends a step too few":
			steps = steps[:len(steps)-1]
		case "sends an unknown error kind":
			steps[0] = []any{[]any{"mood", "T", "m", nil}, emptyStateValue}
		case "sends a crash as an error":
			steps[0] = []any{[]any{"crash", "T", "m", nil}, emptyStateValue}
		}
		if stepwise {
			for at, step := range steps {
				if at == explodesAt {
					f.explode()
				}
				if err := f.send(map[string]any{"step": step}); err != nil {
					return err
				}
			}
			if f.is("dies behind the last op") {
				return errors.New("double free")
			}
			steps = nil
		}
		runs = append(runs, []any{refused, list(steps)})
	}
	switch f.behaviour {
	case "sends a run too many":
		runs = append(runs, []any{nil, []any{}})
	case "sends a run too few":
		runs = runs[1:]
	case "sends no runs":
		return f.send(map[string]any{"results": runs})
	case "dies behind the last op":
		return errors.New("double free")
	}
	return f.send(map[string]any{"runs": runs})
}

// fuse gives the op at which the fake explodes, or -1.
func (f *fake) fuse(sequence *op.Sequence) int {
	for i := range sequence.Ops {
		set := slices.Contains(sequence.Ops[i].Keys, bomb)
		if f.is("dies at another op each time") {
			set = i == f.starts%3
		}
		if set {
			return i
		}
	}
	return -1
}

// run runs one sequence on the model.
func (f *fake) run(sequence *op.Sequence) (refused any, steps []any) {
	var run op.Run
	diff.RunModel(f.store, sequence, &run)
	if run.Refused != nil {
		return errorValue(run.Refused), nil
	}
	for i := range run.Steps {
		steps = append(steps, stepValue(&run.Steps[i], f.wire == WireJSON))
	}
	return nil, steps
}

// explode does what the behaviour says of an op that names the bomb.
func (f *fake) explode() {
	switch f.behaviour {
	case "dies at an op", "dies at another op each time":
		fmt.Fprintln(os.Stderr, "Segmentation fault")
		os.Exit(139)
	case "hangs at an op":
		time.Sleep(time.Hour)
	case "dies at an op once":
		if f.starts == 1 {
			os.Exit(139)
		}
	case "hangs at an op once":
		if f.starts == 1 {
			time.Sleep(time.Hour)
		}
	case "dies at an op twice":
		// In the batch and when it is watched; not when it is confirmed.
		if f.starts <= 2 {
			os.Exit(139)
		}
	}
}

func (f *fake) send(message any) error {
	if f.wire == WireJSON {
		line, err := json.Marshal(message)
		if err != nil {
			return err
		}
		_, err = os.Stdout.Write(append(line, '\n'))
		return err
	}
	e := &marshalEncoder{buf: make([]byte, 4)}
	e.any(message)
	binary.LittleEndian.PutUint32(e.buf, uint32(len(e.buf)-4))
	_, err := os.Stdout.Write(e.buf)
	return err
}
