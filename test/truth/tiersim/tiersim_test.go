package tiersim

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/queueing"
	"github.com/scalebench/scalebench/test/proof/parts"
)

// systems is how many random systems of each kind are simulated: a few in `make
// test`, 200 for the table of docs/ntier.md.
var systems = flag.Int("systems", 1, "random systems of each kind")

// TestSimulation holds the simulator against the exact model, which it must agree
// with where nothing but processors is short.
func TestSimulation(t *testing.T) {
	n := Net{Think: 1, RampUp: 20, Run: 300, Tiers: []Tier{
		{Name: "web", Quota: 1, Work: .004}, {Name: "app", Quota: .5, Work: .006}, {Name: "db", Quota: 2, Work: .02},
	}}
	model := queueing.Closed{Think: 1, Stations: []queueing.Station{{Demand: .004, Servers: 1}, {Demand: .012, Servers: 1}, {Demand: .02, Servers: 2}}}
	want, err := model.Solve(120)
	if err != nil {
		t.Fatal(err)
	}
	for _, users := range []int{20, 60, 120} {
		got := n.Trial(users, 1, 1)
		if x := want[users-1]; math.Abs(got.Throughput/x-1) > .03 {
			t.Errorf("%d users: %v/s, want %v/s", users, got.Throughput, x)
		}
		law := got.Throughput * (got.Response + got.Think) / float64(users)
		if math.Abs(law-1) > .02 {
			t.Errorf("%d users: X(R+Z)/N = %v, want 1", users, law)
		}
	}
}

// truth is a kind of system with what has to be named.
type truth struct {
	name    string
	make    func(r *rand.Rand) (Net, float64) // and the throughput at its limit
	verdict bottleneck.Verdict
	pattern bottleneck.Pattern
	want    []bottleneck.Resource
	upTo    float64 // the largest load, in knees; 0: 2.5
	why     string  // unknown is right, too, if it says so
	must    string  // what unknown must say
}

// right reports whether the answer is.
func (c truth) right(a bottleneck.Answer, got []bottleneck.Resource) bool {
	if c.why != "" && a.Verdict == bottleneck.Unknown {
		return strings.Contains(a.Why, c.why)
	}
	return a.Verdict == c.verdict && strings.Contains(a.Why, c.must) && a.Pattern == c.pattern && slices.Equal(got, c.want)
}

// roomy are three tiers of which none is short at x requests a second: each could
// do 1.5 to 4 times as many.
func roomy(r *rand.Rand, x float64) Net {
	n := Net{Think: 1, RampUp: 10, Run: 40}
	for _, name := range []string{"web", "app", "db"} {
		work := .001 + .009*r.Float64()
		hosts := 1 + r.IntN(2)
		n.Tiers = append(n.Tiers, Tier{Name: name, Hosts: hosts, Work: work, Quota: x * work * (1.5 + 2.5*r.Float64()) / float64(hosts), Threads: 200, Bytes: 5000})
	}
	n.Tiers[1].Pool = 100
	n.Tiers[2].Link = x * 5000 * (2 + 2*r.Float64()) / float64(n.Tiers[2].Hosts)
	return n
}

func (n *Net) hosts(tier int) float64 { return float64(n.Tiers[tier].Hosts) }

// processorOf limits the processor of a tier.
func processorOf(tiers ...int) func(r *rand.Rand) (Net, float64) {
	return func(r *rand.Rand) (Net, float64) {
		x := 40 + 60*r.Float64()
		n := roomy(r, x)
		for _, tier := range tiers {
			n.Tiers[tier].Quota = x * n.Tiers[tier].Work / n.hosts(tier)
		}
		return n, x
	}
}

func linkOfDB(r *rand.Rand) (Net, float64) {
	x := 40 + 60*r.Float64()
	n := roomy(r, x)
	n.Tiers[2].Link = x * n.Tiers[2].Bytes / n.hosts(2)
	return n, x
}

// linkIntoApp: what the database answers is more than the application can receive.
func linkIntoApp(r *rand.Rand) (Net, float64) {
	x := 40 + 60*r.Float64()
	n := roomy(r, x)
	n.Tiers[2].Bytes *= 5
	n.Tiers[2].Link *= 5
	n.Tiers[1].Link = x * n.Tiers[2].Bytes / n.hosts(1)
	return n, x
}

