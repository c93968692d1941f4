package gen

import (
	"bytes"
	"regexp"
	"slices"
	"testing"

	"github.com/diffstore/diffstore/op"
)

// eachCase runs visit on cases of one profile.
func eachCase(t *testing.T, profile string, n int, visit func(i int, s *op.Sequence)) {
	t.Helper()
	for i := range n {
		s := drawn(21, i, Config{Profile: profile})
		visit(i, &s)
		if t.Failed() {
			t.Fatalf("case %d:\n%s", i, s.String())
		}
	}
}

// eachPut runs visit on the puts before the first close.
func eachPut(s *op.Sequence, visit func(o *op.Op)) {
	for i := range s.Ops {
		switch s.Ops[i].Kind {
		case op.Close:
			return
		case op.Put:
			visit(&s.Ops[i])
		}
	}
}

// balance replays reference counts: how many releases met none, and which counts
// are left.
func balance(s *op.Sequence) (unknown int, left map[string]int) {
	left = map[string]int{}
	eachPut(s, func(o *op.Op) {
		for _, key := range o.Retain {
			left[key]++
		}
		for _, key := range o.Release {
			if left[key] == 0 {
				unknown++
				return
			}
			if left[key]--; left[key] == 0 {
				delete(left, key)
			}
		}
	})
	return unknown, left
}

// misfits counts the payloads of another size than the store's.
func misfits(s *op.Sequence) int {
	n := 0
	eachPut(s, func(o *op.Op) {
		for _, object := range o.Objects {
			if len(object.Payload) != s.ObjectBytes {
				n++
			}
		}
	})
	return n
}

func TestReferencesBalanceWhereTheProfileSaysSo(t *testing.T) {
	for _, profile := range []string{"balanced", "sized", "evict-heavy", "production"} {
		drained := 0
		eachCase(t, profile, 1500, func(_ int, s *op.Sequence) {
			unknown, left := balance(s)
			if unknown > 0 {
				t.Errorf("%s: %d releases of keys without references", profile, unknown)
			}
			if len(left) == 0 && len(s.Ops) > 10 {
				drained++
			}
		})
		if drained < 100 || drained > 1350 {
			t.Errorf("%s: %d of 1500 sequences end without references: expected some and not all", profile, drained)
		}
	}
}

func TestUnbalancedMeetsUnknownReleases(t *testing.T) {
	sequences := 0
	eachCase(t, "unbalanced", 1000, func(_ int, s *op.Sequence) {
		if unknown, _ := balance(s); unknown > 0 {
			sequences++
		}
		if misfits(s) > 0 {
			t.Error("a payload does not fit")
		}
	})
	if sequences < 400 {
		t.Errorf("%d of 1000 sequences have an unknown release", sequences)
	}
}

func TestPayloadsFitWhereTheProfileSaysSo(t *testing.T) {
	for _, profile := range []string{"balanced", "evict-heavy", "production"} {
		eachCase(t, profile, 1000, func(_ int, s *op.Sequence) {
			if n := misfits(s); n > 0 {
				t.Errorf("%s: %d payloads do not fit", profile, n)
			}
		})
	}
}

func TestSizedHasEveryWrongSize(t *testing.T) {
	empty, short, long, outside := 0, 0, 0, 0
	eachCase(t, "sized", 1000, func(_ int, s *op.Sequence) {
		eachPut(s, func(o *op.Op) {
			for _, object := range o.Objects {
				switch n := len(object.Payload); {
				case n == 0:
					empty++
				case n < s.ObjectBytes:
					short++
				case n > s.ObjectBytes:
					long++
				}
			}
		})
		store, _ := runNaive(s)
		outside += store.outside
	})
	if empty < 500 || short < 200 || long < 500 || outside < 50 {
		t.Errorf("%d empty, %d short, %d long payloads, %d stored behind the last slot", empty, short, long, outside)
	}
}

func TestProductionLooksLikeTheWorker(t *testing.T) {
	pattern := regexp.MustCompile(`^vllm-artifact/[0-9]+/[0-9a-f]{16}$`)
	full, ops, failed, shared, generations := 0, 0, 0, 0, 0
	metadata, outputs, releases, prefixes := 0, 0, 0, 0
	eachCase(t, "production", 1500, func(_ int, s *op.Sequence) {
		payloads := map[string][]byte{}
		counts := map[string]int{}
		seen := map[string]bool{}
		for i := range s.Ops {
			s.Ops[i].EachKey(func(key string) {
				if !pattern.MatchString(key) {
					t.Errorf("%q is no artifact key", key)
				}
				seen[key[:len(key)-16]] = true
			})
		}
		if len(seen) > 1 {
			generations++
		}
		eachPut(s, func(o *op.Op) {
			for _, object := range o.Objects {
				if was, ok := payloads[object.Key]; ok && !bytes.Equal(was, object.Payload) {
					t.Errorf("%s has two payloads", object.Key)
				}
				payloads[object.Key] = object.Payload
			}
			for _, key := range o.Retain {
				if counts[key]++; counts[key] == 2 {
					shared++
				}
			}
			for _, key := range o.Release {
				counts[key]--
			}
			switch {
			case len(o.Retain) > 0:
				metadata++
			case len(o.Objects) > 0 && len(o.Release) == 0:
				outputs++
			case len(o.Objects) == 0 && len(o.Release) > 0:
				releases++
			}
		})
		_, steps := runNaive(s)
		bad := false
		for i := range steps {
			ops++
			if steps[i].State.Total == s.Slots {
				full++
			}
			if s.Ops[i].Kind == op.Get && steps[i].Outcome.Err == nil {
				prefixes++
			}
			bad = bad || steps[i].Outcome.Err != nil
		}
		if bad {
			failed++
		}
	})
	if failed > 75 {
		t.Errorf("%d of 1500 sequences fail: expected next to none", failed)
	}
	if full < ops/2 {
		t.Errorf("the store is full after %d of %d ops", full, ops)
	}
	if min(metadata, outputs, releases, prefixes, shared) < 1000 || generations < 20 {
		t.Errorf("%d metadata puts, %d output puts, %d releases, %d gets, %d shared keys, %d sequences with two generations",
			metadata, outputs, releases, prefixes, shared, generations)
	}
}

func TestRequestsReleaseTheirLastBlockFirst(t *testing.T) {
	b := &book{plan: plan{slots: 4, keys: artifactKeys}}
	b.start()
	var o op.Op
	r := request{}
	for range 3 {
		b.worker.give(b, &o, &r, b.newKey())
	}
	b.worker.running = append(b.worker.running, r)
	b.worker.end(b, &o, 0)
	want := slices.Clone(o.Retain)
	slices.Reverse(want)
	if !slices.Equal(o.Release, want) || b.references != 0 {
		t.Errorf("retained %v, released %v, %d references left", o.Retain, o.Release, b.references)
	}
}

func TestEvictHeavyEvicts(t *testing.T) {
	var heavy, balanced Stats
	for i := range 1000 {
		for profile, stats := range map[string]*Stats{"evict-heavy": &heavy, "balanced": &balanced} {
			s := drawn(4, i, Config{Profile: profile})
			_, steps := runNaive(&s)
			stats.Add(&s, steps)
			if profile == "evict-heavy" && s.Slots > 4 {
				t.Fatalf("case %d has %d slots: expected a small store", i, s.Slots)
			}
		}
	}
	if heavy.Victims <= balanced.Victims {
		t.Errorf("evict-heavy evicted %d keys, balanced %d", heavy.Victims, balanced.Victims)
	}
}
