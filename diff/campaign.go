package diff

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/op"
)

// batchOps is how many ops a request holds at most, beyond its first sequence:
// enough that messages cost little, few enough that all that is made of them on
// both sides stays in a near cache.
const batchOps = 1200

// Campaign runs many generated sequences on the same subjects.
type Campaign struct {
	Gen  gen.Config
	Seed uint64
	// First is the first case, Sequences how many there are; with 0 sequences
	// the Duration alone ends the campaign.
	First, Sequences int
	Duration         time.Duration
	// Workers is how many sets of subjects run side by side.
	Workers  int
	Subjects []Open
	// Make, where given, gives the sequence of a case in place of gen.Case. It may
	// write over what it put into dst before, and any worker calls it.
	Make func(index int, dst *op.Sequence)
	// Judge makes a worker's judge; it is called once a worker.
	Judge func() Judge
	// KeepGoing collects every divergence; otherwise the lowest case ends it.
	KeepGoing bool
	// Known, where given, tells divergences that are known: they are counted and
	// end nothing.
	Known func(d *Divergence) bool
	// Visit, where given, makes a function that a worker calls for each sequence
	// with the runs of all subjects, after the judge.
	Visit func() Visitor
	// WriteAhead, where given, gets every sequence before a subject does. It is
	// called by one worker at a time.
	WriteAhead func(index int, sequence *op.Sequence) error
	// Progress, where given, is told how many sequences and ops are done. It is
	// called by any worker.
	Progress func(sequences, ops int)
}

// Visitor sees each judged sequence: its index, the runs of all subjects, which
// are valid until it returns, and the divergence or nil.
type Visitor func(index int, sequence *op.Sequence, runs []op.Run, d *Divergence)

// Finding is a sequence that diverges.
type Finding struct {
	Sequence   op.Sequence
	Divergence *Divergence
}

// Result is what a campaign did.
type Result struct {
	Sequences, Ops int
	Took           time.Duration
	// Findings are the divergences by case: all of them, or the lowest.
	Findings []Finding
	// Known counts the divergences that are known, by fingerprint.
	Known map[string]int
	// Stats count what the first subject was put through.
	Stats gen.Stats
	// Identities are the subjects as they ran, Sees what each observes.
	Identities []op.Identity
	Sees       []op.Sees
	// Incidents are failures that were not the store's doing.
	Incidents []string
	// Stderr is what each subject wrote to its standard error.
	Stderr []string
	// Interrupted says that the context ended the campaign.
	Interrupted bool
}

// shared is what the workers of a campaign share. The lock is taken once a batch.
type shared struct {
	c        *Campaign
	ctx      context.Context
	began    time.Time
	batch    int
	next     atomic.Int64 // the next batch to hand out
	limit    atomic.Int64 // the lowest case that diverges, or one behind the last
	mu       sync.Mutex
	result   Result
	failures []error
}

// Run runs the campaign. An error is a failure of a subject; what was done
// before it is in the result.
func (c *Campaign) Run(ctx context.Context) (*Result, error) {
	s := &shared{c: c, ctx: ctx, began: time.Now(), batch: max(1, batchOps/cmp.Or(c.Gen.MaxOps, gen.DefaultMaxOps))}
	last := int64(1) << 62
	if c.Sequences > 0 {
		last = int64(c.First + c.Sequences)
		// Small campaigns still give every worker something to do.
		s.batch = max(1, min(s.batch, (c.Sequences+c.Workers-1)/c.Workers))
	}
	s.limit.Store(last)
	s.result.Stderr = make([]string, len(c.Subjects))
	var wait sync.WaitGroup
	for range max(1, c.Workers) {
		wait.Add(1)
		go func() {
			defer wait.Done()
			if err := s.work(); err != nil {
				s.mu.Lock()
				s.failures = append(s.failures, err)
				s.mu.Unlock()
				s.lower(0)
			}
		}()
	}
	wait.Wait()
	s.result.Took = time.Since(s.began)
	s.result.Interrupted = ctx.Err() != nil
	s.settle()
	if len(s.failures) > 0 {
		return &s.result, s.failures[0]
	}
	return &s.result, nil
}

// settle sorts the findings by case and keeps the lowest, or all.
func (s *shared) settle() {
	found := s.result.Findings
	for i := 1; i < len(found); i++ {
		for j := i; j > 0 && found[j].Divergence.Case < found[j-1].Divergence.Case; j-- {
			found[j], found[j-1] = found[j-1], found[j]
		}
	}
	if !s.c.KeepGoing && len(found) > 1 {
		s.result.Findings = found[:1]
	}
}

// lower brings the limit down to a case.
func (s *shared) lower(to int64) {
	for {
		now := s.limit.Load()
		if to >= now || s.limit.CompareAndSwap(now, to) {
			return
		}
	}
}

// flight is one batch under way.
type flight struct {
	first     int
	sequences []op.Sequence
}

// worker is one set of subjects with its two flights.
type worker struct {
	*shared
	subjects []Subject
	judge    Judge
	visit    Visitor
	// By subject: the run that is judged, and what gives the next one.
	one   []op.Run
	nexts []func(dst *op.Run) error
	found []Finding
	known map[string]int
	stats gen.Stats
	ops   int
	done  int
}

