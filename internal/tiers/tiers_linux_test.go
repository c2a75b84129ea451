package tiers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/kernel"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/probe"
	"github.com/scalebench/scalebench/internal/procself"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/test/servers"
)

// contextOf is the context of a helper process.
func contextOf() context.Context { return context.Background() }

// TestFailures: what cannot be read is told, each source in a line, and counted
// with its times; nothing is made up for it.
func TestFailures(t *testing.T) {
	t.Parallel()
	dead := servers.FreeAddress(t)
	w := New(Config{Service: "svc", Group: []string{t.TempDir()}, PID: os.Getpid(), Ports: []int{1},
		Step: 50 * time.Millisecond, Probes: []probe.Probe{
			{Kind: "apache", URL: "http://" + dead + "/server-status?auto", Every: unit.Duration(50 * time.Millisecond)},
			{Kind: "iis"},
		}})
	began := time.Now()
	w.Start(t.Context())
	<-time.After(200 * time.Millisecond)
	w.Stop()
	w.Stop()
	list := w.Series(began)
	sound(t, list)
	got := strings.Join(w.Failures(), "\n")
	for _, want := range []string{
		"control group: no cpu.stat in", "threads: no cgroup.threads or tasks in", "nothing listens on port 1",
		`probe iis: unknown kind of probe "iis": use one of haproxy, apache`,
		"probe apache http://" + dead + "/server-status?auto: ", "readings failed, the first after 0.", " s: Get",
		"connection refused",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("Failures lack %q:\n%s", want, got)
		}
	}
	for _, s := range list {
		name := strings.TrimPrefix(s.Metric, "svc:")
		if slices.Contains([]string{"cpu", "quota", "runnable", "threads_busy", "requests", "accept_queue"}, name) {
			t.Errorf("there is a series %s", s.Metric)
		}
	}
	if n := last(t, list, "probe_failed"); n < 3+5*3 {
		t.Errorf("probe_failed = %v, want that each of five sources failed again and again", n)
	}
}

// TestProbes: a signal that two probes tell is that of the first; a server that
// does not answer delays neither the others nor the end, and is told.
func TestProbes(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hangs" {
			<-release
		}
		_, _ = io.WriteString(w, `{"threads":{"busy":3,"max":9},"pool":{},"interactions":{"Home":{"count":5,"response":2}}}`)
	}))
	defer server.Close()
	defer close(release)
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := New(Config{Service: "svc", PID: os.Getpid(), Link: 12.5e6, Probes: []probe.Probe{
		{Kind: "accesslog", File: log, Pattern: `(?P<seconds>\S+)`, Every: unit.Duration(20 * time.Millisecond)},
		{Kind: "board", URL: server.URL, Every: unit.Duration(20 * time.Millisecond)},
		{Kind: "board", URL: server.URL + "/hangs"},
	}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-time.After(200 * time.Millisecond); cancel() }() // or Start would wait for an answer
	w.Start(ctx)
	began := time.Now()
	w.Stop()
	if took := time.Since(began); took > lastTimeout+2*time.Second {
		t.Errorf("Stop took %v", took)
	}
	list := w.Series(began)
	sound(t, list)
	if v := last(t, list, "threads_busy"); v != 3 {
		t.Errorf("threads_busy = %v, want 3", v)
	}
	if v := last(t, list, "link"); v != 12.5e6 {
		t.Errorf("link = %v", v)
	}
	names := map[string]int{}
	for _, s := range list {
		names[s.Metric]++
	}
	if names["svc:requests"] != 1 || names["svc:threads_busy"] != 1 || names["svc:requests[Home]"] != 1 {
		t.Errorf("series by name: %v", names)
	}
	if v := last(t, list, "requests"); v != 0 || len(of(t, list, "requests").Values) < 3 { // once a second there were two
		t.Errorf("requests = %v in %d readings, want the 0 of the log, often", v, len(of(t, list, "requests").Values))
	}
	if f := strings.Join(w.Failures(), "\n"); !strings.Contains(f, "/hangs: ") || !strings.Contains(f, "no answer within 2s") {
		t.Errorf("Failures = %s, want that one does not answer", f)
	}
}

