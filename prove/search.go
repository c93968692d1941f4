package prove

import (
	"context"
	"fmt"
	"time"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/oracle"
)

// Search is what to search and how.
type Search struct {
	Bounds Bounds
	// Model is the variant that drives: its states are the ones that are searched.
	Model string
	// Stores are one, which is held against the model, or two: the second is held
	// against the first, and the first against the model, whose states would say
	// nothing of other stores. A store that is no oracle is run by sequences.
	Stores  []diff.Open
	Options diff.Options
	// Workers is how many sets of the stores run side by side; 0 is one.
	Workers int
	// MaxStates and MaxMemory bound what is kept, in states and bytes; 0 is no bound.
	MaxStates int
	MaxMemory int64
	// Unreduced searches every state under every name of its keys.
	Unreduced bool
	// File keeps the search: it goes on from what the file holds, which is written
	// every SaveEvery and when the search is interrupted, and removed when it is
	// done. Empty keeps nothing.
	File      string
	SaveEvery time.Duration
	// Resumed, where given, is told what a file held, before the search goes on.
	Resumed func(states, expanded int)
	// Progress, where given, is told now and then how far the search is.
	Progress func(Progress)

	// flightTries replaces the constant of that name where it is above 0.
	flightTries int
}

// Progress is how far a search is.
type Progress struct {
	// States are known, Expanded of them done; the rest is the frontier.
	States, Expanded int
	// Ops were compared in Took, an earlier part of an interrupted search included.
	Ops  int
	Took time.Duration
	// Memory is what the states take, in bytes.
	Memory int64
}

// Left is how long the known frontier will take: the least that is left.
func (p Progress) Left() time.Duration {
	if p.Expanded == 0 {
		return 0
	}
	return time.Duration(float64(p.Took) / float64(p.Expanded) * float64(p.States-p.Expanded))
}

// Result is what a search found.
type Result struct {
	Progress
	// Complete says that every state of the bounds was searched.
	Complete bool
	// Letters is how many ops the bounds have, StandFor how many states the
	// States are when keys and payloads have names.
	Letters, StandFor int
	// Depth is the longest of the shortest paths, in ops.
	Depth int
	// Beyond counts ops that led out of the bounds: compared, not followed.
	Beyond int
	// Remembered counts states that only the stores' own memory tells apart.
	Remembered int
	// Work is what the stores performed for it, by store; Plain what they would
	// have had to, were each op run behind the path to its state.
	Work  []oracle.Work
	Plain int
	// Finding is the first difference there is, with the fewest ops; nil if none.
	Finding *diff.Finding
	// Limit says what bound ended the search, empty if none did.
	Limit string
	// Interrupted says that the context did.
	Interrupted bool
	// Identities are the two sides as they ran: the model and the store, or the
	// stores. Copies says which of the stores could be put back as they were.
	Identities []op.Identity
	Sees       []op.Sees
	Copies     []bool
	Incidents  []string
	Stderr     []string
}

// run is a search under way.
type run struct {
	*Search
	alphabet *alphabet
	judge    *judge
	states   states
	// twins holds the model's part of the states in which a store departs from
	// the model, so that states which only differ in that are known.
	twins    map[string]struct{}
	stores   []diff.Open
	workers  []*worker
	result   Result
	began    time.Time
	before   time.Duration // spent before an interruption
	saved    time.Time
	identity []string // what a file must be of
}

// Run searches. An error is a failure of the set-up or of a store's process; what
// was done before it is in the result, which is never nil.
func (s *Search) Run(ctx context.Context) (*Result, error) {
	r := &run{Search: s, stores: s.Stores, twins: map[string]struct{}{}}
	if err := r.open(); err != nil {
		r.close()
		return &r.result, err
	}
	err := r.resume()
	if err == nil {
		err = r.search(ctx)
	}
	r.close()
	if err == nil && r.result.Finding != nil {
		err = r.confirm()
	}
	if kept := r.keep(err); err == nil {
		err = kept
	}
	return &r.result, err
}

