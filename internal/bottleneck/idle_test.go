package bottleneck

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// Resources of the systems below.
var (
	dbCPU      = Resource{Tier: "db", Kind: CPU}
	appThreads = Resource{Tier: "app", Kind: Threads}
	appPool    = Resource{Tier: "app", Kind: Pool}
	webThreads = Resource{Tier: "web", Kind: Threads}
)

// grown makes two trials a load of three tiers that end at 100 op/s, from about 108 users
// on, with what is used of each resource; NaN: it is not known. Processors are idle.
func grown(use func(t Trial) map[Resource]float64) System {
	s := System{Tiers: []string{"web", "app", "db"}}
	for i, users := range []int{25, 50, 100, 150, 200, 300} {
		for trial := 1; trial <= 2; trial++ {
			x := []float64{24.4, 48.4, 91.2, 99.9, 99.9, 100}[i] * (1 + .003*(float64(trial)-1.5))
			t := Trial{Users: users, Trial: trial, Throughput: x, Response: float64(users)/x - 1, Think: 1, Errors: math.NaN()}
			for _, tier := range s.Tiers {
				one := on(model.NodeID(tier+"-1"), tier, x/400, 1, 0)
				for r, u := range use(t) {
					if with := kinds[r.Kind]; r.Tier == tier && !math.IsNaN(u) {
						one.Signals[with.used], one.Signals[with.limit] = slices.Repeat([]float64{u}, 10), slices.Repeat([]float64{1}, 10)
					} else if r.Tier == tier {
						delete(one.Signals, with.used)
					}
				}
				t.Services = append(t.Services, one)
			}
			s.Trials = append(s.Trials, t)
		}
	}
	return s
}

// TestFullEarly: threads and connections that were full while the throughput grew are
// not what ended it, and explain nothing else that is full.
func TestFullEarly(t *testing.T) {
	const early = "of app were full from 25 users on, while the throughput grew to 4.1 times as much: not only work holds them"
	work := func(t Trial) float64 { return math.Min(1, t.Throughput/99) }
	from := func(t Trial, users int, of float64) float64 {
		if t.Users >= users {
			return 1
		}
		return of
	}
	for name, c := range map[string]struct {
		use   func(t Trial) map[Resource]float64
		want  []Resource
		why   string
		doubt string
	}{
		"full always": {func(Trial) map[Resource]float64 { return map[Resource]float64{appThreads: 1} }, nil, "the threads " + early, ""},
		"a pool":      {func(Trial) map[Resource]float64 { return map[Resource]float64{appPool: 1} }, nil, "the connection pool of app was full from 25 users on", ""},
		"beside a processor that is busy": {func(t Trial) map[Resource]float64 {
			return map[Resource]float64{appThreads: 1, dbCPU: .92 * work(t)}
		}, nil, "the processor of db was 92.0 % busy with 300 users, and not full", "the threads " + early},
		"in front of one that is full": {func(t Trial) map[Resource]float64 { return map[Resource]float64{appThreads: 1, dbCPU: work(t)} }, []Resource{dbCPU}, "", "the threads " + early},
		"behind what binds":            {func(t Trial) map[Resource]float64 { return map[Resource]float64{appThreads: 1, webThreads: work(t)} }, []Resource{webThreads}, "", "the threads " + early},
		"from below the knee on":       {func(t Trial) map[Resource]float64 { return map[Resource]float64{appThreads: from(t, 50, .5)} }, nil, "full from 50 users on", ""},
		"busy always, and full": {func(t Trial) map[Resource]float64 { return map[Resource]float64{appThreads: from(t, 150, .93)} }, []Resource{appThreads}, "",
			"the throughput grew on though the threads of app were 93.0 % busy with 25 users, for each was held for 65.5 % less time with more"},
		"cold at first": {func(t Trial) map[Resource]float64 {
			if t.Users == 25 {
				return map[Resource]float64{appThreads: 1}
			}
			return map[Resource]float64{appThreads: work(t)}
		}, []Resource{appThreads}, "", ""},
		"with the throughput": {func(t Trial) map[Resource]float64 { return map[Resource]float64{appThreads: work(t)} }, []Resource{appThreads}, "", ""},
	} {
		a := Analyze(grown(c.use))
		var got []Resource
		for _, b := range a.Bottlenecks {
			got = append(got, b.Resource)
		}
		if !slices.Equal(got, c.want) || !strings.Contains(a.Why, c.why) || c.doubt != "" && !said(a.Doubts, c.doubt) || c.doubt == "" && c.want != nil && len(a.Doubts) > 0 || len(a.Symptoms)+len(a.Later) > 0 {
			t.Errorf("%s: %v, %q, symptoms %v, later %v, doubts %+v; want %v, %q, %q", name, got, a.Why, a.Symptoms, a.Later, a.Doubts, c.want, c.why, c.doubt)
		}
	}
}

