package bottleneck

import (
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
		"nearly full": {0, nearlyBusy, "and not full: measure with more users"},
		"nearly full, and failing": {.64, nearlyBusy,
			"and not full: find out first why 64.0 % of the operations failed"},
		"few fail": {.02, nearlyBusy, "and not full: measure with more users"},
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
	const failing, units = "or operations failed", "see that response and think times are in seconds"
	const rates = "a think time of 0 lets users wait for answers all the time: see that it is not missing"
	times := func(think, response, errors float64) func(*Trial) {
		return func(t *Trial) { t.Think, t.Response, t.Errors = think, response, errors }
	}
	for name, c := range map[string]struct {
		change func(*Trial)
		doubt  string // empty: the law holds, and there is a model
	}{
		"rates":          {times(0, .013, 0), rates},
		"rates, failing": {times(0, .013, .2), failing},
		"milliseconds":   {times(1000, 13, 0), units},
		"no think time":  {func(t *Trial) { t.Think, t.Response = 0, float64(t.Users)/t.Throughput }, ""},
		"closed":         {nil, ""},
	} {
		a := Analyze(system(busy, c.change))
		if c.doubt != "" && !said(a.Doubts, c.doubt) || c.doubt == "" && contains(a.Doubts, "closed_loop") {
			t.Errorf("%s: doubts %+v, want %q", name, a.Doubts, c.doubt)
		}
		laws, model := a.Laws, c.doubt == ""
		if (laws.UsersAtKnee != nil) != model || len(laws.Points) > 0 != model || laws.Limit == nil {
			t.Errorf("%s: %v users at the knee, %d points; want: %v", name, value(laws.UsersAtKnee), len(laws.Points),
				model)
		}
	}
}
