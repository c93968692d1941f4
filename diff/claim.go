package diff

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/op"
)

// ClaimKind is what a change says of itself.
type ClaimKind string

// The claims that a comparison can test.
const (
	// Identical: everything, always.
	Identical ClaimKind = "identical"
	// IdenticalUntilError: everything until a call failed on both sides, and
	// sound states afterwards.
	IdenticalUntilError ClaimKind = "identical-until-error"
	// Grows: as base until base raises a capacity error; there head succeeds,
	// and from there on it is what the growing model does.
	Grows ClaimKind = "grows"
	// Headroom: identical when both are built with N times the slots.
	Headroom ClaimKind = "headroom"
	// InvariantsOnly: each side alone is sound.
	InvariantsOnly ClaimKind = "invariants"
)

// Claim is a claim with its number.
type Claim struct {
	Kind ClaimKind
	// Headroom is how many times the drawn slots both stores are built with; 1
	// where capacity is no part of the claim.
	Headroom int
}

// ClaimForms lists the claims for help texts.
var ClaimForms = []string{
	"identical              everything is the same, always",
	"identical-until-error  the same until a call failed on both sides, sound states afterwards",
	"grows                  the same until base raises a capacity error; there head grows instead",
	"headroom=N             the same with N times the slots; counts the capacity errors that this avoids",
	"invariants             each side alone keeps what must hold in every state",
}

// ParseClaim reads a claim as a user writes it.
func ParseClaim(text string) (Claim, error) {
	name, number, has := strings.Cut(text, "=")
	switch kind := ClaimKind(name); {
	case kind == Headroom:
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > 1024 {
			return Claim{}, fmt.Errorf("claim headroom takes a number from 1 to 1024: write headroom=2")
		}
		return Claim{Headroom, n}, nil
	case has:
		return Claim{}, fmt.Errorf("claim %q takes no number", name)
	case kind == Identical || kind == IdenticalUntilError || kind == Grows || kind == InvariantsOnly:
		return Claim{kind, 1}, nil
	}
	return Claim{}, fmt.Errorf("unknown claim %q: use identical, identical-until-error, grows, headroom=N or invariants", text)
}

// String writes the claim as a user does.
func (c Claim) String() string {
	if c.Kind == Headroom {
		return fmt.Sprintf("%s=%d", c.Kind, c.Headroom)
	}
	return string(c.Kind)
}

// The places of the voices in the runs that a claim's judge is given.
const (
	voiceBase = iota
	voiceHead
	voiceModel
	// voicePlain is the base at the drawn slots, where there is headroom.
	voicePlain
)

// claimJudge tests a claim on the runs of one sequence. It is used by one goroutine.
type claimJudge struct {
	comparer
	claim   Claim
	growing *model.Store
	grown   op.Run
	ledgers [2]model.Ledger
}

// Judge makes a judge of the claim. Its runs are those of base, head and model,
// in that order; only the first two decide.
func (c Claim) Judge(options Options) Judge {
	j := &claimJudge{comparer: comparer{Options: options}, claim: c}
	switch c.Kind {
	case Grows:
		j.IgnoreLimit, j.Unbounded = true, true
		j.growing, _ = model.New("growing", 1, 1) // a known variant: no error
		return j.grows
	case IdenticalUntilError:
		return j.untilError
	case InvariantsOnly:
		return j.invariants
	}
	return func(s *op.Sequence, runs []op.Run) *Divergence { return j.runs(s, &runs[voiceBase], &runs[voiceHead]) }
}

// failedBoth tells whether an op that can change the store failed on both sides.
func failedBoth(s *op.Sequence, at int, base, head *op.Run) bool {
	return op.Table[s.Ops[at].Kind].Mutates && base.Steps[at].Outcome.Err != nil && head.Steps[at].Outcome.Err != nil
}

// until gives both runs up to a step, for the part of a claim that ends there.
func until(run *op.Run, end int) *op.Run {
	return &op.Run{Refused: run.Refused, Steps: run.Steps[:end]}
}

func (j *claimJudge) untilError(s *op.Sequence, runs []op.Run) *Divergence {
	base, head := &runs[voiceBase], &runs[voiceHead]
	steps := min(len(base.Steps), len(head.Steps))
	for i := range steps {
		if !failedBoth(s, i, base, head) {
			continue
		}
		if d := j.runs(s, until(base, i), until(head, i)); d != nil {
			return d
		}
		// The failed call itself: the same failure; what it left behind is free.
		if !j.sameOutcome(&base.Steps[i].Outcome, &head.Steps[i].Outcome) {
			return j.divergence(s, i, FieldOutcome, "", Differs, &base.Steps[i], &head.Steps[i])
		}
		return j.invariantsFrom(s, i, runs)
	}
	return j.runs(s, base, head)
}

