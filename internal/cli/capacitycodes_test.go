package cli

import (
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
)

// windowsAt are windows by load: a positive number passed, a negative one was
// missed at its amount.
func windowsAt(loads ...float64) (out []capacity.Judged) {
	for _, l := range loads {
		j := capacity.Judged{Window: capacity.Window{Load: l, Phase: search.Refine}, Verdict: capacity.Passed}
		if l < 0 {
			j.Load, j.Verdict = -l, capacity.Missed
		}
		out = append(out, j)
	}
	return out
}

// TestCapacityExitCodes: a capacity of the target is reported, or refused with
// whose limit was found instead. Against a floor, what more than one window
// says counts; anything else cannot be told.
func TestCapacityExitCodes(t *testing.T) {
	const done, below, untold = exitDone, exitThreshold, exitInvalid
	type limit = capacity.Limit
	const target, path, generator, upper, lower, none = capacity.LimitTarget, capacity.LimitPath, capacity.LimitGenerator, capacity.LimitCap, capacity.LimitFloor, capacity.LimitNone
	sure := windowsAt(90, -110, 100, -105, 100, -105)
	lucky := windowsAt(90, -110, 100, -105)
	for _, c := range []struct {
		name           string
		limit          limit
		confirmed      bool
		windows        []capacity.Judged
		passed, failed float64 // 0: none
		floor          float64 // 0: none
		code           int
		says           string
	}{
		{"target", target, true, sure, 100, 105, 0, done, ""},
		{"target, not confirmed", target, false, lucky, 100, 105, 0, done, ""},
		{"target at the floor", target, true, sure, 100, 105, 100, done, ""},
		{"target below the floor", target, true, sure, 100, 105, 101, below, "less than 101"},
		{"target far below the floor", target, true, sure, 100, 105, 500, below, "less than 500"},
		{"one lucky window", target, false, lucky, 100, 105, 100, untold, "cannot be told"},
		{"two windows above the floor", target, false, lucky, 100, 105, 85, done, ""},
		{"as many against it", target, false, windowsAt(-90, 90, -90, 100, -110), 100, 110, 85, untold, "cannot be told"},
		{"too few windows", target, false, windowsAt(100, 1000, 3000, -10000), 3000, 10000, 8000, untold, "cannot be told"},
		{"one window failed below the floor", target, false, windowsAt(100, 3000, -7000), 3000, 7000, 8000, untold, "cannot be told"},
		{"two windows failed below the floor", target, false, windowsAt(100, 3000, -7000, -7500), 3000, 7000, 8000, below, "less than 8000"},
		{"two failed, the larger above the floor", target, false, windowsAt(100, 3000, -7000, -9000), 3000, 7000, 8000, untold, "cannot be told"},
		{"path", path, true, sure, 100, 105, 0, untold, "the path to the target was at its limit"},
		{"path above the floor", path, true, sure, 100, 105, 99, done, ""},
		{"path above the floor, once", path, false, lucky, 100, 105, 99, untold, "the path"},
		{"path below the floor", path, true, sure, 100, 105, 101, untold, "the path"},
		{"generators", generator, true, sure, 100, 105, 0, untold, "the generators were at their limit"},
		{"not over", none, false, lucky, 100, 105, 101, untold, "cannot be told"},
		{"not over, enough", none, false, sure, 100, 105, 100, done, ""},
		{"cap", upper, true, windowsAt(100, 100), 100, 0, 100, done, ""},
		{"cap below the floor", upper, true, windowsAt(100, 100), 100, 0, 101, untold, "cannot be told"},
		{"floor of the search", lower, true, windowsAt(-1, -1), 0, 1, 10, below, "less than 10"},
		{"floor of the search, once", lower, false, windowsAt(-1), 0, 1, 10, untold, "cannot be told"},
		{"another version", capacity.LimitUnknown, false, sure, 0, 0, 0, untold, "another version"},
		{"another version, with a floor", capacity.LimitUnknown, false, sure, 0, 0, 90, untold, "another version"},
		{"nothing", none, false, nil, 0, 0, 10, untold, "cannot be told"},
	} {
		found := capacity.Found{Workload: "w", Result: capacity.Result{
			Limit: c.limit, Passed: some(c.passed), Failed: some(c.failed), Confirmed: c.confirmed, Windows: c.windows,
		}}
		wantExit(t, c.name, checkCapacities([]capacity.Found{found}, floor{loadFlag{c.floor, c.floor > 0}}), c.code, c.says)
	}
}

