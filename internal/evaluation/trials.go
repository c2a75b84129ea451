package evaluation

import (
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// incompleteTrials are the trials of a finding that are not complete in both
// phases, of a run or of a table.
type incompleteTrials struct {
	numbers []int    // ascending
	texts   []string // each with what it lacks
}

// add judges the next trial by what it lacks; one that lacks nothing is complete.
func (t *incompleteTrials) add(number int, lacks []string) {
	if len(lacks) > 0 {
		t.numbers, t.texts = append(t.numbers, number), append(t.texts, trialText(number, lacks))
	}
}

// has reports whether a trial is among them.
func (t *incompleteTrials) has(number int) bool {
	_, ok := slices.BinarySearch(t.numbers, number)
	return ok
}

// trialText is "trial 2 (serial on n01 invalid)".
func trialText(number int, lacks []string) string {
	return fmt.Sprintf("trial %d (%s)", number, num.List(lacks))
}

// leave notes the incomplete ones among so many trials and reports whether they
// are left out. They are not if no trial is complete: then everything counts,
// with a doubt.
func (t *incompleteTrials) leave(all int, n *notes) bool {
	switch len(t.numbers) {
	case 0:
		return false
	case all:
		n.doubt("incomplete_trials", "no trial is complete in both phases: %s; the numbers cover only what there is", num.List(t.texts))
		return false
	}
	n.warn("incomplete_trials", "left out, because not complete in both phases: %s", num.List(t.texts))
	return true
}

// sameFleet doubts a parallel trial of other subjects than the one before it,
// and reports whether they are the same: CDI(n) is of one fleet.
func (n *notes) sameFleet(of Subjects, before, now []model.NodeID) bool {
	if slices.Equal(before, now) {
		return true
	}
	n.doubt("different_nodes", "the parallel trials ran on different %ss (%s and %s)", of, num.List(before), num.List(now))
	return false
}
