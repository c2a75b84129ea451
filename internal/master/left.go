package master

import (
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// left is how long the run will still take when a step begins; nil where that
// is not known. What the run may have to wait for is no part of it.
func (x *execution) left(step model.Step) *model.Left {
	out := &model.Left{Step: x.forecast.Step(step)}
	var fixed []model.Step // known beforehand, and not over
	for _, s := range x.steps[min(step.Number, len(x.steps)):] {
		if s.State != model.StepComplete && (x.sequence == nil || !x.sequence.Made(s)) {
			fixed = append(fixed, s)
		}
	}
	if len(fixed) > 0 {
		if out.Time = x.forecast.Left(fixed, time.Since(x.run.Started)); out.Time == 0 {
			return nil
		}
	}
	if x.sequence != nil && !x.sequence.Over() {
		steps, all, known := x.sequence.AtMost()
		if !known {
			return nil
		}
		out.Time += all + time.Duration(steps)*x.forecast.Beyond(step)
		out.AtMost = true
	}
	if out.Time == 0 {
		return nil
	}
	return out
}
