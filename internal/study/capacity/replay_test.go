package capacity

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
)

// world is a target whose limits are known, with its generators and its path.
type world struct {
	target    float64 // capacity of the server; latency is 1 ms below, 1 s above
	generator float64 // load up to which the generators send in time
	path      float64 // load from which round trips take 200 ms more
	rtt       func(window int) time.Duration
	change    func(window int, w *load.Window) // what else happens; nil: nothing
	rng       *rand.Rand
	windows   int
}

func newWorld(target float64) *world {
	return &world{
		target: target, generator: 1e12, path: 1e12, rng: rand.New(rand.NewPCG(4, 2)),
		rtt: func(int) time.Duration { return 500 * time.Microsecond },
	}
}

func (w *world) offer(o Next) load.Window {
	latency, rtt := time.Millisecond, w.rtt(w.windows)
	w.windows++
	if o.Load > w.path {
		latency, rtt = latency+200*time.Millisecond, rtt+200*time.Millisecond
	}
	if o.Load > w.target {
		latency = time.Second
	}
	lag := 20 * time.Microsecond
	if o.Load > w.generator {
		lag, latency = 300*time.Millisecond, latency+300*time.Millisecond
	}
	due := max(int64(10*o.Load), 1)
	out := answered(due, due, latency)
	out.Load = o.Load
	out.Lags.Reset()
	histogram.RecordMany(out.Lags, int64(lag), due)
	for range 40 {
		out.RTT = append(out.RTT, rtt.Seconds()*(1+.1*w.rng.NormFloat64()))
	}
	for i := range 10 {
		x := &out.Seconds
		x.Index, x.Due, x.OK = append(x.Index, i), append(x.Due, due/10), append(x.OK, due/10)
		x.P50, x.P90 = append(x.P50, latency.Seconds()), append(x.P90, latency.Seconds())
	}
	if w.change != nil {
		w.change(w.windows-1, &out)
	}
	return out
}

// search lets the configuration search in the world, with at most so many
// windows.
func (w *world) search(t *testing.T, cfg Config, most int) State {
	t.Helper()
	var windows []load.Window
	for {
		s, err := cfg.Evaluate(windows)
		if err != nil {
			t.Fatal(err)
		}
		if s.Next == nil || len(windows) == most {
			return s
		}
		windows = append(windows, w.offer(*s.Next))
	}
}

// config is a search for the SLA of the paper.
func config(t *testing.T) Config {
	t.Helper()
	cfg := Defaults()
	var err error
	if cfg.SLA, err = load.ParseSLA("p90=150ms"); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestSearches: what is at its limit is named, and a load is only reported as a
// capacity where the target was.
func TestSearches(t *testing.T) {
	for _, c := range []struct {
		name      string
		world     func() *world
		limit     Limit
		truth     float64 // between Passed and Failed; 0: not reported
		warning   string
		estimated bool
	}{
		{"target", func() *world { return newWorld(7300) }, LimitTarget, 7300, "", true},
		{"slow start", func() *world { return newWorld(40) }, LimitTarget, 40, "", true},
		{"generator", func() *world { w := newWorld(7300); w.generator = 2000; return w }, LimitGenerator, 0, "the target's capacity is unknown", false},
		{"a generator that can do more than the target", func() *world { w := newWorld(7300); w.generator = 20000; return w }, LimitTarget, 7300, "", true},
		{"path", func() *world { w := newWorld(7300); w.path = 3000; return w }, LimitPath, 3000, "the path was at its limit", false},
		{"cap", func() *world { return newWorld(1e9) }, LimitCap, 0, "at or above it", false},
		{"floor", func() *world { return newWorld(.5) }, LimitFloor, 0, "", false},
		{"the path changes for good", func() *world {
			w := newWorld(7300)
			w.rtt = func(i int) time.Duration {
				if i < 9 {
					return 500 * time.Microsecond
				}
				return 900 * time.Microsecond
			}
			return w
		}, LimitTarget, 7300, "for good", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.world().search(t, config(t), 200)
			r := s.Answer
			if s.Next != nil || r.Limit != c.limit {
				t.Fatalf("limit %s after %d windows (over: %v), want %s; %q", r.Limit, len(r.Windows), s.Next == nil, c.limit, r.Warnings())
			}
			if (r.Estimate != nil) != c.estimated || (r.CI != nil) != c.estimated {
				t.Errorf("estimate %v with interval %v, want one: %v", r.Estimate, r.CI, c.estimated)
			}
			if c.truth > 0 && (r.Passed == nil || r.Failed == nil || *r.Passed > c.truth || *r.Failed < c.truth || *r.Failed > 1.055**r.Passed) {
				t.Errorf("passed %v, failed %v, want %v between them", r.Passed, r.Failed, c.truth)
			}
			if !strings.Contains(strings.Join(r.Warnings(), "\n"), c.warning) {
				t.Errorf("warnings %q, want one with %q", r.Warnings(), c.warning)
			}
			checkOffered(t, r)
		})
	}
}

