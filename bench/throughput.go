package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/diffstore/diffstore/diff"
	"github.com/diffstore/diffstore/gen"
	"github.com/diffstore/diffstore/op"
	"github.com/diffstore/diffstore/oracle"
	"github.com/diffstore/diffstore/subject"
	"github.com/diffstore/diffstore/traces"
)

// The names of the arms of a throughput run.
const (
	ArmBare       = "bare store"
	ArmOne        = "diffstore, 1 process"
	ArmCores      = "diffstore, 1 a core"
	ArmJSON       = "diffstore, JSON wire"
	ArmInProcess  = "script in one process"
	ArmHypothesis = "Hypothesis"
	ArmBareMixed  = "bare store, default work"
	ArmCampaign   = "default campaign"
)

// Ratio is one arm's speed as a share of another's, taken within each round.
type Ratio struct {
	Of     string `json:"of"`
	To     string `json:"to"`
	Spread Spread `json:"ratio"`
	// Want is the least that is asked for.
	Want float64 `json:"want"`
}

// Met tells whether the median is at least what is asked for.
func (r *Ratio) Met() bool { return r.Spread.Median >= r.Want }

// wanted are the ratios that a run reports where it has both arms.
var wanted = []struct {
	of, to string
	want   float64
}{
	{ArmOne, ArmBare, 0.45},
	{ArmCores, ArmBare, 0},
	{ArmCores, ArmOne, 1.7},
	{ArmJSON, ArmOne, 0},
	{ArmOne, ArmInProcess, 1.7},
	{ArmCores, ArmInProcess, 3},
	{ArmCores, ArmHypothesis, 100},
	{ArmCampaign, ArmBareMixed, 0.4},
}

// Arm is what one way of comparing reached.
type Arm struct {
	Name string `json:"name"`
	// Says is what is run and what is timed.
	Says string `json:"says"`
	// Ops is how many ops a round has.
	Ops int `json:"ops,omitempty"`
	// PerSecond is ops a second; in all arms but the bare ones each was executed
	// on two sides and everything observable compared.
	PerSecond *Spread `json:"ops_per_second,omitempty"`
	// OwnCPU is how many microseconds of processor time diffstore itself took an
	// op; what its oracles took comes on top.
	OwnCPU *Spread `json:"own_cpu_us,omitempty"`
	// Skipped is why the arm did not run.
	Skipped string `json:"skipped,omitempty"`

	run     func() (sample, error)
	samples []sample
}

// sample is one round of one arm.
type sample struct {
	Ops     int     `json:"ops"`
	Seconds float64 `json:"seconds"`
	ownCPU  float64 // seconds; 0 where diffstore has no part in the arm
}

// Throughput says what to measure.
type Throughput struct {
	// Launch starts the Python store; it has to be one that a Python process of
	// ours can load. JSON is the same with the wire that people read.
	Launch, JSON oracle.Launch
	// Model is the variant of the Go store that the stores are compared with.
	Model string
	// Sequences of Ops ops are the work; Seed seeds all of it.
	Sequences, Ops int
	Seed           uint64
	// Cores is how many processes the arm "1 a core" runs.
	Cores int
	// Rounds is how often each arm runs.
	Rounds int
	// Progress, where given, is told what runs.
	Progress func(line string)
}

// Measured is what a throughput run found.
type Measured struct {
	Machine Machine     `json:"machine"`
	Store   op.Identity `json:"store"`
	Rounds  int         `json:"rounds"`
	Work    string      `json:"work"`
	Arms    []*Arm      `json:"arms"`
	Ratios  []Ratio     `json:"ratios"`
}

// hypothesisShare is one in how many sequences the state machine runs: it is
// some hundred times slower than the rest.
const hypothesisShare = 100

