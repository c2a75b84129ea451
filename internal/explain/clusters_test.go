package explain

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/test/skip"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// TestClusterSizes: the COV by size is its mean square over all ways to draw.
func TestClusterSizes(t *testing.T) {
	skip.IfShort(t)
	rng, tab := rand.New(rand.NewPCG(2, 3)), simulated.NewTable(frame.FactRepetition, frame.FactSubject)
	values := make([][]float64, 6)
	for r := range values {
		for n := range 4 {
			v := 100 + 10*rng.NormFloat64()
			values[r] = append(values[r], v)
			tab.At(v, int64(r)*int64(time.Hour), fmt.Sprint(r), fmt.Sprint("node", n))
		}
	}
	clusters := rowsOf(tab.Frame()).Clusters("", nil)
	if clusters == nil || clusters.Nodes != 4 || clusters.N != 6 {
		t.Fatalf("clusters = %+v, want 6 of 4 nodes", clusters)
	}
	var all []float64
	for _, c := range values {
		all = append(all, c...)
	}
	grand := mean(all)
	for i, size := range []int{1, 2, 4} {
		got := clusters.Sizes[i]
		// The variance of the means of all ways to draw, independently from each
		// cluster: drawn very often.
		sum, draws := 0.0, 200_000
		for range draws {
			var means []float64
			for _, c := range values {
				perm := rng.Perm(4)[:size]
				s := 0.0
				for _, k := range perm {
					s += c[k]
				}
				means = append(means, s/float64(size))
			}
			mm, ss := mean(means), 0.0
			for _, v := range means {
				ss += (v - mm) * (v - mm)
			}
			sum += ss / 5
		}
		if want := math.Sqrt(sum/float64(draws)) / grand; got.Size != size || math.Abs(got.COV/want-1) > 0.01 {
			t.Errorf("COV of %d nodes = %+v, want %.5f", size, got, want)
		}
	}
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}
