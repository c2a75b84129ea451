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

// CassandraForm is a form of that example: so many nodes, records of 4 KB and seconds, chunks
// of so many KiB, and YCSB's workload of this name alone. One that has less data than memory
// leaves cache MiB for it (0: what the hosts have).
type CassandraForm struct {
	Nodes, Records, Cache, Chunk int
	YCSB                         string
	WarmUp, Seconds              int
}

// flags are what `scalebench run` of the example takes for the form.
func (f CassandraForm) flags() []string {
	set := []string{
		fmt.Sprintf("fleet.lab.groups.db.nodes=%d", f.Nodes), fmt.Sprintf("services.db.count=%d", f.Nodes),
		fmt.Sprintf(`services.db.environ.RECORDS="%d"`, f.Records), fmt.Sprintf(`services.db.environ.CACHE="%d"`, f.Cache),
		fmt.Sprintf(`services.db.environ.CHUNK="%d"`, f.Chunk),
		fmt.Sprintf(`workloads=[{name: %[1]s, kind: load, on: {group: clients}, users: 100, warm_up: %[3]ds, duration: %[4]ds,
  target: "cassandra://${service.db[*]}:9042/scalebench_kv?consistency=one", request_timeout: 10s, timeout: 1h,
  data: {workload: %[1]s, records: %[2]d, fields: 4, field_size: 1000, distribution: uniform},
}]`, f.YCSB, f.Records, f.WarmUp, f.Seconds),
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

// JudgeCassandra runs a form, in which the volumes are raised from 300 to 1,800 operations a
// second. Before, operations are the bottleneck of each node; after it bytes are, if a read of
// the volume has more than 60 MiB / 1,800 = 34.1 KiB.
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
	mean := make(map[string]float64)
	for _, s := range r.Services {
		if s.Node == node {
			when, _, raised := strings.Cut(s.Source, ", ")
			if when = "before "; raised {
				when = "after "
			}
			mean[when+s.Quality] = s.SLP.Mean
		}
	}
	binds, other := "after ops.read", "after bytes.read"
	if f.large() {
		binds, other = other, binds
	}
	named := slices.ContainsFunc(r.Advice, func(a pressure.Advised) bool {
		return a.Node == node && a.Action == pressure.ActionRaise && a.Quality == "ops.read" && len(a.Next) > 0 &&
			a.Next[0].Quality == "bytes.read"
	})
	if mean["before ops.read"] < .9 || mean["before bytes.read"] > .6 || mean[binds] < .9 || mean[other] > mean[binds] || !named {
		return fmt.Errorf("pressures of %s are %.3v, want .9 of operations before, and %s; advice is %+v, want a raise of "+
			"operations until bytes bind", node, mean, binds, r.Advice)
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
