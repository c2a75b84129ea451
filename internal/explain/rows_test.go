package explain

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// rowsOf are the rows of a frame with the usual question about them.
func rowsOf(f frame.Frame) *Rows {
	return New(&f, Question{Zone: time.UTC, Level: 0.95, Alpha: 0.0125})
}

// TestManyPairs: more pairs of node and run than a fact can tell apart are said.
func TestManyPairs(t *testing.T) {
	tab := simulated.NewTable(frame.FactSubject, frame.FactRepetition)
	for i := range 4 * 17_000 * 2 {
		tab.At(float64(i*7919%1000), int64(i/8)*int64(time.Minute), fmt.Sprint(i%4), fmt.Sprint(i/8))
	}
	x := rowsOf(tab.Frame())
	if x.nodeOfRun != nil || !slices.ContainsFunc(x.Doubts, func(d model.Doubt) bool { return d.Code == "too_many_levels" }) {
		t.Errorf("68,000 pairs: %v, want a doubt", x.Doubts)
	}
}

// TestOrder: what one question finds does not depend on which were asked before.
func TestOrder(t *testing.T) {
	rng, tab := rand.New(rand.NewPCG(9, 9)), simulated.NewTable("machine2", "cpu")
	for i := range 600 {
		n := rng.IntN(12)
		tab.Add(100+50*float64(n%2)+float64(n)+rng.NormFloat64()+20*float64(i/400), fmt.Sprint("m", n), []string{"a", "b"}[n%2])
	}
	all := rowsOf(tab.Frame())
	d := all.Dependence()
	effects := all.Effects()
	course := all.Course(effects)
	bands := all.Bands(d, course)
	if len(course.Changes) == 0 || bands.By == nil {
		t.Fatalf("course %+v, bands %+v; want a change, and bands that a fact explains", course, bands)
	}
	if got := rowsOf(tab.Frame()).Course(effects); !reflect.DeepEqual(got.Changes, course.Changes) {
		t.Errorf("without dependence: %+v, want %+v", got.Changes, course.Changes)
	}
	if got := rowsOf(tab.Frame()).Bands(d, course); !reflect.DeepEqual(got, bands) {
		t.Errorf("without effects: %+v, want %+v", got, bands)
	}
}
