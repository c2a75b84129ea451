package cdi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/caveat"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/test/golden"
	"github.com/scalebench/scalebench/test/skip"
)

// analyzed is the result of the run in testdata: three workloads on six nodes,
// with failures.
func analyzed(t *testing.T, p *Params) *Result {
	t.Helper()
	b, err := os.ReadFile("testdata/run.json")
	if err != nil {
		t.Fatal(err)
	}
	var data model.RunData
	if err := json.Unmarshal(b, &data); err != nil {
		t.Fatal(err)
	}
	return answered(t, p, study.Input{Runs: []study.NamedRun{{Run: observe.Of(data)}}})
}

// answered is what an answer is made of, with its texts.
func answered(t *testing.T, p *Params, in study.Input) *Result {
	t.Helper()
	r, err := p.find(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range evaluation.Places(r.findings) {
		slices.Concat(evaluation.Caveats, observe.Caveats).FillPlace(place)
	}
	return r
}

// ownNumbers are three nodes with two trials.
const ownNumbers = `node,trial,serial,parallel,unit
a,1,100,81,MB/s
b,1,104,80,MB/s
c,1,97,79,MB/s
a,2,101,80,MB/s
b,2,103,82,MB/s
c,2,98,78.5,MB/s
`

// TestDocument: the whole document of a run, and its JSON contract. Figures of
// single trials, which are many, are left out of the file.
func TestDocument(t *testing.T) {
	r := analyzed(t, New())
	golden.JSON(t, "testdata/findings.json", r.findings)
	d := r.Document()
	for i, s := range d.Sections {
		if i > 2 && s.Kind == "Workload" { // one is enough
			d.Sections[i].Blocks = nil
		}
	}
	golden.JSON(t, "testdata/document.json", d)
}

// TestDocumentOfTable: a table has no trials and no state.
func TestDocumentOfTable(t *testing.T) {
	in := study.Input{Table: &study.Table{Name: "mine.csv", Reader: strings.NewReader(ownNumbers)}}
	golden.JSON(t, "testdata/table.json", answered(t, New(), in).Document())
}

// TestGate: the whole interval decides on the exit code of a threshold.
func TestGate(t *testing.T) {
	skip.IfShort(t)
	at := func(lo, hi float64, v evaluation.Verdict) evaluation.Finding {
		cdi := (lo + hi) / 2
		return evaluation.Finding{Workload: "w", Metric: "m", CDI: &cdi, CI: &evaluation.Interval{lo, hi}, Possible: &evaluation.Interval{lo, hi}, Verdict: v}
	}
	disturbed := at(11, 13, evaluation.Degraded)
	disturbed.Possible = &evaluation.Interval{4, 13}
	none := evaluation.Finding{Workload: "w", Metric: "m", Verdict: evaluation.Unknown}
	limit := study.Percent(10)
	for name, c := range map[string]struct {
		findings []evaluation.Finding
		want     []error
	}{
		"below":               {[]evaluation.Finding{at(-2, 3, evaluation.None), at(9, 9.9, evaluation.Degraded)}, nil},
		"up to it":            {[]evaluation.Finding{at(8, 10, evaluation.Degraded)}, nil},
		"above":               {[]evaluation.Finding{at(-2, 3, evaluation.None), at(10.1, 12, evaluation.Degraded)}, []error{model.ErrThreshold}},
		"on both sides":       {[]evaluation.Finding{at(-26.8, 50.9, evaluation.Unclear)}, []error{model.ErrInvalid}},
		"above or disturbed":  {[]evaluation.Finding{disturbed}, []error{model.ErrInvalid}},
		"unknown, far above":  {[]evaluation.Finding{at(80, 90, evaluation.Unknown)}, []error{model.ErrInvalid}},
		"unknown, below":      {[]evaluation.Finding{at(1, 2, evaluation.Unknown)}, []error{model.ErrInvalid}},
		"without a number":    {[]evaluation.Finding{none, at(1, 2, evaluation.None)}, []error{model.ErrInvalid}},
		"unknown, then above": {[]evaluation.Finding{none, at(11, 12, evaluation.Degraded)}, []error{model.ErrThreshold, model.ErrInvalid}},
		"nothing":             {nil, []error{model.ErrInvalid}},
	} {
		err := (&Result{findings: c.findings, limit: &limit}).Gate()
		if (err == nil) != (len(c.want) == 0) {
			t.Errorf("%s: Gate = %v, want %v", name, err, c.want)
		}
		for _, want := range c.want {
			if !errors.Is(err, want) {
				t.Errorf("%s: Gate = %v, want %v", name, err, want)
			}
		}
		if err := (&Result{findings: c.findings}).Gate(); err != nil {
			t.Errorf("%s: without a threshold Gate = %v", name, err)
		}
	}
}

// TestValidate: what is wrong with parameters names its key.
func TestValidate(t *testing.T) {
	p, none := New(), study.Percent(math.NaN())
	p.FailAbove = &none
	if _, err := p.Check(); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), "fail_above: ") {
		t.Errorf("Validate = %v, want an error of fail_above", err)
	}
	if _, err := New().Check(); err != nil {
		t.Errorf("Validate of the defaults: %v", err)
	}
}

