package report

import (
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/table"
)

// fleetView answers who measured what in a run: the tasks behind results, and
// which parallel steps had all subjects at work.
type fleetView struct {
	tasks map[model.TaskID]model.Task
	// sizes is the largest number of subjects of a parallel step, by workload.
	sizes map[string]int
}

func newFleetView(steps []model.Step) fleetView {
	v := fleetView{tasks: make(map[model.TaskID]model.Task), sizes: make(map[string]int)}
	for _, s := range steps {
		for _, t := range s.Tasks {
			v.tasks[t.ID] = t
		}
		if s.Phase == model.Parallel {
			v.sizes[s.Workload] = max(v.sizes[s.Workload], len(subjectsOf(s)))
		}
	}
	return v
}

// subjectsOf lists what a step measures, in the order of its tasks. Tasks that
// only serve others measure nothing.
func subjectsOf(s model.Step) []string {
	var out []string
	seen := make(map[string]bool)
	for _, t := range s.Tasks {
		subject := t.Spec.SubjectOn(t.Node)
		if t.Spec.Role != model.RoleServe && !seen[subject] {
			seen[subject] = true
			out = append(out, subject)
		}
	}
	return out
}

// pairsIn reports whether a step's subjects are other than single nodes.
func pairsIn(s model.Step) bool {
	return slices.ContainsFunc(s.Tasks, func(t model.Task) bool { return t.Spec.Subject != "" })
}

// full reports whether all subjects were at work: a parallel step of fewer
// belongs to a sweep over sizes and not to the finding.
func (v fleetView) full(s model.Step) bool {
	return s.Phase == model.Parallel && len(subjectsOf(s)) == v.sizes[s.Workload]
}

// scored reports whether a step's results enter a finding of its workload.
func (v fleetView) scored(s model.Step) bool { return s.Phase == model.Serial || v.full(s) }

// serves reports whether a result is that of a task that only served.
func (v fleetView) serves(r model.Result) bool { return v.tasks[r.Task].Spec.Role == model.RoleServe }

// subject is what a result's task measured.
func (v fleetView) subject(r model.Result) string {
	return v.tasks[r.Task].Spec.SubjectOn(r.Node)
}

// measured drops the results of tasks that only served.
func (v fleetView) measured(results []model.Result) []model.Result {
	return slices.DeleteFunc(slices.Clone(results), v.serves)
}

// endKey is one end of a subject.
type endKey struct {
	subject string
	node    model.NodeID
}

// endValues are the values of one end, of every trial.
type endValues struct{ serial, parallel []float64 }

// ends collects each task's own values of a finding's metric, where some
// subject has several tasks: the directions of a pair. The order is that of
// the first appearance. Nil where every subject is one task.
func (b builder) endsOf(f model.Finding) (keys []endKey, values map[endKey]*endValues) {
	values = make(map[endKey]*endValues)
	for _, s := range b.data.Steps {
		if s.Workload != f.Workload || !b.fleet.scored(s) {
			continue
		}
		for _, r := range b.accepted[s.ID] {
			v, ok := sampleOf(r, f.Metric)
			if !ok || b.fleet.serves(r) {
				continue
			}
			k := endKey{b.fleet.subject(r), r.Node}
			if values[k] == nil {
				values[k] = &endValues{}
				keys = append(keys, k)
			}
			if s.Phase == model.Serial {
				values[k].serial = append(values[k].serial, v)
			} else {
				values[k].parallel = append(values[k].parallel, v)
			}
		}
	}
	ofSubject := make(map[string]int)
	for _, k := range keys {
		ofSubject[k.subject]++
	}
	for _, n := range ofSubject {
		if n > 1 {
			return keys, values
		}
	}
	return nil, nil
}

// sampleOf returns a capacity that a result carries.
func sampleOf(r model.Result, metric string) (float64, bool) {
	for _, s := range r.Samples {
		if s.Metric == metric && !s.Info && num.Finite(s.Value) {
			return s.Value, true
		}
	}
	return 0, false
}

// endsTable shows each direction of a pair by itself, means over trials of
// whole tasks; nil where every subject is one task.
func (b builder) endsTable(f model.Finding) *table.Table {
	keys, values := b.endsOf(f)
	if len(keys) == 0 {
		return nil
	}
	var all []float64
	for _, v := range values {
		all = append(all, meanOf(v.serial), meanOf(v.parallel))
	}
	s := rateScale(f.Resource, f.Unit, all...)
	unit := ""
	if s.Unit != "" {
		unit = "\n" + s.Unit
	}
	t := &table.Table{Columns: []table.Column{
		{Key: "subject", Head: noun(f.Of)}, {Key: "node", Head: "measured on"},
		{Key: "serial", Head: "serial" + unit, Align: table.Right},
		{Key: "parallel", Head: "parallel" + unit, Align: table.Right},
		{Key: "loss_percent", Head: "lost\n%", Align: table.Right},
	}}
	slices.SortStableFunc(keys, func(x, y endKey) int { return b.order(x.subject) - b.order(y.subject) })
	for _, k := range keys {
		serial, parallel := meanOf(values[k].serial), meanOf(values[k].parallel)
		t.Add(table.Text(k.subject), table.Text(string(k.node)), valueCell(s, serial), valueCell(s, parallel),
			lossCell(100*(1-parallel/serial)))
	}
	return t
}

// order is the place of a subject among all, by the steps' tasks.
func (b builder) order(subject string) int {
	n := 0
	for _, s := range b.data.Steps {
		for _, t := range s.Tasks {
			if t.Spec.SubjectOn(t.Node) == subject {
				return n
			}
			n++
		}
	}
	return n
}

func valueCell(s num.Scale, v float64) table.Cell {
	if !num.Finite(v) {
		return table.Of(nil, num.Missing)
	}
	return table.Of(v, s.Number(v, 0))
}

// meanOf is NaN for no values: missing is missing.
func meanOf(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