// Run measures. The work is generated once from the seed and handed to every arm;
// the scripts of others and the default campaign make theirs within their time.
func (t *Throughput) Run(ctx context.Context) (*Measured, error) {
	r := &throughputRun{Throughput: t, ctx: ctx}
	defer r.close()
	arms, err := r.arms()
	if err != nil {
		return nil, err
	}
	out := &Measured{Machine: thisMachine(), Rounds: t.Rounds, Arms: arms, Work: fmt.Sprintf("%d sequences of %d ops, stores of 1 to 10 slots", t.Sequences, t.Ops)}
	for round := range t.Rounds {
		for i := range arms {
			arm := arms[i]
			if round%2 == 1 { // there and back, so that no arm always has the same neighbour
				arm = arms[len(arms)-1-i]
			}
			if arm.Skipped != "" {
				continue
			}
			if t.Progress != nil {
				t.Progress(fmt.Sprintf("round %d of %d: %s", round+1, t.Rounds, arm.Name))
			}
			s, err := arm.run()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", arm.Name, err)
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			arm.samples = append(arm.samples, s)
		}
	}
	out.Store = r.store
	out.summarise()
	return out, nil
}

func (m *Measured) summarise() {
	byName := map[string]*Arm{}
	for _, arm := range m.Arms {
		if arm.Skipped != "" {
			continue
		}
		byName[arm.Name] = arm
		speed := spreadOf(arm.speeds())
		arm.Ops, arm.PerSecond = arm.samples[0].Ops, &speed
		if arm.samples[0].ownCPU > 0 {
			var own []float64
			for _, s := range arm.samples {
				own = append(own, s.ownCPU/float64(s.Ops)*1e6)
			}
			spread := spreadOf(own)
			arm.OwnCPU = &spread
		}
	}
	for _, w := range wanted {
		of, to := byName[w.of], byName[w.to]
		if of == nil || to == nil {
			continue
		}
		shares := of.speeds()
		for round, speed := range to.speeds() {
			shares[round] /= speed
		}
		m.Ratios = append(m.Ratios, Ratio{Of: w.of, To: w.to, Spread: spreadOf(shares), Want: w.want})
	}
}

// speeds are the ops a second of each round.
func (a *Arm) speeds() []float64 {
	speeds := make([]float64, len(a.samples))
	for i, s := range a.samples {
		speeds[i] = float64(s.Ops) / s.Seconds
	}
	return speeds
}

// throughputRun holds what a run has open.
type throughputRun struct {
	*Throughput
	ctx     context.Context
	peers   *peers
	work    []op.Sequence
	scripts []*script
	opens   []*keptOpen
	store   op.Identity
}

func (r *throughputRun) close() {
	for _, s := range r.scripts {
		s.stop()
	}
	for _, k := range r.opens {
		k.closeAll()
	}
	if r.peers != nil {
		r.peers.remove()
	}
}

// longer is how many times longer sequences are drawn than the work's are, so
// that also the shortest ones can be cut to length.
const longer = 8

// makeWork draws the work: balanced traffic, so batches of up to five objects,
// retains, releases of what is held, and gets of which some miss.
func (t *Throughput) makeWork() []op.Sequence {
	work := make([]op.Sequence, t.Sequences)
	for i := range work {
		gen.Case(t.Seed, i, gen.Config{Profile: "balanced", MaxOps: longer * t.Ops}, &work[i])
		work[i].Ops = work[i].Ops[:min(t.Ops, len(work[i].Ops))]
		work[i] = work[i].Clone()
	}
	return work
}

// give gives the index-th sequence of the work.
func (r *throughputRun) give(index int, dst *op.Sequence) { *dst = r.work[index] }

// makeDefault writes the index-th sequence of a default campaign.
func (t *Throughput) makeDefault(index int, dst *op.Sequence) {
	gen.Case(t.Seed, index, gen.Config{}, dst)
}

// file writes sequences into a trace file for the bare store.
func (r *throughputRun) file(name string, sequence func(index int, dst *op.Sequence)) (string, error) {
	path := r.peers.path(name)
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	writer := traces.NewWriter(file, path)
	var s op.Sequence
	for i := range r.Sequences {
		sequence(i, &s)
		if s.Slots < 1 || s.ObjectBytes < 1 {
			continue // a trace has no room for sizes that a constructor refuses
		}
		if err := writer.Begin(traces.Header{Slots: s.Slots, ObjectBytes: s.ObjectBytes}); err != nil {
			return "", err
		}
		for j := range s.Ops {
			if err := writer.Op(&s.Ops[j], nil); err != nil {
				return "", err
			}
		}
	}
	return path, nil
}

