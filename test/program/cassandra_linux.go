package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/study/pressure"
)

// NeedCassandra makes what examples/servicelevel-cassandra.yaml starts from, which takes two
// seconds. Without Cassandra it skips the test, except in CI.
func NeedCassandra(t *testing.T) {
	t.Helper()
	NeedLab(t)
	_, err := os.Stat("../../.tools/cassandra/lib")
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatal("Cassandra is not installed; scripts/cassandra.sh does it")
	default:
		t.Skip("Cassandra is not installed; scripts/cassandra.sh does it")
	}
	if out, err := exec.CommandContext(t.Context(), ExampleFile("cassandra/prepare.sh")).CombinedOutput(); err != nil {
		t.Fatalf("preparing Cassandra: %v\n%s", err, out)
	}
}

// CassandraForm is a form of that example: so many nodes, records of 4 KB, and seconds under
// YCSB's workload B alone.
type CassandraForm struct {
	Nodes, Records  int
	Cache           int // MiB of memory for cached files, for a form with less data than memory; 0: what hosts have
	IOPS            int // limit of a volume's operations a second; that of bytes is a fifth of as many MiB
	Chunk           int // KiB
	WarmUp, Seconds int
}

// flags are what `scalebench run` of the example takes for the form.
func (f CassandraForm) flags() []string {
	set := []string{
		fmt.Sprintf("fleet.lab.groups.db.nodes=%d", f.Nodes), fmt.Sprintf("services.db.count=%d", f.Nodes),
		fmt.Sprintf(`services.db.environ.RECORDS="%d"`, f.Records), fmt.Sprintf(`services.db.environ.CACHE="%d"`, f.Cache),
		fmt.Sprintf(`services.db.environ.CHUNK="%d"`, f.Chunk),
		fmt.Sprintf("fleet.lab.volumes.data.iops=%d", f.IOPS),
		fmt.Sprintf("fleet.lab.volumes.data.bandwidth=%dMiB/s", f.IOPS/5),
		fmt.Sprintf("study={kind: pressure, models: [{name: lab}], raise: {data: {iops: %d}}}", 6*f.IOPS),
		fmt.Sprintf(`workloads=[{name: b, kind: load, on: {group: clients}, users: 100, warm_up: %ds, duration: %ds,
  target: "cassandra://${service.db[*]}:9042/scalebench_kv?consistency=one", request_timeout: 10s, timeout: 1h,
  data: {workload: b, records: %d, fields: 4, field_size: 1000, distribution: uniform},
}]`, f.WarmUp, f.Seconds, f.Records),
	}
	if f.Cache > 0 {
		set = append(set, "fleet.lab.groups.db.memory=1GiB",
			fmt.Sprintf("fleet.lab.volumes.data.size=%dMiB", 220+f.Records/180/f.Nodes))
	}
	var out []string
	for _, s := range set {
		out = append(out, "--set", s)
	}
	return out
}

// JudgeCassandra runs a form, in which the volumes get six times the operations a second.
// Before, operations are the bottleneck of each node; after it bytes are, if a read of the
// volume has more than 1 MiB / 30 = 34.1 KiB.
func (w *Installation) JudgeCassandra(form CassandraForm) error {
	args := append([]string{"run", ExampleFile("servicelevel-cassandra.yaml"), "--format", "json"}, form.flags()...)
	out, stderr, err := w.Try(args...)
	if err != nil {
		return fmt.Errorf("%w: %s", err, stderr)
	}
	w.T.Logf("%+v: %s", form, out)
	var r Pressures
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		return err
	}
	all := []error{form.judgeGrowth(&r)}
	for n := range form.Nodes {
		all = append(all, form.judgeNode(&r, fmt.Sprintf("lab-db-%d", n+1)))
	}
	return errors.Join(all...)
}

// large reports whether a read of the volume is so large that bytes are the second limit.
func (f CassandraForm) large() bool { return f.Chunk > 34 }

// judgeNode looks at the pressures of a node's limits of reads, and at what is named.
func (f CassandraForm) judgeNode(r *Pressures, node string) error {
	before, after := make(map[string]float64), make(map[string]float64) // means by limit
	for _, s := range r.Services {
		switch {
		case s.Node != node:
		case strings.HasSuffix(s.Source, ", raised"):
			after[s.Quality] = s.SLP.Mean
		default:
			before[s.Quality] = s.SLP.Mean
		}
	}
	const ops, bytes = "ops.read", "bytes.read"
	binds, other := ops, bytes
	if f.large() {
		binds, other = bytes, ops
	}
	named := slices.ContainsFunc(r.Advice, func(a pressure.Advised) bool {
		return a.Node == node && a.Action == pressure.ActionRaise && a.Quality == ops && len(a.Next) > 0 &&
			a.Next[0].Quality == bytes
	})
	if before[ops] < .9 || before[bytes] > .6 || after[binds] < .9 || after[other] > after[binds] || !named {
		return fmt.Errorf("%s: pressures of operations %.3f, then %.3f, of bytes %.3f, then %.3f; want .9 of operations, "+
			"then of %s; to raise operations until bytes bind is advised: %v", node, before[ops], after[ops],
			before[bytes], after[bytes], binds, named)
	}
	return nil
}

// judgeGrowth holds the growth of the throughput to what the pressures before allow at most.
// Requests need fewer operations each when caches fill: so it may be a tenth more, and of
// small reads more than that.
func (f CassandraForm) judgeGrowth(r *Pressures) error {
	if len(r.Raised) != 1 || r.Raised[0].Predicted == nil {
		return fmt.Errorf("raised %+v, want one workload with a prediction", r.Raised)
	}
	x, lo, hi := r.Raised[0], .8, 1.1
	if !f.large() {
		lo, hi = .6, 1.35
	}
	if share := x.Growth / *x.Predicted; !(share >= lo && share <= hi) {
		return fmt.Errorf("requests grew × %.2f, from %.0f a second to %.0f; want × %.2f, of which %v to %v are right",
			x.Growth, x.Before.Mean, x.After.Mean, *x.Predicted, lo, hi)
	}
	return nil
}
