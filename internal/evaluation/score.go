package evaluation

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// scoring is how the capacities of one finding are read, the same for every
// task of both phases: a rate of the counter beside a value that the workload
// reported would compare two different things.
type scoring struct {
	window     string
	unit       string
	reciprocal bool
}

// score sets the capacities of all readings. It scores in the common window
// if every curve of every step allows it, else on whole tasks.
func score(steps []stepReadings, like model.Sample, n *notes) scoring {
	unit, err := curveUnit(steps)
	if err == nil && unit != "" {
		err = scoreCommon(steps)
	}
	if err != nil {
		n.warn("whole_tasks", "scored on whole tasks, not in the common window: %v", err)
	}
	sc := scoring{window: WindowCommon, unit: unit + "/s"}
	if err != nil || unit == "" {
		sc = scoreWhole(steps, like)
	}
	compareWithSamples(steps, like, sc, n)
	return sc
}

// curveUnit returns the unit in which all progress is counted: empty when the
// workload publishes none, an error when some of it cannot be used.
func curveUnit(steps []stepReadings) (string, error) {
	var unit, refused string
	var with, without, unusable int
	for _, s := range steps {
		for _, r := range s.readings {
			switch {
			case r.curve == nil:
				without++
				if r.refused != "" {
					unusable++
				}
				if r.refused != "" || refused == "" {
					refused = refusal(s.step, r)
				}
			case with > 0 && r.curve.unit != unit:
				return "", fmt.Errorf("progress is counted in %q on some nodes and in %q on others", unit, r.curve.unit)
			default:
				with++
				unit = r.curve.unit
			}
		}
	}
	if without > 0 && with+unusable > 0 {
		return "", fmt.Errorf("%s without a usable progress series (%s)", num.Count(without, "task"), refused)
	}
	return unit, nil
}

// refusal says in words why a reading has no curve.
func refusal(step model.Step, r reading) string {
	why := r.refused
	if why == "" {
		why = "none was published"
	}
	return fmt.Sprintf("%s, trial %d, node %s: %s", step.Phase, step.Trial, r.node, why)
}

// scoreCommon scores parallel tasks in their step's common window, serial
// ones over their counter but for its end, and all of them over the whole as
// well.
func scoreCommon(steps []stepReadings) error {
	for _, s := range steps {
		_, active := timesOf(s.readings, true)
		for i := range s.readings {
			r := &s.readings[i]
			if err := r.scoreCurve(s.step.Phase, active.Common()); err != nil {
				return fmt.Errorf("%s, trial %d: the progress series of node %s is refused: %w", s.step.Phase, s.step.Trial, r.node, err)
			}
		}
	}
	return nil
}

// scoreCurve scores one task by its counter.
func (r *reading) scoreCurve(phase model.Phase, window observe.Span) error {
	var err error
	if r.whole, err = r.curve.rate(); err != nil {
		return err
	}
	first, last := r.curve.positive, r.curve.steady
	if phase == model.Parallel {
		if first, last, err = r.curve.within(window); err != nil {
			return err
		}
	}
	if r.scored, err = r.curve.between(first, last); err != nil {
		return err
	}
	r.precision = r.curve.precision(first, last, r.clockError)
	return nil
}

// scoreWhole scores all tasks by the value they reported; a duration T gives
// the capacity 1/T (ScaleBench, equation 3, with W = 1 task).
func scoreWhole(steps []stepReadings, like model.Sample) scoring {
	sc := scoring{window: WindowWhole, unit: like.Unit, reciprocal: like.Better == model.Lower}
	if sc.reciprocal {
		sc.unit = inverseUnit(like.Unit)
	}
	for _, s := range steps {
		for i := range s.readings {
			r := &s.readings[i]
			r.whole = capacityOf(r.value, sc.reciprocal)
			r.scored = r.whole
			r.precision = precision{value: r.value, decimals: decimals(r.value)}
		}
	}
	return sc
}

// capacityOf turns a reported value into a capacity.
func capacityOf(value float64, reciprocal bool) float64 {
	if reciprocal {
		return 1 / value
	}
	return value
}

