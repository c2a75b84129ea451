package memory

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/paramtest"
	"github.com/scalebench/scalebench/test/workloadtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	p := &Params{Threads: workload.Threads{Number: 2}, Duration: unit.Duration(300 * time.Millisecond), Size: 3 * unit.MiB}
	r := &workloadtest.Record{T: t}
	env := &workload.Env{Report: r}
	if err := p.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	r.Start = time.Now()
	if err := p.Run(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	var got []string
	value := map[string]float64{}
	for _, s := range r.Samples {
		got = append(got, s.Metric+" "+s.Unit+" "+string(s.Better))
		value[s.Metric] = s.Value
	}
	want := []string{
		"copy_bandwidth byte/s higher", "triad_bandwidth byte/s higher",
		"random_access_rate op/s higher", "random_access_latency ns lower",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("samples (-want +got):\n%s", diff)
	}
	// Two threads: each access takes twice the inverse of the common rate.
	if l, r := value["random_access_latency"], value["random_access_rate"]; math.Abs(l*r/2e9-1) > 0.3 {
		t.Errorf("latency %v ns and rate %v op/s of two threads do not fit", l, r)
	}
	for i, metric := range []string{"copy_bandwidth", "triad_bandwidth", "random_access_rate"} {
		checkSeries(t, r.Readings[metric], value[metric], p.Duration.Std(), i)
	}
}

// checkSeries checks that the series of the i-th test covers its turn and
// tells the same rate as its sample.
func checkSeries(t *testing.T, points []workloadtest.Reading, rate float64, duration time.Duration, i int) {
	t.Helper()
	first, last := points[0], points[len(points)-1]
	begin, end := time.Duration(i)*duration, time.Duration(i+1)*duration
	if first.Value != 0 || first.After < begin || last.After < end {
		t.Errorf("test %d: progress from %+v to %+v, want 0 at %v and the last past %v", i, first, last, begin, end)
	}
	took := (last.After - first.After).Seconds()
	slack := (last.After-end).Seconds()/took + 0.02 // ends of two threads on a busy machine
	if got := last.Value / took; math.Abs(got/rate-1) > slack {
		t.Errorf("test %d: rate %v by progress, %v by sample; want them within %.0f %%", i, got, rate, 100*slack)
	}
}

// TestOrder runs every order of copy and triad through all of the memory and
// checks what is left in it.
func TestOrder(t *testing.T) {
	for _, order := range [][]string{{Copy, Triad}, {Triad, Copy}, {Triad}, {Copy}} {
		for _, blocks := range []int{1, 3, 5, 50} {
			a := &arena{}
			a.newVectors(3 << 20)
			for _, name := range order {
				kinds[name].begin(a)
				for range blocks {
					kinds[name].block(a)
				}
			}
			if err := a.check(0); err != nil {
				t.Errorf("%v, %d blocks each: %v", order, blocks, err)
			}
		}
	}
}

// TestBrokenMemory checks that one wrong word is found.
func TestBrokenMemory(t *testing.T) {
	fresh := func() *arena {
		a := &arena{}
		a.newVectors(3 << 20)
		a.newLinks(1<<20, 1)
		a.copyBlock()
		return a
	}
	tests := []struct {
		name   string
		damage func(*arena)
		ok     bool
	}{
		{"none", func(*arena) {}, true},
		{"lost copy", func(a *arena) { a.b[5] = pattern(1, 5) }, false},
		{"write beyond", func(a *arena) { a.b[len(a.b)-1]++ }, false},
		{"wrong triad", func(a *arena) { a.c[0] = 1 }, false},
		{"lost in the walk", func(a *arena) { a.at += lineWords }, false},
	}
	for _, tt := range tests {
		a := fresh()
		tt.damage(a)
		if err := a.check(0); (err == nil) != tt.ok {
			t.Errorf("%s: check() = %v, want ok %v", tt.name, err, tt.ok)
		}
	}
}

