package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/report"
	"github.com/diffstore/diffstore/subject"
)

var compare = command{
	name:      "compare",
	says:      "test a claim about two stores, with the Go model as third voice",
	arguments: "--base SPEC --head SPEC [--claim CLAIM]",
	example:   "diffstore compare --base vllm==0.32.0 --head git:../vllm@refs/pull/62044/head --claim identical-until-error --report markdown=claim.md",
	flags: func(set *pflag.FlagSet) func(*environment, []string) (diff.Verdict, error) {
		f := &compareFlags{}
		set.StringVar(&f.base, "base", "embedded", "the store that is replaced:\n"+strings.Join(oracle.SpecForms, "\n"))
		set.StringVar(&f.head, "head", "", "the store that replaces it, in the same forms")
		set.StringVar(&f.claim, "claim", string(diff.Identical), strings.Join(diff.ClaimForms, "\n"))
		set.IntVar(&f.headroom, "headroom", 1, "build both stores with this many times the drawn slots")
		f.subjectFlags.declareModel(set)
		f.subjectFlags.declareComparison(set)
		f.campaignFlags.declare(set)
		f.knownFlags.declare(set)
		f.outputFlags.declare(set)
		return f.run
	},
}

type compareFlags struct {
	subjectFlags
	campaignFlags
	outputFlags
	knownFlags
	base, head, claim string
	headroom          int
}

// check reads what the flags say before anything is started.
func (f *compareFlags) check() (diff.Claim, error) {
	claim, err := diff.ParseClaim(f.claim)
	if err != nil {
		return claim, &usageError{err.Error()}
	}
	if f.head == "" {
		return claim, &usageError{"compare needs --head, the store that replaces --base"}
	}
	if f.headroom < 1 || f.headroom > 1024 {
		return claim, &usageError{"--headroom must be from 1 to 1024"}
	}
	if claim.Kind != diff.Headroom {
		claim.Headroom = f.headroom
	}
	for _, check := range []func() error{f.campaignFlags.check, f.subjectFlags.check, f.outputFlags.check, f.knownFlags.read} {
		if err := check(); err != nil {
			return claim, err
		}
	}
	f.options.Unbounded = model.Grows(f.model)
	return claim, nil
}

func (f *compareFlags) run(env *environment, args []string) (diff.Verdict, error) {
	if err := noArguments(args); err != nil {
		return 0, err
	}
	claim, err := f.check()
	if err != nil {
		return 0, err
	}
	comparison, err := f.comparison(env, claim)
	if err != nil {
		return 0, err
	}
	done, err := f.watch(env, &comparison.Campaign, f.model)
	if err != nil {
		return 0, err
	}
	compared, failure := comparison.Run(env.ctx)
	if err := done(); err != nil && failure == nil {
		failure = err
	}
	if failure != nil && compared.Sequences == 0 {
		return 0, failure
	}
	c := &report.Comparison{
		Repeat: env.line, Claim: claim, Seed: f.seed, Profile: f.config.Profile, Model: f.model,
		Base: f.base, Head: f.head, Compared: compared,
	}
	c.Verdict, c.Why = diff.Conclude(compared.Result, failure, compared.Stats.Floors(f.config, f.options.Unbounded))
	stale, err := diff.Stale(f.list, f.head, []diff.Open{comparison.Base, comparison.Head, diff.Model(f.model)}, claim.Judge(f.options))
	if err != nil {
		return 0, err
	}
	if len(stale) > 0 && c.Verdict == diff.Agree {
		c.Verdict, c.Why = diff.Diverges, stale
	}
	if c.Verdict == diff.Diverges {
		if err := c.Save(f.out); err != nil {
			return 0, err
		}
	}
	return c.Verdict, f.tell(env, c)
}

// comparison opens the two stores.
func (f *compareFlags) comparison(env *environment, claim diff.Claim) (*diff.Comparison, error) {
	ask := oracle.Ask{Hashes: f.options.HashBound > 0, Foresee: subject.Foresee(f.model)}
	var opens [2]diff.Open
	for i, spec := range [...]string{f.base, f.head} {
		launch, err := oracle.Resolve(spec, f.oracleOptions(env))
		if err != nil {
			return nil, err
		}
		opens[i] = subject.Oracle(launch, ask)
	}
	c := &diff.Comparison{
		Claim: claim, Options: f.options, Base: opens[0], Head: opens[1], Model: f.model, Budget: diff.DefaultBudget,
		Campaign: diff.Campaign{
			Gen: f.config, Seed: f.seed, First: f.first, Sequences: f.sequences, Duration: f.duration,
			Workers: max(1, f.workers/2), Known: f.knownFlags.of(f.head),
		},
	}
	if f.noReduce {
		c.Budget = diff.Budget{}
	}
	return c, nil
}
