package scaleout

import (
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// Metrics of the workload jobs.
const (
	metricJobs   = observe.MetricJobs
	metricGet    = observe.MetricGetBytes
	metricPut    = observe.MetricPutBytes
	metricTime   = observe.MetricJobTime
	metricCPU    = "jobs_cpu"     // of commands
	metricOwnCPU = "jobs_cpu_own" // of what gets, puts and asks the queue
	metricTries  = "jobs_tries"
	metricDone   = "jobs_done"
)

// scored is the rate of a step, all nodes together.
type scored struct {
	total float64
	lasts float64 // how long all nodes were at work, in s; 0: there are no counters
	// batches are totals in equal parts of the time; nil: there are no counters.
	batches []float64
	// apart: there is no time in which all of several nodes are known to have been at work, and
	// total is the sum of what each did by itself.
	apart bool
}

// score is the rate at which a step did what a metric counts, in the time in which all
// nodes were at work where they have counters. perBatch is how much a batch holds at
// least; 0: any amount. skip is how long after the start counts for nothing, in s. False:
// a node has no value.
func score(run *observe.Run, s model.Step, metric string, perBatch, skip float64) (out scored, ok bool) {
	var counters []observe.Readings
	for _, x := range run.Measured(s) {
		i := slices.IndexFunc(x.Samples, func(v model.Sample) bool { return v.Key() == metric && !v.Info })
		if i < 0 || x.Outcome != model.OutcomeOK {
			return out, false
		}
		out.total, ok = out.total+x.Samples[i].Value, true
		counters = append(counters, counterOf(x, metric))
	}
	out.apart = len(counters) > 1
	if !ok || slices.ContainsFunc(counters, func(c observe.Readings) bool { return len(c.Times) < 2 }) {
		return out, ok
	}
	from, to := math.Inf(-1), math.Inf(1)
	for _, c := range counters {
		from, to = max(from, c.Times[0]), min(to, c.Times[len(c.Times)-1])
	}
	if to <= from {
		return out, ok
	}
	lasts := to - from
	from += min(skip, mostSkipped*lasts)
	done := func(from, to float64) (sum float64) {
		for _, c := range counters {
			sum += c.Between(from, to)
		}
		return sum
	}
	total := done(from, to)
	if total <= 0 {
		return out, ok
	}
	out.total, out.lasts, out.apart = total/(to-from), lasts, false
	parts := mostBatches
	if perBatch > 0 {
		parts = int(min(mostBatches, total/perBatch))
	}
	for i := range parts {
		a, b := from+(to-from)*float64(i)/float64(parts), from+(to-from)*float64(i+1)/float64(parts)
		out.batches = append(out.batches, done(a, b)/(b-a))
	}
	return out, ok
}

const (
	mostBatches  = 20
	jobsPerBatch = 3      // so that the length of jobs does not show
	mostSkipped  = 1. / 3 // of the time
)

// scoreJobs is the rate at which a step did jobs. All slots take their first job at one
// moment and wait for each other then, so the time of two jobs is skipped.
func scoreJobs(run *observe.Run, s model.Step, metric string) (scored, bool) {
	skip := 2 * mean(run, s, metricTime)
	if math.IsNaN(skip) {
		skip = 0
	}
	return score(run, s, metric, jobsPerBatch, skip)
}

// counterOf is how much a node had done, by Unix s; none: it has no such counter.
func counterOf(x model.Result, metric string) (c observe.Readings) {
	for _, s := range x.Series {
		if s.Metric == metric && len(s.Offsets) == len(s.Values) {
			c = observe.Counter(s, float64(x.Started.UnixNano())/float64(time.Second))
		}
	}
	return c
}

// estimate is the mean rate of steps with its interval.
func estimate(steps []scored) Range {
	e := estimated(steps)
	if ci, err := e.Interval(stats.DefaultLevel); err == nil && e.Degrees > 0 {
		return rangeOf(e.Mean, &ci)
	}
	return rangeOf(e.Mean, nil)
}

// estimated is the mean rate of steps with what is known of it: from batches within steps,
// and from how far steps differ.
func estimated(steps []scored) stats.Estimate {
	var totals, weights []float64
	var courses [][]float64
	for _, s := range steps {
		totals, weights = append(totals, s.total), append(weights, 1/float64(len(steps)))
		courses = append(courses, s.batches)
	}
	out := stats.Estimate{Mean: stats.Average(totals)}
	if sd, err := stats.SampleSD(totals); err == nil {
		out.Var, out.Degrees = sd*sd/float64(len(totals)), float64(len(totals)-1)
	}
	var parts []stats.Estimate
	r := stats.Autocorrelation(courses...)
	for _, c := range courses {
		if e, err := stats.BatchMeans(c, r); err == nil {
			parts = append(parts, e)
		}
	}
	if len(parts) < len(steps) {
		return out
	}
	within := stats.Sum(parts, weights)
	within.Mean = out.Mean
	pooled, _ := stats.Pool(within, out, poolLevel)
	return pooled
}

// poolLevel is at which level steps count as unlike each other, as Bancroft advises.
const poolLevel = .25
