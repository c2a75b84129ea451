package bottleneck

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// closed makes a trial of a closed system whose throughput has a limit, with the
// utilisation of its database in each of 20 seconds.
func closed(users, trial int, limit float64, use func(share float64) float64) Trial {
	const think = 1.0
	x := math.Min(float64(users)/1.01, limit) * (1 + .002*float64(trial))
	t := Trial{Users: users, Trial: trial, Throughput: x, Response: float64(users)/x - think, Think: think, Generators: []Generator{{Node: "g", Busy: .1, Lag: 0}}}
	db := Service{Tier: "db", Node: "db-1", Signals: map[string][]float64{}}
	for range 20 {
		db.Signals[SignalCPU] = append(db.Signals[SignalCPU], use(math.Min(1, x/limit)))
		db.Signals[SignalQuota] = append(db.Signals[SignalQuota], 1)
		db.Signals[SignalSendQueue] = append(db.Signals[SignalSendQueue], float64(users*users))
	}
	t.Services = append(t.Services, db)
	return t
}

func system(use func(share float64) float64, change func(*Trial)) System {
	s := System{Name: "1", Tiers: []string{"db"}}
	for _, users := range []int{20, 40, 60, 80, 120, 160} {
		for trial := 1; trial <= 2; trial++ {
			t := closed(users, trial, 80, use)
			if change != nil {
				change(&t)
			}
			s.Trials = append(s.Trials, t)
		}
	}
	return s
}

func busy(share float64) float64 { return share }
func idle(share float64) float64 { return .3 * share }

