package history

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/frame/files"
	"github.com/scalebench/scalebench/internal/model"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// askTable is the history of a table.
func askTable(t *testing.T, p *Params, table string) (*Result, error) {
	t.Helper()
	frames, told, err := files.Read(t.Context(), "nightly.csv", strings.NewReader(table), p.Takes().Choice,
		files.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Ask(t.Context(), study.Input{}, []study.Source{{Name: "nightly.csv", Frames: frames, Told: told}})
	if err != nil {
		return nil, err
	}
	return r.(*Result), nil
}

// nightly is a table of 65 nights, of which the last five are slower by three SDs of a
// run, with a branch that is slower anyway.
func nightly(seed uint64, rows int) string {
	rng := rand.New(rand.NewPCG(seed, 3))
	var b strings.Builder
	b.WriteString("time,commit,branch,version,latency (ms)\n")
	for night := range 65 {
		for k, branch := range []string{"main", "try"} {
			level, version := 100*(1+.3*float64(k)), "1.0"
			if night >= 60 && k == 0 {
				level, version = 103, "1.1"
			}
			level += rng.NormFloat64()
			for row := range rows {
				at := begin.AddDate(0, 0, night).Add(time.Duration(30*k+row) * time.Minute)
				fmt.Fprintf(&b, "%s,%s%d,%s,%s,%.3f\n", at.Format(time.DateTime), branch[:1], night, branch, version,
					level+.2*rng.NormFloat64())
			}
		}
	}
	return b.String()
}

// TestTable: a table is answered as stored runs are: a row or several rows a run, each
// branch by itself, with what else changed where the level did.
func TestTable(t *testing.T) {
	for _, rows := range []int{1, 3} {
		found := 0
		for seed := range uint64(10) {
			r, err := askTable(t, params(), nightly(seed, rows))
			if err != nil || len(r.Metrics) != 2 {
				t.Fatalf("%d metrics, %v; want one a branch", len(r.Metrics), err)
			}
			m := r.Metrics[0]
			if m.Branch != "main" || len(m.Runs) != 65 || m.Runs[3].N != rows || m.Runs[3].Run == m.Runs[4].Run ||
				!m.Runs[3].At.Equal(begin.AddDate(0, 0, 3)) {
				t.Fatalf("branch %q, %d runs, run %+v; want main, 65 of %d rows", m.Branch, len(m.Runs), m.Runs[3],
					rows)
			}
			if len(m.Changes) != 1 || math.Abs(float64(m.Changes[0].Index-60)) > 1 {
				continue
			}
			found++
			if c := m.Changes[0]; !hasFact(c.Facts, Fact{"version", "1.0", "1.1", 60}) {
				t.Errorf("a change with %v, want the version among them", c.Facts)
			}
		}
		if found < 7 {
			t.Errorf("%d rows a run: the last five of 65, three SDs slower, are found in %d of 10, want 7", rows, found)
		}
	}
}

func hasFact(facts []Fact, want Fact) bool {
	for _, f := range facts {
		if f == want {
			return true
		}
	}
	return false
}

// TestRunsOfTable: which rows are one run.
func TestRunsOfTable(t *testing.T) {
	for name, c := range map[string]struct {
		table string
		want  []int // rows of each run
		says  string
	}{
		"a column run":     {"run,value\na,1\na,2\nb,3\nb,4\n", []int{2, 2}, "no times"},
		"rows of one time": {"time,value\n2026-01-01,1\n2026-01-01,2\n2026-01-02,3\n", []int{2, 1}, ""},
		"rows of one commit": {
			"time,commit,value\n2026-01-01 01:00,a,1\n2026-01-01 01:01,a,2\n2026-01-01 02:00,b,3\n2026-01-01 02:01,b,3\n", []int{2, 2}, ""},
		"a commit of two days": {"time,commit,value\n2026-01-01,a,1\n2026-01-02,a,2\n2026-01-03,b,3\n", []int{1, 1, 1},
			""},
		"neither times nor run": {"value\n1\n2\n4\n", []int{1, 1, 1}, "no times"},
	} {
		r, err := askTable(t, params(), c.table)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []int
		for _, run := range r.Metrics[0].Runs {
			got = append(got, run.N)
		}
		if diff := cmp.Diff(c.want, got); diff != "" ||
			!strings.Contains(strings.Join(r.Metrics[0].Warnings, "; "), c.says) {
			t.Errorf("%s: rows of runs (-want +got):\n%s%v", name, diff, r.Metrics[0].Warnings)
		}
		if page := r.Document(); len(page.Sections) != 1 {
			t.Errorf("%s: %d sections, want 1", name, len(page.Sections))
		}
	}
}

// TestBranch: --branch takes one, or puts all together, or names those there are.
func TestBranch(t *testing.T) {
	for branch, want := range map[string]int{"main": 65, "try": 65, "all": 130} {
		p := params()
		p.Branch = branch
		if r, err := askTable(t, p, nightly(1, 1)); err != nil || len(r.Metrics) != 1 ||
			len(r.Metrics[0].Runs) != want {
			t.Errorf("--branch %s: %v, want one history of %d runs", branch, err, want)
		}
	}
	p := params()
	p.Branch = "main "
	if _, err := askTable(t, p, nightly(1, 1)); !errors.Is(err, model.ErrUsage) ||
		!strings.Contains(err.Error(), "there is main, try") {
		t.Errorf("another branch: %v", err)
	}
	if _, err := p.branches(&frame.Frame{Key: frame.Key{Metric: "x"}, Values: []float64{1}}); !errors.Is(err,
		model.ErrUsage) {
		t.Errorf("a branch of none: %v", err)
	}
}

// TestConstantRuns: equal runs are as exact as their last digit, where something tells
// them apart.
func TestConstantRuns(t *testing.T) {
	for name, c := range map[string]struct {
		before  int
		from    string
		latest  string
		times   bool
		want    Verdict
		unclear bool
	}{
		"a fall":             {11, "117.0", "88.5", true, Worse, false},
		"a rise":             {5, "0.117", "0.210", true, Better, false},
		"equal":              {11, "117.0", "117.0", true, As, false},
		"within a last step": {20, "117", "116", true, As, false},
		"three before":       {3, "117", "116", true, As, false},
		"copies":             {11, "117.0", "88.5", false, "", true},
	} {
		var b strings.Builder
		b.WriteString(map[bool]string{true: "time,", false: ""}[c.times] + "rate\n")
		for day := range c.before + 1 {
			if c.times {
				b.WriteString(begin.AddDate(0, 0, day).Format(time.DateOnly) + ",")
			}
			b.WriteString(map[bool]string{true: c.latest, false: c.from}[day == c.before] + "\n")
		}
		p, five := params(), study.Percent(5)
		p.Better, p.FailWorse = "higher", &five
		r, err := askTable(t, p, b.String())
		if err != nil {
			t.Fatal(err)
		}
		latest := r.Metrics[0].Latest
		if c.unclear != (latest == nil) || latest != nil && latest.Verdict != c.want {
			t.Errorf("%s: %+v, want %s", name, latest, c.want)
		}
		if c.want == Worse && !errors.Is(r.Gate(), model.ErrThreshold) {
			t.Errorf("%s: gate %v", name, r.Gate())
		}
	}
}

// TestLastDigit: where the runs before are equal, the latest may differ by what its values'
// last digit allows, whatever the digits of its mean; a larger difference is one.
func TestLastDigit(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 6))
		digits, rows, before := rng.IntN(3), 1+rng.IntN(5), 3+rng.IntN(5)
		if seed == 0 {
			digits, rows, before = 0, 3, 3
		}
		last := math.Pow10(-digits)
		level := last * float64(107+10*rng.IntN(30))    // the last digit is none that may be missing
		ask := func(latest float64) (*Result, Latest) { // one row of the latest run
			var b strings.Builder
			b.WriteString("time,rate\n")
			for day := range before + 1 {
				for row := range rows {
					v := level
					if day == before && row == 0 {
						v = latest
					}
					fmt.Fprintf(&b, "%s,%.*f\n", begin.AddDate(0, 0, day).Format(time.DateOnly), digits, v)
				}
			}
			p, least := params(), study.Percent(.01)
			p.Better, p.FailWorse = "higher", &least
			r, err := askTable(t, p, b.String())
			if err != nil {
				t.Fatal(err)
			}
			return r, *r.Metrics[0].Latest
		}
		step := last * float64(2*rng.IntN(2)-1)
		if r, got := ask(level + step); got.Verdict != As || errors.Is(r.Gate(), model.ErrThreshold) {
			t.Errorf("%d rows of %v, %d digits, one of %v in the latest: %s %v, gate %v", rows, level, digits, step,
				got.Verdict, got.CI, r.Gate())
		}
		if _, got := ask(level - 20*last*float64(rows)); got.Verdict != Worse {
			t.Errorf("%d rows of %v, %d digits: a mean that is 20 steps lower is %s %v", rows, level, digits, got.Verdict, got.CI)
		}
	}
}

