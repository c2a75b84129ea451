package bottleneck

import (
	"slices"
	"strings"
	"testing"
)

// TestReadsLate: a generator that says nothing of itself and takes answers late is told
// by what the first tier took, and only if nothing in that tier explains the wait.
func TestReadsLate(t *testing.T) {
	for name, c := range map[string]struct {
		took    func(Trial) float64 // response time of the first tier
		cpu     float64             // of which it uses so much
		wait    float64             // share of the response time that it waited for one, before it read a request
		scatter float64             // share of the response time by which seconds differ
		why     string
	}{
		"late":                      {func(Trial) float64 { return .005 }, .2, 0, .1, "the load generator binds: the users waited"},
		"the tier is slow":          {func(t Trial) float64 { return t.Response }, .2, 0, 0, "nothing that was measured was full"},
		"the tier is busy":          {func(Trial) float64 { return .005 }, .75, 0, 0, "nothing that was measured was full"},
		"held up where seconds end": {func(t Trial) float64 { return t.Response * .8 }, .2, 0, .9, "nothing that was measured was full"},
		"the first load found it cold": {func(t Trial) float64 {
			if t.Users == 20 { // requests of before the run, which took longer, are in its mean
				return t.Response + .1
			}
			return t.Response
		}, .2, 0, 0, "nothing that was measured was full"},
		"others are": {func(t Trial) float64 { return t.Response / 2 }, .2, .5, 0, "nothing that was measured was full"},
	} {
		s := system(idle, func(t *Trial) {
			t.Generators = []Generator{{Node: "g"}}
			web := on("web-1", "web", c.cpu, 1, 0)
			web.Signals[SignalRequests] = slices.Repeat([]float64{t.Throughput}, 10)
			web.Signals[SignalResponse] = slices.Repeat([]float64{t.Throughput * c.took(*t)}, 10)
			web.Signals[SignalRunDelay] = slices.Repeat([]float64{t.Throughput * t.Response * c.wait}, 10)
			t.Services = append(t.Services, web)
			for i := range 10 {
				t.Responses = append(t.Responses, t.Response*(1+c.scatter*float64(1-2*(i%2))))
			}
		})
		s.Tiers = []string{"web", "db"}
		if a := Analyze(s); a.Verdict != Unknown || !strings.Contains(a.Why, c.why) {
			t.Errorf("%s: %s, %q, want unknown, for %q", name, a.Verdict, a.Why, c.why)
		}
	}
}

// TestFront: where users reach a service before the first tier, what they wait beyond that
// tier may be there, and is a doubt; the loads count.
func TestFront(t *testing.T) {
	for front, verdict := range map[string]Verdict{"": Unknown, "web": Named} {
		s := system(busy, func(t *Trial) {
			t.Generators = []Generator{{Node: "g"}}
			app := on("app-1", "app", .2, 1, 0)
			app.Signals[SignalRequests] = slices.Repeat([]float64{t.Throughput}, 10)
			app.Signals[SignalResponse] = slices.Repeat([]float64{t.Throughput * .005}, 10)
			t.Services = append(t.Services, app)
		})
		s.Tiers, s.Front = []string{"app", "db"}, front
		a := Analyze(s)
		doubt := said(a.Doubts, "something between users and app takes time: the users waited 491 ms longer than the app tier took, 489 ms longer than with 20 users, and nothing in that tier explains it, first with 120 users and at 1 of the larger loads; they reach web before it")
		if counted := front == "" || a.ExcludedFromRanking != ""; !counted {
			t.Error("its throughput may be ranked, though it may have ended before the first tier")
		}
		arms := s.at(160)
		if why := s.spoiled([]Load{s.sumUpOf(160, arms), s.sumUpOf(160, arms)}); !strings.Contains(why, "may bind") && !strings.Contains(why, "generator binds") {
			t.Errorf("front %q: a proof there is not spoiled: %q", front, why)
		}
		if a.Verdict != verdict || doubt != (front != "") || (Counted(a.Loads)[len(Counted(a.Loads))-1].Users == 160) != (front != "") {
			t.Errorf("front %q: %s, %s, %+v; want %s", front, a.Verdict, a.Why, a.Doubts, verdict)
		}
	}
}

// TestIdleThreadsExplainNothing: threads of the first tier that are full from the first
// users on, and stop nothing, are no reason why users wait longer than it takes.
func TestIdleThreadsExplainNothing(t *testing.T) {
	s := system(busy, func(t *Trial) {
		t.Generators = []Generator{{Node: "g"}}
		app := on("app-1", "app", .2, 1, 0)
		app.Signals[SignalRequests] = slices.Repeat([]float64{t.Throughput}, 10)
		app.Signals[SignalResponse] = slices.Repeat([]float64{t.Throughput * .005}, 10)
		app.Signals[SignalThreads], app.Signals[SignalThreadsMax] = slices.Repeat([]float64{50}, 10), slices.Repeat([]float64{50}, 10)
		t.Services = append(t.Services, app)
	})
	s.Tiers = []string{"app", "db"}
	if a := Analyze(s); a.Verdict != Unknown || !strings.Contains(a.Why, "generator binds") {
		t.Errorf("%s, %q; want that the generator binds", a.Verdict, a.Why)
	}
}
