package ntier

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/stats"
)

// TestPrice is arithmetic: three hosts at 0.30 an hour, 100 requests a second.
func TestPrice(t *testing.T) {
	r := &Rated{Throughput: 100}
	r.price(.9, &stats.Interval{Lo: 90, Hi: 112.5})
	// .9 / 3600 s / 100 a second = 2.5e-6 a request.
	if math.Abs(*r.PerRequest-2.5e-6) > 1e-18 || math.Abs(*r.PerMillion-2.5) > 1e-12 || math.Abs(r.PerMillionCI.Lo-20./9) > 1e-12 || math.Abs(r.PerMillionCI.Hi-25./9) > 1e-12 {
		t.Errorf("%v a request, %v a million %v, want 2.5e-6, 2.5 and [2.222, 2.778]", *r.PerRequest, *r.PerMillion, *r.PerMillionCI)
	}
	r = &Rated{Throughput: 100}
	if r.price(.9, &stats.Interval{Lo: -1, Hi: 201}); r.PerMillionCI != nil {
		t.Errorf("%v, want no interval of a throughput that may be 0", *r.PerMillionCI)
	}
}

// TestKept: a load that says nothing, or of which a response time is not known, is
// neither kept nor broken; nor is one that is withdrawn with its configuration.
func TestKept(t *testing.T) {
	sla, err := load.ParseSLA("p95=500ms")
	if err != nil {
		t.Fatal(err)
	}
	h := histogram.New(int64(time.Minute))
	histogram.RecordMany(h, int64(1e8), 1000)
	known := trial{latencies: h, Trial: bottleneck.Trial{Users: 9}}
	for _, c := range []struct {
		refused string
		trials  []trial
		kept    bool
	}{{"", []trial{known, known}, true}, {"late", []trial{known, known}, false}, {"", []trial{known, {Trial: bottleneck.Trial{Users: 9}}}, false}} {
		if k := keptBy(sla, []bottleneck.Load{{Users: 9}}, c.trials, "a tenth failed")[0]; k.Kept != nil {
			t.Errorf("a load that is withdrawn: kept is %v, want not told", *k.Kept)
		}
		k := keptBy(sla, []bottleneck.Load{{Users: 9, Refused: c.refused}}, c.trials, "")[0]
		if (k.Kept != nil) != c.kept || (k.Why == "") != c.kept || k.Trials != 2 {
			t.Errorf("%q, %d trials: %+v, want it told: %v", c.refused, len(c.trials), k, c.kept)
		}
	}
}

// TestKeptFailed: where every operation failed there is no response time, and the SLA
// is broken, also where all else is withdrawn for it.
func TestKeptFailed(t *testing.T) {
	sla, err := load.ParseSLA("p95=500ms")
	if err != nil {
		t.Fatal(err)
	}
	failed := trial{Trial: bottleneck.Trial{Users: 9, Errors: 1}}
	for _, withdrawn := range []string{"", "all of the operations failed"} {
		if k := keptBy(sla, []bottleneck.Load{{Users: 9}}, []trial{failed, failed}, withdrawn)[0]; k.Kept == nil || *k.Kept || k.TrialsKept != 0 {
			t.Errorf("withdrawn %q: %+v, want it broken", withdrawn, k)
		}
	}
	if k := keptBy(sla, []bottleneck.Load{{Users: 9}}, []trial{failed, {Trial: bottleneck.Trial{Users: 9, Errors: .5}}}, "")[0]; k.Kept != nil || k.Why == "" {
		t.Errorf("%+v, want it not told where times of one trial are not known", k)
	}
}

func TestSLALoad(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		kept  []*bool
		want  int
		doubt string
	}{
		{[]*bool{&yes, &yes, &no, &no}, 20, ""},
		{[]*bool{&yes, nil, &no, &no}, 10, "cannot be told with 20 users (times are not known)"},
		{[]*bool{&yes, &no, &yes, &no}, 10, "30 users kept the SLA, and 20 did not"},
		{[]*bool{nil, &no}, 0, "cannot be told with 10 users"},
		{[]*bool{&no, nil}, 0, ""},
		{nil, 0, ""},
	} {
		var f Finding
		for i, k := range c.kept {
			f.Kept = append(f.Kept, Kept{Users: 10 * (i + 1), Kept: k, Why: "times are not known"})
		}
		users, doubt := f.slaLoad()
		if users != c.want || !strings.Contains(doubt, c.doubt) || (doubt == "") != (c.doubt == "") {
			t.Errorf("slaLoad(%v) = %d, %q, want %d, %q", c.kept, users, doubt, c.want, c.doubt)
		}
	}
}

// TestCheapest: what is not known to keep the SLA is never the cheapest, and what
// keeps it without a price is told apart from what does not keep it.
func TestCheapest(t *testing.T) {
	yes, no := true, false
	row := func(name string, hourly float64, keeps *bool) Price {
		out := Price{Configuration: name, Keeps: keeps}
		if hourly > 0 {
			out.Hourly = &hourly
		}
		return out
	}
	for name, c := range map[string]struct {
		rows                     []Price
		hosts                    []int // in place of prices
		cheapest, unpriced, open []string
		words                    string
	}{
		"by money": {[]Price{row("a", 1, &no), row("b", 2, nil), row("c", 3, &yes), row("d", 4, &yes), row("e", 0, nil)}, nil, []string{"c"}, nil, []string{"b"},
			"With 100 users c keeps p95=1s for the least money, 3 USD an hour. Whether b would, for less, cannot be told: it was not measured with 100 users."},
		"one has no price": {[]Price{row("a", 1, &no), row("b", 2, &yes), row("c", 0, &yes)}, nil, []string{"b"}, []string{"c"}, nil,
			"With 100 users b keeps p95=1s for the least money, 2 USD an hour; c keeps it, too, and has no price."},
		"none has a price": {[]Price{row("a", 1, &no), row("b", 0, &yes)}, nil, nil, []string{"b"}, nil,
			"With 100 users b keeps p95=1s, and no configuration that does has a price: which is the cheapest is not known."},
		"none keeps": {[]Price{row("a", 1, &no), row("b", 0, nil)}, nil, nil, nil, []string{"b"},
			"With 100 users no configuration that was measured is known to keep p95=1s. Whether b would cannot be told: it was not measured with 100 users."},
		"equal prices": {[]Price{row("a", .1+.2+.3, &yes), row("b", .3+.2+.1, &yes), row("c", .6, nil)}, nil, []string{"a", "b"}, nil, nil,
			"With 100 users a, b keep p95=1s for the least money, 0.6 USD an hour each."},
		"equal hosts": {[]Price{row("a", 0, &yes), row("b", 0, &yes), row("c", 0, &yes)}, []int{3, 4, 3}, []string{"a", "c"}, nil, nil,
			"With 100 users a, c keep p95=1s with the fewest hosts, as many each."},
	} {
		got := Cost{At: 100, Rows: c.rows, Currency: "USD", priced: c.hosts == nil}
		findings := make([]Finding, len(c.rows))
		for i, n := range c.hosts {
			findings[i].Hosts = n
		}
		got.cheapest(findings)
		if !slices.Equal(got.Cheapest, c.cheapest) || !slices.Equal(got.Unpriced, c.unpriced) || !slices.Equal(got.Open, c.open) {
			t.Errorf("%s: %v, without a price %v, open %v; want %v, %v, %v", name, got.Cheapest, got.Unpriced, got.Open, c.cheapest, c.unpriced, c.open)
		}
		if text := got.words("p95=1s"); text != c.words {
			t.Errorf("%s: %s", name, text)
		}
	}
}
