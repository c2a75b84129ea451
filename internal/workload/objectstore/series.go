package objectstore

import (
	"time"

	store "github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// series is one metric: what is published while the task runs, and the sample
// at its end, which is the slope of just that.
//
// A task by duration lets operations end that are under way at its deadline.
// What they do after it is no work of the task's time, and that time differs
// with the age of operations, so with the size of the fleet: nothing later
// than the deadline is published. The last point lies at the deadline, in
// proportion between the readings around it.
type series struct {
	metric, unit string  // unit of the counter: byte or op
	resource     string  // of the sample; may be empty
	scale        float64 // parts that make one of the unit
	deadline     time.Duration
	report       workload.Reporter

	last struct {
		after time.Duration
		parts float64
	}
}

const operationsMetric = "objectstore_operations"

// resources of the kinds of operations.
var resources = map[string]string{store.Put: model.ResourceObjectPut, store.Delete: model.ResourceObjectPut, store.Get: model.ResourceObjectGet}

// newSeries is the series of a counter, in a task of these kinds of operations.
func newSeries(c store.Counter, kinds []string, deadline time.Duration, report workload.Reporter) *series {
	s := &series{metric: operationsMetric, unit: "op", resource: resources[c.Kind], scale: store.Parts, deadline: deadline, report: report}
	switch {
	case c.Bytes:
		s.metric, s.unit, s.scale = "objectstore_"+c.Kind+"_throughput", "byte", 1
	case c.Kind != "":
		s.metric = "objectstore_" + c.Kind + "_rate"
	case resources[kinds[0]] == resources[kinds[len(kinds)-1]]:
		s.resource = resources[kinds[0]] // puts and gets mixed are two things
	}
	return s
}

// add takes the next final reading.
func (s *series) add(after time.Duration, parts int64) {
	now := float64(parts)
	if s.deadline > 0 && after > s.deadline {
		if s.last.after >= s.deadline {
			return
		}
		share := float64(s.deadline-s.last.after) / float64(after-s.last.after)
		after, now = s.deadline, s.last.parts+share*(now-s.last.parts)
	}
	s.last.after, s.last.parts = after, now
	s.report.ProgressAt(s.metric, s.unit, after, now/s.scale)
}

// sample reports the slope of the whole series: up to the deadline, or to the
// end of the last operation of a task by count.
func (s *series) sample() {
	if s.last.parts == 0 || s.last.after == 0 {
		return // no value is not a value of 0
	}
	s.report.Sample(model.Sample{
		Metric: s.metric, Unit: s.unit + "/s", Value: s.last.parts / s.scale / s.last.after.Seconds(),
		Better: model.Higher, Resource: s.resource,
	})
}