// colocated puts app and db on the same hosts.
func colocated(n *Net) {
	n.Tiers[2].Shares, n.Tiers[2].Hosts = true, n.Tiers[1].Hosts
}

// sharedProcessor: app and db each use less than there is, and more together.
func sharedProcessor(r *rand.Rand) (Net, float64) {
	x := 40 + 60*r.Float64()
	n := roomy(r, x)
	colocated(&n)
	n.Tiers[1].Quota = x * (n.Tiers[1].Work + n.Tiers[2].Work) / n.hosts(1)
	return n, x
}

// sharedLink: what app and db send from the same hosts is more than their link takes.
// One answer of the database in so many stays on its host.
func sharedLink(r *rand.Rand) (Net, float64) {
	x := 40 + 60*r.Float64()
	n := roomy(r, x)
	colocated(&n)
	n.Tiers[1].Quota *= 3
	hosts := n.hosts(1)
	n.Tiers[1].Link = x * (n.Tiers[1].Bytes + n.Tiers[2].Bytes*(1-1/hosts)) / hosts
	return n, x
}

// cheaper: an operation of the database takes less of it the more there are, down to
// half. The others have room for that.
func cheaper(r *rand.Rand) (Net, float64) {
	n, x := processorOf(2)(r)
	n.Tiers[0].Quota, n.Tiers[1].Quota, n.Tiers[2].Link = 2*n.Tiers[0].Quota, 2*n.Tiers[1].Quota, 2*n.Tiers[2].Link
	n.Tiers[2].Quota, n.Tiers[2].Hosts, n.Tiers[2].Link = n.Tiers[2].Quota*n.hosts(2), 1, n.Tiers[2].Link*n.hosts(2)
	n.Tiers[2].Batch = .005 + .01*r.Float64()
	return n, x
}

// poolOfApp: so many connections, each of which is kept for the response time of
// the database, which waits for no processor. threadsOf is the same for threads.
func poolOfApp(r *rand.Rand) (Net, float64) {
	x := 40 + 60*r.Float64()
	n := roomy(r, x)
	n.Tiers[1].Pool = 3 + r.IntN(5)
	n.keptFor(float64(n.Tiers[1].Pool)*n.hosts(1)/x, 2)
	return n, x
}

func threadsOf(tier int) func(r *rand.Rand) (Net, float64) {
	return func(r *rand.Rand) (Net, float64) {
		x := 40 + 60*r.Float64()
		n := roomy(r, x)
		n.Tiers[tier].Threads = 4 + r.IntN(6)
		n.keptFor(float64(n.Tiers[tier].Threads)*n.hosts(tier)/x, tier)
		return n, x
	}
}

// keptFor lets the tiers from one on answer after so long, by a delay in the last.
func (n *Net) keptFor(seconds float64, from int) {
	for _, t := range n.Tiers[from:] {
		seconds -= t.alone()
	}
	n.Tiers[2].Delay = seconds
}

// alone is how long a request takes in a tier with nothing beside it.
func (t Tier) alone() float64 {
	s := t.Delay + t.Work/math.Min(1, t.Quota)
	if t.Link > 0 {
		s += t.Bytes / t.Link
	}
	return s
}

// withHerd grows the work with what is beside it, so that the throughput falls.
func withHerd(of func(r *rand.Rand) (Net, float64), tier int) func(r *rand.Rand) (Net, float64) {
	return func(r *rand.Rand) (Net, float64) {
		n, x := of(r)
		// One host: of two, the slower falls behind, and binds alone.
		n.Tiers[tier].Quota, n.Tiers[tier].Hosts = n.Tiers[tier].Quota*n.hosts(tier), 1
		n.Tiers[tier].Link *= n.hosts(tier)
		n.Tiers[tier].Herd = .005 + .01*r.Float64()
		return n, x
	}
}

// smallPools adds pools and threads that are full as soon as what is behind them is
// slow: symptoms.
func smallPools(of func(r *rand.Rand) (Net, float64)) func(r *rand.Rand) (Net, float64) {
	return func(r *rand.Rand) (Net, float64) {
		n, x := of(r)
		n.Tiers[0].Threads, n.Tiers[1].Threads, n.Tiers[1].Pool = 40, 20, 12
		return n, x
	}
}

