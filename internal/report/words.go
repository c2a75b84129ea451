package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/table"
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

// nounOfAll is the plural that heads a column of several findings' n. Where
// some are of nodes and some of pairs, the cells say which.
func nounOfAll(findings []model.Finding) string {
	switch {
	case len(findings) == 0:
		return "nodes"
	case ofBoth(findings):
		return "at once"
	}
	return noun(findings[0].Of) + "s"
}

// ofBoth reports whether some findings are of nodes and some of pairs.
func ofBoth(findings []model.Finding) bool {
	return slices.ContainsFunc(findings, func(f model.Finding) bool { return noun(f.Of) != noun(findings[0].Of) })
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

// finite is the value for programs, nil where there is none.
func finite(v float64) any {
	if !num.Finite(v) {
		return nil
	}
	return v
}

// writeWrapped writes a text with a mark before its first line.
func writeWrapped(b *strings.Builder, mark, text string, width int) {
	for i, line := range table.Wrap(text, width-len(mark)) {
		if i > 0 {
			mark = strings.Repeat(" ", len(mark))
		}
		b.WriteString(mark + line + "\n")
	}
}
