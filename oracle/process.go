package oracle

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diffstore/diffstore/op"
)

// startTimeout is how long a process may take to say hello, in op time-outs; it
// has to import the store.
const startTimeout = 4

// helloLimit bounds the hello in bytes.
const helloLimit = 1 << 20

// waitDelay is how long a process that ended is waited for while something it
// started, and that left its group, still holds its standard error.
const waitDelay = time.Second

// stderrKept is how many bytes of a process's standard error are kept.
const stderrKept = 64 << 10

// hello is what a process says of itself before it takes requests.
type hello struct {
	Protocol int      `json:"diffstore_protocol"`
	Python   string   `json:"python"`
	Class    string   `json:"class"`
	Path     string   `json:"path"`
	SHA256   string   `json:"sha256"`
	Stubbed  []string `json:"stubbed"`
	Adapter  string   `json:"adapter"`
	Sees     []string `json:"sees"`
	Hashes   bool     `json:"hashes"`
	Trees    bool     `json:"trees"`
	Copies   bool     `json:"copies"`
	Looks    bool     `json:"looks"`
	Wire     string   `json:"wire"`
	Refused  *refusal `json:"error"`
}

// refusal is why a process cannot serve.
type refusal struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// refusalKinds are the kinds of fault that a process may state itself.
var refusalKinds = []string{"python", "import", "class", "constructor", "config", "protocol"}

func (r *refusal) Error() string { return r.Message }

// seesNames are the words of the handshake for what an oracle observes.
var seesNames = map[string]op.Sees{
	"queue": op.SeesQueue, "refs": op.SeesRefs, "zombies": op.SeesZombies, "slots": op.SeesSlots,
}

// process is one running oracle. Requests are written by a goroutine of its
// own: a request larger than the pipe would otherwise block while the reply to
// the one before it waits to be read, and both sides would stand still.
type process struct {
	launch Launch
	cmd    *exec.Cmd
	out    *bufio.Reader
	hello  hello
	sees   op.Sees

	requests chan []byte
	spare    chan []byte
	encoder  marshalEncoder
	// table is the table of ops that the last tree brought.
	table *op.Op

	stderr   *tail
	timedOut atomic.Bool
	endOnce  sync.Once
}

// start runs the launch's command and shakes hands.
func start(launch Launch) (*process, error) {
	cmd := exec.Command(launch.Command[0], launch.Command[1:]...)
	cmd.Env = append(os.Environ(), "PYTHONHASHSEED=0", "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1")
	p := &process{launch: launch, cmd: cmd, stderr: &tail{}}
	cmd.Stderr = p.stderr
	cmd.WaitDelay = waitDelay
	isolate(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, startFailure(launch, err)
	}
	live.Store(p, nil)
	p.out = bufio.NewReaderSize(stdout, 1<<18)
	p.requests = make(chan []byte, 4)
	p.spare = make(chan []byte, 4)
	go p.write(stdin)
	if err := p.shake(); err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

func startFailure(launch Launch, err error) *Fault {
	fault := &Fault{Kind: "python", Spec: launch.Spec}
	hint := "; install it or name another with --python"
	if launch.foreign() {
		fault.Kind, hint = "config", ""
	}
	fault.What = fmt.Sprintf("%s does not start: %v", launch.Command[0], err)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		fault.What = launch.Command[0] + " was not found" + hint
	}
	return fault
}

// write sends the requests until the channel is closed or the pipe breaks; a
// broken pipe shows as a missing reply.
func (p *process) write(stdin io.WriteCloser) {
	defer stdin.Close()
	for request := range p.requests {
		if _, err := stdin.Write(request); err != nil {
			for range p.requests { // until closed, so that no sender waits
				continue
			}
			return
		}
		select {
		case p.spare <- request:
		default:
		}
	}
}

// shake sends the configuration and reads the hello.
func (p *process) shake() error {
	config, err := json.Marshal(p.launch.Config)
	if err != nil {
		return err
	}
	p.requests <- append(config, '\n')
	limit := startTimeout * p.launch.opTimeout()
	disarm := p.arm(limit)
	line, err := p.line(nil, helloLimit)
	disarm()
	if err == nil {
		err = p.greet(line)
	}
	if err == nil {
		return nil
	}
	p.end() // now its standard error is whole
	fault := &Fault{Kind: "protocol", Spec: p.launch.Spec, What: oneLine(err.Error()), Stderr: p.stderr.String()}
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		fault.Kind = refused.Kind
	case errors.Is(err, errDead) && p.timedOut.Load():
		fault.What = fmt.Sprintf("no hello within %v; is it an oracle?", limit)
	case errors.Is(err, errDead):
		fault.Kind, fault.What = "death", "it ended before its hello"+lastLine(fault.Stderr)
		if !p.launch.foreign() && strings.Contains(fault.What, "SyntaxError") {
			fault.Kind, fault.What = "python", fault.What+"; is it Python 3.9 or newer?"
		}
	}
	return fault
}

