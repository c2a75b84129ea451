package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/table"
)

// infoKey is one metric beside the capacity.
type infoKey struct{ metric, unit string }

// infoValues are all its values, one a task and trial, in each phase.
type infoValues struct{ serial, parallel []float64 }

// infoOf collects what a workload's samples say beside its capacity, in order
// of first appearance.
func (b builder) infoOf(workload string) (keys []infoKey, values map[infoKey]*infoValues) {
	values = make(map[infoKey]*infoValues)
	b.eachScored(workload, func(s model.Step, r model.Result) {
		for _, sample := range r.Samples {
			if !sample.Info || !num.Finite(sample.Value) || sample.Metric == model.MetricOtherCPU {
				continue // what others did to the machine is among the monitor's notes
			}
			k := infoKey{sample.Metric, sample.Unit}
			if values[k] == nil {
				values[k] = &infoValues{}
				keys = append(keys, k)
			}
			if s.Phase == model.Serial {
				values[k].serial = append(values[k].serial, sample.Value)
			} else {
				values[k].parallel = append(values[k].parallel, sample.Value)
			}
		}
	})
	return keys, values
}

// eachScored calls f for the results of a workload that its findings come
// from: the serial steps, and the parallel ones with all subjects at work.
func (b builder) eachScored(workload string, f func(model.Step, model.Result)) {
	for _, s := range b.data.Steps {
		if s.Workload != workload || !b.fleet.scored(s) {
			continue
		}
		for _, r := range b.accepted[s.ID] {
			if r.Outcome == model.OutcomeOK {
				f(s, r)
			}
		}
	}
}

// infoTable shows what was measured beside the capacity: the mean over tasks
// and trials, with the least and the greatest. It is no index: a latency has
// no capacity. Nil when there is nothing.
func (b builder) infoTable(workload string) *table.Table {
	keys, values := b.infoOf(workload)
	if len(keys) == 0 {
		return nil
	}
	t := &table.Table{Columns: []table.Column{
		{Key: "metric", Head: "metric"},
		{Key: "serial", Head: "serial, mean of tasks\n[min .. max]", Align: table.Right},
		{Key: "parallel", Head: "parallel, mean of tasks\n[min .. max]", Align: table.Right},
	}}
	for _, k := range keys {
		v := values[k]
		s := fineScale(k.unit, append(slices.Clone(v.serial), v.parallel...)...)
		t.Add(table.Text(k.metric), infoCell(k.metric, s, v.serial), infoCell(k.metric, s, v.parallel))
	}
	return t
}

// percentileName recognises a metric that is a percentile of its task: the
// mean of percentiles is the percentile of nothing.
var percentileName = regexp.MustCompile(`(?i)(^|[_. -])(p\d{1,2}(\.?\d+)?|median|percentile)($|[_. -])`)

func infoCell(metric string, s num.Scale, values []float64) table.Cell {
	if len(values) == 0 {
		return table.Of(nil, num.Missing)
	}
	lo, hi, unit := slices.Min(values), slices.Max(values), strings.TrimSuffix(" "+s.Unit, " ")
	number := func(v float64) string { return s.Number(v, 0) }
	if whole(values) && s.Factor == 1 {
		number = func(v float64) string { return num.Tick(v, 1) }
	}
	span := "[" + number(lo) + " .. " + number(hi) + "]"
	mean := meanOf(values)
	switch {
	case lo == hi:
		return table.Of(lo, number(lo)+unit)
	case percentileName.MatchString(metric):
		return table.Of(nil, span+unit)
	case whole(values) && s.Factor == 1:
		return table.Of(mean, num.Tick(mean, 0.1)+unit, span)
	}
	return table.Of(mean, s.Number(mean, 0)+unit, span)
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
		return num.For(table.Clean(unit), values...)
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
func (b builder) histogramTable(workload string) (t *table.Table, notes []string) {
	merged, keys := b.mergedHistograms(workload)
	if len(keys) == 0 {
		return nil, nil
	}
	t = &table.Table{Columns: []table.Column{
		{Key: "metric", Head: "metric"}, {Key: "phase", Head: "phase"},
		{Key: "operations", Head: "values", Align: table.Right},
		{Key: "p50", Head: "p50", Align: table.Right}, {Key: "p90", Head: "p90", Align: table.Right},
		{Key: "p99", Head: "p99", Align: table.Right}, {Key: "max", Head: "max", Align: table.Right},
	}}
	for _, k := range keys {
		m := merged[k]
		if m.broken > 0 {
			notes = append(notes, fmt.Sprintf("%s, %s: %s could not be read and are not part of the percentiles.",
				table.Clean(k.metric), k.phase, count(m.broken, "histogram")))
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

func histogramRow(k histogramKey, h *hdr.Histogram) []table.Cell {
	s := fineScale(k.unit, float64(h.Max()))
	cell := func(v int64) table.Cell {
		return table.Of(float64(v), fineScale(k.unit, float64(v)).Value(float64(v), 0))
	}
	if s.Unit == k.unit { // no prefix to choose for each value
		cell = func(v int64) table.Cell { return table.Of(float64(v), s.Value(float64(v), 0)) }
	}
	return []table.Cell{
		table.Text(k.metric), table.Text(string(k.phase)), table.Of(h.TotalCount(), grouped(h.TotalCount())),
		cell(h.ValueAtPercentile(50)), cell(h.ValueAtPercentile(90)), cell(h.ValueAtPercentile(99)), cell(h.Max()),
	}
}

// grouped prints a count with its thousands apart.
func grouped(n int64) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
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
func (b builder) mergedHistograms(workload string) (merged map[histogramKey]*mergedHistogram, keys []histogramKey) {
	merged = make(map[histogramKey]*mergedHistogram)
	rank := make(map[string]int)
	b.eachScored(workload, func(s model.Step, r model.Result) {
		for _, x := range r.Histograms {
			k := histogramKey{x.Metric, x.Unit, s.Phase}
			if _, seen := rank[x.Metric]; !seen {
				rank[x.Metric] = len(rank)
			}
			if merged[k] == nil {
				merged[k] = &mergedHistogram{}
				keys = append(keys, k)
			}
			merged[k].add(x)
		}
	})
	slices.SortStableFunc(keys, func(x, y histogramKey) int {
		if x.metric != y.metric {
			return rank[x.metric] - rank[y.metric]
		}
		return strings.Compare(string(y.phase), string(x.phase)) // serial first
	})
	return merged, keys
}

// add merges one histogram.
func (m *mergedHistogram) add(x model.Histogram) {
	h, err := histogram.Decode(x.Encoded)
	if err != nil {
		m.broken++
		return
	}
	sum, err := histogram.Merge(m.h, h)
	if err != nil {
		m.broken++
		return
	}
	m.h = sum
}
