package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// Benchmark measures PutResult with one caller, and with many at once as after
// a parallel step. A result has 4 samples and 2 series of 60 points.
func Benchmark(b *testing.B, open func(*testing.B) store.Store) {
	b.Run("alone", func(b *testing.B) {
		s, results := prepare(b, open)
		for _, r := range results {
			benchPut(b, s, r)
		}
	})
	for _, callers := range []int{16, 500} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s, results := prepare(b, open)
			var next atomic.Int64
			b.SetParallelism(callers) // times GOMAXPROCS
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					benchPut(b, s, results[next.Add(1)-1])
				}
			})
		})
	}
}

// prepare stores a run with a task for every iteration.
func prepare(b *testing.B, open func(*testing.B) store.Store) (store.Store, []model.Result) {
	b.Helper()
	s := open(b)
	const nodes = 100
	f := New(1, nodes, b.N/nodes+1)
	if err := f.Start(context.Background(), s); err != nil {
		b.Fatal(err)
	}
	results := f.Results()[:b.N]
	b.ResetTimer()
	return s, results
}

func benchPut(b *testing.B, s store.Store, r model.Result) {
	if stored, err := s.PutResult(context.Background(), r); !stored || err != nil {
		b.Errorf("PutResult = %v, %v, want true", stored, err)
	}
}
