package runner

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

func TestOutcomes(t *testing.T) {
	tests := []struct {
		name    string
		params  map[string]any
		outcome model.Outcome
		text    string
	}{
		{"well", map[string]any{"script": "true"}, model.OutcomeOK, ""},
		{"no parameters", nil, model.OutcomeOK, ""},
		{"workload fails", map[string]any{"fail": "no such device"}, model.OutcomeFailed, "no such device"},
		{"panic", map[string]any{"panic": "at the disco"}, model.OutcomeFailed, "panic: at the disco"},
		{"child exits", map[string]any{"exit": 3}, model.OutcomeFailed, "ended early (exit status 3)"},
		{"child is killed", map[string]any{"script": "kill -9 $PPID; sleep 100"}, model.OutcomeFailed, "signal: killed"},
		{"counter goes down", map[string]any{"points": [][]string{{"ops", "5"}, {"ops", "4"}}}, model.OutcomeFailed, "went down from 5 to 4"},
		{"counter is not a number", map[string]any{"points": [][]string{{"ops", "NaN"}}}, model.OutcomeFailed, "must be a number"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { want(t, run(t, tt.params), tt.outcome, tt.text) })
	}
}

// TestOfferReachesTheWorkload: the load that the step sets.
func TestOfferReachesTheWorkload(t *testing.T) {
	cfg := config(t, nil)
	cfg.Spec.Offer = &model.Offer{Rate: 2.5, Seed: 40}
	if o := begun(t, cfg).Wait(); len(o.Samples) != 1 || o.Samples[0].Value != 42.5 {
		t.Errorf("an offer of 2.5 op/s with seed 40 gave the samples %+v", o.Samples)
	}
}

func TestPrepareFails(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		text   string
	}{
		{"script", func(c *Config) { c.Spec.Params = map[string]any{"prepares": "exit 4"} }, "preparing: exit status 4"},
		{"bad usage", func(c *Config) { c.Spec.Params = map[string]any{"refuses": "no host"} }, "preparing: no host"},
		{"unknown kind", func(c *Config) { c.Spec.Kind = "cup" }, `does not know workload "cup", only [pause probe]`},
		{"unknown parameter", func(c *Config) { c.Spec.Params = map[string]any{"tread": 1} }, `unknown field "tread"`},
		{"invalid parameter", func(c *Config) { c.Spec.Params = map[string]any{"exit": -1} }, "exit: is negative"},
		{"too slow", func(c *Config) {
			c.Spec.Params = map[string]any{"prepares": "sleep 100"}
			c.PrepareTimeout = 300 * time.Millisecond
		}, "preparing took longer than 300ms"},
		{"child dies", func(c *Config) { c.Spec.Params = map[string]any{"prepares": "kill -9 $PPID"} }, "signal: killed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config(t, nil)
			tt.change(&cfg)
			p := start(t, cfg)
			if err := <-p.Ready(); err == nil || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("Ready() gave %v, want %q", err, tt.text)
			}
			if err := p.Begin(time.Now()); err == nil {
				t.Error("Begin() of an unprepared task = nil, want an error")
			}
			o := p.Wait()
			if strings.HasPrefix(tt.text, "preparing: ") && o.Error != tt.text {
				t.Errorf("the reason is %q, want %q", o.Error, tt.text)
			}
			if o.Outcome == model.OutcomeOK || !o.Started.IsZero() || !o.Ended.IsZero() {
				t.Errorf("outcome = %s from %v to %v, want not ok and no times", o.Outcome, o.Started, o.Ended)
			}
		})
	}
}

func TestStartRefuses(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no command":  func(c *Config) { c.Command = nil },
		"no timeout":  func(c *Config) { c.Spec.Timeout = 0 },
		"no dir":      func(c *Config) { c.Dir = "" },
		"bad command": func(c *Config) { c.Command = []string{"/dev/null/binary"} },
	} {
		cfg := config(t, nil)
		change(&cfg)
		if p, err := Start(t.Context(), cfg); err == nil {
			p.Wait()
			t.Errorf("%s: Start() = nil, want an error", name)
		}
		if left, _ := filepath.Glob(filepath.Join(cfg.Dir, "*")); cfg.Dir != "" && len(left) > 0 {
			t.Errorf("%s: Start() left %v behind", name, left)
		}
	}
}

