package tiersim

import (
	"flag"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/queueing"
	"github.com/scalebench/scalebench/test/proof/parts"
)

// networks is how many random networks are solved: 4000 for the table of docs/ntier.md.
var networks = flag.Int("networks", 150, "random networks whose knee is looked for")

// network is a closed network that is solved exactly, with the loads at which it is
// measured.
type network struct {
	queueing.Closed

	names  []string // of its stations
	hidden int      // which of them nothing tells of; -1: none
	single bool     // all stations have one server
	second float64  // how busy the second station is where the first is full
	knee   float64
	users  []int
	trials int
	noise  float64 // of the throughput, relative
}

// randomNetwork has one to four stations of one to sixteen servers, and users who think
// for 0.1 to 10 s.
func randomNetwork(r *rand.Rand) network {
	n := network{hidden: -1, single: r.IntN(5) < 2, trials: 2 + r.IntN(4), noise: .01 + .04*r.Float64()}
	n.Think = .1 * math.Pow(100, r.Float64())
	least := .001 * math.Pow(50, r.Float64())
	for i, name := range []string{"web", "app", "db", "store"}[:1+r.IntN(4)] {
		servers, share := 1+r.IntN(16), 1.0
		if n.single {
			servers = 1
		}
		if i > 0 {
			share = .1 + .9*r.Float64()
			n.second = max(n.second, share)
		}
		n.names = append(n.names, name)
		n.Stations = append(n.Stations, queueing.Station{Demand: least * share * float64(servers), Servers: servers})
	}
	n.knee = n.Knee()
	return n
}

// measuredAt draws so many loads from well below the knee to beyond it, in equal steps, by
// equal factors or at random; ok is false where they tell of no knee.
func (n *network) measuredAt(r *rand.Rand, loads int) (ok bool) {
	lo, hi, kind := (.1+.3*r.Float64())*n.knee, (1.6+1.4*r.Float64())*n.knee, r.IntN(3)
	for i := range loads {
		at := float64(i) / float64(loads-1)
		users := [...]float64{lo + (hi-lo)*at, lo * math.Pow(hi/lo, at), lo + (hi-lo)*r.Float64()}[kind]
		n.users = append(n.users, max(1, int(math.Round(users))))
	}
	slices.Sort(n.users)
	n.users = slices.Compact(n.users)
	return len(n.users) == loads && float64(n.users[0]) < .7*n.knee && float64(n.users[loads-1]) > 1.3*n.knee &&
		n.knee < 5000
}

// measure makes trials of the network, with what its stations use.
func (n *network) measure(r *rand.Rand) (bottleneck.System, error) {
	s := bottleneck.System{Name: "network"}
	exact, err := n.Solve(slices.Max(n.users))
	for i, name := range n.names {
		if i != n.hidden {
			s.Tiers = append(s.Tiers, name)
		}
	}
	for _, users := range n.users {
		for trial := 1; trial <= n.trials && err == nil; trial++ {
			x := exact[users-1] * math.Exp(n.noise*r.NormFloat64())
			one := bottleneck.Trial{Users: users, Trial: trial, Throughput: x, Response: float64(users)/x - n.Think,
				Think: n.Think}
			for i, station := range n.Stations {
				if i != n.hidden {
					one.Services = append(one.Services, n.watch(r, n.names[i], station, exact[users-1]))
				}
			}
			s.Trials = append(s.Trials, one)
		}
	}
	return s, err
}

// watch is what half a minute of a station tells, second by second.
func (n *network) watch(r *rand.Rand, name string, station queueing.Station, x float64) bottleneck.Service {
	out := bottleneck.Service{Tier: name, Node: model.NodeID(name + "-1"), Signals: map[string][]float64{}}
	used, cores := x*station.Least(), float64(station.Servers)
	for range 30 {
		second := min(1, used*(1+.1*(1-used)*r.NormFloat64()))
		out.Signals[bottleneck.SignalCPU] = append(out.Signals[bottleneck.SignalCPU], second*cores)
		out.Signals[bottleneck.SignalQuota] = append(out.Signals[bottleneck.SignalQuota], cores)
	}
	return out
}

// kinds are the groups in which a network is counted.
func (n *network) kinds() []string {
	near := slices.ContainsFunc(n.users, func(users int) bool { return math.Abs(float64(users)/n.knee-.99) < .06 })
	return []string{
		"all",
		map[bool]string{true: "single servers", false: "up to 16 servers"}[n.single],
		map[bool]string{true: "a load at .93 to 1.05 N*", false: "none there"}[near],
		map[bool]string{true: "another station 90 % busy", false: "the others less busy"}[n.second >= .9],
		map[bool]string{true: "5 to 7 loads", false: "8 to 14 loads"}[len(n.users) <= 7],
		map[bool]string{true: "noise up to 3 %", false: "noise of 3 to 5 %"}[n.noise < .03],
		map[bool]string{true: "N* up to 30", false: "N* above 30"}[n.knee < 30],
	}
}

