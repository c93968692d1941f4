package bench

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sebdah/goldie/v2"

	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/oracle"
)

// resolve gives the launch of a spec, or skips where there is no Python.
func resolve(t testing.TB, spec string) oracle.Launch {
	t.Helper()
	launch, err := oracle.Resolve(spec, oracle.Options{})
	var fault *oracle.Fault
	if errors.As(err, &fault) && fault.Kind == "python" {
		t.Skip("no Python: ", fault.What)
	}
	if err != nil {
		t.Fatal(err)
	}
	return launch
}

func TestExponent(t *testing.T) {
	x := []float64{1e3, 1e4, 1e5, 1e6}
	for _, want := range []float64{0, 0.15, 1, 2} {
		var y []float64
		for _, v := range x {
			y = append(y, 7*math.Pow(v, want))
		}
		if got := exponent(x, y); math.Abs(got-want) > 1e-9 {
			t.Errorf("fitted %v, want %v", got, want)
		}
	}
}

func TestSpread(t *testing.T) {
	if got := spreadOf([]float64{3, 1, 2}); got != (Spread{2, 1, 3}) {
		t.Error(got)
	}
	if got := spreadOf([]float64{4, 1, 2, 3}); got != (Spread{2.5, 1, 4}) {
		t.Error(got)
	}
}

// TestTables holds the text and the Markdown of figures that were made up.
func TestTables(t *testing.T) {
	machine := Machine{CPU: "A CPU", Cores: 2, OS: "linux/amd64", Go: "1.26", Load: "0.10"}
	m := &Measured{
		Machine: machine, Store: op.Identity{Name: "embedded", Class: "BlockObjectStore", Python: "3.12.1"}, Rounds: 3, Work: "some work",
		Arms: []*Arm{
			{Name: ArmBare, Says: "bare", samples: []sample{{1000, 0.1, 0}, {1000, 0.2, 0}, {1000, 0.1, 0}}},
			{Name: ArmOne, Says: "one", samples: []sample{{1000, 0.2, 0.001}, {1000, 0.5, 0.002}, {1000, 0.2, 0.001}}},
			{Name: ArmHypothesis, Says: "peer", Skipped: "hypothesis is not installed"},
		},
	}
	m.summarise()
	c := &Costs{Machine: machine, Rounds: 2, Arms: []string{"model:main", CopyAlone, "embedded"}}
	for _, slots := range []int{1000, 10000} {
		for i, arm := range c.Arms {
			p := &Point{Arm: arm, sizes: sizes{slots, slots / 2, 16}, Batch: 8, ofGo: i == 0}
			if i == 2 {
				p.Python = "3.12.1"
			}
			seconds := float64(slots) * []float64{1e-9, 1e-10, 1e-6}[i]
			for range 2 {
				p.rounds = append(p.rounds, cost{Puts: 100, Seconds: 100 * seconds, Median: seconds, Worst: 3 * seconds})
			}
			p.summarise()
			c.Points = append(c.Points, p)
		}
	}
	c.fit()
	for name, write := range map[string]func(b *bytes.Buffer, markdown bool){
		"throughput": func(b *bytes.Buffer, markdown bool) { m.Write(b, markdown) },
		"store":      func(b *bytes.Buffer, markdown bool) { c.Write(b, markdown) },
	} {
		var b bytes.Buffer
		write(&b, false)
		b.WriteString("\n")
		write(&b, true)
		goldie.New(t, goldie.WithFixtureDir("testdata/golden")).Assert(t, name, b.Bytes())
	}
}