func starved(mute bool) func(r *rand.Rand) (Net, float64) {
	return func(r *rand.Rand) (Net, float64) {
		x := 40 + 60*r.Float64()
		n := roomy(r, x)
		n.Generator, n.Mute = 1/x, mute
		return n, x
	}
}

// swinging moves work between app and db every few seconds: each is full half of
// the time.
func swinging(r *rand.Rand) (Net, float64) {
	x := 40 + 60*r.Float64()
	n := roomy(r, x)
	n.Tiers[1].Quota, n.Tiers[2].Quota = x*n.Tiers[1].Work*2/n.hosts(1), x*n.Tiers[2].Work*2/n.hosts(2)
	n.Swing, n.Between = 4+2*r.Float64(), [2]int{1, 2}
	return n, x
}

func hidden(r *rand.Rand) (Net, float64) {
	n, x := poolOfApp(r)
	n.Tiers[1].Threads = n.Tiers[1].Pool
	n.Tiers[1].Pool = 0
	n.Mute = true // nothing says how many threads there are: see blind
	return n, x
}

func named(tier string, kind bottleneck.Kind) []bottleneck.Resource {
	return []bottleneck.Resource{{Tier: tier, Kind: kind}}
}

var truths = []truth{
	{name: "processor of web", make: processorOf(0), verdict: bottleneck.Named, pattern: bottleneck.Single, want: named("web", bottleneck.CPU)},
	{name: "processor of app", make: processorOf(1), verdict: bottleneck.Named, pattern: bottleneck.Single, want: named("app", bottleneck.CPU)},
	{name: "processor of db", make: processorOf(2), verdict: bottleneck.Named, pattern: bottleneck.Single, want: named("db", bottleneck.CPU)},
	{name: "db, falling back", make: withHerd(processorOf(2), 2), verdict: bottleneck.Named, pattern: bottleneck.Single, want: named("db", bottleneck.CPU)},
	{name: "db behind full pools", make: smallPools(processorOf(2)), verdict: bottleneck.Named, pattern: bottleneck.Single, want: named("db", bottleneck.CPU)},
	{name: "outgoing link of db", make: linkOfDB, verdict: bottleneck.Named, pattern: bottleneck.Single, want: named("db", bottleneck.LinkOut)},
	{name: "link behind full pools", make: smallPools(linkOfDB), verdict: bottleneck.Named, pattern: bottleneck.Single, want: named("db", bottleneck.LinkOut)},
	{name: "incoming link of app", make: linkIntoApp, verdict: bottleneck.Named, pattern: bottleneck.Single, want: named("app", bottleneck.LinkIn)},
	{name: "the same, full pools", make: smallPools(linkIntoApp), verdict: bottleneck.Named, pattern: bottleneck.Single, want: named("app", bottleneck.LinkIn)},
	{name: "processor of a shared host", make: sharedProcessor, verdict: bottleneck.Named, pattern: bottleneck.Single, want: named("app+db", bottleneck.CPU)},
	{name: "link of a shared host", make: sharedLink, verdict: bottleneck.Named, pattern: bottleneck.Single, want: named("app+db", bottleneck.LinkOut)},
	{name: "demand falls", make: cheaper, verdict: bottleneck.Named, pattern: bottleneck.Single, want: named("db", bottleneck.CPU), why: "processor of db is full"},
	{name: "demand falls, few loads", make: cheaper, verdict: bottleneck.Named, pattern: bottleneck.Single, want: named("db", bottleneck.CPU), why: "processor of db is full", upTo: 1.4},
	{name: "pool of app", make: poolOfApp, verdict: bottleneck.Named, pattern: bottleneck.Single, want: named("app", bottleneck.Pool)},
	{name: "threads of web", make: threadsOf(0), verdict: bottleneck.Named, pattern: bottleneck.Single, want: named("web", bottleneck.Threads)},
	{name: "threads of app", make: threadsOf(1), verdict: bottleneck.Named, pattern: bottleneck.Single, want: named("app", bottleneck.Threads)},
	{name: "app and db alike", make: processorOf(1, 2), verdict: bottleneck.Named, pattern: bottleneck.Simultaneous,
		want: []bottleneck.Resource{{Tier: "app", Kind: bottleneck.CPU}, {Tier: "db", Kind: bottleneck.CPU}}},
	{name: "app and db in turns", make: swinging, verdict: bottleneck.Named, pattern: bottleneck.Oscillating,
		want: []bottleneck.Resource{{Tier: "app", Kind: bottleneck.CPU}, {Tier: "db", Kind: bottleneck.CPU}}},
	{name: "below the knee", make: processorOf(2), verdict: bottleneck.None, upTo: .75},
	{name: "starved generator", make: starved(false), verdict: bottleneck.Unknown, must: "the load generator binds"},
	{name: "starved, and silent", make: starved(true), verdict: bottleneck.Unknown, must: "the load generator binds: the users waited"},
	{name: "threads, not measured", make: hidden, verdict: bottleneck.Unknown},
}