// compareWithSamples tells when the counter and the reported value tell
// different stories: one of the two is wrong. In the same unit they must be
// equal, else have the same ratio on every task. Where the reported value counts,
// because the counter cannot be used, it may be what is wrong.
func compareWithSamples(steps []stepReadings, like model.Sample, sc scoring, n *notes) {
	reciprocal := like.Better == model.Lower
	var all []reading
	var ratios []float64
	for _, s := range steps {
		for _, r := range s.readings {
			if r.curve == nil {
				continue
			}
			if rate, err := r.curve.rate(); err == nil {
				all, ratios = append(all, r), append(ratios, capacityOf(r.value, reciprocal)/rate)
			}
		}
	}
	if len(all) == 0 {
		return
	}
	unit, usual := all[0].curve.unit+"/s", 1.0
	if like.Unit != unit || reciprocal {
		usual, _ = stats.Quantile(ratios, 0.5) // there are some
	}
	worst := -1
	for i, r := range all {
		ratios[i] = r.againstCounter(ratios[i], capacityOf(r.value, reciprocal), usual)
		if math.Abs(ratios[i]/usual-1) > sampleDeviation && (worst < 0 || math.Abs(ratios[i]-usual) > math.Abs(ratios[worst]-usual)) {
			worst = i
		}
	}
	if worst < 0 {
		return
	}
	r, tell := all[worst], n.warn
	if sc.window == WindowWhole {
		tell = n.doubt
	}
	rate, _ := r.curve.rate()
	tell("counter_disagrees", "node %s reported %s = %s %s but its progress counter says %s %s, %.0f %% off: the workload spends time that its counter does not see, or one of the two is wrong",
		r.node, like.Metric, number(r.value), like.Unit, number(rate), unit, 100*math.Abs(ratios[worst]/usual-1))
}

// againstCounter is the reported capacity over that of the counter: from its
// first point with work on, as it is scored, or from its start, as the workload
// may count. Where nodes share a processor the two differ by the luck of the
// first moments: what is nearer to the usual ratio counts.
func (r reading) againstCounter(scored, capacity, usual float64) float64 {
	sinceStart := capacity / r.curve.sinceStart()
	if math.Abs(sinceStart-usual) < math.Abs(scored-usual) {
		return sinceStart
	}
	return scored
}

// simultaneity is how parallel the parallel steps were, the worst of each.
type simultaneity struct{ overlap, skewMS, spreadMS *float64 }

// tasksAlike is how many times as long as the shortest task of a step the longest
// may take and still have been given the same time.
const tasksAlike = 1.25

// advice says what makes nodes work together: tasks of unequal length need the same
// running time, and those of equal length a longer one.
func (s stepReadings) advice() string {
	var lengths []float64
	for _, r := range s.readings {
		lengths = append(lengths, r.ended.Sub(r.started).Seconds())
	}
	tasks, _ := timesOf(s.readings, false)
	if slices.Max(lengths) <= tasksAlike*slices.Min(lengths) {
		return fmt.Sprintf("the tasks take %s and start up to %s apart: let them take longer",
			num.Seconds(slices.Max(lengths)), num.Seconds(tasks.Skew().Seconds()))
	}
	return "give every node the same running time instead of the same amount of work"
}

// simultaneityOf looks at every parallel step and notes what is poor.
func simultaneityOf(steps []stepReadings, window string, n *notes) simultaneity {
	var s simultaneity
	var advice string
	for _, sr := range steps {
		if sr.step.Phase != model.Parallel || len(sr.readings) == 0 {
			continue
		}
		tasks, active := timesOf(sr.readings, window == WindowCommon)
		if tasks.N == 0 {
			n.doubt("no_times", "parallel, trial %d: tasks without start and end times; it is unknown whether they ran together", sr.step.Trial)
			return simultaneity{}
		}
		if s.overlap == nil || active.Overlap() < *s.overlap {
			advice = sr.advice()
		}
		s.overlap = extreme(s.overlap, active.Overlap(), math.Min)
		s.skewMS = extreme(s.skewMS, milliseconds(tasks.Skew()), math.Max)
		s.spreadMS = extreme(s.spreadMS, milliseconds(tasks.Spread()), math.Max)
	}
	noteOverlap(s.overlap, window, advice, n)
	return s
}

// noteOverlap judges the least overlap; advice is what to do about it.
func noteOverlap(overlap *float64, window, advice string, n *notes) {
	switch {
	case overlap == nil:
	case *overlap < minOverlap:
		n.doubt("overlap", "all nodes were active together for only %.0f %% of the time from the first start to the "+
			"last end (at least %.0f %% required): %s", 100**overlap, 100*minOverlap, advice)
	case *overlap < goodOverlap && window == WindowCommon:
		n.warn("overlap", "poor overlap: all nodes were active together for %.0f %% of the time; only that time is scored", 100**overlap)
	}
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// extreme folds v into what is known so far.
func extreme(so *float64, v float64, choose func(a, b float64) float64) *float64 {
	if so != nil {
		v = choose(*so, v)
	}
	return &v
}

// inverseUnit is the unit of 1/value: "1/s" of "s", "op/ns" of "ns/op".
func inverseUnit(unit string) string {
	switch top, bottom, ok := strings.Cut(unit, "/"); {
	case unit == "":
		return ""
	case !ok:
		return "1/" + unit
	case top == "1" || top == "":
		return bottom
	default:
		return bottom + "/" + top
	}
}
