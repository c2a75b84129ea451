package resources

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/test/golden"
)

// analyzed is the result of the run in testdata: a lab with a shared uplink,
// measured at several sizes.
func analyzed(t *testing.T) *Result {
	t.Helper()
	b, err := os.ReadFile("testdata/run.json")
	if err != nil {
		t.Fatal(err)
	}
	var data model.RunData
	if err := json.Unmarshal(b, &data); err != nil {
		t.Fatal(err)
	}
	all, _, err := find(t.Context(), study.Input{Runs: []study.NamedRun{{Run: observe.Of(data)}}})
	if err != nil {
		t.Fatal(err)
	}
	return filled(all[0])
}

// filled makes the texts.
func filled(r *Result) *Result {
	for _, p := range r.places() {
		slices.Concat(Kind().Caveats, observe.Caveats).FillPlace(p)
	}
	return r
}

// TestGolden: the JSON contract and the whole document.
func TestGolden(t *testing.T) {
	r := analyzed(t)
	for name, value := range map[string]any{"result.json": r, "document.json": r.Document()} {
		golden.JSON(t, "testdata/"+name, value)
	}
}

// TestAnswer: what is lost first, or that nothing is, in one sentence.
func TestAnswer(t *testing.T) {
	network, disk := found(model.ResourceNetworkSend, 40, 38, 42, 50e6), found(model.ResourceDiskWrite, 41, 37, 45, 9e6)
	cpu, memory := found(model.ResourceCPU, .1, -1, 1.2, 1), found(model.ResourceMemory, 20, 19, 21, 1)
	for _, c := range []struct {
		name string
		r    Ranking
		want string
	}{
		{"one", rank(list(cpu, network, memory), nil), "network.send: 4 nodes lose 40.0 % of their capacity together [38.0, 42.0]."},
		{"two alike", rank(list(network, disk, memory), nil), "disk.write and network.send are lost first, and the intervals do not tell them apart."},
		{"none", rank(list(cpu), nil), "No resource loses capacity, as far as was measured."},
		{"nothing", rank(nil, nil), "The measurement does not tell which resource is lost: no metric has a verdict."},
	} {
		if got := (&Result{Ranking: c.r}).answer()[0]; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestWarnings: what makes findings and scalings doubtful is shown, each text
// once, in the document and in CSV.
func TestWarnings(t *testing.T) {
	ranked, unranked := found(model.ResourceNetworkSend, 40, 38, 42, 50e6), found(model.ResourceCPU, 3, 1, 5, 1)
	said := func(text caveat.Text) caveat.Caveat {
		return caveat.Caveat{Code: caveat.Code(text[:4]), Severity: model.Warning, Text: text}
	}
	ranked.Doubts = caveat.List{said("left out trial 2"), said("only 4 nodes")}
	unranked.Verdict, unranked.Doubts = evaluation.Unknown, caveat.List{said("verdict unknown: poor overlap"),
		said("only 4 nodes")}
	scaling := evaluation.Scaling{
		Workload: "w", Metric: ranked.Metric, Unit: "byte/s", Resource: ranked.Resource, Of: evaluation.OfNodes,
		Points: []evaluation.ScalingPoint{{Nodes: 1, Total: 1}, {Nodes: 4, Total: 2}},
		Doubts: caveat.List{said("measure more sizes"), said("only 4 nodes")},
	}
	findings := []evaluation.Finding{ranked, unranked}
	r := &Result{Ranking: rank(findings, nil), Scalings: []evaluation.Scaling{scaling},
		platform: evaluation.Platform{Findings: findings}}
	d := r.Document()
	network, cpu := doc.Link{Href: "#growth0", Text: ranked.Name()}, doc.Link{Href: "#resources", Text: unranked.Name()}
	want := []doc.Warning{
		{Text: "left out trial 2", Links: []doc.Link{network}},
		{Text: "only 4 nodes", Links: []doc.Link{network, cpu}},
		{Text: "measure more sizes", Links: []doc.Link{network}},
	}
	if diff := cmp.Diff(want, d.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	for i, row := range d.Data.Rows {
		at := slices.Index(scalingColumns, "warnings")
		if got := row.Cells[at].Value; got != "measure more sizes; only 4 nodes; left out trial 2" {
			t.Errorf("row %d has warnings %q, want each once", i, got)
		}
	}
}

// TestDisturbanceOnce: what disturbed the nodes is told once, though findings and the result
// as a whole have it.
func TestDisturbanceOnce(t *testing.T) {
	at := caveat.Subject{Workload: "w", Phase: model.Parallel, Trial: 1, Node: "n1"}
	swap := caveat.Caveat{Code: "swap", Severity: model.Warning, Subject: at, Args: observe.Seen{Value: 1 << 20}}
	other := swap
	other.Code = "oom"
	f := found(model.ResourceNetworkSend, 40, 38, 42, 50e6)
	f.Doubts = caveat.List{swap}
	r := &Result{Ranking: rank(list(f), nil), platform: evaluation.Platform{Findings: list(f)}}
	r.Doubts = caveat.List{swap, other}
	if d := filled(r).Document(); len(d.Warnings) != 2 {
		t.Errorf("warnings %+v, want each of two disturbances once", d.Warnings)
	}
}
