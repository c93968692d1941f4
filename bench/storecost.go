package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/oracle"
)

// CopyAlone is the arm that copies payloads and keeps no store.
const CopyAlone = "copy alone"

// StoreCost says what puts to measure on what stores.
type StoreCost struct {
	// Slots are the sizes of the stores, Payloads those of an object in bytes and
	// Batches those of a put in keys; Referenced is the share of the slots whose
	// keys have references, from 0 to below 1.
	Slots, Payloads, Batches []int
	Referenced               float64
	// Variants are the Go stores, Launches the Python ones.
	Variants []string
	Launches []oracle.Launch
	// Budget is how long one store is put to, for one batch size, in one round.
	Budget time.Duration
	Rounds int
	// Progress, where given, is told what runs.
	Progress func(line string)
}

// Ladder is the cost of a put as the store grows.
func Ladder() StoreCost {
	return StoreCost{
		Slots: []int{1_000, 10_000, 100_000, 1_000_000}, Payloads: []int{16}, Batches: []int{1, 8, 64},
		Referenced: 0.7, Variants: model.Variants(), Budget: 200 * time.Millisecond,
	}
}

// Presets are the settings that have a name.
var Presets = map[string]func() StoreCost{
	"ladder": Ladder,
	// What the store's own pull requests were measured at: 450,000 slots, 320,000
	// of them with live keys, four new objects a put. 5,888 bytes are 16 tokens of
	// 46 layers with 8 experts each.
	"seeds": func() StoreCost {
		return StoreCost{
			Slots: []int{450_000}, Payloads: []int{16, 5888}, Batches: []int{4},
			Referenced: 320_000. / 450_000., Variants: model.Variants(), Budget: time.Second,
		}
	},
}

// Point is what a put costs in one store of one size.
type Point struct {
	Arm string `json:"arm"`
	// Python is the interpreter's version for Python stores.
	Python string `json:"python,omitempty"`
	sizes
	Batch int `json:"batch"`
	// PutNs and KeyNs are nanoseconds a put and a key, on the average of a round.
	PutNs Spread `json:"put_ns"`
	KeyNs Spread `json:"key_ns"`
	// MedianNs is the median put of a round, WorstNs the worst one: what they
	// differ by are pauses.
	MedianNs Spread `json:"median_put_ns"`
	WorstNs  Spread `json:"worst_put_ns"`
	// Puts is how many were measured in all rounds.
	Puts int `json:"puts"`
	// Allocations and Bytes are a put's, for Go stores.
	Allocations *float64 `json:"allocations,omitempty"`
	Bytes       *float64 `json:"bytes,omitempty"`
	// KeyBytes is the memory a stored key takes beside its text and its payload,
	// for Go stores of 100,000 slots or more.
	KeyBytes *float64 `json:"key_bytes,omitempty"`

	rounds []cost
	ofGo   bool
}

// manySlots is the number of slots from which the memory of a key can be told:
// what small stores hold is the caller's.
const manySlots = 100_000

// Growth is how the cost of a put grows with the slots: put_ns ~ slots^exponent.
type Growth struct {
	Arm      string  `json:"arm"`
	Payload  int     `json:"payload"`
	Batch    int     `json:"batch"`
	Exponent float64 `json:"exponent"`
}

// Costs is what a run found.
type Costs struct {
	Machine Machine  `json:"machine"`
	Rounds  int      `json:"rounds"`
	Arms    []string `json:"arms"`
	Points  []*Point `json:"points"`
	Growth  []Growth `json:"growth,omitempty"`
	// Ratios are how many times dearer a put is in one arm than in another, in the
	// largest stores.
	Ratios []CostRatio `json:"ratios,omitempty"`
}

// CostRatio sets two arms side by side at one size.
type CostRatio struct {
	Of string `json:"of"`
	To string `json:"to"`
	sizes
	Batch int    `json:"batch"`
	Times Spread `json:"times"`
}

// storeArm fills one store and puts to it, for each batch size.
type storeArm struct {
	name, python string
	run          func(s sizes, keys []string) (costs []cost, keyBytes float64, err error)
}

