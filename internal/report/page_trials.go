package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/figure"
	"github.com/scalebench/scalebench/internal/report/table"
)

// trialView is one parallel trial: when each node was at work, and how fast.
type trialView struct {
	Title    string
	Words    string
	Open     bool
	Partial  bool // of fewer subjects than all: not printed
	Timeline figure.Timeline
	Rates    []rateView
}

type rateView struct {
	Title, Unit string
	Plot        figure.Plot
	Names       []string // of the nodes, when few enough to have a line style each
}

// trials are the accepted parallel trials of a workload, those of fewer
// subjects than all after the others. Of the whole fleet's, the one that
// overlaps worst is open: it is what the finding's overlap comes from.
func (b builder) trials(workload string) []trialView {
	var out, partial []trialView
	worst, least := -1, math.Inf(1)
	for _, s := range b.data.Steps {
		results := b.inOrder(b.fleet.measured(b.accepted[s.ID]))
		if s.Phase != model.Parallel || s.Workload != workload || len(results) == 0 {
			continue
		}
		v, overlap, ok := newTrialView(s, results)
		if !ok {
			continue
		}
		if !b.fleet.full(s) {
			v.Title += fmt.Sprintf(", %d of %s", len(subjectsOf(s)), count(b.fleet.sizes[workload], subjectNoun(s)))
			v.Partial = true
			partial = append(partial, v)
			continue
		}
		if overlap < least {
			worst, least = len(out), overlap
		}
		out = append(out, v)
	}
	if worst >= 0 {
		out[worst].Open = true
	}
	return append(out, partial...)
}

// inOrder sorts results by the fleet's order of nodes, so that a node has the
// same row and colour in every trial.
func (b builder) inOrder(results []model.Result) []model.Result {
	place := make(map[model.NodeID]int)
	for i, n := range b.data.Nodes {
		place[n.ID] = i
	}
	slices.SortStableFunc(results, func(x, y model.Result) int { return place[x.Node] - place[y.Node] })
	return results
}

// newTrialView shows when tasks began and ended, which is all that is known of
// every workload. Package analysis may score a slightly shorter window, that in
// which the progress counters ran; the page says so.
func newTrialView(s model.Step, results []model.Result) (v trialView, overlap float64, ok bool) {
	var e extent
	for _, r := range results {
		e.add(r)
	}
	if e.n == 0 || !e.lastEnd.After(e.firstStart) {
		return v, 0, false
	}
	spans := spansOf(results, e)
	overlap = e.overlap()
	v.Title = fmt.Sprintf("Trial %d", s.Trial)
	v.Words = fmt.Sprintf("tasks overlap %s, start skew %s, end spread %s", num.Fraction(overlap),
		num.Millis(millis(e.lastStart.Sub(e.firstStart))), num.Millis(millis(e.lastEnd.Sub(e.firstEnd))))
	about := table.Clean(s.Workload) + ", parallel trial " + strconv.Itoa(s.Trial)
	v.Timeline = figure.NewTimeline("When each node was at work, "+about+": "+v.Words, spans)
	v.Rates = ratesOf(about, results, spans, e)
	return v, overlap, true
}

func spansOf(results []model.Result, e extent) []figure.Span {
	var out []figure.Span
	for _, r := range results {
		if r.Started.IsZero() || r.Ended.Before(r.Started) {
			continue
		}
		out = append(out, figure.Span{
			Name: table.Clean(string(r.Node)), OK: r.Outcome == model.OutcomeOK,
			Start: r.Started.Sub(e.firstStart).Seconds(), End: r.Ended.Sub(e.firstStart).Seconds(),
			ClockError: r.ClockError.Seconds(),
		})
	}
	return out
}

// ratesOf draws each counter that the workload published, by metric.
func ratesOf(about string, results []model.Result, spans []figure.Span, e extent) []rateView {
	var out []rateView
	for _, key := range seriesKeys(results) {
		nodes := progressOf(results, key, e)
		title := "Throughput of every node over time, " + table.Clean(key.metric) + ", " + about
		plot, scale, ok := figure.Rates(title, unitScale(resourceOf(results, key.metric), key.unit+"/s"), nodes, spans)
		if !ok {
			continue
		}
		v := rateView{Title: table.Clean(key.metric), Unit: scale.Unit, Plot: plot}
		if len(nodes) <= figure.Palette {
			for _, n := range nodes {
				v.Names = append(v.Names, n.Name)
			}
		}
		out = append(out, v)
	}
	return out
}

type seriesKey struct{ metric, unit string }

// seriesKeys lists the counters in order of first appearance.
func seriesKeys(results []model.Result) []seriesKey {
	var out []seriesKey
	seen := make(map[seriesKey]bool)
	for _, r := range results {
		for _, s := range r.Series {
			if k := (seriesKey{s.Metric, s.Unit}); !seen[k] {
				seen[k] = true
				out = append(out, k)
			}
		}
	}
	return out
}

// resourceOf is what a metric is a capacity of, "" when nobody says.
func resourceOf(results []model.Result, metric string) string {
	for _, r := range results {
		for _, s := range r.Samples {
			if s.Metric == metric && s.Resource != "" {
				return s.Resource
			}
		}
	}
	return ""
}

func progressOf(results []model.Result, key seriesKey, e extent) []figure.Progress {
	var out []figure.Progress
	for _, r := range results {
		for _, s := range r.Series {
			if s.Metric == key.metric && s.Unit == key.unit && len(s.Offsets) == len(s.Values) {
				start := r.Started.Sub(e.firstStart).Seconds()
				out = append(out, newProgress(table.Clean(string(r.Node)), start, s))
			}
		}
	}
	return out
}

// newProgress adds the point that every counter has without saying so: at the
// start, no work is done (model.Series).
func newProgress(name string, start float64, s model.Series) figure.Progress {
	p := figure.Progress{Name: name}
	if len(s.Offsets) > 0 && s.Offsets[0] > 0 {
		p.Times, p.Done = append(p.Times, start), append(p.Done, 0)
	}
	for i, at := range s.Offsets {
		p.Times = append(p.Times, start+float64(at)/1e9)
		p.Done = append(p.Done, s.Values[i])
	}
	return p
}
