package tiersim

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/scalebench/scalebench/internal/bottleneck"
)

// steady are three tiers that are 50 to 85 % busy with so many users, and of which one
// may pause: for lo to hi seconds every 1 to 3 s, a sixth of the time at most.
func steady(r *rand.Rand, c shortTruth) (n Net, users int, paused string) {
	n = Net{Think: 1, RampUp: 8, Run: 60, Window: .1}
	x, response := (100+200*r.Float64())/c.slower, 0.0
	which := r.IntN(3)
	for i, name := range []string{"web", "app", "db"} {
		t := Tier{Name: name, Hosts: 1 + r.IntN(2), Work: .001 + .009*r.Float64(), Threads: 500, Bytes: 5000}
		use := .5 + .35*r.Float64()
		busy := use
		if c.hi > 0 && i == which {
			t.Every, t.Taken = 1+2*r.Float64(), c.taken
			t.Pause, paused = min(c.lo+(c.hi-c.lo)*r.Float64(), t.Every/6), name
			if c.taken { // the same utilisation, with what takes it
				busy -= t.Pause / t.Every
			}
		}
		t.Quota = x * t.Work / busy / float64(t.Hosts)
		response += t.Work / min(1, t.Quota) / (1 - use)
		n.Tiers = append(n.Tiers, t)
	}
	n.Tiers[2].Link = x * 5000 / (.3 + .4*r.Float64()) / n.hosts(2)
	return n, int(x * (n.Think + response)), paused
}

// shortTruth is a kind of system, and how many of them are right.
type shortTruth struct {
	name   string
	lo, hi float64 // of the pauses; 0: there are none
	taken  bool
	slower float64 // by which factor requests take longer, and are fewer
	least  float64 // which share must be right
}

var shortTruths = []shortTruth{
	{name: "no pauses", slower: 1, least: .95},
	{name: "no pauses, long requests", slower: 5, least: .95},
	{name: "taken for 60 to 150 ms", lo: .06, hi: .15, taken: true, slower: 1},
	{name: "taken for 150 to 300 ms", lo: .15, hi: .3, taken: true, slower: 1, least: .75},
	{name: "the same, long requests", lo: .15, hi: .3, taken: true, slower: 5},
	{name: "still for 60 to 150 ms", lo: .06, hi: .15, slower: 1},
	{name: "still for 150 to 300 ms", lo: .15, hi: .3, slower: 1, least: .75},
}

// TestShort: tiers that pause for parts of a second are told, and chance is not. The
// table of docs/ntier.md is that of -systems 20.
func TestShort(t *testing.T) {
	n := *systems
	right, others := make([]int, len(shortTruths)), make([]int, len(shortTruths))
	var wait sync.WaitGroup
	for i, c := range shortTruths {
		wait.Go(func() {
			for seed := range n {
				r := rand.New(rand.NewPCG(uint64(seed), uint64(0x5407+i)))
				found, other := shortOf(steady(r, c))
				if found {
					right[i]++
				}
				if other {
					others[i]++
				}
			}
		})
	}
	wait.Wait()
	for i, c := range shortTruths {
		t.Logf("%-24s right %d of %d, others told in %d", c.name, right[i], n, others[i])
		if float64(right[i]) < math.Round(c.least*float64(n)) {
			t.Errorf("%s: %d of %d right", c.name, right[i], n)
		}
	}
}

// shortOf measures a system at two loads. Found: the tier that pauses is told, or
// nothing is where none does; other: something else is.
func shortOf(n Net, users int, paused string) (found, other bool) {
	s := bottleneck.System{Tiers: []string{"web", "app", "db"}}
	for _, share := range []float64{.8, 1} {
		s.Trials = append(s.Trials, n.Trial(int(share*float64(users)), 1, uint64(users)))
	}
	told := bottleneck.Analyze(s).Short
	is := func(x bottleneck.Short) bool { return x.Tier == paused && x.Kind == bottleneck.CPU }
	other = slices.ContainsFunc(told, func(x bottleneck.Short) bool { return !is(x) })
	if paused == "" {
		return len(told) == 0, other
	}
	return slices.ContainsFunc(told, is), other
}
