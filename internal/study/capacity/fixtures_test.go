package capacity

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
)

// Defaults of a search; it lacks an SLA.
func Defaults() Config {
	c, err := newStudy().config()
	if err != nil {
		panic(err)
	}
	return c
}

// State is where a search stands.
type State struct {
	Next   *Next // nil when the search is over
	Answer Answer
}

// Evaluate computes where a search stands after these windows, which are all
// it has had, in order. Windows that another search has asked for are
// model.ErrInvalid.
func (c Config) Evaluate(windows []load.Window) (State, error) {
	r, err := c.begin()
	if err != nil {
		return State{}, err
	}
	if err := r.takeAll(windows); err != nil {
		return State{}, err
	}
	s := State{Answer: r.result()}
	if !r.over {
		next := r.next
		s.Next = &next
	}
	return s, nil
}

// simServer is a server whose latencies are those of a queue: exponential with
// a mean of 2 ms/(1−ρ) below its capacity, a backlog that grows above it, and
// a timeout of 4 s.
type simServer struct {
	capacity       float64 // operations per second
	warmUp, scored int     // seconds of a window
	at             time.Time
}

// simWindow is one window of a search in it.
type simWindow struct {
	load  float64
	phase search.Phase
	slow  float64       // a neighbour makes everything so many times slower; 0: nobody does
	lag   time.Duration // of the generators; 0: they are in time
}

const (
	simSamples = 100 // latencies a window
	simTimeout = 4.0 // seconds
	simTop     = 20 * time.Second
)

// latency of the operation of rank u, from 0 to 1, that is due t seconds after
// the start of the window; ok is false if it timed out.
func (s simServer) latency(w simWindow, u, t float64) (seconds float64, ok bool) {
	rho, mean := w.load/s.capacity, 0.11 // a short window sees no longer queue
	if rho < 1 {
		mean = math.Min(2e-3/(1-rho), mean)
	}
	seconds = 0.4e-3 + mean*-math.Log(1-u) + math.Max(1-1/rho, 0)*t
	seconds = seconds*math.Max(w.slow, 1) + w.lag.Seconds()
	return seconds, seconds < simTimeout
}

// window measures a load.
func (s *simServer) window(w simWindow) load.Window {
	due := int64(w.load) * int64(s.scored)
	each := max(due/simSamples, 1)
	out := load.Window{
		Load: w.load, Start: s.at, Scored: time.Duration(s.scored) * time.Second,
		Counts: load.Counts{Due: each * simSamples}, Latencies: histogram.New(int64(simTop)), Lags: histogram.New(int64(simTop)), Busy: math.Min(w.load/30e3, 1),
		ReceiveLags: histogram.New(int64(simTop)),
	}
	histogram.RecordMany(out.Lags, int64(30*time.Microsecond+w.lag), 1000)
	for i := range simSamples {
		// Ranks are spread over time so that every second has all of them.
		u, t := (float64(i*37%simSamples)+.5)/simSamples, float64(s.warmUp)+float64(i*s.scored)/simSamples
		if seconds, ok := s.latency(w, u, t); ok {
			histogram.RecordMany(out.Latencies, int64(seconds*1e9), each)
			out.Counts.OK += each
			continue
		}
		out.Counts.Errors[load.ErrTimeout] += each
	}
	histogram.RecordMany(out.ReceiveLags, int64(40*time.Microsecond), out.Counts.OK)
	out.Replies = out.Counts.OK
	for k := range s.scored {
		s.second(&out.Seconds, w, k)
	}
	for i := range 20 {
		out.RTT = append(out.RTT, 0.5e-3*(1+0.02*math.Sin(float64(i))))
	}
	s.at = s.at.Add(time.Duration(s.warmUp+s.scored)*time.Second + 300*time.Millisecond)
	return out
}

