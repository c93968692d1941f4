package oracle

import (
	"errors"
	"fmt"
	"time"

	"github.com/diffstore/diffstore/op"
)

// batchSlack is the time that an op in a batch gets beside the one op time-out
// of the whole batch: a hang in one of thousands of ops must show soon, and a
// busy machine must not look like one. A black box replays, so it gets more. For
// each key that may be stored comes keySlack: an eviction may look at all of them.
// A store that grows gets that for its first slots alone.
const (
	batchSlack         = 2 * time.Millisecond
	batchSlackBlackBox = 200 * time.Millisecond
	keySlack           = 2 * time.Microsecond
)

// Oracle is one subject in a process of its own. It is used by one goroutine.
//
// Batches are submitted and collected in the same order; two may be under way,
// so that the process always has work. When the process dies or hangs, the
// batch is run again one op a message: a death at the same op twice in a row is
// what the store does, and stands in the run as a crash or hang; one that does not
// recur is an incident, which says nothing about the store.
type Oracle struct {
	launch    Launch
	ask       Ask
	process   *process
	hello     hello
	sees      op.Sees
	readers   [2]reader
	foresee   func(*op.Sequence) *Plan
	pending   []flight
	trees     []*Tree
	incidents []string
	stderr    string
	collected int
}

// Open starts an oracle. Its error is a *Fault.
func Open(launch Launch, ask Ask) (*Oracle, error) {
	p, err := start(launch)
	if err != nil {
		return nil, err
	}
	if ask.Hashes && !p.hello.Hashes {
		p.end()
		return nil, &Fault{Kind: "config", Spec: launch.Spec, What: "it cannot count hashes"}
	}
	o := &Oracle{launch: launch, ask: ask, process: p, hello: p.hello, sees: p.sees}
	if ask.Foresee != nil {
		o.foresee = ask.Foresee()
	}
	return o, nil
}

// Identity says which store runs, in which interpreter.
func (o *Oracle) Identity() op.Identity {
	h := o.hello
	path := o.launch.Path
	if path == "" && o.launch.Config.Source == nil {
		path = h.Path
	}
	adapter := h.Adapter
	for _, name := range h.Stubbed {
		adapter += " without " + name
	}
	return op.Identity{
		Name: o.launch.Spec, Version: o.launch.Version, Commit: o.launch.Commit, Path: path,
		SHA256: h.SHA256, Class: h.Class, Adapter: adapter, Python: h.Python, Wire: h.Wire,
	}
}

// Sees says what the oracle observes.
func (o *Oracle) Sees() op.Sees {
	if o.ask.Hashes {
		return o.sees | op.SeesHashes
	}
	return o.sees
}

// BlackBox tells whether the state is probed through the public interface only.
func (o *Oracle) BlackBox() bool { return o.hello.Adapter == "black-box" }

// Incidents lists the deaths and hangs that did not recur.
func (o *Oracle) Incidents() []string { return o.incidents }

// Stderr is the end of what the processes wrote to their standard error.
func (o *Oracle) Stderr() string {
	if o.process != nil {
		return o.stderr + o.process.stderr.String()
	}
	return o.stderr
}

// Submit hands over a batch. The batch must stay as it is until it is collected.
func (o *Oracle) Submit(batch []op.Sequence) error {
	f := o.plan(batch)
	if o.process != nil {
		if err := o.process.send(f, o.ask); err != nil {
			return err
		}
	}
	o.pending = append(o.pending, f)
	return nil
}

// Receive is that of op.Receiver. Payloads are views of one of two buffers.
func (o *Oracle) Receive() (next func(dst *op.Run) error, err error) {
	f := o.pending[0]
	o.pending = append(o.pending[:0], o.pending[1:]...)
	if o.process != nil {
		r := &o.readers[o.collected%2]
		o.collected++
		err := o.process.read(r, o.batchLimit(f.batch))
		if err == nil {
			err = r.open(f, o.ask.Hashes)
		}
		if err == nil {
			return func(dst *op.Run) error {
				if err := r.next(dst); err != nil {
					return o.broken(err)
				}
				return nil
			}, nil
		}
		if !errors.Is(err, errDead) {
			return nil, o.broken(err)
		}
	}
	runs := make([]op.Run, len(f.batch))
	if err := o.again(f, runs, o.drop()); err != nil {
		return nil, err
	}
	next = func(dst *op.Run) error {
		*dst, runs = runs[0], runs[1:]
		return nil
	}
	// What was under way behind the batch went with the process.
	return next, o.restart()
}

func (o *Oracle) fault(kind, format string, args ...any) *Fault {
	return &Fault{Kind: kind, Spec: o.launch.Spec, What: oneLine(fmt.Sprintf(format, args...)), Stderr: o.Stderr()}
}

// broken ends a process that does not keep to the protocol.
func (o *Oracle) broken(err error) error {
	o.drop()
	return o.fault("protocol", "%v", err)
}

// batchLimit is how long a batch may take.
func (o *Oracle) batchLimit(batch []op.Sequence) time.Duration {
	slack := batchSlack
	if o.BlackBox() {
		slack = batchSlackBlackBox
	}
	limit := o.launch.opTimeout()
	for i := range batch {
		s, brought := &batch[i], 0
		for j := range s.Ops {
			brought += len(s.Ops[j].Objects)
			limit += slack + time.Duration(max(0, min(brought, s.Slots)))*keySlack
		}
	}
	return limit
}