// kneeFound is the knee by the throughput alone; none holds nothing.
func (n *network) kneeFound(t *testing.T, r *rand.Rand) bottleneck.Knee {
	t.Helper()
	s, err := n.measure(r)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Trials {
		s.Trials[i].Services = nil
	}
	if knee := bottleneck.Analyze(s).Knee; knee != nil {
		return *knee
	}
	return bottleneck.Knee{}
}

// TestKneeNearALoad: eight even loads, one just below N*, and single servers are where a
// sharp corner is wrong most often.
func TestKneeNearALoad(t *testing.T) {
	parts.Begin(t, *networks)
	r := rand.New(rand.NewPCG(4, 8))
	all, held := 0, 0
	for all < *networks/2 {
		n := randomNetwork(r)
		for i := range 8 {
			n.users = append(n.users, int(math.Round(n.knee*(.3+2.3*float64(i)/7))))
		}
		if !n.single || n.knee > 500 || n.users[0] < 1 || len(slices.Compact(slices.Clone(n.users))) < 8 {
			continue
		}
		n.noise, n.trials = .01, 3
		knee := n.kneeFound(t, r)
		if all++; knee.CI.Lo <= n.knee && n.knee <= knee.CI.Hi {
			held++
		}
	}
	if t.Logf("the interval holds N* in %d of %d", held, all); held < all*9/10 {
		t.Errorf("the interval holds N* in %d of %d, want 93 %% or more", held, all)
	}
}

// TestKneeOfNetworks: the knee's interval holds N* = X_max·(R0+Z), wherever the loads lie.
func TestKneeOfNetworks(t *testing.T) {
	parts.Begin(t, *networks)
	all, held, low := make(map[string]int), make(map[string]int), 0
	var widths []float64
	r := rand.New(rand.NewPCG(20, 8))
	for all["all"] < *networks {
		n := randomNetwork(r)
		if !n.measuredAt(r, 5+r.IntN(10)) {
			continue
		}
		knee := n.kneeFound(t, r)
		inside := knee.CI.Lo <= n.knee && n.knee <= knee.CI.Hi
		if widths = append(widths, (knee.CI.Hi-knee.CI.Lo)/n.knee); knee.CI.Hi < n.knee {
			low++
		}
		for _, kind := range n.kinds() {
			if all[kind]++; inside {
				held[kind]++
			}
		}
	}
	slices.Sort(widths)
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		t.Logf("%-32s %4d of %4d, %.1f %%", kind, held[kind], all[kind], 100*float64(held[kind])/float64(all[kind]))
	}
	t.Logf("width ÷ N*: quartiles %.3f, %.3f, %.3f; below N* in %d", widths[len(widths)/4], widths[len(widths)/2],
		widths[3*len(widths)/4], low)
	// 93 % less what so many networks differ by chance.
	if least := .93 - 2*math.Sqrt(.93*.07/float64(*networks)); float64(held["all"]) < least*float64(*networks) {
		t.Errorf("the interval holds N* in %d of %d, want 93 to 97 %%", held["all"], *networks)
	}
}

// withLock adds a station that nothing tells of, with which the busiest of the others is at
// most so busy.
func (n *network) withLock(busiest float64) {
	_, most := n.Limit()
	n.hidden, n.names = len(n.Stations), append(n.names, "lock")
	n.Stations = append(n.Stations, queueing.Station{Demand: n.Stations[most].Least() / busiest, Servers: 1})
	n.knee = n.Knee()
}

// TestHiddenLock: what is named beside a limit that nobody sees is said to explain the peak
// only within so much, and what is the limit itself is not.
func TestHiddenLock(t *testing.T) {
	parts.Begin(t, *networks)
	for _, c := range []struct{ busiest, least float64 }{{1, 0}, {.98, .01}, {.962, .02}} { // 1: there is no lock
		r := rand.New(rand.NewPCG(12, uint64(1000*c.busiest)))
		all, named, doubted := 0, 0, 0
		for all < *networks/15 {
			n := randomNetwork(r)
			if c.busiest < 1 {
				n.withLock(c.busiest)
			}
			if n.knee > 500 || !n.measuredAt(r, 5+r.IntN(10)) {
				continue
			}
			s, err := n.measure(r)
			if err != nil {
				t.Fatal(err)
			}
			a := bottleneck.Analyze(s)
			if all++; a.Verdict != bottleneck.Named {
				continue
			}
			if named++; a.Unexplained != nil {
				doubted++
			}
			if a.Unexplained != nil && *a.Unexplained < c.least {
				t.Errorf("busiest %v: explained within %v, want %v or more", c.busiest, *a.Unexplained, c.least)
			}
		}
		t.Logf("busiest %.3f: named %d of %d, doubted %d", c.busiest, named, all, doubted)
		if wrong := map[bool]int{true: doubted, false: named - doubted}[c.busiest == 1]; wrong > named/20 {
			t.Errorf("busiest %v: %d of %d are doubted", c.busiest, doubted, named)
		}
	}
}