// second adds second k of those scored.
func (s *simServer) second(to *load.Seconds, w simWindow, k int) {
	at := s.warmUp + k
	ok, p50, p90 := int64(w.load), math.NaN(), math.NaN()
	wiggle := 1 + 0.08*math.Sin(float64(7*k)+w.load)
	if median, in := s.latency(w, .5, float64(at)); in {
		p50 = median * wiggle
		if ninety, in := s.latency(w, .9, float64(at)); in {
			p90 = ninety * wiggle
		} else {
			ok = ok * 6 / 10
		}
	} else {
		ok = 0
	}
	to.Index, to.Due, to.OK, to.Replies = append(to.Index, at), append(to.Due, int64(w.load)), append(to.OK, ok), append(to.Replies, ok)
	to.P50, to.P90 = append(to.P50, p50), append(to.P90, p90)
}

// judge gives a window its verdict: what was missed while the generators were
// late says nothing about the target.
func judge(s load.SLA, phase search.Phase, w load.Window) Assessment {
	j := Assessment{Window: w, Phase: phase, Misses: missed(s, w), Verdict: Passed}
	if len(j.Misses) == 0 {
		return j
	}
	j.Verdict = Missed
	if lag := time.Duration(w.Lags.ValueAtPercentile(99)); lag > 10*time.Millisecond {
		j.Verdict = Unusable
		j.Problems = []reason{*because("the generators sent late: 1 in 100 operations by %s or more, where at most 7.5ms is tolerated", exactly(lag.Round(time.Millisecond)))}
	}
	return j
}

func sla(text string) load.SLA {
	s, err := load.ParseSLA(text)
	if err != nil {
		panic(err)
	}
	return s
}

// searchOf measures windows of a server and judges them.
func (s simServer) searchOf(terms load.SLA, windows []simWindow) Search {
	cfg := Defaults()
	cfg.SLA = terms
	x := Search{Workload: "capacity", Target: "http://10.0.0.7:8080/", Trial: 1, Config: cfg}
	for _, w := range windows {
		j := judge(terms, w.phase, s.window(w))
		x.Answer.Windows = append(x.Answer.Windows, j)
		if j.Verdict != Passed {
			s.at = s.at.Add(3 * time.Second) // it is let off
		}
	}
	return x
}

// oneSearch is a search of a server that takes 7,300 operations per second:
// with p90 ≤ 150 ms the boundary is at 7,076 by arithmetic. One window below it
// is disturbed by a neighbour, in another the generators were late.
func oneSearch() Search {
	server := simServer{capacity: 7300, warmUp: 1, scored: 5, at: day.Add(2 * time.Second)}
	x := server.searchOf(sla("p90=150ms"), []simWindow{
		{load: 100, phase: search.Ramp}, {load: 400, phase: search.Ramp}, {load: 1600, phase: search.Ramp}, {load: 6400, phase: search.Ramp},
		{load: 25600, phase: search.Ramp}, {load: 12800, phase: search.Refine}, {load: 9051, phase: search.Refine, lag: 300 * time.Millisecond},
		{load: 9051, phase: search.Refine}, {load: 7611, phase: search.Refine}, {load: 6979, phase: search.Refine}, {load: 7288, phase: search.Refine},
		{load: 7132, phase: search.Refine}, {load: 7055, phase: search.Refine}, {load: 7055, phase: search.Confirm, slow: 8},
		{load: 7132, phase: search.Confirm}, {load: 7055, phase: search.Confirm}, {load: 7132, phase: search.Confirm},
	})
	x.Answer.Passed, x.Answer.Failed, x.Answer.Estimate, x.Answer.CI = at(7055.), at(7132.), at(7090.), &[2]float64{7010, 7160}
	x.Answer.Limit, x.Answer.Confirmed = LimitTarget, true
	x.Answer.Doubts = doubts(
		"1 of 17 windows missed the SLA at loads up to 7.055 kop/s, which is reported as passed: something else disturbed them",
		"1 of 17 windows said nothing about the target; such a window is repeated once",
	)
	return x
}