// TestMeasured checks that everything measured arrives, with consistent times,
// and that nothing is left on disk.
func TestMeasured(t *testing.T) {
	cfg := config(t, map[string]any{
		"points": [][]string{{"ops", "0"}, {"ops", "5"}, {"bytes", "7"}, {"ops", "11"}},
		"sample": "rate",
		"script": "pwd; printf oops >&2; touch $SCRATCH/file; sleep 0.12; echo $SCALEBENCH_TASK | wc -c; exit 0",
	})
	var live []model.Progress
	cfg.OnProgress = func(p model.Progress) { live = append(live, p) }
	cfg.WorkDir = t.TempDir()
	cfg.Environ = append(cfg.Environ, "SCRATCH="+cfg.WorkDir)
	before := time.Now()
	o := begun(t, cfg).Wait()
	want(t, o, model.OutcomeOK, "")
	if o.Started.Before(before) || o.Ended.Sub(o.Started) < 100*time.Millisecond || o.Ended.After(time.Now()) {
		t.Errorf("ran from %v to %v, want within %v and now, for 0.12 s at least", o.Started, o.Ended, before)
	}
	if o.ExitCode == nil || *o.ExitCode != 0 {
		t.Errorf("exit code = %v, want 0", o.ExitCode)
	}
	wantSamples := []model.Sample{{Metric: "rate", Unit: "op/s", Value: 42, Better: model.Higher}}
	if diff := cmp.Diff(wantSamples, o.Samples); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
	if o.Stderr.Text != "oops" || o.Stderr.Total != 4 || !strings.HasPrefix(o.Stdout.Text, cfg.WorkDir+"\n") {
		t.Errorf("stdout, stderr = %+v, %+v; want the working directory, oops", o.Stdout, o.Stderr)
	}
	checkSeries(t, o, map[string][]float64{"ops": {0, 11}, "bytes": {7}})
	if len(live) == 0 {
		t.Error("OnProgress was never called")
	}
	if left, _ := filepath.Glob(filepath.Join(cfg.Dir, "*")); len(left) > 0 {
		t.Errorf("left in the scratch directory: %v", left)
	}
}

