//go:build proof

package proof_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/study/resources"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
)

// proofs are the cases. The processor's truth depends on the machine: the
// nodes' shares of its cores are chosen such that the result does not.
func proofs() []program.LabCase {
	cores := float64(runtime.NumCPU())
	quarter := cores / 4 // of the machine; half a core of two
	threads := int(math.Ceil(quarter))
	return []program.LabCase{
		{
			Name: "all in one", Why: "1 − 300/(4 × 200), for the disk 1 − 1/4",
			Truth: map[string]float64{"network": 62.5, "disk": 75, "objectstore": 62.5},
			File: `fleet:
  lab:
    volumes: [{name: data, size: 256MiB, iops: 400, shared: true}]
    groups: [{name: rack, nodes: 4, link: 200Mbit/s, uplink: 300Mbit/s}, {name: core, nodes: 1, use: []}]
services:
` + program.S3Service("1Gbit/s") + `
workloads:
  - {kind: network, pairing: all_to_one, sink: core, warm_up: 500ms, duration: 2s}
  - {kind: disk, on: {group: rack}, volume: data, pattern: random, operation: write, block_size: 64KiB, direct: true,
     size: 32MiB, duration: 3s, ramp: 1s}
` + program.S3Workload(", on: {group: rack}") + "\n",
		},
		{
			Name: "network, shared uplink", Why: "1 − 300/(4 × 200)", Truth: map[string]float64{"network": 62.5},
			File: `fleet: {lab: {groups: [{name: rack, nodes: 4, link: 200Mbit/s, uplink: 300Mbit/s}, {name: core, nodes: 1}]}}
workloads: [{kind: network, pairing: all_to_one, sink: core, duration: 4s}]
trials: 2
`},
		{
			Name: "network, two groups", Why: "1 − 300/(4 × 200) in each group", Truth: map[string]float64{"network": 62.5},
			File: `fleet: {lab: {groups: [{name: a, nodes: 4, link: 200Mbit/s, uplink: 300Mbit/s},
  {name: b, nodes: 4, link: 200Mbit/s, uplink: 300Mbit/s}]}}
workloads: [{kind: network, pairing: across_groups, duration: 4s}]
trials: 3
`},
		{
			Name: "network, no bottleneck", Why: "every pair has its own links", Truth: map[string]float64{"network": 0},
			File: `fleet: {lab: {nodes: 8, link: 100Mbit/s}}
workloads: [{kind: network, duration: 4s}]
trials: 3
`},
		{
			Name: "disk, a volume each", Why: "every node has its own 200 op/s", Truth: map[string]float64{"disk": 0},
			File: `fleet: {lab: {nodes: 4, volumes: [{name: data, size: 64MiB, iops: 200, bandwidth: 40MiB/s}]}}
workloads: [{kind: disk, volume: data, pattern: random, operation: write, block_size: 64KiB, direct: true, size: 48MiB, duration: 5s, ramp: 1s}]
trials: 2
`},
		{
			Name: "disk, one shared volume", Why: "1 − 1/4", Truth: map[string]float64{"disk": 75},
			File: `fleet: {lab: {nodes: 4, volumes: [{name: data, size: 256MiB, iops: 400, bandwidth: 80MiB/s, shared: true}]}}
workloads: [{kind: disk, volume: data, pattern: random, operation: write, block_size: 64KiB, direct: true, size: 32MiB, duration: 5s, ramp: 1s}]
trials: 2
`},
		{
			Name: "processor, no over-commit", Why: fmt.Sprintf("4 × %g of %g cores", quarter,
				cores), Truth: map[string]float64{"cpu": 0},
			File: fmt.Sprintf(`fleet: {lab: {nodes: 4, cpu: %g}}
workloads: [{kind: cpu, threads: %d, duration: 5s}]
trials: 4
`, quarter, threads)},
		{
			Name: "processor, over-commit", Why: fmt.Sprintf("1 − %g/(8 × %g)", cores,
				quarter), Truth: map[string]float64{"cpu": 50},
			File: fmt.Sprintf(`fleet: {lab: {nodes: 8, cpu: %g}}
workloads: [{kind: cpu, threads: %d, duration: 5s}]
trials: 2
`, quarter, threads)},
		{
			Name: "object storage behind a link", Why: "1 − 300/(4 × 200)", Truth: map[string]float64{"objectstore": 62.5},
			File: "fleet: {lab: {nodes: 4, link: 200Mbit/s}}\nservices:\n" + program.S3Service("300Mbit/s") + "\nworkloads:\n" +
				program.S3Workload("") + "\ntrials: 2\n",
		},
	}
}