// quickSearch is a short search of a server, for trials of which there are
// many.
func quickSearch(workload, target string, trial int, capacityOf float64) Search {
	server := simServer{capacity: capacityOf, scored: 3, at: day.Add(time.Duration(trial) * 15 * time.Minute)}
	estimate := capacityOf * 0.9693
	passed, failed := math.Round(estimate*0.99), math.Round(estimate*1.012)
	x := server.searchOf(sla("p90=150ms"), []simWindow{
		{load: math.Round(capacityOf / 4), phase: search.Ramp}, {load: passed, phase: search.Refine},
		{load: failed, phase: search.Refine}, {load: passed, phase: search.Confirm}, {load: failed, phase: search.Confirm},
	})
	x.Workload, x.Target, x.Trial = workload, target, trial
	x.Answer.Passed, x.Answer.Failed, x.Answer.Estimate = &passed, &failed, &estimate
	x.Answer.CI, x.Answer.Confirmed, x.Answer.Limit = &[2]float64{passed, failed}, true, LimitTarget
	return x
}

// manySearches are three targets in 11 trials; in some of them nothing was
// found, or nothing was confirmed.
func manySearches() []Search {
	var out []Search
	for trial := 1; trial <= 11; trial++ {
		for k, name := range []string{"small", "medium", "large"} {
			capacityOf := 2100 * math.Pow(2, float64(k)) * (1 + 0.02*math.Sin(float64(3*trial+k)))
			if name == "medium" && trial == 7 {
				capacityOf *= 0.55 // a neighbour, for a quarter of an hour
			}
			out = append(out, quickSearch(name, "http://"+name+".test:8080/", trial, capacityOf))
		}
	}
	out[3].Answer.Confirmed, out[3].Answer.Doubts = false, doubts("the boundary was not confirmed: repeated windows disagreed, or there were too few")
	for _, k := range []int{5, 11} {
		r := &out[k].Answer
		r.Limit, r.Estimate, r.CI, r.Failed, r.Confirmed = LimitGenerator, nil, nil, nil, false
		r.Doubts = doubts("the generators could not offer more load in time")
	}
	return out
}

// farTargets are two targets of which one takes ten times as much.
func farTargets() []Search {
	var out []Search
	for trial := 1; trial <= 8; trial++ {
		wave := math.Sin(float64(2 * trial))
		out = append(out, quickSearch("small", "http://small.test:8080/", trial, 1000*(1+.03*wave)),
			quickSearch("large", "http://large.test:8080/", trial, 10300*(1+.008*wave)))
	}
	return out
}

// searchBuilders are what documents must survive.
func searchBuilders() map[string]func() []Search {
	one := func(change func(*Search)) func() []Search {
		return func() []Search {
			x := oneSearch()
			change(&x)
			return []Search{x}
		}
	}
	return map[string]func() []Search{
		"search": one(func(*Search) {}), "searches": manySearches, "long search": longSearch,
		"far targets": farTargets,
		"two trials": func() []Search {
			return []Search{quickSearch("web", "http://web.test/", 1, 4000), quickSearch("web", "http://web.test/", 2, 4080)}
		},
		"refused search": one(refuse), "capped search": one(capped), "floored search": one(floored), "search cut short": one(cutShort),
		"search without windows": one(func(x *Search) { x.Answer = Answer{Limit: LimitNone} }),
		"resumed search":         one(resumed), "two terms": one(twoTerms), "hostile search": one(hostileSearch), "broken search": one(brokenSearch),
	}
}

// refuse ends the search at the generators.
func refuse(x *Search) {
	server := simServer{capacity: 20e3, warmUp: 1, scored: 5, at: day}
	late := simWindow{load: 16000, phase: search.Ramp, lag: 300 * time.Millisecond}
	*x = server.searchOf(x.Config.SLA, []simWindow{{load: 1000, phase: search.Ramp}, {load: 4000, phase: search.Ramp}, late, late, late})
	x.Answer.Passed, x.Answer.Limit = at(4000.), LimitGenerator
	x.Answer.Doubts = doubts("the generators could not offer more load in time, so the target's capacity is unknown; it takes at least the load that passed; use more or larger generators")
}

func capped(x *Search) {
	x.Answer = Answer{Windows: x.Answer.Windows[:4], Passed: at(6400.), Limit: LimitCap}
}

func floored(x *Search) {
	x.Answer = Answer{Windows: x.Answer.Windows[4:6], Failed: at(12800.), Limit: LimitFloor}
}

func cutShort(x *Search) {
	x.Answer = Answer{Windows: x.Answer.Windows[:5], Passed: at(6400.), Failed: at(25600.), Limit: LimitNone}
}

