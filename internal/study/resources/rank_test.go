package resources

import (
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/caveat"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
)

// found makes a finding of a resource with this CDI and interval.
func found(resource string, cdi, lo, hi, total float64) evaluation.Finding {
	verdict := evaluation.None
	if lo > 0 {
		verdict = evaluation.Degraded
	}
	f := evaluation.Finding{
		Workload: "w", Metric: "m" + resource, Unit: "byte/s", Resource: resource, Nodes: 4, Of: evaluation.OfNodes,
		CDI: &cdi, CI: &evaluation.Interval{lo, hi}, Verdict: verdict,
	}
	f.Parallel.Total = &total
	return f
}

// noInterval is why a finding has no verdict.
var noInterval = caveat.Caveat{Code: "no_serial", Severity: model.Problem}

// unknowns is what a ranking says that the run cannot tell.
func unknowns(r Ranking) string {
	var out []string
	for _, text := range filled(&Result{Ranking: r}).Ranking.Unknown {
		out = append(out, string(text))
	}
	return strings.Join(out, "\n")
}

func TestRank(t *testing.T) {
	unknown := found(model.ResourceMemory, 3, 1, 5, 1)
	unknown.Verdict, unknown.Doubts = evaluation.Unknown, caveat.List{noInterval}
	nameless := found("", 1, -2, 4, 1)
	nameless.Metric = "score"
	r := rank([]evaluation.Finding{
		found(model.ResourceCPU, .1, -1, 1.2, 1), found(model.ResourceNetworkSend, 40, 38, 42, 50e6),
		found(model.ResourceNetworkReceive, 62.5, 61, 64, 37.5e6), found(model.ResourceNetworkReceive, 10, 9, 11, 90e6),
		found(model.ResourceObjectPut, 61, 60, 62, 37e6), unknown, nameless,
	}, []evaluation.Scaling{{Workload: "w", Metric: "mnetwork.receive", Limit: &evaluation.SharedLimit{Total: 37.5e6, Text: "the sum stays at 300 Mbit/s from 2 to 4 nodes"}}})
	var got []string
	for _, x := range r.Resources {
		got = append(got, strings.Repeat("#", x.Rank)+" "+string(x.Text))
	}
	want := []string{
		"# network.receive: 4 nodes lose 62.5 % of their capacity together [61.0, 64.0]; the sum stays at 300 Mbit/s from 2 to 4 nodes",
		"# objectstore.put: 4 nodes lose 61.0 % of their capacity together [60.0, 62.0]",
		"### network.send: 4 nodes lose 40.0 % of their capacity together [38.0, 42.0]",
		"#### w/score: no loss seen with 4 nodes; one of up to 4.0 % is not excluded",
		"#### cpu: no loss seen with 4 nodes; one of up to 1.2 % is not excluded",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ranking (-want +got):\n%s", diff)
	}
	cannot := []string{
		"memory (w mmemory): verdict unknown: there are no serial values to compare with",
		"objectstore.put: network.receive shows the same limit (296 Mbit/s and 300 Mbit/s); object storage may not be the cause",
		"disk was not measured, so that a limit there cannot be seen",
		"w/score, cpu: measured with up to 4 nodes only; a larger fleet may meet a limit",
	}
	if diff := cmp.Diff(strings.Join(cannot, "\n"), unknowns(r)); diff != "" {
		t.Errorf("what cannot be known (-want +got):\n%s", diff)
	}
}

func TestRankWithoutNetwork(t *testing.T) {
	r := rank([]evaluation.Finding{found(model.ResourceObjectGet, 50, 48, 52, 1e6)}, nil)
	if want := "through the network, which was not measured"; !strings.Contains(unknowns(r), want) {
		t.Errorf("unknown %q, want %q", r.Unknown, want)
	}
	other := rank([]evaluation.Finding{found(model.ResourceObjectGet, 50, 48, 52, 1e6), found(model.ResourceNetworkSend, 50, 48, 52, 2e6)}, nil)
	if text := unknowns(other); strings.Contains(text, "may not be the cause") {
		t.Errorf("a network with twice the limit: unknown %q, want no doubt about the cause", unknowns(other))
	}
	if text := unknowns(other); !strings.Contains(text, "not on the way to the store") {
		t.Errorf("a network with twice the limit: unknown %q, want that the way to the store was not measured",
			unknowns(other))
	}
	noVerdict := found(model.ResourceNetworkSend, 5, -40, 50, 1e6)
	noVerdict.Verdict = evaluation.Unknown
	disturbed := rank([]evaluation.Finding{found(model.ResourceObjectGet, 50, 48, 52, 1e6), noVerdict}, nil)
	if text := unknowns(disturbed); strings.Contains(text, "not measured: object") ||
		!strings.Contains(text, "which has no verdict") {
		t.Errorf("a network without a verdict: unknown %q, want that it has none", unknowns(disturbed))
	}
	none := rank(nil, nil)
	if len(none.Resources) != 0 || len(none.unknown) != 1 {
		t.Errorf("ranking of nothing: %+v, want only what was not measured", none)
	}
}

