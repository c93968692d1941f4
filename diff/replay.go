package diff

import (
	"context"
	"time"

	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/traces"
)

// Replay runs saved traces on subjects, in batches.
//
// A trace with wants is itself the left side: what the recorded store did, op
// by op where there is a want. The subjects given are then only the right one
// (the last). A trace without wants is judged between the subjects.
//
// Every divergence is collected, but a death or hang ends the replay: each
// further one would cost its time-outs.
func Replay(ctx context.Context, list []traces.Trace, opens []Open, options Options) (*Result, error) {
	began := time.Now()
	result := &Result{}
	var failure error
	result.Stderr = make([]string, len(opens))
	e, err := newEvaluator(opens, nil)
	if err != nil {
		return result, err
	}
	defer closeAll(e.subjects)
	c := &comparer{Options: options}
	died := false
	for from := 0; from < len(list) && failure == nil && !died; {
		if ctx.Err() != nil {
			result.Interrupted = true
			break
		}
		to, ops := from, 0
		for to < len(list) && (to == from || ops+len(list[to].Ops) <= batchOps) {
			ops += len(list[to].Ops)
			to++
		}
		batch := make([]op.Sequence, 0, to-from)
		for i := from; i < to; i++ {
			batch = append(batch, list[i].Sequence())
		}
		at, next := from, to
		e.judge = func(sequence *op.Sequence, runs []op.Run) *Divergence {
			right := &runs[len(runs)-1]
			left := &runs[0]
			if recorded := recordedRun(&list[at], right); recorded != nil {
				left = recorded
			}
			return c.runs(sequence, left, right)
		}
		failure = e.evaluate(batch, func(i int, d *Divergence) bool {
			right := &e.one[len(e.one)-1]
			if i > 0 && leftOut(&batch[i], right) {
				next = from + i
				return false
			}
			at = from + i + 1
			result.Sequences++
			result.Ops += len(right.Steps)
			result.Stats.Add(&batch[i], right.Steps)
			if d != nil {
				d.Case = from + i
				result.Findings = append(result.Findings, Finding{batch[i].Clone(), d})
				died = died || d.Left.Outcome.Terminal() || d.Right.Outcome.Terminal()
			}
			return !died
		})
		from = next
	}
	shown := e.subjects
	for i := range list {
		if list[i].Wants != nil {
			result.Identities = append(result.Identities, recordedIdentity(&list[i]))
			result.Sees = append(result.Sees, op.SeesAll)
			shown = e.subjects[len(e.subjects)-1:]
			break
		}
	}
	for i, subject := range shown {
		result.Identities = append(result.Identities, subject.Identity())
		result.Sees = append(result.Sees, subject.Sees())
		result.Incidents = append(result.Incidents, subject.Incidents()...)
		result.Stderr[i] = subject.Stderr()
	}
	result.Took = time.Since(began)
	return result, failure
}

// leftOut tells a run that was left out behind a death in its batch.
func leftOut(s *op.Sequence, run *op.Run) bool {
	return run.Refused == nil && len(run.Steps) == 0 && len(s.Ops) > 0
}

// recordedRun is what a trace's wants say the recorded store did; an op without
// a want takes what the other side did, so that it is not compared. It is nil
// for a trace without wants.
func recordedRun(t *traces.Trace, other *op.Run) *op.Run {
	if t.Wants == nil && t.WantConstruct == nil {
		return nil
	}
	run := &op.Run{Refused: t.WantConstruct}
	for i := range min(len(t.Wants), len(other.Steps)) {
		if t.Wants[i] != nil {
			run.Steps = append(run.Steps, *t.Wants[i])
		} else {
			run.Steps = append(run.Steps, other.Steps[i])
		}
	}
	return run
}

func recordedIdentity(t *traces.Trace) op.Identity {
	id := op.Identity{Name: "recorded", Adapter: "trace"}
	if r := t.Recorded; r != nil {
		id.Name = "recorded " + r.Project
		id.Version, id.Commit, id.Class, id.SHA256, id.Python = r.Version, r.Commit, r.Class, r.SHA256, r.Python
	}
	return id
}
