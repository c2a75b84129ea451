package e2e_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/study/resources"
)

// labProof makes the proof complete, as `make lab-proof` does: all cases, the
// plan, and twenty random labs, about an hour. Without it one lab is measured
// that has a little of everything.
var labProof = flag.Bool("lab-proof", false, "run every case of the lab proof")

// proof is a lab with limits that give the CDI by arithmetic.
type proof struct {
	name string
	file string // experiment file
	// truth is the CDI in percent, by workload; every metric of the workload
	// must show it.
	truth map[string]float64
	why   string // the arithmetic
	short bool   // the only one that runs if the proof is not complete
}

// proofs are the cases. The processor's truth depends on the machine: the
// nodes' shares of its cores are chosen such that the result does not.
func proofs() []proof {
	cores := float64(runtime.NumCPU())
	quarter := cores / 4 // of the machine; half a core of two
	threads := int(math.Ceil(quarter))
	return []proof{
		{
			name: "all in one", short: true, why: "1 − 300/(4 × 200), for the disk 1 − 1/4",
			truth: map[string]float64{"network": 62.5, "disk": 75, "objectstore": 62.5},
			file: `fleet:
  lab:
    volumes: [{name: data, size: 256MiB, iops: 400, shared: true}]
    groups: [{name: rack, nodes: 4, link: 200Mbit/s, uplink: 300Mbit/s}, {name: core, nodes: 1, use: []}]
services:
` + s3Service("1Gbit/s") + `
workloads:
  - {kind: network, pairing: all_to_one, sink: core, warm_up: 500ms, duration: 2s}
  - {kind: disk, on: {group: rack}, volume: data, pattern: random, operation: write, block_size: 64KiB, direct: true, size: 32MiB, duration: 3s, ramp: 1s}
` + s3Workload(", on: {group: rack}") + "\n",
		},
		{
			name: "network, shared uplink", why: "1 − 300/(4 × 200)", truth: map[string]float64{"network": 62.5},
			file: `fleet: {lab: {groups: [{name: rack, nodes: 4, link: 200Mbit/s, uplink: 300Mbit/s}, {name: core, nodes: 1}]}}
workloads: [{kind: network, pairing: all_to_one, sink: core, duration: 4s}]
trials: 2
`},
		{
			name: "network, two groups", why: "1 − 300/(4 × 200) in each group", truth: map[string]float64{"network": 62.5},
			file: `fleet: {lab: {groups: [{name: a, nodes: 4, link: 200Mbit/s, uplink: 300Mbit/s}, {name: b, nodes: 4, link: 200Mbit/s, uplink: 300Mbit/s}]}}
workloads: [{kind: network, pairing: across_groups, duration: 4s}]
trials: 3
`},
		{
			name: "network, no bottleneck", why: "every pair has its own links", truth: map[string]float64{"network": 0},
			file: `fleet: {lab: {nodes: 8, link: 100Mbit/s}}
workloads: [{kind: network, duration: 4s}]
trials: 3
`},
		{
			name: "disk, a volume each", why: "every node has its own 200 op/s", truth: map[string]float64{"disk": 0},
			file: `fleet: {lab: {nodes: 4, volumes: [{name: data, size: 64MiB, iops: 200, bandwidth: 40MiB/s}]}}
workloads: [{kind: disk, volume: data, pattern: random, operation: write, block_size: 64KiB, direct: true, size: 48MiB, duration: 5s, ramp: 1s}]
trials: 2
`},
		{
			name: "disk, one shared volume", why: "1 − 1/4", truth: map[string]float64{"disk": 75},
			file: `fleet: {lab: {nodes: 4, volumes: [{name: data, size: 256MiB, iops: 400, bandwidth: 80MiB/s, shared: true}]}}
workloads: [{kind: disk, volume: data, pattern: random, operation: write, block_size: 64KiB, direct: true, size: 32MiB, duration: 5s, ramp: 1s}]
trials: 2
`},
		{
			name: "processor, no over-commit", why: fmt.Sprintf("4 × %g of %g cores", quarter, cores), truth: map[string]float64{"cpu": 0},
			file: fmt.Sprintf(`fleet: {lab: {nodes: 4, cpu: %g}}
workloads: [{kind: cpu, threads: %d, duration: 5s}]
trials: 4
`, quarter, threads)},
		{
			name: "processor, over-commit", why: fmt.Sprintf("1 − %g/(8 × %g)", cores, quarter), truth: map[string]float64{"cpu": 50},
			file: fmt.Sprintf(`fleet: {lab: {nodes: 8, cpu: %g}}
workloads: [{kind: cpu, threads: %d, duration: 5s}]
trials: 2
`, quarter, threads)},
		{
			name: "object storage behind a link", why: "1 − 300/(4 × 200)", truth: map[string]float64{"objectstore": 62.5},
			file: "fleet: {lab: {nodes: 4, link: 200Mbit/s}}\nservices:\n" + s3Service("300Mbit/s") + "\nworkloads:\n" + s3Workload("") + "\ntrials: 2\n",
		},
	}
}