// TestThroughputRuns runs every arm on a little work; what it measures says
// nothing.
func TestThroughputRuns(t *testing.T) {
	run := &Throughput{Launch: resolve(t, "embedded"), JSON: resolve(t, "embedded"), Model: "main", Sequences: 20, Ops: 10, Seed: 1, Cores: 2, Rounds: 2}
	run.JSON.Config.Wire = oracle.WireJSON
	m, err := run.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ops := map[string]int{}
	for _, arm := range m.Arms {
		ops[arm.Name] = arm.Ops
		if arm.Skipped == "" && (arm.Ops == 0 || arm.PerSecond.Median <= 0) {
			t.Errorf("%s: %d ops", arm.Name, arm.Ops)
		}
		if arm.Skipped != "" && arm.Name != ArmHypothesis {
			t.Errorf("%s was skipped: %s", arm.Name, arm.Skipped)
		}
	}
	for _, name := range []string{ArmOne, ArmCores, ArmJSON} {
		if ops[name] != ops[ArmBare] {
			t.Errorf("%s ran %d ops, the bare store %d", name, ops[name], ops[ArmBare])
		}
	}
	if m.Store.Class == "" || len(m.Ratios) < len(wanted)-1 {
		t.Errorf("store %+v, %d ratios", m.Store, len(m.Ratios))
	}
}

// TestADivergingStoreIsNotMeasured: a campaign that ends early measures less.
func TestADivergingStoreIsNotMeasured(t *testing.T) {
	run := &Throughput{Launch: resolve(t, "embedded:release-0.33"), Model: "main", Sequences: 100, Ops: 30, Seed: 1, Cores: 1, Rounds: 1}
	run.JSON = run.Launch
	if _, err := run.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "differs from model:main") {
		t.Errorf("error %v", err)
	}
}

