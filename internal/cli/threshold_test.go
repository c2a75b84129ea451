package cli

import (
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// What is above the threshold is said before what is unknown; what is unknown
// never passes.
func TestThresholdExitCode(t *testing.T) {
	at := func(cdi float64, v model.Verdict) model.Finding {
		return model.Finding{Workload: "w", Metric: "m", CDI: &cdi, Verdict: v}
	}
	none := model.Finding{Workload: "w", Metric: "m", Verdict: model.VerdictUnknown}
	for name, c := range map[string]struct {
		findings []model.Finding
		want     int
	}{
		"below":               {[]model.Finding{at(3, model.VerdictNone), at(9.9, model.VerdictDegraded)}, exitDone},
		"exactly at it":       {[]model.Finding{at(10, model.VerdictDegraded)}, exitDone},
		"above":               {[]model.Finding{at(3, model.VerdictNone), at(10.1, model.VerdictDegraded)}, exitThreshold},
		"unknown, far above":  {[]model.Finding{at(90, model.VerdictUnknown)}, exitInvalid},
		"unknown, below":      {[]model.Finding{at(1, model.VerdictUnknown)}, exitInvalid},
		"without a number":    {[]model.Finding{none, at(1, model.VerdictNone)}, exitInvalid},
		"unknown, then above": {[]model.Finding{none, at(11, model.VerdictDegraded)}, exitThreshold},
		"nothing measured":    {nil, exitInvalid},
	} {
		var limit threshold
		if got := exitCode(limit.check(c.findings)); got != exitDone {
			t.Errorf("%s: without the flag exit code %d, want 0", name, got)
		}
		if err := limit.Set("10"); err != nil {
			t.Fatal(err)
		}
		if got := exitCode(limit.check(c.findings)); got != c.want {
			t.Errorf("%s: exit code %d, want %d", name, got, c.want)
		}
	}
}