// seen is what became of the systems of a kind.
type seen struct {
	right, wrong, none, unknown int
	doubted                     int     // of the right ones: something else may hold the peak
	held, knees                 int     // knees within their interval
	limit                       float64 // sum of |limit ÷ truth − 1|
	limits                      int
}

// TestTruth simulates random systems and asks what binds.
func TestTruth(t *testing.T) {
	parts.Begin(t, *systems)
	t.Logf("%-24s %6s %6s %6s %8s %8s   %s", "truth", "right", "wrong", "none", "unknown", "doubted",
		"knee in its interval")
	results := make([]seen, len(truths))
	var wait sync.WaitGroup
	for i := range truths {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for seed := range *systems {
				results[i].add(t, truths[i], uint64(seed+1))
			}
		}()
	}
	wait.Wait()
	for i, c := range truths {
		s := results[i]
		t.Logf("%-24s %6d %6d %6d %8d %8d   %d of %d; limit off by %.1f %%", c.name, s.right, s.wrong, s.none,
			s.unknown, s.doubted, s.held, s.knees, 100*s.limit/math.Max(1, float64(s.limits)))
		// One in a hundred is luck; a wrong name is worse than none.
		if s.right < *systems-*systems/50 || s.wrong > *systems/100 {
			t.Errorf("%s: %d of %d right, %d wrong", c.name, s.right, *systems, s.wrong)
		}
	}
}

// system measures one random system at loads that know nothing of its knee but the
// order of magnitude.
func system(c truth, seed uint64) (bottleneck.System, float64, float64) {
	r := rand.New(rand.NewPCG(seed, 0x7135))
	n, x := c.make(r)
	response := 0.0
	for _, tier := range n.Tiers {
		response += tier.alone()
	}
	knee, upTo := x*(n.Think+response), c.upTo
	if upTo == 0 {
		upTo = 2.5
	}
	s := bottleneck.System{Name: c.name, Tiers: []string{"web", "app", "db"}}
	for i := 1; i <= 7; i++ {
		users := int(knee * upTo * float64(i) / 7)
		for trial := 1; trial <= 2; trial++ {
			one := n.Trial(users, trial, seed)
			if c.name == "threads, not measured" {
				for _, x := range one.Services {
					delete(x.Signals, bottleneck.SignalThreads)
				}
			}
			s.Trials = append(s.Trials, one)
		}
	}
	return s, knee, x
}

func (s *seen) add(t *testing.T, c truth, seed uint64) {
	sys, knee, x := system(c, seed)
	a := bottleneck.Analyze(sys)
	var got []bottleneck.Resource
	for _, b := range a.Bottlenecks {
		got = append(got, b.Resource)
	}
	switch {
	case c.right(a, got):
		if s.right++; a.Unexplained != nil {
			s.doubted++
		}
	case a.Verdict == bottleneck.Named:
		s.wrong++
	case a.Verdict == bottleneck.None:
		s.none++
	default:
		s.unknown++
	}
	if hardware := len(c.want) > 0 && !c.want[0].Kind.Soft() && c.why == ""; hardware && a.Knee != nil { // others wait for more than their own delay
		s.knees++
		if a.Knee.CI.Lo <= knee && knee <= a.Knee.CI.Hi {
			s.held++
		}
	}
	if c.pattern == bottleneck.Single && !c.want[0].Kind.Soft() && c.why == "" && a.Laws.Limit != nil {
		s.limits++
		s.limit += math.Abs(*a.Laws.Limit/x - 1)
	}
	if c.why == "" { // where an operation takes less and less, what it took first bounds nothing
		withinBounds(t, c, seed, a)
	}
	if !c.right(a, got) {
		t.Logf("%s, seed %d: %s %s %v %s; knee %+v, truth %.0f", c.name, seed, a.Verdict, a.Pattern, got, a.Why, a.Knee, knee)
	}
}

