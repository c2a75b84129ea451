package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// nodes are values of k nodes, n each: half of the variance (or what share says)
// lies between them. The coefficient of variation of all is .1.
func nodes(rng *rand.Rand, k, n int, share float64) (values []float64, codes []uint16) {
	for i := range k {
		level := 100 + 10*math.Sqrt(share)*rng.NormFloat64()
		for range n {
			values, codes = append(values, level+10*math.Sqrt(1-share)*rng.NormFloat64()), append(codes, uint16(i+1))
		}
	}
	return values, codes
}

// TestClusteredCoverage makes the table of docs/methods.md anew.
func TestClusteredCoverage(t *testing.T) {
	for _, c := range []struct {
		name  string
		share float64
		held  func(c Clustered) bool
	}{
		{"COV, all between nodes", 1, holdsCOV},
		{"COV, half between nodes", .5, holdsCOV},
		{"COV, a tenth between nodes", .1, holdsCOV},
		{"mean, half between nodes", .5, func(c Clustered) bool {
			iv, err := c.MeanInterval(.95)
			return err == nil && iv.Contains(100)
		}},
	} {
		shares(t, c.name, []int{4, 8, 16}, 200, func(rng *rand.Rand, k int) bool {
			values, codes := nodes(rng, k, 20, c.share)
			got, err := NewClustered(values, codes, k+1)
			if err != nil {
				t.Fatal(err)
			}
			return c.held(got)
		})
	}
}

func holdsCOV(c Clustered) bool {
	iv, err := c.COVInterval(.95)
	return err == nil && iv.Contains(.1)
}

// TestClusteredNeeds: groups by hand, and what no number of values tells.
func TestClusteredNeeds(t *testing.T) {
	// Means 90, 100, 110, SD 10; within each ±1.
	values := []float64{89, 91, 99, 101, 109, 111}
	c, err := NewClustered(values, []uint16{1, 1, 2, 2, 3, 3}, 4)
	closeTo(t, "within", c.Within, err, 2, 1e-12)
	closeTo(t, "between", c.Between, nil, 99, 1e-12)
	groups, each, err := c.Needed(.05, .95)
	want, _ := RepetitionsForMean(.1, .05, .95)
	if err != nil || groups != want || each != 0 {
		t.Errorf("for ±5 %%: %d groups, %d values, %v, want %d groups, and that no number of values is enough", groups, each, err, want)
	}
	// What the interval reaches is had.
	have, err := c.Precision(.95)
	closeTo(t, "precision", have, err, 4.302652729911275*10/math.Sqrt(3)/100, 1e-9)
	if groups, each, err = c.Needed(have, .95); err != nil || groups != 3 || each != 2 {
		t.Errorf("for what there is: %d groups, %d values, %v, want 3 and 2", groups, each, err)
	}
	// t = 4.303: 3·(.25·100/4.303)² − 99 = 2.27, so that one value in each will do.
	if _, each, err = c.Needed(.25, .95); err != nil || each != 1 {
		t.Errorf("for ±25 %%: %d, %v, want a value in each", each, err)
	}
	// 3·(.2485·100/4.303)² − 99 = 1.055: two values.
	if _, each, err = c.Needed(.2485, .95); err != nil || each != 2 {
		t.Errorf("for ±24.85 %%: %d, %v, want two values in each", each, err)
	}
	_, one := NewClustered([]float64{1, 2}, []uint16{1, 1}, 2)
	_, single := NewClustered([]float64{1, 2, 3}, []uint16{1, 2, 3}, 4)
	if !errors.Is(one, ErrTooFew) || !errors.Is(single, ErrTooFew) {
		t.Errorf("one group: %v, one value in each: %v, want ErrTooFew", one, single)
	}
}

// TestClusteredIn: what one walk finds of each level is what its values alone tell:
// of few pairs, of more than a table has, and of units that ascend as times do.
func TestClusteredIn(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	const n, levels = 20_000, 60
	values, codes := make([]float64, n), make([]uint16, n)
	few, many, ascending := make([]int32, n), make([]int32, n), make([]int32, n)
	for i := range values {
		codes[i] = uint16(1 + rng.IntN(levels-2)) // one level has no value
		few[i], many[i], ascending[i] = int32(rng.IntN(7)), int32(60_000+rng.IntN(40)), int32(50_000+i/300)
		values[i] = 100 + float64(few[i]) + float64(many[i]%7) + rng.ExpFloat64()
	}
	for name, units := range map[string][]int32{"few": few, "many": many, "ascending": ascending} {
		got := ClusteredIn(values, codes, levels, units)
		for level := range got {
			var own []float64
			var of []int32
			for i, c := range codes {
				if int(c) == level {
					own, of = append(own, values[i]), append(of, units[i]+1)
				}
			}
			want, _ := NewClustered(own, of, 1<<17)
			if diff := cmp.Diff(want, got[level], cmp.AllowUnexported(Clustered{}), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
				t.Fatalf("%s, level %d (-alone +together):\n%s", name, level, diff)
			}
		}
	}
}
