package record

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// TestGridRatesConserveTheCounter: what a counter grew is what its rates add up
// to, however readings and bins fall.
func TestGridRatesConserveTheCounter(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		r := observe.Readings{Times: []float64{-rng.Float64()}, Values: []float64{0}}
		for len(r.Times) < 3+rng.IntN(60) {
			last := len(r.Times) - 1
			r.Times = append(r.Times, r.Times[last]+0.2+rng.Float64())
			r.Values = append(r.Values, r.Values[last]+rng.ExpFloat64()*100)
		}
		end := r.Times[len(r.Times)-1]
		width := max(1, (end-r.Times[0])/40)
		g := grid{from: r.Times[0], width: width, bins: int(math.Ceil((end - r.Times[0]) / width))}
		g.width = (end - r.Times[0]) / float64(g.bins) // the last bin is whole
		sum := 0.0
		for _, v := range g.rates(r) {
			sum += v * g.width
		}
		if want := r.Values[len(r.Values)-1]; math.Abs(sum-want) > 1e-6*(1+want) {
			t.Fatalf("rates of %d readings in %d bins sum to %v, want %v", len(r.Times), g.bins, sum, want)
		}
	}
}

func TestGridStates(t *testing.T) {
	nan := math.NaN()
	g := grid{from: 0, width: 1, bins: 5}
	for _, c := range []struct {
		name string
		r    observe.Readings
		want []float64
	}{
		{"none", observe.Readings{}, nil},
		{"one each", observe.Readings{Times: []float64{0.5, 1.5, 2.5, 3.5, 4.5}, Values: []float64{1, 2, 3, 4, 5}}, []float64{1, 2, 3, 4, 5}},
		{"two in a bin", observe.Readings{Times: []float64{0.1, 0.9, 2.5, 3.5, 4.5}, Values: []float64{1, 3, 5, 6, 7}}, []float64{2, 2, 5, 6, 7}},
		{"a gap", observe.Readings{Times: []float64{0.5, 4.5}, Values: []float64{1, 5}}, []float64{1, 1, nan, 5, 5}},
	} {
		if diff := cmp.Diff(c.want, g.states(c.r), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s: states differ (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestGridRatesNeedReadings: a bin that was hardly watched has no rate; a
// counter that was read once has none at all.
func TestGridRatesNeedReadings(t *testing.T) {
	g := grid{from: 0, width: 1, bins: 3}
	if got := g.rates(observe.Readings{Times: []float64{1}, Values: []float64{5}}); got != nil {
		t.Errorf("rates of one reading = %v, want none", got)
	}
	want := []float64{math.NaN(), 2, math.NaN()}
	got := g.rates(observe.Readings{Times: []float64{0.8, 2.2}, Values: []float64{0, 2.8}})
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("rates differ (-want +got):\n%s", diff)
	}
}

// TestHostPhases: the page shows the last complete parallel trial of all pairs
// beside the serial tasks of that trial, with the nodes in the fleet's order.
func TestHostPhases(t *testing.T) {
	phases, words := hostPhases(observe.Of(labCase()), "network")
	if want := "Parallel trial 3, the last complete one with all 4 pairs; beside it the serial tasks of the same trial, each node at its own start. 0 s is the agreed start; the common window is shaded."; words != want {
		t.Errorf("words = %q, want %q", words, want)
	}
	if len(phases) != 2 {
		t.Fatalf("%d phases, want serial and parallel", len(phases))
	}
	for _, p := range phases {
		var got []string
		for _, n := range p.nodes {
			got = append(got, string(n.Node))
		}
		want := []string{"host01", "host02", "host03", "host04", "host05", "host06", "host07", "host08"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: nodes differ (-want +got):\n%s", p.role, diff)
		}
	}
	if phases[0].window != nil || phases[1].window == nil {
		t.Errorf("windows = %v and %v, want one in parallel alone", phases[0].window, phases[1].window)
	}
}

// TestHostPhasesSkipInvalidTrials: a trial that was not complete, or of fewer
// nodes than all, is not shown.
func TestHostPhasesSkipInvalidTrials(t *testing.T) {
	d := labCase()
	for i := range d.Steps {
		if s := &d.Steps[i]; s.Workload == "network" && s.Phase == model.Parallel && s.Trial == 3 && len(s.Tasks) == 8 {
			s.State = model.StepInvalid
		}
	}
	if phases, words := hostPhases(observe.Of(d), "network"); len(phases) != 2 || !strings.HasPrefix(words, "Parallel trial 2") {
		t.Errorf("%d phases, %q, want those of trial 2", len(phases), words)
	}
}

// TestHostGridIsBounded: what is drawn of a node is bounded, however long the
// task.
// TestHostPhasesOfASearch: a run that searches shows its hosts.
func TestHostPhasesOfASearch(t *testing.T) {
	d := labCase()
	d.Steps = slices.DeleteFunc(d.Steps, func(s model.Step) bool { return s.Phase == model.Serial })
	last := 0
	for i := range d.Steps {
		if s := &d.Steps[i]; s.Workload == "network" {
			s.Phase = model.Search
			if len(s.Tasks) == 8 {
				last = s.Number + 1
			}
		}
	}
	run := observe.Of(d)
	phases, words := hostPhases(run, "network")
	want := fmt.Sprintf("Step %d (search), the last complete one with all 4 pairs. 0 s is the agreed start; the common window is shaded.", last)
	if words != want || len(phases) != 1 || len(phases[0].nodes) != 8 || phases[0].window == nil {
		t.Errorf("%d phases, %q; want one with 8 nodes and its window, %q", len(phases), words, want)
	}
	if f := figureOf(t, run, "network", "Network, receiving"); len(f.Panels) != 1 || f.Panels[0].Title != "search" {
		t.Errorf("panels %+v, want one of the search", f.Panels)
	}
}

func TestHostGridIsBounded(t *testing.T) {
	for _, nodes := range []int{1, 4, 8, 20} {
		d := (&simLab{nodes: nodes, trials: 1, seconds: 900, loads: labLoads()[2:3]}).build()
		phases, _ := hostPhases(observe.Of(d), "cpu")
		g := hostGrid(phases)
		if lines := min(nodes, chart.MostLines); g.bins > mostBins || g.bins*lines > lineBudget+lines {
			t.Errorf("%d nodes: %d bins, want at most %d, and %d of all lines", nodes, g.bins, mostBins, lineBudget)
		}
		if g.edge(g.bins) < 900 {
			t.Errorf("%d nodes: the grid ends at %v s, want the whole task", nodes, g.edge(g.bins))
		}
	}
}

// TestHostChartsShowTheTruth: the layers of the charts are what the monitor
// read: in the serial trial of the disk a node writes at 80 MB/s, in the
// parallel one of the network a node receives its share of the uplink.
func TestHostChartsShowTheTruth(t *testing.T) {
	run := observe.Of(labCase())
	for _, c := range []struct {
		workload, title string
		panel           int // 0: serial, 1: parallel
		want            float64
	}{
		{"disk", "Disk writes", 0, 80e6},
		{"disk", "Disk writes", 1, 80e6},
		{"network", "Network, receiving", 0, 8 * 12.5e6},
		{"network", "Network, receiving", 1, 8 * 12.5e6 * 37.5 / 100},
	} {
		f := figureOf(t, run, c.workload, c.title)
		lines := 0
		for _, l := range f.Panels[c.panel].Chart.Layers {
			if l.Mark != chart.Step {
				continue
			}
			lines++
			for _, y := range l.Y[1 : len(l.Y)-2] { // the first and last bins lie half outside of the task
				if num.Finite(y) && math.Abs(y/c.want-1) > .25 {
					t.Errorf("%s, %s, panel %d, %s: %g, want %g within a quarter", c.workload, c.title, c.panel, l.Name, y, c.want)
				}
			}
		}
		if lines != 8 {
			t.Errorf("%s, %s, panel %d: %d lines, want one a node", c.workload, c.title, c.panel, lines)
		}
	}
}

// TestSharesOfHostsAreNoMoreThanAll: counters of seconds that grow by more than
// the time that went by, as ticks can, draw nothing beyond 100 %.
func TestSharesOfHostsAreNoMoreThanAll(t *testing.T) {
	d := labCase()
	for i := range d.Results {
		var host []model.HostSeries
		for _, s := range d.Results[i].Host {
			if s.Metric != observe.MetricIdle && s.Metric != observe.MetricPSICPU {
				host = append(host, s)
			}
			if s.Metric == observe.MetricUser {
				back, waits := s, s
				back.Metric, waits.Metric = observe.MetricIdle, observe.MetricPSICPU
				back.Values, waits.Values = make([]float64, len(s.Values)), make([]float64, len(s.Values))
				for k := range s.Values {
					back.Values[k], waits.Values[k] = -s.Values[k]/2, 3*float64(k)
				}
				host = append(host, back, waits)
			}
		}
		d.Results[i].Host = host
	}
	for _, title := range []string{"CPU at work", "Waiting for CPU (PSI some)"} {
		full := false
		for _, p := range figureOf(t, observe.Of(d), "network", title).Panels {
			for _, l := range p.Chart.Layers {
				for _, y := range l.Y {
					full = full || y == 100
					if l.Mark == chart.Step && y > 100 {
						t.Fatalf("%s: %v %%", title, y)
					}
				}
			}
		}
		if !full {
			t.Errorf("%s: nowhere 100 %%, which was beyond it", title)
		}
	}
}

// TestQuietChartsAreNamed: a chart in which nothing happened is named and not
// drawn.
func TestQuietChartsAreNamed(t *testing.T) {
	part := hostPart(observe.Of(labCase()), "network")
	fold := part.Blocks[len(part.Blocks)-1].Fold
	last := fold.Blocks[len(fold.Blocks)-1].Text
	if last == nil || !strings.HasPrefix(last.Text, "Nothing all the time: ") || !strings.Contains(last.Text, "disk reads") {
		t.Errorf("the charts end with %+v, want the names of those that are left out", last)
	}
}

// figureOf finds a figure of the host charts by its title.
func figureOf(t *testing.T, run *observe.Run, workload, title string) *doc.Figure {
	t.Helper()
	part := hostPart(run, workload)
	if part == nil {
		t.Fatalf("%s has no host charts", workload)
	}
	var titles []string
	for _, b := range part.Blocks[len(part.Blocks)-1].Fold.Blocks {
		if b.Figure != nil && b.Figure.Title == title {
			return b.Figure
		}
		if b.Figure != nil {
			titles = append(titles, b.Figure.Title)
		}
	}
	t.Fatalf("%s has no chart %q, only %q", workload, title, titles)
	return nil
}

// TestDamagedReadings: what a damaged store can bring is left out, and nothing
// that is not a number is drawn.
func TestDamagedReadings(t *testing.T) {
	d := labCase()
	for i := range d.Results {
		r := &d.Results[i]
		for k := range r.Histograms {
			r.Histograms[k].Encoded = r.Histograms[k].Encoded[:10*(i%9)]
		}
		switch i % 5 {
		case 0:
			r.Host = nil
		case 1:
			for k := range r.Host {
				r.Host[k].Values[k%3] = math.NaN()
			}
		case 2:
			r.Host[i%len(r.Host)].Values = nil
		case 3:
			for k := range r.Host {
				r.Host[k].Offsets, r.Host[k].Values = r.Host[k].Offsets[:1], r.Host[k].Values[:1]
			}
		}
	}
	d.Results[0].Ended = d.Results[0].Started.Add(-1)
	sections := workloadSections(observe.Of(d))
	if len(sections) != 4 {
		t.Fatalf("%d workloads are shown, want 4", len(sections))
	}
	eachText(doc.Document{Sections: sections}, func(text string) {
		for _, bad := range []string{"NaN", "Inf", "<nil>"} {
			if strings.Contains(text, bad) {
				t.Errorf("a text says %q: %s", bad, text)
			}
		}
	})
}

// eachText calls f for what people read in the cells and texts of a document.
func eachText(d doc.Document, f func(string)) {
	var blocks func([]doc.Block)
	blocks = func(list []doc.Block) {
		for _, b := range list {
			switch {
			case b.Text != nil:
				f(b.Text.Text)
			case b.List != nil:
				f(strings.Join(b.List.Items, "\n"))
			case b.Table != nil:
				for _, r := range b.Table.Rows {
					for _, c := range r.Cells {
						f(strings.Join(c.Lines, "\n"))
					}
				}
			case b.Fold != nil:
				blocks(b.Fold.Blocks)
			case b.Part != nil:
				f(b.Part.Intro)
				blocks(b.Part.Blocks)
			}
		}
	}
	for _, s := range d.Sections {
		f(s.Intro)
		blocks(s.Blocks)
	}
}

// TestOthersAreNoted: what disturbed the nodes stands above the charts of its
// workload, and among the warnings of the run.
func TestOthersAreNoted(t *testing.T) {
	run := observe.Of(labCase())
	want := []string{"cpu", "network"}
	var found []string
	for _, x := range run.Disturbances() {
		found = append(found, x.Workload)
	}
	slices.Sort(found)
	if diff := cmp.Diff(want, slices.Compact(found)); diff != "" {
		t.Fatalf("disturbed workloads differ (-want +got):\n%s", diff)
	}
	notes := make(map[string]int)
	for _, name := range []string{"network", "disk", "cpu", "memory"} {
		if b := hostPart(run, name).Blocks[0]; b.List != nil {
			notes[name] = len(b.List.Items)
		}
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(notes))); diff != "" {
		t.Errorf("workloads with notes differ (-want +got):\n%s", diff)
	}
	if n := len(NewOverview(run).Doubts); n < len(run.Disturbances()) {
		t.Errorf("%d doubts about the run, want at least its %d disturbances", n, len(run.Disturbances()))
	}
}