// TestLabProof: for every lab the measured CDI lies within 3 points of the
// arithmetic, which lies within the 95 % interval.
func TestLabProof(t *testing.T) {
	table := program.LabTable{}
	for _, p := range proofs() {
		t.Run(p.Name, func(t *testing.T) {
			of := parts.Measure(t, p.File, func() (of program.LabTable) {
				p.Prove(t, &of, func(w *program.Installation) { w.RunText(p.File + p.Expect()) })
				return of
			})
			table.Rows += of.Rows
			table.Measured += of.Measured
			table.Missed += of.Missed
		})
	}
	t.Log(&table)
	// One of twenty intervals misses the truth by design, and a neighbour's
	// load spoils a measurement now and then. More means that something is
	// wrong with the instrument, even if every case succeeded in the end.
	if 4*table.Missed > table.Measured {
		t.Errorf("%d of %d findings missed the truth", table.Missed, table.Measured)
	}
}

// TestDemo: the demo's own arithmetic holds, in a lab.
func TestDemo(t *testing.T) {
	parts.Begin(t)
	cores := float64(runtime.NumCPU())
	p := program.LabCase{Name: "demo", Why: "demo-lab.yaml",
		Truth: map[string]float64{"network": 62.5, "cpu-all-cores": 100 * (1 - cores/(6*cores))}}
	table := &program.LabTable{}
	p.Prove(t, table, func(w *program.Installation) { w.Run("demo") })
	t.Log(table)
}

// TestLabLimit: where the total stays the same while the fleet grows, the limit
// is named, with where it begins: the example of the README. Of the uplink's
// 300 Mbit/s, TCP carries 1448 of 1514 bytes as payload.
func TestLabLimit(t *testing.T) {
	parts.Begin(t)
	const payload = 300e6 / 8 * 1448 / 1514 // byte/s
	p := program.LabCase{Name: "limit", Why: "1 − 300/(6 × 200)", Truth: map[string]float64{"network": 75}}
	table := &program.LabTable{}
	var got resourceAnswer
	p.Prove(t, table, func(w *program.Installation) {
		w.Run("run", program.ExampleFile("lab-network.yaml"))
		got = (&installation{w}).resources()
	})
	t.Log(table)
	s := got.Scalings[0]
	if s.Limit == nil {
		t.Fatalf("no limit is named: %q", s.Warnings)
	}
	t.Log(s.Limit.Text)
	if math.Abs(s.Limit.Total/payload-1) > .02 || s.Limit.From != 2 || s.Limit.To != 6 ||
		!strings.Contains(string(got.Ranking.Resources[0].Text), string(s.Limit.Text)) {
		t.Errorf("limit %+v in %q, want %.4g byte/s from 2 to 6", s.Limit, got.Ranking.Resources[0].Text, payload)
	}
}

// TestLabLimitChannels: the channels of the example, and who shares with whom.
func TestLabLimitChannels(t *testing.T) {
	parts.Begin(t)
	p := program.LabCase{Name: "channels", Why: "1 − 5/10", Truth: map[string]float64{"network": 50}}
	table := &program.LabTable{}
	var got resourceAnswer
	p.Prove(t, table, func(w *program.Installation) {
		w.Run("run", program.ExampleFile("lab-channels.yaml"))
		got = (&installation{w}).resources()
	})
	t.Log(table)
	group := func(subject string) string { // lab-a of lab-a-1>lab-core-1
		node, _, _ := strings.Cut(subject, ">")
		return node[:strings.LastIndexByte(node, '-')]
	}
	sizes := map[int]int{} // subjects on channels of a size
	for _, f := range got.Path {
		t.Log(f.Text)
		for _, set := range f.Args.Sets {
			sizes[f.Args.Share] += len(set)
			for _, subject := range set {
				if group(subject) != group(set[0]) {
					t.Errorf("%s and %s are on one channel, but in two groups", subject, set[0])
				}
			}
		}
	}
	if want := (map[int]int{2: 4, 4: 4}); !maps.Equal(sizes, want) {
		t.Errorf("subjects on channels of two and of four: %v, want %v", sizes, want)
	}
}

