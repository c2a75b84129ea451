package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// unitCore is the unit of processor time per second: of cores in use.
const unitCore = "core"

// CapacitiesOf turns findings into the capacities of a plan. scalings give
// intervals of totals over trials; nodes, where given, let a demand for
// processor time be held against a capacity of the cpu that was measured in
// something else. Findings without a parallel total are passed over.
func CapacitiesOf(findings []model.Finding, scalings []model.Scaling, nodes []model.Node) []Capacity {
	var out []Capacity
	for _, f := range findings {
		if f.Parallel.Total == nil {
			continue
		}
		c := capacityOfFinding(f, scalings)
		out = append(out, c)
		if cores := meanCores(f, nodes); category(c.Resource) == model.ResourceCPU && cores > 0 && c.Alone != nil && c.Unit != unitCore {
			out = append(out, c.inCores(cores))
		}
	}
	return out
}

// capacityOfFinding reads one finding. An interval of the index above 0 makes
// its total a limit; a finding with doubts proves none.
func capacityOfFinding(f model.Finding, scalings []model.Scaling) Capacity {
	unitName, factor := normalUnit(f.Unit)
	c := Capacity{
		Resource: f.Resource, Workload: f.Workload, Metric: f.Metric, Unit: unitName,
		Total: factor * *f.Parallel.Total, Nodes: f.Nodes, CDI: f.CDI, CDICI: f.CI,
		Limited: f.Verdict == model.VerdictDegraded,
		Source:  fmt.Sprintf("%s/%s, %s", f.Workload, f.Metric, plural(f.Nodes, string(f.Of))),
	}
	if f.Serial.Mean != nil {
		alone := factor * *f.Serial.Mean
		c.Alone = &alone
	}
	if f.Verdict == model.VerdictUnknown {
		c.Doubt = "unknown"
		if len(f.Warnings) > 0 {
			c.Doubt = strings.TrimPrefix(f.Warnings[0], "verdict unknown: ")
		}
	}
	if ci := totalInterval(f, scalings); ci != nil {
		c.CI = &model.Interval{factor * ci[0], factor * ci[1]}
	}
	return c
}

// totalInterval is the interval of a finding's total over trials: that of the
// limit, where one was inferred, else that of the largest size. A capacity is
// not negative.
func totalInterval(f model.Finding, scalings []model.Scaling) *model.Interval {
	i := slices.IndexFunc(scalings, func(s model.Scaling) bool {
		return s.Workload == f.Workload && s.Metric == f.Metric && s.Unit == f.Unit
	})
	if i < 0 {
		return nil
	}
	s := scalings[i]
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

// inCores expresses a capacity of the cpu in cores: a node alone has all of
// its cores, however its workload counts, and the fleet C_n/C_s times as much.
func (c Capacity) inCores(cores float64) Capacity {
	factor := cores / *c.Alone
	c.Total, c.Unit, c.Alone = factor*c.Total, unitCore, &cores
	if c.CI != nil {
		c.CI = &model.Interval{factor * c.CI[0], factor * c.CI[1]}
	}
	c.Source += fmt.Sprintf(", in cores of %.4g a node", cores)
	return c
}

// meanCores is how many cores the nodes of a finding may use, on average; 0
// when some do not say.
func meanCores(f model.Finding, nodes []model.Node) float64 {
	var cores []float64
	for _, p := range f.Pairs {
		i := slices.IndexFunc(nodes, func(n model.Node) bool { return n.ID == p.Node })
		if i < 0 || nodes[i].Facts.Cores == 0 {
			return 0
		}
		own := float64(nodes[i].Facts.Cores)
		if limit := nodes[i].Facts.CPULimit; limit > 0 {
			own = min(own, limit)
		}
		cores = append(cores, own)
	}
	mean, err := stats.Mean(cores)
	if err != nil {
		return 0 // no nodes
	}
	return mean
}
