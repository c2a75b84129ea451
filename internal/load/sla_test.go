package load_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

func TestParseSLA(t *testing.T) {
	for text, want := range map[string]string{
		"p90=150ms":             "p90=150ms,errors=1%",
		"p99=500ms,errors=0.1%": "p99=500ms,errors=0.1%",
		" max = 1s , p99.9=2s ": "max=1s,p99.9=2s,errors=1%",
		"median=20ms,errors=0":  "p50=20ms,errors=0%",
		"p50=1ms,errors=0.001":  "p50=1ms,errors=0.1%",
	} {
		got, err := load.ParseSLA(text)
		if err != nil || got.String() != want {
			t.Errorf("ParseSLA(%q) = %v, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "p90", "p90=", "p0=1s", "p101=1s", "p90=-1s", "q90=1s", "errors=1%", "p90=1s,errors=100%", "p90=1s,errors=-1", "p90=1s,,", "pNaN=1s"} {
		if got, err := load.ParseSLA(text); !errors.Is(err, model.ErrUsage) {
			t.Errorf("ParseSLA(%q) = %v, %v, want model.ErrUsage", text, got, err)
		}
	}
}

// TestCheckSLA: what can mean two things is refused where a user writes it, and
// read where it is stored.
func TestCheckSLA(t *testing.T) {
	for text, want := range map[string]string{
		"p99=500ms,p50=9ms,errors=0.1%": "",
		"p90=150ms,errors=0":            "",
		"p90=150ms,errors=0.1":          "write errors=0.1% or errors=10%",
		"p90=150ms, errors = 0.001":     "write errors=0.001% or errors=0.1%",
		"p90=150ms,p90=100ms":           "p90 stands twice",
		"p50=150ms,median=100ms":        "p50 stands twice",
		"p90=150ms,errors=1%,errors=2%": "errors stands twice",
	} {
		err := load.CheckSLA(text)
		if want == "" && err != nil || want != "" && (!errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), want)) {
			t.Errorf("CheckSLA(%q) = %v, want %q", text, err, want)
		}
		if _, err := load.ParseSLA(text); err != nil {
			t.Errorf("ParseSLA(%q) = %v, but a run may hold it", text, err)
		}
	}
}

func FuzzParseSLA(f *testing.F) {
	f.Add("p90=150ms")
	f.Add("p99.9=1s,errors=0.1%")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := load.ParseSLA(text)
		if err != nil {
			return
		}
		again, err := load.ParseSLA(s.String())
		if err != nil || again.String() != s.String() {
			t.Errorf("%q became %q, and that %q, %v", text, s, again, err)
		}
	})
}

// answered makes a window of 10 s in which of due operations those with these
// latencies, n times each, ended well.
func answered(due int64, n int64, latencies ...time.Duration) load.Window {
	w := load.Window{
		Load: float64(due) / 10, Scored: 10 * time.Second, Counts: load.Counts{Due: due},
		Latencies: histogram.New(int64(time.Hour)), Services: histogram.New(int64(time.Hour)), Lags: histogram.New(int64(time.Hour)),
	}
	for _, d := range latencies {
		histogram.RecordMany(w.Latencies, int64(d), n)
		histogram.RecordMany(w.Services, int64(d), n)
		histogram.RecordMany(w.Lags, int64(10*time.Microsecond), n)
		w.Counts.OK += n
		w.Replies += n
	}
	return w
}

func TestJudge(t *testing.T) {
	const ms = time.Millisecond
	failing := answered(100, 91, ms)
	failing.Counts.Errors[load.ErrStatus] = 9
	failing.Counts.Statuses.Add(503, 3)
	failing.Counts.Statuses.Add(429, 5)
	for _, c := range []struct {
		name, sla string
		window    load.Window
		want      string // in the misses; empty: passed
	}{
		{"all in time", "p90=2ms", answered(100, 100, ms), ""},
		{"on the limit", "p90=2ms", answered(100, 50, ms, 2*ms), ""},
		{"one in ten slower", "p90=2ms", answered(100, 10, ms, ms, ms, ms, ms, ms, ms, ms, ms, 9*ms), ""},
		{"two in ten slower", "p90=2ms", answered(100, 10, ms, ms, ms, ms, ms, ms, ms, ms, 9*ms, 9*ms), "p90"},
		{"errors", "p50=2ms", failing, "errors 9 % (status 429: 5 of 100, status 503: 3, refused: 1), not 1 %"},
		{"errors that are allowed, but count as slow", "p95=2ms,errors=10%", failing, "p95 was not reached"},
		{"not achieved", "p50=2ms,errors=50%", failing, "91 % of the load was answered"},
		{"two terms, the second missed", "p50=2ms,max=8ms", answered(100, 50, ms, 9*ms), "max"},
		{"nothing due", "p50=2ms", answered(0, 0), "nothing"},
	} {
		sla, err := load.ParseSLA(c.sla)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, miss := range sla.Judge(c.window) {
			texts = append(texts, miss.Text)
		}
		got := strings.Join(texts, "; ")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: Judge = %q, want %q", c.name, got, c.want)
		}
	}
}

// TestLatencyOfDue: ranks are of all operations due, exactly.
func TestLatencyOfDue(t *testing.T) {
	var all []time.Duration
	for i := range 10 {
		all = append(all, time.Duration(i+1)*100*time.Millisecond)
	}
	w := answered(20, 1, all...) // ten others did not end well
	for _, c := range []struct {
		q     float64
		want  time.Duration
		known bool
	}{{.05, 100 * time.Millisecond, true}, {.051, 200 * time.Millisecond, true}, {.5, time.Second, true}, {.51, 0, false}, {1, 0, false}} {
		got, known := w.Latency(c.q)
		if known != c.known || (got-c.want).Abs() > c.want/500 {
			t.Errorf("Latency(%v) = %v, %v, want %v, %v", c.q, got, known, c.want, c.known)
		}
	}
}
