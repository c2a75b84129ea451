package objectstore

import (
	"time"

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

// book is a ledger with the series that it is published as.
type book struct {
	*ledger
	*series
}

func newBook(s series) *book {
	b := &book{series: &s}
	b.ledger = newLedger(b.add)
	return b
}

// parts is what the ledger counts one operation as, so that one under way can
// be counted in part.
const parts = 1 << 20

const operationsMetric = "objectstore_operations"

func throughputMetric(kind string) string { return "objectstore_" + kind + "_throughput" }
func rateMetric(kind string) string       { return "objectstore_" + kind + "_rate" }

// books are all that a run counts while it lasts.
type books struct {
	bytes map[string]*book // by kind that moves bytes
	rates map[string]*book // operations by kind, where there are two
	all   *book            // operations
	order []*book          // all of these
}

// newBooks opens the books for these kinds of operations.
func newBooks(kinds []string, deadline time.Duration, report workload.Reporter) *books {
	bs := &books{bytes: map[string]*book{}, rates: map[string]*book{}}
	open := func(metric, unit, resource string, scale float64) *book {
		b := newBook(series{metric: metric, unit: unit, resource: resource, scale: scale, deadline: deadline, report: report})
		bs.order = append(bs.order, b)
		return b
	}
	for _, kind := range kinds {
		if kind != kindDelete {
			bs.bytes[kind] = open(throughputMetric(kind), "byte", resources[kind], 1)
		}
		if len(kinds) > 1 {
			bs.rates[kind] = open(rateMetric(kind), "op", resources[kind], parts)
		}
	}
	bs.all = open(operationsMetric, "op", resourceOf(kinds), parts)
	return bs
}

// read takes a reading of everything.
func (bs *books) read(after time.Duration) {
	for _, b := range bs.order {
		b.read(after)
	}
}

// operation enters an operation, and returns what is to be called at its end.
// Times are since the start of Run.
func (bs *books) operation(kind string, begun time.Duration) (end func(ended time.Duration, succeeded bool)) {
	in := []*book{bs.all}
	if b, ok := bs.rates[kind]; ok {
		in = append(in, b)
	}
	entries := make([]*transfer, len(in))
	for i, b := range in {
		entries[i] = b.begin(parts)
	}
	return func(ended time.Duration, succeeded bool) {
		for i, b := range in {
			b.endEvenly(entries[i], begun, ended, succeeded)
		}
	}
}

// resourceOf is what operations of these kinds together are a capacity of:
// empty for puts and gets mixed, which are two things.
func resourceOf(kinds []string) string {
	resource := resources[kinds[0]]
	for _, kind := range kinds[1:] {
		if resources[kind] != resource {
			return ""
		}
	}
	return resource
}
