package record

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// workloadSections say of each workload what was measured beside the capacity,
// and what happened on the nodes meanwhile.
func workloadSections(run *observe.Run) []doc.Section {
	var names []string
	for _, s := range run.Steps() {
		if !slices.Contains(names, s.Workload) && s.Phase != model.Batch {
			names = append(names, s.Workload)
		}
	}
	var out []doc.Section
	for _, name := range names {
		s := doc.Section{Kind: "Workload", Title: name}
		for _, part := range []*doc.Section{besidePart(run, name), hostPart(run, name)} {
			if part != nil {
				s.Blocks = append(s.Blocks, doc.Block{Part: part})
			}
		}
		if len(s.Blocks) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// besidePart is what a workload reported of its trials beside how much it did;
// nil where there is nothing.
func besidePart(run *observe.Run, workload string) *doc.Section {
	if run.Need(observe.Histograms) != nil { // run.Err tells
		return nil
	}
	s := &doc.Section{Title: "Beside the capacity", Intro: "What the workload reported besides its capacity. These values have no CDI."}
	if t := infoTable(run, workload); t != nil {
		s.Blocks = append(s.Blocks, doc.Block{Table: t},
			doc.Remark("Over tasks and trials. Percentiles of single tasks are shown from the least to the greatest: their mean would not be a percentile."))
	}
	t, notes := histogramTable(run, workload)
	if t != nil {
		s.Blocks = append(s.Blocks, doc.Block{Table: t},
			doc.Remark("Percentiles of all tasks’ and trials’ values together, from the merged histograms."))
	}
	for _, n := range notes {
		s.Blocks = append(s.Blocks, doc.Remark(n))
	}
	if len(s.Blocks) == 0 {
		return nil
	}
	return s
}

// infoKey is one metric beside the capacity; name has its labels, such as the kind
// of an error.
type infoKey struct{ metric, name, unit string }

// infoOf collects what a workload's samples say beside its capacity, in order
// of first appearance: all values, one a task and trial, in each phase.
func infoOf(run *observe.Run, workload string) (keys []infoKey, values map[infoKey]map[model.Phase][]float64) {
	values = make(map[infoKey]map[model.Phase][]float64)
	eachScored(run, workload, func(s model.Step, r model.Result) {
		for _, sample := range r.Samples {
			if !sample.Info || !num.Finite(sample.Value) || sample.Metric == model.MetricOtherCPU {
				continue // what others did to the machine is among the monitor's notes
			}
			k := infoKey{sample.Metric, sample.Key(), sample.Unit}
			if values[k] == nil {
				values[k] = make(map[model.Phase][]float64)
				keys = append(keys, k)
			}
			values[k][s.Phase] = append(values[k][s.Phase], sample.Value)
		}
	})
	return keys, values
}

// eachScored calls f for the results of a workload that its findings come
// from: the serial steps, and the parallel ones with all subjects at work.
func eachScored(run *observe.Run, workload string, f func(model.Step, model.Result)) {
	most := observe.Fleet(run.Steps())[workload]
	for _, s := range run.Steps() {
		scored := s.Phase == model.Serial || s.Phase == model.Parallel && len(observe.Subjects(s)) == most
		if s.Workload != workload || !scored {
			continue
		}
		for _, r := range run.Accepted(s.ID) {
			if r.Outcome == model.OutcomeOK {
				f(s, r)
			}
		}
	}
}

// infoTable shows what was measured beside the capacity: the mean over tasks
// and trials, with the least and the greatest. It has no index, because a
// latency has no capacity. Nil if nothing was measured.
func infoTable(run *observe.Run, workload string) *doc.Table {
	keys, values := infoOf(run, workload)
	if len(keys) == 0 {
		return nil
	}
	t := &doc.Table{Columns: []doc.Column{
		column("metric", "metric"),
		number("serial", "serial, mean of tasks\n[min .. max]"),
		number("parallel", "parallel, mean of tasks\n[min .. max]"),
	}}
	for _, k := range keys {
		serial, parallel := values[k][model.Serial], values[k][model.Parallel]
		s := fineScale(k.unit, slices.Concat(serial, parallel)...)
		t.Add(say(k.name), infoCell(k.metric, s, serial), infoCell(k.metric, s, parallel))
	}
	return t
}

// percentileName recognises a metric that is a percentile of its task: the
// mean of percentiles is the percentile of nothing.
var percentileName = regexp.MustCompile(`(?i)(^|[_. -])(p\d{1,2}(\.?\d+)?|median|percentile)($|[_. -])`)

func infoCell(metric string, s num.Scale, values []float64) doc.Cell {
	if len(values) == 0 {
		return people(num.Missing)
	}
	lo, hi, unit := slices.Min(values), slices.Max(values), strings.TrimSuffix(" "+s.Unit, " ")
	number := func(v float64) string { return s.Number(v, 0) }
	if whole(values) && s.Factor == 1 {
		number = func(v float64) string { return num.Tick(v, 1) }
	}
	span := "[" + number(lo) + " .. " + number(hi) + "]"
	mean := stats.Average(values)
	switch {
	case lo == hi:
		return doc.Of(lo, number(lo)+unit)
	case percentileName.MatchString(metric):
		return people(span + unit)
	case whole(values) && s.Factor == 1:
		return doc.Of(mean, num.Tick(mean, 0.1)+unit, span)
	}
	return doc.Of(mean, s.Number(mean, 0)+unit, span)
}

// whole reports whether all values are whole numbers: counts.
func whole(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v != math.Trunc(v) })
}

