package capacity

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// metricFound names what a search found among the metrics of a run.
const metricFound = "capacity"

// found is what the searches of a run came to, a row each: the capacity with its
// interval, or the largest load that passed, if the target takes at least that. Windows
// are those of the search that was asked for: with other bounds there were others.
func found(run *observe.Run, asked study.Study) ([]frame.Frame, error) {
	s, ok := asked.(*Study)
	if !ok {
		s = newStudy()
	}
	searches, err := s.searchesOf(run)
	if err != nil {
		return nil, err
	}
	steps := run.Frames()
	var parts []frame.Frame
	for _, s := range searches {
		i := slices.IndexFunc(steps, func(f frame.Frame) bool {
			return f.Workload == s.Workload && f.Phase == model.Search && !f.Info
		})
		if i < 0 {
			continue // it has measured nothing
		}
		if row, ok := s.row(&steps[i]); ok {
			parts = append(parts, row)
		}
	}
	return frame.Join(parts...)
}

// isBound reports whether the target takes at least the load passed, as far as is
// known: not where that may have been luck, or from a reserve.
func (a Answer) isBound() bool { return a.Passed != nil && a.open == nil && a.HeldFor == 0 }

// row is what a search found, with what is known of its first step; ok is false where
// it found nothing.
func (s Search) row(steps *frame.Frame) (out frame.Frame, ok bool) {
	a := s.Answer
	trial, first := strconv.Itoa(s.Trial), true
	of := steps.Fact(frame.FactTrial)
	kept := steps.Where(func(row int) bool {
		keep := first && (of == nil || of.Level(row) == trial)
		first = first && !keep
		return keep
	})
	if kept.Len() == 0 || a.Estimate == nil && !a.isBound() {
		return frame.Frame{}, false
	}
	kept.Metric, kept.Unit, kept.Better = metricFound, "op/s", model.Higher
	// The rows are about the target, not about the nodes that generate load.
	kept.Facts = slices.DeleteFunc(kept.Facts, func(x frame.Fact) bool { return x.Name == frame.FactSubject })
	censored := frame.NewFact(frame.FactCensored)
	if a.Estimate != nil {
		kept.Values = []float64{*a.Estimate}
		censored.Append("no")
		if a.CI != nil {
			kept.Ends = [][2]float64{*a.CI}
		}
	} else {
		kept.Values = []float64{*a.Passed}
		censored.Append(frame.Censored)
		kept.Doubts = append(slices.Clip(kept.Doubts), model.Doubt{Code: frame.FactCensored, Severity: model.Problem,
			Workload: s.Workload, Text: fmt.Sprintf("a search found no capacity, only that the target takes at least "+
				"%s: that is no value to compare; search again with room above it", num.Human(*a.Passed, "op/s"))})
	}
	kept.Facts = append(kept.Facts, censored.Fact())
	return *kept, true
}
