package gen

import (
	"errors"
	"strings"
	"testing"

	"github.com/diffstore/diffstore/op"
	"github.com/leanovate/gopter"
)

// failure is an error with a fingerprint.
type failure string

func (f failure) Error() string       { return "failed: " + string(f) }
func (f failure) Fingerprint() string { return string(f) }

// dropOps is a shrinker that leaves out one op at a time.
func dropOps(value any) gopter.Shrink {
	s := value.(op.Sequence)
	i := -1
	return func() (any, bool) {
		i++
		if i >= len(s.Ops) {
			return nil, false
		}
		shorter := s
		shorter.Ops = append(append([]op.Op(nil), s.Ops[:i]...), s.Ops[i+1:]...)
		return shorter, true
	}
}

func parameters() *gopter.TestParameters {
	p := gopter.DefaultTestParametersWithSeed(1)
	p.MinSuccessfulTests = 100
	return p
}

func TestForAllHolds(t *testing.T) {
	checked := 0
	result := ForAll(Config{}, dropOps, func(op.Sequence) error { checked++; return nil }).Check(parameters())
	if result.Status != gopter.TestPassed || checked != 100 {
		t.Errorf("%v after %d checks", result.Status, checked)
	}
}

// Two failures: a get is the one that is found, an empty sequence the one that
// shrinking must not slip to.
func TestForAllShrinksToTheSameFailure(t *testing.T) {
	check := func(s op.Sequence) error {
		for i := range s.Ops {
			if s.Ops[i].Kind == op.Get {
				return failure("get")
			}
		}
		if len(s.Ops) == 0 {
			return failure("empty")
		}
		return nil
	}
	result := ForAll(Config{}, dropOps, check).Check(parameters())
	if result.Status != gopter.TestFailed || len(result.Args) != 1 {
		t.Fatalf("status %v, arguments %v", result.Status, result.Args)
	}
	arg := result.Args[0]
	shrunk, original := arg.Arg.(op.Sequence), arg.OrigArg.(op.Sequence)
	if len(shrunk.Ops) != 1 || shrunk.Ops[0].Kind != op.Get {
		t.Errorf("shrunk to\n%s", shrunk.String())
	}
	if len(original.Ops)-arg.Shrinks != 1 {
		t.Errorf("%d steps from %d ops to one", arg.Shrinks, len(original.Ops))
	}
	if arg.ArgFormatted != shrunk.String() || !strings.Contains(arg.ArgFormatted, "\nget") {
		t.Errorf("the argument reads %q", arg.ArgFormatted)
	}
	if len(result.Labels) != 1 || result.Labels[0] != "failed: get" {
		t.Errorf("labels %q", result.Labels)
	}
}

func TestForAllLimitsTheChecksOfAShrink(t *testing.T) {
	p := parameters()
	p.MaxShrinkCount = 7
	checked := 0
	first := true
	result := ForAll(Config{}, dropOps, func(op.Sequence) error {
		checked++
		if first {
			first = false
			return errors.New("once")
		}
		return nil
	}).Check(p)
	// The first sequence has one op, so one candidate ends the shrinking.
	if result.Status != gopter.TestFailed || checked != 2 {
		t.Errorf("%v after %d checks", result.Status, checked)
	}

	endless := func(value any) gopter.Shrink { return func() (any, bool) { return value, true } }
	checked = 0
	ForAll(Config{}, endless, func(op.Sequence) error { checked++; return errors.New("always") }).Check(p)
	if checked != 1+7 {
		t.Errorf("%d checks: expected one and 7 while shrinking", checked)
	}
}

func TestForAllReportsAPanic(t *testing.T) {
	result := ForAll(Config{}, nil, func(op.Sequence) error { panic("lost") }).Check(parameters())
	if result.Status != gopter.TestError || !strings.Contains(result.Error.Error(), "lost") {
		t.Errorf("%v: %v", result.Status, result.Error)
	}
}

func TestForAllWithoutShrinkerKeepsTheSequence(t *testing.T) {
	result := ForAll(Config{}, nil, func(s op.Sequence) error {
		if len(s.Ops) > 5 {
			return errors.New("long")
		}
		return nil
	}).Check(parameters())
	if result.Status != gopter.TestFailed || result.Args[0].Shrinks != 0 {
		t.Fatalf("%v", result)
	}
	if n := len(result.Args[0].Arg.(op.Sequence).Ops); n != 6 {
		t.Errorf("the first long sequence has %d ops: expected 6", n)
	}
}