// TestFullEarlyWaiting: where requests are known to have waited for a pool, it is held for
// less time as an operation takes less of a processor: by a part it is named with a
// doubt, by half or more it is not.
func TestFullEarlyWaiting(t *testing.T) {
	for name, c := range map[string]struct {
		first   float64 // op/s with 60 users, where it is full already
		waits   bool
		verdict Verdict
	}{
		"a fifth": {64, true, Named}, "a fifth, nothing of who waits": {64, false, Unknown}, "more than half": {38, true, Unknown}, "no growth": {80, true, Named},
	} {
		s := system(idle, func(t *Trial) {
			if t.Users == 60 {
				t.Throughput = c.first * (1 + .002*float64(t.Trial))
				t.Response = 60/t.Throughput - 1
			}
			one := on("app-1", "app", .1, 1, 0)
			use := 1.0
			if t.Users < 60 {
				use = t.Throughput / 80
			}
			one.Signals[SignalPool], one.Signals[SignalPoolMax] = slices.Repeat([]float64{use}, 10), slices.Repeat([]float64{1}, 10)
			if c.waits {
				one.Signals[SignalPoolWaiting] = slices.Repeat([]float64{3}, 10)
			}
			t.Services = append(t.Services, one)
		})
		s.Tiers = []string{"app", "db"}
		a := Analyze(s)
		if a.Verdict != c.verdict || contains(a.Doubts, "demand_falls") != (name == "a fifth") {
			t.Errorf("%s: %s, knee %v, %q, doubts %+v; want %s", name, a.Verdict, a.Knee, a.Why, a.Doubts, c.verdict)
		}
	}
}

// TestBusyByChance: a trial at low load that had few operations says nothing of threads
// that bind, by a tenth or more of the time for which each is held.
func TestBusyByChance(t *testing.T) {
	for low, told := range map[[2]float64]bool{{1, 1}: false, {.7, 1}: false, {.8, .8}: true, {.45, .45}: true} {
		s := grown(func(t Trial) map[Resource]float64 {
			return map[Resource]float64{appThreads: math.Min(1, .9+t.Throughput/990)}
		})
		for i := range s.Trials {
			one := &s.Trials[i]
			if one.Throughput = 99 * (1 + .06*float64(one.Trial%2)); one.Users == 25 {
				one.Throughput *= low[one.Trial-1]
			}
			one.Response = float64(one.Users)/one.Throughput - one.Think
		}
		loads := Analyze(s).Loads
		e, ok := filledSince(loads, loads[len(loads)-1], appThreads, func(u Usage) bool {
			return u.Mean >= minUtilisationAtKnee
		})
		if (ok && e.freed >= materialLoss) != told {
			t.Errorf("with %v of the operations at the first load it is told: %v, freed %v; want %v", low, ok, e.freed, told)
		}
	}
}

// TestFullEarlyBelow: where the throughput does not bend, what is full without work does
// not make it unclear whether it would.
func TestFullEarlyBelow(t *testing.T) {
	s := grown(func(Trial) map[Resource]float64 { return map[Resource]float64{appThreads: 1} })
	for i := range s.Trials {
		one := &s.Trials[i]
		one.Throughput, one.Response = float64(one.Users)/1.02*(1+.002*float64(one.Trial)), .02
	}
	if a := Analyze(s); a.Verdict != None || !contains(a.Doubts, "full_early") {
		t.Errorf("%s, %q, doubts %+v; want none, and that the threads were full", a.Verdict, a.Why, a.Doubts)
	}
}

// TestSeldomMeasured: what is named and not every trial tells of is told by the others,
// with a doubt; that it was not seen below does not say that it would not be seen.
func TestSeldomMeasured(t *testing.T) {
	for name, c := range map[string]struct {
		known func(t Trial) bool
		want  []string
	}{
		"all":            {func(Trial) bool { return true }, nil},
		"one of two":     {func(t Trial) bool { return t.Trial == 1 }, []string{"the connection pool of app was measured in 1 of 2 trials with 150 users only: how full it was is told from those"}},
		"last load only": {func(t Trial) bool { return t.Users == 300 && t.Trial == 1 }, []string{"the connection pool of app was measured in 1 of 2 trials with 300 users only", "was not measured with 25 users, nor in 4 more of 6 loads: it was full at other loads, and whether it was there is not known"}},
	} {
		a := Analyze(grown(func(t Trial) map[Resource]float64 {
			if !c.known(t) {
				return nil
			}
			return map[Resource]float64{appPool: math.Min(1, t.Throughput/99)}
		}))
		if a.Verdict != Named || a.Bottlenecks[0].Resource != appPool || len(a.Doubts) != len(c.want) {
			t.Fatalf("%s: %s %+v, doubts %+v; want the pool, and %q", name, a.Verdict, a.Bottlenecks, a.Doubts, c.want)
		}
		for _, want := range c.want {
			if !said(a.Doubts, want) {
				t.Errorf("%s: doubts %+v, want %q", name, a.Doubts, want)
			}
		}
	}
}
