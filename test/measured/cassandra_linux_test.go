package measured_test

import (
	"testing"

	"github.com/scalebench/scalebench/test/program"
)

// TestCassandra: a real node of Cassandra reads what its volume lets it. The bottleneck moves
// from operations to bytes when operations are raised, and the throughput grows as the
// pressures before allow. `make lab-proof` has three nodes, and smaller reads.
func TestCassandra(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	program.NeedCassandra(t)
	form := program.CassandraForm{Nodes: 1, Records: 40_000, Cache: 64, Chunk: 64, YCSB: "b", WarmUp: 2, Seconds: 6}
	program.Calmly(t, func() error { return program.Install(t).JudgeCassandra(form) })
}