func (j *claimJudge) divergence(s *op.Sequence, at int, field Field, detail string, class Class, left, right *op.Observation) *Divergence {
	return &Divergence{Step: at, Op: s.Ops[at].Clone(), Field: field, Detail: detail, Class: class, Left: left.Clone(), Right: right.Clone()}
}

func (j *claimJudge) invariants(s *op.Sequence, runs []op.Run) *Divergence {
	return j.invariantsFrom(s, 0, runs)
}

// invariantsFrom checks each side alone: the states from a step on, and what
// every get gives back.
func (j *claimJudge) invariantsFrom(s *op.Sequence, from int, runs []op.Run) *Divergence {
	for voice := range 2 {
		j.ledgers[voice].Rewrites = j.Rewrites
		j.ledgers[voice].Reset()
	}
	base, head := &runs[voiceBase], &runs[voiceHead]
	for i := range min(len(base.Steps), len(head.Steps)) {
		for voice, side := range [...]string{"base", "head"} {
			seen := &runs[voice].Steps[i]
			if seen.Outcome.Terminal() {
				return j.divergence(s, i, FieldOutcome, side+" died", classAt(s, i, base, head), &base.Steps[i], &head.Steps[i])
			}
			broken := j.ledgers[voice].Check(&s.Ops[i], seen)
			if broken == nil && i >= from {
				broken = model.Invariants(&seen.State, j.capacity(s))
			}
			if broken != nil && i >= from {
				return j.divergence(s, i, FieldInvariants, side+": "+broken.Error(), classAt(s, i, base, head), &base.Steps[i], &head.Steps[i])
			}
		}
	}
	return nil
}

func (j *claimJudge) grows(s *op.Sequence, runs []op.Run) *Divergence {
	base, head := &runs[voiceBase], &runs[voiceHead]
	for i := range min(len(base.Steps), len(head.Steps)) {
		if base.Steps[i].Outcome.Kind() != op.CapacityError {
			continue
		}
		if d := j.runs(s, until(base, i), until(head, i)); d != nil {
			return d
		}
		RunModel(j.growing, s, &j.grown)
		// From here on head is held against the growing model.
		if d := j.runs(s, &j.grown, head); d != nil && d.Step >= i {
			return d
		}
		return nil
	}
	return j.runs(s, base, head)
}

// Vote says whose doing a difference is, by the model's voice.
type Vote string

// The votes.
const (
	VoteNone    Vote = "none"                        // all three agree
	VoteHead    Vote = "head"                        // base and model agree
	VoteBase    Vote = "base"                        // head and model agree
	VoteModel   Vote = "model"                       // base and head agree, the model does not
	VoteSplit   Vote = "no two agree"                // three voices, three answers
	VoteEarlier Vote = "the model left both earlier" // it differs from both at an earlier op
)

// vote compares the model with both sides, as far as the claim's divergence.
func (c *comparer) vote(s *op.Sequence, runs []op.Run, d *Divergence) Vote {
	base, head, voice := &runs[voiceBase], &runs[voiceHead], &runs[voiceModel]
	if d == nil {
		if c.runs(s, base, voice) != nil && c.runs(s, head, voice) != nil {
			return VoteModel
		}
		return VoteNone
	}
	withBase := c.runs(s, base, voice)
	withHead := c.runs(s, head, voice)
	before := func(x *Divergence) bool { return x != nil && x.Step < d.Step }
	at := func(x *Divergence) bool { return x == nil || x.Step > d.Step }
	switch {
	case before(withBase) && before(withHead):
		return VoteEarlier
	case at(withBase) && at(withHead):
		return VoteSplit // the claim fails where all three are alike: an invariant
	case at(withBase):
		return VoteHead
	case at(withHead):
		return VoteBase
	}
	return VoteSplit
}

// SequenceClass is what kind of a life a sequence was, by its first failed call.
type SequenceClass string

// The classes of sequences, in the order in which a report lists them.
const (
	ClassBalanced SequenceClass = "no failed call"
	ClassKey      SequenceClass = "after a KeyError"
	ClassCapacity SequenceClass = "after a capacity error"
	ClassSize     SequenceClass = "after a wrong size"
	ClassOther    SequenceClass = "after another failure"
)

// SequenceClasses lists them.
var SequenceClasses = []SequenceClass{ClassBalanced, ClassKey, ClassCapacity, ClassSize, ClassOther}

// classOf tells a sequence's class from what base showed, up to and including a
// step (-1: all of it).
func classOf(s *op.Sequence, run *op.Run, last int) SequenceClass {
	if run.Refused != nil {
		return ClassOther
	}
	for i := range run.Steps {
		if last >= 0 && i > last {
			break
		}
		if !op.Table[s.Ops[i].Kind].Mutates {
			continue
		}
		switch run.Steps[i].Outcome.Kind() {
		case op.NoError:
		case op.KeyError:
			return ClassKey
		case op.CapacityError:
			return ClassCapacity
		case op.SizeError:
			return ClassSize
		default:
			return ClassOther
		}
	}
	return ClassBalanced
}

