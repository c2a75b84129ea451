package cli

import (
	"errors"
	"testing"

	"github.com/scalebench/scalebench/internal/analysis"
	"github.com/scalebench/scalebench/internal/model"
)

// TestParseJobRate: no text is read as a number that it does not say.
func TestParseJobRate(t *testing.T) {
	for text, want := range map[string]float64{
		"227": 227, "227/s": 227, "227videos/s": 227, "0.5 jobs/s": .5, "4.8/s": 4.8, "3op/s": 3, "2 /s": 2, "2messages/s": 2,
		// 0: refused.
		"2k/s": 0, "2 k/s": 0, "2K/s": 0, "2M/s": 0, "2m/s": 0, "2G/s": 0, "2Ki/s": 0, "2kjobs/s": 0, "2kop/s": 0, "2Mvideos/s": 0,
		"2k": 0, "2e3": 0, "2e3/s": 0, "2 000/s": 0, "2,5/s": 0, "1.2.3/s": 0, ".5/s": 0, "2/min": 0, "2MB/s": 0, "2B/s": 0, "2bit/s": 0,
		"2byte/s": 0, "0": 0, "0/s": 0, "-1/s": 0, "many": 0, "": 0, "/s": 0, "2/s/s": 0, "NaN": 0,
	} {
		got, err := parseJobRate("--target", text)
		if got != want || (err == nil) != (want > 0) || err != nil && !errors.Is(err, model.ErrUsage) {
			t.Errorf("parseJobRate(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
}

// TestHasDemand: only a demand in the same unit stands in place of a measured
// one.
func TestHasDemand(t *testing.T) {
	given := []analysis.Demand{{Resource: model.ResourceDiskWrite, Unit: "op/s"}}
	for _, c := range []struct {
		resource, unit string
		want           bool
	}{
		{model.ResourceDiskWrite, "op/s", true},
		{model.ResourceDiskWrite, "byte/s", false},
		{model.ResourceDiskRead, "op/s", false},
	} {
		if got := hasDemand(given, analysis.Demand{Resource: c.resource, Unit: c.unit}); got != c.want {
			t.Errorf("hasDemand(%s in %s) = %v, want %v", c.resource, c.unit, got, c.want)
		}
	}
}