// TestRisingRuns: a metric that rises from run to run is a counter only by its name.
func TestRisingRuns(t *testing.T) {
	for name, c := range map[string]struct {
		metric string
		runs   int
		value  func(rng *rand.Rand, run int) float64
		total  bool
	}{
		"a binary that grows":     {"binary_size", 16, func(_ *rand.Rand, run int) float64 { return float64(18_000_000 + 5400*run) }, false},
		"worse night after night": {"took", 20, func(rng *rand.Rand, run int) float64 { return 100 + 1.5*float64(run) + rng.Float64() }, false},
		"a counter by its name":   {"bytes_total", 20, func(_ *rand.Rand, run int) float64 { return 1e6 + float64(54321*run) }, true},
	} {
		rng := rand.New(rand.NewPCG(1, 4))
		var b strings.Builder
		fmt.Fprintf(&b, "time,%s\n", c.metric)
		for run := range c.runs {
			fmt.Fprintf(&b, "%s,%v\n", begin.AddDate(0, 0, run).Format(time.DateOnly), c.value(rng, run))
		}
		p := params()
		p.Better, p.Value = "lower", c.metric
		r, err := askTable(t, p, b.String())
		if err != nil {
			t.Fatal(err)
		}
		m := r.Metrics[0]
		total := slices.ContainsFunc(m.Doubts, func(d model.Doubt) bool { return d.Code == frame.CodeTotal })
		if m.Latest == nil || total != c.total {
			t.Errorf("%s: %+v, %v", name, m.Latest, m.Warnings)
		}
	}
}

