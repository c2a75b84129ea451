package frame

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// Total is a frame whose values look like a running total: a counter of requests, of
// bytes, of seconds. Its mean says nothing; its rate does ([Frame.Rates]).
type Total struct {
	// Series is how many totals there are, as one of each node; By the facts that tell
	// them apart.
	Series int
	By     []string
	// Rises is how often a value is above the one before in its series, Resets how
	// often a total began anew.
	Rises, Resets int

	of       []int32 // the series of each row; nil: there is one
	backward bool    // the last row is the first
}

// What values must show to be called a running total.
const (
	// leastRises is in how many rows a series must rise: values in any order do so in
	// 1 of 2^11 cases, a random walk, too. Of several series each needs fewer.
	leastRises, leastOfSeveral, leastOfAll = 11, 8, 16
	// namedRises suffices where the name is that of a total.
	namedRises = 7
	// slightRise is what share of its level a total without resets may rise by before it
	// might as well be a level that drifts. It then needs more rises, of whole numbers.
	slightRise, slightRises = .1, 15
	// leastRun is how many rises there are at least for each reset and for each tie.
	leastRun = 5
	// steadiest: without times the order may be that of the values. The distances of
	// sorted values vary as much as they are, those of a total's rows often less.
	steadiest = .5
)

// Total reports whether the values look like a running total, with resets, in the
// order of their times: of all rows, of each level of one fact, or of all facts.
func (f *Frame) Total() (Total, bool) {
	for _, by := range f.divisions() {
		w := f.walk(by, false, false)
		if f.Times == nil && !f.looksTotal(&w) {
			w = f.walk(by, true, false)
		}
		if f.looksTotal(&w) {
			return w.total(by), true
		}
	}
	return Total{}, false
}

// CodeTotal is that of a doubt about values that look like a running total.
const CodeTotal = "running_total"

// TotalDoubt is the problem that the values look like a running total, with what to do
// about it; ok is false where they do not.
func (f *Frame) TotalDoubt(advice string) (d model.Doubt, ok bool) {
	t, ok := f.Total()
	if !ok {
		return d, false
	}
	of, resets := "", ""
	if t.Series > 1 {
		of = " within each " + num.List(t.By)
	}
	if t.Resets > 0 {
		resets = " but for " + num.Count(t.Resets, "reset")
	}
	return model.Doubt{Code: CodeTotal, Severity: model.Problem, Workload: f.Workload,
		Text: fmt.Sprintf("no value is below the one before%s%s: they look like a running total (a counter), "+
			"whose mean and COV mean nothing; %s", of, resets, advice)}, true
}

// divisions are the ways in which rows may be of several series: in none, by one fact,
// by all of them.
func (f *Frame) divisions() [][]Fact {
	out := [][]Fact{nil}
	for i := range f.Facts {
		out = append(out, f.Facts[i:i+1])
	}
	if len(f.Facts) > 1 {
		out = append(out, f.Facts)
	}
	return out
}

// seriesOf numbers the series by the levels of these facts.
func (f *Frame) seriesOf(by []Fact) (of []int32, series int) {
	if len(by) == 0 {
		return nil, 1
	}
	known := make(map[string]int32)
	of = make([]int32, f.Len())
	key := make([]byte, 2*len(by))
	for row := range of {
		for i, x := range by {
			key[2*i], key[2*i+1] = byte(x.Codes[row]), byte(x.Codes[row]>>8)
		}
		id, ok := known[string(key)]
		if !ok {
			id = int32(len(known)) //nolint:gosec // fewer series than rows
			known[string(key)] = id
		}
		of[row] = id
	}
	return of, len(known)
}

// walk is what the steps from each row to the next of its series show.
type walk struct {
	of       []int32
	series   int
	backward bool
	whole    bool // all values are whole numbers, and none is negative
	rises    int
	ties     int
	falls    []fall
	longest  int // rises of the series that rises most often
	most     float64
	sum      float64 // of the rises, and of their squares
	squares  float64
	slight   bool // the values cover a small share of their level
}

type fall struct{ from, to float64 }

// walk takes the steps in the order of the rows, or backward. It ends where so many
// fall that no total is left, unless all of them are asked for.
func (f *Frame) walk(by []Fact, backward, all bool) walk {
	w := walk{backward: backward, whole: true}
	w.of, w.series = f.seriesOf(by)
	last, rises := make([]float64, w.series), make([]int, w.series)
	for i := range last {
		last[i] = math.NaN()
	}
	n := f.Len()
	for i := range n {
		row, id := i, int32(0)
		if backward {
			row = n - 1 - i
		}
		if w.of != nil {
			id = w.of[row]
		}
		v := f.Values[row]
		w.whole = w.whole && v >= 0 && v == math.Trunc(v)
		switch d := v - last[id]; {
		case d > 0:
			w.rises++
			rises[id]++
			w.most, w.sum, w.squares = max(w.most, d), w.sum+d, w.squares+d*d
		case d == 0:
			w.ties++
		case d < 0:
			if w.falls = append(w.falls, fall{last[id], v}); !all && len(w.falls) > 2+w.rises/leastRun {
				return w
			}
		}
		last[id] = v
	}
	if n > 0 {
		w.longest = slices.Max(rises)
		least, most := slices.Min(f.Values), slices.Max(f.Values)
		w.slight = most-least < slightRise*most
	}
	return w
}