// TestAnalyze: what is told of systems by what is wrong with their trials.
func TestAnalyze(t *testing.T) {
	for name, c := range map[string]struct {
		s       System
		verdict Verdict
		why     string
		doubt   string
	}{
		"nothing":           {System{Tiers: []string{"db"}}, Unknown, "a knee takes 4 loads, and 0 loads are here", ""},
		"a database":        {system(busy, nil), Named, "", ""},
		"a hidden limit":    {system(idle, nil), Unknown, "nothing that was measured was full beyond the knee", ""},
		"a busy generator":  {system(busy, func(t *Trial) { t.Generators[0].Busy = float64(t.Users) / 60 }), Unknown, "from 60 users on the load generator binds: a generator was busy for 100.0 % of the time", ""},
		"a late generator":  {system(busy, func(t *Trial) { t.Generators[0].Lag = 1 }), Unknown, "already with 20 users: a generator sent one in a hundred of its requests 1.00 s late", ""},
		"errors":            {system(busy, func(t *Trial) { t.Errors = .2 }), Unknown, "20.0 % of the operations failed", "errors"},
		"errors far beyond": {system(busy, func(t *Trial) { t.Errors = map[bool]float64{true: .3, false: 0}[t.Users == 160] }), Named, "", "errors"},
		"users missing":     {system(busy, func(t *Trial) { t.Think *= .5 }), Unknown, "where the law says 100 %", "closed_loop"},
		"a blind tier":      {func() System { s := system(busy, nil); s.Tiers = []string{"web", "db"}; return s }(), Named, "", "blind"},
		"below the knee":    {func() System { s := system(busy, nil); s.Trials = s.Trials[:6]; return s }(), Unknown, "a knee takes 4 loads, and 3 loads are here", ""},
	} {
		a := Analyze(c.s)
		if a.Verdict != c.verdict || !strings.Contains(a.Why, c.why) {
			t.Errorf("%s: %s, %q; want %s, %q", name, a.Verdict, a.Why, c.verdict, c.why)
		}
		if found := contains(a.Doubts, c.doubt); !found {
			t.Errorf("%s: doubts %+v, want %q", name, a.Doubts, c.doubt)
		}
		if _, err := json.Marshal(a); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func contains(doubts []model.Doubt, code string) bool {
	for _, d := range doubts {
		if d.Code == code {
			return true
		}
	}
	return code == ""
}

// TestSuspects: where nothing is full, what grows with what is lost comes first, be it what
// waits to be sent or what waits to be read. Of four
// loads it may be chance, however often each was measured.
func TestSuspects(t *testing.T) {
	for loads, sure := range map[int]bool{4: false, 7: true} {
		s := System{Tiers: []string{"db"}}
		for i := range loads {
			for trial := 1; trial <= 5; trial++ {
				s.Trials = append(s.Trials, closed(20*(i+1), trial, 38, idle))
			}
		}
		a := Analyze(s)
		if len(a.Suspects) == 0 || a.Suspects[0].Signal != SignalSendQueue || a.Suspects[0].Significant() != sure || !(a.Suspects[0].P > 0) {
			t.Errorf("%d loads: suspects %+v, want the Send-Q first, significant: %v", loads, a.Suspects, sure)
		}
		for _, trial := range s.Trials { // a service that does not read, with nothing to send
			of := trial.Services[0].Signals
			of[SignalReceiveQueue], of[SignalSendQueue] = of[SignalSendQueue], make([]float64, len(of[SignalSendQueue]))
		}
		if b := Analyze(s); b.Suspects[0].Signal != SignalReceiveQueue || b.Suspects[0].Significant() != sure {
			t.Errorf("%d loads: suspects %+v, want the Recv-Q first, significant: %v", loads, b.Suspects, sure)
		}
		if few := strings.Contains(a.Why, "4 loads are too few to tell"); few == sure {
			t.Errorf("%d loads: %s", loads, a.Why)
		}
	}
}

// TestUneven: a host that is full while the other is not is named itself.
func TestUneven(t *testing.T) {
	s := system(busy, nil)
	for i := range s.Trials {
		other := Service{Tier: "db", Node: "db-2", Signals: map[string][]float64{}}
		for range 20 {
			other.Signals[SignalCPU], other.Signals[SignalQuota] = append(other.Signals[SignalCPU], .2), append(other.Signals[SignalQuota], 1)
		}
		s.Trials[i].Services = append(s.Trials[i].Services, other)
	}
	a := Analyze(s)
	want := Resource{"db", CPU, "db-1"}
	if a.Verdict != Named || len(a.Bottlenecks) != 1 || a.Bottlenecks[0].Resource != want {
		t.Errorf("%s %+v, want %s", a.Verdict, a.Bottlenecks, want)
	}
	// It allows 80/s, and not what both could do together; a request uses either.
	if l, last := a.Laws, a.Laws.Points[len(a.Laws.Points)-1]; l.By != want || math.Abs(*l.Limit/80-1) > .01 || math.Abs(*last.Off) > .01 || len(l.stations()) != 2 {
		t.Errorf("limit %v by %s, model off by %v with %d users; want 80 by %s, and a model that fits", value(l.Limit), l.By, *last.Off, last.Users, want)
	}
}

// TestPartlyMeasured: a host that is full is not named where another was not measured.
func TestPartlyMeasured(t *testing.T) {
	s := system(busy, func(t *Trial) {
		t.Services = append(t.Services, Service{Tier: "db", Node: "db-2", Signals: map[string][]float64{SignalSendQueue: slices.Repeat([]float64{1}, 20)}})
	})
	a := Analyze(s)
	if a.Verdict != Unknown || !strings.Contains(a.Why, "the processor of db host db-1 was full with 120 users, and not all hosts of its tier were measured") {
		t.Errorf("%s %+v: %s", a.Verdict, a.Bottlenecks, a.Why)
	}
	if !said(a.Doubts, "the processor of db was not measured on all of its hosts:") {
		t.Errorf("doubts %+v", a.Doubts)
	}
	// So with threads that one host tells of, first with 60 users; the processor binds.
	s = system(busy, func(t *Trial) {
		t.Services = append(t.Services, on("app-1", "app", .1, 1, 0), on("app-2", "app", .1, 1, 0))
		for _, x := range t.Services[1:] {
			if x.Node == "app-1" || t.Users < 60 {
				x.Signals[SignalThreads], x.Signals[SignalThreadsMax] = slices.Repeat([]float64{2}, 10), slices.Repeat([]float64{9}, 10)
			}
		}
	})
	s.Tiers = []string{"app", "db"}
	if a = Analyze(s); a.Verdict != Named || !said(a.Doubts, "the threads of app were not measured on all of its hosts with 60 users, nor in 3 more of 6 loads") {
		t.Errorf("%s, doubts %+v", a.Verdict, a.Doubts)
	}
}

func said(doubts []model.Doubt, text string) bool {
	return slices.ContainsFunc(doubts, func(d model.Doubt) bool { return strings.Contains(d.Text, text) })
}

// TestWithdrawn: what is withdrawn is nowhere told.
func TestWithdrawn(t *testing.T) {
	full := func(t *Trial) {
		one := on("app-1", "app", .1, 1, 0)
		use := math.Min(1, float64(t.Users)/100)
		one.Signals[SignalPool], one.Signals[SignalPoolMax] = slices.Repeat([]float64{use}, 10), slices.Repeat([]float64{1}, 10)
		t.Services = append(t.Services, one)
	}
	s := system(busy, full)
	s.Tiers = []string{"app", "db"}
	if a := Analyze(s); a.Verdict != Named || len(a.Symptoms) != 1 || a.Load == 0 {
		t.Fatalf("%s %+v, want the pool a symptom", a.Verdict, a.Symptoms)
	}
	for i := range s.Trials {
		s.Trials[i].Errors = .2
	}
	if a := Analyze(s); a.Verdict != Unknown || len(a.Bottlenecks)+len(a.Symptoms)+len(a.Later)+a.Load != 0 || a.Pattern != "" {
		t.Errorf("%+v, want nothing named", a)
	}
}

// TestRefusedAbove: loads above one that the generator bound are refused, too.
func TestRefusedAbove(t *testing.T) {
	a := Analyze(system(busy, func(t *Trial) { t.Generators[0].Busy = map[bool]float64{true: .95, false: .1}[t.Users == 80] }))
	for _, l := range a.Loads {
		if above := strings.Contains(l.Refused, "the load generator was the limit from 80 users on"); (l.Refused != "") != (l.Users >= 80) || above != (l.Users > 80) {
			t.Errorf("%d users: %q", l.Users, l.Refused)
		}
	}
}

// TestBeyondServer: the response time of the first tier has what waits for its threads,
// and hosts that tell requests only tell nothing of it.
func TestBeyondServer(t *testing.T) {
	s := system(idle, func(t *Trial) {
		t.Response = .5
		tell := func(x Service, name string, v float64) { x.Signals[name] = slices.Repeat([]float64{v}, 10) }
		for _, node := range []model.NodeID{"web-1", "web-2"} {
			x := on(node, "web", .1, 1, 0)
			tell(x, SignalRequests, map[model.NodeID]float64{"web-1": 10, "web-2": 30}[node])
			if node == "web-1" && t.Users != 60 {
				tell(x, SignalResponse, 2)
				tell(x, SignalThreadsQueue, 2)
				tell(x, SignalAcceptQueue, 1)
			}
			t.Services = append(t.Services, x)
		}
	})
	s.Tiers = []string{"web", "db"}
	// 0.5 s of the users less 0.2 s of the tier and 0.1 s before it accepts.
	if got := s.beyondServer(s.sumUp(20)); math.Abs(got-.2) > 1e-9 {
		t.Errorf("%v s beyond the first tier, want 0.2", got)
	}
	got, _ := s.sumUp(20).Served("web")
	unknown, _ := s.sumUp(60).Served("web")
	if math.Abs(got-.2) > 1e-9 || !math.IsNaN(unknown) {
		t.Errorf("%v s in the first tier, and %v with 60 users; want 0.2, and that it is not known", got, unknown)
	}
	if a := Analyze(s); !said(a.Doubts, "the response time as web sees it is not known, first with 60 users") {
		t.Errorf("doubts %+v", a.Doubts)
	}
}

// TestOneFull: how often one of several was full is told of them alone.
func TestOneFull(t *testing.T) {
	s := System{Tiers: []string{"app", "db"}}
	for _, users := range []int{20, 40, 60, 80, 120, 160} {
		for trial := 1; trial <= 2; trial++ {
			one := closed(users, trial, 80, busy)
			use := func(from, to int) (out []float64) {
				for i := range 40 {
					switch {
					case users <= 80:
						out = append(out, .75*float64(users)/80)
					case i >= from && i < to:
						out = append(out, 1)
					default:
						out = append(out, .5)
					}
				}
				return out
			}
			ones := slices.Repeat([]float64{1}, 40)
			app := Service{Tier: "app", Node: "app-1", Signals: map[string][]float64{SignalCPU: use(0, 19), SignalQuota: ones, SignalPool: use(36, 40), SignalPoolMax: ones}}
			one.Services = []Service{app, {Tier: "db", Node: "db-1", Signals: map[string][]float64{SignalCPU: use(19, 37), SignalQuota: ones}}}
			s.Trials = append(s.Trials, one)
		}
	}
	a := Analyze(s)
	if a.Verdict != Named || len(a.Bottlenecks) != 2 || math.Abs(value(a.OneFull)-37./40) > 1e-9 || a.Loads[4].Any != 1 {
		t.Errorf("%s %s %+v, one full in %v, %s; want app and db, one of them in 92.5 %%", a.Verdict, a.Pattern, a.Bottlenecks, value(a.OneFull), a.Why)
	}
}

// TestDoubtsOfLoads: what speaks against several loads is one doubt, which names them.
func TestDoubtsOfLoads(t *testing.T) {
	a := Analyze(system(busy, func(t *Trial) {
		t.NoLink = .02
		if t.Users >= 120 {
			t.Errors, t.Unfinished = float64(t.Users)/800, 3
		}
	}))
	for _, want := range []string{
		"15.0 % of the operations failed with 120 users (6 of them because the trial ended before they did: a longer ramp-down waits for them), and what those cost is not known",
		"20.0 % of the operations failed with 160 users (6 of them",
		"2.0 % of the pages had no link to where the user wanted to go with 20 users, 2.0 % with 40, 2.0 % with 60, 2.0 % with 80, 2.0 % with 120, 2.0 % with 160: those users",
	} {
		if !said(a.Doubts, want) {
			t.Errorf("doubts %+v, want %q", a.Doubts, want)
		}
	}
	if a.Verdict != Unknown || len(a.Doubts) != 4 || value(a.Loads[0].NoLink) != .02 {
		t.Errorf("%s, %d doubts, want unknown and four with that about the generator", a.Verdict, len(a.Doubts))
	}
}

// TestColdFirst: a first load that was slow makes no growth of what bends above it.
func TestColdFirst(t *testing.T) {
	for first, verdict := range map[float64]Verdict{30: Unknown, 49: Unknown} {
		s := System{Tiers: []string{"db"}}
		for users, x := range map[int]float64{50: first, 100: 98, 150: 140, 200: 150} {
			one := closed(users, 0, 300, busy)
			one.Throughput, one.Response = x, float64(users)/x-1
			s.Trials = append(s.Trials, one)
		}
		if a := Analyze(s); a.Knee != nil || a.Verdict != verdict || !strings.Contains(a.Why, "with 200 users the throughput is 23.5 % behind the users") {
			t.Errorf("%v op/s first: %s, knee %+v, %s; want %s", first, a.Verdict, a.Knee, a.Why, verdict)
		}
	}
}

// TestFallToNothing: an application that does nothing any more has fallen; one that did
// nothing at another load leaves the interval of a fall as it is.
func TestFallToNothing(t *testing.T) {
	for at, lost := range map[int]float64{160: 1, 120: .5} {
		s := system(busy, func(t *Trial) {
			switch t.Users {
			case at:
				t.Throughput, t.Response = 0, math.NaN()
			case 160:
				t.Throughput *= .5
			}
		})
		var loads []Load
		for _, users := range s.loads() {
			loads = append(loads, s.sumUp(users))
		}
		if f := findFall(loads); f == nil || math.Abs(f.Lost-lost) > .01 || !f.Sure || (f.CI == nil) != (lost == 1) {
			t.Errorf("nothing with %d users: %+v, want a fall by %v", at, f, lost)
		}
	}
}

// TestNothingUsed: what used nothing in a trial counts there as nothing.
func TestNothingUsed(t *testing.T) {
	s := system(func(float64) float64 { return .2 }, func(t *Trial) {
		if t.Trial == 1 {
			t.Services[0].Signals[SignalCPU] = make([]float64, 20)
		}
	})
	if rates, used := usedIn(Resource{Tier: "db", Kind: CPU}, []Load{s.sumUp(40)}, 1); len(rates) != 2 || math.Abs(used[0]+used[1]-.2) > 1e-9 {
		t.Errorf("used %v at %v, want 0 and 0.2", used, rates)
	}
}

// TestMissing: what is not known stays so, and is no second of idleness.
func TestMissing(t *testing.T) {
	s := system(busy, func(t *Trial) {
		for i := range 10 {
			t.Services[0].Signals[SignalCPU][i] = math.NaN()
		}
	})
	a := Analyze(s)
	if a.Verdict != Named || a.Bottlenecks[0].Share != 1 {
		t.Errorf("%s %+v, want the database in all seconds that are known", a.Verdict, a.Bottlenecks)
	}
}

// TestProofWithoutRaise: a limit that was not raised proves nothing.
func TestProofWithoutRaise(t *testing.T) {
	trials := system(busy, nil).Trials[10:]
	for kind, why := range map[Kind]string{CPU: "the limit was not raised", LinkIn: "the rate of the incoming link of db was not raised", Pool: "does the service take it from that variable"} {
		p := Prove(System{Tiers: []string{"db"}}, []Raise{{Resource: Resource{Tier: "db", Kind: kind}, Factor: 1.25}}, trials, trials)
		if p.Outcome != Unclear || !strings.Contains(p.Why, why) {
			t.Errorf("%+v, want it unclear, for %s", p, why)
		}
	}
}

// TestApplyProof: what a proof refutes is not named; what it did not settle is a doubt, and the
// verdict stays.
func TestApplyProof(t *testing.T) {
	db, app := Resource{Tier: "db", Kind: CPU}, Resource{Tier: "app", Kind: CPU}
	for _, c := range []struct {
		outcome Outcome
		raised  []Resource
		verdict Verdict
		doubts  int
		gain    stats.Interval
	}{
		{Confirmed, []Resource{db, app}, Named, 0, stats.Interval{Lo: 1.2, Hi: 1.3}},
		{Confirmed, []Resource{db, app}, Named, 1, stats.Interval{Lo: 1.6, Hi: 1.9}},
		{Confirmed, []Resource{db}, Named, 1, stats.Interval{Lo: 1.2, Hi: 1.3}}, // of another verdict
		{Unclear, []Resource{db, app}, Named, 1, stats.Interval{Lo: 1.1, Hi: 1.2}},
		{NotMade, []Resource{db, app}, Named, 1, stats.Interval{}},
		{Refuted, []Resource{db, app}, Unknown, 1, stats.Interval{Lo: 1, Hi: 1.1}},
	} {
		a := Answer{Verdict: Named, Bottlenecks: []Evidence{{Usage: Usage{Resource: app}}, {Usage: Usage{Resource: db}}}}
		p := Proof{Outcome: c.outcome, CI: &c.gain}
		for _, r := range c.raised {
			p.Raised = append(p.Raised, Raise{Resource: r, Factor: Quarter})
		}
		a.ApplyProof(&p)
		if a.Verdict != c.verdict || len(a.Doubts) != c.doubts || c.doubts > 0 && a.Doubts[0].Severity != model.Warning {
			t.Errorf("%s of %v: %s, doubts %+v, want %s and %d", c.outcome, c.raised, a.Verdict, a.Doubts, c.verdict, c.doubts)
		}
		if want := "the processor of db and the processor of app were full, and 1.25 times as much of the processor of db and 1.25 times"; c.verdict == Unknown && !strings.HasPrefix(a.Why, want) {
			t.Errorf("%q, want %q", a.Why, want)
		}
	}
}

// TestRaises: how much more there can be of what is named, and why of some there cannot;
// a label names them again.
func TestRaises(t *testing.T) {
	s := system(busy, nil)
	a := Analyze(s)
	size := func(Resource) int { return 0 }
	for why, r := range map[string]Resource{
		"":                         {Tier: "db", Kind: CPU},
		"the rate of a link":       {Tier: "db", Kind: LinkOut},
		"(sizes: {threads: NAME})": {Tier: "db", Kind: Threads},
		"tiers share that host":    {Tier: "app+db", Kind: CPU},
		"its limit is not known":   {Tier: "web", Kind: CPU},
	} {
		a.Bottlenecks = []Evidence{{Usage: Usage{Resource: r}}}
		if _, got := s.Raises(a, size); !strings.Contains(got, why) || (got == "") != (why == "") {
			t.Errorf("%s cannot be raised for %q, want %q", r, got, why)
		}
	}
	a.Bottlenecks = []Evidence{{Usage: Usage{Resource: Resource{Tier: "app", Kind: Pool}}}}
	for has, want := range map[int]float64{1: 2, 3: 4. / 3, 4: 1.25, 50: 1.26} {
		got, why := s.Raises(a, func(Resource) int { return has })
		if why != "" || len(got) != 1 || math.Abs(got[0].Factor-want) > 1e-9 {
			t.Errorf("a pool of %d is raised by %+v, %q, want %v", has, got, why, want)
		}
	}
	s.Trials[8].Services[0].Signals[SignalQuota][0] = math.NaN() // of the first second
	a.Bottlenecks = []Evidence{{Usage: Usage{Resource: Resource{Tier: "db", Kind: CPU}}}}
	if got, why := s.Raises(a, size); why != "" || got[0].Has != 1 {
		t.Errorf("%+v, %q, want one core", got, why)
	}
	for _, r := range []Resource{{Tier: "db", Kind: LinkOut}, {Tier: "app+db", Kind: LinkIn}} {
		a.Bottlenecks = []Evidence{{Usage: Usage{Resource: r}}}
		if got, why := s.Raises(a, func(Resource) int { return 125_000 }); why != "" || len(got) != 1 || got[0].Factor != Quarter {
			t.Errorf("%s of 125 kB/s is raised by %+v, %q, want 1.25", r, got, why)
		}
	}
	label := RaiseLabel([]Raise{{Resource: Resource{Tier: "db", Kind: CPU}, Factor: 1.25}})
	if got := a.Raised(label); len(got) != 1 || got[0].Tier != "db" || got[0].Kind != CPU || got[0].Factor != 1.25 {
		t.Errorf("%q says %+v", label, got)
	}
	if got := a.Raised("processor of web ×1.25"); len(got) != 0 {
		t.Errorf("what was not measured is %+v", got)
	}
}

// TestKneeText: an open end is not shown as if it were known.
func TestKneeText(t *testing.T) {
	ci := stats.Interval{Lo: 50, Hi: 116}
	for want, k := range map[string]Knee{
		"80 [50 .. 116]": {Users: 80, CI: ci}, "80 [50 or fewer .. 116]": {Users: 80, CI: ci, AtMost: true},
		"80 [≥ 50]": {Users: 80, CI: ci, AtLeast: true}, "80 [50 or fewer .. 116 or more]": {Users: 80, CI: ci, AtMost: true, AtLeast: true},
	} {
		lo, hi := k.Ends()
		if got := k.String(); got != want || (lo == nil) != k.AtMost || (hi == nil) != k.AtLeast {
			t.Errorf("%s with ends %v and %v, want %s", got, lo, hi, want)
		}
	}
}

// TestCrowded: a processor that was raised and brought nothing, while threads waited that
// its limit let run, is no refutation: its machine had none free. Where few wait, or those
// that the limit holds back, it is.
func TestCrowded(t *testing.T) {
	s := system(busy, nil)
	arm := func(quota, used, waits, cut float64) (out []Trial) {
		for trial := 1; trial <= 3; trial++ {
			x := closed(120, trial, 80, busy)
			for name, v := range map[string]float64{SignalQuota: quota, SignalCPU: used, SignalRunDelay: waits, SignalPeriods: 10, SignalHeld: 10 * cut} {
				x.Services[0].Signals[name] = slices.Repeat([]float64{v}, 20)
			}
			out = append(out, x)
		}
		return out
	}
	raised := []Raise{{Resource: Resource{Tier: "db", Kind: CPU}, Factor: Quarter}}
	for name, c := range map[string]struct {
		waits, cut float64
		outcome    Outcome
		why        string
	}{
		"the machine is full":             {8, .1, Unclear, "its machine had no processor free: on average 7.2 threads of db waited for one although its limit let them run, and 0.25 cores of the limit were not used"},
		"few wait":                        {.3, .1, Refuted, ""},
		"the limit holds them back":       {8, .9, Refuted, ""},
		"it is not known who waits":       {math.NaN(), .1, Refuted, ""},
		"it is not known what holds them": {8, math.NaN(), Refuted, ""},
	} {
		p := Prove(s, raised, arm(1, 1, 8, 1), arm(1.25, 1, c.waits, c.cut))
		if p.Outcome != c.outcome || !strings.HasPrefix(p.Why, c.why) {
			t.Errorf("%s: %s, %q (%s), want %s, %q", name, p.Outcome, p.Why, p.Words(), c.outcome, c.why)
		}
	}
}

// TestAsFull: two alike are told by all loads beyond the knee up to the one that decides,
// and what was not measured at one of them is not idle there.
func TestAsFull(t *testing.T) {
	web, app := Resource{Tier: "web", Kind: CPU}, Resource{Tier: "app", Kind: CPU}
	at := func(users int, w, a float64) Load {
		l := Load{Users: users, Usage: []Usage{{Resource: web, Mean: w}, {Resource: app, Mean: a}}}
		l.Usage = slices.DeleteFunc(l.Usage, func(u Usage) bool { return u.Mean == 0 })
		return l
	}
	for name, c := range map[string]struct {
		beyond []Load
		want   int
	}{
		"alike before":           {[]Load{at(31, .96, .96), at(40, .96, .93), at(49, .98, .91)}, 2},
		"alike after":            {[]Load{at(49, .98, .91), at(60, .98, .98)}, 1},
		"less at all":            {[]Load{at(31, .96, .91), at(40, .96, .91), at(49, .98, .91)}, 1},
		"not measured at first":  {[]Load{at(31, .96, 0), at(49, .98, .95)}, 2},
		"far less where decided": {[]Load{at(31, .96, .96), at(40, .96, .99), at(49, .98, .85)}, 1},
	} {
		l := c.beyond[slices.IndexFunc(c.beyond, func(l Load) bool { return l.Users == 49 })]
		if got := (&analysis{beyond: c.beyond}).withEquallyBusy(l, []Resource{web}); len(got) != c.want {
			t.Errorf("%s: %v, want %d", name, got, c.want)
		}
	}
}

// TestWorstTrial: one trial that spoils a load is not hidden by others that are well, nor
// by one that is off to the other side.
func TestWorstTrial(t *testing.T) {
	for name, c := range map[string]struct {
		spoil   func(x *Trial, value float64)
		values  [2]float64 // of the two trials with 120 users, at which the processor is full first
		verdict Verdict
		says    string
	}{
		"well":                 {func(x *Trial, v float64) { x.Think += (v - 1) * float64(x.Users) / x.Throughput }, [2]float64{.97, 1.03}, Named, ""},
		"one has fewer users":  {func(x *Trial, v float64) { x.Think += (v - 1) * float64(x.Users) / x.Throughput }, [2]float64{1, .92}, Named, "92.0 % of the users is what throughput times response and think time come to in trial 2 with 120 users (96.0 % on average), where"},
		"off to both sides":    {func(x *Trial, v float64) { x.Think += (v - 1) * float64(x.Users) / x.Throughput }, [2]float64{1.16, .83}, Unknown, "83.0 % of the users is what throughput times response and think time come to in trial 2 with 120 users (99.5 % on average), where"},
		"errors of one":        {func(x *Trial, v float64) { x.Errors = v }, [2]float64{.18, 0}, Unknown, "18.0 % of the operations failed in trial 1 with 120 users (9.0 % on average), and what those cost is not known"},
		"errors, worth a word": {func(x *Trial, v float64) { x.Errors = v }, [2]float64{0, .015}, Named, "1.5 % of the operations failed in trial 2 with 120 users (0.8 % on average)"},
		"no link, of one": {func(x *Trial, v float64) { x.NoLink = v }, [2]float64{0, .018}, Named,
			"1.8 % of the pages had no link to where the user wanted to go in trial 2 with 120 users (0.9 % on average)"},
		"all alike": {func(x *Trial, v float64) { x.Errors = v }, [2]float64{.02, .02}, Named, "2.0 % of the operations failed with 120 users"},
	} {
		a := Analyze(system(busy, func(x *Trial) {
			if x.Users == 120 {
				c.spoil(x, c.values[x.Trial-1])
			}
		}))
		l := a.Loads[4]
		if a.Verdict != c.verdict || l.Spoiled() != (c.verdict == Unknown) || !said(a.Doubts, c.says) || c.says == "" && len(a.Doubts) != 1 { // that about the generator
			t.Errorf("%s: %s, spoiled %v, %+v; want %s, %q", name, a.Verdict, l.Spoiled(), a.Doubts, c.verdict, c.says)
		}
	}
}

// TestLawOfFewUsers: chance at the smallest load does not say that what grew to the last
// load did not; at the last it does.
func TestLawOfFewUsers(t *testing.T) {
	for users, verdict := range map[int]Verdict{20: None, 80: Unknown} {
		s := System{Name: "1", Tiers: []string{"db"}}
		for _, n := range []int{20, 40, 60, 80} {
			for trial := 1; trial <= 2; trial++ {
				x := closed(n, trial, 400, idle)
				if n == users && trial == 1 {
					x.Think *= .8
				}
				s.Trials = append(s.Trials, x)
			}
		}
		if a := Analyze(s); a.Verdict != verdict || !contains(a.Doubts, "closed_loop") {
			t.Errorf("users missing of %d: %s, %q, %+v; want %s", users, a.Verdict, a.Why, a.Doubts, verdict)
		}
	}
}

// TestLimitChanged: a limit that changes within the seconds of a trial is a doubt, for what
// is told of it is of both.
func TestLimitChanged(t *testing.T) {
	for name, c := range map[string]struct {
		signal string
		values []float64 // in turns over the seconds of one trial
		says   string
	}{
		"a step":           {SignalQuota, []float64{1, 1, 1, 1.5}, "the limit of the processor of db changed within the run, from 1.00 cores to 1.50 cores in trial 2 with 80 users, and so in 1 of 12 trials: what is told of it"},
		"as it is read":    {SignalQuota, []float64{1, 1.009}, ""},
		"not always read":  {SignalQuota, []float64{math.NaN(), 1}, ""},
		"a link":           {SignalLink, []float64{1e6, 1e6, 5e5}, "the rate of the link of db changed within the run, from 1.00 MB/s to 0.500 MB/s in trial 2"},
		"what is received": {SignalLinkIn, []float64{1e6, 2e6}, "the rate of the incoming link of db changed within the run, from 1.00 MB/s to 2.00 MB/s"},
	} {
		a := Analyze(system(busy, func(x *Trial) {
			if x.Users == 80 && x.Trial == 2 {
				x.Services[0].Signals[c.signal] = slices.Repeat(c.values, 20/len(c.values)+1)[:20]
			}
		}))
		if contains(a.Doubts, "limit_changed") != (c.says != "") || !said(a.Doubts, c.says) {
			t.Errorf("%s: %+v, want %q", name, a.Doubts, c.says)
		}
	}
}

// TestPoolInTurns: where probes tell now of one pool and now of another, a size is that of
// one of them, of most seconds; and one that is full is full, whichever it is.
func TestPoolInTurns(t *testing.T) {
	x := on("app-1", "app", .1, 1, 0)
	x.Signals[SignalPoolMax] = slices.Repeat([]float64{5, 5, 5, 5, 30}, 2)
	x.Signals[SignalPool], x.Signals[SignalPoolWaiting] = x.Signals[SignalPoolMax], slices.Repeat([]float64{2}, 10)
	s := System{Tiers: []string{"app"}}
	pool := Resource{Tier: "app", Kind: Pool}
	l := s.sumUpOf(1, []Trial{{Services: []Service{x}}})
	if got := l.capacity(pool); got != 5 || !l.usage(pool).Full {
		t.Errorf("a pool of %v, %+v; want one of 5, full", got, l.usage(pool))
	}
}

// TestUnlikeTrials: what is full in one trial and idle in the other was measured, and says
// that the trials differ; where the other was nearly full it is chance.
func TestUnlikeTrials(t *testing.T) {
	for other, want := range map[float64]string{
		.5:  "the processor of db was full in 1 of 2 trials with 120 users, and in 1 less than 90.0 % busy: find out",
		.93: "the processor of db was 96.5 % busy with 160 users, and not full: measure with more users",
	} {
		s := system(busy, func(t *Trial) {
			if t.Users >= 120 && t.Trial == 2 {
				t.Services[0].Signals[SignalCPU] = slices.Repeat([]float64{other}, 20)
			}
		})
		if a := Analyze(s); a.Verdict != Unknown || !strings.HasPrefix(a.Why, want) {
			t.Errorf("%v: %s %+v, %q, want %q", other, a.Verdict, a.Bottlenecks, a.Why, want)
		}
	}
}