// TestDriftingRuns: a drift is not taken for what runs differ by; what scatters, wanders or
// stays within what runs differ by is as before.
func TestDriftingRuns(t *testing.T) {
	wander := 0.0
	for _, c := range []struct {
		name  string
		runs  int
		value func(rng *rand.Rand, run int) float64
		least int // of 20 seeds that drift
		most  int
	}{
		{"a fall of 30 SDs", 60, func(rng *rand.Rand, run int) float64 { return 100 - .5*float64(run) + rng.NormFloat64() }, 19, 20},
		{"a rise of 15 SDs", 30, func(rng *rand.Rand, run int) float64 { return 100 + .5*float64(run) + rng.NormFloat64() }, 19, 20},
		{"few runs", 14, func(rng *rand.Rand, run int) float64 { return 100 - float64(run) + rng.NormFloat64() }, 15, 20},
		{"a drift of two SDs", 60, func(rng *rand.Rand, run int) float64 { return 100 + float64(run)/30 + rng.NormFloat64() }, 0, 1},
		{"chance", 60, func(rng *rand.Rand, _ int) float64 { return 100 + rng.NormFloat64() }, 0, 0},
		{"a level that wanders", 60, func(rng *rand.Rand, run int) float64 {
			if run == 0 {
				wander = 1000
			}
			wander += rng.NormFloat64()
			return wander
		}, 0, 1},
	} {
		drifts, others := 0, 0
		for seed := range uint64(20) {
			rng := rand.New(rand.NewPCG(seed, 5))
			var b strings.Builder
			b.WriteString("time,rate\n")
			for run := range c.runs {
				fmt.Fprintf(&b, "%s,%.3f\n", begin.AddDate(0, 0, run).Format(time.DateOnly), c.value(rng, run))
			}
			p := params()
			p.Better = "higher"
			r, err := askTable(t, p, b.String())
			if err != nil {
				t.Fatal(err)
			}
			m := &r.Metrics[0]
			if slices.ContainsFunc(m.Doubts, func(d model.Doubt) bool { return d.Code == "drift" && m.Latest.Verdict == Unknown }) {
				drifts++
			} else if m.Latest.Verdict != As || len(m.Changes) > 0 {
				others++
			}
		}
		t.Logf("%s: %d drift, %d better, worse or changed", c.name, drifts, others)
		if got := drifts + others*min(1, c.least); got < c.least || drifts > c.most {
			t.Errorf("%s: %d of 20 drift, and %d are better, worse or changed; want %d to %d", c.name, drifts, others, c.least, c.most)
		}
	}
}

