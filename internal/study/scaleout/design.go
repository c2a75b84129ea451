package scaleout

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/unit"
)

// Role is what a step is for.
type Role string

// The roles, in their order.
const (
	Capacity Role = model.OfCapacity // what all nodes share, by all of them
	Single   Role = "single"         // one node, before the prediction
	Fleet    Role = "fleet"          // a fleet of one of the sizes, in a block
)

// factors are what the study stores with a step.
type factors struct {
	Role  Role `json:"role"`
	Nodes int  `json:"nodes"`
	// Prediction is what is expected of fleets, in each step that may test it.
	Prediction *Prediction `json:"prediction,omitempty"`
}

// workloadKind is the kind of workload of which stages and bytes are known.
const workloadKind = "jobs"

const (
	mostSingles = 3 // times as many steps of one node as the file says
	mostTries   = 2 // at a capacity
)

// design plans the steps one after another. It decides from what was seen alone, so that
// a run that is resumed goes on as it would have.
type design struct {
	*Params
	study.Setup
	work       study.Workload
	capacities []study.Workload
	sizes      []int
	shuffled   []int // subjects of the application
	lasts      time.Duration

	pilot      pilot
	tries      map[string]int // at capacities, by workload
	known      map[string]bool
	singles    int // steps of one node that ended
	prediction *Prediction
	done       map[cell]bool
	lost       []model.NodeID
}

// cell is a size in a block.
type cell struct{ block, nodes int }

// Plan implements study.Designer.
func (p *Params) Plan(setup study.Setup) (*study.Plan, error) {
	d := &design{Params: p, Setup: setup, tries: make(map[string]int), known: make(map[string]bool),
		done: make(map[cell]bool)}
	if err := d.choose(); err != nil {
		return nil, err
	}
	if err := d.size(); err != nil {
		return nil, err
	}
	d.lasts = d.work.Bench.Estimate()
	d.shuffled = rand.New(rand.NewPCG(uint64(setup.Seed), 0x5ca1e)).Perm(d.work.Subjects) //nolint:gosec // repeatable
	plan := &study.Plan{Next: d.next, Left: d.left()}
	for _, c := range d.capacities {
		plan.First = append(plan.First, d.capacity(c))
	}
	plan.First = append(plan.First, d.single(), d.fleet(cell{1, d.sizes[len(d.sizes)-1]}))
	most := mostSingles * p.Singles
	plan.Outlook = []study.Outlook{{Phase: model.Parallel, Workload: d.work.Name, Trials: setup.Trials,
		Steps: len(d.sizes), Step: d.lasts, Note: fmt.Sprintf("before them, one node works alone for %s to %s, until a "+
			"prediction with a half-width of %.3g %% is possible", num.Span(time.Duration(p.Singles)*d.lasts),
			num.Span(time.Duration(most)*d.lasts), float64(p.HalfWidth))}}
	return plan, nil
}

// choose finds the application and the workloads that measure capacities.
func (d *design) choose() error {
	byName := func(name string) (study.Workload, bool) {
		i := slices.IndexFunc(d.Workloads, func(w study.Workload) bool { return w.Name == name })
		if i < 0 {
			return study.Workload{}, false
		}
		return d.Workloads[i], true
	}
	var rest []string
	for _, w := range d.Workloads {
		if !slices.Contains(d.Capacities, w.Name) {
			rest = append(rest, w.Name)
		}
	}
	for i, name := range d.Capacities {
		w, ok := byName(name)
		if !ok || name == d.Workload {
			return refuse(fmt.Sprintf("capacities.%d", i), fmt.Sprintf("%q is no other workload of this file", name),
				"names of workloads that measure what nodes share")
		}
		d.capacities = append(d.capacities, w)
	}
	if d.Workload == "" && len(rest) != 1 {
		return refuse("workload", fmt.Sprintf("%s may be the application", num.Count(len(rest), "workload")),
			"name it: "+strings.Join(rest, ", "))
	}
	work, ok := byName(cmp.Or(d.Workload, strings.Join(rest, "")))
	if !ok {
		return refuse("workload", fmt.Sprintf("there is no workload %q", d.Workload), strings.Join(rest, ", "))
	}
	d.work = work
	if _, timed := work.Params["duration"]; work.Kind == workloadKind && !timed {
		return refuse("workload", work.Name+" has no duration: a rate needs a queue that is never empty",
			"add duration to it, such as 30s")
	}
	return nil
}

