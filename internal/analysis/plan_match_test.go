package analysis

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// TestPlanOfMeans: a published table has no interval. A loss in it is neither
// called a limit nor said not to be one, and the answer is known to rest on it.
func TestPlanOfMeans(t *testing.T) {
	findings, err := CDIFromCSV(strings.NewReader("nodes,serial_mean,parallel_mean,unit\n10,100,10,MB/s\n"), "net.csv", quick)
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[float64]model.PlanAnswer{2: model.PlanFits, 3: model.PlanUntested} {
		in := PlanInput{
			Target: target, NodeRate: 1, Capacities: CapacitiesOf(findings, nil, model.RunData{}),
			Demands: []Demand{{Resource: "net", Amount: 50e6, Unit: byteRate}},
		}
		r, err := Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		text := r.Resources[0].Text
		if r.Answer != want || !strings.Contains(text, "could not be judged (only means") || strings.Contains(text, "no limit was seen") {
			t.Errorf("target %v: %s, %q, want %s, and that it could not be judged", target, r.Answer, text, want)
		}
		if (want == model.PlanUntested) != strings.Contains(text, "--capacity") {
			t.Errorf("target %v: %q, want advice to give the capacity where it is untested", target, text)
		}
		if diff := cmp.Diff([]string{"net"}, Unjudged(in)); diff != "" {
			t.Errorf("target %v: unjudged (-want +got):\n%s", target, diff)
		}
	}
}

// TestPlanCarriesWarnings: what a finding warns of is said of the plan too,
// once and with the resource, and its total has an interval.
func TestPlanCarriesWarnings(t *testing.T) {
	findings, err := CDIFromCSV(strings.NewReader("node,serial,parallel\na,100,51\nb,100,50\nc,100,49\n"), "disks.csv", quick)
	if err != nil {
		t.Fatal(err)
	}
	capacities := CapacitiesOf(findings, nil, model.RunData{})
	r, err := Plan(PlanInput{
		Target: 15, NodeRate: 1, Demands: []Demand{{Resource: "disks", Amount: 10}},
		Capacities: append(capacities, Capacity{Resource: model.ResourceCPU, Total: 4, Unit: unitCore, Limited: true}),
	})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(r.Warnings, "\n")
	for _, want := range []string{"disks: the numbers come from a file", "disks: one parallel repetition", "disks: only 3 nodes", "too close to call", "given for cpu (4 core) counts for nothing"} {
		if strings.Count(all, want) != 1 {
			t.Errorf("warnings %q, want %q once", r.Warnings, want)
		}
	}
	// Three nodes of 50, deviation 1: t(2) = 4.303, 3·4.303/sqrt(3) = 7.45.
	wantValue(t, "lower bound of the total", &capacities[0].CI[0], 150-7.4524, 1e-3)
}

// TestPlanListsWhatIsKnown: a resource that was not measured is told from
// those that were.
func TestPlanListsWhatIsKnown(t *testing.T) {
	r, err := Plan(PlanInput{
		Target: 1, NodeRate: 1, Demands: []Demand{{Resource: "memory", Amount: 1, Unit: byteRate}},
		Capacities: []Capacity{{Workload: "upload", Metric: "rate", Total: 5, Unit: byteRate, Nodes: 3}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := r.Resources[0].Text; !strings.Contains(text, "not measured (only that of upload/rate)") {
		t.Errorf("text %q, want what was measured in it", text)
	}
}

func TestParseBareAmount(t *testing.T) {
	for text, want := range map[string]Amount{
		"disks=12": {"disks", 12, ""}, "a/b = 0.5": {"a/b", .5, ""},
		"disks=12MB/s": {}, "disks=": {}, "=3": {}, "disks": {}, "disks=0": {}, "disks=1.2.3": {}, "disks=NaN": {},
	} {
		got, ok := ParseBareAmount(text)
		if ok != (want != Amount{}) || ok && got != want {
			t.Errorf("ParseBareAmount(%q) = %v, %v, want %v", text, got, ok, want)
		}
	}
}

func TestPlanDigits(t *testing.T) {
	for v, want := range map[float64]string{1064.1509: "1064.2", 589.623: "589.6", 4.8: "4.8", 0: "0", 12345.678: "12345.7", 1000: "1000"} {
		if got := PlanDigits(v); got != want {
			t.Errorf("PlanDigits(%v) = %q, want %q", v, got, want)
		}
	}
}
