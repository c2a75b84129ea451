package master

import (
	"fmt"

	"github.com/scalebench/scalebench/internal/model"
)

// budget is how often a step may still be tried again.
type budget struct {
	failed, lost int
}

// next decides what follows an attempt that did not end well: again, or not,
// and why. A lost node is told apart from a failed task, for only the latter
// says something about the workload.
func (b *budget) next(t tally) (why string, again bool) {
	lost := t.outcomes[model.OutcomeLost] > 0
	failed := t.outcomes[model.OutcomeFailed]+t.outcomes[model.OutcomeTimeout]+t.outcomes[model.OutcomeRefused] > 0
	why = t.firstBad
	if why == "" {
		why = fmt.Sprintf("%d of %d tasks did not succeed", t.bad(), t.total)
	}
	switch {
	case failed:
		b.failed--
		return why, b.failed >= 0
	case lost:
		b.lost--
		return why, b.lost >= 0
	}
	return why, false
}
