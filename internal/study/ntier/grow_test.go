package ntier

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/prices"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/test/truth/tiersim"
)

// seed draws other applications: go test -run 'TestGrow$|TestSearch$' -seed 7.
var seed = flag.Uint64("seed", 29, "seed of the applications that are drawn")

// growing is an application of which the laws say how it grows.
type growing struct {
	tiersim.Net

	threads float64 // operations a second that the threads of web allow; +Inf: any
	users   []int
	path    []string
	ended   Ended
	named   []int // of each step but the last, the tier that binds
}

var growingTiers = []string{"web", "app", "db"}

// drawGrowing draws an application until the laws leave no doubt of its path.
func drawGrowing(r *rand.Rand, soft bool) growing {
	for {
		x := 20 + 20*r.Float64()
		n := growing{Net: tiersim.Net{Think: 3, RampUp: 12, Run: 40}, threads: math.Inf(1)}
		response := 0.0
		for _, name := range growingTiers {
			work := .002 + .008*r.Float64()
			tier := tiersim.Tier{Name: name, Work: work, Quota: work * x * (1 + 3*r.Float64())}
			response += work / tier.Quota
			n.Tiers = append(n.Tiers, tier)
		}
		if soft {
			n.Tiers[2].Delay = 1.5
			response += 1.5
			n.Tiers[0].Threads = int(x * (1 + 2*r.Float64()) * response)
			n.threads = float64(n.Tiers[0].Threads) / response
		}
		asked := x * (1.5 + 2*r.Float64()) // by the largest load, of which there are twelve
		for i := range 12 {
			n.users = append(n.users, int(asked*(n.Think+response)*float64(i+1)/12))
		}
		if n.laws(asked) && len(n.path) < 7 && (len(n.path) > 2 || soft && len(n.path) > 1) {
			return n
		}
	}
}

// laws follow the path: the tier with the least capacity gets a host until that is above
// what the users ask for. ok is false where a knee is near the last load, or two limits are
// near each other: then chance decides.
func (n *growing) laws(asked float64) (ok bool) {
	counts := []int{1, 1, 1}
	for {
		var limits []float64 // of processors
		for i, t := range n.Tiers {
			limits = append(limits, float64(counts[i])*t.Quota/t.Work)
		}
		sorted, threads := slices.Sorted(slices.Values(limits)), float64(counts[0])*n.threads
		least := sorted[0]
		n.path = append(n.path, Configuration{Counts: counts}.String())
		switch {
		case min(least, threads) > 1.2*asked:
			n.ended = EndedNone
			return true
		case min(least, threads) > .8*asked, sorted[1] < 1.2*least, math.Abs(math.Log(threads/least)) < math.Log(1.3):
			return false
		case threads < least:
			n.ended = EndedSoft
			return true
		}
		tier := slices.Index(limits, least)
		n.named = append(n.named, tier)
		counts[tier]++
	}
}

// measure does what a design asks for, and begins anew after some of it, as a run does that
// is resumed.
func (n *growing) measure(t *testing.T, p *Params, s study.Setup) *recording {
	t.Helper()
	r := newRecording()
	r.data.Nodes, r.data.Run.State = s.Nodes, model.RunDone
	d, told, done := study.Design(nil), 0, make(map[string]bool)
	for batch := 0; ; batch++ {
		if d == nil || batch == 2 {
			var err error
			if d, err = p.Design(s); err != nil {
				t.Fatal(err)
			}
			told = 0
		}
		news := r.data
		news.Steps, told = news.Steps[told:], len(news.Steps)
		next, err := d.Next(observe.Of(news))
		if err != nil {
			t.Fatal(err)
		}
		if steps, _ := d.(study.Bounded).AtMost(); steps < 0 || batch > 30 { //nolint:forcetypeassert // of this study
			t.Fatalf("%d steps are left after %d batches", steps, batch)
		}
		if len(next) == 0 {
			return r
		}
		for _, x := range next {
			key := fmt.Sprint(x.Label, x.Trial)
			if done[key] {
				t.Fatalf("%s, trial %d is measured again", x.Label, x.Trial)
			}
			done[key] = true
			net := n.Net
			net.Tiers = slices.Clone(n.Tiers)
			r.services = make(map[string]model.ServiceLevel)
			for i, tier := range growingTiers {
				net.Tiers[i].Hosts = x.Services[tier].Count
				var nodes []model.NodeID
				for h := range net.Tiers[i].Hosts {
					nodes = append(nodes, model.NodeID(fmt.Sprintf("%s-%d", tier, h+1)))
				}
				r.services[tier] = model.ServiceLevel{Nodes: nodes}
			}
			users, _ := x.Levels["users"].(int)
			r.add(x.Label, net.Trial(users, x.Trial, 5), net.RampUp, net.Run)
		}
	}
}

