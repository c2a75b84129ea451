package ntier

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/bottleneck"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

func unknownTimes(users, trial int, throughput float64) bottleneck.Trial {
	return bottleneck.Trial{Users: users, Trial: trial, Throughput: throughput, Response: math.NaN(), Think: math.NaN(), Errors: math.NaN()}
}

// TestPeak: the values that are ranked are those of one load, also where a trial lacks
// it, or is larger by chance at another.
func TestPeak(t *testing.T) {
	rows := map[int][]float64{50: {50, 49, 51}, 100: {99, 101, 100}, 150: {103, 100, 97}, 200: {101, 102}, 300: {90, 104}}
	var trials []trial
	for users, values := range rows {
		for i, v := range values {
			trials = append(trials, trial{configuration: Configuration{Counts: []int{1}}, Trial: unknownTimes(users, i+1, v)})
		}
	}
	p := &Params{Tiers: []string{"web"}, PriceTable: "type,price_per_hour,currency\nlarge,3.6,USD\n"}
	got, err := p.answer(source{trials: trials})
	if err != nil {
		t.Fatal(err)
	}
	f := got.Configurations[0]
	if f.peak().Users != 200 || !slices.Equal(f.peaks, []float64{101, 102}) || got.Cost.Rows[0].Peak.Throughput != 101.5 || f.peak().Throughput != 101.5 {
		t.Errorf("peak %+v of %v, cost %+v; want 101.5 with 200 users in all of them", f.peak(), f.peaks, got.Cost.Rows[0].Peak)
	}
}

// TestPeakSpoiled: what much failed of is no peak.
func TestPeakSpoiled(t *testing.T) {
	f := Finding{Answer: bottleneck.Answer{Loads: []bottleneck.Load{{Users: 100, Throughput: 90}, {Users: 150, Throughput: 100}, {Users: 200, Throughput: 120, WorstErrors: &bottleneck.OfTrial{Value: .4}}}}}
	if got := f.peak().Users; got != 150 {
		t.Errorf("peak with %d users, want 150", got)
	}
}

// TestUnlike: as many users who think for longer are another load, for which no cheapest
// is told.
func TestUnlike(t *testing.T) {
	for think, alike := range map[float64]bool{1.1: true, 2: false} {
		p, r, other := &Params{Tiers: []string{"web", "app", "db"}, SLA: "p95=5s"}, newRecording(), shop
		other.Think = think
		r.loads(p, "1-2-1-em", shop, 2, 20, 30, 40, 50)
		r.loads(p, "1-2-1-oc", other, 2, 20, 30, 40, 50)
		got := analyze(t, p, r)
		if said := strings.Contains(strings.Join(got.Warnings, "\n"), "users think for "); said == alike || (got.Cost.At == 50) != alike {
			t.Errorf("think time %v: warnings %q, cheapest %v with %d users", think, got.Warnings, got.Cost.Cheapest, got.Cost.At)
		}
	}
}

// TestUnlikeAny: think times are held against each other, and not only against those of
// the first; of which they are not known is told.
func TestUnlikeAny(t *testing.T) {
	const unknown = -1
	for _, c := range []struct {
		thinks []float64
		want   []string
	}{
		{[]float64{1, .82, 1.22}, []string{"users think for 1.22 s with 1-3, and for 820 ms with 1-2: "}},
		{[]float64{1, .9, 1.1}, nil},
		{[]float64{unknown, 1, 7}, []string{"1-1: for how long its users think is not known: ", "users think for 7.00 s with 1-3, and for 1.00 s with 1-2: "}},
		{[]float64{unknown, 1, 1}, []string{"1-1: for how long its users think is not known: "}},
		{[]float64{unknown, unknown}, nil}, // a table without think times
		{nil, nil},
	} {
		all := []Finding{{Configuration: "1-9"}} // of which all trials failed
		for i, think := range c.thinks {
			l := bottleneck.Load{Users: 10}
			if think != unknown {
				l.Think = &think
			}
			all = append(all, Finding{Configuration: fmt.Sprintf("1-%d", i+1), Answer: bottleneck.Answer{Loads: []bottleneck.Load{l}}})
		}
		got := unlike(all)
		if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("think times %v: %q, want %q", c.thinks, got, c.want)
		}
	}
	all := []Finding{{Configuration: "1-1"}, {Configuration: "1-2", asked: "a"}, {Configuration: "1-3", asked: "a"}, {Configuration: "1-4", asked: "b"}}
	if got := unlike(all); !slices.EqualFunc(got, []string{"1-4: its users do something else than those of 1-2 "}, strings.HasPrefix) {
		t.Errorf("unlike = %q, want 1-4 alone, against the first that is known", got)
	}
}