// Row counts one class of sequences.
type Row struct {
	Class          SequenceClass
	Sequences, Ops int
	// Differing counts the sequences that break the claim, First is the lowest
	// case of them (-1: none), Fields what they differ in.
	Differing, First int
	Fields           map[Field]int
}

// Distinct is one fingerprint among the divergences of a comparison.
type Distinct struct {
	Fingerprint string
	Class       Class
	Sequences   int
	// Lowest is the finding of the lowest case, Vote what the model says of it
	// and Lived what kind of a life its sequence was.
	Lowest Finding
	Vote   Vote
	Lived  SequenceClass
}

// Tally sums a comparison up. Workers fill one each; Merge adds them.
type Tally struct {
	Rows []Row
	// AfterError counts the differing sequences whose divergence shows only once
	// a call has failed; Differing counts all.
	Differing, AfterError int
	// ModelAlone counts the sequences on which base and head agree and the model
	// does not; ModelFirst is the lowest case of them.
	ModelAlone, ModelFirst int
	// Avoided counts the sequences in which base at the drawn slots raises a
	// capacity error and head with its headroom, or by growing, does not; Left
	// those in which head still does.
	Avoided, Left int
	Distinct      map[string]*Distinct
}

// NewTally makes an empty one.
func NewTally() *Tally {
	t := &Tally{ModelFirst: -1, Distinct: map[string]*Distinct{}}
	for _, class := range SequenceClasses {
		t.Rows = append(t.Rows, Row{Class: class, First: -1, Fields: map[Field]int{}})
	}
	return t
}

func lowest(a, b int) int {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// Visit counts one judged sequence.
func (t *Tally) Visit(options Options) Visitor {
	c := &comparer{Options: options}
	return func(index int, s *op.Sequence, runs []op.Run, d *Divergence) {
		last := -1
		if d != nil {
			last = max(d.Step, 0)
		}
		class := classOf(s, &runs[voiceBase], last)
		for i := range t.Rows {
			row := &t.Rows[i]
			if row.Class != class {
				continue
			}
			row.Sequences++
			row.Ops += len(runs[voiceBase].Steps)
			if d != nil {
				row.Differing++
				row.First = lowest(row.First, index)
				row.Fields[d.Field]++
			}
		}
		vote := c.vote(s, runs, d)
		if vote == VoteModel {
			t.ModelAlone++
			t.ModelFirst = lowest(t.ModelFirst, index)
		}
		t.countCapacity(runs)
		if d == nil {
			return
		}
		t.Differing++
		if d.Class == DiffersAfterError {
			t.AfterError++
		}
		t.add(&Distinct{Fingerprint: d.Fingerprint(), Class: d.Class, Sequences: 1, Lowest: Finding{s.Clone(), d}, Vote: vote, Lived: class})
	}
}

// countCapacity counts capacity errors that head avoids or still has.
func (t *Tally) countCapacity(runs []op.Run) {
	plain := &runs[len(runs)-1]
	if len(runs) <= voicePlain {
		plain = &runs[voiceBase]
	}
	raised := func(run *op.Run) bool {
		for i := range run.Steps {
			if run.Steps[i].Outcome.Kind() == op.CapacityError {
				return true
			}
		}
		return false
	}
	if head := raised(&runs[voiceHead]); head {
		t.Left++
	} else if raised(plain) {
		t.Avoided++
	}
}

func (t *Tally) add(d *Distinct) {
	have := t.Distinct[d.Fingerprint]
	if have == nil {
		t.Distinct[d.Fingerprint] = d
		return
	}
	have.Sequences += d.Sequences
	if d.Lowest.Divergence.Case < have.Lowest.Divergence.Case {
		have.Lowest, have.Vote, have.Lived = d.Lowest, d.Vote, d.Lived
	}
}

// Merge adds another worker's tally.
func (t *Tally) Merge(other *Tally) {
	for i := range t.Rows {
		a, b := &t.Rows[i], &other.Rows[i]
		a.Sequences += b.Sequences
		a.Ops += b.Ops
		a.Differing += b.Differing
		a.First = lowest(a.First, b.First)
		for field, n := range b.Fields {
			a.Fields[field] += n
		}
	}
	t.Differing += other.Differing
	t.AfterError += other.AfterError
	t.ModelAlone += other.ModelAlone
	t.ModelFirst = lowest(t.ModelFirst, other.ModelFirst)
	t.Avoided += other.Avoided
	t.Left += other.Left
	for _, d := range other.Distinct {
		t.add(d)
	}
}