// size settles the sizes: one node is always there.
func (d *design) size() error {
	all := d.work.Subjects
	for i, n := range d.Sizes {
		if n > all {
			return refuse("sizes."+strconv.Itoa(i), fmt.Sprintf("%d cannot work at once: there are only %d", n, all),
				fmt.Sprintf("at most %d", all))
		}
	}
	d.sizes = append([]int{1}, d.Sizes...)
	if len(d.Sizes) == 0 {
		for n := 2; n < all; n *= 2 {
			d.sizes = append(d.sizes, n)
		}
		d.sizes = append(d.sizes, all)
	}
	slices.Sort(d.sizes)
	d.sizes = slices.Compact(d.sizes)
	return nil
}

// next is study.Plan.Next: one step at a time.
func (d *design) next(seen study.Seen) (more study.More, err error) {
	d.lost = seen.Lost
	for _, s := range seen.Run.Steps() {
		if more.Latest, err = d.see(seen.Run, s); err != nil {
			return more, err
		}
	}
	if t, ok := d.then(); ok {
		more.Treatments = []study.Treatment{t}
	}
	more.Left = d.left()
	return more, nil
}

// see takes a step that ended into account.
func (d *design) see(run *observe.Run, s model.Step) (latest string, err error) {
	f, err := factorsOf(s)
	if err != nil {
		return "", err
	}
	valid := s.State == model.StepComplete
	switch f.Role {
	case Capacity:
		d.tries[s.Workload]++
		if found := capacitiesOf(run, s); valid && len(found) > 0 {
			d.known[s.Workload] = true
			d.pilot.capacities = append(d.pilot.capacities, found...)
			d.pilot.note(run, s)
			latest = found[0].Resource + ": " + bytesPerSecond(found[0].Capacity.Value)
		}
	case Single:
		d.singles++
		if x, ok := singleOf(run, s); valid && ok {
			d.pilot.singles = append(d.pilot.singles, x)
			d.pilot.note(run, s)
			latest = "one node: " + rateText(run, s, x.scored)
		}
	case Fleet:
		d.done[cell{s.Trial, f.Nodes}] = true
		d.prediction = f.Prediction
		if x, ok := scoreJobs(run, s, metricOf(run, s.Workload).Name); valid && ok {
			latest = num.Count(f.Nodes, "node") + ": " + rateText(run, s, x)
		}
	}
	return latest, nil
}

// rateText is what a step came to, for people.
func rateText(run *observe.Run, s model.Step, x scored) string {
	return num.Human(x.total, metricOf(run, s.Workload).Unit)
}

func factorsOf(s model.Step) (f factors, err error) {
	if err := json.Unmarshal(s.Factors, &f); err != nil {
		return f, fmt.Errorf("%w: the levels of step %d are none of the study %s: %w", model.ErrUsage, s.Number+1, name, err)
	}
	return f, nil
}

// then is the step that comes next; false: the study is over.
func (d *design) then() (study.Treatment, bool) {
	for _, c := range d.capacities {
		if !d.known[c.Name] && d.tries[c.Name] < mostTries {
			return d.capacity(c), true
		}
	}
	if d.prediction == nil {
		p := d.pilot.prediction(slotsOf(d.work), d.sizes)
		if d.needsSingle(p) && len(d.pool()) > 0 {
			return d.single(), true
		}
		d.prediction = p
	}
	if d.prediction == nil { // not even one node works
		return study.Treatment{}, false
	}
	for block := 1; block <= d.Trials; block++ {
		for _, n := range d.order(block) {
			if at := (cell{block, n}); !d.done[at] && n <= len(d.pool()) {
				return d.fleet(at), true
			}
		}
	}
	return study.Treatment{}, false
}

// slotsOf is how many jobs a node works on at once; 0: the file does not say.
func slotsOf(w study.Workload) int {
	n, _ := w.Params["slots"].(float64)
	return int(n)
}

