package evaluation

import (
	"slices"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// course is what happened within the trials, by batches of time.
type course struct {
	parallel []batches                  // of each trial: the sum over its subjects
	serial   map[model.NodeID][]batches // of each task
	// rivalry is the variance of the total over the sum of the subjects'
	// variances in parallel trials: 1 where they are independent of each other,
	// near 0 where what one gains another loses, more than 1 where all gain and
	// lose together.
	rivalry float64
}

// batches is the work in successive batches of equal length.
type batches []float64

// courseOf reads the course of every step; nil where a counter is missing, or
// too short for batches.
func courseOf(steps []stepReadings) *course {
	out := &course{serial: make(map[model.NodeID][]batches)}
	var total, parts, squares float64
	if _, err := curveUnit(steps); err != nil {
		return nil // of other units on some nodes, or missing there
	}
	for _, s := range steps {
		s.readings = s.usable()
		if len(s.readings) == 0 {
			continue
		}
		rows := s.course()
		if rows == nil {
			return nil
		}
		all := sum(rows)
		if s.step.Phase != model.Parallel {
			subject := s.readings[0].subject
			out.serial[subject] = append(out.serial[subject], all)
			continue
		}
		out.parallel = append(out.parallel, all)
		total += variance(all)
		for _, row := range rows {
			parts += variance(row)
			squares += stats.Average(row) * stats.Average(row)
		}
	}
	out.rivalry = 1
	if parts > rounding*squares {
		out.rivalry = total / parts
	}
	return out
}

// rounding is a variance, relative to the square of the mean, that arithmetic
// alone can show.
const rounding = 1e-18

// course returns the work of each reading in batches of the step's common
// window; nil where that is not known.
func (s stepReadings) course() [][]float64 {
	if slices.ContainsFunc(s.readings, func(r reading) bool { return r.curve == nil }) {
		return nil
	}
	_, active := timesOf(s.readings, true)
	return s.batches(active.Common())
}

// relative is what each series of batches tells of its mean, in units of that;
// nil where one does not. The series are of one phase of one workload, so they
// have one autocorrelation.
func relative(series []batches) []stats.Estimate {
	r := stats.Autocorrelation(series...)
	out := make([]stats.Estimate, len(series))
	for i, xs := range series {
		e, err := stats.BatchMeans(xs, r)
		if err != nil || !(e.Mean > 0) {
			return nil
		}
		out[i] = stats.Estimate{Mean: 1, Var: e.Var / (e.Mean * e.Mean), Degrees: e.Degrees}
	}
	return out
}

// sum adds rows of one length.
func sum(rows [][]float64) batches {
	out := make(batches, len(rows[0]))
	for _, row := range rows {
		for j, x := range row {
			out[j] += x
		}
	}
	return out
}

// variance is the sample variance; 0 of fewer than two values.
func variance(xs []float64) float64 {
	sd, err := stats.SampleSD(xs)
	if err != nil {
		return 0
	}
	return sd * sd
}

// Levels of the preliminary tests that let a coarser replicate speak alone. They
// lie far from 5 %, because pooling what differs makes an interval too narrow.
// Tasks know what differs from task to task, courses do not: so trials need less
// evidence against courses. By simulation (TestThisFleetHoldsTruth).
const (
	ownLevel          = 0.25
	trialsLevelTasks  = 0.25
	trialsLevelCourse = 0.5
)

// Subjects whose rivalry lies between these are taken as independent of each
// other: what each does in one trial and not in another tells how well their sum
// is known.
const (
	rivals   = 0.5
	partners = 1.5
)

// independent reports whether subjects are that, as far as is known.
func (c *comparison) independent() bool {
	return c.course == nil || c.course.rivalry >= rivals && c.course.rivalry <= partners
}

// surelyRival reports whether what one subject gains another loses, and that is
// more than the chance of some batches, of which many are needed: by an F test at
// 1 %.
func (c *comparison) surelyRival() bool {
	if c.course == nil || c.course.rivalry >= rivals {
		return false
	}
	total, parts := 0.0, 0.0 // degrees of freedom
	for _, xs := range c.course.parallel {
		if len(xs) < manyForOne {
			return false
		}
		total += float64(len(xs) - 1)
		parts += float64((len(xs) - 1) * len(c.subjects))
	}
	least, err := stats.FQuantile(0.01, total, parts)
	return err == nil && c.course.rivalry < least
}

// rivalTrials reports whether trials agree so much better than their subjects do
// that what one subject gains another must lose: by an F test at 1 %. Without
// progress counters nothing else tells rivals.
func rivalTrials(between, own stats.Estimate) bool {
	least, err := stats.FQuantile(0.01, between.Degrees, own.Degrees)
	return err == nil && between.Var < least*own.Var
}

// manyForOne is how many batches the course of a single trial needs to say
// something of rivalry, and of the mean.
const manyForOne = 15

// trials counts those of the parallel phase.
func (c *comparison) trials() int {
	numbers := make(map[int]bool)
	for _, rep := range c.parallel {
		numbers[rep.trial] = true
	}
	return len(numbers)
}

// thisFleet is the interval of the index that answers for the subjects which
// were measured: would they show it again? What else could have come out is told
// by the trials, and by the course within them. The scatter between subjects
// answers another question: would others of their kind? Behind a shared limit it
// overstates the error of the mean, because the sum of the capacities is fixed.
// Of one trial there is such an interval for rivals only. Of others it is not
// known what differs from task to task, but the scatter between subjects has it.
func (c *comparison) thisFleet(pairs []NodePair) (ci *Interval, degrees float64) {
	serial, parallel := c.byTrial(pairs)
	var e stats.Estimate
	switch {
	case len(serial) < c.trials():
		return nil, 0 // it would be of other trials than the index
	case len(serial) >= 2:
		e = c.overTrials(pairs, serial, parallel)
	case len(serial) == 1 && len(pairs) >= 2 && c.surelyRival():
		e = c.oneTrial(pairs)
	}
	if e.Mean > 0 && !(e.Var > rounding*e.Mean*e.Mean) {
		if c.fromFile && len(pairs) > 1 {
			return nil, 0 // a mean of each node that was copied into all trials looks like that
		}
		return c.resolved(degradation(e.Mean)), 0
	}
	iv, err := e.Interval(level)
	if err != nil {
		return nil, 0
	}
	raw := Interval{degradation(iv.Hi), degradation(iv.Lo)}
	out, _ := c.resolution.floor(raw, degradation(e.Mean))
	if out == raw {
		degrees = e.Degrees
	}
	return &out, degrees
}

// byTrial returns the capacities of the pairs in both phases, by trial and
// subject, of the trials in which all of them were measured.
func (c *comparison) byTrial(pairs []NodePair) (serial, parallel [][]float64) {
	for _, rep := range c.parallel {
		i := slices.IndexFunc(c.serial, func(r replicate) bool { return r.trial == rep.trial })
		if i < 0 {
			continue
		}
		s, okS := c.row(c.serial[i], pairs)
		p, okP := c.row(rep, pairs)
		if okS && okP {
			serial, parallel = append(serial, s), append(parallel, p)
		}
	}
	return serial, parallel
}

// row is what a repetition says of the pairs, if it does of all.
func (c *comparison) row(r replicate, pairs []NodePair) ([]float64, bool) {
	out := make([]float64, len(pairs))
	for k, p := range pairs {
		i, _ := slices.BinarySearch(c.subjects, p.Node)
		v, ok := r.at(int32(i))
		if !ok {
			return nil, false
		}
		out[k] = v
	}
	return out, true
}

// overTrials is the efficiency with its variance, from three kinds of
// replicates: the course within tasks; what each subject does in one trial and
// not in another, as far as subjects are independent of each other; and the
// residuals p − R·s of the trials' means. The last has everything in it, but few
// degrees of freedom; the finer ones lend it theirs where they do not differ
// from it.
func (c *comparison) overTrials(pairs []NodePair, serial, parallel [][]float64) stats.Estimate {
	trials, n := float64(len(serial)), float64(len(serial[0]))
	s, p := rowMeans(serial), rowMeans(parallel)
	ratio, err := stats.RatioOfMeans(p, s)
	if err != nil {
		return stats.Estimate{}
	}
	residuals := make([]float64, len(s))
	for t := range s {
		residuals[t] = p[t] - ratio*s[t]
	}
	square := stats.Average(s) * stats.Average(s)
	out, poolLevel := c.withinTrials(pairs), trialsLevelCourse
	out.Mean = ratio
	between := stats.Estimate{Mean: ratio, Var: variance(residuals) / trials / square, Degrees: trials - 1}
	own := stats.Estimate{
		Mean: ratio, Var: (interaction(parallel) + ratio*ratio*interaction(serial)) / (n * trials) / square,
		Degrees: (n - 1) * (trials - 1),
	}
	if n > 1 && c.independent() && !rivalTrials(between, own) {
		out, _ = stats.Pool(out, own, ownLevel)
		poolLevel = trialsLevelTasks
	}
	if _, differ := stats.Pool(out, between, trialsLevel); differ && out.Degrees > 0 {
		c.warnTrialsDiffer(pairs)
	}
	out, _ = stats.Pool(out, between, poolLevel)
	return out
}

// oneTrial is the efficiency of rivals: the total has the variance of its
// course. What differs from task to task in the serial phase is in the scatter
// of its capacities, together with what differs from subject to subject.
func (c *comparison) oneTrial(pairs []NodePair) stats.Estimate {
	total := relative(c.course.parallel)
	if len(total) != 1 {
		return stats.Estimate{}
	}
	serial, parallel := Columns(pairs)
	s := stats.Estimate{Mean: stats.Average(serial), Var: variance(serial) / float64(len(pairs)), Degrees: float64(len(pairs) - 1)}
	p := stats.Average(parallel)
	e, err := stats.Ratio(stats.Estimate{Mean: p, Var: total[0].Var * p * p, Degrees: total[0].Degrees}, s)
	if err != nil {
		return stats.Estimate{}
	}
	return e
}

// rowMeans is the mean of each row.
func rowMeans(rows [][]float64) []float64 {
	out := make([]float64, len(rows))
	for t, row := range rows {
		out[t] = stats.Average(row)
	}
	return out
}

// interaction is the mean square of rows and columns: what is left of the values
// without the means of their row and of their column, as a variance; 0 of one
// column or row.
func interaction(rows [][]float64) float64 {
	trials, n := len(rows), len(rows[0])
	if trials < 2 || n < 2 {
		return 0
	}
	byRow := rowMeans(rows)
	all, squares := stats.Average(byRow), 0.0
	for i := range n {
		column := 0.0
		for _, row := range rows {
			column += row[i] / float64(trials)
		}
		for t, row := range rows {
			d := row[i] - byRow[t] - column + all
			squares += d * d
		}
	}
	return squares / float64((trials-1)*(n-1))
}

// withinTrials is the efficiency with the variance that the courses show; zero
// where they are not known.
func (c *comparison) withinTrials(pairs []NodePair) stats.Estimate {
	if c.course == nil || len(c.course.parallel) == 0 {
		return stats.Estimate{}
	}
	var alone []batches
	var weights []float64 // the share of each in the mean of the serial phase
	serial, parallel := Columns(pairs)
	for _, p := range pairs {
		of := c.course.serial[p.Node]
		for _, xs := range of {
			alone, weights = append(alone, xs), append(weights, p.Serial/stats.Average(serial)/float64(len(of)*len(pairs)))
		}
	}
	trials := len(c.course.parallel)
	shares := slices.Repeat([]float64{stats.Average(parallel) / stats.Average(serial) / float64(trials)}, trials)
	together, solo := relative(c.course.parallel), relative(alone)
	if together == nil || solo == nil {
		return stats.Estimate{}
	}
	e, err := stats.Ratio(stats.Sum(together, shares), stats.Sum(solo, weights))
	if err != nil {
		return stats.Estimate{}
	}
	return e
}
