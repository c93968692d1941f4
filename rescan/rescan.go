// Package rescan counts hashes: it shows whether a store's eviction looks again
// and again at keys that it must not evict.
//
// Keys are Python str subclasses that count __hash__. A full store holds
// referenced and unreferenced keys; new keys are put one at a time; what is
// counted are the hashes of referenced keys, which no call names. The package
// builds the sequence and reads the counts; running it is the oracle's work.
package rescan

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/subject"
)

// Config is one check.
type Config struct {
	// Referenced and Unreferenced keys fill the store; Puts new keys follow, one
	// a call. Puts is at most Unreferenced, so that each finds a victim.
	Referenced, Unreferenced, Puts int
	// Limit is the most hashes of referenced keys in all puts together.
	Limit int
	// Slope gives the numbers of referenced keys over which the growth is
	// fitted; with none, it is not measured.
	Slope []int
}

// Default is the check of vllm#62044, with the slope over three sizes.
var Default = Config{Referenced: 900, Unreferenced: 100, Puts: 100, Limit: 900, Slope: []int{100, 1000, 10000}}

// Check tells what is wrong with the config, or nil.
func (c Config) Check() error {
	switch {
	case c.Referenced < 1 || c.Unreferenced < 1 || c.Puts < 1:
		return fmt.Errorf("referenced, unreferenced and puts must be at least 1")
	case c.Puts > c.Unreferenced:
		return fmt.Errorf("%d puts need as many unreferenced keys, there are %d", c.Puts, c.Unreferenced)
	case c.Referenced+c.Unreferenced > 1_000_000:
		return fmt.Errorf("at most 1,000,000 keys")
	case c.Limit < 0:
		return fmt.Errorf("the limit must not be below 0")
	}
	for _, n := range c.Slope {
		if n < 1 || n > 1_000_000 {
			return fmt.Errorf("a slope size must be from 1 to 1,000,000")
		}
	}
	return nil
}

// Shape is what the puts of one size cost, in hashes of referenced keys.
type Shape struct {
	Referenced, Puts           int
	Total, First, Median, Last int
}

// PerKey is the hashes of a put for each referenced key: the median put's.
func (s Shape) PerKey() float64 { return float64(s.Median) / float64(s.Referenced) }

// Result is a finished check.
type Result struct {
	Config   Config
	Identity op.Identity
	// Shape is that of the check itself, Growth those of the slope's sizes.
	Shape  Shape
	Growth []Shape
	// Slope is the hashes a put for each referenced key, fitted over Growth by
	// least squares; Fit is the share of the variance that the line explains.
	Slope, Fit float64
	// Wrong says what the store did wrong apart from hashing, a line each: an
	// unreferenced key that stayed, a referenced one that went.
	Wrong []string
	Took  time.Duration
}

// OverLimit tells whether the check's limit is exceeded.
func (r *Result) OverLimit() bool { return r.Shape.Total > r.Config.Limit }

// Verdict is Diverges for a store that rescans or evicts wrongly.
func (r *Result) Verdict() diff.Verdict {
	if r.OverLimit() || len(r.Wrong) > 0 {
		return diff.Diverges
	}
	return diff.Agree
}

// Open opens the subject with its hashes counted, the named keys apart.
type Open func(watched []string) (diff.Subject, error)

// Oracle opens a store in a process of its own, its state unobserved: what is
// hashed is then the store's doing alone.
func Oracle(launch oracle.Launch) Open {
	return func(watched []string) (diff.Subject, error) {
		return subject.Oracle(launch, oracle.Ask{Hashes: true, Watched: watched, Blind: true})()
	}
}

// Run runs the check and then each size of the slope.
func Run(ctx context.Context, c Config, open Open) (*Result, error) {
	began := time.Now()
	r := &Result{Config: c}
	var err error
	if r.Shape, err = measure(c, open, r); err != nil {
		return r, err
	}
	for _, n := range c.Slope {
		if err := ctx.Err(); err != nil {
			return r, fmt.Errorf("interrupted before %d referenced keys", n)
		}
		sized := Config{Referenced: n, Unreferenced: c.Unreferenced, Puts: min(c.Puts, slopePuts)}
		shape, err := measure(sized, open, r)
		if err != nil {
			return r, err
		}
		r.Growth = append(r.Growth, shape)
	}
	r.Slope, r.Fit = fit(r.Growth)
	r.Took = time.Since(began)
	return r, nil
}

// slopePuts is how many puts each size of the slope gets: enough for a median.
const slopePuts = 21

// payload is one byte an object: the check is about keys.
var payload = []byte{0}

