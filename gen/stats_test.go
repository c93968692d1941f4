package gen

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/diffstore/diffstore/op"
)

// parse builds a sequence from the text form, one op a line.
func parse(t *testing.T, slots, room int, lines ...string) op.Sequence {
	t.Helper()
	s := op.Sequence{Slots: slots, ObjectBytes: room}
	for _, line := range lines {
		o, err := op.ParseOp(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		s.Ops = append(s.Ops, o)
	}
	return s
}

// counted is the statistics of one sequence on the naive store.
func counted(s op.Sequence) *Stats {
	_, steps := runNaive(&s)
	var stats Stats
	stats.Add(&s, steps)
	return &stats
}

func TestStatsCountWhatHappened(t *testing.T) {
	for _, test := range []struct {
		name  string
		slots int
		lines []string
		count func(s *Stats) int
		want  int
	}{
		{"victims", 1, []string{"put a=61", "put b=62", "put c=63"}, func(s *Stats) int { return s.Victims }, 2},
		{"evicted keys put again", 1, []string{"put a=61", "put b=62", "put a=61", "put a=61"}, func(s *Stats) int { return s.ReputsEvicted }, 1},
		{"own victims", 1, []string{"put a=61 retain a", "put b=62 release a", "put c=63 retain c release c"},
			func(s *Stats) int { return s.OwnVictims }, 0},
		{"own victim of a terminal key", 1, []string{"put a=61 b=62 retain a release a"}, func(s *Stats) int { return s.OwnVictims }, 1},
		{"retain and release", 2, []string{"put retain a b release b", "put retain a release b", "put retain c release a"},
			func(s *Stats) int { return s.RetainReleases }, 1},
		{"released batch", 2, []string{"put a=61 retain a release a", "put b=62 retain c release c"}, func(s *Stats) int { return s.ReleasedBatch }, 1},
		{"deepest", 2, []string{"put retain a a a b", "put release a a retain b"}, func(s *Stats) int { return s.DeepestRef }, 3},
		{"hits", 2, []string{"put a=61", "get a a", "get a b"}, func(s *Stats) int { return s.Hits }, 3},
		{"misses", 2, []string{"put a=61", "get a a", "get b a b"}, func(s *Stats) int { return s.Misses }, 2},
		{"zombies", 3, []string{"put a=61 b= c=63"}, func(s *Stats) int { return s.Zombies }, 2},
		{"duplicates", 3, []string{"put a=61 a=61 retain a a release a a", "get a a", "get a"}, func(s *Stats) int { return s.Duplicates }, 4},
		{"all referenced", 2, []string{"put a=61 b=62 retain a", "put retain b", "get a b"}, func(s *Stats) int { return s.AllReferenced }, 2},
		{"full", 2, []string{"put a=61", "put b=62", "get a b"}, func(s *Stats) int { return s.Full }, 2},
		{"most stored", 9, []string{"put a=61 b=62", "put b=62"}, func(s *Stats) int { return s.MostStored }, 2},
		{"after close", 2, []string{"close", "close", "get", "put"}, func(s *Stats) int { return s.AfterClose }, 2},
		{"failed", 2, []string{"get a", "get a"}, func(s *Stats) int { return s.Failed }, 1},
		{"not failed", 2, []string{"get", "put a=61"}, func(s *Stats) int { return s.Failed }, 0},
		{"refused", 0, nil, func(s *Stats) int { return s.Refused + s.Failed }, 2},
		{"key errors", 2, []string{"put release a"}, outcomes(op.Put, op.KeyError), 1},
		{"capacity errors", 1, []string{"put a=61 b=62"}, outcomes(op.Put, op.CapacityError), 1},
		{"closes", 1, []string{"close", "close"}, func(s *Stats) int { return s.Ops[op.Close] }, 2},
	} {
		if got := test.count(counted(parse(t, test.slots, 1, test.lines...))); got != test.want {
			t.Errorf("%s: %d, expected %d", test.name, got, test.want)
		}
	}
}

// TestMergeLosesNothing also fails when a new count is forgotten in Merge,
// because the sums are compared as a whole.
func TestMergeLosesNothing(t *testing.T) {
	var whole Stats
	parts := make([]Stats, 3)
	for i := range 600 {
		s := drawn(6, i, Config{})
		_, steps := runNaive(&s)
		whole.Add(&s, steps)
		parts[i%3].Add(&s, steps)
	}
	var merged Stats
	for _, i := range []int{2, 0, 1} {
		merged.Merge(&parts[i])
	}
	want, _ := json.Marshal(whole)
	got, _ := json.Marshal(merged)
	if string(got) != string(want) {
		t.Errorf("merged %s\nwhole  %s", got, want)
	}
	if strings.Contains(string(want), ":0,\"") {
		t.Errorf("the campaign leaves counts at zero, so this test says nothing of them: %s", want)
	}
}

func TestFloors(t *testing.T) {
	var none, few, idle Stats
	if short := none.Floors(Config{}, false); len(short) != 1 || short[0].String() != "ops: 0, expected at least 1" {
		t.Errorf("nothing has run: %v", short)
	}
	few.Sequences, few.Ops[op.Get] = fewSequences-1, 1
	if short := few.Floors(Config{}, false); len(short) != 0 {
		t.Errorf("a small campaign falls short: %v", short)
	}
	// A campaign of many sequences that do nothing exercises nothing.
	idle.Sequences, idle.Ops[op.Get] = 5000, 5000
	for _, info := range Profiles() {
		if short := idle.Floors(Config{Profile: info.Name}, false); len(short) < 10 {
			t.Errorf("%s: an idle campaign falls short only by %v", info.Name, short)
		}
	}
	if short := idle.Floors(Config{Slots: 100_000}, false); len(short) != 0 {
		t.Errorf("floors of small stores are asked of a large one: %v", short)
	}
	for i := range floors {
		for profile := range floors[i].perThousand {
			if _, err := profileNamed(profile); err != nil {
				t.Errorf("%s: %v", floors[i].what, err)
			}
		}
	}
}

// BenchmarkStats measures counting alone; ns/counted is per op.
func BenchmarkStats(b *testing.B) {
	var sequences []op.Sequence
	var steps [][]op.Observation
	for i := range Sizes {
		s := drawn(1, i, Config{})
		_, seen := runNaive(&s)
		sequences, steps = append(sequences, s), append(steps, seen)
	}
	b.ReportAllocs()
	var stats Stats
	for i := 0; b.Loop(); i++ {
		stats.Add(&sequences[i%Sizes], steps[i%Sizes])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(stats.Total()), "ns/counted")
	b.ReportMetric(0, "ns/op")
}
