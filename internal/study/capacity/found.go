package capacity

import (
	"fmt"
	"maps"
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
	var doubts frame.Tally // of targets with labels
	labelled, lost := 0, targetsIn(run)
	for _, s := range searches {
		i := slices.IndexFunc(steps, func(f frame.Frame) bool {
			return f.Workload == s.Workload && f.Phase == model.Search && !f.Info
		})
		if i < 0 {
			continue // it has measured nothing
		}
		row, ok := s.row(&steps[i])
		if !ok {
			continue
		}
		if s.Labels != nil {
			for i := range row.Doubts {
				row.Doubts[i].Workload = ""
			}
			doubts.Add(s.Workload, row.Doubts)
			labelled, row.Doubts = labelled+1, nil
			delete(lost, searchID{s.Workload, s.Trial})
		}
		parts = append(parts, row)
	}
	out, err := frame.Join(parts...)
	for i := range out {
		if out[i].Workload == "" {
			out[i].Doubts = append(out[i].Doubts, doubts.Doubts(labelled, "search")...)
			if len(lost) > 0 {
				out[i].Doubts = append(out[i].Doubts, lostTargets(lost, labelled))
			}
		}
	}
	return out, err
}

// searchID is a search of a run.
type searchID struct {
	workload string
	trial    int
}

// targetsIn are the searches of targets with labels that a run has begun.
func targetsIn(run *observe.Run) map[searchID]bool {
	out := make(map[searchID]bool)
	for _, s := range run.Steps() {
		if s.Phase == model.Search && len(s.Tasks) > 0 && s.Tasks[0].Spec.Params["labels"] != nil {
			out[searchID{s.Workload, s.Trial}] = true
		}
	}
	return out
}

// lostTargets says that searches found neither a capacity nor a lower bound. Among many
// targets nobody would miss those that take the least.
func lostTargets(lost map[searchID]bool, found int) model.Doubt {
	var names []string
	for s := range lost {
		names = append(names, s.workload)
	}
	slices.Sort(names)
	return model.Doubt{Code: "targets_lost", Severity: model.Warning, Text: fmt.Sprintf(
		"%d of %d searches found neither a capacity nor a lower bound (%s), and are in no share or mean: see scalebench "+
			"capacity RUN", len(lost), found+len(lost), num.List(slices.Compact(names)))}
}

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
	// Without an estimate the target takes at least the load passed, but where that may
	// have been luck, or from a reserve.
	isBound := a.Passed != nil && a.open == nil && a.HeldFor == 0
	if kept.Len() == 0 || a.Estimate == nil && !isBound {
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
	if s.Labels != nil {
		s.labelled(kept)
	}
	return *kept, true
}

// labelled makes the row one of all targets with labels: the target is the node, with its
// labels as facts.
func (s Search) labelled(row *frame.Frame) {
	row.Workload = ""
	own := frame.FactsOfRuns()
	row.Facts = slices.DeleteFunc(row.Facts, func(x frame.Fact) bool { return !slices.Contains(own, x.Name) })
	add := func(name, level string) {
		x := frame.NewFact(name)
		x.Append(level)
		row.Facts = append(row.Facts, x.Fact())
	}
	add(frame.FactSubject, s.Workload)
	for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
		add(name, s.Labels[name])
	}
}