// TestNoRun: rows that name no run are left out, and that is said.
func TestNoRun(t *testing.T) {
	table := "time,run,rate\n"
	for i := range 30 {
		run := fmt.Sprint("r", i/3)
		if i%10 == 4 {
			run = ""
		}
		table += fmt.Sprintf("%s,%s,%d\n", begin.AddDate(0, 0, i).Format(time.DateOnly), run, 100+i%7)
	}
	r, err := askTable(t, params(), table)
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Metrics[0]; !strings.Contains(strings.Join(m.Warnings, "; "), "3 of 30 rows left out, for want of a run") {
		t.Errorf("warnings %q, want that three rows are left out", m.Warnings)
	}
}

// TestManyMetrics: where each of many metrics has too small a share of the error rate for
// changes to be looked for, that is said.
func TestManyMetrics(t *testing.T) {
	f := runs(1, 40, func(day int) float64 { return 100 + float64(day/20*50) }, nothing)
	for metrics, looked := range map[int]bool{1: true, 4000: true, 6000: false} {
		p := params()
		s, err := p.branches(&f)
		if err != nil {
			t.Fatal(err)
		}
		m := p.metric(s[0])
		p.changes(&m, metrics)
		said := slices.ContainsFunc(m.doubts, func(d model.Doubt) bool { return d.Code == "small_level" })
		if said == looked || len(m.Changes) > 0 != looked {
			t.Errorf("%d metrics: changes %+v, doubts %v; want that they are looked for: %t", metrics, m.Changes, m.doubts, looked)
		}
	}
}

// TestCounters: a history of a running total has no verdict, and no advice names a flag
// that there is not.
func TestCounters(t *testing.T) {
	var b strings.Builder
	b.WriteString("time,other,when,bytes_total\n")
	rng, sum := rand.New(rand.NewPCG(3, 3)), 0.0
	for day := range 70 {
		sum += math.Round(500 + 20*rng.NormFloat64())
		at := begin.AddDate(0, 0, day)
		fmt.Fprintf(&b, "%s,%d,%s,%.1f\n", at.Format(time.DateOnly), 1000+7*day, at.Format(time.DateTime), sum)
	}
	p := params()
	p.Value, p.Time = "bytes_total", "time"
	r, err := askTable(t, p, b.String())
	if err != nil {
		t.Fatal(err)
	}
	m := r.Metrics[0]
	if m.Latest == nil || m.Latest.Verdict != Unknown || len(m.Doubts) == 0 || m.Doubts[0].Code != frame.CodeTotal {
		t.Errorf("%+v, doubts %v; want unknown, for a running total", m.Latest, m.Doubts)
	}
	if told := strings.Join(r.Told, "; "); !strings.Contains(told, "left out") || strings.Contains(told, "--by") {
		t.Errorf("told %q", told)
	}
}