// checkOffered: no load is reported that was not offered.
func checkOffered(t *testing.T, r Answer) {
	t.Helper()
	for _, rate := range []*float64{r.Passed, r.Failed} {
		if rate == nil {
			continue
		}
		offered := false
		for _, w := range r.Windows {
			offered = offered || w.Load == *rate
		}
		if !offered {
			t.Errorf("%v is reported and was never offered", *rate)
		}
	}
}

// TestCutShort: at any point there is a result of what is known, which says
// that it is not over.
func TestCutShort(t *testing.T) {
	for most := range 11 {
		s := newWorld(7300).search(t, config(t), most)
		if s.Next == nil || s.Answer.Limit != LimitNone || len(s.Answer.Windows) != most {
			t.Fatalf("after %d windows: %+v", most, s)
		}
		checkOffered(t, s.Answer)
	}
}

// TestPaper: the paper's algorithm ramps while the median is near the round-trip
// time, and then goes by the SLA.
func TestPaper(t *testing.T) {
	cfg := config(t)
	cfg.Algorithm, cfg.Fraction = search.Paper, 2
	s := newWorld(7300).search(t, cfg, 200)
	if s.Next != nil || s.Answer.Estimate == nil || *s.Answer.Estimate != 7040 || len(s.Answer.Windows) != 12 {
		t.Errorf("the paper's algorithm: %v after %d windows, want 7040 after 12", s.Answer.Estimate, len(s.Answer.Windows))
	}
}

// TestReview: what is stored of a search is answered as it was, and windows that
// it has not asked for are refused.
func TestReview(t *testing.T) {
	cfg := config(t)
	whole := newWorld(7300).search(t, cfg, 1000).Answer
	var windows []load.Window
	for _, j := range whole.Windows {
		windows = append(windows, j.Window)
	}
	same, err := cfg.Review(windows)
	if err != nil || same.Limit != LimitTarget || *same.Estimate != *whole.Estimate {
		t.Fatalf("limit %s, estimate %v, %v; want those of the search", same.Limit, same.Estimate, err)
	}
	if cut, err := cfg.Review(windows[:4]); err != nil || cut.Limit != LimitNone {
		t.Errorf("of a search that was cut: limit %s, %v; want none", cut.Limit, err)
	}
	for _, n := range []int{0, 4, len(windows)} {
		got, err := cfg.Review(append(windows[:n:n], newWorld(7300).offer(Next{Load: 123})))
		if want := fmt.Sprintf("window %d offered 123 operations/s", n+1); !errors.Is(err, model.ErrInvalid) || !strings.Contains(err.Error(), want) || len(got.Windows) > 0 {
			t.Errorf("with another window after %d: %+v, %v; want model.ErrInvalid and %q", n, got, err, want)
		}
	}
}

