package capacity

import (
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
)

// TestLatest: who watches a search reads of each window what it was worth by the
// SLA's own percentile, for one reason, and where the search is.
func TestLatest(t *testing.T) {
	latencies := histogram.New(int64(time.Minute))
	histogram.RecordMany(latencies, int64(20*time.Millisecond), 100)
	window := load.Window{Load: 10_000, Latencies: latencies, Counts: load.Counts{Due: 100, OK: 100}}
	broken := window
	broken.Counts = load.Counts{Due: 200, OK: 100, Errors: [load.Kinds]int64{load.ErrConnect: 90, load.ErrTimeout: 10}}
	sla, err := load.ParseSLA("p99=100ms,p99.9=1s")
	if err != nil {
		t.Fatal(err)
	}
	judged := func(w load.Window, v Verdict) Assessment {
		return Assessment{Window: w, Verdict: v, Misses: missed(sla, w), Nearest: sla.Nearest(w)}
	}
	passed, failed := 10_000.0, 20_000.0
	for _, c := range []struct {
		name string
		r    Answer
		want string
	}{
		{"none", Answer{}, ""},
		{"passed", Answer{Windows: []Assessment{judged(window, Passed)}}, "10 kop/s: passed, p99 20 ms"},
		{"missed", Answer{Windows: []Assessment{judged(window, Passed), judged(broken, Missed)}, Passed: &passed, Failed: &failed},
			"10 kop/s: missed; errors 50 % (no connection: 90 of 200, no answer in time: 10), not 1 %; the limit is between 10 kop/s and 20 kop/s"},
		{"unusable", Answer{Windows: []Assessment{{Window: window, Verdict: Unusable, Problems: []reason{*because("late by 7ms; use more"), *because("busy")}}}},
			"10 kop/s: unusable; late by 7ms"},
		{"path", Answer{Windows: []Assessment{{Window: window, Verdict: Unusable, PathChange: because("it became longer")}}},
			"10 kop/s: unusable; it became longer"},
	} {
		if got := c.r.Latest(); got != c.want {
			t.Errorf("%s: Latest = %q, want %q", c.name, got, c.want)
		}
	}
}
