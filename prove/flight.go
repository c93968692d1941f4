package prove

import (
	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/oracle"
)

// flightTries is from how many tries on a flight takes no further state: enough
// that messages cost little, few enough that all workers have some.
const flightTries = 8000

// flight is some states on their way to the stores and back.
type flight struct {
	first, count int // states
	tree         oracle.Tree
	bases        []*model.Store
	shown        [][]oracle.Shown // by store, then by state
	work         []oracle.Work    // by store
	err          error
	done         chan struct{}
}

// load fills a flight with the states from first on, of which there is one at least.
func (r *run) load(f *flight, first int) error {
	*f = flight{first: first, bases: f.bases, shown: f.shown, work: make([]oracle.Work, len(r.stores)), done: make(chan struct{}),
		tree: oracle.Tree{Slots: r.Bounds.Slots, ObjectBytes: r.Bounds.ObjectBytes, Ops: r.alphabet.ops, Keys: r.alphabet.names, Branches: f.tree.Branches[:0]}}
	var ignored op.Observation
	full := flightTries
	if r.flightTries > 0 {
		full = r.flightTries
	}
	for tries := 0; first+f.count < r.states.len() && tries < full; f.count++ {
		if f.count == len(f.bases) {
			base, err := model.New(r.Model, r.Bounds.Slots, r.Bounds.ObjectBytes)
			if err != nil {
				return err
			}
			f.bases = append(f.bases, base)
		}
		base := f.bases[f.count]
		if err := base.Reset(r.Bounds.Slots, r.Bounds.ObjectBytes); err != nil {
			return err
		}
		branch := oracle.Branch{Path: r.states.path(first+f.count, nil)}
		for _, place := range branch.Path {
			base.Do(&r.alphabet.ops[place], &ignored)
		}
		// A store that remembers more than the model may tell keys apart that the
		// model's state does not.
		token, _ := split(r.states.encoding(first + f.count))
		branch.Tries = r.alphabet.tries(base, len(token) == 0 && !r.Unreduced, nil)
		f.tree.Branches = append(f.tree.Branches, branch)
		tries += len(branch.Tries)
	}
	for len(f.shown) < len(r.stores) {
		f.shown = append(f.shown, nil)
	}
	for i := range f.shown {
		for len(f.shown[i]) < f.count {
			f.shown[i] = append(f.shown[i], oracle.Shown{})
		}
	}
	return nil
}

// worker is one set of stores, with a goroutine that keeps two flights with them,
// so that they have work while another flight is judged.
type worker struct {
	stores []diff.Subject
	in     chan *flight
	over   chan struct{}
	// broken is the first failure; nothing is asked of the stores behind it.
	broken error
}

// planter is a subject that takes trees.
type planter interface {
	SubmitTree(t *oracle.Tree) error
	CollectTree(dst []oracle.Shown) (oracle.Work, error)
	Copies() bool
}

func (w *worker) run() {
	defer close(w.over)
	var under []*flight
	in := w.in
	for in != nil || len(under) > 0 {
		var f *flight
		open := true
		switch {
		case len(under) == 0:
			f, open = <-in
		case in != nil && len(under) < 2:
			select {
			case f, open = <-in:
			default:
			}
		}
		if !open {
			in = nil
			continue
		}
		if f != nil {
			if w.broken == nil {
				w.broken = w.submit(f)
			}
			under = append(under, f)
			continue
		}
		f, under = under[0], under[1:]
		if w.broken == nil {
			w.broken = w.collect(f)
		}
		f.err = w.broken
		close(f.done)
	}
}

func (w *worker) submit(f *flight) error {
	for _, store := range w.stores {
		if p, ok := store.(planter); ok {
			if err := p.SubmitTree(&f.tree); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *worker) collect(f *flight) (err error) {
	for i, store := range w.stores {
		if p, ok := store.(planter); ok {
			f.work[i], err = p.CollectTree(f.shown[i])
		} else {
			f.work[i], err = oracle.Plainly(store, &f.tree, f.shown[i], true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
