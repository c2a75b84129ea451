package bottleneck

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// tiersOf makes trials of services that each use so many cores of a quota for an
// operation, with users who think for a second and wait for nothing but that at full
// speed, up to a limit.
func tiersOf(users []int, limit float64, tiers []string, work, quota []float64) System {
	s := System{Name: "1", Tiers: tiers}
	alone := 0.0
	for _, w := range work {
		alone += w
	}
	for _, n := range users {
		for trial := 1; trial <= 2; trial++ {
			x := math.Min(float64(n)/(1+alone), limit) * (1 - .002*float64(trial))
			t := Trial{Users: n, Trial: trial, Throughput: x, Response: float64(n)/x - 1, Think: 1, Cores: map[model.NodeID]float64{}}
			for i, tier := range tiers {
				t.Services = append(t.Services, on(model.NodeID(tier+"-1"), tier, x*work[i], quota[i], 0))
			}
			s.Trials = append(s.Trials, t)
		}
	}
	return s
}

// TestBoundsOfQuotas: figures of a lab. A processor with a quota of 0.15 cores, of which
// an operation takes 4 ms, answers one that comes alone in 4 ms and not in 27, for the
// quota is that of 100 ms. So 7 users get 6.9 operations a second, and no bound may lie
// below. The model begins where the measurement does.
func TestBoundsOfQuotas(t *testing.T) {
	a := Analyze(tiersOf([]int{7, 14, 28, 42, 56, 70}, 37, []string{"web", "app", "db"}, []float64{.002, .004, .003}, []float64{.2, .15, .2}))
	l := a.Laws
	for _, p := range l.Points {
		if p.Throughput > p.Hi || p.Lo > p.Throughput {
			t.Errorf("%d users: %.2f/s is not within %.2f and %.2f", p.Users, p.Throughput, p.Lo, p.Hi)
		}
	}
	if p := l.Points[0]; math.Abs(p.Hi-7/1.009) > .001 || math.Abs(*p.Off) > 1e-3 || !(l.Delay < -.03) {
		t.Errorf("%+v with a delay of %v, want at most 6.94/s, a model of as much as was measured, and a delay of less than -30 ms", p, l.Delay)
	}
	// N* is the response time alone and the think time, times 37.5 a second.
	if l.UsersAtKnee == nil || math.Abs(*l.UsersAtKnee-37.5*1.009) > .1 {
		t.Errorf("users at the knee %v, want 37.8", value(l.UsersAtKnee))
	}
}

// TestSharedDemand: what a service uses of a host that it shares counts once, whichever
// of the host and its own limit allows less.
func TestSharedDemand(t *testing.T) {
	for name, quota := range map[string][]float64{"the host binds": {1.5, 1.5}, "a limit of its own binds": {.5, 2}} {
		s := tiersOf([]int{20, 40, 80, 120, 160, 200}, 95, []string{"app", "db"}, []float64{.005, .005}, quota)
		for i := range s.Trials {
			s.Trials[i].Cores["n1"] = 2
			for j := range s.Trials[i].Services {
				s.Trials[i].Services[j].Node = "n1"
			}
		}
		a := Analyze(s)
		if n := slices.IndexFunc(a.Laws.Demands, func(d Demand) bool { return d.Resource == Resource{Tier: "app+db", Kind: CPU} }); n < 0 || len(a.Laws.Demands) < 2 {
			t.Fatalf("%s: demands %+v, want those of the host and its services", name, a.Laws.Demands)
		}
		if got := a.Laws.fullSpeed(); math.Abs(got-.01) > 1e-9 {
			t.Errorf("%s: an operation takes %v s of processors, want 0.01", name, got)
		}
		sum := 0.0
		for i, v := range a.Laws.once() {
			if a.Laws.Demands[i].Kind == CPU {
				sum += v
			}
		}
		if math.Abs(sum-.01) > 1e-9 {
			t.Errorf("%s: stations have %v s, want 0.01", name, sum)
		}
	}
}

// TestIncompleteReadings: a resource of which one trial, the first, tells nothing, or
// one host less, keeps its place among the demands, with a doubt.
func TestIncompleteReadings(t *testing.T) {
	for name, spoil := range map[string]func(*Trial){
		"nothing in the first": func(x *Trial) { x.Services = x.Services[:0] },
		"one host less":        func(x *Trial) { x.Services = x.Services[:1] },
	} {
		s := tiersOf([]int{20, 40, 60, 80}, 1000, []string{"app", "db"}, []float64{.002, .002}, []float64{1, 1})
		for i := range s.Trials {
			s.Trials[i].Services[0].Tier = "db"
		}
		spoil(&s.Trials[0])
		a := Analyze(s)
		d := a.Laws.Demands
		if len(d) != 1 || d[0].Hosts != 2 || math.Abs(d[0].Limit()/500-1) > 1e-6 || !contains(a.Doubts, "demand_incomplete") {
			t.Errorf("%s: demands %+v, doubts %+v; want 500/s by two hosts, with a doubt", name, d, a.Doubts)
		}
	}
}