// An object store that shows the network's limit does not come before it by
// chance: whatever reaches the store has passed the network.
func TestRankNamesTheCauseFirst(t *testing.T) {
	store, net := found(model.ResourceObjectPut, 62, 60, 64, 37.5e6), found(model.ResourceNetworkSend, 61, 59, 63, 37.6e6)
	disk := found(model.ResourceDiskWrite, 61.5, 59, 64, 1e6)
	for _, c := range []struct {
		name string
		net  evaluation.Finding
		want string
	}{
		{"the same limit", net, "network.send objectstore.put disk.write"},
		{"another limit", found(model.ResourceNetworkSend, 61, 59, 63, 90e6), "objectstore.put disk.write network.send"},
		{"less lost", found(model.ResourceNetworkSend, 40, 38, 42, 37.6e6), "objectstore.put disk.write network.send"},
	} {
		var got []string
		for _, r := range rank([]evaluation.Finding{store, disk, c.net}, nil).Resources {
			got = append(got, r.Resource)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: order %v, want %s", c.name, got, c.want)
		}
	}
}

func list(findings ...evaluation.Finding) []evaluation.Finding { return findings }

// TestRankTextOfOne: what one pair loses it does not lose together with others.
func TestRankTextOfOne(t *testing.T) {
	lost, gained := found("network.send", 40, 38, 42, 1), found("network.send", -5, -6, -4, 1)
	gained.Verdict = evaluation.Gain
	parts := lost
	parts.Nodes = 6
	parts.Parts = []evaluation.Part{{Nodes: []model.NodeID{"n4"}, Kept: .2},
		{Nodes: []model.NodeID{"n1", "n2", "n3", "n5", "n6"}, Kept: .68}}
	disturbed := found("cpu", 1, -1, 3, 1)
	disturbed.Possible = &evaluation.Interval{-1, 8}
	for want, f := range map[string]evaluation.Finding{
		"network.send: 1 pair loses 40.0 % of its capacity [38.0, 42.0]": lost,
		"network.send: 1 pair gains 5.0 % [4.0, 6.0]":                    gained,
		"network.send: 6 nodes lose 40.0 % of their capacity together [38.0, 42.0]; node n4 keeps 20.0 % of its capacity, the other 5 nodes 68.0 %": parts,
		"cpu: no loss seen with 1 pair; one of up to 3.0 % (8.0 % with what disturbed the nodes) is not excluded":                                   disturbed,
	} {
		if len(f.Parts) == 0 {
			f.Nodes, f.Of = 1, evaluation.OfPairs
		}
		if got := rankText(RankedResource{Resource: f.Resource, Finding: f}); string(got) != want {
			t.Errorf("rankText = %q, want %q", got, want)
		}
	}
}

// TestSharedEnd: what is called after those who send may be the limit of the one
// that receives from all of them.
func TestSharedEnd(t *testing.T) {
	pairs := func(names ...model.NodeID) []evaluation.NodePair {
		var out []evaluation.NodePair
		for _, name := range names {
			out = append(out, evaluation.NodePair{Node: name})
		}
		return out
	}
	for _, c := range []struct {
		name     string
		resource string
		pairs    []evaluation.NodePair
		want     string // a part of what is said; empty: nothing is
	}{
		{"all to one", model.ResourceNetworkSend, pairs("a>d", "b>d", "c>d"), "network.send: all 3 pairs end at d, so that the limit may be network.receive of that node"},
		{"all from one", model.ResourceNetworkReceive, pairs("a>d", "b>d"), "network.receive: all 2 pairs end at d, so that the limit may be network.send of that node"},
		{"a ring", model.ResourceNetworkReceive, pairs("a>b", "b>c", "c>a"), ""},
		{"one pair", model.ResourceNetworkSend, pairs("a>b"), ""},
		{"both ends measure", model.ResourceNetworkReceive, pairs("a+b", "c+d"), ""},
		{"nodes", model.ResourceNetworkReceive, pairs("a", "b"), ""},
		{"a store", model.ResourceObjectPut, pairs("a>d", "b>d"), ""},
	} {
		f := found(c.resource, 50, 48, 52, 1e6)
		f.Pairs, f.Nodes, f.Of = c.pairs, len(c.pairs), evaluation.OfPairs
		got := unknowns(rank(list(f), nil))
		if said := strings.Contains(got, "pairs end at"); said != (c.want != "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: unknown %q, want %q in it", c.name, got, c.want)
		}
	}
}
