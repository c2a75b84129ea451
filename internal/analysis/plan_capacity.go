package analysis

import (
	"fmt"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// CapacitiesOf turns findings into the capacities of a plan, in nodes where the
// findings count pairs. scalings give intervals of totals over trials, and say
// whether a loss was a limit. data is the run of the findings, empty for those
// of a file: it tells which nodes measured a subject, and how many cores a
// capacity of the cpu stands for. Findings without a parallel total are passed
// over.
func CapacitiesOf(findings []model.Finding, scalings []model.Scaling, data model.RunData) []Capacity {
	var out []Capacity
	for _, f := range findings {
		if f.Parallel.Total != nil {
			out = append(out, withCores(capacityOfFinding(f, scalings, data), f, data)...)
		}
	}
	return out
}

// capacityOfFinding reads one finding. An interval of the index above 0 makes
// its total a limit; a finding with doubts proves none.
func capacityOfFinding(f model.Finding, scalings []model.Scaling, data model.RunData) Capacity {
	unitName, factor := planUnit(f.Unit)
	c := Capacity{
		Resource: f.Resource, Workload: f.Workload, Metric: f.Metric, Unit: unitName,
		Total: factor * *f.Parallel.Total, CDI: f.CDI, CDICI: f.CI,
		Limited: f.Verdict == model.VerdictDegraded,
		Source:  fmt.Sprintf("%s/%s, %s", f.Workload, f.Metric, plural(f.Nodes, string(f.Of))),
	}
	c.measuredBy(f, endsOf(f, data))
	if c.Doubt, c.Warnings = doubtOf(f); c.Doubt != "" {
		c.Open = "whether there is a limit could not be judged (" + c.Doubt + ")"
		c.Advice = "give the limit with --capacity if you know it"
	}
	if ci := totalInterval(f, scalings); ci != nil {
		c.CI = &model.Interval{factor * ci[0], factor * ci[1]}
	}
	c.checkGrowth(f, scalings)
	return c
}

// measuredBy counts nodes in place of subjects: those that measured together,
// and what one of them had alone.
func (c *Capacity) measuredBy(f model.Finding, e ends) {
	c.Of, c.PerSubject, c.Nodes = f.Of, e.perSubject(), len(e.nodes())
	if len(e) == 0 { // only means were given
		c.Nodes = f.Nodes
	}
	if c.PerSubject > 1 {
		c.Source += fmt.Sprintf(" of %d measuring nodes", c.PerSubject)
	}
	if f.Serial.Mean != nil {
		_, factor := planUnit(f.Unit)
		factor /= float64(c.PerSubject)
		alone := factor * *f.Serial.Mean
		c.Alone = &alone
		serial, _ := columns(f.Pairs)
		if half, err := stats.MeanHalfWidth(serial, level); err == nil {
			c.AloneCI = &model.Interval{alone - factor*half, alone + factor*half}
		}
	}
}

// totalInterval is the interval of a finding's total over trials: that of the
// limit, where one was inferred, else that of the largest size. Of numbers from
// a file it is the one over nodes: n times that of their mean. A capacity is not
// negative.
func totalInterval(f model.Finding, scalings []model.Scaling) *model.Interval {
	s, known := scalingOf(f, scalings)
	if !known {
		return overNodes(f)
	}
	if s.Limit != nil && s.Limit.CI != nil && s.Limit.CI.Contains(*f.Parallel.Total) {
		return s.Limit.CI
	}
	for _, p := range s.Points {
		if p.Nodes == f.Nodes && p.CI != nil {
			return &model.Interval{max(0, p.CI[0]), p.CI[1]}
		}
	}
	return nil
}

// overNodes is Student's interval of the total of as many nodes as a finding
// has; nil where they are fewer than two or not known.
func overNodes(f model.Finding) *model.Interval {
	_, parallel := columns(f.Pairs)
	half, err := stats.MeanHalfWidth(parallel, level)
	if err != nil {
		return nil
	}
	half *= float64(len(parallel))
	return &model.Interval{max(0, *f.Parallel.Total-half), *f.Parallel.Total + half}
}