// withinBounds: no load has more throughput than the bound, by more than chance: in 40
// seconds throughput and demands scatter by two percent each, and here are thousands of
// loads.
func withinBounds(t *testing.T, c truth, seed uint64, a bottleneck.Answer) {
	t.Helper()
	if a.Laws == nil {
		return
	}
	for i, p := range a.Laws.Points {
		if l := a.Loads[i]; p.Throughput > 1.1*p.Hi && (l.CI == nil || l.CI.Lo > p.Hi) {
			t.Errorf("%s, seed %d: %d users have %.2f/s, above the bound of %.2f", c.name, seed, p.Users, p.Throughput, p.Hi)
		}
	}
}

// behindThreads: a pool of app, or its threads, are full because threads of the database
// bind of which nothing is known.
func behindThreads(pool, threads int) func(r *rand.Rand) (Net, float64) {
	return func(r *rand.Rand) (Net, float64) {
		n, x := threadsOf(2)(r)
		each := n.hosts(2) * float64(n.Tiers[2].Threads) / n.hosts(1)
		n.Tiers[1].Pool, n.Tiers[1].Threads = int(float64(pool)*each), int(float64(threads)*each)
		return n, x
	}
}

// proofs are kinds of systems with what is raised of them, and what must come of it.
var proofs = []struct {
	name    string
	make    func(r *rand.Rand) (Net, float64)
	raise   []bottleneck.Resource
	outcome bottleneck.Outcome
}{
	{"processor of db", processorOf(2), named("db", bottleneck.CPU), bottleneck.Confirmed},
	{"where threads bind", hidden, named("db", bottleneck.CPU), bottleneck.Refuted},
	{"processors of app and db", processorOf(1, 2), append(named("app", bottleneck.CPU), named("db", bottleneck.CPU)...), bottleneck.Confirmed},
	{"outgoing link of db", linkOfDB, named("db", bottleneck.LinkOut), bottleneck.Confirmed},
	{"incoming link of app", linkIntoApp, named("app", bottleneck.LinkIn), bottleneck.Confirmed},
	{"link of a shared host", sharedLink, named("app+db", bottleneck.LinkOut), bottleneck.Confirmed},
	{"where threads bind, a link", hidden, named("db", bottleneck.LinkOut), bottleneck.Refuted},
	{"pool of app", poolOfApp, named("app", bottleneck.Pool), bottleneck.Confirmed},
	{"where threads behind it bind", behindThreads(2, 40), named("app", bottleneck.Pool), bottleneck.Refuted},
	{"threads of app", threadsOf(1), named("app", bottleneck.Threads), bottleneck.Confirmed},
	{"where threads behind them bind", behindThreads(40, 2), named("app", bottleneck.Threads), bottleneck.Refuted},
}

// with is the net with as much of a tier as a raise says.
func (n Net) with(of ...bottleneck.Raise) Net {
	n.Tiers = slices.Clone(n.Tiers)
	for _, r := range of {
		t := &n.Tiers[slices.IndexFunc(n.Tiers, func(t Tier) bool { return t.Name == r.Tiers()[0] })] // of a host that tiers share it is that of the first
		switch size := int(math.Round(r.Has * r.Factor)); r.Kind {
		case bottleneck.Pool:
			t.Pool = size
		case bottleneck.Threads:
			t.Threads = size
		case bottleneck.LinkOut, bottleneck.LinkIn:
			t.Link *= r.Factor
		default:
			t.Quota *= r.Factor
		}
	}
	return n
}

