package capacity

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

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
	counts, lost := make(map[string]int), searchesBegun(run)
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
			row.Doubts = nil
		}
		counts[row.Workload]++
		delete(lost, searchID{s.Workload, s.Trial})
		parts = append(parts, row)
	}
	out, err := frame.Join(append(parts, lostFrames(lost, counts, searches)...)...)
	for i := range out {
		if out[i].Workload == "" {
			out[i].Doubts = append(out[i].Doubts, doubts.Doubts(counts[""], "search")...)
		}
	}
	return out, err
}

// searchID is a search of a run.
type searchID struct {
	workload string
	trial    int
}

// searchesBegun are those of a run, each with the workload of its frame: none of targets
// with labels. That which a run is at is not among them.
func searchesBegun(run *observe.Run) map[searchID]string {
	out := make(map[searchID]string)
	var latest searchID
	for _, s := range run.Steps() {
		if s.Phase != model.Search || len(s.Tasks) == 0 {
			continue
		}
		latest = searchID{s.Workload, s.Trial}
		out[latest] = s.Workload
		if s.Tasks[0].Spec.Params["labels"] != nil {
			out[latest] = ""
		}
	}
	if !run.Run().State.Final() {
		delete(out, latest)
	}
	return out
}

// lostFrames have no rows, and say which searches found neither a capacity nor a lower
// bound: nobody would miss those of the targets that take the least. counts are those that
// found one, by the workload of their frame.
func lostFrames(lost map[searchID]string, counts map[string]int, all []Search) []frame.Frame {
	names := make(map[string][]string)
	largest := make(map[string]int) // of these, how many at the largest load allowed
	for s, workload := range lost {
		names[workload] = append(names[workload], s.workload)
		if slices.ContainsFunc(all, func(x Search) bool {
			return x.Workload == s.workload && x.Trial == s.trial && x.Answer.Passed != nil && x.Answer.HeldFor > 0
		}) {
			largest[workload]++
		}
	}
	var out []frame.Frame
	for _, workload := range slices.Sorted(maps.Keys(names)) {
		n := len(names[workload])
		slices.Sort(names[workload])
		text := fmt.Sprintf("%d of %d searches found neither a capacity nor a lower bound (%s), and are in no share or "+
			"mean: see scalebench capacity RUN", n, counts[workload]+n, num.List(slices.Compact(names[workload])))
		if k := largest[workload]; k > 0 {
			text += fmt.Sprintf("; %d of them held a load only briefly", k)
		}
		out = append(out, frame.Frame{Key: frame.Key{Workload: workload, Metric: metricFound, Phase: model.Search},
			Unit: "op/s", Better: model.Higher, Facts: []frame.Fact{frame.NewFact(frame.FactRun).Fact()},
			Doubts: []model.Doubt{{Code: "targets_lost", Severity: model.Warning, Workload: workload, Text: text}}})
	}
	return out
}

// row is what a search found, with what is known of its first step; ok is false where
// it found nothing.
func (s Search) row(steps *frame.Frame) (out frame.Frame, ok bool) {
	a := s.Answer
	trial := strconv.Itoa(s.Trial)
	of := steps.Fact(frame.FactTrial)
	windows := steps.Where(func(row int) bool { return of == nil || of.Level(row) == trial })
	// Without an estimate the target takes at least the load passed, but where that may
	// have been luck, or from a reserve.
	isBound := a.Passed != nil && a.open == nil && a.HeldFor == 0
	if windows.Len() == 0 || a.Estimate == nil && !isBound {
		return frame.Frame{}, false
	}
	kept := windows.Where(func(row int) bool { return row == 0 })
	kept.Metric, kept.Unit, kept.Better = metricFound, "op/s", model.Higher
	// The rows are about the target, not about the nodes that generate load.
	kept.Facts = slices.DeleteFunc(kept.Facts, func(x frame.Fact) bool {
		return x.Name == frame.FactSubject || x.Name == frame.FactDisturbed
	})
	disturbed, censored := frame.NewFact(frame.FactDisturbed), frame.NewFact(frame.FactCensored)
	disturbed.Append(disturbedIn(windows))
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
	kept.Facts = append(kept.Facts, disturbed.Fact(), censored.Fact())
	if s.Labels != nil {
		s.labelled(kept)
	}
	return *kept, true
}

// disturbedIn is the level of [frame.FactDisturbed] of all windows together.
func disturbedIn(windows *frame.Frame) string {
	var kinds []string
	if x := windows.Fact(frame.FactDisturbed); x != nil {
		for row := range windows.Len() {
			kinds = append(kinds, strings.Split(x.Level(row), ", ")...)
		}
	}
	slices.Sort(kinds)
	kinds = slices.DeleteFunc(slices.Compact(kinds), func(kind string) bool { return kind == "" || kind == "no" })
	return cmp.Or(strings.Join(kinds, ", "), "no")
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