func names(prefix string, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return keys
}

func objects(keys []string) []op.Object {
	list := make([]op.Object, len(keys))
	for i, key := range keys {
		list[i] = op.Object{Key: key, Payload: payload}
	}
	return list
}

// sequence fills the store with referenced keys first, since that is where they
// pile up in front of what can be evicted, puts the new keys one by one, and
// then asks for every key.
func (c Config) sequence() (s op.Sequence, referenced, unreferenced []string) {
	referenced, unreferenced = names("referenced-", c.Referenced), names("unreferenced-", c.Unreferenced)
	s = op.Sequence{Slots: c.Referenced + c.Unreferenced, ObjectBytes: len(payload)}
	s.Ops = append(s.Ops,
		op.Op{Kind: op.Put, Objects: objects(referenced), Retain: referenced},
		op.Op{Kind: op.Put, Objects: objects(unreferenced)})
	for _, key := range names("new-", c.Puts) {
		s.Ops = append(s.Ops, op.Op{Kind: op.Put, Objects: objects([]string{key})})
	}
	s.Ops = append(s.Ops, op.Op{Kind: op.Get, Keys: referenced})
	for _, key := range unreferenced {
		s.Ops = append(s.Ops, op.Op{Kind: op.Get, Keys: []string{key}})
	}
	return s, referenced, unreferenced
}

// firstPut is the place of the first put that evicts.
const firstPut = 2

func measure(c Config, open Open, r *Result) (Shape, error) {
	s, referenced, unreferenced := c.sequence()
	subject, err := open(referenced)
	if err != nil {
		return Shape{}, err
	}
	defer subject.Close()
	r.Identity = subject.Identity()
	runs := make([]op.Run, 1)
	if err := subject.Submit([]op.Sequence{s}); err != nil {
		return Shape{}, err
	}
	if err := op.Collect(subject, runs); err != nil {
		return Shape{}, err
	}
	steps := runs[0].Steps
	if len(steps) < len(s.Ops) {
		return Shape{}, fmt.Errorf("the store died in the check: %v", steps[len(steps)-1].Outcome.Err)
	}
	shape := Shape{Referenced: c.Referenced, Puts: c.Puts}
	var counts []int
	for i := range c.Puts {
		step := &steps[firstPut+i]
		if failure := step.Outcome.Err; failure != nil {
			r.Wrong = append(r.Wrong, fmt.Sprintf("with %d referenced keys, put %d fails: %v", c.Referenced, i+1, failure))
		}
		counts = append(counts, step.Watched)
		shape.Total += step.Watched
	}
	shape.First, shape.Last = counts[0], counts[len(counts)-1]
	slices.Sort(counts)
	shape.Median = counts[len(counts)/2]
	r.checkKeys(c, steps[firstPut+c.Puts:], unreferenced)
	return shape, nil
}

// checkKeys reads the gets at the end: every referenced key has to be there, and
// of the unreferenced ones exactly those that the puts did not push out, oldest
// first.
func (r *Result) checkKeys(c Config, gets []op.Observation, unreferenced []string) {
	if failure := gets[0].Outcome.Err; failure != nil {
		r.Wrong = append(r.Wrong, fmt.Sprintf("with %d referenced keys, not all of them are readable: %v", c.Referenced, failure))
	}
	for i, key := range unreferenced {
		gone := gets[1+i].Outcome.Err != nil
		if want := i < c.Puts; gone != want {
			word := "was evicted out of turn"
			if want {
				word = "was not evicted"
			}
			r.Wrong = append(r.Wrong, fmt.Sprintf("with %d referenced keys, %s %s", c.Referenced, key, word))
		}
	}
}

// fit gives the slope of hashes a put over referenced keys and how well a line
// explains them (1: wholly; also where nothing varies).
func fit(growth []Shape) (slope, share float64) {
	n := float64(len(growth))
	if n < 2 {
		return 0, 0
	}
	var sx, sy, sxx, sxy, syy float64
	for _, shape := range growth {
		x, y := float64(shape.Referenced), float64(shape.Median)
		sx, sy, sxx, sxy, syy = sx+x, sy+y, sxx+x*x, sxy+x*y, syy+y*y
	}
	covariance, varianceX, varianceY := n*sxy-sx*sy, n*sxx-sx*sx, n*syy-sy*sy
	if varianceX == 0 {
		return 0, 0
	}
	slope = covariance / varianceX
	if varianceY == 0 {
		return slope, 1
	}
	return slope, math.Pow(covariance, 2) / (varianceX * varianceY)
}
