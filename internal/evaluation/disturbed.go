package evaluation

import (
	"fmt"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// loss is something that took capacity and is none of what is measured: it can
// explain a part of the index, or hide one.
type loss struct {
	model.Doubt
	// serial and parallel are shares of the capacity of each phase, 0 to 1.
	serial, parallel float64
	// alone is the share of the parallel phase in which not all worked.
	alone float64
}

// uncontended is what makes an index too small that is scored on whole tasks,
// although all were active together for this share of the time only.
func uncontended(overlap float64) loss {
	text := fmt.Sprintf("poor overlap: all nodes were active together for %.0f %% of the time, and whole tasks are scored, so that degradation is understated", 100*overlap)
	return loss{Doubt: model.Doubt{Code: "overlap", Severity: model.Warning, Text: text, Phase: model.Parallel}, alone: 1 - overlap}
}

// losses are what disturbed the tasks of the part.
func (p part) losses() []loss {
	var out []loss
	for _, d := range p.run.Disturbances() {
		if d.Workload == p.workload && (d.Phase == model.Serial || d.Phase == model.Parallel) {
			l := loss{Doubt: d.Doubt(), serial: d.Lost[model.Serial], parallel: d.Lost[model.Parallel]}
			if d.Kind == observe.KindThrottled {
				// A node with a limit is what it is: only what the limit took in one
				// phase and not in the other is no part of the comparison.
				l.serial, l.parallel = max(0, l.serial-l.parallel), max(0, l.parallel-l.serial)
			}
			out = append(out, l)
		}
	}
	return out
}

// withoutLosses is the interval that the index can have had without the losses: what
// the parallel phase lost made the index larger, what the serial phase lost made
// it smaller. In the part a of the parallel phase in which not all worked, nodes
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
	return Interval{degradation((1 - i[0]/100) / kept), degradation(least)}
}

// explains is how many points of the index a loss can explain.
func (l loss) explains(cdi float64) float64 {
	i := withoutLosses(Interval{cdi, cdi}, []loss{l})
	return max(cdi-i[0], i[1]-cdi)
}

// littleExplained is how many points of the index are no word's worth.
const littleExplained = 0.1

// doubtLosses says what took capacity, and how much of the index that can
// explain. If all of it together can carry the verdict, that is unknown.
func (c *comparison) doubtLosses(f *Finding) {
	if f.CDI == nil || f.CI == nil {
		for _, l := range c.losses {
			c.notes.add(l.Doubt)
		}
		return
	}
	apart := withoutLosses(*f.CI, c.losses)
	f.Possible = &Interval{min(f.CI[0], apart[0]), max(f.CI[1], apart[1])}
	carries := verdictOf(apart, c.tolerance) != verdictOf(*f.CI, c.tolerance)
	for _, l := range c.losses {
		points := l.explains(*f.CDI)
		if points >= littleExplained {
			l.Explains = &points
		}
		if carries && points >= littleExplained {
			l.Severity = model.Problem
			l.Text += fmt.Sprintf("; that can explain up to %.1f points of the CDI of %.1f %%", points, *f.CDI)
		}
		c.notes.add(l.Doubt)
	}
}
