package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/diffstore/diffstore/op"
)

// brief writes an observation in one line: the outcome, the victims behind a
// minus each, then every key as name@slot*references, the queue first. A zombie
// is at -, a key that is not stored has no slot, one without references no count.
func brief(seen *op.Observation) string {
	var parts []string
	switch err := seen.Outcome.Err; {
	case err == nil && seen.Outcome.Payload != nil:
		parts = append(parts, fmt.Sprintf("%q", seen.Outcome.Payload))
	case err == nil:
		parts = append(parts, "ok")
	case err.Kind == op.KeyError:
		parts = append(parts, "key:"+err.Key)
	case err.Kind == op.MissingError:
		parts = append(parts, fmt.Sprintf("missing:%d/%d", err.Used, err.Limit))
	default:
		parts = append(parts, err.Kind.String())
	}
	for _, key := range seen.Victims {
		parts = append(parts, "-"+key)
	}
	refs := map[string]string{}
	for _, ref := range seen.State.Refs {
		refs[ref.Key] = fmt.Sprintf("*%d", ref.Count)
	}
	entries := slices.Clone(seen.State.Entries)
	queued := len(seen.State.Queue)
	slices.SortFunc(entries[queued:], func(a, b op.Entry) int { return strings.Compare(a.Key, b.Key) })
	for _, e := range entries {
		slot := fmt.Sprint(e.Slot)
		if e.Slot == op.Unallocated {
			slot = "-"
		}
		parts = append(parts, e.Key+"@"+slot+refs[e.Key])
		delete(refs, e.Key)
	}
	for _, ref := range seen.State.Refs {
		if count, alone := refs[ref.Key]; alone {
			parts = append(parts, ref.Key+count)
		}
	}
	return strings.Join(parts, " ")
}

// life is a store's life in the notation of op.ParseOp, one line an op with what
// it does, in the form of brief, behind an arrow.
type life struct {
	name    string
	variant string // main where empty
	slots   int
	ops     string
}