// randomLab is a lab in which some resources lose some of their capacity, one
// of them clearly more than the others.
type randomLab struct {
	file  string
	worst string             // workload with the largest loss
	truth map[string]float64 // CDI in percent, by workload
}

// newRandomLab draws a lab. Processor, network and object storage keep a share
// of what the nodes can do alone: 30 to 60 % if they are the worst, otherwise
// 80 to 95 % or everything. The disk is either shared, and then the worst, or
// every node has its own. The network ends at the link of the node that all
// send to, object storage at that of its server, so that neither limits the
// other.
func newRandomLab(rng *rand.Rand) randomLab {
	kinds := []string{"cpu", "disk", "network", "objectstore"}
	n := 3 + rng.IntN(2)
	l := randomLab{worst: kinds[rng.IntN(len(kinds))], truth: map[string]float64{}}
	keep := map[string]float64{}
	for _, k := range kinds {
		keep[k] = 1
		if k != "disk" && rng.IntN(2) == 0 {
			keep[k] = 0.8 + 0.15*rng.Float64()
		}
	}
	keep[l.worst] = 0.3 + 0.3*rng.Float64()
	if l.worst == "disk" {
		keep["disk"] = 1 / float64(n)
	}
	for k := range keep {
		l.truth[k] = 100 * (1 - keep[k])
	}
	link := 80 + rng.IntN(80) // Mbit/s
	shared := func(k string) string { return fmt.Sprintf("%.1fMbit/s", keep[k]*float64(n*link)) }
	cpu := float64(runtime.NumCPU()) / float64(n) / keep["cpu"]
	l.file = fmt.Sprintf(`fleet:
  lab:
    volumes: [{name: data, size: 128MiB, iops: %d, shared: %v}]
    groups:
      - {name: rack, nodes: %d, link: %dMbit/s, cpu: %.3f}
      - {name: core, nodes: 1, link: %s, use: []}
services:
%s
workloads:
  - {kind: cpu, on: {group: rack}, threads: %d, duration: 3s}
  - {kind: disk, on: {group: rack}, volume: data, pattern: random, operation: write, block_size: 16KiB, direct: true, size: 16MiB, duration: 3s, ramp: 1s}
  - {kind: network, pairing: all_to_one, sink: core, duration: 3s}
%s
`, 100+50*rng.IntN(5), l.worst == "disk", n, link, cpu, shared("network"), program.S3Service(shared("objectstore")),
		int(math.Ceil(cpu)), program.S3Workload(", on: {group: rack}"))
	return l
}

// TestRandomLabs: the resource that loses most is named first, in every lab.
func TestRandomLabs(t *testing.T) {
	const labs, seed = 20, 6
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range labs {
		l := newRandomLab(rng)
		t.Run(fmt.Sprintf("%d %s", i+1, l.worst), func(t *testing.T) {
			parts.Begin(t)
			w := installForLabs(t)
			w.RunText(l.file)
			got := w.resources().Ranking
			if len(got.Resources) == 0 {
				t.Fatal("no resource is ranked")
			}
			t.Logf("truth %v; ranked %s", l.truth, describeRanking(got))
			if first := got.Resources[0].Finding.Workload; first != l.worst {
				t.Errorf("%s is named first, want %s", first, l.worst)
			}
		})
	}
}

func describeRanking(r resources.Ranking) string {
	var out []string
	for _, x := range r.Resources {
		out = append(out, string(x.Text))
	}
	return strings.Join(out, "; ")
}

// resourceAnswer is the JSON of `scalebench resources`.
type resourceAnswer struct {
	Ranking  resources.Ranking    `json:"ranking"`
	Scalings []evaluation.Scaling `json:"scalings"`
	Path     []struct {
		Text string `json:"text"`
		Args struct {
			Share int        `json:"share"`
			Sets  [][]string `json:"sets"`
		} `json:"args"`
	} `json:"path"`
}

func (w *installation) resources() resourceAnswer {
	w.T.Helper()
	var a resourceAnswer
	if err := json.Unmarshal([]byte(w.Run("resources", "latest", "--format", "json")), &a); err != nil {
		w.T.Fatal(err)
	}
	return a
}