// resumed goes on two hours later.
func resumed(x *Search) {
	for i := 9; i < len(x.Answer.Windows); i++ {
		x.Answer.Windows[i].Start = x.Answer.Windows[i].Start.Add(2 * time.Hour)
	}
}

// twoTerms has an SLA of which the second term binds.
func twoTerms(x *Search) {
	r := x.Answer
	server := simServer{capacity: 7300, warmUp: 1, scored: 5, at: day}
	*x = server.searchOf(sla("p50=140ms,p99.9=400ms,p98=390ms,errors=0.1%"), []simWindow{
		{load: 1600, phase: search.Ramp}, {load: 6400, phase: search.Ramp}, {load: 7132, phase: search.Refine}, {load: 7055, phase: search.Refine},
	})
	x.Answer.Passed, x.Answer.Failed, x.Answer.Estimate, x.Answer.CI, x.Answer.Limit = r.Passed, r.Failed, r.Estimate, r.CI, LimitTarget
}

// longSearch has more loads than a map has room for, and more seconds than a
// course draws one by one.
func longSearch() []Search {
	server := simServer{capacity: 7300, scored: 30, at: day}
	var windows []simWindow
	for i := range 70 {
		windows = append(windows, simWindow{load: 7300 * (0.3 + 0.01*float64(i)), phase: search.Refine})
	}
	x := server.searchOf(sla("p99=300ms"), windows)
	x.Answer.Limit = LimitTarget
	for _, w := range x.Answer.Windows {
		if w.Verdict == Passed {
			x.Answer.Passed = at(w.Load)
		} else if x.Answer.Failed == nil {
			x.Answer.Failed = at(w.Load)
		}
	}
	return []Search{x}
}

// hostileSearch has an attack in every string.
func hostileSearch(x *Search) { poison(reflect.ValueOf(x).Elem()) }

// brokenSearch has values that a damaged store can bring. Loads are those that the search
// asked for, and what it found is finite.
func brokenSearch(x *Search) {
	x.Answer.CI = &[2]float64{0, 1e9}
	for i := range x.Answer.Windows {
		w := &x.Answer.Windows[i]
		switch i % 6 {
		case 0:
			w.Latencies, w.Lags, w.ReceiveLags, w.RTT = nil, nil, nil, nil
		case 2:
			w.Seconds, w.Start = load.Seconds{}, time.Time{}
		case 3:
			w.Seconds.P50[0], w.Seconds.P90[1], w.Seconds.OK[2] = math.NaN(), -1, -4
		case 4:
			w.Counts = load.Counts{}
		case 5:
			w.Start = w.Start.Add(-time.Hour)
		}
	}
}

// TestSimulatedSearchIsOne: the fixture's verdicts are those that its
// arithmetic promises, so that pictures of it are of something true.
func TestSimulatedSearchIsOne(t *testing.T) {
	got := ""
	for _, w := range oneSearch().Answer.Windows {
		got += fmt.Sprintf("%.0f %s\n", w.Load, w.Verdict)
	}
	want := "100 passed\n400 passed\n1600 passed\n6400 passed\n25600 missed\n12800 missed\n9051 unusable\n9051 missed\n7611 missed\n" +
		"6979 passed\n7288 missed\n7132 missed\n7055 passed\n7055 missed\n7132 missed\n7055 passed\n7132 missed\n"
	if got != want {
		t.Errorf("windows are\n%s\nwant\n%s", got, want)
	}
}

func at(v float64) *float64 { return &v }

// day is when everything was measured.
var day = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)

// attack is what comes from outside at its worst.
const attack = "\x1b[31m<script>alert(1)</script>\u202e"

// poison puts an attack into every string but those whose type is a word of ours.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() && v.Type() == reflect.TypeFor[string]() {
			v.SetString(attack)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				poison(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.String && !v.IsNil() {
			v.SetMapIndex(reflect.ValueOf(attack), reflect.ValueOf(attack))
		}
	}
}

// doubts are warnings with these texts.
func doubts(texts ...string) (d model.Doubts) {
	for _, text := range texts {
		d.Warn("test", "%s", text)
	}
	return d
}
