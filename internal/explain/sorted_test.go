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

// TestSortedRows: rows without times that are sorted by what explains them are worth as much
// as in another order, and their level does not change; where values depend on those
// before them, the order is that of time.
func TestSortedRows(t *testing.T) {
	skip.IfShort(t)
	for _, c := range []struct {
		fact         string
		levels, rows int
		phi, sd      float64 // dependence of neighbours; SD of the levels
		other        bool    // as in another order, in which neighbours may be alike by chance
	}{
		{"node", 12, 8, 0, 9, true},
		{"node", 3, 30, 0, 5, true},
		{"host", 20, 5, 0, 3, true},
		{"rack", 12, 8, 0, 9, true},
		{"config", 6, 20, 0, 4, true},
		{"node", 12, 20, .8, 4, false},
		{"config", 6, 40, .9, 0, false},
		{"config", 8, 8, .95, 0, false},
		{"run", 12, 10, .95, 0, false},
		{"rack", 12, 10, .97, 0, false},
	} {
		wrong := 0
		for seed := range uint64(10) {
			rng := rand.New(rand.NewPCG(seed, 31))
			sorted, turns := simulated.NewTable(c.fact), simulated.NewTable(c.fact)
			values, noise := make([][]float64, c.levels), 0.0
			for k := range values {
				level := 100 + c.sd*rng.NormFloat64()
				for range c.rows {
					noise = c.phi*noise + math.Sqrt(1-c.phi*c.phi)*rng.NormFloat64()
					values[k] = append(values[k], level+noise)
					sorted.Add(level+noise, fmt.Sprint(k))
				}
			}
			for row := range c.rows {
				for k := range values {
					turns.Add(values[k][row], fmt.Sprint(k))
				}
			}
			worth := func(f frame.Frame) (n float64, changes int) {
				f.Times = nil
				x := New(&f, Question{Zone: time.UTC, Level: .95, Alpha: .0125})
				x.Dependence()
				course := x.Course(x.Effects())
				return x.WithinLevels(course).EffectiveN, len(course.Changes)
			}
			got, changes := worth(sorted.Frame())
			want, _ := worth(turns.Frame())
			switch {
			case c.other && (changes > 0 || got < .99*want || got > 2*want),
				!c.other && got > float64(c.levels*c.rows)/2:
				wrong++
				t.Logf("%+v: %.1f, %d changes; in turns %.1f", c, got, changes, want)
			}
		}
		if wrong > 1 {
			t.Errorf("%+v: %d of 10 tables are worth something else", c, wrong)
		}
	}
}
