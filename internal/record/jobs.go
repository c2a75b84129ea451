package record

import (
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// jobView is what one job took of a fleet of so many nodes: means over nodes and trials.
type jobView struct {
	Workload string             `json:"workload"`
	Phase    model.Phase        `json:"phase"`
	Nodes    int                `json:"nodes"`
	Job      map[string]float64 `json:"job"` // in s and bytes, by the name of the metric without jobs_
}

type jobColumn struct {
	name, head string
	print      func(float64) string
}

// jobColumns are what a job took, in their order.
var jobColumns = []jobColumn{
	{"wait", "wait", num.Seconds}, {"get", "get", num.Seconds}, {"compute", "compute", num.Seconds},
	{"put", "put", num.Seconds}, {"time", "all", num.Seconds}, {"cpu", "processor", num.Seconds},
	{"get_bytes", "bytes got", bytesOf}, {"put_bytes", "bytes put", bytesOf},
}

func bytesOf(n float64) string { return num.Bytes(int64(n)) }

// jobsOf are the jobs of workloads that take items from a queue.
func jobsOf(run *observe.Run) (out []jobView) {
	type sum struct{ total, n float64 }
	var sums []map[string]sum // as out
	for _, m := range run.Metrics() {
		name, ok := strings.CutPrefix(m.Name, "jobs_")
		if !ok || !slices.ContainsFunc(jobColumns, func(c jobColumn) bool { return c.name == name }) {
			continue
		}
		for _, v := range m.Values {
			i := slices.IndexFunc(out, func(j jobView) bool {
				return j.Workload == m.Workload && j.Phase == v.Phase && j.Nodes == v.Active
			})
			if i < 0 {
				i = len(out)
				out = append(out, jobView{Workload: m.Workload, Phase: v.Phase, Nodes: v.Active, Job: map[string]float64{}})
				sums = append(sums, map[string]sum{})
			}
			s := sums[i][name]
			sums[i][name] = sum{s.total + v.Value, s.n + 1}
		}
	}
	for i, byName := range sums {
		for name, s := range byName {
			out[i].Job[name] = s.total / s.n
		}
	}
	return out
}

// jobsTable shows where the time of a job goes.
func jobsTable(jobs []jobView) *doc.Table {
	t := &doc.Table{
		Columns: []doc.Column{column("workload", "workload"), column("phase", "phase"), number("nodes", "nodes")},
	}
	for _, c := range jobColumns {
		t.Columns = append(t.Columns, number(c.name, c.head))
	}
	for _, j := range jobs {
		row := []doc.Cell{say(j.Workload), say(j.Phase), doc.Int(j.Nodes)}
		for _, c := range jobColumns {
			var value *float64
			if v, ok := j.Job[c.name]; ok {
				value = &v
			}
			row = append(row, doc.Optional(value, c.print))
		}
		t.Add(row...)
	}
	return t
}