// s3Service is an object store on a host with this link.
func s3Service(link string) string {
	return fmt.Sprintf(`  - {name: s3, port: 7070, link: %s, environ: {ROOT_ACCESS_KEY: lab, ROOT_SECRET_KEY: labsecret},
     command: "mkdir -p $SCALEBENCH_DIR/store && exec %s --port $SCALEBENCH_ADDRESS:7070 --quiet posix $SCALEBENCH_DIR/store"}`, link, versitygw())
}

// s3Workload puts objects into it; more are further keys of the workload.
func s3Workload(more string) string {
	return fmt.Sprintf(`  - {kind: objectstore, endpoint: "http://${service.s3}:7070", bucket: bench, create: true, operation: put, size: 1MB, concurrency: 4, duration: 4s%s}`, more)
}

// versitygw is the path of the S3 server that scripts/deps.sh installs.
func versitygw() string {
	path, err := filepath.Abs(filepath.Join("..", "..", ".tools", "versitygw"))
	if err != nil {
		return "versitygw"
	}
	return path
}

// labWorld is a world that may make labs and reach their object stores.
func labWorld(t *testing.T) *world {
	t.Helper()
	needLab(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "lab")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "labsecret")
	return newWorld(t)
}

// runText runs an experiment that a test composed.
func (w *world) runText(text string) {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "lab.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.run("run", file)
}

// TestLabProof: for every lab the measured CDI lies within 3 points of the
// arithmetic, which lies within the 95 % interval.
func TestLabProof(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	table := &proofTable{}
	for _, p := range proofs() {
		if p.short == *labProof {
			continue
		}
		t.Run(p.name, func(t *testing.T) { p.prove(t, table, func(w *world) { w.runText(p.file + p.expect()) }) })
	}
	t.Log(table)
	// One of twenty intervals misses the truth by design, and a neighbour's
	// load spoils a measurement now and then. More means that something is
	// wrong with the instrument, even if every case succeeded in the end.
	if 4*table.missed > table.measured {
		t.Errorf("%d of %d findings missed the truth", table.missed, table.measured)
	}
}

// TestDemo: the demo's own arithmetic holds, in a lab.
func TestDemo(t *testing.T) {
	if !*labProof {
		t.Skip("takes more than a minute; `make lab-proof` runs it")
	}
	cores := float64(runtime.NumCPU())
	p := proof{name: "demo", why: "demo-lab.yaml", truth: map[string]float64{"network": 62.5, "cpu-all-cores": 100 * (1 - cores/(6*cores))}}
	table := &proofTable{}
	p.prove(t, table, func(w *world) { w.run("demo") })
	t.Log(table)
}

// proofTable has a row for every finding of every try.
type proofTable struct {
	rows             strings.Builder
	measured, missed int
}

func (t *proofTable) add(row string, missed bool) {
	mark := "yes"
	t.measured++
	if missed {
		mark = "**no**"
		t.missed++
	}
	fmt.Fprintf(&t.rows, "%s %s |\n", row, mark)
}

func (t *proofTable) String() string {
	return "\n| lab | arithmetic | expected | measured | 95 % interval | verdict | try | holds |\n|---|---|---|---|---|---|---|---|\n" + t.rows.String()
}

