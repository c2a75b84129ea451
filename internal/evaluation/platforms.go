package evaluation

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// Platform is what was measured on one of several platforms.
type Platform struct {
	Name     string
	Run      *observe.Run // nil: the findings are of a table
	Findings []Finding
}

// Platforms compares what several platforms lose of the same metrics (ScaleBench, Fig. 8
// and Table 2). Its JSON form is a contract.
type Platforms struct {
	Names []string `json:"platforms"`
	// Findings are those of all platforms, metric by metric.
	Findings []Finding `json:"findings"`
	// Differences are those from the first platform.
	Differences []Difference `json:"differences"`
	caveat.Notes
	of []Platform
}

// Difference is how much more of a metric one platform loses than the first.
type Difference struct {
	Workload string `json:"workload"`
	Metric   string `json:"metric"`
	Platform string `json:"platform"`
	Base     string `json:"base"` // the first platform
	// Points is the CDI of the platform less that of the base; null: one of them has none.
	Points *float64 `json:"points"`
	// CI is its interval at 95 %, by itself and not of all differences together. It is of
	// these nodes, as that of [Finding.CI]. Possible is wider by what disturbances can
	// explain.
	CI       *Interval    `json:"ci"`
	Possible *Interval    `json:"ci_possible"`
	Verdict  DifferenceIs `json:"verdict"`
	Doubts   caveat.List  `json:"doubts"`
	// Warnings are the texts of Doubts.
	Warnings []caveat.Text `json:"warnings"`
}

// DifferenceIs says in a word how a platform compares with the first.
type DifferenceIs string

// The words. More: the whole interval is above 0. Less: it is below. Equivalent: it is
// neither, and reaches no further than the tolerance. Unclear: it contains 0 and reaches
// further. UnknownDifference: the measurements do not allow an answer.
const (
	More              DifferenceIs = "loses_more"
	Less              DifferenceIs = "loses_less"
	Equivalent        DifferenceIs = "equivalent"
	UnclearDifference DifferenceIs = "unclear"
	UnknownDifference DifferenceIs = "unknown"
)

// Compare compares platforms with the first. There are two at least. Two of one name are
// a model.ErrUsage.
func Compare(platforms []Platform, opt Options) (*Platforms, error) {
	p := &Platforms{Findings: []Finding{}, Differences: []Difference{}, of: platforms}
	var metrics []Finding // one of each
	for _, x := range platforms {
		if slices.Contains(p.Names, x.Name) {
			return nil, &model.InputError{Problem: fmt.Sprintf("two runs are called %q", x.Name),
				Allowed: "give each a name of its own: a=RUN b=RUN"}
		}
		p.Names = append(p.Names, x.Name)
		for _, f := range x.Findings {
			if !slices.ContainsFunc(metrics, f.SameMetric) {
				metrics = append(metrics, f)
			}
		}
	}
	for _, m := range metrics {
		base := platforms[0].find(m)
		for i, x := range platforms {
			f := x.find(m)
			if f == nil {
				continue
			}
			f.Platform = x.Name
			p.Findings = append(p.Findings, *f)
			if i > 0 && base != nil {
				d := Difference{Workload: f.Workload, Metric: f.Metric, Platform: x.Name, Base: platforms[0].Name}
				d.subtract(f, base, opt.orElse(0).Tolerance)
				d.noteParameters(x.parameters(m.Workload), platforms[0].parameters(m.Workload))
				p.Differences = append(p.Differences, d)
			}
		}
	}
	return p, nil
}

// ByPlatform takes the findings of several platforms apart.
func ByPlatform(findings []Finding) []Platform {
	var out []Platform
	for _, f := range findings {
		i := slices.IndexFunc(out, func(x Platform) bool { return x.Name == f.Platform })
		if i < 0 {
			i, out = len(out), append(out, Platform{Name: f.Platform})
		}
		out[i].Findings = append(out[i].Findings, f)
	}
	return out
}

// SameMetric reports whether two findings are of one metric.
func (f Finding) SameMetric(g Finding) bool {
	return f.Workload == g.Workload && f.Metric == g.Metric && f.Unit == g.Unit && f.Resource == g.Resource
}

func (x Platform) find(m Finding) *Finding {
	if i := slices.IndexFunc(x.Findings, m.SameMetric); i >= 0 {
		return &x.Findings[i]
	}
	return nil
}