// TestSpoiledProof: trials of a proof are held to what those of other loads are, and
// whatever is unclear has a reason.
func TestSpoiledProof(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(after *Trial)
		trials  int
		factor  float64
		outcome Outcome
		why     string
	}{
		"well":              {func(*Trial) {}, 2, 1.25, Confirmed, ""},
		"generator":         {func(x *Trial) { x.Generators[0].Busy = .95 }, 2, 1.25, Unclear, "the load generator binds: a generator was busy"},
		"law":               {func(x *Trial) { x.Think = .5 }, 2, 1.25, Unclear, "where the law says 100 %"},
		"errors":            {func(x *Trial) { x.Errors = .05 }, 2, 1.25, Unclear, "5.0 % of the operations failed"},
		"one trial":         {func(*Trial) {}, 1, 1.25, Unclear, "an interval takes two trials"},
		"nothing to expect": {func(*Trial) {}, 2, 1.01, Unclear, "no growth was to be expected"},
		"half of it": {func(x *Trial) {
			x.Throughput = 80 * (1.125 + .1*(float64(x.Trial)-1.5))
			x.Response = float64(x.Users)/x.Throughput - x.Think
		}, 2, 1.25, Unclear, "more trials would tell"},
	} {
		s := system(busy, nil)
		var before, after []Trial
		for trial := 1; trial <= c.trials; trial++ {
			before = append(before, closed(160, trial, 80, busy))
			faster := closed(160, trial, 80*c.factor, busy)
			faster.Services[0].Signals[SignalQuota] = slices.Repeat([]float64{c.factor}, 20)
			c.change(&faster)
			after = append(after, faster)
		}
		p := Prove(s, []Raise{{Resource: Resource{Tier: "db", Kind: CPU}, Factor: c.factor}}, before, after)
		if p.Outcome != c.outcome || !strings.Contains(p.Why, c.why) || p.Outcome == Unclear && p.Why == "" {
			t.Errorf("%s: %s, %q; want %s, %q", name, p.Outcome, p.Why, c.outcome, c.why)
		}
	}
}

// TestPredictedWithDelay: what users wait for that no resource explains limits what they
// can ask for, and so what a faster processor can give.
func TestPredictedWithDelay(t *testing.T) {
	s := System{Tiers: []string{"db"}}
	trial := func(users int, x float64) Trial {
		one := closed(users, 0, x, busy)
		one.Throughput, one.Response = x, float64(users)/x-1
		return one
	}
	s.Trials = []Trial{trial(20, 10)} // a second of waiting, for what is not measured
	at := s.sumUpOf(160, []Trial{trial(160, 76)})
	if got, want := s.predicted(at, []Raise{{Resource: Resource{Tier: "db", Kind: CPU}, Factor: 1.25}}), 160/2./76; math.Abs(got-want) > 1e-9 {
		t.Errorf("predicted %v, want %v", got, want)
	}
}

// TestPredictedPool: of a connection that is held for 20 ms, half of it on the database's
// processor, there are two instead of one. By mean value analysis the second finds the
// other there half of the time: 2/(10 ms + 15 ms) instead of 1/20 ms. Threads in front of
// the pool are full because of it, and those behind it are a limit.
func TestPredictedPool(t *testing.T) {
	s := System{Tiers: []string{"app", "db"}}
	s.Trials = []Trial{closed(20, 0, 80, busy)}
	for _, c := range []struct{ threads, want float64 }{{1, 1.6}, {4, 1.25}} {
		at := closed(160, 0, 50, func(float64) float64 { return .5 })
		app, db := Service{Tier: "app", Node: "app-1", Signals: map[string][]float64{}}, at.Services[0]
		for name, v := range map[string]float64{SignalPool: 1, SignalPoolMax: 1, SignalPoolWaiting: 9, SignalThreads: 10, SignalThreadsMax: 10, SignalThreadsQueue: 9} {
			app.Signals[name] = slices.Repeat([]float64{v}, 20)
		}
		db.Signals[SignalThreads], db.Signals[SignalThreadsMax] = slices.Repeat([]float64{c.threads}, 20), slices.Repeat([]float64{5}, 20)
		at.Services = append(at.Services, app)
		got := s.predicted(s.sumUpOf(160, []Trial{at}), []Raise{{Resource: Resource{Tier: "app", Kind: Pool}, Factor: 2}})
		if math.Abs(got-c.want) > 1e-6 {
			t.Errorf("with %v of 5 threads behind it busy, predicted %v, want %v", c.threads, got, c.want)
		}
	}
}

// TestExceeded: where an operation takes less with more users, the bound from its demand
// at low load is none, and that is said.
func TestExceeded(t *testing.T) {
	l := &Laws{Limit: num.IfFinite(100), LimitCI: &stats.Interval{Lo: 95, Hi: 106},
		Points: []Point{{Users: 50, Throughput: 49, Hi: 50}, {Users: 120, Throughput: 105, Hi: 100}, {Users: 200, Throughput: 140, Hi: 100}}}
	measured := []Load{{CI: &stats.Interval{Lo: 48, Hi: 50}}, {CI: &stats.Interval{Lo: 104, Hi: 106}},
		{CI: &stats.Interval{Lo: 130, Hi: 150}}}
	for name, loads := range map[string][]Load{"120 users are within the limit's interval": measured,
		"of one trial": make([]Load, 3)} {
		a := analysis{Answer: &Answer{Laws: l}, counted: loads}
		l.ExceededFrom = 0
		if a.exceeded(); len(a.doubts) != 1 || l.ExceededFrom != 200 {
			t.Errorf("%s: from %d users, %v, want from 200", name, l.ExceededFrom, a.doubts)
		}
	}
}
