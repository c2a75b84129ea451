//go:build proof

package proof_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/scalebench/scalebench/internal/explain"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study/variability"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
	"github.com/scalebench/scalebench/test/skip"
)

// TestVarianceCampaign: the report of a campaign in a lab finds what the lab was
// made of: processors of two kinds, one half as fast, and the hours in which links
// have 40 of 100 Mbit/s. A campaign of 55 seconds, of which a day takes 20; as a
// proof the whole example. Processors that other programs want, too, are not
// what the lab was made of: then the report must say that something disturbed it.
func TestVarianceCampaign(t *testing.T) {
	skip.UnlessLong(t)
	parts.Begin(t)
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	program.NeedLab(t)
	r := varianceCampaign(t)
	if problem := r.links(); problem != "" {
		t.Error(problem)
	}
	switch problem := r.processors(); {
	case problem == "":
	case r.disturbed() && !parts.Whole():
		t.Log("the report says that something disturbed it: ", problem)
	default:
		t.Error(problem)
	}
}

// varianceReport is what variability says of the example of a campaign.
type varianceReport struct {
	t *testing.T
	variability.Result
}

// varianceCampaign measures the example, and analyses it.
func varianceCampaign(t *testing.T) varianceReport {
	w := install(t)
	args := []string{"run", "../../examples/lab-variance.yaml"}
	if !parts.Whole() {
		for _, set := range []string{
			"schedule.every=5s", "schedule.for=55s", "fleet.lab.busy.day=20s", "workloads.cpu.duration=1s",
			"workloads.inside.duration=500ms", "workloads.inside.warm_up=300ms", "workloads.across.duration=500ms", "workloads.across.warm_up=200ms",
		} {
			args = append(args, "--set", set)
		}
	}
	w.Run(args...)
	r := varianceReport{t: t}
	if err := json.Unmarshal([]byte(w.Run("variability", "lab-variance", "--by", "lab_hour,processor", "--format",
		"json")), &r.Result); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r varianceReport) disturbed() bool {
	return slices.ContainsFunc(r.Doubts, func(d model.Doubt) bool { return d.Code == "disturbed" })
}

func (r varianceReport) metric(name string) variability.Metric {
	r.t.Helper()
	i := slices.IndexFunc(r.Metrics, func(m variability.Metric) bool { return m.Name() == name })
	if i < 0 {
		r.t.Fatalf("there is no metric %s in the report", name)
	}
	return r.Metrics[i]
}

// explainedBy is "" if one of these facts explains most, repetitions apart, of which
// each has one hour. In eleven repetitions four hours, two of them alike, cannot stand
// out by more than chance does, whatever they explain: only the whole campaign shows
// that.
func explainedBy(m variability.Metric, facts ...string) string {
	i := slices.IndexFunc(m.Facts, func(f explain.Effect) bool { return f.Fact != frame.FactRepetition })
	if i < 0 || !slices.Contains(facts, m.Facts[i].Fact) || parts.Whole() && !m.Facts[i].Significant ||
		m.Facts[i].Omega2 < .8 {
		return fmt.Sprintf("%s: what explains it most is %+v, want one of %v with 80 %% or more", m.Name(), m.Facts, facts)
	}
	return ""
}

// links are at 40 of 100 Mbit/s in the hours from 12 on; it returns what is not.
func (r varianceReport) links() string {
	inside := r.metric("inside network_receive_throughput")
	// Medians: a link that stood still once, in half a second, is not what the lab was
	// made of.
	middle := func(of func(hour string) bool) float64 {
		sum, n := 0., 0
		for _, by := range inside.Groups {
			for _, g := range by.Groups {
				if by.Fact == "lab_hour" && of(g.Level) {
					sum, n = sum+g.Median*float64(g.N), n+g.N
				}
			}
		}
		return sum / float64(n)
	}
	ratio := middle(func(hour string) bool { return hour >= "12" }) / middle(func(hour string) bool { return hour < "12" })
	// Half a second begins with what buffers held back while warming up: 8 % more, seen
	// at either rate. A second holds less of it.
	near := .04
	if parts.Whole() {
		near = .02
	}
	if !(math.Abs(ratio-.4) <= near) {
		return fmt.Sprintf("links are %.3f as fast in slow hours, want .4", ratio)
	}
	r.t.Logf("inside: %s", inside.Text)
	return explainedBy(inside, "lab_hour")
}

// processors are of two kinds, as many of each, one half as fast; it returns what is
// not.
func (r varianceReport) processors() string {
	cpu := r.metric("cpu integer_rate")
	r.t.Logf("cpu: %s", cpu.Text)
	if b := cpu.Bands.Bands; len(b) != 2 || math.Abs(b[0].Mean/b[1].Mean-.5) > .08 || math.Abs(b[0].Share-.5) > .05 {
		return fmt.Sprintf("the bands of the processors are %+v, want halves with a ratio of .5", cpu.Bands)
	}
	return explainedBy(cpu, "processor", "group", "cpu_limit") // of each node the same
}
