package sizing

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/test/golden"
)

// planCase is one case of testdata/plans.json: section 5.3 of the paper and
// what a plan makes of it.
type planCase struct {
	Name             string
	Target, NodeRate float64
	PerJob, Capacity string
	Result           Result
}

// TestPlanGolden: the arithmetic of section 5.3. The paper prints 590 and 1,065
// videos/s, 125 and 430 nodes.
func TestPlanGolden(t *testing.T) {
	const file = "testdata/plans.json"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []planCase
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		got, err := analyzed(&Params{
			Target: exact(c.Target), NodeRate: exact(c.NodeRate), DemandPerJob: []string{c.PerJob}, Capacity: []string{c.Capacity},
		})
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if golden.Updating() {
			cases[i].Result = *got
		} else if diff := cmp.Diff(&c.Result, got, cmpopts.IgnoreUnexported(Result{}, Resource{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.Name, diff)
		}
	}
	if golden.Updating() {
		out, err := json.MarshalIndent(cases, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(out, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// exact prints a number that is read as the same.
func exact(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// analyzed answers without a run.
func analyzed(p *Params) (*Result, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	r, err := p.Analyze(context.Background(), study.Input{})
	if err != nil {
		return nil, err
	}
	return r.(*Result), nil
}

// TestSection53: the same numbers, by hand.
func TestSection53(t *testing.T) {
	for _, c := range []struct {
		name                       string
		rate, target, limit        float64 // videos/s, videos/s, MB/s
		atTarget, nodes, rateLimit float64 // MB/s, nodes, videos/s
		answer                     Answer
	}{
		{"cloud B, 65 nodes", 227. / 65, 227, 1250, 1203.1, 67.53, 235.8, Fits},
		{"cloud C", 4.8, 100, 3125, 530, 122.8, 589.6, Fits},
		{"cloud D", 2.5, 2000, 5640, 10600, 425.7, 1064.2, Fails},
	} {
		r, err := answerOf(question{
			target: c.target, nodeRate: c.rate,
			demands:    []demand{{resource: model.ResourceObjectGet, amount: 5.3 * c.rate, unit: "MB/s"}},
			capacities: []capacity{{resource: model.ResourceObjectGet, total: c.limit, unit: "MB/s", limited: true}},
		})
		if err != nil {
			t.Fatal(err)
		}
		x := r.Resources[0]
		wantValue(t, c.name+": at the target", &x.AtTarget, c.atTarget, .05)
		wantValue(t, c.name+": nodes", x.NodeLimit, c.nodes, .05)
		wantValue(t, c.name+": rate", x.RateLimit, c.rateLimit, .05)
		if r.Answer != c.answer || r.Binding != model.ResourceObjectGet || *r.Largest != int(c.nodes) {
			t.Errorf("%s: answer %s, binding %q, largest %d, want %s, objectstore.get, %d", c.name, r.Answer, r.Binding, *r.Largest, c.answer, int(c.nodes))
		}
	}
}

// TestPlanAnswers: fits, fails, untested, and what is said beside it.
func TestPlanAnswers(t *testing.T) {
	measured := func(total float64, limited bool, doubt string) capacity {
		alone := 120e6
		return capacity{resource: model.ResourceNetworkReceive, workload: "net", metric: "receive", total: total, unit: evaluation.ByteRate,
			nodes: 10, alone: &alone, limited: limited, doubt: doubt, ci: &evaluation.Interval{.97 * total, 1.03 * total}, source: "net/receive, 10 nodes"}
	}
	takes := func(amount float64) demand {
		return demand{resource: model.ResourceNetworkReceive, amount: amount, unit: evaluation.ByteRate}
	}
	seen := func(amount float64) demand {
		d := takes(amount)
		d.measured = true
		return d
	}
	for _, c := range []struct {
		name    string
		d       demand
		c       []capacity
		answer  Answer
		text    string // of the resource
		warning string
	}{
		{"fits below a limit", takes(10e6), []capacity{measured(500e6, true, "")}, Fits, "used up at 50 nodes, 100/s", "20 nodes do 39.54/s of the 40/s wanted, because nodes wait for each other at network.receive; 21 nodes do it by that bound"},
		{"fits, no limit", takes(10e6), []capacity{measured(500e6, false, "")}, Fits, "fits: 20 nodes at 2/s take 1.6 Gbit/s; 10 together had 4 Gbit/s, and no limit was seen", ""},
		{"fails", takes(30e6), []capacity{measured(500e6, true, "")}, Fails, "which is used up at 16.67 nodes, 33.33/s; the largest useful fleet is 16 nodes, 32/s (95 %: 16 to 17)", ""},
		{"untested", takes(30e6), []capacity{measured(500e6, false, "")}, Untested, "no limit was seen: measure with 12 nodes or more", ""},
		{"not measured", takes(30e6), nil, Untested, "its capacity was not measured", ""},
		{"without a verdict", takes(30e6), []capacity{measured(500e6, false, "poor overlap")}, Untested, "untested", "has no verdict (poor overlap)"},
		{"too close", takes(25e6), []capacity{measured(500e6, true, "")}, Fits, "fits", "too close to call"},
		{"more than one node has", takes(130e6), []capacity{measured(5000e6, false, "")}, Fails, "not even one node works at this rate: alone it has 960 Mbit/s and the application takes 1.04 Gbit/s", ""},
		{"more than one node has, as measured", seen(130e6), []capacity{measured(5000e6, false, "")}, Fits, "fits", "one node alone has 960 Mbit/s"},
		{"more than there is for one", takes(130e6), []capacity{{resource: model.ResourceNetworkReceive, total: 100e6, unit: evaluation.ByteRate, limited: true}}, Fails, "its limit is 800 Mbit/s: not even one node fits", ""},
		{"measured twice", takes(30e6), []capacity{measured(900e6, true, ""), measured(500e6, true, "")}, Fails, "4 Gbit/s", "measured in 2 ways"},
		{"another unit", seen(30e6), []capacity{{resource: model.ResourceNetworkReceive, total: 5, unit: "op/s", nodes: 3}}, Untested, `its capacity is known only in "op/s"`, "cannot be compared"},
	} {
		r, err := answerOf(question{target: 40, nodeRate: 2, demands: []demand{c.d}, capacities: c.c})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if r.Answer != c.answer || r.Nodes != 20 {
			t.Errorf("%s: %s with %d nodes, want %s with 20", c.name, r.Answer, r.Nodes, c.answer)
		}
		if !strings.Contains(r.Resources[0].Text, c.text) {
			t.Errorf("%s: text %q, want %q in it", c.name, r.Resources[0].Text, c.text)
		}
		if got := strings.Join(r.Warnings, "\n"); !strings.Contains(got, c.warning) || c.warning == "" && got != "" {
			t.Errorf("%s: warnings %q, want %q", c.name, r.Warnings, c.warning)
		}
	}
}

// TestPlanBinding: of several resources the one that ends growth first binds,
// and the worst answer counts.
func TestPlanBinding(t *testing.T) {
	r, err := answerOf(question{
		target: 100, nodeRate: 1,
		demands: []demand{{resource: "memory", amount: 1, unit: evaluation.ByteRate}, {resource: "cpu", amount: 1, unit: evaluation.Core}, {resource: "disk.write", amount: 2, unit: evaluation.ByteRate}, {resource: "network.send", amount: 1, unit: evaluation.ByteRate}},
		capacities: []capacity{
			{resource: "cpu", total: 90, unit: evaluation.Core, nodes: 9}, {resource: "disk.write", total: 150, unit: evaluation.ByteRate, limited: true},
			{resource: "network.send", total: 80, unit: evaluation.ByteRate, limited: true},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, x := range r.Resources {
		order = append(order, x.Resource+" "+string(x.Answer))
	}
	if diff := cmp.Diff([]string{"disk.write fails", "network.send fails", "cpu untested", "memory untested"}, order); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	if r.Answer != Fails || r.Binding != "disk.write" || *r.Largest != 75 || *r.LargestRate != 75 {
		t.Errorf("plan %+v, want fails by disk.write at 75 nodes", r)
	}
}

// TestPlanProperties: t nodes suffice and t−1 do not; t* nodes fit and t*+1 do
// not; and no whole number is lost to floating point.
func TestPlanProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for range 2000 {
		whole := float64(1 + rng.IntN(500))
		rate := math.Round(1000*(.01+rng.Float64())) / 1000
		r, err := answerOf(question{
			target: whole * rate, nodeRate: rate,
			demands:    []demand{{resource: "x", amount: rate / 3, unit: "u"}},
			capacities: []capacity{{resource: "x", total: whole * (rate / 3), unit: "u", limited: true}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.Nodes != int(whole) || *r.Largest != int(whole) || r.Answer != Fits {
			t.Fatalf("%v nodes at %v: t = %d, t* = %d, %s, want both equal and fits", whole, rate, r.Nodes, *r.Largest, r.Answer)
		}
	}
	for range 2000 {
		in := question{
			target: 100 * rng.Float64(), nodeRate: .01 + rng.Float64(),
			demands:    []demand{{resource: "x", amount: .1 + rng.Float64(), unit: "u"}},
			capacities: []capacity{{resource: "x", total: 100 * rng.Float64(), unit: "u", limited: true}},
		}
		r, err := in.answer()
		if err != nil {
			t.Fatal(err)
		}
		d, c := in.demands[0].amount, in.capacities[0].total
		if n := float64(r.Nodes); n*in.nodeRate < in.target*(1-1e-8) || (n-1)*in.nodeRate >= in.target*(1+1e-8) {
			t.Errorf("t = %v for %v at %v", n, in.target, in.nodeRate)
		}
		if n := float64(*r.Largest); (n-1)*d > c*(1+1e-8) || (n+1)*d <= c*(1-1e-8) ||
			n*d > c*(1+1e-8) && *r.Largest != r.Nodes {
			t.Errorf("t* = %v for %v of %v", n, d, c)
		}
		if (r.Answer == Fits) != (r.Nodes <= *r.Largest) {
			t.Errorf("%s with %d nodes of %d", r.Answer, r.Nodes, *r.Largest)
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	d := []demand{{resource: "cpu", amount: 1, unit: evaluation.Core}}
	for name, in := range map[string]question{
		"no target":    {nodeRate: 1, demands: d},
		"NaN":          {target: math.NaN(), nodeRate: 1, demands: d},
		"no rate":      {target: 1, demands: d},
		"no demand":    {target: 1, nodeRate: 1},
		"zero demand":  {target: 1, nodeRate: 1, demands: []demand{{resource: "cpu", unit: evaluation.Core}}},
		"twice":        {target: 1, nodeRate: 1, demands: append(d, d...)},
		"another unit": {target: 1, nodeRate: 1, demands: d, capacities: []capacity{{resource: "cpu", total: 5, unit: "events/s"}}},
		"endless plan": {target: 1e30, nodeRate: 1e-9, demands: d},
		"a slip":       {target: maxFleet + 1, nodeRate: 1, demands: d},
	} {
		if r, err := in.answer(); !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: %+v, %v, want ErrUsage", name, r, err)
		}
	}
}

// TestPlanOfMeans: a published table has no interval. A loss in it is neither
// called a limit nor said not to be one, and the answer is known to rest on it.
func TestPlanOfMeans(t *testing.T) {
	findings, err := imported(strings.NewReader("nodes,serial_mean,parallel_mean,unit\n10,100,10,MB/s\n"), "net.csv")
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[float64]Answer{2: Fits, 3: Untested} {
		in := question{
			target: target, nodeRate: 1, capacities: capacitiesOf(findings, nil, nil),
			demands: []demand{{resource: "net", amount: 50e6, unit: evaluation.ByteRate}},
		}
		r, err := in.answer()
		if err != nil {
			t.Fatal(err)
		}
		text := r.Resources[0].Text
		if r.Answer != want || !strings.Contains(text, "does not show whether this is a limit (only means") || strings.Contains(text, "no limit was seen") {
			t.Errorf("target %v: %s, %q, want %s, and that it could not be judged", target, r.Answer, text, want)
		}
		if (want == Untested) != strings.Contains(text, "--capacity") {
			t.Errorf("target %v: %q, want advice to give the capacity where it is untested", target, text)
		}
		if diff := cmp.Diff([]string{"net"}, r.unjudged); diff != "" {
			t.Errorf("target %v: unjudged (-want +got):\n%s", target, diff)
		}
	}
}

// TestPlanCarriesWarnings: what a finding warns of is said of the plan too,
// once and with the resource, and its total has an interval.
func TestPlanCarriesWarnings(t *testing.T) {
	findings, err := imported(strings.NewReader("node,serial,parallel\na,100,51\nb,100,50\nc,100,49\n"), "disks.csv")
	if err != nil {
		t.Fatal(err)
	}
	capacities := capacitiesOf(findings, nil, nil)
	r, err := answerOf(question{
		target: 15, nodeRate: 1, demands: []demand{{resource: "disks", amount: 10}},
		capacities: append(capacities, capacity{resource: model.ResourceCPU, total: 4, unit: evaluation.Core, limited: true}),
	})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(r.Warnings, "\n")
	for _, want := range []string{"disks: the numbers come from a file", "disks: one parallel trial", "disks: only 3 nodes", "too close to call", "given for cpu (4 core) is not used"} {
		if strings.Count(all, want) != 1 {
			t.Errorf("warnings %q, want %q once", r.Warnings, want)
		}
	}
	var codes []string
	for i, d := range r.Doubts {
		codes = append(codes, d.Code)
		if d.Severity != model.Warning || d.Text != r.Warnings[i] {
			t.Errorf("doubt %+v beside %q, want a warning of that text", d, r.Warnings[i])
		}
	}
	for _, want := range []string{"from_a_file", "one_trial", "few_nodes", "too_close", "unused_capacity"} {
		if !slices.Contains(codes, want) {
			t.Errorf("codes %v, want %s among them", codes, want)
		}
	}
	// Three nodes of 50, deviation 1: t(2) = 4.303, 3·4.303/sqrt(3) = 7.45.
	wantValue(t, "lower bound of the total", &capacities[0].ci[0], 150-7.4524, 1e-3)
}

// TestPlanListsWhatIsKnown: a resource that was not measured is told from
// those that were.
func TestPlanListsWhatIsKnown(t *testing.T) {
	r, err := answerOf(question{
		target: 1, nodeRate: 1, demands: []demand{{resource: "memory", amount: 1, unit: evaluation.ByteRate}},
		capacities: []capacity{{workload: "upload", metric: "rate", total: 5, unit: evaluation.ByteRate, nodes: 3}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := r.Resources[0].Text; !strings.Contains(text, "not measured (only that of upload/rate)") {
		t.Errorf("text %q, want what was measured in it", text)
	}
}

func TestDigits(t *testing.T) {
	for v, want := range map[float64]string{1064.1509: "1064.2", 589.623: "589.6", 4.8: "4.8", 0: "0", 12345.678: "12345.7", 1000: "1000"} {
		if got := digits(v); got != want {
			t.Errorf("digits(%v) = %q, want %q", v, got, want)
		}
	}
}
