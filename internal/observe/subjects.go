package observe

import (
	"iter"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// SubjectOf names what a task measures: its node, or its node pair.
func SubjectOf(t model.Task) model.NodeID { return model.NodeID(t.Spec.SubjectOn(t.Node)) }

// Measuring lists the tasks of a step that report capacities. The others serve
// them: nothing is missing when they report nothing, and when they began and
// ended says nothing about how parallel the measurement was.
func Measuring(s model.Step) []model.Task {
	out := make([]model.Task, 0, len(s.Tasks))
	for _, t := range s.Tasks {
		if t.Spec.Role != model.RoleServe {
			out = append(out, t)
		}
	}
	return out
}

// Measured are the results of a step that count and are those of its measuring
// tasks, each with its task.
func (r *Run) Measured(s model.Step) iter.Seq2[model.Task, model.Result] {
	tasks := make(map[model.TaskID]model.Task, len(s.Tasks))
	for _, t := range Measuring(s) {
		tasks[t.ID] = t
	}
	return func(yield func(model.Task, model.Result) bool) {
		for _, x := range r.Accepted(s.ID) {
			if t, ok := tasks[x.Task]; ok && !yield(t, x) {
				return
			}
		}
	}
}

// Subjects lists what a step measures, by name, each once.
func Subjects(s model.Step) []model.NodeID {
	var out []model.NodeID
	for _, t := range Measuring(s) {
		out = append(out, SubjectOf(t))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Fleet is how many subjects the largest parallel step of each workload has:
// n in CDI(n). Steps that did not come to a valid end count too, so that a run
// which lost them does not pass off the figures of a smaller fleet as theirs.
func Fleet(steps []model.Step) map[string]int {
	out := make(map[string]int)
	for _, s := range steps {
		if s.Phase == model.Parallel {
			out[s.Workload] = max(out[s.Workload], len(Subjects(s)))
		}
	}
	return out
}

// Times are when the first and the last of several things began and ended.
type Times struct {
	N                                        int // of the things
	FirstStart, LastStart, FirstEnd, LastEnd time.Time
}

// Add takes one more into account; false, and it does not, where these are not
// the times of anything.
func (t *Times) Add(start, end time.Time) bool {
	if start.IsZero() || end.Before(start) {
		return false
	}
	t.N++
	if t.N == 1 || start.Before(t.FirstStart) {
		t.FirstStart = start
	}
	if start.After(t.LastStart) {
		t.LastStart = start
	}
	if t.N == 1 || end.Before(t.FirstEnd) {
		t.FirstEnd = end
	}
	if end.After(t.LastEnd) {
		t.LastEnd = end
	}
	return true
}

// Times are those of the measuring tasks of a step.
func (r *Run) Times(s model.Step) (t Times) {
	for _, x := range r.Measured(s) {
		t.Add(x.Started, x.Ended)
	}
	return t
}

// Skew is how long after the first the last one began.
func (t Times) Skew() time.Duration { return t.LastStart.Sub(t.FirstStart) }

// Spread is how long after the first the last one ended.
func (t Times) Spread() time.Duration { return t.LastEnd.Sub(t.FirstEnd) }

// Common is the window in which all were under way; of no length where there is
// none.
func (t Times) Common() Span {
	if t.FirstEnd.Before(t.LastStart) {
		return Span{t.LastStart, t.LastStart}
	}
	return Span{t.LastStart, t.FirstEnd}
}

// Overlap is the common window as a share of the time from the first start to
// the last end, 0 to 1.
func (t Times) Overlap() float64 {
	common := t.Common().Length()
	if common <= 0 {
		return 0
	}
	return common.Seconds() / t.LastEnd.Sub(t.FirstStart).Seconds()
}

// Span is an interval of server time.
type Span struct{ Start, End time.Time }

// Length is how long it is.
func (s Span) Length() time.Duration { return s.End.Sub(s.Start) }