// open builds what a search needs and starts the stores.
func (r *run) open() error {
	if err := r.Bounds.Check(); err != nil {
		return err
	}
	if len(r.Stores) != 1 && len(r.Stores) != 2 {
		return fmt.Errorf("a search takes one store or two, not %d", len(r.Stores))
	}
	base, err := model.New(r.Model, r.Bounds.Slots, r.Bounds.ObjectBytes)
	if err != nil {
		return err
	}
	at, err := model.New(r.Model, r.Bounds.Slots, r.Bounds.ObjectBytes)
	if err != nil {
		return err
	}
	r.Options.Unbounded = r.Options.Unbounded || model.Grows(r.Model)
	r.alphabet = newAlphabet(r.Bounds)
	r.judge = &judge{alphabet: r.alphabet, comparer: diff.NewComparer(r.Bounds.Slots, r.Options), exact: r.Unreduced, base: base, at: at}
	r.result.Letters, r.result.Work = len(r.alphabet.ops), make([]oracle.Work, len(r.stores))
	for range max(1, r.Workers) {
		w := &worker{in: make(chan *flight, 2), over: make(chan struct{})}
		r.workers = append(r.workers, w)
		for _, open := range r.stores {
			store, err := open()
			if err != nil {
				return err
			}
			w.stores = append(w.stores, store)
		}
	}
	if len(r.stores) == 1 {
		side, err := diff.Model(r.Model)()
		if err != nil {
			return err
		}
		r.side(side)
		side.Close()
	}
	for _, store := range r.workers[0].stores {
		r.side(store)
		p, ok := store.(planter)
		r.result.Copies = append(r.result.Copies, ok && p.Copies())
	}
	r.identity = r.identify()
	for _, w := range r.workers {
		go w.run()
	}
	return nil
}

func (r *run) side(subject diff.Subject) {
	r.result.Identities = append(r.result.Identities, subject.Identity())
	r.result.Sees = append(r.result.Sees, subject.Sees())
}

// close ends the stores, once what is under way with them has come back.
func (r *run) close() {
	r.result.Stderr = make([]string, len(r.stores))
	for _, w := range r.workers {
		if r.identity != nil { // they were started
			close(w.in)
			<-w.over
		}
		for i, store := range w.stores {
			r.result.Incidents = append(r.result.Incidents, store.Incidents()...)
			r.result.Stderr[i] += store.Stderr()
			store.Close()
		}
	}
}

// search goes through the states in the order of their numbers, which is that of
// the lengths of their paths. Flights come back in that order, too, so the result
// does not depend on the number of workers.
func (r *run) search(ctx context.Context) error {
	r.began, r.saved = time.Now(), time.Now()
	if r.states.len() == 0 {
		r.judge.begin()
		r.note(r.judge.encode(), none, 0)
		if r.File != "" {
			// A file that cannot be written is better known before than behind.
			if err := r.save(); err != nil {
				return err
			}
		}
	}
	free := make([]*flight, 2*len(r.workers))
	for i := range free {
		free[i] = &flight{}
	}
	var under []*flight
	sent, number := r.result.Expanded, 0
	for {
		for len(free) > 0 && sent < r.states.len() && ctx.Err() == nil {
			f := free[0]
			free = free[1:]
			if err := r.load(f, sent); err != nil {
				return err
			}
			r.workers[number%len(r.workers)].in <- f
			under = append(under, f)
			sent += f.count
			number++
		}
		if len(under) == 0 || ctx.Err() != nil {
			break
		}
		f := under[0]
		under = under[1:]
		<-f.done
		if f.err != nil {
			return f.err
		}
		over, err := r.land(f)
		r.result.Took = r.before + time.Since(r.began)
		if over || err != nil {
			return err
		}
		free = append(free, f)
	}
	r.result.Interrupted = ctx.Err() != nil
	r.result.Complete = !r.result.Interrupted
	return nil
}

