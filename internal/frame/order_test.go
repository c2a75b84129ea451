package frame

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestByTimeIsStable: rows of one time stay in their order, of many as of few.
func TestByTimeIsStable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	f := Frame{Values: make([]float64, 10_000), Times: make([]int64, 10_000)}
	for i := range f.Values {
		f.Values[i], f.Times[i] = float64(i), int64(random.IntN(500))
	}
	got := f.ByTime()
	for i := 1; i < got.Len(); i++ {
		if got.Times[i] < got.Times[i-1] || got.Times[i] == got.Times[i-1] && got.Values[i] < got.Values[i-1] {
			t.Fatalf("row %d (time %d, value %v) is behind time %d, value %v", i, got.Times[i], got.Values[i], got.Times[i-1], got.Values[i-1])
		}
	}
	if slices.IsSorted(f.Times) {
		t.Error("the frame itself was changed")
	}
}

func BenchmarkByTime(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	f := Frame{Values: make([]float64, 1_000_000), Times: make([]int64, 1_000_000)}
	for i := range f.Times {
		f.Times[i] = random.Int64()
	}
	for b.Loop() {
		f.ByTime()
	}
}
