package kvtest

import (
	"testing"

	"github.com/scalebench/scalebench/internal/load/kv"
)

// Benchmark measures one client that does one operation after the other: the
// time is the server's and the way to it as well as the client's, so compare
// figures of one server only.
func Benchmark(b *testing.B, store kv.Store) {
	set := kv.DefaultDataset()
	prepare(b, store, set)
	for name, workload := range map[string]string{"read": "w2", "update": "w1"} {
		b.Run(name, func(b *testing.B) {
			client := open(b, store, set, workload)
			b.ReportAllocs()
			for b.Loop() {
				if err := client.Do(b.Context(), 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