// looksTotal judges a walk.
func (f *Frame) looksTotal(w *walk) bool {
	if w.rises == 0 || leastRun*len(w.falls) > w.rises || w.ties > 2*w.rises {
		return false
	}
	for _, x := range w.falls { // a reset leads to what a total has after one step
		if x.to < 0 || x.to > x.from/2 || x.to > 3*w.most && x.to > .02*x.from {
			return false
		}
	}
	if f.Times == nil {
		n := float64(w.rises)
		mean := w.sum / n
		if w.ties > 0 || math.Sqrt(max(0, w.squares/n-mean*mean)) > steadiest*mean {
			return false
		}
	}
	named := totalName(f.Metric)
	switch {
	case named:
		return w.longest >= namedRises
	case w.slight && len(w.falls) == 0:
		return w.whole && w.longest >= slightRises
	case w.series > 1 && w.longest < leastRises:
		return w.longest >= leastOfSeveral && w.rises >= leastOfAll
	}
	return w.longest >= leastRises
}

// totalName reports whether a metric is called as totals are, by the rules of
// Prometheus and OpenMetrics for counters.
func totalName(metric string) bool {
	name, _, _ := strings.Cut(metric, "{")
	words := strings.FieldsFunc(Plain(name), func(r rune) bool { return strings.ContainsRune("_.-/:()", r) })
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	return slices.Contains([]string{"total", "count", "sum", "bucket", "counter"}, last) ||
		slices.Contains(words, "cumulative")
}

// total is what a walk found.
func (w *walk) total(by []Fact) Total {
	t := Total{Series: w.series, Rises: w.rises, Resets: len(w.falls), of: w.of, backward: w.backward}
	for _, x := range by {
		t.By = append(t.By, x.Name)
	}
	return t
}

// Rates is the rate of a running total: the differences of each row from the one
// before in its series, by the seconds between them, or without times by row. A row
// has its time and facts. Where a total began anew, what it had counted until then is
// not known, and there is no difference; nor between rows of one time. Values that
// fall more often are no totals: *model.InputError.
func (f *Frame) Rates() (*Frame, error) {
	t, ok := f.Total()
	if !ok {
		if t, ok = f.likeliestTotal(); !ok {
			return nil, &model.InputError{Path: "rate", Problem: f.Name() + " falls too often for a running total",
				Allowed: "name the metric that is a total with --metric, or leave out --rate"}
		}
	}
	last := make([]int32, t.Series)
	for i := range last {
		last[i] = -1
	}
	rates, gaps := make([]float64, f.Len()), 0
	for i := range rates {
		row, id := i, int32(0)
		if t.backward {
			row = len(rates) - 1 - i
		}
		if t.of != nil {
			id = t.of[row]
		}
		before := last[id]
		last[id], rates[row] = int32(row), math.NaN() //nolint:gosec // a row
		if before < 0 {
			continue
		}
		steps := 1.0
		if f.Times != nil {
			steps = float64(f.Times[row]-f.Times[before]) / 1e9
		}
		if d := f.Values[row] - f.Values[before]; d >= 0 && steps > 0 {
			rates[row] = d / steps
		} else {
			gaps++
		}
	}
	return f.rated(rates, gaps), nil
}

// likeliestTotal is the division by which the fewest values fall, at most one in four
// steps.
func (f *Frame) likeliestTotal() (best Total, ok bool) {
	fewest := f.Len()
	for _, by := range f.divisions() {
		w := f.walk(by, false, true)
		if n := len(w.falls); n < fewest && w.rises > 0 && 3*n <= w.rises+w.ties {
			best, fewest, ok = w.total(by), n, true
		}
	}
	return best, ok
}

// rated is the frame of the rates that there are.
func (f *Frame) rated(rates []float64, gaps int) *Frame {
	out := *f
	out.Values = rates
	out = *out.Where(func(row int) bool { return !math.IsNaN(rates[row]) })
	per := "/s"
	if f.Times == nil {
		per = "/row"
	}
	out.Metric, out.Unit = "rate("+f.Metric+")", f.Unit+per
	if f.Unit == "" {
		out.Unit = "1" + per
	}
	if gaps > 0 {
		out.Doubts = append(slices.Clip(f.Doubts),
			model.Doubt{Code: "rate_gaps", Severity: model.Warning, Workload: f.Workload,
				Text: fmt.Sprintf("%s left out, where the total began anew or two rows have one time",
					num.Count(gaps, "difference"))})
	}
	return &out
}
