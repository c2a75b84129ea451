package bottleneck

import (
	"math"
	"strings"
	"testing"
)

// TestAdviceWhereOperationsFail: more users are no advice where many operations fail.
func TestAdviceWhereOperationsFail(t *testing.T) {
	nearlyBusy := func(share float64) float64 { return .92 * share }
	for name, c := range map[string]struct {
		errors float64 // from 120 users on
		use    func(float64) float64
		want   string
	}{
		"nearly full":              {0, nearlyBusy, "and not full: measure with more users"},
		"nearly full, and failing": {.64, nearlyBusy, "and not full: find out first why 64.0 % of the operations failed there"},
		"few fail":                 {.02, nearlyBusy, "and not full: measure with more users"},
	} {
		s := system(c.use, func(t *Trial) {
			if t.Users >= 120 {
				t.Errors = c.errors
			}
		})
		if a := Analyze(s); a.Verdict != Unknown || !strings.Contains(a.Why, c.want) {
			t.Errorf("%s: %s, %q; want %q", name, a.Verdict, a.Why, c.want)
		}
	}
	last := Load{WorstErrors: &OfTrial{1, .3}}
	if got := last.moreUsers(); !strings.HasPrefix(got, "find out first why 30.0 %") {
		t.Errorf("moreUsers() = %q", got)
	}
}

// TestUsersThatAreRates: users who never think, and hardly wait, are rates as a rule; there
// is no model of them, and no number of users at the knee.
func TestUsersThatAreRates(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Trial)
		doubt  string
		model  bool
	}{
		"rates":          {func(t *Trial) { t.Think, t.Response = 0, .013 }, "a think time of 0 lets users wait for answers all the time: see that it is not missing", false},
		"rates, failing": {func(t *Trial) { t.Think, t.Response, t.Errors = 0, .013, .2 }, "or operations failed", false},
		"milliseconds":   {func(t *Trial) { t.Think, t.Response = 1000*t.Think, 1000*t.Response }, "see that response and think times are in seconds", false},
		"no think time":  {func(t *Trial) { t.Think, t.Response = 0, float64(t.Users)/t.Throughput }, "", true},
		"closed":         {nil, "", true},
	} {
		a := Analyze(system(busy, c.change))
		if c.doubt != "" && !said(a.Doubts, c.doubt) || c.doubt == "" && contains(a.Doubts, "closed_loop") {
			t.Errorf("%s: doubts %+v, want %q", name, a.Doubts, c.doubt)
		}
		if at := a.Laws.UsersAtKnee; (at != nil) != c.model || len(a.Laws.Points) > 0 != c.model || math.IsNaN(value(a.Laws.Limit)) {
			t.Errorf("%s: %v users at the knee, %d points; want a model: %v", name, value(at), len(a.Laws.Points), c.model)
		}
	}
}
