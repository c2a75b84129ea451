package simulated

import (
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
)

// Plan measures what a plan asks for, in so many steps at most, until the study is over, and
// returns what that was. before is the run without a step, and step is what a treatment
// comes to.
func Plan(t *testing.T, plan *study.Plan, most int, before model.RunData,
	step func(study.Treatment) model.RunData) (said []study.Treatment) {
	t.Helper()
	for seen := before; ; {
		more, err := plan.Next(study.Seen{Run: observe.Of(seen)})
		if err != nil {
			t.Fatal(err)
		}
		if len(more.Treatments) == 0 {
			if more.Left.Steps != 0 || more.Left.Time != 0 {
				t.Errorf("at the end %+v are left", *more.Left)
			}
			return said
		}
		if len(said) > most {
			t.Fatal("the study does not end")
		}
		said = append(said, more.Treatments...)
		seen = step(more.Treatments[0])
	}
}
