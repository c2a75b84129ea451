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

func TestSLALoad(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		kept  []*bool
		want  int
		doubt string
	}{
		{[]*bool{&yes, &yes, &no, &no}, 20, ""},
		{[]*bool{&yes, nil, &no, &no}, 10, "cannot be told with 20 users"},
		{[]*bool{&yes, &no, &yes, &no}, 10, "30 users kept the SLA, and 20 did not"},
		{[]*bool{nil, &no}, 0, "cannot be told with 10 users"},
		{[]*bool{&no, nil}, 0, ""},
		{nil, 0, ""},
	} {
		var f Finding
		for i, k := range c.kept {
			f.Kept = append(f.Kept, Kept{Users: 10 * (i + 1), Kept: k})
		}
		users, doubt := f.slaLoad()
		if users != c.want || !strings.Contains(doubt, c.doubt) || (doubt == "") != (c.doubt == "") {
			t.Errorf("slaLoad(%v) = %d, %q, want %d, %q", c.kept, users, doubt, c.want, c.doubt)
		}
	}
}

// TestCheapest: what is not known to keep the SLA is never the cheapest.
func TestCheapest(t *testing.T) {
	yes, no := true, false
	one, two, three, four := 1., 2., 3., 4.
	c := Cost{At: 100, Currency: "USD", Rows: []Price{{"a", &one, nil, nil, &no}, {"b", &two, nil, nil, nil}, {"c", &three, nil, nil, &yes}, {"d", &four, nil, nil, &yes}, {"e", nil, nil, nil, nil}}}
	c.cheapest(make([]Finding, len(c.Rows)))
	if c.Cheapest != "c" || !slices.Equal(c.Open, []string{"b"}) {
		t.Errorf("cheapest %s, open %v, want c, and that b cannot be told", c.Cheapest, c.Open)
	}
	if text := c.words("p95=1s"); !strings.Contains(text, "c keeps p95=1s for the least money, 3 USD an hour. Whether b would, for less, cannot be told") {
		t.Error(text)
	}
}
