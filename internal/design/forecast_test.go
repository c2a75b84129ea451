package design

import (
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// TestForecast: what workloads know counts from the beginning, what steps have
// taken from then on, and what is not known is not guessed.
func TestForecast(t *testing.T) {
	const s = time.Second
	exp := parse(t, "trials: 2\nevery: 1h\nseed: 1\nworkloads: [{name: a, kind: nap, duration: 10s}, {name: b, kind: nap}]\n")
	d, err := Build(exp, testRun, named("n1", "n2"))
	if err != nil {
		t.Fatal(err)
	}
	of := func(workload string, phase model.Phase, trial int) (out []model.Step) {
		for _, x := range d.Steps {
			if x.Workload == workload && x.Phase == phase && x.Trial == trial {
				out = append(out, x)
			}
		}
		return out
	}
	serial, parallel, unknown := of("a", model.Serial, 1), of("a", model.Parallel, 1), of("b", model.Serial, 1)
	f := NewForecast(exp)
	check := func(what string, steps []model.Step, until, want time.Duration) {
		t.Helper()
		if got := f.Left(steps, until); got != want {
			t.Errorf("%s: %v left, want %v", what, got, want)
		}
	}
	check("at the start", serial, 0, 20*s)
	check("a workload that knows nothing", unknown, 0, 0)
	check("one of them among others", append(unknown[:1:1], serial...), 0, 0)
	check("the next trial has its time", of("a", model.Serial, 2), 40*time.Minute, 20*time.Minute+20*s)
	check("it is late", of("a", model.Serial, 2), 61*time.Minute, 20*s)

	f.Took(serial[0], 12*s)
	f.Took(serial[1], 13*s)
	f.Took(serial[1], 300*s) // once is no rule
	check("with what they took", serial, 0, 26*s)
	check("another phase has the same way to go", parallel, 0, 13*s)
	f.Took(parallel[0], 9*s) // as fast as nothing else: not less than is known
	check("until it has shown its own", parallel, 0, 10*s)

	f.Took(unknown[0], 5*s)
	check("a step like those that were seen", unknown, 0, 10*s)
	check("but not another phase", of("b", model.Parallel, 1), 0, 0)
	if got := NewForecast(nil).Step(d.Steps[0]); got != 0 {
		t.Errorf("without an experiment a step takes %v", got)
	}
}
