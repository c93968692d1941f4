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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diffstore/diffstore/op"
)

// startTimeout is how long a process may take to say hello, in op time-outs; it
// has to import the store.
const startTimeout = 4

// stderrKept is how many bytes of a process's standard error are kept.
const stderrKept = 64 << 10

// hello is what a process says of itself before it takes requests.
type hello struct {
	Protocol  int      `json:"diffstore_protocol"`
	Python    string   `json:"python"`
	Class     string   `json:"class"`
	Path      string   `json:"path"`
	SHA256    string   `json:"sha256"`
	Stubbed   []string `json:"stubbed"`
	Adapter   string   `json:"adapter"`
	Sees      []string `json:"sees"`
	Hashes    bool     `json:"hashes"`
	Wire      string   `json:"wire"`
	Refused   *refusal `json:"error"`
	wireIsHex bool
}

// refusal is why a process cannot serve.
type refusal struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

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
	reply    []byte
	encoder  marshalEncoder

	stderr   *tail
	timedOut atomic.Bool
	ended    chan struct{}
	endOnce  sync.Once
}

// start runs the launch's command and shakes hands.
func start(launch Launch) (*process, error) {
	cmd := exec.Command(launch.Command[0], launch.Command[1:]...)
	cmd.Env = append(os.Environ(), "PYTHONHASHSEED=0", "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1")
	p := &process{launch: launch, cmd: cmd, stderr: &tail{}, ended: make(chan struct{})}
	cmd.Stderr = p.stderr
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
		return nil, &Fault{Kind: "python", Spec: launch.Spec, What: startFailure(launch, err)}
	}
	p.out = bufio.NewReaderSize(stdout, 1<<18)
	p.requests = make(chan []byte, 4)
	p.spare = make(chan []byte, 4)
	go p.write(stdin)
	if err := p.shake(stdin); err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

func startFailure(launch Launch, err error) string {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return fmt.Sprintf("%s was not found; install it or name another with --python", launch.Command[0])
	}
	return fmt.Sprintf("%s does not start: %v", launch.Command[0], err)
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
func (p *process) shake(io.Writer) error {
	config, err := json.Marshal(p.launch.Config)
	if err != nil {
		return err
	}
	p.requests <- append(config, '\n')
	disarm := p.arm(startTimeout * p.launch.opTimeout())
	line, err := p.line()
	disarm()
	fault := func(kind, format string, args ...any) error {
		p.end()
		return &Fault{Kind: kind, Spec: p.launch.Spec, What: fmt.Sprintf(format, args...), Stderr: p.stderr.String()}
	}
	if err != nil {
		if p.timedOut.Load() {
			return fault("protocol", "no hello within %v; is it an oracle?", startTimeout*p.launch.opTimeout())
		}
		if errors.Is(err, errDead) {
			p.end()
			return fault("death", "it ended before its hello%s", lastLine(p.stderr.String()))
		}
		return fault("protocol", "%v", err)
	}
	if err := json.Unmarshal(line, &p.hello); err != nil {
		return fault("protocol", "its hello is no JSON line: %.80q", line)
	}
	if refused := p.hello.Refused; refused != nil {
		return fault(refused.Kind, "%s", oneLine(refused.Message))
	}
	if p.hello.Protocol != Protocol {
		return fault("protocol", "it speaks protocol %d, this diffstore speaks %d", p.hello.Protocol, Protocol)
	}
	if p.hello.Wire != p.launch.Config.Wire {
		return fault("protocol", "it chose wire %.20q, asked for %q", p.hello.Wire, p.launch.Config.Wire)
	}
	for _, name := range p.hello.Sees {
		p.sees |= seesNames[name]
	}
	if p.sees&op.SeesSlots != 0 {
		p.sees |= op.SeesZombies
	}
	p.hello.wireIsHex = p.hello.Wire == WireJSON
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
func (p *process) send(batch []op.Sequence, ask Ask) error {
	var request []byte
	if p.hello.wireIsHex {
		line, err := jsonRequest(batch, ask)
		if err != nil {
			return err
		}
		request = line
	} else {
		select {
		case spare := <-p.spare:
			request = spare[:0]
		default:
		}
		request = append(request, p.encoder.request(batch, ask)...)
	}
	if len(request) > MessageLimit {
		return fmt.Errorf("a request of %d bytes is over the limit of %d; use a smaller batch", len(request), MessageLimit)
	}
	p.requests <- request
	return nil
}

// receive waits for one message and decodes it into the reader.
func (p *process) receive(r *reader, limit time.Duration) error {
	disarm := p.arm(limit)
	defer disarm()
	r.sees, r.hex = p.sees, p.hello.wireIsHex
	if p.hello.wireIsHex {
		line, err := p.line()
		if err != nil {
			return err
		}
		return r.decodeJSON(line)
	}
	var header [4]byte
	if _, err := io.ReadFull(p.out, header[:]); err != nil {
		return errDead
	}
	size := binary.LittleEndian.Uint32(header[:])
	if size > MessageLimit {
		return fmt.Errorf("it sent a message of %d bytes, over the limit of %d", size, MessageLimit)
	}
	p.reply = grow(p.reply, int(size))
	if _, err := io.ReadFull(p.out, p.reply); err != nil {
		return errDead
	}
	return r.decodeMarshal(p.reply)
}

// line reads one line of at most MessageLimit bytes.
func (p *process) line() ([]byte, error) {
	p.reply = p.reply[:0]
	for {
		part, err := p.out.ReadSlice('\n')
		p.reply = append(p.reply, part...)
		switch {
		case err == nil:
			return p.reply, nil
		case len(p.reply) > MessageLimit:
			return nil, fmt.Errorf("it sent a line of more than %d bytes", MessageLimit)
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, errDead
		}
	}
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
		close(p.ended)
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
