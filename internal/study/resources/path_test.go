package resources

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
)

// measured is a resource of which each of these nodes has alone what is said, and together a
// limit, with noise of 2 to 5 %.
func measured(
	rng *rand.Rand, workload, resource, unit string, alone, limit float64, nodes ...string,
) evaluation.Finding {
	table := evaluation.Table{Workload: workload, Metric: resource + unit, Unit: unit, Better: model.Higher}
	noise := .02 + .03*rng.Float64()
	for _, node := range nodes {
		for trial := 1; trial <= 3; trial++ {
			table.Add(node, model.Serial, trial, alone*(1+noise*rng.NormFloat64()), 1)
			table.Add(node, model.Parallel, trial, min(alone, limit/float64(len(nodes)))*(1+noise*rng.NormFloat64()), 1)
		}
	}
	f := table.Finding(evaluation.Options{Resamples: 10})
	f.Resource = resource
	if strings.ContainsAny(nodes[0], "+>") {
		f.Of = evaluation.OfPairs
	}
	return f
}

var (
	eight = strings.Fields("a b c d e f g h")
	both  = strings.Fields("a+b c+d e+f g+h")
	ring  = strings.Fields("a>b b>c c>d d>e e>f f>g g>h h>a")
)

// codes are those of the findings on the way.
func codes(list caveat.List) string {
	var out []string
	for _, c := range list {
		out = append(out, string(c.Code))
	}
	return strings.Join(out, " ")
}

// TestCallRate: 30 stores with a limit of calls and 30 with one of bytes, at two sizes.
func TestCallRate(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	store := func(workload string, size, calls, bytes float64) []evaluation.Finding {
		limit := min(calls, bytes/size)
		alone := limit / (2 + 3*rng.Float64())
		return list(measured(rng, workload, model.ResourceObjectPut, "byte/s", size*alone, size*limit, eight...),
			measured(rng, workload, model.ResourceObjectPut, "op/s", alone, limit, eight...))
	}
	for i := range 60 {
		size := 1e5 * (1 + rng.Float64())
		smaller, limit := size/(2+6*rng.Float64()), 3e8*(1+rng.Float64())
		calls, want := 1e9, "call_rate_excluded"
		if i%2 == 0 {
			calls, limit, want = 200+5000*rng.Float64(), 1e12, "call_rate_limit"
		}
		got := codes(path(append(store("large", size, calls, limit), store("small", smaller, calls, limit)...), nil))
		if got != want {
			t.Errorf("draw %d: %q, want %q", i, got, want)
		}
	}
	// Large objects are limited by bytes and small ones by calls: two sizes do not tell.
	if got := codes(path(append(store("large", 1e6, 1000, 2e8), store("small", 5e4, 1000, 2e8)...), nil)); got != "" {
		t.Errorf("two limits: %q, want nothing", got)
	}
}

// TestBesideNetwork: what excludes the network, with the paper's cloud D among the cases, and
// what does not.
func TestBesideNetwork(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	put := func(alone, limit float64) evaluation.Finding {
		return measured(rng, "put", model.ResourceObjectPut, "byte/s", alone, limit, eight...)
	}
	net := func(workload string, alone, limit float64, subjects []string) evaluation.Finding {
		return measured(rng, workload, model.ResourceNetworkReceive, "byte/s", alone, limit, subjects...)
	}
	for _, c := range []struct {
		name     string
		findings []evaluation.Finding
		want     string
	}{
		{"cloud D", list(put(765e6, 8*282e6), net("two", 2*565e6, 8*486e6, both), net("one", 800e6, 8*800e6, ring)),
			"store_above_two_way one_way_above_two_way network_carries_more"},
		{"the network is the limit", list(put(200e6, 300e6), net("one", 200e6, 305e6, ring)), ""},
		{"the store takes all", list(put(200e6, 1600e6), net("one", 200e6, 1600e6, ring)), ""},
		{"two ways as fast as one", list(net("two", 2*200e6, 1600e6, both), net("one", 200e6, 1600e6, ring)), ""},
		{"near 25 Gbit/s", list(put(2000e6, 3100e6)), "link_rate"},
		{"between 40 and 100 Gbit/s", list(put(2000e6, 7000e6)), ""},
	} {
		if got := codes(path(c.findings, nil)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestPathText: what is said of channels.
func TestPathText(t *testing.T) {
	a := channel{Resource: "disk.write", Of: evaluation.OfNodes, Unit: "byte/s", Channel: evaluation.Channel{
		Share: 2, Nodes: []model.NodeID{"a", "b", "c", "d"}, Kept: .503, CI: evaluation.Interval{.48, .52},
		Probability: .96, Total: 1.2e9,
	}}
	begin := "disk.write: nodes a, b, c, d keep 50.3 % of their capacity [48.0, 52.0], near 1/2 (probability 96.0 %). " +
		"That points to 2 channels of 1.2 GB/s"
	told := a
	told.Sets, told.Link = [][]model.NodeID{{"a", "c"}, {"b", "d"}}, 10e9
	outside := a
	outside.Nodes, outside.Outside = outside.Nodes[:3], 1
	for want, a := range map[string]channel{
		begin + " for 2 nodes each, or to fewer and wider ones; " +
			"measure more fleet sizes (sizes) to see who shares with whom": a,
		begin + ", near a link of 10 Gbit/s, for 2 nodes each: a, c; b, d": told,
		strings.NewReplacer(", d", "", "2 channels", "1 channel").Replace(begin) +
			" for 2 nodes each; at least 1 of them share with something outside the fleet": outside,
	} {
		if got := a.String(); got != want {
			t.Errorf("text %q, want %q", got, want)
		}
	}
}

// TestPathShown: the findings on the way stand in the document.
func TestPathShown(t *testing.T) {
	f := found(model.ResourceObjectPut, 60, 58, 62, 3.1e9)
	r := filled(&Result{Ranking: rank(list(f), nil), Path: path(list(f), nil),
		platform: evaluation.Platform{Findings: list(f)}})
	for _, block := range r.Document().Sections[0].Blocks {
		if block.Part != nil && block.Part.Title == "Where on the way of the data" {
			want := "objectstore.put: the total of 3.1 GB/s is near 25 Gbit/s, a usual rate of links. " +
				"A link or a quota of that rate may be the limit"
			if got := block.Part.Blocks[0].List.Items; len(got) != 1 || got[0] != want {
				t.Errorf("shown %q, want %q", got, want)
			}
			return
		}
	}
	t.Error("the document shows no findings on the way")
}