func some(v float64) *float64 {
	if v == 0 {
		return nil
	}
	return &v
}

func wantExit(t *testing.T, name string, err error, code int, says string) {
	t.Helper()
	if got := exitCode(err); got != code || err != nil && !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %v, exit code %d; want %d and %q", name, err, got, code, says)
	}
}

// TestCapacityExitNames: which of several generators, and which of several
// targets; one that is surely too small counts before one that cannot be told.
func TestCapacityExitNames(t *testing.T) {
	one := capacity.Found{Workload: "one", Result: capacity.Result{Limit: capacity.LimitGenerator, Generators: []model.NodeID{"n2"}}}
	small := capacity.Found{Workload: "small", Result: capacity.Result{Limit: capacity.LimitTarget, Confirmed: true, Passed: some(5), Failed: some(6)}}
	wantExit(t, "a generator", checkCapacities([]capacity.Found{one}, floor{}), exitInvalid, "generator n2 was at its limit")
	wantExit(t, "two targets", checkCapacities([]capacity.Found{one, small}, floor{loadFlag{10, true}}), exitThreshold, "small: less than 10")
}

// TestCapacityPaperRamp: windows of the paper's ramp pass by another rule than
// the SLA, and tell nothing.
func TestCapacityPaperRamp(t *testing.T) {
	found := capacity.Found{Workload: "w", Config: capacity.Config{Algorithm: search.Paper}}
	found.Result = capacity.Result{Limit: capacity.LimitTarget, Passed: some(200), Failed: some(210), Windows: windowsAt(100, 200, 150, -210)}
	wantExit(t, "refined", checkCapacities([]capacity.Found{found}, floor{loadFlag{100, true}}), exitDone, "")
	for i := range found.Result.Windows {
		found.Result.Windows[i].Phase = search.Ramp
	}
	wantExit(t, "ramp", checkCapacities([]capacity.Found{found}, floor{loadFlag{100, true}}), exitInvalid, "cannot be told")
}

// TestCapacityFlags: a flag that can be of no effect is refused, and the
// message says what is allowed.
func TestCapacityFlags(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"--resolution 0", "from 0.001 to 0.5"},
		{"--resolution -0.1", "from 0.001 to 0.5"},
		{"--windows 0", "from 5 to 1000"},
		{"--windows -3", "from 5 to 1000"},
		{"--windows 2", "5"},
		{"--connections 0", "from 1 to 60000"},
		{"--connections -5", "from 1 to 60000"},
		{"--records -1", "a number from 1"},
		{"--generators 0", "from 1 to 256"},
		{"--generators 2 --agents all", "one of the two"},
		{"--fail-below 0", "above 0"},
		{"--fail-below -5", "above 0"},
		{"--fail-below NaN", "above 0"},
		{"--fail-below 2000 --detach", "--detach does not wait"},
		{"--fail-below 2000 --max 1kop/s", "allow a larger load"},
		{"--http2", "https://"},
		{"--expect 999", "statuses"},
		{"--mix w1", "no data store"},
		{"--timeout 100ms", "set request_timeout (--timeout) above 100ms"},
		{"--start 5op/s --min 6", "--start: loads from 6 to"},
		{"--max 5MB/s", "such as 2000 or 2kop/s"},
		{"--window 1.5s", "--window: 1.5s is not a number of whole seconds"},
		{"--generators 300", "--generators: 300 is too large"},
		{"--mix zz", "--mix: \"zz\" is not known here"},
	} {
		args := append([]string{"capacity", "http://127.0.0.1:1/", "--sla", "p90=100ms"}, strings.Fields(c.args)...)
		var out, said strings.Builder
		env := Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &said, Environ: []string{"HOME=" + t.TempDir()}}
		if code := Main(env); code != exitUsage || !strings.Contains(said.String(), c.says) {
			t.Errorf("%s: exit code %d, %q; want %d and %q", c.args, code, said.String(), exitUsage, c.says)
		}
	}
}
