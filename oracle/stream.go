package oracle

import (
	"errors"
	"fmt"

	"github.com/diffstore/diffstore/op"
)

// whole makes a tree of the whole body.
func (r *reader) whole() error {
	if r.hex {
		return r.decodeJSON(r.body)
	}
	return r.decodeMarshal(r.body)
}

// stream reads the runs of one reply, one after the other: what is made of one is
// still in a near cache when it is compared, and the next takes its memory.
type stream struct {
	asks   flight
	hashes bool
	read   int // runs so far
	// values counts those of the runs so far: a reply is bounded as a whole.
	values int
	// partly says that decoder makes a tree of one run at a time. Otherwise the
	// whole reply is a tree, and the next run stands at place.
	partly  bool
	decoder marshalDecoder
	place   int32
}

// open begins to read the reply in the body.
func (r *reader) open(f flight, hashes bool) error {
	r.stream = stream{asks: f, hashes: hashes}
	if r.enter() {
		return nil
	}
	if err := r.whole(); err != nil {
		return err
	}
	list, ok := r.field(0, "runs")
	if !ok {
		return errors.New("the reply has no runs")
	}
	var err error
	r.place, _, err = r.list(list, "runs", len(f.batch))
	return err
}

// enter brings the decoder to the first run, where the reply begins as replies
// do: a mapping with the runs in front.
func (r *reader) enter() bool {
	if r.hex || len(r.body) == 0 || r.body[0]&^flagRef != codeDict {
		return false
	}
	r.nodes, r.refs = r.nodes[:0], r.refs[:0]
	d := marshalDecoder{tree: &r.tree, data: r.body, pos: 1}
	if r.body[0]&flagRef != 0 {
		r.refs = append(r.refs, unfinished)
	}
	if d.value(1) != nil || r.nodes[0].kind != nodeText || r.nodes[0].text != "runs" || d.pos == len(d.data) {
		return false
	}
	code := d.data[d.pos]
	d.pos++
	if code&flagRef != 0 {
		r.refs = append(r.refs, unfinished)
		code &^= flagRef
	}
	if code != codeList && code != codeTuple && code != codeSmallTuple {
		return false
	}
	count, err := d.count(code)
	r.partly, r.decoder = err == nil && count == len(r.asks.batch), d
	return r.partly
}

// next reads the next run into dst, whose memory it uses. Its bytes are views of
// the body.
func (r *reader) next(dst *op.Run) error {
	i := r.read
	if r.partly {
		r.nodes, r.place = r.nodes[:0], 0
		err := r.decoder.value(2)
		if r.values += len(r.nodes); err == nil && r.values > maxNodes {
			err = errMany
		}
		if err != nil {
			return fmt.Errorf("at byte %d: %w", r.decoder.pos, err)
		}
	}
	var plan *Plan
	if i < len(r.asks.plans) {
		plan = r.asks.plans[i]
	}
	if err := r.run(r.place, &r.asks.batch[i], plan, r.hashes, dst); err != nil {
		return fmt.Errorf("run %d: %w", i, err)
	}
	r.place = r.nodes[r.place].end
	r.read++
	if r.partly && r.read == len(r.asks.batch) {
		return r.leave()
	}
	return nil
}

// leave reads what stands behind the runs, which says nothing.
func (r *reader) leave() error {
	d := &r.decoder
	r.nodes = append(r.nodes[:0], node{})
	err := d.dict(0, 0)
	if err == nil && d.pos != len(d.data) {
		err = fmt.Errorf("%d bytes behind the message", len(d.data)-d.pos)
	}
	if err != nil {
		return fmt.Errorf("at byte %d: %w", d.pos, err)
	}
	return nil
}
