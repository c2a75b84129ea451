package sizing

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
)

func TestParseAmount(t *testing.T) {
	for _, c := range []struct {
		text   string
		perJob bool
		want   amount // zero: refused
	}{
		{"network.receive=25MB/s", false, amount{"network.receive", 25e6, evaluation.ByteRate}},
		{"network.receive = 100 Mbit/s", false, amount{"network.receive", 12.5e6, evaluation.ByteRate}},
		{"disk.write=1.5kop/s", false, amount{"disk.write", 1500, "op/s"}},
		{"disk.write=300op/s", false, amount{"disk.write", 300, "op/s"}},
		{"cpu=2.5core", false, amount{"cpu", 2.5, evaluation.Core}},
		{"cpu=2cores", false, amount{"cpu", 2, evaluation.Core}},
		{"web/score=12events/s", false, amount{"web/score", 12, "events/s"}},
		{"x=3byte/s", false, amount{"x", 3, evaluation.ByteRate}},
		{"objectstore.get=5.3MB", true, amount{"objectstore.get", 5.3e6, evaluation.ByteRate}},
		{"objectstore.get=64KiB", true, amount{"objectstore.get", 65536, evaluation.ByteRate}},
		{"disk.write=40op", true, amount{"disk.write", 40, "op/s"}},
		{"cpu=0.25s", true, amount{"cpu", .25, evaluation.Core}},
		{"cpu=2", false, amount{}},
		{"cpu", false, amount{}},
		{"=2core", false, amount{}},
		{"network.send=25MB", false, amount{}},
		{"network.send=25M/s", false, amount{}},
		{"network.send=25KB/s", false, amount{}},
		{"network.send=25Mbps/s", false, amount{}},
		{"network.send=-25MB/s", false, amount{}},
		{"network.send=0MB/s", false, amount{}},
		{"network.send=1.2.3MB/s", false, amount{}},
		{"objectstore.get=5MB/s", true, amount{}},
		{"objectstore.get=5M", true, amount{}},
	} {
		g := given{"demand", c.text}
		if c.perJob {
			g.key = keyPerJob
		}
		got, err := g.amount()
		if c.want == (amount{}) {
			if !errors.Is(err, model.ErrUsage) {
				t.Errorf("%q: %+v, %v, want ErrUsage", c.text, got, err)
			}
			continue
		}
		if err != nil || got.resource != c.want.resource || got.unit != c.want.unit || math.Abs(got.value-c.want.value) > 1e-9*c.want.value {
			t.Errorf("%q = %+v, %v, want %+v", c.text, got, err, c.want)
		}
	}
}

func FuzzParseAmount(f *testing.F) {
	for _, s := range []string{"network.receive=25MB/s", "cpu=0.25s", "x=1e9y", "=", "a==1b", "disk=.5KiB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, key := range []string{"demand", keyPerJob} {
			a, err := given{key, text}.amount()
			if err != nil {
				if !errors.Is(err, model.ErrUsage) {
					t.Errorf("%q: %v is not ErrUsage", text, err)
				}
				continue
			}
			if !(a.value > 0) || math.IsInf(a.value, 0) || a.resource == "" || a.unit == "" {
				t.Errorf("%q = %+v, want a resource, a unit and a number above 0", text, a)
			}
		}
	})
}

func TestBareAmount(t *testing.T) {
	for text, want := range map[string]amount{
		"disks=12": {"disks", 12, ""}, "a/b = 0.5": {"a/b", .5, ""},
		"disks=12MB/s": {}, "disks=": {}, "=3": {}, "disks": {}, "disks=0": {}, "disks=1.2.3": {}, "disks=NaN": {},
	} {
		got, ok := given{"demand", text}.bare()
		if ok != (want != amount{}) || ok && got != want {
			t.Errorf("bare amount of %q = %v, %v, want %v", text, got, ok, want)
		}
	}
}

// TestAmountOfWhatWasMeasured: names that mean nothing are refused, with the one that was
// meant; a bare number is one only where something has no unit.
func TestAmountOfWhatWasMeasured(t *testing.T) {
	known := []capacity{{workload: "disks", metric: "capacity", unit: "byte/s"}, {workload: "bare", metric: "capacity"}}
	for text, problem := range map[string]string{
		"objectstore.get=1MB/s": "", "own/metric=1MB/s": "", "disks=1MB/s": "", "disks/capacity=1MB/s": "", "bare=12": "", "bare/capacity=12": "",
		"objectstre.get=1MB/s": `did you mean "objectstore.get"?`, "dsks=1MB/s": `did you mean "disks"?`, "wxyzq=1MB/s": "unknown resource", "disks=12": "has no unit",
	} {
		_, err := given{"demand", text}.of(known)
		if problem == "" && err != nil || problem != "" && (!errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), problem)) {
			t.Errorf("amount of %q: %v, want %q", text, err, problem)
		}
	}
}

// TestGivenCapacities: one of a resource and unit replaces the measured one.
func TestGivenCapacities(t *testing.T) {
	q := question{capacities: []capacity{{resource: model.ResourceDiskWrite, unit: "byte/s", total: 1, nodes: 3}}}
	if err := (&Params{Capacity: []string{"disk.write=5B/s", "disk.write=7op/s"}}).giveCapacities(&q); err != nil {
		t.Fatal(err)
	}
	if len(q.capacities) != 2 || q.capacities[0].total != 5 || q.capacities[1].total != 7 {
		t.Errorf("capacities %+v, want 5 byte/s and 7 op/s", q.capacities)
	}
	if err := (&Params{Capacity: []string{"disk.write=5B/s", "disk.write=8B/s"}}).giveCapacities(&q); !errors.Is(err, model.ErrUsage) {
		t.Errorf("twice: %v, want ErrUsage", err)
	}
}

// TestJobRate: no text is read as a number that it does not say.
func TestJobRate(t *testing.T) {
	for text, want := range map[string]float64{
		"227": 227, "227/s": 227, "227videos/s": 227, "0.5 jobs/s": .5, "4.8/s": 4.8, "3op/s": 3, "2 /s": 2, "2messages/s": 2,
		// 0: refused.
		"2k/s": 0, "2 k/s": 0, "2K/s": 0, "2M/s": 0, "2m/s": 0, "2G/s": 0, "2Ki/s": 0, "2kjobs/s": 0, "2kop/s": 0, "2Mvideos/s": 0,
		"2k": 0, "2e3": 0, "2e3/s": 0, "2 000/s": 0, "2,5/s": 0, "1.2.3/s": 0, ".5/s": 0, "2/min": 0, "2MB/s": 0, "2B/s": 0, "2bit/s": 0,
		"2byte/s": 0, "0": 0, "0/s": 0, "-1/s": 0, "many": 0, "": 0, "/s": 0, "2/s/s": 0, "NaN": 0,
	} {
		got, ok := jobRate(text)
		err := (&Params{Target: text, NodeRate: "1", Demand: []string{"cpu=1core"}}).Validate()
		if got != want || ok != (want > 0) || (err == nil) != ok || err != nil && !errors.Is(err, model.ErrUsage) {
			t.Errorf("jobRate(%q) = %v, %v, Validate = %v, want %v", text, got, ok, err, want)
		}
	}
}
