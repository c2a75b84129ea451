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

// answered is a trial in which all answers took so long, and a share failed.
func answered(users int, ms, errs float64) trial {
	h := histogram.New(int64(time.Minute))
	histogram.RecordMany(h, int64(ms*1e6), 1000)
	return trial{latencies: h, Trial: bottleneck.Trial{Users: users, Errors: errs}}
}

func TestKept(t *testing.T) {
	sla, err := load.ParseSLA("p95=500ms,errors=1%")
	if err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	for _, c := range []struct {
		name   string
		trials []trial
		want   *bool
		each   int
		why    string
	}{
		{"far below", []trial{answered(9, 100, 0), answered(9, 110, 0), answered(9, 105, 0)}, &yes, 3, ""},
		{"far above", []trial{answered(9, 900, 0), answered(9, 910, 0), answered(9, 905, 0)}, &no, 0, "p95 "},
		{"trials disagree", []trial{answered(9, 400, 0), answered(9, 600, 0), answered(9, 450, 0)}, nil, 2, "missed in 1 of 3 trials"},
		{"below, and wide", []trial{answered(9, 300, 0), answered(9, 490, 0)}, nil, 2, "more trials would tell"},
		{"one trial", []trial{answered(9, 100, 0)}, nil, 1, "in one trial"},
		{"no scatter", []trial{answered(9, 100, 0), answered(9, 100, 0)}, &yes, 2, ""},
		{"errors", []trial{answered(9, 100, .02), answered(9, 100, .02)}, &no, 0, "errors 2.0 %, not 1.0 %"},
		{"most failed", []trial{answered(9, 100, .2), answered(9, 100, .3)}, &no, 0, "p95 never, not 500 ms"},
		{"one of them failed", []trial{answered(9, 100, .2), answered(9, 100, 0)}, nil, 1, "missed in 1 of 2"},
	} {
		k := keptBy(sla, []bottleneck.Load{{Users: 9}}, c.trials)[0]
		if (k.Kept == nil) != (c.want == nil) || k.Kept != nil && *k.Kept != *c.want || k.TrialsKept != c.each || !strings.Contains(k.Why, c.why) || (c.why == "") != (k.Why == "") {
			t.Errorf("%s: %+v (kept %v), want %v, %d trials, %q", c.name, k, k.Kept, c.want, c.each, c.why)
		}
	}
	if k := keptBy(sla, []bottleneck.Load{{Users: 9, Refused: "late"}}, []trial{answered(9, 1, 0), answered(9, 1, 0)})[0]; k.Kept != nil {
		t.Errorf("%+v of a load that was refused", k)
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
