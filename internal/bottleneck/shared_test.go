package bottleneck

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// on makes services of a trial that use so much of a quota, and of the link of their
// node, in each of ten seconds.
func on(node model.NodeID, tier string, used, quota, sent float64) Service {
	s := Service{Tier: tier, Node: node, Signals: map[string][]float64{}}
	for name, v := range map[string]float64{SignalCPU: used, SignalQuota: quota, SignalSent: sent, SignalReceived: sent / 2, SignalLink: 1000} {
		s.Signals[name] = slices.Repeat([]float64{v}, 10)
	}
	return s
}

// TestSharedHosts: what a node has is one resource of all that runs on it, and no byte
// counts twice; limits of their own, which together fit the node, divide its processor.
func TestSharedHosts(t *testing.T) {
	s := System{Tiers: []string{"web", "app", "db"}}
	amount := func(services []Service, cores map[model.NodeID]float64) map[Resource]float64 {
		out := make(map[Resource]float64)
		for r, x := range s.resources(Trial{Services: services, Cores: cores}) {
			out[r] = math.Round(1e6*x.amount) / 1e6
		}
		return out
	}
	two := map[model.NodeID]float64{"n1": 2, "n2": 2}
	for name, c := range map[string]struct {
		services []Service
		cores    map[model.NodeID]float64
		want     map[Resource]float64
	}{
		"alone": {[]Service{on("n1", "app", 1, 2, 500), on("n2", "db", .5, 2, 300)}, two, map[Resource]float64{
			{"app", CPU, ""}: 1, {"db", CPU, ""}: .5, {"app", LinkOut, ""}: 500, {"app", LinkIn, ""}: 250, {"db", LinkOut, ""}: 300, {"db", LinkIn, ""}: 150}},
		"no limits": {[]Service{on("n1", "db", .5, 2, 500), on("n1", "app", 1, 2, 500)}, two, map[Resource]float64{
			{"app+db", CPU, ""}: 1.5, {"app+db", LinkOut, ""}: 500, {"app+db", LinkIn, ""}: 250}},
		"limits that fit": {[]Service{on("n1", "app", 1, 1.2, 500), on("n1", "db", .5, .8, 500)}, two, map[Resource]float64{
			{"app", CPU, ""}: 1, {"db", CPU, ""}: .5, {"app+db", LinkOut, ""}: 500, {"app+db", LinkIn, ""}: 250}},
		"limits that do not": {[]Service{on("n1", "app", 1, 1.5, 500), on("n1", "db", .5, 1, 500)}, two, map[Resource]float64{
			{"app", CPU, ""}: 1, {"db", CPU, ""}: .5, {"app+db", CPU, ""}: 1.5, {"app+db", LinkOut, ""}: 500, {"app+db", LinkIn, ""}: 250}},
		"one limit": {[]Service{on("n1", "app", 1, 1.5, 500), on("n1", "db", .5, 2, 500)}, two, map[Resource]float64{
			{"app", CPU, ""}: 1, {"app+db", CPU, ""}: 1.5, {"app+db", LinkOut, ""}: 500, {"app+db", LinkIn, ""}: 250}},
		"processors not known": {[]Service{on("n1", "app", 1, 2, 500), on("n1", "db", .5, 2, 500)}, nil, map[Resource]float64{
			{"app", CPU, ""}: 1, {"db", CPU, ""}: .5, {"app+db", LinkOut, ""}: 500, {"app+db", LinkIn, ""}: 250}},
		"in part": {[]Service{on("n1", "app", 1, 2, 500), on("n1", "db", .5, 2, 500), on("n2", "db", .7, 2, 300)}, two, map[Resource]float64{
			{"app+db", CPU, ""}: 1.5, {"db", CPU, ""}: .7, {"app+db", LinkOut, ""}: 500, {"app+db", LinkIn, ""}: 250, {"db", LinkOut, ""}: 300, {"db", LinkIn, ""}: 150}},
	} {
		if diff := cmp.Diff(c.want, amount(c.services, c.cores)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestNames: resources say what they are of, and in which direction.
func TestNames(t *testing.T) {
	for want, r := range map[string]Resource{
		"processor of db":                           {"db", CPU, ""},
		"incoming link of sql":                      {"sql", LinkIn, ""},
		"outgoing link of sql host n2":              {"sql", LinkOut, "n2"},
		"processor of the host of sql and data":     {"sql+data", CPU, ""},
		"outgoing link of host n1 of sql and data":  {"sql+data", LinkOut, "n1"},
		"incoming link of the host of sql and data": {"sql+data", LinkIn, ""},
	} {
		if got := r.String(); got != want {
			t.Errorf("%+v is %q, want %q", r, got, want)
		}
	}
}

// TestPushBack: threads and pools wait for what is behind them, for what the hosts of
// their tier share with others, and for what the tier in front can receive.
func TestPushBack(t *testing.T) {
	s := System{Tiers: []string{"web", "app", "db"}}
	for name, c := range map[string]struct {
		full   []Resource
		causes []Resource
	}{
		"a pool before a processor":             {[]Resource{{"app", Pool, ""}, {"db", CPU, ""}}, []Resource{{"db", CPU, ""}}},
		"threads of the sender, link in front":  {[]Resource{{"app", LinkIn, ""}, {"db", Threads, ""}}, []Resource{{"app", LinkIn, ""}}},
		"threads behind, outgoing link before":  {[]Resource{{"web", LinkOut, ""}, {"db", Threads, ""}}, []Resource{{"web", LinkOut, ""}, {"db", Threads, ""}}},
		"a pool before a shared host":           {[]Resource{{"app", Pool, ""}, {"app+db", CPU, ""}}, []Resource{{"app+db", CPU, ""}}},
		"threads of the one, host of the other": {[]Resource{{"db", Threads, ""}, {"web+db", LinkOut, ""}}, []Resource{{"web+db", LinkOut, ""}}},
		"two links at once":                     {[]Resource{{"app", LinkIn, ""}, {"db", LinkOut, ""}}, []Resource{{"app", LinkIn, ""}, {"db", LinkOut, ""}}},
	} {
		var l Load
		for _, r := range c.full {
			l.Usage = append(l.Usage, Usage{Resource: r, Mean: 1, Share: 1, Full: true})
		}
		if got, _ := s.pushBack(l); !slices.Equal(got, c.causes) {
			t.Errorf("%s: %v, want %v", name, got, c.causes)
		}
	}
}

// TestIncomingLink: its evidence is what waits to be sent at the tier beside it.
func TestIncomingLink(t *testing.T) {
	s := system(idle, nil)
	s.Tiers = []string{"app", "db"}
	for i := range s.Trials {
		t := &s.Trials[i]
		app := on("app-1", "app", .1, 1, 0)
		app.Signals[SignalReceived] = slices.Repeat([]float64{1000 * math.Min(1, t.Throughput/80)}, 10)
		t.Services = append(t.Services, app)
	}
	a := Analyze(s)
	if a.Verdict != Named || len(a.Bottlenecks) != 1 || a.Bottlenecks[0].Resource != (Resource{"app", LinkIn, ""}) {
		t.Fatalf("%s %+v %s, want the incoming link of app", a.Verdict, a.Bottlenecks, a.Why)
	}
	if e := a.Bottlenecks[0]; e.Sender != "db" || e.SendQueue == nil || *e.SendQueue < 10000 {
		t.Errorf("evidence %+v, want the Send-Q of db", e)
	}
	if d := a.Laws.Demands; !slices.ContainsFunc(d, func(d Demand) bool { return d.Kind == LinkIn && math.Abs(d.Limit()/80-1) < .01 && d.Unit == "byte" }) {
		t.Errorf("demands %+v, want the link to allow 80/s", d)
	}
}

// TestUncounted: a throughput up to where the generator binds is no peak.
func TestUncounted(t *testing.T) {
	below := func(t *Trial) { t.Generators[0].Busy = map[bool]float64{true: 1, false: .1}[t.Users > 60] }
	for name, c := range map[string]struct {
		change func(*Trial)
		want   bool
	}{
		"all well":                {nil, false},
		"generator before a knee": {below, true},
		"beyond it":               {func(t *Trial) { t.Generators[0].Busy = map[bool]float64{true: 1, false: .1}[t.Users > 120] }, false},
		"errors":                  {func(t *Trial) { t.Errors = .2 }, true},
	} {
		if a := Analyze(system(busy, c.change)); (a.ExcludedFromRanking != "") != c.want {
			t.Errorf("%s: %q, %s", name, a.ExcludedFromRanking, a.Verdict)
		}
	}
}

// TestDemandFalls: a processor that is full while the throughput still grows is said to
// be, whether the throughput bends before it is full, while, or not at all. The first
// are figures of a Tomcat with 0.15 cores that finds its caches warm.
func TestDemandFalls(t *testing.T) {
	users := []int{40, 80, 160, 240, 320, 480}
	for name, rates := range map[string][]float64{
		"bends before":    {39, 82, 150, 195, 235, 290},
		"bends when full": {39, 79, 158, 236, 267, 300},
		"bends not":       {39, 78, 157, 235, 313, 452},
	} {
		s := System{Tiers: []string{"app"}}
		for i, x := range rates {
			for trial := 1; trial <= 2; trial++ {
				x := x * (1 + .01*float64(trial))
				one := closed(users[i], trial, x, func(float64) float64 { return 0 })
				one.Throughput, one.Response = x, float64(users[i])/x-1
				one.Services = []Service{on("app-1", "app", math.Min(.15, .91e-3*x), .15, 0)}
				s.Trials = append(s.Trials, one)
			}
		}
		a := Analyze(s)
		said := a.Why
		for _, d := range a.Doubts {
			said += d.Text
		}
		t.Logf("%s: %s %s", name, a.Verdict, said)
		if a.Verdict == None || a.Verdict == Named && a.Bottlenecks[0].Resource != (Resource{"app", CPU, ""}) || !strings.Contains(said, "processor of app") || !strings.Contains(said, "less of it") {
			t.Errorf("%s: %s, %q, want that the processor of app is full, and that an operation took less of it", name, a.Verdict, said)
		}
	}
}

// TestTooLate: a processor that is full only far beyond the knee is not what made it,
// and is told all the same.
func TestTooLate(t *testing.T) {
	s := System{Tiers: []string{"db"}}
	for i, used := range []float64{.2, .4, .5, .5, .55, 1} {
		for trial := 1; trial <= 2; trial++ {
			one := closed(40*(i+1), trial, 80, func(float64) float64 { return used })
			s.Trials = append(s.Trials, one)
		}
	}
	a := Analyze(s)
	if a.Verdict != Unknown || !strings.HasPrefix(a.Why, "the processor of db is full with 240 users, and was 50.0 % busy with 120 users, where the throughput bends already") || len(a.Later) != 1 {
		t.Errorf("%s %s, later %+v", a.Verdict, a.Why, a.Later)
	}
}

// TestLinkDirections: what is received is held to a rate of its own where one is known.
func TestLinkDirections(t *testing.T) {
	s := System{Tiers: []string{"db"}}
	for in, want := range map[float64]float64{0: 1000, 1250: 1250} {
		x := on("n1", "db", 1, 2, 500)
		if in > 0 {
			x.Signals[SignalLinkIn] = slices.Repeat([]float64{in}, 10)
		}
		got := s.resources(Trial{Services: []Service{x}})
		if is, out := got[Resource{"db", LinkIn, ""}], got[Resource{"db", LinkOut, ""}]; is.capacity != want || out.capacity != 1000 {
			t.Errorf("link_in of %v: it can receive %v and send %v, want %v and 1000", in, is.capacity, out.capacity, want)
		}
	}
}