// consequences are what follows from the description and is easily got wrong.
// Objects have one byte, so any other payload is of a wrong size.
var consequences = []life{
	{name: "empty put", slots: 2, ops: `
		put => ok
		get => ""`},
	{name: "duplicate keys: last payload, first position", slots: 3, ops: `
		put a=31 b=62 a=32 => ok a@0 b@1
		get a b => "2b" a@0 b@1`},
	{name: "a stored key keeps its bytes, whatever is put", slots: 2, ops: `
		put a=61 => ok a@0
		put a=7a => ok a@0
		put a=7a7a7a => ok a@0
		get a => "a" a@0`},
	{name: "retain alone and release 2 to 1 change no order", slots: 3, ops: `
		put a=61 b=62 c=63 => ok a@0 b@1 c@2
		put retain a a => ok b@1 c@2 a@0*2
		put release a => ok b@1 c@2 a@0*1
		put release nope => key:nope b@1 c@2 a@0*1
		put release a nope => key:nope a@0 b@1 c@2`},
	{name: "retain and release in one call moves the key to the tail", slots: 2, ops: `
		put a=61 b=62 => ok a@0 b@1
		put retain a release a => ok b@1 a@0
		put c=63 => ok -b a@0 c@1`},
	{name: "same-call retain protects an old key", slots: 2, ops: `
		put a=61 b=62 => ok a@0 b@1
		put c=63 retain a => ok -b c@1 a@0*1`},
	{name: "same-call release unprotects", slots: 2, ops: `
		put a=61 b=62 retain a b => ok a@0*1 b@1*1
		put c=63 => capacity a@0*1 b@1*1
		put c=63 release b => ok -b c@1 a@0*1`},
	{name: "batch keys are protected, stored before or not", slots: 2, ops: `
		put a=61 b=62 => ok a@0 b@1
		put a=61 c=63 => ok -b a@0 c@1`},
	{name: "a terminal new key is evicted by its own put, its size never checked", slots: 1, ops: `
		put a=61 retain a => ok a@0*1
		put b=62626262 retain b release b => ok -b a@0*1
		get b => missing:1/1 a@0*1`},
	{name: "a terminal stored batch key is evicted by its own put and its slot reused", slots: 1, ops: `
		put a=61 retain a => ok a@0*1
		put a=61 b=62 release a => ok -a b@0`},
	{name: "release a,a with count 2 is one terminal entry", slots: 2, ops: `
		put a=61 b=62 retain a a => ok b@1 a@0*2
		put release a a => ok b@1 a@0`},
	{name: "release a,a with count 1 is a KeyError with the reference gone", slots: 2, ops: `
		put a=61 b=62 retain a => ok b@1 a@0*1
		put release a a => key:a a@0 b@1`},
	{name: "a call that failed with KeyError retains again when repeated", slots: 2, ops: `
		put a=61 retain a release nope => key:nope a*1
		put a=61 retain a release nope => key:nope a*2`},
	{name: "a call that failed for capacity retains again when repeated", slots: 1, ops: `
		put a=61 retain a => ok a@0*1
		put b=62 retain b => capacity a@0*1 b*1
		put b=62 retain b => capacity a@0*1 b*2`},
	{name: "all referenced at capacity: a re-put is fine, a new key is not", slots: 2, ops: `
		put a=61 b=62 retain a b => ok a@0*1 b@1*1
		put a=61 b=62 retain a => ok a@0*2 b@1*1
		put c=63 => capacity a@0*2 b@1*1`},
	{name: "too few victims: none is evicted, new keys go, moves stay", slots: 2, ops: `
		put a=61 b=62 => ok a@0 b@1
		put a=61 c=63 d=64 => capacity b@1 a@0`},
	{name: "freed slots are used last in, first out", slots: 3, ops: `
		put a=61 b=62 c=63 => ok a@0 b@1 c@2
		put d=64 e=65 => ok -a -b c@2 d@1 e@0`},
	{name: "release order decides the victim", slots: 2, ops: `
		put a=61 b=62 retain a b => ok a@0*1 b@1*1
		put release b a => ok b@1 a@0
		put c=63 => ok -b a@0 c@1`},
	{name: "terminal keys come after batch keys", slots: 3, ops: `
		put a=61 b=62 retain a => ok b@1 a@0*1
		put b=62 c=63 release a => ok b@1 c@2 a@0`},
	{name: "absent keys can be retained and use no room", slots: 1, ops: `
		put retain x y => ok x*1 y*1
		put a=61 => ok a@0 x*1 y*1
		get x => missing:1/1 a@0 x*1 y*1
		put x=78 => ok -a x@0*1 y*1`},
	{name: "wrong size: the slot is lost, later batch keys are unwritten", slots: 3, ops: `
		put a=61 b=6262 c=63 => size a@0 b@- c@-
		get a b c => "a" a@0 b@- c@-`},
	{name: "a zombie is healed by a re-put while slots remain", slots: 2, ops: `
		put a=6161 => size a@-
		put a=61 => ok a@1
		get a => "a" a@1`},
	{name: "a zombie counts for capacity and gives no slot when evicted", slots: 2, ops: `
		put a=61 b=6262 => size a@0 b@-
		get a => "a" b@- a@0
		put c=63 => size -b a@0 c@-`},
	{name: "a referenced zombie blocks capacity until released", slots: 1, ops: `
		put a=6161 retain a => size a@-*1
		put b=62 => capacity a@-*1
		put b=62 release a => size -a b@-`},
	{name: "roll-back removes old zombies of the batch", slots: 2, ops: `
		put a=6161 b=62 => size a@- b@-
		put b=62 retain b a => ok a@-*1 b@1*1
		put a=61 c=63 => capacity b@1*1 a*1`},
	{name: "lost slots push next past the arena: right sizes fail, empty is taken, its slot reused", slots: 1, ops: `
		put a=6161 => size a@-
		put a=61 => size a@-
		put a= => ok a@2
		get a => "" a@2
		put b=62 => size -a b@-
		put b= => ok b@3`},
	{name: "an out-of-range slot enters the free stack", slots: 1, ops: `
		put a=6161 => size a@-
		put a= => ok a@1
		put b= => ok -a b@1`},
	{name: "get moves to the tail, the last occurrence decides, referenced keys too", slots: 3, ops: `
		put a=61 b=62 c=63 retain b => ok a@0 c@2 b@1*1
		get a c a b => "acab" c@2 a@0 b@1*1
		put release b nope => key:nope c@2 a@0 b@1`},
	{name: "get with one key missing moves nothing", slots: 2, ops: `
		put a=61 b=62 => ok a@0 b@1
		get a nope => missing:2/2 a@0 b@1`},
	{name: "closed before all else", slots: 1, ops: `
		put a=61 retain a => ok a@0*1
		close => ok a@0*1
		close => ok a@0*1
		put => closed a@0*1
		put b=6262 release nope => closed a@0*1
		get => closed a@0*1`},
	{name: "KeyError before capacity before size", slots: 1, ops: `
		put a=61 retain a => ok a@0*1
		put b=6262 release nope => key:nope a@0*1
		put b=6262 => capacity a@0*1`},
	{name: "empty, NUL and composed keys are distinct", slots: 4, ops: `
		put ""=31 "\x00"=32 "é"=33 "e\u0301"=34 => ok @0 ` + "\x00" + `@1 é@2 e` + "\u0301" + `@3
		get "e\u0301" "" => "41" ` + "\x00" + `@1 é@2 e` + "\u0301" + `@3 @0`},

	// After a KeyError main's released key is at its old place.
	{name: "main keeps c,d", slots: 2, ops: `
		put a=61 b=62 retain a => ok b@1 a@0*1
		put c=63 => ok -b c@1 a@0*1
		put release a nope => key:nope a@0 c@1
		put d=64 => ok -a c@1 d@0`},
	{name: "front rotation keeps a,d", variant: "front-rotation", slots: 2, ops: `
		put a=61 b=62 retain a => ok b@1 a@0*1
		put c=63 => ok -b c@1 a@0*1
		put release a nope => key:nope c@1 a@0
		put d=64 => ok -c a@0 d@1`},
	{name: "main keeps b,c", slots: 2, ops: `
		put a=61 b=62 retain a => ok b@1 a@0*1
		put release a nope => key:nope a@0 b@1
		put c=63 => ok -a b@1 c@0`},
	{name: "the free queue keeps a,c", variant: "free-queue", slots: 2, ops: `
		put a=61 b=62 retain a => ok b@1 a@0*1
		put release a nope => key:nope b@1 a@0
		put c=63 => ok -b a@0 c@1`},
	{name: "front rotation keeps the order of what it rotates, twice over", variant: "front-rotation", slots: 4, ops: `
		put a=61 b=62 c=63 d=64 retain a b => ok c@2 d@3 a@0*1 b@1*1
		put e=65 => ok -c d@3 e@2 a@0*1 b@1*1
		put d=64 retain e => ok d@3 a@0*1 b@1*1 e@2*1
		put f=66 => ok -d f@3 a@0*1 b@1*1 e@2*1
		put release e b a nope => key:nope f@3 e@2 a@0 b@1`},

	{name: "growing evicts all it can, then grows to twice its slots", variant: "growing", slots: 2, ops: `
		put a=61 b=62 retain a => ok b@1 a@0*1
		put c=63 d=64 => ok -b c@1 d@2 a@0*1
		get nope => missing:3/4 c@1 d@2 a@0*1
		put e=65 f=66 => ok -c d@2 e@1 f@3 a@0*1`},
	{name: "growing grows to the stored keys where twice is too few", variant: "growing", slots: 1, ops: `
		put a=61 b=62 c=63 => ok a@0 b@1 c@2
		get nope => missing:3/3 a@0 b@1 c@2
		get c a b => "cab" c@2 a@0 b@1`},
	{name: "growing rolls nothing back", variant: "growing", slots: 1, ops: `
		put a=61 retain a => ok a@0*1
		put b=6262 c=63 => size b@- c@- a@0*1
		put b=62 => ok c@- b@2 a@0*1`},
	{name: "an out-of-range slot that the arena grows over reads as zero", variant: "growing", slots: 1, ops: `
		put a=6161 retain a => size a@-*1
		put a= => ok a@1*1
		get a => "" a@1*1
		put b=62 => size b@- a@1*1
		get a => "\x00" b@- a@1*1`},

	{name: "0.33 rewrites unreferenced batch keys", variant: "release-0.33", slots: 2, ops: `
		put a=61 b=62 retain b => ok a@-2 b@-2*1
		put a=7a b=7a => ok a@-2 b@-2*1
		get a b => "zb" a@-2 b@-2*1`},
	{name: "0.33 rewrites what the same call retains", variant: "release-0.33", slots: 2, ops: `
		put a=61 => ok a@-2
		put a=7a retain a => ok a@-2*1
		put a=79 release a => ok a@-2
		get a => "z" a@-2`},
	{name: "0.33 loses unreferenced batch keys to a KeyError", variant: "release-0.33", slots: 3, ops: `
		put a=61 b=62 c=63 => ok a@-2 b@-2 c@-2
		put c=63 a=61 release nope => key:nope -a -c b@-2
		put c=63 => ok b@-2 c@-2`},
	{name: "0.33 may refuse the size of a stored key", variant: "release-0.33", slots: 2, ops: `
		put a=61 => ok a@-2
		put a=6161 => size a@-`},
}

func TestConsequences(t *testing.T) {
	for _, c := range consequences {
		t.Run(c.name, func(t *testing.T) {
			variant := c.variant
			if variant == "" {
				variant = "main"
			}
			s := mustNew(t, variant, c.slots, 1)
			for i, line := range strings.Split(strings.TrimSpace(c.ops), "\n") {
				text, want, _ := strings.Cut(strings.TrimSpace(line), " => ")
				o, err := op.ParseOp(text)
				if err != nil {
					t.Fatalf("%q: %v", text, err)
				}
				var seen op.Observation
				s.Step(&o, &seen)
				if got := brief(&seen); got != want {
					t.Errorf("op %d, %s\n got %s\nwant %s", i, text, got, want)
				}
			}
		})
	}
}
