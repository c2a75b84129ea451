package capacity

import (
	"errors"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
	"github.com/scalebench/scalebench/test/skip"
)

// windowsAt are windows by load: a positive number passed, a negative one was
// missed at its amount.
func windowsAt(loads ...float64) (out []Assessment) {
	for _, l := range loads {
		j := Assessment{Window: load.Window{Load: l}, Phase: search.Refine, Verdict: Passed}
		if l < 0 {
			j.Load, j.Verdict = -l, Missed
		}
		out = append(out, j)
	}
	return out
}

// TestGate: a capacity of the target is reported, or refused with
// whose limit was found instead. Against a floor, what more than one window
// says counts; anything else cannot be told.
func TestGate(t *testing.T) {
	skip.IfShort(t)
	var done, below, untold error = nil, model.ErrThreshold, model.ErrInvalid
	type limit = Limit
	const target, path, generator, upper, lower, none = LimitTarget, LimitPath, LimitGenerator, LimitCap, LimitFloor, LimitNone
	sure := windowsAt(90, -110, 100, -105, 100, -105)
	lucky := windowsAt(90, -110, 100, -105)
	for _, c := range []struct {
		name           string
		limit          limit
		confirmed      bool
		windows        []Assessment
		passed, failed float64 // 0: none
		floor          float64 // 0: none
		kind           error
		says           string
	}{
		{"target", target, true, sure, 100, 105, 0, done, ""},
		{"target, not confirmed", target, false, lucky, 100, 105, 0, done, ""},
		{"target at the floor", target, true, sure, 100, 105, 100, done, ""},
		{"target below the floor", target, true, sure, 100, 105, 101, below, "less than 101"},
		{"target far below the floor", target, true, sure, 100, 105, 500, below, "less than 500"},
		{"one lucky window", target, false, lucky, 100, 105, 100, untold, "it is unknown whether"},
		{"two windows above the floor", target, false, lucky, 100, 105, 85, done, ""},
		{"as many against it", target, false, windowsAt(-90, 90, -90, 100, -110), 100, 110, 85, untold, "it is unknown whether"},
		{"too few windows", target, false, windowsAt(100, 1000, 3000, -10000), 3000, 10000, 8000, untold, "it is unknown whether"},
		{"one window failed below the floor", target, false, windowsAt(100, 3000, -7000), 3000, 7000, 8000, untold, "it is unknown whether"},
		{"two windows failed below the floor", target, false, windowsAt(100, 3000, -7000, -7500), 3000, 7000, 8000, below, "less than 8000"},
		{"two failed, the larger above the floor", target, false, windowsAt(100, 3000, -7000, -9000), 3000, 7000, 8000, untold, "it is unknown whether"},
		{"path", path, true, sure, 100, 105, 0, untold, "the path to the target was at its limit"},
		{"path above the floor", path, true, sure, 100, 105, 99, done, ""},
		{"path above the floor, once", path, false, lucky, 100, 105, 99, untold, "the path"},
		{"path below the floor", path, true, sure, 100, 105, 101, untold, "the path"},
		{"generators", generator, true, sure, 100, 105, 0, untold, "the generators were at their limit"},
		{"not over", none, false, lucky, 100, 105, 101, untold, "not over yet: w: whether 101 requests per second pass is not known; continue"},
		{"not over, enough", none, false, sure, 100, 105, 100, done, ""},
		{"cap", upper, true, windowsAt(100, 100), 100, 0, 100, done, ""},
		{"cap below the floor", upper, true, windowsAt(100, 100), 100, 0, 101, untold, "it is unknown whether"},
		{"floor of the search", lower, true, windowsAt(-1, -1), 0, 1, 10, below, "less than 10"},
		{"floor of the search, once", lower, false, windowsAt(-1), 0, 1, 10, untold, "it is unknown whether"},
		{"nothing", none, false, nil, 0, 0, 10, untold, "not over yet"},
	} {
		found := Search{Workload: "w", Answer: Answer{
			Limit: c.limit, Passed: some(c.passed), Failed: some(c.failed), Confirmed: c.confirmed, Windows: c.windows,
		}}
		wantGate(t, c.name, gated(c.floor, found), c.kind, c.says)
	}
}

func some(v float64) *float64 {
	if v == 0 {
		return nil
	}
	return &v
}

// gated holds searches to a least capacity; 0: any is accepted.
func gated(least float64, searches ...Search) error {
	return (&Result{Searches: searches, least: least}).Gate()
}

func wantGate(t *testing.T, name string, err, kind error, says string) {
	t.Helper()
	if !errors.Is(err, kind) || err != nil && !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %v; want %v and %q", name, err, kind, says)
	}
}

// TestGateNames: which of several generators, and which of several
// targets; one that is surely too small counts before one that cannot be told.
func TestGateNames(t *testing.T) {
	one := Search{Workload: "one", Answer: Answer{Limit: LimitGenerator, Generators: []model.NodeID{"n2"}}}
	small := Search{Workload: "small", Answer: Answer{Limit: LimitTarget, Confirmed: true, Passed: some(5), Failed: some(6)}}
	wantGate(t, "a generator", gated(0, one), model.ErrInvalid, "generator n2 was at its limit")
	wantGate(t, "two targets", gated(10, one, small), model.ErrThreshold, "small: less than 10")
}

// TestGatePaperRamp: windows of the paper's ramp pass by another rule than
// the SLA, and tell nothing.
func TestGatePaperRamp(t *testing.T) {
	found := Search{Workload: "w"}
	found.Config.Algorithm = search.Paper
	found.Answer = Answer{Limit: LimitTarget, Passed: some(200), Failed: some(210), Windows: windowsAt(100, 200, 150, -210)}
	wantGate(t, "refined", gated(100, found), nil, "")
	for i := range found.Answer.Windows {
		found.Answer.Windows[i].Phase = search.Ramp
	}
	wantGate(t, "ramp", gated(100, found), model.ErrInvalid, "it is unknown whether")
}

// TestGateByInterval: a capacity with an interval is held to a threshold by all
// of it, which reaches below the load that passed where windows are short.
func TestGateByInterval(t *testing.T) {
	estimate, passed, failed := 1971., 1924., 2019.6
	s := Search{Workload: "w", Answer: Answer{Limit: LimitTarget, Confirmed: true, Passed: &passed, Failed: &failed, Estimate: &estimate, CI: &[2]float64{1886, 2069}}}
	for least, want := range map[float64]error{
		1886: nil, 1887: model.ErrInvalid, 1924: model.ErrInvalid, 1925: model.ErrInvalid, 1970: model.ErrInvalid, 2068: model.ErrInvalid, 2070: model.ErrThreshold,
	} {
		if err := gated(least, s); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("--fail-below %v of %v: %v, want %v", least, *s.Answer.CI, err, want)
		}
	}
}
