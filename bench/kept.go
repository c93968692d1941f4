package bench

import (
	"sync"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/subject"
)

// keptOpen opens subjects and keeps them running for the next round, since
// starting an interpreter is no part of comparing.
type keptOpen struct {
	fresh diff.Open
	mu    sync.Mutex
	idle  []diff.Subject
}

// kept is a subject that goes back to where it came from when it is closed.
type kept struct {
	diff.Subject
	home *keptOpen
}

func (r *throughputRun) keep(launch oracle.Launch) *keptOpen {
	k := &keptOpen{fresh: subject.Oracle(launch, oracle.Ask{FirstDeath: true})}
	r.opens = append(r.opens, k)
	return k
}

func (k *keptOpen) open() (diff.Subject, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := len(k.idle); n > 0 {
		idle := k.idle[n-1]
		k.idle = k.idle[:n-1]
		return idle, nil
	}
	s, err := k.fresh()
	if err != nil {
		return nil, err
	}
	return &kept{s, k}, nil
}

func (k *kept) Close() {
	k.home.mu.Lock()
	defer k.home.mu.Unlock()
	k.home.idle = append(k.home.idle, k)
}

func (k *keptOpen) closeAll() {
	for _, s := range k.idle {
		s.(*kept).Subject.Close()
	}
}
