package ntier

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/test/truth/tiersim"
)

// TestSearch: of simulated applications whose database suffers from too many connections, the
// best pool is found within one step in 18 of 20.
func TestSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 8))
	pools := []int{1, 2, 4, 8, 16, 32, 64}
	p := &Params{Users: []int{120}, Sizes: map[string]map[string][]int{"app": {"pool": pools}}}
	near := 0
	for draw := range 20 {
		net := tiersim.Net{Think: 1, RampUp: 5, Run: 100, Tiers: []tiersim.Tier{{Name: "app", Quota: 2, Work: .002},
			{Name: "db", Quota: .3 + .7*r.Float64(), Work: .005 + .01*r.Float64(), Delay: .02 + .1*r.Float64(),
				Herd: .02 + .08*r.Float64()}}}
		do := func(pool, seconds, number int) float64 {
			n := net
			n.Tiers = slices.Clone(net.Tiers)
			n.Tiers[0].Pool, n.Run = pool, seconds
			return n.Trial(120, number, *seed<<8+uint64(draw)).Throughput
		}
		best, most := 0, 0.0
		for i, pool := range pools {
			if x := do(pool, 100, 1000); x > most {
				best, most = i, x
			}
		}
		var trials []trial
		for {
			s, next := p.search(trials)
			if len(next) == 0 {
				got := slices.Index(pools, s.Best["app.pool"])
				if got >= best-1 && got <= best+1 {
					near++
				}
				if edge := got == 0 || got == len(pools)-1; edge != (len(s.Edge) == 1) {
					t.Errorf("draw %d: best %v, edge %v", draw, s.Best, s.Edge)
				}
				break
			}
			for _, x := range next {
				one := trial{label: label{sizes: x.sizes}, of: model.Step{Trial: x.trial}}
				one.Throughput = do(sizesOf(x.sizes)["app.pool"], 10, x.trial)
				trials = append(trials, one)
			}
		}
		if len(trials) != p.searchTrials() {
			t.Errorf("draw %d: %d trials, want %d", draw, len(trials), p.searchTrials())
		}
	}
	if near < 18 {
		t.Errorf("the best pool is within one step in %d of 20, want 18", near)
	}
}

// TestSearchFails: trials that failed count for nothing, and end no search.
func TestSearchFails(t *testing.T) {
	p := &Params{Users: []int{9}, Sizes: map[string]map[string][]int{"app": {"pool": {1, 2}}}}
	var trials []trial
	for number := 1; number <= 2; number++ {
		for _, sizes := range p.combinations() {
			x := trial{label: label{sizes: sizes}, of: model.Step{Trial: number}, failed: sizes == "app.pool=2" || number == 2}
			x.Throughput = 5
			trials = append(trials, x)
		}
	}
	s, next := p.search(trials)
	if len(next) > 0 || s.Best["app.pool"] != 1 || s.Tried[0].Trials != 1 || s.Tried[1].Throughput != nil {
		t.Errorf("%+v, wanted %v; want a pool of 1", s, next)
	}
	if s, next := p.search(trials[:3]); s.Best != nil || !slices.Equal(next, []wantedTrial{{"app.pool=2", 2}}) {
		t.Errorf("%+v, wanted %v; want the last trial", s, next)
	}
	for i := range trials {
		trials[i].failed = true
	}
	none := []string{"no trial of the search for sizes ended well: the sizes of the file hold"}
	if s, next := p.search(trials); len(next) > 0 || s.Best != nil || !slices.Equal(s.doubts(), none) {
		t.Errorf("%+v, wanted %v, %q; want no best", s, next, s.doubts())
	}
}

// TestSearchTellsApart: two sizes whose intervals overlap are not told apart, and others are.
func TestSearchTellsApart(t *testing.T) {
	p := &Params{Users: []int{9}, Sizes: map[string]map[string][]int{"app": {"pool": {1, 2}}}}
	for more, doubt := range map[float64]bool{.01: true, 50: false} {
		var trials []trial
		for number := 1; number <= 2; number++ {
			for i, sizes := range p.combinations() {
				x := trial{label: label{sizes: sizes}, of: model.Step{Trial: number}}
				x.Throughput = 5 + more*float64(i) + .1*float64(number)
				trials = append(trials, x)
			}
		}
		s, _ := p.search(trials)
		const text = "the search cannot tell app.pool=2 from app.pool=1: intervals overlap, or there are none"
		if got := s.doubts(); slices.Contains(got, text) != doubt || s.Best["app.pool"] != 2 {
			t.Errorf("%g more: best %v, %q; want a doubt: %t", more, s.Best, got, doubt)
		}
	}
}

