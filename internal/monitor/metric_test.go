package monitor

import (
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestEmittedAreListed: every metric that the parsers emit has a unit.
func TestEmittedAreListed(t *testing.T) {
	listed := map[string]bool{}
	for _, m := range Metrics() {
		if listed[m.Name] {
			t.Errorf("%s is listed twice", m.Name)
		}
		listed[m.Name] = true
		if !(model.HostSeries{Metric: m.Name}).OfHost() {
			t.Errorf("%s does not look like the monitor's", m.Name)
		}
	}
	for _, tt := range kernelCases {
		for name := range tt.want {
			if strings.Contains(name, ".") && !listed[pattern(name)] {
				t.Errorf("%s (%s) is not in Metrics", name, tt.name)
			}
		}
	}
	for _, m := range diskMetrics {
		for _, name := range []string{"disk." + m, "disk.sda." + m, "disk.dm-0.1." + m, "volume.data." + m} {
			if !listed[pattern(name)] {
				t.Errorf("%s is not in Metrics", name)
			}
		}
	}
}