// land judges a flight, and tells whether that ends the search.
func (r *run) land(f *flight) (over bool, err error) {
	shown := make([]*oracle.Shown, len(f.shown))
	for i := range f.count {
		for s := range shown {
			shown[s] = &f.shown[s][i]
		}
		branch := &f.tree.Branches[i]
		r.judge.base = f.bases[i]
		for place, try := range branch.Tries {
			d, err := r.judge.compare(try, shown, place)
			if err != nil {
				return true, err
			}
			r.result.Ops++
			if d != nil {
				return true, r.found(d, branch)
			}
			if !r.judge.within() {
				r.result.Beyond++
				continue
			}
			if r.Bounds.Ops > 0 && len(branch.Path)+1 >= r.Bounds.Ops {
				continue // it was the last op
			}
			r.note(r.judge.encode(), uint32(f.first+i), uint32(try))
		}
		r.result.Plain += len(branch.Tries) * (len(branch.Path) + 1)
		r.result.Depth = len(branch.Path)
		r.result.Expanded++
	}
	for s := range f.work {
		r.result.Work[s].Performed += f.work[s].Performed
		r.result.Work[s].Rebuilt += f.work[s].Rebuilt
	}
	r.result.Memory = r.states.bytes()
	switch frontier := r.states.len() - r.result.Expanded; {
	case frontier == 0:
	case r.MaxStates > 0 && r.states.len() > r.MaxStates:
		r.result.Limit = fmt.Sprintf("there are more than %d states", r.MaxStates)
	case r.MaxMemory > 0 && r.result.Memory > r.MaxMemory:
		r.result.Limit = fmt.Sprintf("the states take more than %d MiB", r.MaxMemory>>20)
	}
	if r.Progress != nil {
		r.Progress(r.result.Progress)
	}
	if r.File != "" && r.SaveEvery > 0 && time.Since(r.saved) > r.SaveEvery {
		r.result.Took = r.before + time.Since(r.began)
		if err := r.save(); err != nil {
			return true, err
		}
	}
	return r.result.Limit != "", nil
}

// note keeps a state that is new.
func (r *run) note(encoding []byte, parent, via uint32) {
	if !r.states.add(encoding, parent, via) {
		return
	}
	r.result.States++
	token, rest := split(encoding)
	_, twin := r.twins[string(rest)]
	if len(token) > 0 {
		twin = twin || r.states.has(append([]byte{0}, rest...))
		r.twins[string(rest)] = struct{}{}
	}
	if twin {
		r.result.Remembered++
	} else {
		r.result.StandFor += r.judge.orbit()
	}
}

// found makes a difference the finding of the search, to be confirmed.
func (r *run) found(d *difference, branch *oracle.Branch) error {
	sequence := r.sequence(append(append([]int32{}, branch.Path...), d.try))
	if d.dead {
		return fmt.Errorf("both stores end their process in the last op of %s: no state behind it can be searched", spelled(sequence))
	}
	if len(r.stores) == 2 && d.left < 0 {
		return fmt.Errorf("model %s is not what the first store does, so its states are not that store's: they differ in %s after %s; choose another --model",
			r.Model, d.field, spelled(sequence))
	}
	r.result.Finding = &diff.Finding{Sequence: sequence}
	return nil
}

func (r *run) sequence(path []int32) op.Sequence {
	s := op.Sequence{Slots: r.Bounds.Slots, ObjectBytes: r.Bounds.ObjectBytes}
	for _, place := range path {
		s.Ops = append(s.Ops, r.alphabet.ops[place].Clone())
	}
	return s
}

func spelled(s op.Sequence) string {
	text := ""
	for i := range s.Ops {
		if i > 0 {
			text += "; "
		}
		text += s.Ops[i].String()
	}
	return text
}

// confirm runs the finding in fresh processes, which gives the divergence whole.
func (r *run) confirm() error {
	sides := r.stores
	if len(sides) == 1 {
		sides = []diff.Open{diff.Model(r.Model), sides[0]}
	}
	finding := r.result.Finding
	d, err := diff.Diverge(finding.Sequence, sides, diff.Pair(r.Options))
	if err == nil && d == nil {
		err = fmt.Errorf("the two differ in the last op of %s when the stores were put back to the state before it, but not when all of it is run: "+
			"a store keeps state outside of its attributes; use --black-box", spelled(finding.Sequence))
	}
	if err != nil {
		r.result.Finding = nil
		return err
	}
	finding.Divergence = d
	finding.Sequence.Ops = finding.Sequence.Ops[:d.Step+1]
	return nil
}