// TestSummary: the sentences for those who decide.
func TestSummary(t *testing.T) {
	f := func(name string, cdi, lo, hi float64, v evaluation.Verdict) evaluation.Finding {
		return evaluation.Finding{Workload: name, Metric: "rate", Nodes: 4, Of: evaluation.OfNodes, CDI: &cdi, CI: &evaluation.Interval{lo, hi}, Verdict: v}
	}
	lost, gain := f("disk", 75, 74, 76, evaluation.Degraded), f("net", -8, -9, -7, evaluation.Gain)
	sharp, coarse := f("cpu", .1, -1, 1, evaluation.None), f("memory", 2, -30, 38.2, evaluation.Unclear)
	unknown := evaluation.Finding{Workload: "raid", Metric: "write", Of: evaluation.OfNodes, Verdict: evaluation.Unknown,
		Doubts: caveat.List{caveat.Define("no_values", func(struct{}) string { return "" }).Problem(struct{}{})}}
	parts := []evaluation.Part{{Nodes: []model.NodeID{"n4"}, Kept: .2, Serial: 100},
		{Nodes: []model.NodeID{"n1", "n2", "n3"}, Kept: .99, Serial: 100}}
	uneven, someLose, scattered, disturbed := lost, coarse, lost, coarse
	uneven.Parts, someLose.Parts, uneven.Unit = parts, parts, "op/s"
	uneven.SerialParts = []evaluation.Part{{Nodes: []model.NodeID{"n1"}, Serial: 36},
		{Nodes: []model.NodeID{"n2", "n3", "n4"}, Serial: 100}}
	scattered.Pairs = []evaluation.NodePair{{Node: "n1", Serial: 100, Parallel: 10},
		{Node: "n2", Serial: 100, Parallel: 40}}
	each, apart := scattered, scattered
	each.Nodes, apart.Nodes = 2, 2
	apart.Parts = []evaluation.Part{{Nodes: []model.NodeID{"n1"}, Kept: .1}, {Nodes: []model.NodeID{"n2"}, Kept: .4}}
	disturbed.Possible = &evaluation.Interval{-30, 81.3}
	for _, c := range []struct {
		findings []evaluation.Finding
		want     []string
	}{
		{[]evaluation.Finding{lost}, []string{"disk rate: when all 4 nodes work at once, each node loses 75.0 % of its capacity (95 % interval 74.0 to 76.0 %).", "Together the 4 nodes do the work of 1.0 node."}},
		{[]evaluation.Finding{sharp}, []string{"No loss of capacity was found when all 4 nodes work at once; one of more than 1.0 % is excluded (upper end of the 95 % interval)."}},
		{[]evaluation.Finding{coarse}, []string{"It is unclear whether capacity is lost when all 4 nodes work at once: a loss of up to 38.2 % is not excluded (upper end of the 95 % interval); the warnings say what would settle it."}},
		{[]evaluation.Finding{unknown}, []string{"The measurement does not allow a verdict: no valid result reported a " +
			"metric."}},
		{[]evaluation.Finding{sharp, sharp}, []string{"No loss of capacity was found in any of 2 metrics."}},
		{[]evaluation.Finding{lost, gain, sharp, coarse, unknown}, []string{
			"One of 5 metrics degrades: when all 4 nodes work at once, each node loses 75.0 % of its capacity (95 % interval 74.0 to 76.0 %) in disk rate.",
			"Together the 4 nodes do the work of 1.0 node.",
			"Capacity per node is higher at once than alone for net rate: look for what the serial evaluation suffered from.",
			"No loss was found for cpu rate.",
			"It is unclear whether capacity is lost for memory rate: a loss of up to 38.2 % is not excluded (upper end of the 95 % interval); the warnings say what would settle it.",
			"The measurement does not allow a verdict on raid write: no valid result reported a metric.",
		}},
		{[]evaluation.Finding{lost, f("raid", 90.4, 89, 92, evaluation.Degraded)}, []string{
			"2 of 2 metrics degrade when nodes work at once. The worst is raid rate: with 4 nodes, each node loses 90.4 % of its capacity (95 % interval 89.0 to 92.0 %).",
			"Together the 4 nodes do the work of 0.4 nodes.",
		}},
		{[]evaluation.Finding{uneven}, []string{
			"disk rate: when all 4 nodes work at once, node n4 keeps 20.0 % of its capacity, the other 3 nodes 99.0 %; together they lose 75.0 % (95 % interval 74.0 to 76.0 %).",
			"Together the 4 nodes do the work of 1.0 node.",
			"disk rate: alone node n1 does 36 op/s, the other 3 nodes 100 op/s.",
		}},
		{[]evaluation.Finding{someLose}, []string{
			"memory rate: node n4 keeps 20.0 % of its capacity, the other 3 nodes 99.0 %.",
			"It is unclear what such nodes lose on average when all 4 nodes work at once: a loss of up to 38.2 % is not excluded (upper end of the 95 % interval); the warnings say what would settle it.",
		}},
		{[]evaluation.Finding{scattered}, []string{
			"disk rate: when all 4 nodes work at once, a node loses 75.0 % of its capacity on average (95 % interval 74.0 to 76.0 %).", "Together the 4 nodes do the work of 1.0 node.",
		}},
		{[]evaluation.Finding{each}, []string{
			"disk rate: when all 2 nodes work at once, node n1 loses 90.0 % of its capacity, node n2 60.0 %; together they lose 75.0 % (95 % interval 74.0 to 76.0 %).",
			"Together the 2 nodes do the work of 0.5 nodes.",
		}},
		{[]evaluation.Finding{apart}, []string{
			"disk rate: when all 2 nodes work at once, node n1 keeps 10.0 % of its capacity, node n2 40.0 %; together they lose 75.0 % (95 % interval 74.0 to 76.0 %).",
			"Together the 2 nodes do the work of 0.5 nodes.",
		}},
		{[]evaluation.Finding{disturbed}, []string{
			"It is unclear whether capacity is lost when all 4 nodes work at once: a loss of up to 38.2 % (81.3 % with what disturbed the nodes) is not excluded (upper end of the 95 % interval); the warnings say what would settle it.",
		}},
		{nil, []string{"This run has no complete pair of a serial and a parallel evaluation: no degradation can be computed."}},
	} {
		if diff := cmp.Diff(c.want, summary(nil, c.findings)); diff != "" {
			t.Errorf("summary (-want +got):\n%s", diff)
		}
	}
}

