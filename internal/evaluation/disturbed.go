package evaluation

import (
	"slices"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// loss is something that took capacity and is none of what is measured: it can
// explain a part of the index, or hide one.
type loss struct {
	caveat.Caveat
	// serial and parallel are shares of the capacity of each phase, 0 to 1.
	serial, parallel float64
	// bounded: by what the metric did while the loss changed, it is smaller than
	// by what was taken.
	bounded bool
	// silent: it is told of only where it could carry the verdict.
	silent bool
	// alone is the share of the parallel phase in which not all worked.
	alone float64
}

// uncontended is what makes an index too small that is scored on whole tasks,
// although all were active together for this share of the time only.
func uncontended(overlap float64) loss {
	return loss{Caveat: wholeOverlap.At(model.Warning, caveat.Subject{Phase: model.Parallel},
		wholeScored{Overlap: overlap}), alone: 1 - overlap}
}

// losses are what disturbed the tasks that the comparison is of.
func (p part) losses(steps []stepReadings) []loss {
	var out []loss
	for _, d := range p.run.Losses() {
		if d.Workload != p.workload {
			continue
		}
		l := loss{Caveat: d.Caveat(), silent: d.Silent, serial: lostIn(steps, model.Serial, d, 1), parallel: lostIn(steps,
			model.Parallel, d, 1)}
		if d.Phase != model.Serial && d.Phase != model.Parallel && l.serial+l.parallel == 0 {
			continue
		}
		if d.Kind == observe.KindThrottled {
			// A node with a limit is what it is: only what the limit took in one
			// phase and not in the other is no part of the comparison.
			l.serial, l.parallel = max(0, l.serial-l.parallel), max(0, l.parallel-l.serial)
		}
		if len(d.Courses) > 0 {
			taken, shared := l.serial+l.parallel, p.run.SharedMachine()
			l.serial = lostIn(steps, model.Serial, d, followed(steps, model.Serial, d, shared))
			l.parallel = lostIn(steps, model.Parallel, d, followed(steps, model.Parallel, d, shared))
			l.bounded = l.serial+l.parallel < mostlyBounded*taken
		}
		out = append(out, l)
	}
	return out
}

// lostIn is the share of its capacity that a phase lost to a disturbance, of all
// subjects of its steps together. What one end of a pair loses, the pair does. Of what
// is followed in the course of a task, the metric lost this share. What was given back
// is not lost any more.
func lostIn(steps []stepReadings, phase model.Phase, d observe.Disturbance, share float64) float64 {
	if len(d.Lost) == 0 {
		return 0
	}
	left, whole := 0.0, 0.0 // capacity with the loss, and without
	for _, s := range steps {
		if s.step.Phase != phase {
			continue
		}
		lost := make(map[model.NodeID]float64)
		for _, t := range s.step.Tasks {
			subject := observe.SubjectOf(t)
			own := d.Lost[t.ID]
			if _, known := d.Courses[t.ID]; known {
				own *= share
			}
			lost[subject] = max(lost[subject], own)
		}
		for _, r := range s.readings {
			own := lost[r.subject]
			if d.Kind == observe.KindPause && own > 0 && r.curve != nil {
				own = r.curve.stood()
			}
			if d.Kind == observe.KindOthers {
				own = max(0, 1-(1-own)/(1-r.given))
			}
			left, whole = left+r.scored, whole+r.scored/(1-min(own, .99))
		}
	}
	if !(whole > 0) {
		return 0 // no step of the phase
	}
	return 1 - left/whole
}

// stood is the share of its own activity in which the counter stood still: a
// task may do several tests in turn.
func (c *curve) stood() float64 {
	times := make([]float64, 0, len(c.times))
	for _, t := range c.times[c.positive:] {
		times = append(times, t.Sub(c.active.Start).Seconds())
	}
	return min(observe.StoodStill(times)/max(c.active.Length().Seconds(), 1e-9), 1)
}

// withoutLosses is the interval that the index can have had without the losses: what
// the parallel phase lost made the index larger, though not larger than 0, what
// the serial phase lost made it smaller. In the part a of the parallel phase in which not all worked, nodes
// may have had their whole capacity: of an efficiency E = a + (1−a)·E', that of
// all at once is E'.
func withoutLosses(i Interval, losses []loss) Interval {
	kept := 1.0 // of the parallel capacity
	before, alone := 1.0, 0.0
	for _, l := range losses {
		kept, before = kept*(1-min(l.parallel, .99)), before*(1-min(l.serial, .99))
		alone = max(alone, l.alone)
	}
	least := (1 - i[1]/100) * before
	least = min(least, max(0, (least-alone)/(1-alone)))
	// A loss explains a degradation. That it may hide a gain is no reason to doubt
	// that nothing was lost.
	low := max(degradation((1-i[0]/100)/kept), min(i[0], 0))
	return Interval{low, degradation(least)}
}

// explains is how many points of the index a loss can explain.
func (l loss) explains(cdi float64) float64 {
	i := withoutLosses(Interval{cdi, cdi}, []loss{l})
	return max(cdi-i[0], i[1]-cdi)
}

// mostlyBounded is the share of what was taken below which the metric is said not
// to have followed it.
const mostlyBounded = 0.5

// littleExplained is how many points of the index are no word's worth.
const littleExplained = 0.1

// worthAWord is how many are said although the verdict would be the same.
const worthAWord = 0.5

// doubtLosses says what took capacity, and how much of the index that can
// explain. If all of it together can carry the verdict, that is unknown.
func (c *comparison) doubtLosses(f *Finding) {
	if f.CDI == nil || f.CI == nil {
		for _, l := range c.losses {
			if !l.silent {
				c.notes.Add(l.Caveat)
			}
		}
		return
	}
	apart := withoutLosses(*f.CI, c.losses)
	f.Possible = &Interval{min(f.CI[0], apart[0]), max(f.CI[1], apart[1])}
	carries := c.lossesCarry(*f.CI)
	worth, most := littleExplained, c.mostExplained(*f.CDI)
	if carries { // where all explain little, the most does
		worth = min(worth, most)
	}
	for _, l := range c.losses {
		points := l.explains(*f.CDI)
		if points >= worth && points > 0 {
			l.Explains = &points
			if carries && points >= most/10 { // the others are not why
				l.Severity = model.Problem
			}
		}
		if l.silent && l.Severity != model.Problem {
			continue
		}
		bounded := l.bounded && l.Severity != model.Problem
		if bounded || l.Severity == model.Problem || points >= worthAWord {
			without := withoutLosses(Interval{*f.CDI, *f.CDI}, []loss{l})
			l.effect(observe.Effect{Index: *f.CDI, Lo: min(without[0], *f.CDI), Hi: min(max(without[1], *f.CDI), 100),
				Bounded: bounded})
		}
		c.notes.Add(l.Caveat)
	}
}

// effect adds to the arguments of a loss what it can have done to the index.
func (l *loss) effect(e observe.Effect) {
	switch args := l.Args.(type) {
	case observe.Seen:
		args.Effect = &e
		l.Args = args
	case wholeScored:
		args.Effect = &e
		l.Args = args
	}
}

// mostExplained is how many points of the index a single loss can explain at most.
func (c *comparison) mostExplained(cdi float64) float64 {
	most := 0.0
	for _, l := range c.losses {
		most = max(most, l.explains(cdi))
	}
	return most
}

// lossesCarry reports whether the verdict would be another without the losses.
// Those that are not worth a word by themselves can only take back that there is
// a loss, or a gain.
func (c *comparison) lossesCarry(i Interval) bool {
	word, losses := verdictOf(i, c.tolerance), c.losses
	if word != Degraded && word != Gain {
		losses = slices.DeleteFunc(slices.Clone(losses), func(l loss) bool { return l.silent })
	}
	return verdictOf(withoutLosses(i, losses), c.tolerance) != word
}