// answered makes a window of 10 s in which of due operations those with these
// latencies, n times each, ended well.
func answered(due int64, n int64, latencies ...time.Duration) load.Window {
	w := load.Window{
		Load: float64(due) / 10, Scored: 10 * time.Second, Counts: load.Counts{Due: due},
		Latencies: histogram.New(int64(time.Hour)), Services: histogram.New(int64(time.Hour)), Lags: histogram.New(int64(time.Hour)),
	}
	for _, d := range latencies {
		histogram.RecordMany(w.Latencies, int64(d), n)
		histogram.RecordMany(w.Services, int64(d), n)
		histogram.RecordMany(w.Lags, int64(10*time.Microsecond), n)
		w.Counts.OK += n
		w.Replies += n
	}
	return w
}

// TestShortWindows: what windows are too short to tell is said, and is in the
// interval.
func TestShortWindows(t *testing.T) {
	search := func(scored time.Duration) Answer {
		cfg := config(t)
		cfg.WarmUp, cfg.Scored = time.Second, scored
		return newWorld(7300).search(t, cfg, 100).Answer
	}
	unknown, long, short := search(0), search(10*time.Second), search(2*time.Second)
	for _, c := range []struct {
		r         Answer
		unnoticed float64
		warns     bool
	}{{long, .15 / 10, false}, {short, .15 / 2.8, true}} {
		if got, want := c.r.CI[0], unknown.CI[0]/(1+c.unnoticed); math.Abs(got/want-1) > 1e-9 || c.r.CI[1] != unknown.CI[1] {
			t.Errorf("unnoticed %.3f: interval %v, want it from %v to %v", c.unnoticed, *c.r.CI, want, unknown.CI[1])
		}
		if warns := strings.Contains(strings.Join(c.r.Warnings(), " "), "windows of 2s are short"); warns != c.warns {
			t.Errorf("unnoticed %.3f: warnings %v", c.unnoticed, c.r.Warnings())
		}
	}
}

// TestUnusableIsNotFailed: a load at which all windows were unusable has not
// failed, and nothing says so, neither before the end nor after it.
func TestUnusableIsNotFailed(t *testing.T) {
	w := newWorld(7300)
	w.generator = 500
	s := Search{Target: "t", Config: config(t)}
	s.Answer = w.search(t, s.Config, 3).Answer
	const want = "The search is not over: at least 100 op/s; no valid window failed so far; 1 kop/s not measured yet (2 unusable windows)."
	if got := s.Answer.sentence(); got != want || s.Answer.Failed != nil || strings.Contains(s.Answer.Latest(), "limit is between") {
		t.Errorf("after 3 windows: %q, failed %v, %q; want %q", got, s.Answer.Failed, s.Answer.Latest(), want)
	}
	checkNoFailure(t, s)
	s.Answer = w.search(t, s.Config, 200).Answer
	if a := s.Answer; a.Limit != LimitGenerator || a.Failed != nil || a.Estimate != nil || a.CI != nil || s.takesLess(1e6) {
		t.Errorf("in the end: limit %s, failed %v, estimate %v %v, takes less: %v; want the generators' limit alone", a.Limit, a.Failed, a.Estimate, a.CI, s.takesLess(1e6))
	}
	checkNoFailure(t, s)
}

// checkNoFailure: no line of the figure says that a load failed.
func checkNoFailure(t *testing.T, s Search) {
	t.Helper()
	b := s.boundaryFigure(loadsOf(s.Answer.Windows))
	if b.Empty() {
		t.Fatal("there is no figure of the loads")
	}
	for _, l := range b.Figure.Panels[0].Chart.Layers {
		if strings.HasPrefix(strings.Join(l.Text, ""), "failed") {
			t.Errorf("the figure has a line %q", l.Text)
		}
	}
}

