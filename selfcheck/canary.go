package selfcheck

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/python"
)

// canarySequences is how many sequences an unchanged store has to agree on.
const canarySequences = 1000

// canaryMutant is the planted bug that nothing can hide but a broken harness.
const canaryMutant = "evict-newest-first"

// Canary checks the harness on what is beyond doubt: the unchanged main store
// agrees with the model, and one with a glaring bug does not. Its error says
// which of the two failed; nothing else that a check says counts then.
func Canary(ctx context.Context, o Options) error {
	o = o.withDefaults()
	o.Sequences, o.Gen = canarySequences, gen.Config{}
	mutants, err := python.Mutants()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(mutants, func(m python.Mutant) bool { return m.Name == canaryMutant })
	if at < 0 {
		return fmt.Errorf("canary: there is no mutant %s", canaryMutant)
	}
	broken, err := mutants[at].Apply()
	if err != nil {
		return err
	}
	right, ok := python.Store(mutants[at].Store)
	if !ok {
		return fmt.Errorf("canary: there is no store %s", mutants[at].Store)
	}
	return canaries(ctx, mutants[at].Store, right, broken, &o)
}

// canaries runs a right and a broken store of a model.
func canaries(ctx context.Context, model, right, broken string, o *Options) error {
	for _, canary := range []struct {
		source  string
		differs bool
		what    string
	}{
		{right, false, "canary: the unchanged store was reported as different"},
		{broken, true, "canary: the planted bug " + canaryMutant + " was not reported"},
	} {
		launch, err := oracle.Source("canary", canary.source, o.Oracle)
		if err != nil {
			return err
		}
		trial, err := newTrial(model, launch, true)
		if err != nil {
			return err
		}
		result, err := trial.campaign(ctx, 1, o)
		trial.close()
		if err != nil {
			return fmt.Errorf("canary: %w", err)
		}
		if (len(result.Findings) > 0) != canary.differs {
			return errors.New(canary.what)
		}
	}
	return nil
}

// Alarm is what the right stores gave: a campaign that ought to find nothing.
type Alarm struct {
	Store, Profile string
	Sequences, Ops int
	// Finding is the fingerprint of a divergence: a false alarm; empty is right.
	Finding string
}

// alarmSeed keeps the alarm's cases apart from those that mutants are caught on.
const alarmSeed = 1 << 32

// Alarms runs each store that planted bugs are made from, unchanged, on so many
// sequences in all profiles together, slots compared too.
func Alarms(ctx context.Context, sequences int, o Options) ([]Alarm, error) {
	o = o.withDefaults()
	mutants, err := python.Mutants()
	if err != nil {
		return nil, err
	}
	var stores []string
	for _, m := range mutants {
		if !slices.Contains(stores, m.Store) {
			stores = append(stores, m.Store)
		}
	}
	var alarms []Alarm
	for _, store := range stores {
		for _, profile := range gen.Profiles() {
			alarms = append(alarms, Alarm{Store: store, Profile: profile.Name})
		}
	}
	share := (sequences + len(gen.Profiles()) - 1) / len(gen.Profiles())
	return alarms, o.each(ctx, len(alarms), func(ctx context.Context, i int) error {
		a, own := &alarms[i], o
		own.Sequences, own.Gen = share, gen.Config{Profile: a.Profile}
		source, _ := python.Store(a.Store)
		launch, err := oracle.Source("embedded:"+a.Store, source, o.Oracle)
		if err != nil {
			return err
		}
		trial, err := newTrial(a.Store, launch, true)
		if err != nil {
			return err
		}
		defer trial.close()
		result, err := trial.campaign(ctx, alarmSeed, &own)
		if err != nil {
			return fmt.Errorf("store %s: %w", a.Store, err)
		}
		a.Sequences, a.Ops = result.Sequences, result.Ops
		if len(result.Findings) > 0 {
			a.Finding = result.Findings[0].Divergence.Fingerprint()
		}
		return nil
	})
}