// Run measures. Each round fills every store anew, in turns.
func (c *StoreCost) Run(ctx context.Context) (*Costs, error) {
	r := &costRun{StoreCost: c, ctx: ctx}
	defer r.close()
	arms, err := r.arms()
	if err != nil {
		return nil, err
	}
	out := &Costs{Machine: thisMachine(), Rounds: c.Rounds}
	for _, arm := range arms {
		out.Arms = append(out.Arms, arm.name)
	}
	for _, payload := range c.Payloads {
		for _, slots := range c.Slots {
			s := sizes{Slots: slots, Held: int(float64(slots)*c.Referenced + 0.5), Payload: payload}
			if err := s.check(); err != nil {
				return nil, err
			}
			points, err := r.size(arms, s)
			if err != nil {
				return nil, err
			}
			out.Points = append(out.Points, points...)
		}
	}
	out.fit()
	return out, nil
}

// size measures all arms at one size of the store.
func (r *costRun) size(arms []storeArm, s sizes) ([]*Point, error) {
	keys := ringKeys(s.Slots)
	var points []*Point
	for _, arm := range arms {
		for _, batch := range r.Batches {
			points = append(points, &Point{Arm: arm.name, Python: arm.python, sizes: s, Batch: batch})
		}
	}
	for round := range r.Rounds {
		for a := range arms {
			if round%2 == 1 { // there and back
				a = len(arms) - 1 - a
			}
			if r.Progress != nil {
				r.Progress(fmt.Sprintf("%d slots of %d bytes, round %d of %d: %s", s.Slots, s.Payload, round+1, r.Rounds, arms[a].name))
			}
			costs, keyBytes, err := arms[a].run(s, keys)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", arms[a].name, err)
			}
			if err := r.ctx.Err(); err != nil {
				return nil, err
			}
			for b := range r.Batches {
				p := points[a*len(r.Batches)+b]
				p.rounds = append(p.rounds, costs[b])
				p.ofGo = p.Python == "" && p.Arm != CopyAlone
				if p.ofGo && s.Slots >= manySlots {
					p.KeyBytes = &keyBytes
				}
			}
		}
	}
	for _, p := range points {
		p.summarise()
	}
	return points, nil
}

func (p *Point) summarise() {
	var put, key, median, worst []float64
	var allocations, bytes float64
	for _, c := range p.rounds {
		mean := c.Seconds / float64(c.Puts) * 1e9
		put, key = append(put, mean), append(key, mean/float64(p.Batch))
		median, worst = append(median, c.Median*1e9), append(worst, c.Worst*1e9)
		p.Puts += c.Puts
		allocations, bytes = max(allocations, c.allocations), max(bytes, c.bytes)
	}
	p.PutNs, p.KeyNs, p.MedianNs, p.WorstNs = spreadOf(put), spreadOf(key), spreadOf(median), spreadOf(worst)
	if p.ofGo {
		p.Allocations, p.Bytes = &allocations, &bytes
	}
}

// costRun holds what a run has open.
type costRun struct {
	*StoreCost
	ctx     context.Context
	peers   *peers
	scripts []*script
	took    []time.Duration
}

func (r *costRun) close() {
	for _, s := range r.scripts {
		s.stop()
	}
	if r.peers != nil {
		r.peers.remove()
	}
}

// mostPuts is how many puts of one store are kept apart.
const mostPuts = 1 << 21

func (r *costRun) arms() (arms []storeArm, err error) {
	r.took = make([]time.Duration, 0, mostPuts)
	for _, variant := range r.Variants {
		arms = append(arms, storeArm{name: "model:" + variant, run: func(s sizes, keys []string) ([]cost, float64, error) {
			return r.goStore(variant, s, keys)
		}})
	}
	arms = append(arms, storeArm{name: CopyAlone, run: r.copyAlone})
	if len(r.Launches) == 0 {
		return arms, nil
	}
	if r.peers, err = unpack(); err != nil {
		return nil, err
	}
	for _, launch := range r.Launches {
		s, err := r.peers.start(r.ctx, launch, "put_cost.py", order{Store: launch.Config})
		var skip *skipped
		if errors.As(err, &skip) {
			err = errors.New(skip.why)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", launch.Spec, err)
		}
		r.scripts = append(r.scripts, s)
		arms = append(arms, storeArm{name: launch.Spec, python: s.Python, run: func(what sizes, _ []string) ([]cost, float64, error) {
			question := struct {
				sizes
				Batches []int   `json:"batches"`
				Seconds float64 `json:"seconds"`
			}{what, r.Batches, r.Budget.Seconds()}
			var costs []cost
			err := s.ask(question, &costs)
			return costs, 0, err
		}})
	}
	return arms, nil
}