// greet takes the hello in.
func (p *process) greet(line []byte) error {
	if err := json.Unmarshal(line, &p.hello); err != nil {
		return fmt.Errorf("its hello is no JSON line: %.80q", line)
	}
	if refused := p.hello.Refused; refused != nil {
		if !slices.Contains(refusalKinds, refused.Kind) {
			return fmt.Errorf("it refuses for a reason unknown to the protocol, %.20q: %s", refused.Kind, refused.Message)
		}
		return refused
	}
	if p.hello.Protocol != Protocol {
		return fmt.Errorf("it speaks protocol %d, this diffstore speaks %d", p.hello.Protocol, Protocol)
	}
	if p.hello.Wire != p.launch.Config.Wire && p.hello.Wire != WireJSON {
		return fmt.Errorf("it chose wire %.20q, asked for %q", p.hello.Wire, p.launch.Config.Wire)
	}
	for _, name := range p.hello.Sees {
		p.sees |= seesNames[name]
	}
	if p.sees&op.SeesSlots != 0 {
		p.sees |= op.SeesZombies
	}
	return nil
}

// arm ends the process when the limit passes before the returned function is called.
func (p *process) arm(limit time.Duration) (disarm func()) {
	timer := time.AfterFunc(limit, func() {
		p.timedOut.Store(true)
		p.kill()
	})
	return func() { timer.Stop() }
}

// send queues a request; it does not wait for the reply.
func (p *process) send(f flight, ask Ask) error {
	if p.hello.Wire != WireJSON {
		return p.post(p.encoder.request(f, ask))
	}
	line, err := jsonRequest(f, ask)
	if err != nil {
		return err
	}
	return p.post(line)
}

// post queues a copy of a message.
func (p *process) post(message []byte) error {
	if len(message) > MessageLimit {
		return &Fault{Kind: "config", Spec: p.launch.Spec,
			What: fmt.Sprintf("a request of %d bytes is over the limit of %d; make sequences shorter or objects smaller", len(message), MessageLimit)}
	}
	var request []byte
	select {
	case spare := <-p.spare:
		request = spare[:0]
	default:
	}
	p.requests <- append(request, message...)
	return nil
}

// receive waits for one message and decodes it into the reader, whose memory it uses.
func (p *process) receive(r *reader, limit time.Duration) error {
	if err := p.read(r, limit); err != nil {
		return err
	}
	return r.whole()
}

// read waits for one message and reads it into the reader's body.
func (p *process) read(r *reader, limit time.Duration) error {
	disarm := p.arm(limit)
	defer disarm()
	r.sees, r.hex, r.asked = p.sees, p.hello.Wire == WireJSON, &p.encoder
	if r.hex {
		line, err := p.line(r.body[:0], MessageLimit)
		if err == nil {
			r.body = line
		}
		return err
	}
	var header [4]byte
	if n, err := io.ReadFull(p.out, header[:]); err != nil {
		return p.gone(n)
	}
	size := binary.LittleEndian.Uint32(header[:])
	if size > MessageLimit {
		return fmt.Errorf("it sent a message of %d bytes, over the limit of %d", size, MessageLimit)
	}
	r.body = grow(r.body, int(size))
	if _, err := io.ReadFull(p.out, r.body); err != nil {
		return p.gone(len(header))
	}
	return nil
}

// line appends one line of at most limit bytes to buf.
func (p *process) line(buf []byte, limit int) ([]byte, error) {
	for {
		part, err := p.out.ReadSlice('\n')
		buf = append(buf, part...)
		switch {
		case len(buf) > limit:
			return nil, fmt.Errorf("it sent a line of more than %d bytes", limit)
		case err == nil:
			return buf, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, p.gone(len(buf))
		}
	}
}

// gone says why no more can be read behind the bytes of a message read so far. A
// store that hangs does so before its reply begins.
func (p *process) gone(read int) error {
	if read > 0 && p.timedOut.Load() {
		return errors.New("it stopped inside a message")
	}
	return errDead
}

func grow(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n, n+n/4)
	}
	return b[:n]
}

// kill ends the process at once, with all it started.
func (p *process) kill() { killGroup(p.cmd) }

// end closes the process's input, ends it and waits until it is gone.
func (p *process) end() {
	p.endOnce.Do(func() {
		close(p.requests)
		p.kill()
		_ = p.cmd.Wait() // its exit code says nothing that the missing reply does not
		live.Delete(p)
	})
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - stderrKept; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}

// lastLine gives ": " and the last line of a text that has one.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return ": " + oneLine(last)
	}
	return ""
}

// oneLine makes foreign text fit for one line: no control characters, at most 400 bytes.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
	if len(text) > 400 {
		text = text[:400] + "…"
	}
	return strings.TrimSpace(text)
}