// TestGrow: configurations of simulated applications end where the laws say, in ten of ten.
func TestGrow(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 9))
	ends := []Ended{EndedNone, EndedSoft, EndedHosts, EndedPrice, EndedFleet}
	for i, end := range slices.Concat(ends, ends) {
		n := drawGrowing(r, end == EndedSoft)
		for end == EndedSoft && n.ended != end {
			n = drawGrowing(r, true)
		}
		p := &Params{Tiers: growingTiers, Users: n.users, Configurations: []string{"1-1-1"}, Order: OrderBlocks,
			Grow: &Grow{}, PriceTable: "type,price_per_hour,currency\nweb,1,USD\napp,2,USD\ndb,4,USD\n"}
		s := setup(2)
		most := [3]int{9, 9, 9}
		want := slices.Clone(n.path)
		if end != n.ended { // a ceiling is in the way
			last := 1 + r.IntN(len(n.named)-1)
			want = want[:last+1]
			c, _ := ParseConfiguration(n.path[last], growingTiers)
			switch end {
			case EndedHosts:
				p.Grow.Hosts = c.Hosts()
			case EndedPrice:
				p.Grow.PerHour = float64(c.Counts[0]+2*c.Counts[1]+4*c.Counts[2]) + .5
			default:
				most[n.named[last]] = c.Counts[n.named[last]]
			}
		}
		for tier, name := range growingTiers {
			for h := range most[tier] {
				id := model.NodeID(fmt.Sprintf("%s-%d", name, h+1))
				s.Nodes = append(s.Nodes, model.Node{ID: id, Labels: map[string]string{"type": name}})
			}
		}
		s.Fits = func(x study.Treatment) error {
			for tier, name := range growingTiers {
				if x.Services[name].Count > most[tier] {
					return model.ErrUsage
				}
			}
			return nil
		}
		got := analyze(t, p, n.measure(t, p, s))
		var path []string
		for _, c := range got.Growth[0].Path {
			path = append(path, c.Configuration)
		}
		if diff := cmp.Diff(want, path); diff != "" || got.Growth[0].Ended != end {
			t.Errorf("draw %d, %s: the path ends by %s (-want +got):\n%s", i, end, got.Growth[0].Ended, diff)
		}
		d, answer := got.Document(), "1-1-1 grew to "+want[len(want)-1]+" in "
		if !strings.HasPrefix(d.Answer, answer) || d.Sections[0].ID != "growth" {
			t.Errorf("draw %d: %s", i, d.Answer)
		}
	}
}

func full(tier string, kind bottleneck.Kind) bottleneck.Evidence {
	return bottleneck.Evidence{Usage: bottleneck.Usage{Resource: bottleneck.Resource{Tier: tier, Kind: kind}}}
}

// TestAfter: what follows a configuration that is named for something.
func TestAfter(t *testing.T) {
	cpu := func(tier string) bottleneck.Evidence {
		return full(tier, bottleneck.CPU)
	}
	of := func(kind bottleneck.Kind, node model.NodeID) bottleneck.Evidence {
		e := cpu("db")
		e.Kind, e.Node = kind, node
		return e
	}
	for _, c := range []struct {
		from  string
		named []bottleneck.Evidence
		want  []string
		added []string
		end   Ended
	}{
		{"1-1-1", []bottleneck.Evidence{cpu("app")}, []string{"1-2-1"}, []string{"app"}, ""},
		{"1-2-1", []bottleneck.Evidence{cpu("app"), cpu("db")}, []string{"1-3-2"}, []string{"app", "db"}, ""},
		{"1-2-1", []bottleneck.Evidence{of(bottleneck.LinkOut, ""), of(bottleneck.Pool, "")}, []string{"1-2-2"},
			[]string{"db"}, ""},
		{"1-1-2", []bottleneck.Evidence{of(bottleneck.CPU, "db-1")}, nil, nil, EndedUneven},
		{"1-1-1", []bottleneck.Evidence{of(bottleneck.Threads, "")}, nil, nil, EndedSoft},
		{"1-1+1", []bottleneck.Evidence{cpu("app+db")}, []string{"1-2+2", "1-1-1"}, []string{"app", "db"}, ""},
		{"1-1+1", []bottleneck.Evidence{cpu("web"), cpu("app+db")}, []string{"2-2+2", "2-1-1"}, growingTiers, ""},
		{"1-1+1", []bottleneck.Evidence{cpu("app+db"), cpu("db")}, []string{"1-2+2", "1-1-2"}, []string{"app", "db"}, ""},
		{"1-2+2", []bottleneck.Evidence{cpu("app")}, []string{"1-3+2"}, []string{"app"}, ""}, // a limit of its own
	} {
		j := judged{Finding: Finding{Answer: bottleneck.Answer{Verdict: bottleneck.Named, Bottlenecks: c.named}}}
		j.configuration, _ = ParseConfiguration(c.from, growingTiers)
		j.system.Tiers = growingTiers
		next, added, end := j.after()
		var got []string
		for _, x := range next {
			got = append(got, x.String())
		}
		if !slices.Equal(got, c.want) || !slices.Equal(added, c.added) || end != c.end || j.configuration.String() != c.from {
			t.Errorf("after %s: %v, %v, %s; want %v, %v, %s", c.from, got, added, end, c.want, c.added, c.end)
		}
	}
}