// needsSingle reports whether one node is measured again: as often as was asked for, and
// then for as long as that makes a band narrower that is too wide.
func (d *design) needsSingle(p *Prediction) bool {
	have := len(d.pilot.singles)
	switch {
	case d.singles >= mostSingles*d.Singles:
		return false
	case have < d.Singles:
		return true
	}
	if p.widest().HalfWidth <= float64(d.HalfWidth)/100 {
		return false
	}
	r := p.Rate.ends()
	return (r.Hi-r.Lo)/(r.Hi+r.Lo) > worthKnowing
}

// worthKnowing is the half-width of the rate of one node, as a share, with which the band
// does not become narrower any more: what is left comes from the network.
const worthKnowing = .02

// pool are the subjects of the application that are not lost.
func (d *design) pool() (out []int) {
	for _, i := range d.shuffled {
		if !slices.Contains(d.lost, d.work.Names[i]) {
			out = append(out, i)
		}
	}
	return out
}

// order is that of the sizes in a block.
func (d *design) order(block int) []int {
	out := slices.Clone(d.sizes)
	rng := rand.New(rand.NewPCG(uint64(d.Seed), 0x5ca1e+uint64(block))) //nolint:gosec // repeatable on purpose
	rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func (d *design) capacity(c study.Workload) study.Treatment {
	return study.Treatment{Phase: model.Parallel, Workload: c.Name, Trial: 1, Label: "capacity, " + c.Name,
		Factors: factors{Role: Capacity, Nodes: c.Subjects}, Without: d.lost}
}

// single is one node alone, another one each time.
func (d *design) single() study.Treatment {
	pool := d.pool()
	return study.Treatment{Phase: model.Serial, Workload: d.work.Name, Trial: 1, Label: "one node",
		Factors: factors{Role: Single, Nodes: 1}, Active: pool[d.singles%len(pool):][:1]}
}

// fleet is a fleet of a size, of nodes that take turns from block to block.
func (d *design) fleet(at cell) study.Treatment {
	pool := d.pool()
	shift := (at.block - 1) * at.nodes % len(pool)
	active := slices.Concat(pool[shift:], pool[:shift])[:at.nodes]
	phase := model.Parallel
	if at.nodes == 1 {
		phase = model.Serial
	}
	return study.Treatment{Phase: phase, Workload: d.work.Name, Trial: at.block, Block: at.block,
		Label: num.Count(at.nodes, "node"), Active: slices.Sorted(slices.Values(active)), Levels: d.ramp(at.nodes),
		Factors: factors{Role: Fleet, Nodes: at.nodes, Prediction: d.prediction}}
}

// ramp has slots begin at random moments of one job's time, as predicted. If all begin at once,
// they ask for the same resources in step for several jobs, and do less than in the long run.
func (d *design) ramp(nodes int) map[string]any {
	_, given := d.work.Params["ramp"]
	if d.prediction == nil || d.work.Kind != workloadKind || given {
		return nil
	}
	slots, rate := d.prediction.Slots*nodes, d.prediction.fleet(nothing).Band(nodes).Lower
	if slots == 1 || !(rate > 0) {
		return nil
	}
	job := time.Duration(float64(slots) / rate * float64(time.Second))
	longest := time.Duration(mostSkipped * float64(d.work.Bench.Estimate()))
	return map[string]any{"ramp": unit.Duration(min(job, longest).Truncate(time.Millisecond)).String()}
}

// left bounds what follows.
func (d *design) left() *study.Left {
	out := &study.Left{}
	for _, c := range d.capacities {
		if !d.known[c.Name] {
			n := mostTries - d.tries[c.Name]
			out.Steps, out.Time = out.Steps+n, out.Time+time.Duration(n)*c.Bench.Estimate()
		}
	}
	n := d.Trials*len(d.sizes) - len(d.done)
	if d.prediction == nil {
		n += mostSingles*d.Singles - d.singles
	}
	out.Steps, out.Time = out.Steps+n, out.Time+time.Duration(n)*d.lasts
	return out
}
