package ntier

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/prices"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

func params() *Params {
	return &Params{Configurations: []string{"1-1-1-em", "1-1-2-ec2-large"}, Tiers: []string{"web", "app", "db"}, Users: []int{200, 100, 400}, Order: OrderAscending,
		Platforms: map[string]map[string]string{"ec2": {"site": "virginia"}}}
}

func setup(trials int) study.Setup {
	return study.Setup{Trials: trials, Seed: 7, Workloads: []study.Workload{{Name: "visitors", Kind: WorkloadKind}, {Name: "other", Kind: "cpu"}},
		Services: []study.Service{{Name: "web"}, {Name: "app"}, {Name: "db"}}}
}

func treatments(t *testing.T, p *Params, trials int) []study.Treatment {
	t.Helper()
	d, err := p.Design(setup(trials))
	if err != nil {
		t.Fatal(err)
	}
	all, err := d.Next(observe.Of(model.RunData{}))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func labels(all []study.Treatment) (out []string) {
	for _, x := range all {
		out = append(out, x.Label)
	}
	return out
}

// TestDesignAsCounted: without configurations there is one, of what the file counts.
func TestDesignAsCounted(t *testing.T) {
	p, s := params(), setup(1)
	p.Configurations, p.Users = nil, []int{9}
	s.Services[1].Count = 3
	d, err := p.Design(s)
	if err != nil {
		t.Fatal(err)
	}
	all, err := d.Next(observe.Of(model.RunData{}))
	if got := labels(all); err != nil || !slices.Equal(got, []string{"1-3-1, 9 users"}) {
		t.Errorf("%q, %v; want 1-3-1 alone", got, err)
	}
}

func TestDesign(t *testing.T) {
	all := treatments(t, params(), 2)
	want := []string{"1-1-1-em, 100 users", "1-1-1-em, 200 users", "1-1-1-em, 400 users", "1-1-2-ec2-large, 100 users", "1-1-2-ec2-large, 200 users", "1-1-2-ec2-large, 400 users"}
	if diff := cmp.Diff(slices.Concat(want, want), labels(all)); diff != "" {
		t.Errorf("ascending (-want +got):\n%s", diff)
	}
	last := all[len(all)-1]
	if diff := cmp.Diff(study.Treatment{Phase: Phase, Label: want[5], Workload: "visitors", Trial: 2, Block: 2, Levels: map[string]any{"users": 400}, Services: map[string]study.ServiceLevel{
		"web": {Count: 1, On: map[string]string{"site": "virginia", "type": "large"}, Hosts: "web"}, "app": {Count: 1, On: map[string]string{"site": "virginia", "type": "large"}, Hosts: "app"},
		"db": {Count: 2, On: map[string]string{"site": "virginia", "type": "large"}, Hosts: "db"}}}, last); diff != "" {
		t.Errorf("a treatment (-want +got):\n%s", diff)
	}
	p := params()
	p.Order = OrderBlocks
	blocks := treatments(t, p, 3)
	for trial := range 3 {
		part := labels(blocks[6*trial : 6*trial+6])
		if slices.Sort(part); !cmp.Equal(slices.Sorted(slices.Values(want)), part) || blocks[6*trial].Trial != trial+1 {
			t.Errorf("block %d: %v", trial+1, part)
		}
	}
	if cmp.Equal(labels(blocks[:6]), labels(blocks[6:12])) && cmp.Equal(labels(blocks[:6]), want) {
		t.Error("blocks are in order")
	}
	if again := treatments(t, p, 3); !cmp.Equal(labels(blocks), labels(again)) {
		t.Error("the same seed gives another order")
	}
	p.Order = OrderRandom
	if random := treatments(t, p, 3); len(random) != 18 || !slices.ContainsFunc(random[:6], func(x study.Treatment) bool { return x.Trial > 1 }) {
		t.Error("random trials are not mixed")
	}
}

// TestDesignMixes: all trials with the first mix come before those with the next, each sets
// the mix, and the analysis knows it by the label.
func TestDesignMixes(t *testing.T) {
	for _, order := range []string{OrderAscending, OrderBlocks, OrderRandom} {
		p := params()
		p.Order, p.Mixes = order, []string{"browse_only", "read_write"}
		all := treatments(t, p, 2)
		if len(all) != 24 {
			t.Fatalf("%s: %d trials, want 24", order, len(all))
		}
		for i, x := range all {
			mix := p.Mixes[i/12]
			l, ok := p.labelOf(model.Step{Phase: x.Phase, Treatment: model.Treatment{Label: x.Label, Levels: x.Levels}})
			if !ok || l.configuration.Variant != mix || x.Levels["mix"] != mix || l.String() != x.Label {
				t.Errorf("%s: trial %d is %s with %v, want the mix %s", order, i, x.Label, x.Levels, mix)
			}
		}
	}
}

// TestLabel: the analysis knows a step by the label that the design gives.
func TestLabel(t *testing.T) {
	p := params()
	for _, x := range treatments(t, p, 1) {
		s := model.Step{Phase: x.Phase, Treatment: model.Treatment{Label: x.Label, Levels: x.Levels}}
		l, ok := p.labelOf(s)
		if !ok || l.String() != x.Label || l.users != x.Levels["users"] {
			t.Errorf("%s: %+v, %v", x.Label, l, ok)
		}
	}
}

func TestDesignRefuses(t *testing.T) {
	for name, change := range map[string]func(*Params, *study.Setup){
		"no tiers":        func(p *Params, _ *study.Setup) { p.Configurations, p.Tiers = nil, nil },
		"no users":        func(p *Params, _ *study.Setup) { p.Users = nil },
		"no such service": func(p *Params, s *study.Setup) { s.Services = s.Services[1:] },
		"two workloads":   func(p *Params, s *study.Setup) { s.Workloads[1].Kind = WorkloadKind },
	} {
		p, s := params(), setup(1)
		change(p, &s)
		if _, err := p.Design(s); !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: %v, want an error of usage", name, err)
		}
	}
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(*Params){
		"configurations.1: \"1-1\" has 2 numbers":                func(p *Params) { p.Configurations[1] = "1-1" },
		"configurations.1: 01-1-1-em is the same as 1-1-1-em":    func(p *Params) { p.Configurations[1] = "01-1-1-em" },
		"configurations.0: \"1-1-1(galera)-em\" names a variant": func(p *Params) { p.Configurations[0] = "1-1-1(galera)-em" },
		"sla: ": func(p *Params) { p.SLA = "p95" },
		"at: a number of users for which nothing is asked":       func(p *Params) { p.At = 100 },
		"prices:2:7: price_per_hour is \"x\"; use a number of 0": func(p *Params) { p.PriceTable = "type,price_per_hour,currency\nlarge,x,USD\n" },
		"prices:3:9: currency is \"EUR\"; use one currency: USD": func(p *Params) { p.PriceTable = "type,price_per_hour,currency\nlarge,1,USD\nsmall,1,EUR\n" },
		"prices.small.currency: it is \"EUR\"; use one": func(p *Params) {
			p.Prices = map[string]prices.Host{"large": {PerHour: 1, Currency: "USD"}, "small": {PerHour: 1, Currency: "EUR"}}
		},
		"prices:3:1: type is \"large\"; use each type once":         func(p *Params) { p.PriceTable = "type,price_per_hour,currency\nlarge,1,USD\nlarge,2,USD\n" },
		"the first line must name the columns: type,price_per_hour": func(p *Params) { p.PriceTable = "a,b\n1,2\n" },
	} {
		p := params()
		change(p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate() = %v, want %q", err, want)
		}
	}
	if err := params().Validate(); err != nil {
		t.Error(err)
	}
}

// TestNotes: what a file is valid with, and cannot tell.
func TestNotes(t *testing.T) {
	for _, c := range []struct {
		users []int
		at    int
		want  []string
	}{
		{[]int{10, 20, 30, 40}, 0, nil},
		{[]int{10, 20, 30, 40}, 30, nil},
		{[]int{10, 20, 30, 40}, 77, []string{"at: 77 users are not measured"}},
		{[]int{10}, 10, []string{"users: a knee takes 4 numbers of users, and there are 1"}},
		{nil, 77, nil}, // of a command, about a run
	} {
		p := params()
		p.Users, p.At = c.users, c.at
		if got := p.Notes(); !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("users %v, at %d: %q, want %q", c.users, c.at, got, c.want)
		}
	}
}
