package load

import (
	"math"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestProcessorShare: what counts is work, and what is left for it; watching is
// none, and leaves less.
func TestProcessorShare(t *testing.T) {
	for _, c := range []struct {
		name                              string
		cpu, spun, cores, machine, others float64
		want                              float64
	}{
		{"one of its two", 1, 0, 2, 16, 0, .5},
		{"others use the rest of the machine", 1, 0, 2, 2, .9, .95},
		{"fifteen watch and work a little", 15, 13.5, 16, 16, .1, 1.6 / 2.5},
		{"one watches, and the server needs the other", 1, .8, 2, 2, 1, 1},
		{"a tick more than all", 2.01, 0, 2, 2, .1, 1},
		{"it was kept from watching", .9, 1, 2, 4, 0, 0},
		{"nothing known", 1, 0, 0, 0, 0, 0},
	} {
		samples := []model.Sample{
			{Metric: MetricCPU, Value: c.cpu}, {Metric: MetricSpun, Value: c.spun},
			{Metric: MetricCores, Value: c.cores}, {Metric: MetricMachine, Value: c.machine}, {Metric: model.MetricOtherCPU, Value: c.others},
		}
		if _, got := processorShares(samples); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