// TestDocumentTravels: a document is the same after it was encoded and decoded.
func TestDocumentTravels(t *testing.T) {
	d := analyzed(t, New()).Document()
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var back doc.Document
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(&back)
	if err != nil || !bytes.Equal(b, again) {
		t.Errorf("the document changes on its way: %v", err)
	}
}

// TestSizesAreTold: where further sizes were measured the answer says which
// command tells of them.
func TestSizesAreTold(t *testing.T) {
	task := model.Task{Node: "a"}
	step := func(workload string, phase model.Phase, tasks int) model.Step {
		return model.Step{Workload: workload, Phase: phase, State: model.StepComplete, Tasks: slices.Repeat([]model.Task{task}, tasks)}
	}
	cut := step("w", model.Parallel, 2)
	cut.State = model.StepPending
	for name, c := range map[string]struct {
		steps []model.Step
		want  bool
	}{
		"not measured":  {[]model.Step{step("w", model.Parallel, 4), cut}, false},
		"all at once":   {[]model.Step{step("w", model.Serial, 1), step("w", model.Parallel, 4), step("v", model.Parallel, 2)}, false},
		"further sizes": {[]model.Step{step("w", model.Serial, 1), step("w", model.Parallel, 4), step("w", model.Parallel, 2)}, true},
	} {
		run := observe.Of(model.RunData{Run: model.Run{ID: "R1"}, Steps: c.steps})
		more := strings.Join((&Result{run: run}).Document().More, "\n")
		if got := strings.Contains(more, "How the total grows with size: `scalebench resources R1`."); got != c.want {
			t.Errorf("%s: the answer tells of sizes: %v, want %v: %s", name, got, c.want, more)
		}
	}
}