// prove runs the case as often as measure does, until every finding shows the
// truth. Every try is in the table.
func (p proof) prove(t *testing.T, table *proofTable, run func(*world)) {
	for try := 1; ; try++ {
		w := labWorld(t)
		run(w)
		checkComplete(t, w.data("latest"))
		findings := w.findings("latest")
		if len(findings) == 0 {
			t.Fatal("no findings")
		}
		wrong := ""
		for _, f := range findings {
			bad, row := p.judge(f, try)
			table.add(row, bad != "")
			wrong += bad
			t.Logf("%s; warnings %q", row, f.Warnings)
		}
		switch {
		case wrong == "":
			return
		case try == tries:
			t.Fatalf("after %d tries: %s", tries, wrong)
		}
		t.Log(wrong)
	}
}

// expect tells the file what is known beforehand.
func (p proof) expect() string {
	var out []string
	for _, workload := range slices.Sorted(maps.Keys(p.truth)) {
		out = append(out, fmt.Sprintf("%s: %g", workload, p.truth[workload]))
	}
	return "expect: {" + strings.Join(out, ", ") + "}\n"
}

// judge compares a finding with the truth: what is wrong, and a row for the
// table.
func (p proof) judge(f evaluation.Finding, try int) (wrong, row string) {
	truth, ok := p.truth[f.Workload]
	if !ok {
		return fmt.Sprintf("nothing is known about %s; ", f.Workload), ""
	}
	if f.CDI == nil || f.CI == nil {
		return fmt.Sprintf("%s: CDI %v, interval %v; ", f.Metric, f.CDI, f.CI), ""
	}
	if f.ExpectedHere != nil { // its cores slow each other down
		truth = *f.ExpectedHere
	}
	row = fmt.Sprintf("| %s: %s | %s | %.1f %% | %.2f %% | [%.2f, %.2f] | %s | %d |", p.name, f.Metric, p.why, truth, *f.CDI, f.CI[0], f.CI[1], f.Verdict, try)
	want := evaluation.Degraded
	if truth == 0 {
		want = evaluation.None
	}
	if f.Verdict == evaluation.Degraded && f.ExpectedHere != nil && *f.ExpectedHere > 0 {
		want = evaluation.Degraded
	}
	if math.Abs(*f.CDI-truth) > 3 || !f.CI.Contains(truth) || f.Verdict != want {
		wrong = fmt.Sprintf("%s: %.2f %% %v %s; want %.1f %% within 3 points and the interval, %s; ", f.Metric, *f.CDI, *f.CI, f.Verdict, truth, want)
	}
	return wrong, row
}

// TestLabLimit: where the total stays the same while the fleet grows, the limit
// is named, with where it begins: the example of the README. Of the uplink's
// 300 Mbit/s, TCP carries 1448 of 1514 bytes as payload.
func TestLabLimit(t *testing.T) {
	if !*labProof {
		t.Skip("takes minutes; `make lab-proof` runs it")
	}
	const payload = 300e6 / 8 * 1448 / 1514 // byte/s
	p := proof{name: "limit", why: "1 − 300/(6 × 200)", truth: map[string]float64{"network": 75}}
	table := &proofTable{}
	var got resourceAnswer
	p.prove(t, table, func(w *world) { w.run("run", example("lab-network.yaml")); got = w.resources("latest") })
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
`, 100+50*rng.IntN(5), l.worst == "disk", n, link, cpu, shared("network"), s3Service(shared("objectstore")), int(math.Ceil(cpu)), s3Workload(", on: {group: rack}"))
	return l
}

// TestRandomLabs: the resource that loses most is named first, in every lab.
func TestRandomLabs(t *testing.T) {
	if !*labProof {
		t.Skip("takes half an hour; `make lab-proof` runs it")
	}
	const labs, seed = 20, 6
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range labs {
		l := newRandomLab(rng)
		t.Run(fmt.Sprintf("%d %s", i+1, l.worst), func(t *testing.T) {
			w := labWorld(t)
			w.runText(l.file)
			got := w.resources("latest").Ranking
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
}

func (w *world) resources(run string) resourceAnswer {
	w.t.Helper()
	var a resourceAnswer
	if err := json.Unmarshal([]byte(w.run("resources", run, "--format", "json")), &a); err != nil {
		w.t.Fatal(err)
	}
	return a
}

// needLab skips a test where no lab can be made, not in CI; and in short runs,
// as with the race detector, which make test repeats in full.
func needLab(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("makes a lab; make test does")
	}
	err := lab.Check()
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
}
