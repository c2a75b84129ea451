package evaluation

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/caveat"

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
func score(steps []stepReadings, like model.Sample, n *caveat.List) scoring {
	unit, err := curveUnit(steps)
	if err == nil && unit != "" {
		err = scoreCommon(steps)
	}
	if err != nil {
		n.Add(wholeTasks.Warn(because(err)))
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
func compareWithSamples(steps []stepReadings, like model.Sample, sc scoring, n *caveat.List) {
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
	r, severity := all[worst], model.Warning
	if sc.window == WindowWhole {
		severity = model.Problem
	}
	rate, _ := r.curve.rate()
	n.Add(counterDiffers.At(severity, caveat.Subject{}, twoRates{
		Node: r.node, Metric: caveat.Verbatim(like.Metric), Reported: r.value, Unit: caveat.Verbatim(like.Unit),
		Counted: rate, CounterUnit: caveat.Verbatim(unit), Off: 100 * math.Abs(ratios[worst]/usual-1),
	}))
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

// alikeTasks are how long the tasks take and how far apart they start, in seconds, where
// they were given the same time; 0: they were not. Tasks of unequal length need the
// same running time to work together, and those of equal length a longer one.
func (s stepReadings) alikeTasks() (length, skew float64) {
	var lengths []float64
	for _, r := range s.readings {
		lengths = append(lengths, r.ended.Sub(r.started).Seconds())
	}
	tasks, _ := timesOf(s.readings, false)
	if slices.Max(lengths) <= tasksAlike*slices.Min(lengths) {
		return slices.Max(lengths), tasks.Skew().Seconds()
	}
	return 0, 0
}

// simultaneityOf looks at every parallel step and notes what is poor.
func simultaneityOf(steps []stepReadings, window string, n *caveat.List) simultaneity {
	var s simultaneity
	var worst tooLittle
	for _, sr := range steps {
		if sr.step.Phase != model.Parallel || len(sr.readings) == 0 {
			continue
		}
		tasks, active := timesOf(sr.readings, window == WindowCommon)
		if tasks.N == 0 {
			n.Add(noTimes.Problem(untimed{sr.step.Trial}))
			return simultaneity{}
		}
		if s.overlap == nil || active.Overlap() < *s.overlap {
			worst.Length, worst.Skew = sr.alikeTasks()
		}
		s.overlap = extreme(s.overlap, active.Overlap(), math.Min)
		s.skewMS = extreme(s.skewMS, milliseconds(tasks.Skew()), math.Max)
		s.spreadMS = extreme(s.spreadMS, milliseconds(tasks.Spread()), math.Max)
	}
	noteOverlap(s.overlap, window, worst, n)
	return s
}

// noteOverlap judges the least overlap, that of the worst step.
func noteOverlap(overlap *float64, window string, worst tooLittle, n *caveat.List) {
	switch {
	case overlap == nil:
	case *overlap < minOverlap:
		worst.Overlap = *overlap
		n.Add(littleOverlap.Problem(worst))
	case *overlap < goodOverlap && window == WindowCommon:
		n.Add(poorOverlap.Warn(commonOnly{*overlap}))
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