// drop ends the process, if there is one, and says how it ended.
func (o *Oracle) drop() (how op.ErrorKind) {
	how = op.CrashError
	if p := o.process; p != nil {
		p.end()
		if p.timedOut.Load() {
			how = op.HangError
		}
		o.stderr = p.stderr.String()
		if len(o.stderr) > stderrKept {
			o.stderr = o.stderr[len(o.stderr)-stderrKept:]
		}
		o.process = nil
	}
	return how
}

// ready starts a process if there is none.
func (o *Oracle) ready() (err error) {
	if o.process == nil {
		o.process, err = start(o.launch)
	}
	return err
}

// restart hands a process what is under way.
func (o *Oracle) restart() error {
	if err := o.ready(); err != nil {
		return err
	}
	for _, f := range o.pending {
		if err := o.process.send(f, o.ask); err != nil {
			return err
		}
	}
	return nil
}

// again runs a batch whose process died or hung, one op a message.
func (o *Oracle) again(f flight, dst []op.Run, first op.ErrorKind) error {
	why := lastLine(o.stderr)
	died, known := false, len(o.incidents)
	for i := range f.batch {
		dst[i].Refused, dst[i].Steps = nil, dst[i].Steps[:0]
		if died && o.ask.FirstDeath {
			continue
		}
		diedHere, err := o.confirm(flight{f.batch[i : i+1], f.plans[i : i+1]}, &dst[i])
		if err != nil {
			return err
		}
		died = died || diedHere
	}
	if !died && len(o.incidents) == known {
		o.incidents = append(o.incidents, deathWord(first)+" in a batch, which did not recur when the batch was run again"+why)
	}
	return nil
}

// tries is how often a sequence is run whose process dies at another op each time.
const tries = 3

// confirm runs one sequence until it is done or its process died at the same op
// twice, which is what the store does.
func (o *Oracle) confirm(one flight, dst *op.Run) (died bool, err error) {
	var places []int
	var last op.ErrorKind
	for range tries {
		at, how, err := o.watch(one, dst)
		if err != nil {
			return false, err
		}
		if at < 0 {
			for _, place := range places {
				o.incidents = append(o.incidents, fmt.Sprintf("%s at op %d, which did not recur", deathWord(last), place))
			}
			return false, nil
		}
		if n := len(places); n > 0 && places[n-1] == at && last == how {
			return true, nil
		}
		places, last = append(places, at), how
	}
	return false, o.fault("death", "it died %d times while one sequence ran, never twice in a row at the same op: at ops %v", tries, places)
}

func deathWord(how op.ErrorKind) string {
	if how == op.HangError {
		return "a hang"
	}
	return "a death of the process"
}

// watch runs one sequence one op a message, in a fresh process if need be. It
// gives the op at which the process died or hung, counted from 0, or -1.
func (o *Oracle) watch(one flight, dst *op.Run) (at int, how op.ErrorKind, err error) {
	if err := o.ready(); err != nil {
		return -1, 0, err
	}
	ask := o.ask
	ask.stepwise = true
	if err := o.process.send(one, ask); err != nil {
		return -1, 0, err
	}
	dst.Refused, dst.Steps = nil, dst.Steps[:0]
	sequence := &one.batch[0]
	for {
		// The runs of a batch outlive the next message, so each gets its own memory.
		r := &reader{}
		if err := o.process.receive(r, o.stepLimit(sequence)); errors.Is(err, errDead) {
			return o.died(sequence, dst)
		} else if err != nil {
			return -1, 0, o.broken(err)
		}
		step, ok := r.field(0, "step")
		switch {
		case !ok:
			err = r.last(sequence, dst)
		case len(dst.Steps) == len(sequence.Ops):
			err = errors.New("it sent more steps than the sequence has ops")
		default:
			err = r.step(step, sequence, one.plans[0], ask.Hashes, dst)
		}
		if err != nil {
			return -1, 0, o.broken(err)
		}
		if !ok {
			return -1, 0, nil
		}
	}
}

func (o *Oracle) stepLimit(sequence *op.Sequence) time.Duration {
	if o.BlackBox() {
		return o.launch.opTimeout() + time.Duration(len(sequence.Ops))*batchSlackBlackBox
	}
	return o.launch.opTimeout()
}

// died records the death at the op whose step did not come.
func (o *Oracle) died(sequence *op.Sequence, dst *op.Run) (int, op.ErrorKind, error) {
	how := o.drop()
	at := len(dst.Steps)
	if at == len(sequence.Ops) {
		return -1, how, o.fault("death", "%s behind the last op of a sequence%s", deathWord(how), lastLine(o.stderr))
	}
	_, now := extend(dst)
	message := "the process ended in this op"
	if how == op.HangError {
		message = fmt.Sprintf("no answer within %v", o.stepLimit(sequence))
	}
	*now = op.Observation{Outcome: op.Outcome{Err: op.NewError(how, deathWord(how), message+lastLine(o.stderr), "")}}
	return at, how, nil
}

// Close ends the process.
func (o *Oracle) Close() {
	o.pending = nil
	o.drop()
}
