package cpu

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// record keeps what a workload reports.
type record struct {
	workload.Reporter // what these tests do not expect to be called

	mu      sync.Mutex
	start   time.Time
	times   []time.Duration
	values  []float64
	metrics map[string]bool
	samples []model.Sample
}

func (r *record) Progress(metric, _ string, v float64) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times, r.values = append(r.times, now.Sub(r.start)), append(r.values, v)
	if r.metrics == nil {
		r.metrics = map[string]bool{}
	}
	r.metrics[metric] = true
}

func (r *record) Sample(s model.Sample)      { r.samples = append(r.samples, s) }
func (r *record) Recording(model.HostSeries) {}
func (r *record) ExitCode(int)               {}

// measure prepares and runs the workload.
func measure(ctx context.Context, t *testing.T, p *Params) (*record, error) {
	t.Helper()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	r := &record{}
	env := &workload.Env{Report: r}
	if err := p.Prepare(ctx, env); err != nil {
		t.Fatal(err)
	}
	r.start = time.Now()
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

func TestRun(t *testing.T) {
	for _, tt := range []struct{ kernel, metric string }{
		{Integer, "integer_rate"}, {Float, "float_rate"}, {Mixed, "cpu_rate"},
	} {
		t.Run(tt.kernel, func(t *testing.T) {
			p := &Params{Threads: 2, Duration: unit.Duration(500 * time.Millisecond), Kernel: tt.kernel}
			r, err := measure(t.Context(), t, p)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.samples) != 1 || r.samples[0].Metric != tt.metric || r.samples[0].Unit != "op/s" || r.samples[0].Better != model.Higher || !r.metrics[tt.metric] {
				t.Fatalf("samples = %+v, progress of %v; want one of %s", r.samples, r.metrics, tt.metric)
			}
			checkConsistent(t, r, p.Duration.Std())
		})
	}
}

// checkConsistent checks that sample and progress tell the same story.
func checkConsistent(t *testing.T, r *record, duration time.Duration) {
	t.Helper()
	n := len(r.values) - 1
	if n < 2 || r.values[0] != 0 || r.times[n] < duration {
		t.Fatalf("progress %v at %v, want points from 0 to past %v", r.values, r.times, duration)
	}
	for i := range n {
		if r.values[i+1] < r.values[i] {
			t.Errorf("progress %v goes down", r.values)
		}
	}
	// Two ways to the same rate. They differ by the spread of the threads'
	// ends, which a busy machine makes longer: by its share of the run.
	slack := (r.times[n]-duration).Seconds()/duration.Seconds() + 0.01
	byProgress := r.values[n] / r.times[n].Seconds()
	if rate := r.samples[0].Value; math.Abs(rate/byProgress-1) > slack {
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

// TestMiscomputing gives the kernels wrong input in place of a broken CPU.
func TestMiscomputing(t *testing.T) {
	t.Run("float", func(t *testing.T) {
		p := &Params{Threads: 1, Duration: unit.Duration(time.Second), Kernel: Float}
		env := &workload.Env{Report: &record{}}
		if err := p.Prepare(t.Context(), env); err != nil {
			t.Fatal(err)
		}
		p.start[2].vz += 1e-12 // a few of the last bits
		if err := p.Run(t.Context(), env); err == nil || !strings.Contains(err.Error(), "miscomputes") {
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
	r, err := measure(ctx, t, &Params{Threads: 2, Duration: unit.Duration(time.Hour), Kernel: Integer})
	if !errors.Is(err, context.DeadlineExceeded) || len(r.samples) != 0 {
		t.Errorf("Run() = %v with samples %v, want the end of the context and none", err, r.samples)
	}
}

func TestValidate(t *testing.T) {
	tests := []struct{ params, field string }{
		{`{}`, ""},
		{`{"threads": 8, "duration": "1m", "kernel": "mixed"}`, ""},
		{`{"threads": 0}`, "threads"},
		{`{"threads": 5000}`, "threads"},
		{`{"duration": "1ms"}`, "duration"},
		{`{"kernel": "complex"}`, "kernel"},
	}
	for _, tt := range tests {
		w := Kind().New()
		if err := json.Unmarshal([]byte(tt.params), w); err != nil {
			t.Fatal(err)
		}
		var field *workload.FieldError
		err := w.Validate()
		if errors.As(err, &field); (tt.field == "") != (err == nil) || (field != nil && field.Field != tt.field) {
			t.Errorf("Validate(%s) = %v, want field %q", tt.params, err, tt.field)
		}
	}
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