// TestGrowVariants: a shared host that binds is followed by both variants, of which the one with
// more throughput a host goes on.
func TestGrowVariants(t *testing.T) {
	all := make(map[string]judged)
	add := func(name string, x float64, verdict bottleneck.Verdict, named ...bottleneck.Evidence) {
		c, _ := ParseConfiguration(name, growingTiers)
		loads := []bottleneck.Load{{Users: 9, Throughput: x}}
		all[name] = judged{measured{configuration: c, system: bottleneck.System{Tiers: growingTiers}},
			Finding{Configuration: name, Answer: bottleneck.Answer{Verdict: verdict, Bottlenecks: named, Loads: loads}}}
	}
	p := &Params{Tiers: growingTiers, Configurations: []string{"1-1+1"}, Grow: &Grow{}}
	follow := func() (Growth, []string) {
		paths, wanted := p.paths(all, func(Configuration) bool { return true })
		return paths[0], wanted
	}
	add("1-1+1", 10, bottleneck.Named, full("app+db", bottleneck.CPU))
	if g, wanted := follow(); !slices.Equal(wanted, []string{"1-2+2", "1-1-1"}) || g.Ended != EndedOpen {
		t.Errorf("wanted %v, %s; want both variants", wanted, g.Ended)
	}
	p.Grow.PerHour = 5
	if g, _ := follow(); g.Ended != EndedUnpriced || g.Next != "1-2+2" {
		t.Errorf("%+v; want that no host has a price", g)
	}
	p.Grow = &Grow{Hosts: 2}
	want := []string{"1-1+1 has not grown.", "1-2+2 would be next, and the ceiling is 2 hosts."}
	if g, _ := follow(); g.Ended != EndedHosts || !slices.Equal(g.words(*p.Grow, ""), want) {
		t.Errorf("%q, want %q", g.words(*p.Grow, ""), want)
	}
	p.Grow = &Grow{Hosts: 3}
	add("1-2+2", 20, bottleneck.Unknown)
	add("1-1-1", 18, bottleneck.None)
	g, wanted := follow()
	var path []string
	for _, c := range g.Path {
		path = append(path, fmt.Sprint(c.Configuration, c.Aside))
	}
	want = []string{"1-1+1false", "1-1-1true", "1-2+2false"}
	if len(wanted) > 0 || g.Ended != EndedUnknown || !slices.Equal(path, want) {
		t.Errorf("%v, %s, wanted %v; want 1-1-1 left aside", path, g.Ended, wanted)
	}
}

// TestCommon: hosts of several types have no price, and those of several zones one of everywhere.
func TestCommon(t *testing.T) {
	large := prices.Place{Type: "large", Zone: "a"}
	for _, c := range []struct{ other, want prices.Place }{
		{large, large},
		{prices.Place{Type: "large", Zone: "b"}, prices.Place{Type: "large"}},
		{prices.Place{Type: "small", Zone: "a"}, prices.Place{Type: "several types", Zone: "a"}},
	} {
		if got := common(common(large, c.other), large); got != c.want {
			t.Errorf("common(%v, %v) = %v, want %v", large, c.other, got, c.want)
		}
	}
}

// TestGrowRefuses: ceilings that say nothing.
func TestGrowRefuses(t *testing.T) {
	for want, grow := range map[string]*Grow{
		"grow.price_per_hour: no host has a price":                           {PerHour: 5},
		"configurations.1: 1-1-2-ec2-large has 4 hosts, and grow.hosts is 3": {Hosts: 3},
	} {
		p := params()
		p.Grow = grow
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate() = %v, want %q", err, want)
		}
	}
	p := params()
	p.Grow, p.Prices = &Grow{Hosts: 4, PerHour: 5}, map[string]prices.Host{"large": {PerHour: 1, Currency: "USD"}}
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
}