// checkSeries compares the values of all series and checks their times.
func checkSeries(t *testing.T, o Outcome, want map[string][]float64) {
	t.Helper()
	got := map[string][]float64{}
	for _, s := range o.Series {
		got[s.Metric] = s.Values
		for i, off := range s.Offsets {
			if off < 0 || off > o.Ended.Sub(o.Started).Nanoseconds() || (i > 0 && off <= s.Offsets[i-1]) {
				t.Errorf("%s: offsets %v do not ascend between start and end", s.Metric, s.Offsets)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

// TestTimeout checks that a timeout ends the task and that what was measured
// until then is kept.
func TestTimeout(t *testing.T) {
	for name, params := range map[string]map[string]any{
		"obedient": {"block": true},
		"deaf":     {"deaf": true},
	} {
		t.Run(name, func(t *testing.T) {
			params["points"] = [][]string{{"ops", "3"}}
			params["sample"] = "early"
			params["script"] = "echo started"
			cfg := config(t, params)
			cfg.Spec.Timeout = 1500 * time.Millisecond
			cfg.KillGrace = 200 * time.Millisecond
			p := begun(t, cfg)
			o := p.Wait()
			want(t, o, model.OutcomeTimeout, "longer than its timeout of 1.5s")
			if d := o.Ended.Sub(o.Started); d < 1490*time.Millisecond {
				t.Errorf("ran for %v, want its timeout of 1.5s", d)
			}
			if len(o.Samples) != 1 || o.Stdout.Text != "started\n" {
				t.Errorf("samples %v, stdout %q; want what was measured before", o.Samples, o.Stdout.Text)
			}
			checkSeries(t, o, map[string][]float64{"ops": {3}})
		})
	}
}

func TestKill(t *testing.T) {
	t.Run("while it prepares", func(t *testing.T) {
		p := start(t, config(t, map[string]any{"prepares": "sleep 100"}))
		p.Kill(model.OutcomeCancelled)
		p.Kill(model.OutcomeLost)
		if err := <-p.Ready(); err == nil {
			t.Error("Ready() gave nil, want an error")
		}
		want(t, p.Wait(), model.OutcomeCancelled, "killed: cancelled")
	})
	t.Run("while it waits", func(t *testing.T) {
		p := start(t, config(t, nil))
		if err := <-p.Ready(); err != nil {
			t.Fatal(err)
		}
		if err := p.Begin(time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		p.Kill(model.OutcomeLost)
		o := p.Wait()
		want(t, o, model.OutcomeLost, "killed: lost")
		if !o.Started.IsZero() {
			t.Errorf("started at %v, want never", o.Started)
		}
	})
	t.Run("while it runs", func(t *testing.T) {
		cfg := config(t, map[string]any{"points": [][]string{{"ops", "1"}}, "block": true})
		running := make(chan model.Progress, 1)
		cfg.OnProgress = func(p model.Progress) { running <- p }
		p := begun(t, cfg)
		<-running
		p.Kill(model.OutcomeCancelled)
		want(t, p.Wait(), model.OutcomeCancelled, "killed: cancelled")
	})
	t.Run("after its end", func(t *testing.T) {
		p := begun(t, config(t, map[string]any{"script": "true"}))
		p.Wait()
		p.Kill(model.OutcomeCancelled)
		want(t, p.Wait(), model.OutcomeOK, "")
	})
	t.Run("killed while it cleans up", func(t *testing.T) {
		cfg := config(t, map[string]any{"sample": "rate", "cleans": "sleep 100"})
		cfg.CleanupTimeout = 300 * time.Millisecond
		o := begun(t, cfg).Wait()
		want(t, o, model.OutcomeOK, "")
		if len(o.Samples) != 1 {
			t.Errorf("samples = %v, want the one measured", o.Samples)
		}
	})
}

func TestBeginTwice(t *testing.T) {
	p := begun(t, config(t, map[string]any{"block": true}))
	if err := p.Begin(time.Now()); err == nil || !strings.Contains(err.Error(), "already begun") {
		t.Errorf("second Begin() = %v, want an error", err)
	}
}

// TestCleanup checks that Cleanup runs however Run ended.
func TestCleanup(t *testing.T) {
	for name, params := range map[string]map[string]any{
		"well":           {},
		"failed":         {"fail": "x"},
		"panic":          {"panic": "x"},
		"prepare failed": {"prepares": "exit 1"},
		"timeout":        {"block": true},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "left")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			params["cleans"] = "rm " + file
			cfg := config(t, params)
			cfg.Spec.Timeout = 300 * time.Millisecond
			p := start(t, cfg)
			if err := <-p.Ready(); err == nil {
				if err := p.Begin(time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			p.Wait()
			if _, err := os.Stat(file); !os.IsNotExist(err) {
				t.Errorf("after %s, Stat(%s) = %v, want it removed", name, file, err)
			}
		})
	}
}

// TestFlood checks that the agent stays small and keeps count whatever a
// command prints: 1 GiB here.
func TestFlood(t *testing.T) {
	const size = 1 << 30
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	o := run(t, map[string]any{"script": "echo begin; yes 0123456789abcde | head -c 1073741806; echo; echo the end"})
	runtime.ReadMemStats(&after)
	want(t, o, model.OutcomeOK, "")
	if growth := int64(after.Sys) - int64(before.Sys); growth > 8<<20 {
		t.Errorf("the agent grew by %d bytes, want at most 8 MiB", growth)
	}
	if total := int64(len("begin\n") + 1073741806 + len("\nthe end\n")); o.Stdout.Total != total || total < size-100 {
		t.Errorf("total = %d, want %d", o.Stdout.Total, total)
	}
	if !o.Stdout.Truncated || !o.Stdout.ArtifactCut || !strings.HasPrefix(o.Stdout.Text, "begin\n0123") || !strings.HasSuffix(o.Stdout.Text, "\nthe end\n") {
		t.Errorf("output = truncated %v, cut %v; want head and tail", o.Stdout.Truncated, o.Stdout.ArtifactCut)
	}
	info, err := os.Stat(o.StdoutFile)
	if err != nil || info.Size() != 1<<20 {
		t.Errorf("Stat(%s) = %v, %v; want 1 MiB, the limit", o.StdoutFile, info, err)
	}
}

// TestBeginPrecision checks that Run never starts before the agreed time, and
// reports by how much it is late.
func TestBeginPrecision(t *testing.T) {
	var late []time.Duration
	for range 5 {
		p := start(t, config(t, nil))
		if err := <-p.Ready(); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(60 * time.Millisecond)
		if err := p.Begin(at); err != nil {
			t.Fatal(err)
		}
		o := p.Wait()
		late = append(late, o.Started.Sub(at.Round(0)))
	}
	t.Logf("started after the agreed time by %v", late)
	for _, d := range late {
		if d < 0 || d > 5*time.Second {
			t.Errorf("started %v after the agreed time, want 0 or little more", d)
		}
	}
}

// BenchmarkBegin reports how late Run starts, in nanoseconds.
func BenchmarkBegin(b *testing.B) {
	var sum, worst time.Duration
	for b.Loop() {
		p, err := Start(b.Context(), Config{
			Command: []string{os.Args[0], "run-workload"}, Task: "t", Dir: b.TempDir(), Environ: os.Environ(),
			Spec: model.Spec{Kind: "probe", Timeout: time.Minute},
		})
		if err != nil {
			b.Fatal(err)
		}
		if err := <-p.Ready(); err != nil {
			b.Fatal(err)
		}
		at := time.Now().Add(20 * time.Millisecond)
		if err := p.Begin(at); err != nil {
			b.Fatal(err)
		}
		late := p.Wait().Started.Sub(at.Round(0))
		sum, worst = sum+late, max(worst, late)
	}
	b.ReportMetric(float64(sum.Nanoseconds())/float64(b.N), "late-ns/op")
	b.ReportMetric(float64(worst.Nanoseconds()), "late-ns-max")
}