// TestCountsOfWindows: warnings count the windows that a table shows, by their
// verdicts, and loads have their unit.
func TestCountsOfWindows(t *testing.T) {
	w := newWorld(7300)
	w.generator = 2000
	a := w.search(t, config(t), 200).Answer
	unusable := 0
	for _, j := range a.Windows {
		if j.Verdict == Unusable {
			unusable++
		}
	}
	want := fmt.Sprintf("%d of %d windows said nothing about the target; such a window is repeated once, but not after "+
		"several repetitions in vain; where that did not help (%d times) ",
		unusable, len(a.Windows), unusable-(len(a.Windows)-a.Counted))
	if text := strings.Join(a.Warnings(), "\n"); !strings.Contains(text, want) || strings.Contains(text, "missed the SLA at") {
		t.Errorf("warnings %q, want %q, and no missed window", text, want)
	}
	a = Answer{Passed: at(6309.6), Failed: at(7000.), Windows: []Assessment{
		{Window: load.Window{Load: 6309.6}, Verdict: Passed}, {Window: load.Window{Load: 6309.6}, Verdict: Missed},
		{Window: load.Window{Load: 100}, Verdict: Unusable}, {Window: load.Window{Load: 8000}, Verdict: Passed},
	}}
	a.contradictions()
	got := strings.Join(a.Warnings(), "\n")
	for _, part := range []string{"1 of 4 windows missed the SLA at loads up to 6.31 kop/s, which is reported as passed", "1 of 4 windows kept the SLA at loads from 7 kop/s up"} {
		if !strings.Contains(got, part) {
			t.Errorf("contradictions %q, want %q", got, part)
		}
	}
	capped := newWorld(1e9).search(t, config(t), 200).Answer
	if text := strings.Join(capped.Warnings(), "\n"); !strings.Contains(text, "the largest load allowed, 1 Mop/s, passed") {
		t.Errorf("warnings %q, want the load with its unit", text)
	}
}

// TestEstimateOfValidWindows: windows that were unusable when repeated, too, keep
// the search below their load and are no part of its estimate.
func TestEstimateOfValidWindows(t *testing.T) {
	w, cfg := newWorld(7300), config(t)
	r, err := cfg.begin()
	if err != nil {
		t.Fatal(err)
	}
	for !r.over {
		w.generator = 1e12
		if w.windows == 4 || w.windows == 5 { // late at two windows of a load that the target takes
			w.generator = 1
		}
		r.take(w.offer(r.next))
	}
	a, told := r.result(), r.algorithm.Result()
	if a.Limit != LimitTarget || len(r.valid) != len(told.Trials)-1 {
		t.Fatalf("limit %s, %d of %d windows say something; want the target, all but one", a.Limit, len(r.valid), len(told.Trials))
	}
	estimate, low, high, err := search.Fit(cfg.Options, r.valid)
	if err != nil || *a.Estimate != estimate || *a.CI != [2]float64{low / (1 + cfg.unnoticed()), high} {
		t.Errorf("estimate %v in %v; want %v in [%v, %v], %v", *a.Estimate, *a.CI, estimate, low, high, err)
	}
	if estimate == told.Estimate && low == told.Low && high == told.High {
		t.Errorf("with the unusable windows it is the same: %v in [%v, %v]", estimate, low, high)
	}
	if estimate < *a.Passed || estimate > *a.Failed {
		t.Errorf("estimate %v is not between %v and %v", estimate, *a.Passed, *a.Failed)
	}
}

// TestNoEstimateAboveUnusable: where no window missed the SLA there is no
// boundary to estimate, though the search was told to stay below some loads.
func TestNoEstimateAboveUnusable(t *testing.T) {
	r, err := config(t).begin()
	if err != nil {
		t.Fatal(err)
	}
	r.valid = []search.Trial{{Load: 100, Passed: true}, {Load: 1000, Passed: true}}
	told := search.Result{Passed: 1000, Failed: 10000, Estimate: 3000, Low: 1000, High: 10000, Trials: make([]search.Trial, 3)}
	if got := r.withoutUnusable(told, nil); !math.IsNaN(got.Estimate) || num.Finite(got.Low) || num.Finite(got.High) {
		t.Errorf("estimate %v in [%v, %v], want none", got.Estimate, got.Low, got.High)
	}
}