func (r *costRun) traffic(s sizes, keys []string) *traffic {
	return &traffic{slots: s.Slots, held: s.Held, payload: make([]byte, s.Payload), keys: keys}
}

// goStore fills a Go store and puts to it.
func (r *costRun) goStore(variant string, s sizes, keys []string) (costs []cost, keyBytes float64, err error) {
	before := heapBytes()
	store, err := model.New(variant, s.Slots, s.Payload)
	if err != nil {
		return nil, 0, err
	}
	defer store.Release()
	g := &goStore{traffic: r.traffic(s, keys), store: store}
	if err := g.fill(g.put); err != nil {
		return nil, 0, err
	}
	// The store has copied the text of its keys; the arena is mapped, not heap.
	keyBytes = float64(heapBytes()-before)/float64(s.Slots) - float64(len(keys[0]))
	costs, err = r.batches(g.traffic, g.put)
	return costs, keyBytes, err
}

// copyAlone copies what the stores copy.
func (r *costRun) copyAlone(s sizes, keys []string) ([]cost, float64, error) {
	arena, err := syscall.Mmap(-1, 0, s.Slots*s.Payload, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = syscall.Munmap(arena) }()
	c := &copier{traffic: r.traffic(s, keys), arena: arena}
	if err := c.fill(c.put); err != nil {
		return nil, 0, err
	}
	costs, err := r.batches(c.traffic, c.put)
	return costs, 0, err
}

// batches measures puts of each batch size on a full store.
func (r *costRun) batches(t *traffic, put func() error) (costs []cost, err error) {
	for _, batch := range r.Batches {
		// Once round the store, but no longer than is measured, so that all memory
		// has its size.
		for end, left := time.Now().Add(r.Budget), t.slots; left > 0 && time.Now().Before(end); left -= batch {
			t.next(batch)
			if err := put(); err != nil {
				return nil, err
			}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, took, err := t.measure(batch, r.Budget, r.took, put)
		runtime.ReadMemStats(&after)
		r.took = took
		if err != nil {
			return nil, err
		}
		c.allocations = float64(after.Mallocs-before.Mallocs) / float64(c.Puts)
		c.bytes = float64(after.TotalAlloc-before.TotalAlloc) / float64(c.Puts)
		costs = append(costs, c)
	}
	return costs, nil
}

func heapBytes() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// fit works out how costs grow and how the arms compare.
func (c *Costs) fit() {
	type line struct {
		arm            string
		payload, batch int
	}
	xs, ys := map[line][]float64{}, map[line][]float64{}
	var order []line
	for _, p := range c.Points {
		l := line{p.Arm, p.Payload, p.Batch}
		if xs[l] == nil {
			order = append(order, l)
		}
		xs[l], ys[l] = append(xs[l], float64(p.Slots)), append(ys[l], p.PutNs.Median)
	}
	for _, l := range order {
		if len(xs[l]) > 1 {
			c.Growth = append(c.Growth, Growth{Arm: l.arm, Payload: l.payload, Batch: l.batch, Exponent: exponent(xs[l], ys[l])})
		}
	}
	largest := 0
	for _, p := range c.Points {
		largest = max(largest, p.Slots)
	}
	for _, p := range c.Points {
		for _, q := range c.Points {
			if p.Slots < largest || !strings.HasPrefix(q.Arm, "model:") || strings.HasPrefix(p.Arm, "model:") || p.sizes != q.sizes || p.Batch != q.Batch {
				continue
			}
			of, to := p, q
			if p.Arm == CopyAlone {
				of, to = q, p
			}
			var times []float64
			for i := range of.rounds {
				times = append(times, of.rounds[i].Seconds/float64(of.rounds[i].Puts)/(to.rounds[i].Seconds/float64(to.rounds[i].Puts)))
			}
			c.Ratios = append(c.Ratios, CostRatio{Of: of.Arm, To: to.Arm, sizes: p.sizes, Batch: p.Batch, Times: spreadOf(times)})
		}
	}
}
