package capacity

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/load"
)

// TestStatuses: which statuses a server answered, and how often, is told for each
// window and for the search, to people and to programs. Those of windows that
// passed, or were missed for another reason, are not why a search ended.
func TestStatuses(t *testing.T) {
	window := func(rate float64, verdict Verdict, due, tooMany, broken int64) Assessment {
		w := load.Window{Load: rate, Counts: load.Counts{Due: due, OK: due - tooMany - broken}}
		w.Counts.Errors[load.ErrStatus] = tooMany + broken
		w.Counts.Statuses.Add(429, tooMany)
		w.Counts.Statuses.Add(503, broken)
		j := Assessment{Window: w, Verdict: verdict}
		if verdict == Missed {
			j.Misses = missed(sla("p90=1s"), w)
		}
		return j
	}
	s := Search{Workload: "w", Target: "t", Trial: 1, Config: Defaults()}
	s.Config.SLA = sla("p90=1s")
	s.Answer = Answer{Limit: LimitTarget, Windows: []Assessment{
		window(100, Passed, 1000, 1, 0), window(200, Missed, 2000, 300, 0), window(150, Missed, 1000, 12, 4), window(160, Unusable, 1000, 500, 0),
	}}
	if got, want := s.Answer.Windows[1].reason(), "errors 15 % (status 429: 300 of 2,000), not 1 %"; !strings.Contains(got, want) {
		t.Errorf("the reason of a window is %q, want %q in it", got, want)
	}
	d := (&Result{Searches: []Search{s}}).Document()
	if want := "2 windows missed the SLA by errors: status 429: 312 of 3,000, status 503: 4."; !slices.Contains(d.More, want) {
		t.Errorf("the document says %q, want %q", d.More, want)
	}
	r := s.Record()
	if diff := cmp.Diff(map[string]int64{"429": 312, "503": 4}, r.Statuses); diff != "" {
		t.Errorf("statuses of the search (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"429": 12, "503": 4}, r.Windows[2].Statuses); diff != "" {
		t.Errorf("statuses of a window (-want +got):\n%s", diff)
	}
	at := slices.IndexFunc(d.Data.Columns, func(c doc.Column) bool { return c.Key == "statuses" })
	for i, want := range []string{"429:1", "429:300", "429:12 503:4", "429:500"} {
		if got := d.Data.Rows[i].Cells[at].Value; got != want {
			t.Errorf("row %d of the CSV has the statuses %v, want %q", i, got, want)
		}
	}
}
