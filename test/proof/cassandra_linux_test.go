//go:build proof

package proof_test

import (
	"fmt"
	"testing"

	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
)

// TestLabCassandra: real nodes of Cassandra read what their volumes let them. With chunks of
// 64 KiB, of which a read is 64 to 85 KiB of the volume, bytes bind after a raise to 1,800
// operations. With chunks of 16 KiB, of which a read is 20 to 32 KiB, operations do. Of these
// limits are a third, for two cores cannot serve what 1,800 on each of three nodes carry.
func TestLabCassandra(t *testing.T) {
	short := program.CassandraForm{Nodes: 1, Records: 45_000, Cache: 64, WarmUp: 3, Seconds: 10}
	full := program.CassandraForm{Nodes: 3, Records: 1_800_000, WarmUp: 10, Seconds: 300}
	for _, form := range []program.CassandraForm{short, full} {
		for form.Chunk, form.IOPS = range map[int]int{64: 300, 16: 100} {
			t.Run(fmt.Sprintf("nodes %d, chunks of %d KiB", form.Nodes, form.Chunk), func(t *testing.T) {
				parts.Begin(t)
				program.NeedCassandra(t)
				if err := install(t).JudgeCassandra(form); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
