package cpu

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/cgroup"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/paramtest"
	"github.com/scalebench/scalebench/test/workloadtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// measure prepares and runs the workload.
func measure(ctx context.Context, t *testing.T, p *Params) (*workloadtest.Record, error) {
	t.Helper()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	r := &workloadtest.Record{T: t}
	env := &workload.Env{Report: r}
	if err := p.Prepare(ctx, env); err != nil {
		t.Fatal(err)
	}
	r.Start = time.Now()
	return r, p.Run(ctx, env)
}

func TestIntegerOp(t *testing.T) {
	var a [integerLength]uint64
	for k, want := range integerHashes {
		if got := integerOp(&a, integerSeed(k)); got != want {
			t.Errorf("integerOp(seed %d) = %#x, want %#x", k, got, want)
		}
		for i := range a[1:] {
			if a[i] > a[i+1] {
				t.Fatalf("seed %d: a[%d] = %d > a[%d] = %d, want them sorted", k, i, a[i], i+1, a[i+1])
			}
		}
	}
}

// TestFloatOp checks against our own expected value, and against those that
// the Computer Language Benchmarks Game publishes for 0 and 1,000 steps.
func TestFloatOp(t *testing.T) {
	from := newSystem()
	var s [5]body
	if got := floatOp(&s, &from); math.Float64bits(got) != math.Float64bits(floatEnergy) {
		t.Errorf("floatOp() = %v, want %v", got, floatEnergy)
	}
	s = from
	for _, tt := range []struct {
		steps int
		want  float64
	}{{0, -0.169075164}, {1000, -0.169087605}} {
		advance(&s, tt.steps)
		if got := energy(&s); math.Abs(got-tt.want) > 5e-10 {
			t.Errorf("energy after %d steps = %.9f, want %.9f", tt.steps, got, tt.want)
		}
	}
}

func two() workload.Threads { return workload.Threads{Number: 2} }

func TestRun(t *testing.T) {
	for _, tt := range []struct{ kernel, metric string }{
		{Integer, "integer_rate"}, {Float, "float_rate"}, {Mixed, "cpu_rate"},
	} {
		t.Run(tt.kernel, func(t *testing.T) {
			p := &Params{Threads: two(), Duration: unit.Duration(500 * time.Millisecond), Kernel: tt.kernel}
			r, err := measure(t.Context(), t, p)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Samples) != 1 || r.Samples[0].Metric != tt.metric || r.Samples[0].Unit != "op/s" || r.Samples[0].Better != model.Higher || len(r.Readings[tt.metric]) == 0 {
				t.Fatalf("samples = %+v, progress of %v; want one of %s", r.Samples, r.Readings, tt.metric)
			}
			checkConsistent(t, r, p.Duration.Std())
		})
	}
}

// TestThreadsByCore: of each core so many threads, told beside the rate.
func TestThreadsByCore(t *testing.T) {
	want := float64(2 * cgroup.Cores())
	p := &Params{Threads: workload.Threads{PerCore: "2 per core"}, Duration: unit.Duration(minDuration), Kernel: Integer}
	r, err := measure(t.Context(), t, p)
	if got := r.Find("threads"); err != nil || got.Value != want || !got.Info || r.Find("integer_rate").Value <= 0 {
		t.Errorf("%+v, %v; want %v threads", r.Samples, err, want)
	}
}

// checkConsistent checks that sample and progress tell the same story.
func checkConsistent(t *testing.T, r *workloadtest.Record, duration time.Duration) {
	t.Helper()
	points := r.Readings[r.Samples[0].Metric]
	if len(points) < 3 || points[0].Value != 0 || points[len(points)-1].After < duration {
		t.Fatalf("progress %v, want points from 0 to past %v", points, duration)
	}
	last := points[len(points)-1]
	// Two ways to the same rate. They differ by the spread of the threads'
	// ends, which a busy machine makes longer: by its share of the run.
	slack := (last.After-duration).Seconds()/duration.Seconds() + 0.01
	byProgress := last.Value / last.After.Seconds()
	if rate := r.Samples[0].Value; math.Abs(rate/byProgress-1) > slack {
		t.Errorf("rate = %v, by the progress %v; want them within %.1f %%", rate, byProgress, 100*slack)
	}
}

func TestMixedAlternates(t *testing.T) {
	p := &Params{Kernel: Mixed, start: newSystem()}
	w := p.newWorker()
	for range 2 {
		if err := w.step(); err != nil {
			t.Fatal(err)
		}
	}
	if w.numbers[0] == 0 || w.system[0].mass == 0 {
		t.Error("two steps of mixed did not use both kernels")
	}
}

// TestMiscomputing gives the kernels wrong input instead of a broken CPU.
func TestMiscomputing(t *testing.T) {
	t.Run("float", func(t *testing.T) {
		p := &Params{Threads: workload.Threads{Number: 1}, Duration: unit.Duration(time.Second), Kernel: Float}
		env := &workload.Env{Report: &workloadtest.Record{T: t}}
		if err := p.Prepare(t.Context(), env); err != nil {
			t.Fatal(err)
		}
		p.start[2].vz += 1e-12 // a few of the last bits
		if err := p.Run(t.Context(), env); err == nil || !strings.Contains(err.Error(), "computes wrongly") {
			t.Errorf("Run() = %v, want it to notice", err)
		}
	})
	t.Run("integer", func(t *testing.T) {
		var a [integerLength]uint64
		if got := integerOp(&a, integerSeed(0)^1); got == integerHashes[0] {
			t.Errorf("integerOp of another seed = %#x, the same", got)
		}
	})
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	r, err := measure(ctx, t, &Params{Threads: two(), Duration: unit.Duration(time.Hour), Kernel: Integer})
	if !errors.Is(err, context.DeadlineExceeded) || len(r.Samples) != 0 {
		t.Errorf("Run() = %v with samples %v, want the end of the context and none", err, r.Samples)
	}
}

func TestValidate(t *testing.T) {
	paramtest.Validate(t, Kind(), [][2]string{
		{`{}`, ""},
		{`{"threads": 8, "duration": "1m", "kernel": "mixed"}`, ""},
		{`{"threads": 0}`, "threads"},
		{`{"threads": 5000}`, "threads"},
		{`{"duration": "1ms"}`, "duration"},
		{`{"kernel": "complex"}`, "kernel"},
	})
	if got := Kind().New().Estimate(); got != 5*time.Second {
		t.Errorf("Estimate() = %v, want 5s", got)
	}
}

func TestNoAllocation(t *testing.T) {
	for _, k := range []string{Integer, Float} {
		p := &Params{Kernel: k, start: newSystem()}
		w := p.newWorker()
		if n := testing.AllocsPerRun(10, func() { _ = w.step() }); n != 0 {
			t.Errorf("%s: %v allocations an operation, want 0", k, n)
		}
	}
}

func BenchmarkCPU(b *testing.B) {
	for _, k := range []string{Integer, Float} {
		b.Run(k, func(b *testing.B) {
			p := &Params{Kernel: k, start: newSystem()}
			w := p.newWorker()
			for b.Loop() {
				if err := w.step(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
