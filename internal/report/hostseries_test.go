package report

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/figure"
)

// What a counter grew is what its rates add up to, however readings and bins
// fall.
func TestGridRatesConserveTheCounter(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		r := readings{times: []float64{-rng.Float64()}, values: []float64{0}}
		for len(r.times) < 3+rng.IntN(60) {
			last := len(r.times) - 1
			r.times = append(r.times, r.times[last]+0.2+rng.Float64())
			r.values = append(r.values, r.values[last]+rng.ExpFloat64()*100)
		}
		end := r.times[len(r.times)-1]
		g := newGrid(r.times[0], end, 1, 40)
		sum := 0.0
		for _, v := range g.rates(r) {
			sum += v * g.width
		}
		if want := r.values[len(r.values)-1]; math.Abs(sum-want) > 1e-6*(1+want) {
			t.Fatalf("rates of %d readings in %d bins sum to %v, want %v", len(r.times), g.bins, sum, want)
		}
	}
}

func TestGridStates(t *testing.T) {
	nan := math.NaN()
	g := grid{from: 0, width: 1, bins: 5}
	for _, c := range []struct {
		name string
		r    readings
		want []float64
	}{
		{"none", readings{}, nil},
		{"one each", readings{[]float64{0.5, 1.5, 2.5, 3.5, 4.5}, []float64{1, 2, 3, 4, 5}}, []float64{1, 2, 3, 4, 5}},
		{"two in a bin", readings{[]float64{0.1, 0.9, 2.5, 3.5, 4.5}, []float64{1, 3, 5, 6, 7}}, []float64{2, 2, 5, 6, 7}},
		{"a gap", readings{[]float64{0.5, 4.5}, []float64{1, 5}}, []float64{1, 1, nan, 5, 5}},
	} {
		if diff := cmp.Diff(c.want, g.states(c.r), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s: states differ (-want +got):\n%s", c.name, diff)
		}
	}
}

// A bin that was hardly watched has no rate; a counter that was read once has
// none at all.
func TestGridRatesNeedReadings(t *testing.T) {
	g := grid{from: 0, width: 1, bins: 3}
	if got := g.rates(readings{[]float64{1}, []float64{5}}); got != nil {
		t.Errorf("rates of one reading = %v, want none", got)
	}
	want := []float64{math.NaN(), 2, math.NaN()}
	got := g.rates(readings{[]float64{0.8, 2.2}, []float64{0, 2.8}})
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("rates differ (-want +got):\n%s", diff)
	}
}

// The page shows the last complete parallel trial of all pairs beside the
// serial tasks of that trial, with the nodes in the fleet's order.
func TestHostPhases(t *testing.T) {
	d, fs, o := labCase()
	b := builder{data: d, findings: fs, scalings: o.Scalings}
	b.accepted, b.fleet = resultsByStep(d.Accepted()), newFleetView(d.Steps)
	phases, words := b.hostPhases("network")
	if want := "Parallel trial 3, the last complete one with all 4 pairs; beside it the serial tasks of the same trial, each node at its own start. 0 s is the agreed start; the common window is shaded."; words != want {
		t.Errorf("words = %q, want %q", words, want)
	}
	if len(phases) != 2 {
		t.Fatalf("%d phases, want serial and parallel", len(phases))
	}
	for _, p := range phases {
		var got []string
		for _, n := range p.nodes {
			got = append(got, n.name)
		}
		want := []string{"host01", "host02", "host03", "host04", "host05", "host06", "host07", "host08"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: nodes differ (-want +got):\n%s", p.class, diff)
		}
	}
	if phases[0].window != nil || phases[1].window == nil {
		t.Errorf("windows = %v and %v, want one in parallel alone", phases[0].window, phases[1].window)
	}
}

// A trial that was not complete, or of fewer nodes than all, is not shown.
func TestHostPhasesSkipsInvalidTrials(t *testing.T) {
	d, _, _ := labCase()
	for i := range d.Steps {
		if s := &d.Steps[i]; s.Workload == "network" && s.Phase == model.Parallel && s.Trial == 3 && len(s.Tasks) == 8 {
			s.State = model.StepInvalid
		}
	}
	b := builder{data: d, accepted: resultsByStep(d.Accepted()), fleet: newFleetView(d.Steps)}
	phases, _ := b.hostPhases("network")
	if _, words := b.hostPhases("network"); len(phases) != 2 || words[:16] != "Parallel trial 2" {
		t.Errorf("%d phases, %q, want those of trial 2", len(phases), words)
	}
}

// What is drawn of a node is bounded, however long the task.
func TestHostGridIsBounded(t *testing.T) {
	for _, nodes := range []int{1, 4, 8, 20} {
		l := &simLab{nodes: nodes, trials: 1, seconds: 900, loads: labLoads()[2:3]}
		d, _, _ := l.build()
		b := builder{data: d, accepted: resultsByStep(d.Accepted()), fleet: newFleetView(d.Steps)}
		phases, _ := b.hostPhases("cpu")
		g := hostGrid(phases)
		if lines := min(nodes, figure.MaxLines); g.bins > mostBins || g.bins*lines > lineBudget+lines {
			t.Errorf("%d nodes: %d bins, want at most %d, and %d of all lines", nodes, g.bins, mostBins, lineBudget)
		}
		if g.edge(g.bins) < 900 {
			t.Errorf("%d nodes: the grid ends at %v s, want the whole task", nodes, g.edge(g.bins))
		}
	}
}
