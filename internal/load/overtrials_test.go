package load_test

import (
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
)

// outcome is a trial in which all answers took so long, and a share failed.
func outcome(ms, errs float64) load.Outcome {
	h := histogram.New(int64(time.Minute))
	histogram.RecordMany(h, int64(ms*1e6), 1000)
	return load.Outcome{Latencies: h, Errors: errs}
}

// TestOverTrials: kept and broken by whole intervals.
func TestOverTrials(t *testing.T) {
	sla, err := load.ParseSLA("p95=500ms,errors=1%")
	if err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	for _, c := range []struct {
		name   string
		trials []load.Outcome
		want   *bool
		each   int
		why    string
	}{
		{"far below", []load.Outcome{outcome(100, 0), outcome(110, 0), outcome(105, 0)}, &yes, 3, ""},
		{"far above", []load.Outcome{outcome(900, 0), outcome(910, 0), outcome(905, 0)}, &no, 0, "p95 "},
		{"trials disagree", []load.Outcome{outcome(400, 0), outcome(600, 0), outcome(450, 0)}, nil, 2, "missed in 1 of 3 trials"},
		{"below, and wide", []load.Outcome{outcome(300, 0), outcome(490, 0)}, nil, 2, "more trials would tell"},
		{"one trial", []load.Outcome{outcome(100, 0)}, nil, 1, "in one trial"},
		{"no scatter", []load.Outcome{outcome(100, 0), outcome(100, 0)}, &yes, 2, ""},
		{"errors", []load.Outcome{outcome(100, .02), outcome(100, .02)}, &no, 0, "errors 2.0 %, not 1.0 %"},
		{"most failed", []load.Outcome{outcome(100, .2), outcome(100, .3)}, &no, 0, "p95 never, not 500 ms"},
		{"one of them failed", []load.Outcome{outcome(100, .2), outcome(100, 0)}, nil, 1, "missed in 1 of 2"},
	} {
		kept, each, why := sla.OverTrials(c.trials)
		if (kept == nil) != (c.want == nil) || kept != nil && *kept != *c.want || each != c.each || !strings.Contains(why, c.why) || (c.why == "") != (why == "") {
			t.Errorf("%s: kept %v, %d trials, %q, want %v, %d, %q", c.name, kept, each, why, c.want, c.each, c.why)
		}
	}
}
