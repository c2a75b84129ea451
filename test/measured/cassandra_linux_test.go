package measured_test

import (
	"testing"

	"github.com/scalebench/scalebench/test/program"
)

// TestCassandra: a real node of Cassandra reads what its volume lets it. The bottleneck moves
// from operations to bytes when operations are raised, and the throughput grows as the
// pressures before allow. `make lab-proof` has three nodes, and smaller reads.
func TestCassandra(t *testing.T) {
	program.NeedCassandra(t)
	t.Parallel() // it waits for its volume, which its own limits hold back
	// At a third of the full form's rates a processor that others use, too, is no bottleneck.
	form := program.CassandraForm{Nodes: 1, Records: 32_000, Cache: 64, IOPS: 100, Chunk: 64, WarmUp: 2, Seconds: 6}
	program.Calmly(t, func() error { return program.Install(t).JudgeCassandra(form) })
}
