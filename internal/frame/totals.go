package frame

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"iter"
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

	facts    []Fact // that tell them apart
	backward bool   // the last row is the first
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
// about it. ok is false where they do not, or where something else than their course says
// that they are none, and their name does not say that they are.
func (f *Frame) TotalDoubt(advice string) (d model.Doubt, ok bool) {
	named := f.NamedTotal()
	if !named && f.isLevel() {
		return d, false
	}
	t, ok := f.Total()
	if !ok || !named && f.isRamp(&t) {
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

// step leads to a row from the one before it in its series; before is -1 at the first.
type step struct{ series, before, row int }

// steps are those of the series that these facts tell apart, in the order of the rows or
// backward.
func (f *Frame) steps(by []Fact, backward bool) iter.Seq[step] {
	return func(yield func(step) bool) {
		series, n := seriesOf(by), f.Len()
		var last []int // the row and 1
		for row := range n {
			if backward {
				row = n - 1 - row
			}
			id := series(row)
			if id >= len(last) {
				last = append(last, make([]int, id+1-len(last))...)
			}
			if !yield(step{id, last[id] - 1, row}) {
				return
			}
			last[id] = row + 1
		}
	}
}

// seriesOf numbers the series of the rows that it is asked for, by the levels of these
// facts.
func seriesOf(by []Fact) func(row int) int {
	switch len(by) {
	case 0:
		return func(int) int { return 0 }
	case 1:
		codes := by[0].Codes
		return func(row int) int { return int(codes[row]) }
	}
	known, seed, key := make(map[uint64]int), maphash.MakeSeed(), make([]byte, 2*len(by))
	return func(row int) int {
		for i := range by {
			binary.LittleEndian.PutUint16(key[2*i:], by[i].Codes[row])
		}
		hash := maphash.Bytes(seed, key) // the keys of a million rows and a thousand facts take gigabytes
		id, ok := known[hash]
		if !ok {
			id = len(known)
			known[hash] = id
		}
		return id
	}
}

// walk is what the steps from each row to the next of its series show.
type walk struct {
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

// walk takes the steps in the order of the rows, or backward. Unless all of them are asked
// for it ends where no total is left: so many fall, or so many rows have none before them.
func (f *Frame) walk(by []Fact, backward, all bool) walk {
	w := walk{backward: backward, whole: true}
	var rises []int // of each series
	for s := range f.steps(by, backward) {
		v := f.Values[s.row]
		w.whole = w.whole && v >= 0 && v == math.Trunc(v)
		if s.series >= len(rises) {
			rises = append(rises, make([]int, s.series+1-len(rises))...)
		}
		if s.before < 0 {
			if w.series++; !all && w.series > 1 && 2*w.series > f.Len() {
				w.rises = 0
				return w
			}
			continue
		}
		switch d := v - f.Values[s.before]; {
		case d > 0:
			w.rises++
			rises[s.series]++
			w.most, w.sum, w.squares = max(w.most, d), w.sum+d, w.squares+d*d
		case d == 0:
			w.ties++
		case d < 0:
			w.falls = append(w.falls, fall{f.Values[s.before], v})
			if !all && len(w.falls) > 2+w.rises/leastRun {
				return w
			}
		}
	}
	if len(rises) > 0 {
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
	switch {
	case f.NamedTotal():
		return w.longest >= namedRises
	case w.slight && len(w.falls) == 0:
		return w.whole && w.longest >= slightRises
	case w.series > 1 && w.longest < leastRises:
		return w.longest >= leastOfSeveral && w.rises >= leastOfAll
	}
	return w.longest >= leastRises
}

// NamedTotal reports whether the metric is called as totals are, by the rules of
// Prometheus and OpenMetrics for counters.
func (f *Frame) NamedTotal() bool {
	words := wordsOf(f.Metric)
	last := words[len(words)-1]
	return slices.Contains([]string{"total", "count", "sum", "bucket", "counter"}, last) ||
		slices.Contains(words, "cumulative")
}

// wordsOf are the words of a name without its labels, at least one.
func wordsOf(name string) []string {
	name, _, _ = strings.Cut(name, "{")
	words := strings.FieldsFunc(Words(name), func(r rune) bool { return strings.ContainsRune("_.-/:()", r) })
	if len(words) == 0 {
		return []string{""}
	}
	return words
}

// total is what a walk found.
func (w *walk) total(by []Fact) Total {
	t := Total{Series: w.series, Rises: w.rises, Resets: len(w.falls), facts: by, backward: w.backward}
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
	rates, gaps := make([]float64, f.Len()), 0
	for s := range f.steps(t.facts, t.backward) {
		rates[s.row] = math.NaN()
		if s.before < 0 {
			continue
		}
		seconds := 1.0
		if f.Times != nil {
			seconds = float64(f.Times[s.row]-f.Times[s.before]) / 1e9
		}
		if d := f.Values[s.row] - f.Values[s.before]; d >= 0 && seconds > 0 {
			rates[s.row] = d / seconds
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