// TestProof: a resource that binds, raised by a quarter, gives what the laws say; one
// that does not, where what binds is not seen, gives nothing.
func TestProof(t *testing.T) {
	parts.Begin(t, *systems)
	for _, c := range proofs {
		right, off := 0, 0.0
		for seed := range uint64(*systems) {
			p := prove(c.make, c.raise, seed)
			off += math.Abs(p.Gain/p.Predicted - 1)
			if p.Outcome == c.outcome {
				right++
			} else {
				t.Logf("%s, seed %d: %+v, want %s", c.name, seed, p, c.outcome)
			}
		}
		t.Logf("%-30s %s %d of %d; the gain is off the prediction by %.1f %%", c.name, c.outcome, right, *systems, 100*off/float64(*systems))
		if right < *systems-*systems/10 {
			t.Errorf("%s: %s %d of %d", c.name, c.outcome, right, *systems)
		}
	}
}

// prove raises resources of a random system, with 1.6 times the users of its knee.
func prove(of func(r *rand.Rand) (Net, float64), resources []bottleneck.Resource, seed uint64) bottleneck.Proof {
	n, x := of(rand.New(rand.NewPCG(seed, 0x940f)))
	cycle := n.Think
	for _, tier := range n.Tiers {
		cycle += tier.alone()
	}
	measure := func(n Net, share float64, trial int, seed uint64) bottleneck.Trial {
		out := n.Trial(int(share*x*cycle), trial, seed)
		for _, host := range out.Services {
			if host.Tier == "db" { // what binds where another is raised is not seen
				delete(host.Signals, bottleneck.SignalThreads)
			}
		}
		return out
	}
	s := bottleneck.System{Tiers: []string{"web", "app", "db"}, Trials: []bottleneck.Trial{measure(n, .2, 1, seed)}}
	var as bottleneck.Answer
	for _, r := range resources {
		as.Bottlenecks = append(as.Bottlenecks, bottleneck.Evidence{Usage: bottleneck.Usage{Resource: r}})
	}
	raises, _ := s.Raises(as, func(r bottleneck.Resource) int {
		tier := n.Tiers[slices.Index(s.Tiers, r.Tiers()[0])]
		link := int(tier.Link)
		return map[bottleneck.Kind]int{bottleneck.Pool: tier.Pool, bottleneck.Threads: tier.Threads, bottleneck.LinkOut: link, bottleneck.LinkIn: link}[r.Kind]
	})
	var before, after []bottleneck.Trial
	for trial := 1; trial <= 3; trial++ {
		before = append(before, measure(n, 1.6, trial, seed))
		after = append(after, measure(n.with(raises...), 1.6, trial, seed+1000))
	}
	return bottleneck.Prove(s, raises, before, after)
}

// TestAddedHost: the knee and the throughput follow another host of the tier that
// binds.
func TestAddedHost(t *testing.T) {
	var knees, limits []float64
	for hosts := 1; hosts <= 2; hosts++ {
		n := Net{Think: 1, RampUp: 10, Run: 40, Tiers: []Tier{{Name: "web", Quota: 1, Work: .002}, {Name: "app", Hosts: hosts, Quota: .3, Work: .006}, {Name: "db", Quota: 1, Work: .003}}}
		s := bottleneck.System{Tiers: []string{"web", "app", "db"}}
		for _, users := range []int{20, 40, 60, 80, 110, 140, 180} {
			for trial := 1; trial <= 2; trial++ {
				s.Trials = append(s.Trials, n.Trial(users, trial, 5))
			}
		}
		a := bottleneck.Analyze(s)
		if a.Verdict != bottleneck.Named || a.Bottlenecks[0].Resource != named("app", bottleneck.CPU)[0] {
			t.Fatalf("%d hosts: %s %s", hosts, a.Verdict, a.Why)
		}
		knees, limits = append(knees, a.Knee.Users), append(limits, *a.Laws.Limit)
	}
	if ratio := knees[1] / knees[0]; math.Abs(ratio-2) > .2 || math.Abs(limits[0]/50-1) > .05 || math.Abs(limits[1]/100-1) > .05 {
		t.Errorf("knees %v, limits %v; want twice as many with two hosts, 50 and 100/s", knees, limits)
	}
}
