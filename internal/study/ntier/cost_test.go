package ntier

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
)

// keeping is an SLA, and a trial with 9 users that keeps it.
func keeping(t *testing.T) (load.SLA, trial) {
	t.Helper()
	sla, err := load.ParseSLA("p95=500ms")
	if err != nil {
		t.Fatal(err)
	}
	h := histogram.New(int64(time.Minute))
	histogram.RecordMany(h, int64(1e8), 1000)
	return sla, trial{latencies: h, Trial: bottleneck.Trial{Users: 9}}
}

// TestKept: a load that says nothing, or of which a response time is not known, is
// neither kept nor broken; nor is one that is withdrawn with its configuration.
func TestKept(t *testing.T) {
	sla, known := keeping(t)
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

// TestKeptSpoiled: a load of which users were missing in a trial is not known to keep the
// SLA; nor is it known to break it by less.
func TestKeptSpoiled(t *testing.T) {
	sla, known := keeping(t)
	k := keptBy(sla, []bottleneck.Load{{Users: 9, WorstLaw: &bottleneck.OfTrial{Trial: 1, Value: .6}}}, []trial{known, known}, "")[0]
	if k.Kept != nil || !strings.Contains(k.Why, "X·(R+Z)/N") {
		t.Errorf("%+v, want it not told", k)
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

// TestPeakPrice: the interval of a price at the peak has the truth in it as often as it
// says, though the peak is the load that came out best.
func TestPeakPrice(t *testing.T) {
	const loads, trials, rounds = 6, 5, 600
	c, err := ParseConfiguration("1-em-large", []string{"web"})
	if err != nil {
		t.Fatal(err)
	}
	p := &Params{PriceTable: "type,price_per_hour,currency\nlarge,0.36,USD\n"}
	rng, inside := rand.New(rand.NewPCG(1, 2)), 0
	for range rounds {
		f := Finding{Answer: bottleneck.Answer{Loads: make([]bottleneck.Load, loads)}}
		for i := range f.Loads {
			values, sum := make([]float64, trials), 0.0
			for k := range values {
				values[k] = 100 + rng.NormFloat64()
				sum += values[k]
			}
			f.Loads[i] = bottleneck.Load{Users: i + 1, Throughput: sum / trials}
			if f.peak().Users == i+1 {
				f.peaks = values
			}
		}
		cost, _, err := p.cost([]Finding{f}, []measured{{configuration: c}}, true)
		if err != nil {
			t.Fatal(err)
		}
		if ci := cost.Rows[0].Peak.PerMillionCI; ci.Lo <= 1 && 1 <= ci.Hi {
			inside++
		}
	}
	if share := float64(inside) / rounds; share < .94 {
		t.Errorf("the price is within %.1f %% of the intervals, want 95 %% or more", 100*share)
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