// subtract computes the difference of two findings.
func (d *Difference) subtract(f, base *Finding, tolerance float64) {
	d.Verdict = UnknownDifference
	if f.CDI == nil || base.CDI == nil {
		d.noteUnknown(f, base)
		return
	}
	points := *f.CDI - *base.CDI
	d.Points = &points
	if f.Nodes != base.Nodes || f.Of != base.Of {
		d.Doubts.Add(otherSize.Problem(sizesApart{caveat.Verbatim(d.Platform), f.Nodes, f.Of, caveat.Verbatim(d.Base),
			base.Nodes, base.Of}))
	}
	if f.CI != nil && base.CI != nil {
		ci := f.within(f.CI, f.Degrees).Minus(base.within(base.CI, base.Degrees), level)
		d.CI = &Interval{ci.Lo, ci.Hi}
		// What disturbances can explain has no distribution.
		ci = f.within(cmp.Or(f.Possible, f.CI), 0).Minus(base.within(cmp.Or(base.Possible, base.CI), 0), level)
		d.Possible = &Interval{min(d.CI[0], ci.Lo), max(d.CI[1], ci.Hi)}
	}
	d.noteUnknown(f, base)
	if d.Doubts.Problem() {
		return
	}
	word := d.CI.word(tolerance)
	if d.Possible.word(tolerance) != word && word != UnclearDifference {
		d.Doubts.Add(disturbedApart.Problem(struct{}{}))
		return
	}
	d.Verdict = word
}

// noteUnknown names the platforms without a verdict. If only disturbances of a known size took
// it, the difference has a wider interval and may still be plain.
func (d *Difference) noteUnknown(f, base *Finding) {
	for _, x := range []*Finding{base, f} {
		if !x.Answered() && !x.bounded() {
			name := d.Platform
			if x == base {
				name = d.Base
			}
			d.Doubts.Add(platformUnknown.Problem(unansweredOn{caveat.Verbatim(name)}))
		}
	}
}

// bounded reports whether all that speaks against a finding is within its Possible.
func (f *Finding) bounded() bool {
	return f.CDI != nil && f.CI != nil && f.Possible != nil && !slices.ContainsFunc(f.Doubts, func(c caveat.Caveat) bool {
		return c.Severity == model.Problem && c.Explains == nil
	})
}

// within is the index with one of its intervals.
func (f *Finding) within(ci *Interval, degrees float64) stats.Measured {
	return stats.Measured{Value: *f.CDI, CI: stats.Interval{Lo: ci[0], Hi: ci[1]}, Degrees: degrees}
}

// word reads the interval of a difference.
func (i *Interval) word(tolerance float64) DifferenceIs {
	switch {
	case i[0] > 0:
		return More
	case i[1] < 0:
		return Less
	case -tolerance <= i[0] && i[1] <= tolerance:
		return Equivalent
	}
	return UnclearDifference
}

// parameters are those with which a workload was measured; nil: not known.
func (x Platform) parameters(workload string) map[string]any {
	if x.Run == nil {
		return nil
	}
	for _, s := range x.Run.Steps() {
		if s.Workload == workload && s.Phase == model.Parallel && len(s.Tasks) > 0 {
			return s.Tasks[0].Spec.Params
		}
	}
	return nil
}

// noteParameters names parameters that differ: places, such as a path or a region, must;
// what is measured should not.
func (d *Difference) noteParameters(a, b map[string]any) {
	var names []caveat.Verbatim
	for name, value := range a {
		if !reflect.DeepEqual(value, b[name]) {
			names = append(names, caveat.Verbatim(name))
		}
	}
	for name := range b {
		if _, both := a[name]; !both {
			names = append(names, caveat.Verbatim(name))
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		d.Doubts.Add(otherParameters.Warn(parametersApart{names}))
	}
}

// Places are those of everything. Disturbances of the runs are added to the whole: a
// finding has those that concern it.
func (p *Platforms) Places() []caveat.Place {
	parts := Places(p.Findings)
	for i := range p.Differences {
		d := &p.Differences[i]
		parts = append(parts, caveat.Place{About: caveat.Subject{Workload: d.Workload}, Caveats: &d.Doubts,
			Warnings: &d.Warnings})
	}
	for i := range parts {
		parts[i].Own = true
	}
	return append(parts, p.Notes.Places()...)
}