// arms gets every arm ready.
func (r *throughputRun) arms() (arms []*Arm, err error) {
	if r.peers, err = unpack(); err != nil {
		return nil, err
	}
	r.work = r.makeWork()
	work, err := r.file("work.jsonl", r.give)
	if err != nil {
		return nil, err
	}
	mixed, err := r.file("default.jsonl", r.makeDefault)
	if err != nil {
		return nil, err
	}
	add := func(name, says string, run func() (sample, error)) {
		arms = append(arms, &Arm{Name: name, Says: says, run: run})
	}
	peer := func(name, says, file string, what order) {
		if err != nil {
			return
		}
		what.Store, what.Seed, what.Ops = r.Launch.Config, r.Seed, r.Ops
		s, failure := r.peers.start(r.ctx, r.Launch, file, what)
		var skip *skipped
		switch {
		case errors.As(failure, &skip):
			arms = append(arms, &Arm{Name: name, Says: says, Skipped: skip.why})
		case failure != nil:
			err = failure
		default:
			r.scripts = append(r.scripts, s)
			add(name, says, s.sample)
		}
	}
	peer(ArmBare, "the calls alone, one Python process, nothing observed", "bare.py", order{Work: work})
	add(ArmOne, "run on model and store, compared after every op", r.campaign(r.keep(r.Launch), 1))
	add(ArmCores, fmt.Sprintf("the same with %d processes", r.Cores), r.campaign(r.opens[0], r.Cores))
	add(ArmJSON, "the same with 1 process and JSON messages", r.campaign(r.keep(r.JSON), 1))
	peer(ArmInProcess, "bench/peers/in_process.py: two stores in one Python process", "in_process.py", order{Sequences: r.Sequences})
	peer(ArmHypothesis, "bench/peers/state_machine.py: two stores, rule-based", "state_machine.py", order{Sequences: max(1, r.Sequences/hypothesisShare)})
	peer(ArmBareMixed, "the calls of the default campaign alone", "bare.py", order{Work: mixed})
	add(ArmCampaign, "diffstore fuzz as it is, its start included", r.defaultCampaign)
	return arms, err
}

// campaign compares the work on processes that are running already.
func (r *throughputRun) campaign(open *keptOpen, workers int) func() (sample, error) {
	return func() (sample, error) {
		c := r.campaignOf([]diff.Open{diff.Model(r.Model), open.open}, workers)
		c.Make = r.give
		return r.timed(c)
	}
}

// defaultCampaign is what the command does without any flags.
func (r *throughputRun) defaultCampaign() (sample, error) {
	return r.timed(r.campaignOf([]diff.Open{diff.Model(r.Model), subject.Oracle(r.Launch, oracle.Ask{FirstDeath: true})}, r.Cores))
}

func (r *throughputRun) campaignOf(subjects []diff.Open, workers int) *diff.Campaign {
	return &diff.Campaign{
		Seed: r.Seed, Sequences: r.Sequences, Workers: workers, Subjects: subjects,
		Judge: func() diff.Judge { return diff.Pair(diff.Options{}) },
	}
}

// timed runs a campaign in which the sides must agree: one that ends early would
// measure something else.
func (r *throughputRun) timed(c *diff.Campaign) (sample, error) {
	began, cpu := time.Now(), ownCPU()
	result, err := c.Run(r.ctx)
	took := time.Since(began)
	cpu = ownCPU() - cpu
	switch {
	case err != nil:
		return sample{}, err
	case len(result.Findings) > 0:
		return sample{}, fmt.Errorf("the store differs from model:%s in case %d, so there is nothing to measure", r.Model, result.Findings[0].Divergence.Case)
	}
	if r.store.Name == "" {
		r.store = result.Identities[1]
	}
	return sample{Ops: result.Ops, Seconds: took.Seconds(), ownCPU: cpu.Seconds()}, nil
}