// TestGoneInMidRun: a control group that is removed while it is watched.
func TestGoneInMidRun(t *testing.T) {
	t.Parallel()
	g := makeGroup(t)
	w := New(Config{Service: "svc", Group: g.dirs, Step: 20 * time.Millisecond})
	w.Start(t.Context())
	if err := until("three readings are taken",
		func() bool { return len(w.tracks[0].Series(time.Now())[0].Values) >= 3 }); err != nil {
		t.Fatal(err)
	}
	for _, d := range g.dirs {
		if err := os.Remove(d); err != nil && !errors.Is(err, os.ErrNotExist) { // cpu and cpuacct may be one
			t.Fatal(err)
		}
	}
	w.Stop() // which takes a reading
	list := w.Series(time.Now())
	// Of the readings before one may have given way to the last.
	if n := len(of(t, list, "cpu").Values); n < 2 {
		t.Errorf("%d readings of cpu, want those before", n)
	}
	if f := strings.Join(w.Failures(), "\n"); !strings.Contains(f, "control group: ") || !strings.Contains(f, "no such device") {
		t.Errorf("Failures = %s, want that the group is gone", f)
	}
}

// TestBound: what costs too much is done less often, and that is told.
func TestBound(t *testing.T) {
	b := newBound("threads", time.Second)
	did := 0
	for range 100 {
		if err := b.do(func() error { did++; b.Spent(19 * time.Millisecond); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if did < 24 || did > 27 || b.left != 100-did {
		t.Errorf("19 ms at 5 ms a turn were done %d of 100 times, %d left out; want 26", did, b.left)
	}
	left, final := b.left, did
	b.last = func() bool { return true }
	for range 3 {
		if err := b.do(func() error { did++; b.Spent(time.Second); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if did != final+3 || b.left != left {
		t.Errorf("of last readings %d of 3 were done", did-final)
	}
	h := &host{bounds: []*bound{b, newBound("connections", time.Second)}}
	if n := h.notes(); len(n) != 1 || !strings.HasPrefix(n[0], "threads: read at ") || !strings.Contains(n[0], "of 103 readings") {
		t.Errorf("notes = %q", n)
	}
}

// TestGroupVersion2 reads groups as version 2 shows them, limits at two levels.
func TestGroupVersion2(t *testing.T) {
	root := t.TempDir()
	write := func(dir, file, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stat := func(dir, used, periods, throttled, time string) {
		write(dir, "cpu.stat", "usage_usec "+used+"\nnr_periods "+periods+"\nnr_throttled "+throttled+"\nthrottled_usec "+time+"\n")
	}
	for _, dir := range []string{"host", "host/service"} {
		write(dir, "cgroup.events", "populated 1\n")
	}
	write("", "cpu.stat", "usage_usec 9\n") // the root has no limit
	write("host", "cpu.max", "50000 100000\n")
	write("host/service", "cpu.max", "max 100000\n")
	stat("host", "7000000", "100", "10", "1000000")
	stat("host/service", "2000000", "0", "0", "0")
	g, err := openGroup([]string{filepath.Join(root, "host/service")}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	read := func() map[string]float64 {
		t.Helper()
		got := map[string]float64{}
		if err := g.Parse(func(name string, v float64) { got[name] = v }); err != nil {
			t.Fatal(err)
		}
		return got
	}
	want := func(what string, want map[string]float64) {
		t.Helper()
		if d := cmp.Diff(want, read()); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	want("at first", map[string]float64{"cpu": 2, "quota": 0.5, "periods": 0, "throttled_periods": 0, "throttled": 0})
	stat("host", "7500000", "110", "15", "1500000")
	stat("host/service", "2400000", "0", "0", "0")
	want("limited above", map[string]float64{"cpu": 2.4, "quota": 0.5, "periods": 10, "throttled_periods": 5, "throttled": 0.5})
	write("host/service", "cpu.max", "20000 100000\n")
	stat("host", "8000000", "120", "15", "1500000")
	stat("host/service", "2500000", "10", "9", "700000")
	want("limited itself", map[string]float64{"cpu": 2.5, "quota": 0.2, "periods": 20, "throttled_periods": 14, "throttled": 1.2})
	write("host", "cpu.max", "max 100000\n")
	write("host/service", "cpu.max", "400000 100000\n")
	if q := read()["quota"]; q != 2 {
		t.Errorf("quota = %v with a limit of 4 cores and 2 processors, want 2", q)
	}
}

// TestLimitAbove: a service without a group of its own may use what the group of its
// node may, and where that cannot be read nobody knows.
func TestLimitAbove(t *testing.T) {
	t.Parallel()
	limited, top, odd := t.TempDir(), t.TempDir(), t.TempDir()
	for file, text := range map[string]string{
		limited + "/cgroup.events": "populated 1\n", limited + "/cpu.max": "50000 100000\n",
		limited + "/cpu.stat": "usage_usec 9\nnr_periods 7\nnr_throttled 3\nthrottled_usec 5\n",
		top + "/cpu.stat":     "usage_usec 9\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	watch := func(above string) (list []model.HostSeries, failures string) {
		w := New(Config{Service: "svc", PID: os.Getpid(), Above: []string{above}})
		w.Start(t.Context())
		w.Stop()
		list = w.Series(time.Now())
		sound(t, list)
		return list, strings.Join(w.Failures(), "\n")
	}
	list, failures := watch(limited)
	if q := last(t, list, "quota"); q != 0.5 || failures != "" {
		t.Errorf("in a node of 0.5 cores quota = %v, failures %q", q, failures)
	}
	if p := last(t, list, "throttled_periods"); p != 0 || last(t, list, "cpu") < 0 {
		t.Errorf("throttled_periods = %v before anything happened", p)
	}
	list, failures = watch(top)
	if q := last(t, list, "quota"); q != processors(os.Getpid()) || failures != "" {
		t.Errorf("at the top quota = %v, failures %q; want all processors", q, failures)
	}
	list, failures = watch(odd)
	if slices.ContainsFunc(list, func(s model.HostSeries) bool { return s.Metric == "svc:quota" }) || !strings.Contains(failures, "limits of the node: no cpu.stat") {
		t.Errorf("where nothing can be read there is a quota, or no failure: %q", failures)
	}
}

// TestGroupRefused: directories that do not tell what is asked.
func TestGroupRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cpu.stat"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, dirs := range map[string][]string{"no cpu.stat in": {"/dev/null/missing"},
		"no control groups below the root": {dir}} {
		if g, err := openGroup(dirs, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("openGroup(%q) = %v, %v, want %q", dirs, g, err, want)
		}
	}
	// Version 1 without the controller that counts.
	if err := os.WriteFile(filepath.Join(dir, "cpu.cfs_quota_us"), []byte("-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cpu.cfs_period_us"), []byte("100000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := openGroup([]string{dir}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := g.Parse(func(name string, v float64) { t.Errorf("%s = %v", name, v) }); err == nil ||
		!strings.Contains(err.Error(), "cpuacct") {
		t.Errorf("read = %v, want that cpuacct is missing", err)
	}
}

func TestDescendants(t *testing.T) {
	all := []procself.Process{
		{PID: 1, Parent: 0, Group: 1}, {PID: 10, Parent: 1, Group: 10}, {PID: 11, Parent: 10, Group: 10}, {PID: 12, Parent: 11, Group: 12},
		{PID: 20, Parent: 1, Group: 10}, {PID: 21, Parent: 20, Group: 21}, // went to init, and stayed in the group
		{PID: 30, Parent: 1, Group: 30},
	}
	got := descendants(all, 10)
	slices.Sort(got)
	if d := cmp.Diff([]int{10, 11, 12, 20, 21}, got); d != "" {
		t.Errorf("descendants (-want +got):\n%s", d)
	}
	if got := descendants(all, 99); len(got) > 0 {
		t.Errorf("descendants of what is gone = %v", got)
	}
}

func TestParseStatus(t *testing.T) {
	const text = "Name:\tState:\\n\nUmask:\t0022\nState:\tR (running)\nTgid:\t7\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n"
	s, runs := parseStatus([]byte(text))
	if s.voluntary != 150 || s.involuntary != 545 || !runs {
		t.Errorf("parseStatus = %+v, %v, want 150, 545, true", s, runs)
	}
	if _, runs := parseStatus([]byte(strings.Replace(text, "R (running)", "S (sleeping)", 1))); runs {
		t.Error("one that sleeps runs")
	}
}

// TestThreadsCount: new threads count from 0, those that were there from then on;
// an id may come to be another thread's.
func TestThreadsCount(t *testing.T) {
	th := &threads{seen: map[int]thread{}}
	count := func(id int, now switches) {
		x, known := th.seen[id]
		th.count(id, x, known, now)
	}
	count(1, switches{voluntary: 100, delay: 50})
	th.begun = true
	count(1, switches{voluntary: 103, delay: 60})
	count(2, switches{voluntary: 5, involuntary: 1, delay: 7})
	count(1, switches{voluntary: 2, delay: 1})
	if d := cmp.Diff(switches{3 + 5 + 2, 1, 10 + 7 + 1}, th.sum, cmp.AllowUnexported(switches{})); d != "" {
		t.Errorf("sum (-want +got):\n%s", d)
	}
}

// TestThreadsFiles: whether files stay open or not, what is read is the same, and
// those of threads that have ended are closed.
func TestThreadsFiles(t *testing.T) {
	for _, most := range []int{0, 2, 100} {
		in, out, pid := command(t, nil, "/bin/sh", "-c", "exec 2>/dev/null; sleep 60 & sleep 60 & p=$!; echo ready; read x; kill $p; wait $p; echo done; read x")
		tree := &tree{root: pid}
		th := &threads{bound: newBound("threads", time.Second), list: tree.list}
		if err := th.open(); err != nil {
			t.Fatal(err)
		}
		th.most = most
		read := func(what string) map[string]float64 {
			t.Helper()
			if line, err := out.ReadString('\n'); line != what+"\n" {
				t.Fatalf("it said %q, %v", line, err)
			}
			got := map[string]float64{}
			for range 2 {
				tree.looked = time.Time{}
				if err := th.all(func(name string, v float64) { got[name] = v }); err != nil {
					t.Fatal(err)
				}
			}
			return got
		}
		if got := read("ready"); got["threads"] != 3 || th.kept != min(3, most) {
			t.Errorf("%v threads, %d with open files, want 3 and %d", got["threads"], th.kept, min(3, most))
		}
		if _, err := in.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
		if got := read("done"); got["threads"] != 2 || got["switches_voluntary"] < 1 || th.kept != min(2, most) {
			t.Errorf("%v, %d with open files, want 2 threads, some switches, and %d", got, th.kept, min(2, most))
		}
		th.Close()
		if th.kept != 0 {
			t.Errorf("%d threads with open files after the end", th.kept)
		}
	}
}

func FuzzStatus(f *testing.F) {
	f.Add("State:\tR\nvoluntary_ctxt_switches:\t1\n", "nr_periods 1\n")
	f.Fuzz(func(_ *testing.T, status, stat string) {
		parseStatus([]byte(status))
		parseListeners([]byte(stat), func(string, float64) {})
		newInterfaces(1, 0)([]byte(stat), func(string, float64) {})
		kernel.Pairs([]byte(status), func([]byte, uint64) {})
	})
}
