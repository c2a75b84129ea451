//go:build proof

package proof_test

import (
	"fmt"
	"testing"

	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
)

// TestLabCassandra: real nodes of Cassandra read what their volumes let them. With chunks of
// 64 KiB, of which a read is 64 to 85 KiB of the volume, six times as many operations carry at
// most 60 MiB / (300 · 64 KiB) = 3.2 times as many requests, for bytes bind. With chunks of
// 16 KiB, of which a read is 20 to 32 KiB, they carry more than that.
func TestLabCassandra(t *testing.T) {
	for _, c := range []struct {
		nodes, records, cache, seconds int
	}{{1, 45_000, 64, 10}, {3, 1_800_000, 0, 300}} {
		for chunk, want := range map[int][2]float64{64: {1.8, 3.2}, 16: {3.2, 8}} {
			t.Run(fmt.Sprintf("nodes %d, chunks of %d KiB", c.nodes, chunk), func(t *testing.T) {
				parts.Begin(t)
				program.NeedCassandra(t)
				w := install(t)
				form := program.CassandraForm(c.nodes, c.records, c.cache, "b", c.seconds)
				form = append(form, "--set", fmt.Sprintf(`services.db.environ.CHUNK="%d"`, chunk))
				raised := w.Cassandra(form)
				t.Logf("requests a second %.0f, raised %.0f: × %.2f, at most %.2f allowed", raised.Before.Mean, raised.After.Mean,
					raised.Growth, raised.Predicted)
				if !(raised.Growth >= want[0] && raised.Growth <= want[1]) {
					t.Errorf("requests grew × %.2f, want × %v to %v", raised.Growth, want[0], want[1])
				}
				// Requests need fewer operations each when caches fill.
				if chunk == 64 && raised.Growth > 1.1*raised.Predicted {
					t.Errorf("requests grew × %.2f, more than × %.2f", raised.Growth, raised.Predicted)
				}
			})
		}
	}
}
