package sizing

import (
	"fmt"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// measureRate takes the rate of a node from a run, with what its finding warns of.
func (q *question) measureRate(findings []evaluation.Finding, run *observe.Run, workload string) (err error) {
	if q.nodeRate, q.nodeRateCI, err = nodeRateOf(findings, run, workload); err != nil {
		return err
	}
	q.doubtRate(findings, run, workload, func(d model.Doubt) bool { return d.Code != "no_parallel" }) // nor are parallel values used
	return nil
}

// doubtRate passes on some of what the finding of the rate warns of, if there is
// one.
func (q *question) doubtRate(findings []evaluation.Finding, run *observe.Run, workload string, wanted func(model.Doubt) bool) {
	f, err := rateFinding(findings, workload)
	if err != nil {
		return
	}
	for _, d := range doubtsOf(f) {
		if wanted(d) {
			q.doubts = append(q.doubts, doubt{fmt.Sprintf("run %s: %s", run.Run().ID, f.Name()), d})
		}
	}
}

// scaled are demands at the rate that was given for a node: in proportion to that
// at which they were measured. Those of a run that counts other jobs, or has no
// rate, stay as they are.
func (q *question) scaled(measured []demand, findings []evaluation.Finding, run *observe.Run, workload string) []demand {
	alone, _, err := nodeRateOf(findings, run, workload)
	if err != nil {
		q.doubts = append(q.doubts, doubt{fmt.Sprintf("run %s", run.Run().ID), model.Doubt{
			Code: "rate_unknown", Text: "it has no rate of jobs, so that it is not known whether its nodes took this at the rate of --node-rate",
		}})
		return measured
	}
	ratio, others := q.countsOthers(alone)
	if others {
		return measured
	}
	if ratio > 1+slack || ratio < 1/(1+slack) {
		q.doubts = append(q.doubts, doubt{fmt.Sprintf("run %s", run.Run().ID), model.Doubt{
			Code: "demand_scaled", Text: fmt.Sprintf("one node alone did %s, not the %s of --node-rate: what it took is taken as proportional", perSecond(alone), perSecond(q.nodeRate)),
		}})
	}
	for i := range measured {
		d := &measured[i]
		d.amount *= ratio
		if d.ci != nil {
			d.ci = &evaluation.Interval{ratio * d.ci[0], ratio * d.ci[1]}
		}
	}
	return measured
}

// nodeRateOf is the rate at which one node does its jobs alone: the mean serial
// capacity of a workload's only metric per second, with Student's interval over
// what was measured as one. A pair's rate is divided by the nodes that measure
// it; run has their number. The error is model.ErrUsage without a rate, with more
// than one, or with one in bytes, which are not jobs.
func nodeRateOf(findings []evaluation.Finding, run *observe.Run, workload string) (rate float64, ci *evaluation.Interval, err error) {
	f, err := rateFinding(findings, workload)
	if err != nil {
		return 0, nil, err
	}
	normal, factor := evaluation.NormalUnit(f.Unit) // 3 kop/s are 3000 jobs per second
	if normal == evaluation.ByteRate {
		return 0, nil, fmt.Errorf("%w: %s/%s is a rate of bytes (%s), not of jobs; give --node-rate", model.ErrUsage, f.Workload, f.Metric, f.Unit)
	}
	factor /= float64(endsOf(f, run).perSubject())
	rate = factor * *f.Serial.Mean
	serial, _ := evaluation.Columns(f.Pairs)
	if half, err := stats.MeanHalfWidth(serial, level); err == nil {
		ci = &evaluation.Interval{max(0, rate-factor*half), rate + factor*half}
	}
	return rate, ci, nil
}

// rateFinding is the only finding of a workload that counts something a second.
// The reciprocal of how long a task took is one, too, but what a task counted
// itself comes before it.
func rateFinding(findings []evaluation.Finding, workload string) (evaluation.Finding, error) {
	var counted, durations []evaluation.Finding
	for _, f := range findings {
		switch {
		case workload != "" && f.Workload != workload || f.Serial.Mean == nil || !strings.HasSuffix(f.Unit, "/s"):
		case f.Reciprocal:
			durations = append(durations, f)
		default:
			counted = append(counted, f)
		}
	}
	if len(counted) == 0 {
		counted = durations
	}
	switch len(counted) {
	case 0:
		return evaluation.Finding{}, fmt.Errorf("%w: the run has no serial rate in jobs per second; give --node-rate", model.ErrUsage)
	case 1:
		return counted[0], nil
	}
	var names []string
	for _, f := range counted {
		names = append(names, f.Workload+"/"+f.Metric)
	}
	return evaluation.Finding{}, fmt.Errorf("%w: the run has several rates (%s); give --node-rate", model.ErrUsage, num.List(names))
}

// together is what several nodes did at once in a run.
type together struct {
	run      model.RunID
	workload string
	points   []Measured // ascending, without a band yet
}

// measureTogether reads what several nodes did at once, where the run's rate
// has parallel steps, in jobs per second and in nodes. A run without one rate of
// jobs has none to compare with.
func (q *question) measureTogether(findings []evaluation.Finding, run *observe.Run, workload string) error {
	alone, _, err := nodeRateOf(findings, run, workload)
	if err != nil {
		return nil //nolint:nilerr // where the rate is needed, that is said there
	}
	f, err := rateFinding(findings, workload)
	if err != nil {
		return err
	}
	// Of a scaling the points are wanted, which need no bootstrap.
	scalings, err := evaluation.Scalings(run, evaluation.Options{Resamples: 100})
	if err != nil {
		return err
	}
	s, _ := scalingOf(f, scalings)
	each := endsOf(f, run).perSubject()
	_, factor := evaluation.NormalUnit(f.Unit)
	factor *= q.inJobs(alone, run, f)
	q.together = together{run: run.Run().ID, workload: f.Workload}
	for _, p := range s.Points {
		if p.Nodes == 1 {
			continue // the serial phase
		}
		m := Measured{Nodes: p.Nodes * each, Rate: factor * p.Total}
		if p.CI != nil {
			m.CI = &evaluation.Interval{factor * p.CI[0], factor * p.CI[1]}
		}
		q.together.points = append(q.together.points, m)
	}
	return nil
}

// otherJobs is how many times the rate of one node may be what the run counted:
// beyond that a given rate is not wrong but one of other jobs, such as videos
// where the run counts frames.
const otherJobs = 10

// countsOthers reports whether the run counts other jobs than the node rate, by
// how many of either one node alone did.
func (q *question) countsOthers(alone float64) (ratio float64, others bool) {
	ratio = q.nodeRate / alone
	return ratio, ratio > otherJobs || ratio < 1./otherJobs
}

// inJobs is how many jobs one of those is that the run counted. Where they are
// others, a node alone did as many as it is said to do, and that is warned of.
func (q *question) inJobs(alone float64, run *observe.Run, f evaluation.Finding) float64 {
	ratio, others := q.countsOthers(alone)
	if !others {
		return 1
	}
	q.doubts = append(q.doubts, doubt{fmt.Sprintf("run %s: %s", run.Run().ID, f.Name()), model.Doubt{
		Code: "other_jobs", Workload: f.Workload,
		Text: fmt.Sprintf("one node alone did %s, which cannot be the jobs of --node-rate; what several did is compared by what one did", perSecond(alone)),
	}})
	return ratio
}
