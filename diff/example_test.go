package diff_test

import (
	"fmt"
	"strings"

	"github.com/leanovate/gopter"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/op"
)

// difference is a divergence as an error that a property can shrink by.
type difference struct{ *diff.Divergence }

func (d difference) Error() string { return d.Fingerprint() }

// A gopter property over whole sequences: here, that two variants of the model
// behave the same. The same works for any two diff.Subjects.
func Example_property() {
	opens := []diff.Open{diff.Model("main"), diff.Model("free-queue")}
	property := gen.ForAll(gen.Config{Profile: "unbalanced"}, gen.Shrinker, func(s op.Sequence) error {
		d, err := diff.Diverge(s, opens, diff.Pair(diff.Options{}))
		if err != nil {
			return err
		}
		if d != nil {
			return difference{d}
		}
		return nil
	})
	parameters := gopter.DefaultTestParametersWithSeed(1)
	parameters.MinSuccessfulTests = 1000
	parameters.MaxShrinkCount = 20_000
	result := property.Check(parameters)
	fmt.Println(result.Passed(), strings.Join(result.Labels, ", "))
	fmt.Println(result.Args[0].ArgFormatted)
	// Output:
	// false put/queue/key|key/differs-after-error
	// 2 slots of 1 bytes
	// put a=61 b=62 retain a
	// put release a a
}

// Compare tells what differs between two runs of one sequence, and Reduce gives
// the shortest sequence that shows the same.
func ExampleDiverge() {
	keys := func(names ...string) []string { return names }
	s := op.Sequence{Slots: 2, ObjectBytes: 1, Ops: []op.Op{
		{Kind: op.Put, Objects: []op.Object{{Key: "a", Payload: []byte("a")}, {Key: "b", Payload: []byte("b")}}, Retain: keys("a")},
		{Kind: op.Put, Release: keys("a", "nope")},
	}}
	d, err := diff.Diverge(s, []diff.Open{diff.Model("main"), diff.Model("free-queue")}, diff.Pair(diff.Options{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Class, "in", d.Field, "at op", d.Step+1)
	fmt.Println(d.Left.State.Queue, d.Right.State.Queue)
	// Output:
	// differs-after-error in queue at op 2
	// [a b] [b a]
}
