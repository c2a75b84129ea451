package capacity

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

func TestSentence(t *testing.T) {
	p := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		name string
		r    Answer
		want string
	}{
		{"target", Answer{Limit: LimitTarget, Passed: p(7055), Failed: p(7132), Estimate: p(7090), CI: &[2]float64{7010, 7160}, Confirmed: true},
			"The server takes 7.09 kop/s: passed at 7.055 kop/s, failed at 7.132 kop/s; 95 % interval 7.01 to 7.16 kop/s."},
		{"not confirmed", Answer{Limit: LimitTarget, Passed: p(7055), Failed: p(7132), Estimate: p(7090), CI: &[2]float64{7010, 7160}},
			"The server takes about 7.09 kop/s, not confirmed: passed at 7.055 kop/s, failed at 7.132 kop/s; 95 % interval 7.01 to 7.16 kop/s."},
		{"path", Answer{Limit: LimitPath, Passed: p(70), Failed: p(80)},
			"Capacity not found: the path to the server was at its limit, not the server; it takes at least 70 op/s."},
		{"round trips alone", Answer{Limit: LimitPath, Failed: p(1), Path: &Path{Alone: 250 * time.Millisecond, Breaks: &load.Term{Quantile: .9, Latency: 150 * time.Millisecond}}},
			"Capacity not found: round trips to the server alone take 250 ms, which breaks p90 ≤ 150 ms; nothing is known of the server."},
		{"no estimate", Answer{Limit: LimitTarget, Passed: p(70), Failed: p(80)},
			"The server takes a load that was not pinned down: passed at 70 op/s, failed at 80 op/s."},
		{"generators", Answer{Limit: LimitGenerator, Passed: p(70)},
			"Capacity not found: the generators were at their limit, not the server; it takes at least 70 op/s."},
		{"one of several generators", Answer{Limit: LimitGenerator, Passed: p(70), Generators: []model.NodeID{"n2"}},
			"Capacity not found: generator n2 was at its limit, not the server; it takes at least 70 op/s."},
		{"generators at once", Answer{Limit: LimitGenerator}, "Capacity not found: the generators were at their limit, not the server."},
		{"cap", Answer{Limit: LimitCap, Passed: p(5e4)}, "The server takes 50 kop/s or more: no larger load was allowed."},
		{"cap, for a while", Answer{Limit: LimitCap, Passed: p(110), HeldFor: 12},
			"The server takes 110 op/s for 12.0 s at a time: no larger load was allowed, and no longer window shows whether it sustains that."},
		{"generators, for a while", Answer{Limit: LimitGenerator, Passed: p(70), HeldFor: 3},
			"Capacity not found: the generators were at their limit, not the server; it takes at least 70 op/s for 3.00 s at a time."},
		{"floor", Answer{Limit: LimitFloor, Failed: p(1)}, "The server takes less than 1 op/s, the smallest load allowed."},
		{"begun", Answer{Limit: LimitNone, Passed: p(100)}, "The search is not over: at least 100 op/s; no valid window failed so far."},
		{"no answer", Answer{Limit: LimitNone, Failure: "the target does not answer; is it up?"},
			"Nothing was measured: the target does not answer; is it up?"},
		{"no load missed", Answer{Limit: LimitTarget, Passed: at(1000.)}, "The server takes a load that was not pinned down: passed at 1 kop/s, and no load missed the SLA."},
		{"not begun", Answer{Limit: LimitNone}, "The search is not over: nothing is known yet."},
	} {
		if got := c.r.sentence(); got != c.want {
			t.Errorf("%s: sentence = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestSummary(t *testing.T) {
	many, trials := manySearches(), []Search{}
	for _, x := range many {
		if x.Workload == "medium" {
			trials = append(trials, x)
		}
	}
	refused := oneSearch()
	refuse(&refused)
	for _, c := range []struct {
		name  string
		found []Search
		want  string
	}{
		{"one", []Search{oneSearch()}, "The server takes 7.09 kop/s: passed at 7.055 kop/s, failed at 7.132 kop/s; 95 % interval 7.01 to 7.16 kop/s."},
		{"refused", []Search{refused}, "Capacity not found: the generators were at their limit, not the server; it takes at least 4 kop/s."},
		{"trials", trials, "http://medium.test:8080/ takes 4.06 kop/s: the median of 11 trials, from 2.239 to 4.125 kop/s."},
		{"targets", many, "Of 3 targets, http://large.test:8080/ takes the most, 8.034 kop/s, and http://small.test:8080/ the least, 2.041 kop/s (1 of 11 estimates not confirmed)."},
		{"doubtful targets", doubtfulTargets(), "Of 3 targets, b takes the most, about 7.09 kop/s (not confirmed), and a the least, 1 kop/s. The capacity of 1 other was not found."},
	} {
		if got := summary(groups(c.found))[0]; got != c.want {
			t.Errorf("%s: summary = %q, want %q", c.name, got, c.want)
		}
	}
}

// doubtfulTargets are three, with a capacity, with one that is not confirmed and
// without any.
func doubtfulTargets() []Search {
	least, most, none := oneSearch(), oneSearch(), oneSearch()
	least.Workload, least.Target, least.Answer.Estimate = "a", "a", at(1000.)
	most.Workload, most.Target, most.Answer.Confirmed = "b", "b", false
	none.Workload, none.Target = "c", "c"
	refuse(&none)
	return []Search{least, most, none}
}

// TestLoadsAreMergedExactly: percentiles of windows at one load are those of
// all their operations, and the windows stay as they were.
func TestLoadsAreMergedExactly(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 20 {
		windows, all := randomWindows(rng)
		before := windows[0].Latencies.TotalCount()
		loads := loadsOf(windows)
		again := loadsOf(windows)
		for i, one := range loads {
			if one.counted() == 0 {
				continue
			}
			for _, q := range []float64{.01, .5, .9, .99, .999, 1} {
				want := rankOf(all[one.load], q)
				got, ok := one.latency(q)
				if !ok || !closeTo(got, want) {
					t.Fatalf("p%v at %v = %v, %v, want %v", 100*q, one.load, got, ok, want)
				}
				if same, _ := again[i].latency(q); same != got {
					t.Fatalf("p%v at %v is %v the second time, %v the first", 100*q, one.load, same, got)
				}
			}
		}
		if !slices.IsSortedFunc(loads, func(a, b tried) int { return cmp.Compare(a.load, b.load) }) {
			t.Fatalf("loads are not in order: %v", loads)
		}
		if after := windows[0].Latencies.TotalCount(); after != before {
			t.Fatalf("a window has %d operations after merging and %d before", after, before)
		}
	}
}

// randomWindows are windows at three loads, and the latencies in seconds of
// all operations due at each of them in those that count; +Inf for those that
// did not end well. Histograms have different ranges.
func randomWindows(rng *rand.Rand) ([]Assessment, map[float64][]float64) {
	all := make(map[float64][]float64)
	verdicts := []Verdict{Passed, Missed, Unusable}
	var out []Assessment
	for i := range 12 {
		w := Assessment{Verdict: verdicts[i%7%3], Window: load.Window{
			Load: float64(100 * (1 + rng.IntN(3))), Latencies: histogram.New(int64(time.Duration(1+i%4) * 30 * time.Second)),
		}}
		for range 1 + rng.IntN(400) {
			seconds := rng.ExpFloat64()
			w.Counts.Due++
			if rng.IntN(50) == 0 {
				w.Counts.Errors[load.ErrTimeout]++
				seconds = math.Inf(1)
			} else {
				w.Counts.OK++
				histogram.Record(w.Latencies, int64(seconds*1e9))
			}
			if w.Verdict != Unusable {
				all[w.Load] = append(all[w.Load], seconds)
			}
		}
		out = append(out, w)
	}
	return out, all
}

// rankOf is the smallest value that a share q of values does not exceed.
func rankOf(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(math.Ceil(q*float64(len(sorted))))-1]
}

// closeTo allows for what a histogram rounds.
func closeTo(got, want float64) bool {
	return got == want || math.Abs(got-want) <= 2e-3*want
}

func TestBindingTerm(t *testing.T) {
	x := oneSearch()
	twoTerms(&x)
	term, ok := x.bindingTerm(loadsOf(x.Answer.Windows))
	if !ok || term.String() != "p99.9=400ms" {
		t.Errorf("bindingTerm = %v, %v, want p99.9, which exceeds its limit most", term, ok)
	}
	x.Config.SLA.Terms = []load.Term{{Errors: .01}}
	if term, ok := x.bindingTerm(loadsOf(x.Answer.Windows)); ok {
		t.Errorf("bindingTerm of an SLA on errors alone = %v", term)
	}
	if !x.sketch(loadsOf(x.Answer.Windows)).Empty() {
		t.Error("there is a sketch without a limit")
	}
}

func TestNearest(t *testing.T) {
	var loads []tried
	for _, v := range []float64{1, 10, 90, 100, 120, 500} {
		loads = append(loads, tried{load: v})
	}
	center := 100.0
	var got []float64
	for _, x := range nearest(loads, Answer{Passed: &center}, 3) {
		got = append(got, x.load)
	}
	if want := []float64{90, 100, 120}; !slices.Equal(got, want) {
		t.Errorf("nearest = %v, want %v", got, want)
	}
}
