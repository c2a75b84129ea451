package bottleneck

import (
	"math"
	"strings"
	"testing"
)

// TestImpossible: what no application can have done is no verdict, and is told by what is
// the likelier: other units, where it is far off.
func TestImpossible(t *testing.T) {
	const units = ": see that response and think times are in seconds, and the throughput in operations per second"
	for name, c := range map[string]struct {
		change  func(*Trial)
		verdict Verdict
		why     string
		doubt   string
	}{
		"milliseconds":         {func(t *Trial) { t.Response *= 1000 }, Unknown, "where the law says 100 %" + units, "closed_loop"},
		"a minute":             {func(t *Trial) { t.Throughput *= 60 }, Unknown, "where the law says 100 %" + units, "closed_loop"},
		"twice the users":      {func(t *Trial) { t.Users /= 2 }, Unknown, "users were missing, or operations failed", "closed_loop"},
		"longer than they had": {func(t *Trial) { t.Response, t.Think = math.NaN(), 10 }, Unknown, "is what throughput times think time alone comes to in trial 2 with 120 users (668.7 % on average), and more than 100 % cannot be" + units, "closed_loop"},
		"response alone":       {func(t *Trial) { t.Response, t.Think = 1000*t.Response, math.NaN() }, Unknown, "throughput times response time alone comes to in trial 1 with 120 users (33133.3 % on average), and more than 100 % cannot be" + units, "closed_loop"},
		"a little longer":      {func(t *Trial) { t.Response, t.Think = math.NaN(), 1.2*float64(t.Users)/t.Throughput }, Unknown, "120.0 % of the users is what throughput times think time alone comes to with 120 users, and more than 100 % cannot be", "closed_loop"},
		"no response":          {func(t *Trial) { t.Response = math.NaN() }, Named, "", ""},
		"neither":              {func(t *Trial) { t.Response, t.Think = math.NaN(), math.NaN() }, Named, "", ""},
	} {
		a := Analyze(system(busy, c.change))
		if a.Verdict != c.verdict || !strings.Contains(a.Why, c.why) || contains(a.Doubts, "closed_loop") != (c.doubt != "") {
			t.Errorf("%s: %s, %q, doubts %+v; want %s, %q", name, a.Verdict, a.Why, a.Doubts, c.verdict, c.why)
		}
		if name == "a little longer" && strings.Contains(a.Why, units) {
			t.Errorf("%s: %q, want no word of units", name, a.Why)
		}
		for _, l := range a.Loads {
			if l.Users > 40 && l.Spoiled() != (c.verdict == Unknown) {
				t.Errorf("%s: %d users, spoiled is %v", name, l.Users, l.Spoiled())
			}
		}
	}
}

// TestNothingEnded: where no operation of a trial ended well, at the load that decided or
// below, there is no verdict; beyond it that is told.
func TestNothingEnded(t *testing.T) {
	die := func(users, trial int) func(*Trial) {
		return func(t *Trial) {
			if t.Users == users && (trial == 0 || t.Trial == trial) {
				t.Throughput, t.Response = 0, math.NaN()
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*Trial)
		why    string
	}{
		"beyond the knee":   {die(120, 0), "100.0 % of the trials had no operation that ended well with 120 users: what was full there"},
		"in one of two":     {die(160, 1), "50.0 % of the trials had no operation that ended well with 160 users: what was full there"},
		"at the first load": {die(20, 0), "100.0 % of the trials had no operation that ended well with 20 users: what was full there"},
	} {
		a := Analyze(system(busy, c.change))
		if a.Verdict != Unknown || !strings.Contains(a.ExcludedFromRanking, c.why) || !contains(a.Doubts, "nothing_ended") {
			t.Errorf("%s: %s, %q, uncounted %q, doubts %+v; want unknown, for %q", name, a.Verdict, a.Why,
				a.ExcludedFromRanking, a.Doubts, c.why)
		}
	}
	if a := Analyze(system(busy, die(160, 0))); a.Verdict != Named || a.Load != 120 || a.ExcludedFromRanking != "" ||
		!said(a.Doubts, "100.0 % of the trials had no operation that ended well with 160 users") {
		t.Errorf("beyond the load that decided: %s at %d, doubts %+v; want it named at 120, with a doubt", a.Verdict, a.Load, a.Doubts)
	}
}