// TestSearchThatLacksTrials: a search with a trial that is not over names no best. One that failed
// is told, and what was not measured is no size beyond the best.
func TestSearchThatLacksTrials(t *testing.T) {
	p := &Params{Users: []int{9}, Sizes: map[string]map[string][]int{"app": {"pool": {4, 8, 16}}}}
	var trials []trial
	for number := 1; number <= 6; number++ {
		for i, sizes := range p.combinations() {
			x := trial{label: label{sizes: sizes}, of: model.Step{Trial: number, State: model.StepComplete}, run: &observe.Run{}}
			x.Throughput = 5 + 9*float64(i) + .1*float64(number)
			trials = append(trials, x)
		}
	}
	pending := slices.Clone(trials)
	pending[1].failed, pending[1].of.State = true, model.StepPending
	if s, next := p.search(pending); len(next) > 0 || s.Best != nil {
		t.Errorf("with a trial to come: best %v, next %v; want none", s.Best, next)
	}
	for i := range trials {
		if trials[i].sizes == "app.pool=16" {
			trials[i].failed, trials[i].of.State = true, model.StepInvalid
		}
	}
	s, _ := p.search(trials)
	said := strings.Join(s.doubts(), "; ")
	if s.Best["app.pool"] != 8 || !slices.Equal(s.Edge, []string{"app.pool"}) ||
		!strings.Contains(said, "6 trials with app.pool=16 failed in the search") {
		t.Errorf("with failed trials of 16: best %v, edge %v, %q", s.Best, s.Edge, said)
	}
}

// TestOtherSizes: trials that were made with other sizes than the best have a warning.
func TestOtherSizes(t *testing.T) {
	for n, want := range map[int]int{4: 0, 8: 1} {
		sizes := map[string]model.ServiceLevel{"app": {Sizes: map[string]int{"pool": n}}}
		made := trial{of: model.Step{Treatment: model.Treatment{Services: sizes}}}
		if got := (measured{trials: []trial{made}}).otherSizes(map[string]int{"app.pool": 4}); len(got) != want {
			t.Errorf("measured with %d: %v", n, got)
		}
	}
}

// TestSizes: a configuration is measured with the sizes that its search found, which the
// answer names with the edge at which they lie.
func TestSizes(t *testing.T) {
	p := params()
	p.Configurations, p.Users = []string{"1-2-1-em"}, []int{30, 60, 90, 120, 160, 220}
	p.Sizes = map[string]map[string][]int{"app": {"pool": {30, 1}}, "web": {"threads": {100}}}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	d, err := p.Design(setup(2))
	if err != nil {
		t.Fatal(err)
	}
	if steps, _ := d.(study.Bounded).AtMost(); steps != 4+12 { //nolint:forcetypeassert // of this study
		t.Errorf("%d steps, want 4 of the search and 12", steps)
	}
	r := newRecording()
	do := func(all []study.Treatment) (sizes []int) {
		for _, x := range all {
			n := shop
			n.Tiers = slices.Clone(shop.Tiers)
			n.Tiers[2].Delay = .05
			n.Tiers[1].Pool = x.Services["app"].Sizes["pool"]
			sizes = append(sizes, n.Tiers[1].Pool)
			users, _ := x.Levels["users"].(int)
			r.add(x.Label, n.Trial(users, x.Trial, 3), n.RampUp, n.Run)
		}
		slices.Sort(sizes)
		return slices.Compact(sizes)
	}
	first, err := d.Next(observe.Of(model.RunData{}))
	if sizes := do(first); err != nil || len(first) != 4 || !slices.Equal(sizes, []int{1, 30}) {
		t.Fatalf("%d treatments with pools of %v, %v; want four", len(first), sizes, err)
	}
	if d, err = p.Design(setup(2)); err != nil { // resumed
		t.Fatal(err)
	}
	next, err := d.Next(observe.Of(r.data))
	if sizes := do(next); err != nil || len(next) != 12 || !slices.Equal(sizes, []int{30}) {
		t.Fatalf("%d treatments with pools of %v, %v; want twelve of 30", len(next), sizes, err)
	}
	got := analyze(t, p, r)
	f := got.Configurations[0]
	best := map[string]int{"app.pool": 30, "web.threads": 100}
	if f.Verdict != bottleneck.Named || !maps.Equal(f.Sizes.Best, best) {
		t.Errorf("%s; sizes %+v, want %v", f.Text, f.Sizes, best)
	}
	text := strings.Join(append(slices.Clone(got.Document().More), got.Warnings...), "\n")
	for _, want := range []string{"1-2-1-em does most with app.pool=30 web.threads=100: ",
		"the best size of app.pool lies at the edge of those that were tried, 30"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\ndoes not say %q", text, want)
		}
	}
}

// TestSizesRefused: sizes that cannot be searched.
func TestSizesRefused(t *testing.T) {
	many := make([]int, 257)
	for i := range many {
		many[i] = i + 1
	}
	for want, pools := range map[string][]int{
		"sizes.app.pool: a value is there twice":               {1, 2, 1},
		"sizes.app.pool: there are more than 256 combinations": many,
		"sizes: there is one combination":                      {8},
	} {
		p := params()
		p.Sizes = map[string]map[string][]int{"app": {"pool": pools}}
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate() = %v, want %q", err, want)
		}
	}
	p := params()
	p.Sizes = map[string]map[string][]int{"cache": {"pool": {1, 2}}}
	if _, err := p.Design(setup(1)); err == nil || !strings.Contains(err.Error(), `there is no service "cache"`) {
		t.Errorf("Design() = %v, want that there is no such service", err)
	}
}