// fineScale is num.For for units that workloads use for small times: they are
// seconds with a prefix, and are printed with the prefix that suits them.
func fineScale(unit string, values ...float64) num.Scale {
	if unit == "1" {
		unit = "" // a count, or a ratio
	}
	factor, ok := map[string]float64{"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "ns": 1e-9}[unit]
	if !ok {
		return num.For(unit, values...)
	}
	seconds := make([]float64, len(values))
	for i, v := range values {
		seconds[i] = v * factor
	}
	s := num.For("s", seconds...)
	return num.Scale{Factor: s.Factor / factor, Unit: s.Unit}
}

// histogramTable shows percentiles of all operations together: the tasks'
// histograms are merged, count by count, before anything is read from them.
func histogramTable(run *observe.Run, workload string) (t *doc.Table, notes []string) {
	merged, keys := mergedHistograms(run, workload)
	if len(keys) == 0 {
		return nil, nil
	}
	t = &doc.Table{Columns: []doc.Column{
		column("metric", "metric"), column("phase", "phase"),
		number("operations", "values"),
		number("p50", "p50"), number("p90", "p90"),
		number("p99", "p99"), number("max", "max"),
	}}
	for _, k := range keys {
		m := merged[k]
		if m.broken > 0 {
			notes = append(notes, fmt.Sprintf("%s, %s: %s could not be read and are not part of the percentiles.",
				k.metric, k.phase, num.Count(m.broken, "histogram")))
		}
		if m.h == nil || m.h.TotalCount() == 0 {
			continue
		}
		t.Add(histogramRow(k, m.h)...)
	}
	if len(t.Rows) == 0 {
		return nil, notes
	}
	return t, notes
}

func histogramRow(k histogramKey, h *hdr.Histogram) []doc.Cell {
	common := fineScale(k.unit, float64(h.Max()))
	out := []doc.Cell{say(k.metric), say(k.phase), doc.Of(h.TotalCount(), num.Grouped(h.TotalCount()))}
	for _, v := range []int64{h.ValueAtPercentile(50), h.ValueAtPercentile(90), h.ValueAtPercentile(99), h.Max()} {
		s, value := common, float64(v)
		if s.Unit != k.unit { // there is a prefix to choose for each value
			s = fineScale(k.unit, value)
		}
		out = append(out, doc.Of(value, s.Value(value, 0)))
	}
	return out
}

// histogramKey is what may be merged: the same quantity in the same phase.
type histogramKey struct {
	metric, unit string
	phase        model.Phase
}

// mergedHistogram is the sum of histograms; broken counts those that could not
// be read, or did not fit.
type mergedHistogram struct {
	h      *hdr.Histogram
	broken int
}

// mergedHistograms merges by metric and phase. The keys are in order of first
// appearance of the metric, serial before parallel.
func mergedHistograms(run *observe.Run, workload string) (merged map[histogramKey]*mergedHistogram, keys []histogramKey) {
	merged = make(map[histogramKey]*mergedHistogram)
	eachScored(run, workload, func(s model.Step, r model.Result) {
		for _, x := range r.Histograms {
			k := histogramKey{x.Metric, x.Unit, s.Phase}
			if merged[k] == nil {
				for _, phase := range []model.Phase{model.Serial, model.Parallel} {
					keys = append(keys, histogramKey{x.Metric, x.Unit, phase})
					merged[keys[len(keys)-1]] = &mergedHistogram{}
				}
			}
			merged[k].add(x)
		}
	})
	return merged, keys
}

// add merges one histogram.
func (m *mergedHistogram) add(x model.Histogram) {
	h, err := histogram.Add(m.h, x.Encoded)
	if err != nil {
		m.broken++
		return
	}
	m.h = h
}
