package evaluation

import (
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// What can have been lost to a disturbance is known from the machine: what others
// took of processors that were short. Whether the metric lost it is another
// question, which the metric answers itself where the disturbance was not the same
// all the time: it is regressed on what can have been lost, within each task, or
// within each subject over its tasks.

// slice is a part of a task's time.
type slice struct {
	subject model.NodeID
	step    int // number
	block   int // of the step's time
	rate    float64
	lost    float64 // share of the capacity that can have been lost in it
	seconds float64
	ticks   float64 // variance of lost, from the ticks of counters
}

const (
	// leastSlice is how long a slice is at least, in seconds, and in spacings of
	// the counter: between two points nothing is known.
	leastSlice    = 0.7
	sliceSpacings = 2
	// ticksNoise is the variance of what can have been lost, from the ticks in which
	// processor time is counted alone, times seconds and cores.
	ticksNoise = 0.0008
	// leastReliable is the share of the variance of what can have been lost that
	// must be more than ticks; mostOfOne is how much of it one cluster may have.
	leastReliable = 0.5
	mostOfOne     = 0.8
	// fewClusters are those that a regression needs; enoughClusters is how many
	// blocks of time the steps are cut into where there are fewer steps.
	fewClusters    = 4
	enoughClusters = 10
)

// followed is the share, 0 to 1, of what can have been lost to a disturbance in a
// phase that the metric lost at most, at 97.5 %. It is 1 where the data do not
// tell.
func followed(steps []stepReadings, phase model.Phase, d observe.Disturbance, shared bool) float64 {
	parts := slicesOf(steps, phase, d, shared)
	type task struct {
		subject model.NodeID
		step    int
	}
	withinTasks := regress(parts, func(s slice) task { return task{s.subject, s.step} }, func(s slice) [2]int { return [2]int{s.step, s.block} })
	overTasks := regress(parts, func(s slice) model.NodeID { return s.subject }, func(s slice) int { return s.step })
	if overTasks.se < withinTasks.se {
		return overTasks.most()
	}
	return withinTasks.most()
}

// slicesOf cuts the tasks of a phase into slices.
func slicesOf(steps []stepReadings, phase model.Phase, d observe.Disturbance, shared bool) []slice {
	steps = slices.DeleteFunc(slices.Clone(steps), func(s stepReadings) bool { return s.step.Phase != phase })
	var out []slice
	for _, s := range steps {
		readings := slices.DeleteFunc(slices.Clone(s.usable()), func(r reading) bool { return r.curve == nil })
		for i, r := range readings {
			together := readings // on the machine
			if !shared {
				together = readings[i : i+1]
			}
			course, known := d.Courses[worstTask(s.step, r.subject, d)]
			if known {
				out = append(out, r.slices(s.step.Number, course, together, enoughClusters/len(steps)+1)...)
			}
		}
	}
	return out
}

// worstTask is the task of a subject that lost most to a disturbance: what one end
// of a pair loses, the pair does.
func worstTask(step model.Step, subject model.NodeID, d observe.Disturbance) model.TaskID {
	var worst model.TaskID
	most := 0.0
	for _, t := range step.Tasks {
		if lost := d.Lost[t.ID]; observe.SubjectOf(t) == subject && lost > most {
			worst, most = t.ID, lost
		}
	}
	return worst
}

// slices cuts the time of a task, as the monitor saw it, by its moments, so many
// to a slice that the counter tells of each. Their blocks are numbered up to most.
func (r reading) slices(step int, course observe.Course, together []reading, most int) []slice {
	least := max(leastSlice, sliceSpacings*r.curve.spacing().Seconds())
	first, last := r.curve.times[r.curve.positive], r.curve.times[r.curve.steady]
	var out []slice
	var in []observe.Moment
	for _, m := range course.Moments {
		if from := r.started.Add(seconds(m.From)); from.Before(first) {
			continue
		}
		if r.started.Add(seconds(m.To)).After(last) {
			break
		}
		in = append(in, m)
		from, to := in[0].From, m.To
		if to-from < least {
			continue
		}
		pace := 0.0
		for _, x := range together {
			pace += x.pace(r.started.Add(seconds(from)), r.started.Add(seconds(to))) / float64(len(together))
		}
		s := slice{subject: r.subject, step: step, seconds: to - from}
		s.rate = (r.curve.at(r.started.Add(seconds(to))) - r.curve.at(r.started.Add(seconds(from)))) / s.seconds
		s.ticks = ticksNoise / s.seconds / max(m.Cores, 1)
		for _, x := range in {
			s.lost += course.Lost(x, pace) * (x.To - x.From) / s.seconds
		}
		out, in = append(out, s), nil
	}
	blocks := min(most, len(out)/2)
	for i := range out {
		out[i].block = i * blocks / len(out)
	}
	return out
}

// pace is the rate in a part of the time over that of the whole counter.
func (r reading) pace(from, to time.Time) float64 {
	rate, err := r.curve.rate()
	if err != nil {
		return 1
	}
	return (r.curve.at(to) - r.curve.at(from)) / to.Sub(from).Seconds() / rate
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// regression is how much of what can have been lost the metric lost.
type regression struct {
	slope, se float64 // of the rate, relative to its mean, on the share; se infinite: not known
	degrees   float64
	lost      float64 // mean share
}

// regress fits the rate, relative to its mean in each unit, on the share that can
// have been lost, relative to its mean there. Errors of a cluster may depend on
// each other: their variance is that of the jackknife over clusters. A slope is
// too small by what ticks add to the variance of the share (Fuller, Measurement
// Error Models, 1.1), and is divided by the rest.
func regress[U, C comparable](parts []slice, unit func(slice) U, cluster func(slice) C) regression {
	type sums struct{ rate, lost, n float64 }
	units := make(map[U]sums)
	out := regression{se: math.Inf(1)}
	for _, s := range parts {
		u := units[unit(s)]
		units[unit(s)] = sums{u.rate + s.rate, u.lost + s.lost, u.n + 1}
		out.lost += s.lost / float64(len(parts))
	}
	place := make(map[C]int)
	var clusters [][2]float64 // squares and products, in order of the slices
	var xx, xy, ticks float64
	for _, s := range parts {
		u := units[unit(s)]
		if !(u.rate > 0) || u.n < 2 {
			continue
		}
		i, known := place[cluster(s)]
		if !known {
			i = len(clusters)
			place[cluster(s)], clusters = i, append(clusters, [2]float64{})
		}
		x, y := s.lost-u.lost/u.n, 1-s.rate*u.n/u.rate
		clusters[i][0], clusters[i][1] = clusters[i][0]+x*x, clusters[i][1]+x*y
		xx, xy = xx+x*x, xy+x*y
		ticks += s.ticks * (1 - 1/u.n)
	}
	reliable := 1 - ticks/xx
	if len(clusters) < fewClusters || !(reliable >= leastReliable) {
		return out
	}
	out.slope, out.degrees = xy/xx/reliable, float64(len(clusters)-1)
	variance := 0.0
	for _, c := range clusters {
		if c[0] > mostOfOne*xx {
			return out
		}
		without := (xy - c[1]) / (xx - c[0]) / reliable
		variance += (without - out.slope) * (without - out.slope)
	}
	out.se = math.Sqrt(variance * out.degrees / (out.degrees + 1))
	return out
}

// most is the upper end of the share of the loss that the metric can have had. A
// rate of 1−b·l has, relative to its mean, the slope b/(1−b·mean).
func (r regression) most() float64 {
	if math.IsInf(r.se, 1) {
		return 1
	}
	t, err := stats.TQuantile(0.5+level/2, r.degrees)
	if err != nil {
		return 1
	}
	slope := max(0, r.slope+t*r.se)
	return min(1, slope/(1+slope*r.lost))
}