// TestRankings: an order counts where all of its interval is beyond what a throughput
// repeats within; where chance is not known, that is told, and not that it was chance.
func TestRankings(t *testing.T) {
	tiers := []string{"web", "app"}
	for name, c := range map[string]struct {
		peaks  [4]float64 // of 1-1-em, 1-2-em, 1-1-oc, 1-2-oc
		noise  float64    // relative
		trials int
		turned int
		want   Rankings
	}{
		"turns over":      {[4]float64{100, 200, 200, 100}, .002, 3, 1, Rankings{Pairs: 1}},
		"the same":        {[4]float64{100, 200, 100, 200}, .002, 3, 0, Rankings{Pairs: 1, Same: 1}},
		"less than 1 %":   {[4]float64{100, 100.3, 100.3, 100}, 2e-5, 3, 0, Rankings{Pairs: 1}},
		"on one less":     {[4]float64{100, 200, 100.3, 100}, 2e-5, 3, 0, Rankings{Pairs: 1}},
		"more than 1 %":   {[4]float64{100, 101.3, 101.3, 100}, 2e-5, 3, 1, Rankings{Pairs: 1}},
		"no scatter":      {[4]float64{100, 200, 200, 100}, 0, 3, 0, Rankings{Pairs: 1, WithoutInterval: 1, Why: "the trials at peaks are all alike: what chance does is not seen"}},
		"a single trial":  {[4]float64{100, 200, 200, 100}, .002, 1, 0, Rankings{Pairs: 1, WithoutInterval: 1, Why: "a single trial at a peak: it takes two"}},
		"what is nothing": {[4]float64{}, 0, 3, 0, Rankings{}},
	} {
		var trials []trial
		for i, peak := range c.peaks {
			configuration, err := ParseConfiguration([]string{"1-1-em", "1-2-em", "1-1-oc", "1-2-oc"}[i], tiers)
			if err != nil {
				t.Fatal(err)
			}
			for _, users := range []int{25, 50, 100, 150, 200, 300, 400} {
				for k := range c.trials {
					x := min(float64(users), peak) * (1 + c.noise*float64([]int{0, 1, -1}[(k+i+users/25)%3]))
					trials = append(trials, trial{configuration: configuration, Trial: unknownTimes(users, k+1, x)})
				}
			}
		}
		got, err := (&Params{Tiers: tiers}).answer(source{trials: trials})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Reversals) != c.turned || got.Rankings != c.want {
			t.Errorf("%s: %+v, %+v, want %d reversals, %+v", name, got.Reversals, got.Rankings, c.turned, c.want)
		}
		said := strings.Join(got.Document().More, " ")
		if c.want.WithoutInterval > 0 && !strings.Contains(said, "; not told from chance or 1 %: 0; without an interval: 1 ("+c.want.Why+").") {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// TestNoneInCommon: that no load is the same of all is said, for no cheapest is named.
func TestNoneInCommon(t *testing.T) {
	p, r := &Params{Tiers: []string{"web", "app", "db"}, SLA: "p95=5s"}, newRecording()
	r.loads(p, "1-2-1-em", shop, 1, 20, 30)
	r.loads(p, "1-2-1-oc", shop, 1, 25, 35)
	if got := analyze(t, p, r); got.Cost.At != 0 || !strings.Contains(strings.Join(got.Warnings, "\n"), "no number of users was measured with all configurations") {
		t.Errorf("with %d users, warnings %q", got.Cost.At, got.Warnings)
	}
}

// TestNoPlatform: a platform without a name is one all the same.
func TestNoPlatform(t *testing.T) {
	if got := reversalWords(Reversal{A: "1-2-1", B: "1-2-2", Second: "ec2"}); !strings.HasPrefix(got, "On no platform 1-2-1 has ") {
		t.Error(got)
	}
}

// TestTiersTwice: a tier that is there twice would be two that are full at once.
func TestTiersTwice(t *testing.T) {
	for tiers, good := range map[string]bool{"web,app,db": true, "web,app,app": false, "web,App,app": false, "web,app+db": false} {
		if err := (&Params{Order: OrderBlocks, Tiers: []string{tiers}}).Validate(); (err == nil) != good {
			t.Errorf("%s: %v", tiers, err)
		}
	}
}

// TestStillGrew: a throughput of which no end was seen is the least, its price the most,
// and no ranking is built on it.
func TestStillGrew(t *testing.T) {
	var trials []trial
	for name, slope := range map[string]float64{"1-1-1-em-large": 1, "1-1-2-em-large": .5, "1-1-1-ec2-large": .5, "1-1-2-ec2-large": 1} {
		c, err := ParseConfiguration(name, []string{"web", "app", "db"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 12 {
			users := 50 * (1 + i%4)
			trials = append(trials, trial{configuration: c, Trial: unknownTimes(users, 1+i/4, slope*(float64(users)+.1*float64(i)))})
		}
	}
	p := &Params{Tiers: []string{"web", "app", "db"}, PriceTable: "type,price_per_hour,currency\nlarge,3.6,USD\n"}
	got, err := p.answer(source{trials: trials})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Reversals) != 0 || strings.Count(strings.Join(got.Warnings, "\n"), "no end of its growth was seen") != 4 {
		t.Errorf("reversals %+v, warnings %q, want none of them, and four warnings", got.Reversals, got.Warnings)
	}
	peak := got.Cost.Rows[0].Peak
	if cell := strings.Join(got.Cost.Section("").Blocks[0].Table.Rows[0].Cells[3].Lines, " "); got.Configurations[0].Verdict != bottleneck.None || !peak.StillGrew || !strings.HasPrefix(cell, "at most ") {
		t.Errorf("verdict %s, peak %+v, %s; want none, and at most", got.Configurations[0].Verdict, peak, cell)
	}
	if cells := fmt.Sprint(got.overview().Blocks[0].Table.Rows[0].Cells[2].Lines); !strings.HasPrefix(cells, "[≥ ") {
		t.Errorf("peak %s, want ≥", cells)
	}
}

// TestOrder: configurations with the same counts have one order, whatever came first.
func TestOrder(t *testing.T) {
	names := []string{"1-1+1-em", "1-1-1-em", "1+1-1-em"}
	for range 2 {
		var trials []trial
		for _, name := range names {
			c, err := ParseConfiguration(name, []string{"web", "app", "db"})
			if err != nil {
				t.Fatal(err)
			}
			trials = append(trials, trial{configuration: c})
		}
		var got []string
		for _, m := range (&Params{}).group(trials) {
			got = append(got, m.configuration.String())
		}
		if want := []string{"1+1-1-em", "1-1+1-em", "1-1-1-em"}; !slices.Equal(got, want) {
			t.Errorf("order %q, want %q", got, want)
		}
		slices.Reverse(names)
	}
}

// TestImportUnnumbered: lines of one load without a trial are trials in their order.
func TestImportUnnumbered(t *testing.T) {
	const table = "configuration,users,throughput\n1,50,49\n1,50,50\n1,100,99\n1,50,51\n1,100,98\n"
	p := &Params{Tiers: []string{"web"}}
	got, err := p.Import(t.Context(), study.Input{}, "own.csv", strings.NewReader(table))
	if err != nil {
		t.Fatal(err)
	}
	f := got.(*Result).Configurations[0] //nolint:forcetypeassert // it is
	if f.Loads[0].Trials != 3 || f.Loads[1].Trials != 2 || !slices.Equal(f.peaks, []float64{99, 98}) {
		t.Errorf("loads %+v, peaks %v", f.Loads, f.peaks)
	}
}

// TestBind: threads are several.
func TestBind(t *testing.T) {
	for kind, want := range map[bottleneck.Kind]string{bottleneck.CPU: "the processor of app binds", bottleneck.Threads: "the threads of app bind", bottleneck.Pool: "the connection pool of app binds"} {
		f := Finding{}
		f.Pattern, f.Bottlenecks = bottleneck.Single, []bottleneck.Evidence{{Usage: bottleneck.Usage{Resource: bottleneck.Resource{Tier: "app", Kind: kind}}}}
		if got := verb(f, "the "+f.Bottlenecks[0].String()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestRankingOpen: what is behind and still grew may be ahead with more users.
func TestRankingOpen(t *testing.T) {
	finding := func(shape, platform string, grew bool, peaks ...float64) Finding {
		f := Finding{Shape: shape, Platform: platform, peaks: peaks, Answer: bottleneck.Answer{Loads: []bottleneck.Load{{}}}}
		if !grew {
			f.Knee = &bottleneck.Knee{}
		}
		return f
	}
	for _, c := range []struct {
		ahead, behind bool // still grew on the second platform
		want          Rankings
	}{{false, false, Rankings{Pairs: 1, Same: 1}}, {true, false, Rankings{Pairs: 1, Same: 1}}, {false, true, Rankings{Pairs: 1, StillGrew: 1}}, {true, true, Rankings{}}} {
		out, of := reversals([]Finding{
			finding("1-1", "a", false, 100, 101, 102), finding("1-2", "a", false, 50, 51, 52),
			finding("1-1", "b", c.ahead, 100, 101, 102), finding("1-2", "b", c.behind, 50, 51, 52),
		})
		if len(out) != 0 || of != c.want {
			t.Errorf("%+v: reversals %+v of %+v, want %+v", c, out, of, c.want)
		}
	}
	out, of := reversals([]Finding{ // a ratio that may be any is not told from chance
		finding("1-1", "a", false, 100, 101, 102), finding("1-2", "a", false, 0, 0, .3),
		finding("1-1", "b", false, 100, 101, 102), finding("1-2", "b", false, 0, 0, .3),
	})
	if want := (Rankings{Pairs: 1}); len(out) != 0 || of != want {
		t.Errorf("reversals %+v of %+v, want %+v", out, of, want)
	}
}