// work keeps two batches under way, so that the subjects' processes always have
// one to work on while this side compares the other.
func (s *shared) work() error {
	subjects, err := openAll(s.c.Subjects)
	if err != nil {
		return err
	}
	n := len(subjects)
	w := &worker{
		shared: s, subjects: subjects, judge: s.c.Judge(), known: map[string]int{},
		one: make([]op.Run, n), nexts: make([]func(*op.Run) error, n),
	}
	if s.c.Visit != nil {
		w.visit = s.c.Visit()
	}
	defer func() {
		w.report()
		closeAll(subjects)
	}()
	var flights [2]flight
	ahead, behind := 0, 0
	for {
		submitted, err := w.submit(&flights[ahead%2])
		if err != nil {
			return err
		}
		if submitted {
			ahead++
		}
		if behind == ahead {
			return nil
		}
		if submitted && ahead-behind < 2 {
			continue
		}
		if w.beyond(&flights[behind%2]) {
			return nil
		}
		if err := w.collect(&flights[behind%2]); err != nil {
			return err
		}
		behind++
	}
}

// over tells whether no further batch may be started. However short the duration,
// one is: to start the subjects may take as long.
func (s *shared) over() bool {
	return s.ctx.Err() != nil || s.c.Duration > 0 && s.next.Load() > 0 && time.Since(s.began) >= s.c.Duration
}

// submit generates the next batch into a flight and hands it to the subjects.
func (w *worker) submit(f *flight) (bool, error) {
	if w.over() {
		return false, nil
	}
	first := w.c.First + int(w.next.Add(1)-1)*w.batch
	count := int(min(int64(w.batch), w.limit.Load()-int64(first)))
	if count <= 0 {
		return false, nil
	}
	f.first = first
	for len(f.sequences) < w.batch {
		f.sequences = append(f.sequences, op.Sequence{})
	}
	batch := f.sequences[:count]
	for i := range batch {
		if w.c.Make != nil {
			w.c.Make(first+i, &batch[i])
		} else {
			gen.Case(w.c.Seed, first+i, w.c.Gen, &batch[i])
		}
	}
	if err := w.writeAhead(first, batch); err != nil {
		return false, err
	}
	f.sequences = batch
	for _, subject := range w.subjects {
		if err := subject.Submit(batch); err != nil {
			return false, err
		}
	}
	return true, nil
}

// beyond tells whether a lower case than all of a flight's has diverged, so that
// nothing it can show is of use; a store that hangs would be waited for in vain.
func (w *worker) beyond(f *flight) bool {
	return !w.c.KeepGoing && int64(f.first) > w.limit.Load()
}

func (w *worker) writeAhead(first int, batch []op.Sequence) error {
	if w.c.WriteAhead == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range batch {
		if err := w.c.WriteAhead(first+i, &batch[i]); err != nil {
			return err
		}
	}
	return nil
}

// collect brings a flight in and judges it.
func (w *worker) collect(f *flight) error {
	batch := f.sequences
	f.sequences = f.sequences[:cap(f.sequences)]
	for s, subject := range w.subjects {
		next, err := subject.Receive()
		if err != nil {
			return err
		}
		w.nexts[s] = next
	}
	ops, done := 0, 0
	for i := range batch {
		index := f.first + i
		if !w.c.KeepGoing && int64(index) > w.limit.Load() {
			break
		}
		for s := range w.subjects {
			if err := w.nexts[s](&w.one[s]); err != nil {
				return err
			}
		}
		d := w.judge(&batch[i], w.one)
		w.stats.Add(&batch[i], w.one[0].Steps)
		done++
		ops += len(w.one[0].Steps)
		if d != nil && w.c.Known != nil && w.c.Known(d) {
			w.known[d.Fingerprint()]++
			d = nil
		}
		if d != nil {
			d.Case = index
			w.found = append(w.found, Finding{batch[i].Clone(), d})
			if !w.c.KeepGoing {
				w.lower(int64(index))
			}
		}
		if w.visit != nil {
			w.visit(index, &batch[i], w.one, d)
		}
	}
	w.done += done
	w.ops += ops
	if w.c.Progress != nil {
		w.c.Progress(done, ops)
	}
	return nil
}

// report adds what the worker did to the result.
func (w *worker) report() {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &w.result
	r.Sequences += w.done
	r.Ops += w.ops
	r.Findings = append(r.Findings, w.found...)
	for fingerprint, n := range w.known {
		if r.Known == nil {
			r.Known = map[string]int{}
		}
		r.Known[fingerprint] += n
	}
	r.Stats.Merge(&w.stats)
	first := r.Identities == nil
	for i, subject := range w.subjects {
		if first {
			r.Identities = append(r.Identities, subject.Identity())
			r.Sees = append(r.Sees, subject.Sees())
		}
		r.Incidents = append(r.Incidents, subject.Incidents()...)
		r.Stderr[i] += subject.Stderr()
	}
}