// TestOneCycle checks that the walk comes through every line exactly once.
func TestOneCycle(t *testing.T) {
	a := &arena{}
	a.newLinks(1<<20, 7)
	lines := len(a.links) / lineWords
	seen := make(map[uint64]bool)
	at := uint64(0)
	for range lines {
		if seen[at] {
			t.Fatalf("line %d twice after %d of %d", at/lineWords, len(seen), lines)
		}
		seen[at] = true
		at = a.links[at]
	}
	if at != 0 || len(seen) != lines {
		t.Errorf("after %d lines the walk is at %d, want at its begin after %d", len(seen), at, lines)
	}
	for walked := uint64(0); walked < uint64(3*lines); {
		walked += a.walk()
		if err := a.check(walked); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTriad(t *testing.T) {
	for n := range 10 {
		a, b, c := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range a {
			a[i], b[i] = float64(i), float64(10*i)
		}
		triad(c, a, b)
		for i := range c {
			if want := float64(31 * i); c[i] != want {
				t.Errorf("triad of %d elements: c[%d] = %v, want %v", n, i, c[i], want)
			}
		}
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	p := &Params{Threads: workload.Threads{Number: 1}, Duration: unit.Duration(time.Hour), Size: unit.MiB}
	r := &workloadtest.Record{T: t}
	if err := p.Prepare(ctx, &workload.Env{Report: r}); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(ctx, &workload.Env{Report: r}); !errors.Is(err, context.DeadlineExceeded) || len(r.Samples) > 0 {
		t.Errorf("Run() = %v with %v, want the end of the context and no sample", err, r.Samples)
	}
}

func TestValidate(t *testing.T) {
	paramtest.Validate(t, Kind(), [][2]string{
		{`{}`, ""},
		{`{"threads": 2, "duration": "1s", "size": "256MiB", "tests": ["latency", "copy"]}`, ""},
		{`{"threads": 0}`, "threads"},
		{`{"duration": "1ms"}`, "duration"},
		{`{"size": "64KiB"}`, "size"},
		{`{"size": "1TiB"}`, "size"},
		{`{"tests": ["copy", "paste"]}`, "tests.1"},
		{`{"tests": ["copy", "copy"]}`, "tests"},
	})
	if got := Kind().New().Estimate(); got != 15*time.Second {
		t.Errorf("Estimate() = %v, want 15s", got)
	}
}

func TestDefaultSize(t *testing.T) {
	tests := []struct {
		cache   unit.Size
		threads int
		want    unit.Size
	}{
		{0, 1, 64 * unit.MiB},
		{32 * unit.MiB, 1, 128 * unit.MiB},
		{32 * unit.MiB, 2, 64 * unit.MiB},
		{256 * unit.MiB, 4, 256 * unit.MiB},
	}
	for _, tt := range tests {
		if got := defaultSize(tt.cache, tt.threads); got != tt.want {
			t.Errorf("defaultSize(%v, %d) = %v, want %v", tt.cache, tt.threads, got, tt.want)
		}
	}
}

func TestLastLevelCache(t *testing.T) {
	root := t.TempDir()
	for index, size := range map[string]string{"index0": "32K\n", "index2": "1024K\n", "index3": "2M\n", "index4": "many\n"} {
		dir := filepath.Join(root, "devices/system/cpu/cpu0/cache", index)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "size"), []byte(size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := lastLevelCache(root); got != 2*unit.MiB {
		t.Errorf("lastLevelCache() = %v, want 2MiB", got)
	}
	if got := lastLevelCache(t.TempDir()); got != 0 {
		t.Errorf("lastLevelCache(nothing) = %v, want 0", got)
	}
}

func TestAvailable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "meminfo")
	if err := os.WriteFile(file, []byte("MemTotal:  2048 kB\nMemFree:  1 kB\nMemAvailable:   1024 kB\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := available(file); got != 1<<20 {
		t.Errorf("available() = %d, want 1048576", got)
	}
	if got := available(file + "x"); got != 0 {
		t.Errorf("available(no file) = %d, want 0", got)
	}
	if err := checkFits(1000, 900); err == nil || !strings.Contains(err.Error(), "smaller size") {
		t.Errorf("checkFits(1000, 900) = %v, want an error", err)
	}
	for _, has := range []int64{0, 2000} {
		if err := checkFits(1000, has); err != nil {
			t.Errorf("checkFits(1000, %d) = %v, want nil", has, err)
		}
	}
}

func BenchmarkBlock(b *testing.B) {
	a := &arena{}
	a.newVectors(128 << 20)
	a.newLinks(128<<20, 1)
	for _, name := range allTests {
		k := kinds[name]
		b.Run(name, func(b *testing.B) {
			k.begin(a)
			var n uint64
			for b.Loop() {
				n += k.block(a)
			}
			b.ReportMetric(float64(n)*k.weight/b.Elapsed().Seconds(), k.unit+"/s")
		})
	}
}