func TestAScriptThatCannotRunIsSkipped(t *testing.T) {
	launch := resolve(t, "embedded")
	p, err := unpack()
	if err != nil {
		t.Fatal(err)
	}
	defer p.remove()
	text := "import arm\narm.serve(lambda order: arm.need('no_such_package'))\n"
	if err := os.WriteFile(p.path("needy.py"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = p.start(context.Background(), launch, "needy.py", order{})
	var skip *skipped
	if !errors.As(err, &skip) || !strings.Contains(skip.why, "no_such_package is not installed") {
		t.Errorf("error %v", err)
	}
	if _, err = p.start(context.Background(), launch, "missing.py", order{}); err == nil || !strings.Contains(err.Error(), "missing.py") {
		t.Errorf("error %v", err)
	}
}

// recorder is a store that writes down what it is asked for.
const recorder = `
import hashlib
class BlockObjectStore:
    def __init__(self, *, max_bytes, object_nbytes):
        self.log = hashlib.sha256()
    def put(self, objects, *, retain_keys=(), release_keys=()):
        self.log.update(repr(([o.key for o in objects], list(retain_keys), list(release_keys))).encode())
    def get_concatenated(self, keys):
        return b""
    def close(self):
        open(%q, "w").write(self.log.hexdigest())
`

// TestPythonStoresGetTheSameTraffic compares the calls of put_cost.py with those
// of the Go side, ring wrapped.
func TestPythonStoresGetTheSameTraffic(t *testing.T) {
	resolve(t, "embedded")
	dir := t.TempDir()
	file, log := filepath.Join(dir, "recorder.py"), filepath.Join(dir, "log")
	if err := os.WriteFile(file, fmt.Appendf(nil, recorder, log), 0o600); err != nil {
		t.Fatal(err)
	}
	cost := StoreCost{Slots: []int{30}, Payloads: []int{4}, Batches: []int{3, 7}, Referenced: 0.7, Launches: []oracle.Launch{resolve(t, file)}, Rounds: 1}
	if _, err := cost.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	r := &costRun{StoreCost: &cost, took: make([]time.Duration, 0, leastPuts)}
	traffic := r.traffic(sizes{30, 21, 4}, ringKeys(30))
	put := func() error {
		names := func(keys []string) string {
			quoted := make([]string, len(keys))
			for i, key := range keys {
				quoted[i] = "'" + key + "'"
			}
			return "[" + strings.Join(quoted, ", ") + "]"
		}
		var keys []string
		for _, object := range traffic.objects {
			keys = append(keys, object.Key)
		}
		fmt.Fprintf(hash, "(%s, %s, %s)", names(keys), names(traffic.retain), names(traffic.release))
		return nil
	}
	if err := traffic.fill(put); err != nil {
		t.Fatal(err)
	}
	if _, err := r.batches(traffic, put); err != nil {
		t.Fatal(err)
	}
	if want := hex.EncodeToString(hash.Sum(nil)); string(got) != want {
		t.Error("the scripts put something else")
	}
}

// TestStoreCostRuns measures tiny stores and plots what it finds.
func TestStoreCostRuns(t *testing.T) {
	cost := Ladder()
	cost.Slots, cost.Batches, cost.Rounds, cost.Budget = []int{100, 200}, []int{1, 4}, 2, time.Millisecond
	cost.Launches = []oracle.Launch{resolve(t, "embedded")}
	c, err := cost.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 * 2 * len(c.Arms); len(c.Points) != want || len(c.Growth) != want/2 {
		t.Errorf("%d points and %d fits, want %d and %d", len(c.Points), len(c.Growth), want, want/2)
	}
	for _, p := range c.Points {
		if p.PutNs.Median <= 0 || p.WorstNs.Max < p.MedianNs.Median || p.Puts < 2*leastPuts {
			t.Errorf("%+v", p)
		}
	}
	if _, err := json.Marshal(c); err != nil {
		t.Error(err)
	}
	for name, begins := range map[string]string{"p.svg": "<?xml", "p.png": "\x89PNG"} {
		file := filepath.Join(t.TempDir(), name)
		if err := c.Plot(file, 4); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(data), begins) {
			t.Errorf("%s: %v, begins with %.8q", name, err, data)
		}
	}
	if CheckPlot("p.gif") == nil {
		t.Error("a .gif is plotted")
	}
	if err := c.Plot(filepath.Join(t.TempDir(), "p.svg"), 3); err == nil {
		t.Error("a plot of nothing")
	}
}

// TestTheCopyWritesTheSlotsOfTheStore: the physical limit must touch the same
// memory as the store that it is set beside.
func TestTheCopyWritesTheSlotsOfTheStore(t *testing.T) {
	r := &costRun{StoreCost: &StoreCost{}}
	s := sizes{40, 28, 4}
	keys := ringKeys(s.Slots)
	slots := storeSlots(t, s, keys)
	c := &copier{traffic: r.traffic(s, keys), arena: make([]byte, s.Slots*s.Payload)}
	if err := c.fill(c.put); err != nil {
		t.Fatal(err)
	}
	for step, want := range slots {
		clear(c.arena)
		c.next(4)
		for i := range c.payload {
			c.payload[i] = 1
		}
		if err := c.put(); err != nil {
			t.Fatal(err)
		}
		for slot := range s.Slots {
			if written := c.arena[slot*s.Payload] == 1; written != want[slot] {
				t.Fatalf("put %d: slot %d written %t, by the store %t", step, slot, written, want[slot])
			}
		}
	}
}

// BenchmarkCampaign compares the work of the throughput bench; ns/storeop is the
// time of an op of a store, executed on both sides and compared.
func BenchmarkCampaign(b *testing.B) {
	t := &Throughput{Launch: resolve(b, "embedded"), Model: "main", Sequences: 1000, Ops: 30, Seed: 1}
	r := &throughputRun{Throughput: t, ctx: context.Background()}
	r.work = r.makeWork()
	defer r.close()
	for _, processes := range []int{1, 2} {
		b.Run(fmt.Sprintf("processes=%d", processes), func(b *testing.B) {
			run, ops := r.campaign(r.keep(t.Launch), processes), 0
			b.ReportAllocs()
			for b.Loop() {
				s, err := run()
				if err != nil {
					b.Fatal(err)
				}
				ops += s.Ops
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(ops), "ns/storeop")
			b.ReportMetric(0, "ns/op")
		})
	}
}
