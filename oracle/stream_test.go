package oracle

import (
	"errors"
	"strings"
	"testing"

	"github.com/diffstore/diffstore/op"
)

// TestValuesOfAReplyAreBounded: a reply is bounded as a whole, though it is read run
// by run. Each run here has a list of a million values for an outcome.
func TestValuesOfAReplyAreBounded(t *testing.T) {
	const values = 1_000_000
	batch := make([]op.Sequence, 6)
	for i := range batch {
		batch[i] = op.Sequence{Slots: 1, ObjectBytes: 1, Ops: []op.Op{{Kind: op.Get}}}
	}
	reply := "{\xda\x04runs[" + le(len(batch))
	for range batch {
		reply += ")\x02N[" + le(1) + ")\x02[" + le(values) + strings.Repeat(string([]byte{codeNone | flagRef}), values) + "N"
	}
	r := &reader{sees: op.SeesAll, body: []byte(reply + "0")}
	if err := r.runs(flight{batch: batch}, false, make([]op.Run, len(batch))); !errors.Is(err, errMany) {
		t.Error(err)
	}
	if len(r.refs) > maxNodes+values {
		t.Errorf("%d values are kept", len(r.refs))
	}
}

// TestStreamsReadWhatTreesDo cuts a reply at every byte and changes every byte:
// read run by run it has to be taken or refused as it is when read whole.
func TestStreamsReadWhatTreesDo(t *testing.T) {
	var whole []any
	for _, run := range modelled(t, "main", fuzzBatch) {
		var refused any
		if run.Refused != nil {
			refused = errorValue(run.Refused)
		}
		var steps []any
		for j := range run.Steps {
			steps = append(steps, stepValue(&run.Steps[j], false))
		}
		whole = append(whole, []any{refused, list(steps)})
	}
	var e marshalEncoder
	e.any(map[string]any{"runs": whole})
	byRun := func(data []byte) error {
		r := &reader{sees: op.SeesAll, body: data}
		return r.runs(flight{batch: fuzzBatch}, false, make([]op.Run, len(fuzzBatch)))
	}
	asATree := func(data []byte) error {
		r := &reader{sees: op.SeesAll, body: data}
		if err := r.whole(); err != nil {
			return err
		}
		runs, ok := r.field(0, "runs")
		if !ok {
			return errors.New("no runs")
		}
		at, _, err := r.list(runs, "runs", len(fuzzBatch))
		for i := 0; err == nil && i < len(fuzzBatch); i++ {
			err = r.run(at, &fuzzBatch[i], nil, false, &op.Run{})
			at = r.nodes[at].end
		}
		return err
	}
	if err := byRun(e.buf); err != nil {
		t.Fatal(err)
	}
	for i := range e.buf {
		if byRun(e.buf[:i]) == nil {
			t.Errorf("a reply that is cut at byte %d is taken", i)
		}
		for _, becomes := range []byte{0, codeNone, codeNone | flagRef, codeInt, codeList, codeRef, e.buf[i] ^ flagRef, e.buf[i] + 1, 0xff} {
			changed := append([]byte(nil), e.buf...)
			changed[i] = becomes
			if a, b := byRun(changed), asATree(changed); (a == nil) != (b == nil) {
				t.Errorf("byte %d, %q for %q: run by run %v, as a tree %v", i, becomes, e.buf[i], a, b)
			}
		}
	}
}

// runs reads the reply to a batch into dst, one run a sequence. Payloads are
// views of the message.
func (r *reader) runs(f flight, hashes bool, dst []op.Run) error {
	if err := r.open(f, hashes); err != nil {
		return err
	}
	for i := range f.batch {
		if err := r.next(&dst[i]); err != nil {
			return err
		}
	}
	return nil
}
