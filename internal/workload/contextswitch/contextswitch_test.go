package contextswitch

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/paramtest"
	"github.com/scalebench/scalebench/test/workloadtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func measure(ctx context.Context, t *testing.T, p *Params) (*workloadtest.Record, error) {
	t.Helper()
	r := &workloadtest.Record{T: t, Start: time.Now()}
	env := &workload.Env{Node: "n1", Report: r}
	if err := p.Prepare(ctx, env); err != nil {
		return r, err
	}
	return r, p.Run(ctx, env)
}

// TestSwitches: the kernel counts the switches that a ring must make, and each costs
// something, whatever else the machine does.
func TestSwitches(t *testing.T) {
	if _, err := processors(); err != nil {
		t.Skip(err)
	}
	r, err := measure(t.Context(), t, &Params{Threads: []int{40, 2}, Duration: unit.Duration(leastDuration)})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Samples) != 6 || r.Samples[0].Labels[LabelCount] != "2" || r.Samples[3].Labels[LabelCount] != "40" {
		t.Fatalf("samples %+v, want three of 2 and of 40 threads", r.Samples)
	}
	for _, s := range r.Samples {
		// A thread that wakes another may be preempted and switch twice, never more;
		// no system call takes less than 10 ns, no switch a millisecond of processor.
		least, most := 10.0, 1e6
		if s.Metric == metricEach {
			least, most = fewestSwitches, 2.5
		}
		if s.Value < least || s.Value > most {
			t.Errorf("%s of %s threads is %v %s, want %v to %v", s.Metric, s.Labels[LabelCount], s.Value, s.Unit, least, most)
		}
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := processors(); err != nil {
		t.Skip(err)
	}
	if r, err := measure(ctx, t, &Params{Duration: unit.Duration(time.Hour)}); !errors.Is(err, context.Canceled) || len(r.Samples) != 0 {
		t.Errorf("Run() = %v with samples %v, want the end of the context and none", err, r.Samples)
	}
}

func TestValidate(t *testing.T) {
	paramtest.Validate(t, Kind(), [][2]string{
		{`{}`, ""},
		{`{"threads": [2, 1000], "duration": "3s"}`, ""},
		{`{"threads": [8, 1]}`, "threads.1"},
		{`{"threads": [5000]}`, "threads.0"},
		{`{"threads": [8, 8]}`, "threads"},
		{`{"duration": "1ms"}`, "duration"},
	})
	if got := Kind().New().Estimate(); got != 5*time.Second {
		t.Errorf("Estimate() = %v, want 5s for five numbers of threads", got)
	}
}
