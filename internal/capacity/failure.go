package capacity

import (
	"fmt"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// failure is why a window is invalid, "" if it is not. A task that could not
// even prepare says most: there a generator finds that the target does not
// answer, and no other task was begun.
func failure(s model.Step, results []model.Result) string {
	if s.State != model.StepInvalid {
		return ""
	}
	for _, r := range results {
		if r.Step != s.ID || r.Attempt != s.Attempt || r.Outcome != model.OutcomeFailed {
			continue
		}
		if why, ok := strings.CutPrefix(r.Error, "preparing: "); ok {
			// Of which kind the error is matters to programs alone.
			return strings.TrimPrefix(strings.TrimPrefix(why, model.ErrUnavailable.Error()+": "), model.ErrUsage.Error()+": ")
		}
	}
	return s.Reason
}

// fail takes into account that the window after those that there are could not
// be measured, and why.
func (r *Result) fail(why string) {
	if why == "" {
		why = "a generator failed, or none was left"
	}
	if len(r.Windows) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("window %d could not be measured, and the search ended there: %s", len(r.Windows)+1, why))
		return
	}
	// That nothing is known goes without saying, and only the reason matters.
	r.Failure, r.Warnings = why, []string{"nothing was measured: " + why}
}
