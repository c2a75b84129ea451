package report

import (
	"fmt"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/num"
)

// noun is what a finding counts: "node" or "pair".
func noun(of model.Subjects) string {
	if of == model.OfPairs {
		return string(model.OfPairs)
	}
	return string(model.OfNodes)
}

// subjects counts what a finding compares: "4 nodes", "2 pairs".
func subjects(f model.Finding) string { return count(f.Nodes, noun(f.Of)) }

// nounOfAll is the plural that heads a column of several findings' n.
func nounOfAll(findings []model.Finding) string {
	words := make(map[string]bool)
	for _, f := range findings {
		words[noun(f.Of)] = true
	}
	switch {
	case len(words) > 1:
		return "nodes or pairs"
	case words[string(model.OfPairs)]:
		return "pairs"
	}
	return "nodes"
}

// shownInterval is an interval of a CDI as it is shown: nobody can lose more
// than everything, so that its ends are at most 100 %. Files and programs get
// the interval as it was computed. Nil when there is none to show.
func shownInterval(i *model.Interval) *model.Interval {
	if !bounded(i) {
		return nil
	}
	return &model.Interval{min(i[0], 100), min(i[1], 100)}
}

// intervalText prints the interval of a CDI, "" where there is none.
func intervalText(i *model.Interval) string {
	shown := shownInterval(i)
	if shown == nil {
		return ""
	}
	return num.PercentInterval(shown[0], shown[1])
}

// wideNone is the loss, in percent, from which on "none" is no answer that a
// reader may rest on: an interval that reaches this far says that the
// measurement was not sharp enough to see such a loss.
const wideNone = 5

// notExcluded is the loss that a verdict "none" leaves possible; ok is false
// when that is too little to speak of, or the verdict is another.
func notExcluded(f model.Finding) (loss float64, ok bool) {
	shown := shownInterval(f.CI)
	if verdictOf(f) != model.VerdictNone || shown == nil || shown[1] <= wideNone {
		return 0, false
	}
	return shown[1], true
}

// notExcludedWords says it: "a loss of up to 38.2 % is not excluded".
func notExcludedWords(f model.Finding) string {
	loss, ok := notExcluded(f)
	if !ok {
		return ""
	}
	return fmt.Sprintf("a loss of up to %s is not excluded", num.Percent(loss))
}
