package observe

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/caveat"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
)

// Frames are all that was measured, in columns: a frame a metric and phase, a row
// a subject and step, at the time when the step began. Of steps with different
// numbers of subjects at once those with the most count, as in [Metric.Subjects].
// The facts are those of the nodes when the run began, with their labels; of a
// pair those on which its ends agree, or both: "zone" is "a | b". What disturbed
// the nodes is among the doubts, and the fact "disturbed" of the rows in which it
// was. The last frame is how long the nodes took to come up, where a fleet was
// asked for them.
func (r *Run) Frames() []frame.Frame {
	var out []frame.Frame
	about, disturbed, doubts := r.subjectFacts(), r.disturbedSteps(), r.Doubts()
	for _, m := range r.Metrics() {
		var phases []model.Phase // in which it was measured, in their order
		for _, v := range m.Values {
			if !slices.Contains(phases, v.Phase) {
				phases = append(phases, v.Phase)
			}
		}
		for _, phase := range phases {
			f := frame.Frame{Key: frame.Key{Workload: m.Workload, Metric: m.Name, Phase: phase}, Unit: m.Unit, Better: m.Better, Info: m.Info}
			left := slices.Clone(m.LeftOut)
			Caveats.Fill(caveat.Subject{Workload: m.Workload}, left)
			for _, d := range caveat.Doubts(left) {
				d.Phase, d.Trial, d.Node = "", 0, "" // the frame is about all of them
				f.Doubts = append(f.Doubts, d)
			}
			for _, d := range doubts {
				if d.Workload == "" || d.Workload == m.Workload {
					f.Doubts = append(f.Doubts, d)
				}
			}
			invalid := slices.DeleteFunc(slices.Clone(r.Steps()), func(s model.Step) bool {
				return s.Workload != m.Workload || s.Phase != phase || s.State != model.StepInvalid
			})
			if len(invalid) > 0 {
				d := r.Failed(m.Workload, invalid)
				d.Workload, d.Phase = m.Workload, phase
				f.Doubts = append(f.Doubts, d)
			}
			var rows []map[string]string
			for _, v := range largest(m.Values, phase) {
				f.Values = append(f.Values, v.Value)
				f.Times = append(f.Times, r.begun(r.Steps()[v.Step]))
				rows = append(rows, r.factsOf(v, about[v.Subject], disturbed))
			}
			f.Facts = factColumns(rows)
			out = append(out, *f.ByTime())
		}
	}
	if f := r.startups(about); f.Len() > 0 {
		out = append(out, *f.ByTime())
	}
	return out
}

// Failed is the doubt that what was measured failed in some steps: their results do not
// count, and what failed may be what was slow.
func (r *Run) Failed(what string, steps []model.Step) model.Doubt {
	var trials []int
	for _, s := range steps {
		trials = append(trials, s.Trial)
	}
	slices.Sort(trials)
	return model.Doubt{
		Code: "failed", Severity: model.Warning,
		Text: fmt.Sprintf("%s failed in trial %s, and what it measured there is left out; `scalebench show %s` says why", what, num.Ranges(slices.Compact(trials)), r.Run().ID),
	}
}

// Startup names workload and metric of how long nodes took to come up.
const Startup = "startup"

// startups is how long the nodes took from the request until they could be given
// a task, at the time of the request. What a node was is known of its last start
// only: under the same name another host may have come up before.
func (r *Run) startups(about map[model.NodeID]map[string]string) *frame.Frame {
	f := frame.Frame{Key: frame.Key{Workload: Startup, Metric: Startup}, Unit: "s", Better: model.Lower}
	var rows []map[string]string
	for _, n := range r.Nodes() {
		for i, s := range n.Startups {
			f.Values = append(f.Values, s.Took.Seconds())
			f.Times = append(f.Times, s.Requested.UnixNano())
			row := map[string]string{}
			if i == len(n.Startups)-1 {
				row = maps.Clone(about[n.ID])
			}
			row[frame.FactSubject], row[frame.FactRun] = string(n.ID), string(r.Run().ID)
			rows = append(rows, row)
		}
	}
	f.Facts = factColumns(rows)
	return &f
}

// largest are the values of a phase with the most subjects at once; of a search all: it may
// have lost a generator.
func largest(values []Value, phase model.Phase) []Value {
	most := 0
	for _, v := range values {
		if v.Phase == phase {
			most = max(most, v.Active)
		}
	}
	return slices.DeleteFunc(slices.Clone(values), func(v Value) bool {
		return v.Phase != phase || v.Active != most && phase != model.Search
	})
}

// begun is when a step began, in nanoseconds since 1970: the agreed start, or
// else when its first task started.
func (r *Run) begun(s model.Step) int64 {
	if !s.StartAt.IsZero() {
		return s.StartAt.UnixNano()
	}
	if t := r.Times(s); t.N > 0 {
		return t.FirstStart.UnixNano()
	}
	return r.Run().Created.UnixNano()
}

// disturbedSteps are the kinds of disturbances of each step that had any.
func (r *Run) disturbedSteps() map[int]string {
	kinds := make(map[int][]string)
	for _, d := range r.Disturbances() {
		for _, step := range d.Steps {
			kinds[step] = append(kinds[step], d.Kind)
		}
	}
	out := make(map[int]string, len(kinds))
	for step, all := range kinds {
		slices.Sort(all)
		out[step] = strings.Join(slices.Compact(all), ", ")
	}
	return out
}

// Undisturbed are the rows of a frame in which nothing disturbed what was measured, and
// how many others there are. That a node's own CPU limit held it back does not count:
// the limit is part of what is measured. Where it is not known, nothing disturbed.
func Undisturbed(f *frame.Frame) (rows *frame.Frame, others int) {
	return NotDisturbedBy(f, func(kind string) bool { return kind != "" && kind != "no" && kind != KindThrottled })
}

// NotDisturbedBy are the rows of a frame that nothing of certain kinds disturbed, and how many
// others there are.
func NotDisturbedBy(f *frame.Frame, certain func(kind string) bool) (rows *frame.Frame, others int) {
	x := f.Fact(frame.FactDisturbed)
	if x == nil {
		return f, 0
	}
	counts := make([]bool, len(x.Levels))
	for code, level := range x.Levels {
		for kind := range strings.SplitSeq(level, ", ") {
			counts[code] = counts[code] || certain(kind)
		}
	}
	if !slices.ContainsFunc(x.Codes, func(code uint16) bool { return counts[code] }) {
		return f, 0
	}
	rows = f.Where(func(row int) bool { return !counts[x.Codes[row]] })
	return rows, f.Len() - rows.Len()
}

// factsOf is what is known of one value.
func (r *Run) factsOf(v Value, node map[string]string, disturbed map[int]string) map[string]string {
	s := r.Steps()[v.Step]
	out := map[string]string{
		frame.FactSubject: string(v.Subject), frame.FactTrial: strconv.Itoa(v.Trial), frame.FactRun: string(r.Run().ID),
		frame.FactDisturbed: cmp.Or(disturbed[v.Step], "no"), frame.FactVersion: r.Run().Version,
	}
	if s.Block > 0 {
		out[frame.FactBlock] = strconv.Itoa(s.Block)
	}
	for key, level := range s.Levels {
		out[key] = fmt.Sprint(level)
	}
	for name, level := range node {
		if _, taken := out[name]; !taken {
			out[name] = level
		}
	}
	return out
}

// subjectFacts are the facts of the nodes, and of the pairs that were measured.
func (r *Run) subjectFacts() map[model.NodeID]map[string]string {
	out := make(map[model.NodeID]map[string]string)
	file := "" // not known
	if source := r.Run().Source; source != "" {
		file = fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(source)))
	}
	for _, n := range r.Nodes() {
		out[n.ID] = nodeFacts(n)
		if file != "" {
			out[n.ID][frame.FactFile] = file
		}
	}
	for _, s := range r.Steps() {
		ends := make(map[model.NodeID][]model.NodeID)
		for _, t := range s.Tasks {
			if t.Spec.Subject != "" && t.Spec.Role != model.RoleServe {
				ends[SubjectOf(t)] = slices.Concat(ends[SubjectOf(t)], []model.NodeID{t.Node}, t.Spec.Peers)
			}
		}
		for pair, nodes := range ends {
			if out[pair] == nil {
				slices.Sort(nodes)
				out[pair] = pairFacts(slices.Compact(nodes), out)
			}
		}
	}
	return out
}

// pairFacts is what is known of the nodes of a pair together.
func pairFacts(nodes []model.NodeID, known map[model.NodeID]map[string]string) map[string]string {
	out := make(map[string]string)
	names := make(map[string]bool)
	for _, n := range nodes {
		for name := range known[n] {
			names[name] = true
		}
	}
	for name := range names {
		var levels []string
		for _, n := range nodes {
			if level := known[n][name]; level != "" {
				levels = append(levels, level)
			}
		}
		slices.Sort(levels)
		if of := slices.Compact(levels); len(levels) == len(nodes) {
			out[name] = strings.Join(of, " | ")
			if name == "zone" || name == model.LabelGroup {
				out["same_"+name] = map[bool]string{true: "yes", false: "no"}[len(of) == 1]
			}
		}
	}
	return out
}

// nodeFacts are the facts of a node that may explain what it measures.
func nodeFacts(n model.Node) map[string]string {
	f := n.Facts
	out := map[string]string{
		"cpu_model": f.CPUModel, "microcode": f.Microcode, "kernel": f.Kernel, "os": f.OS, "hypervisor": f.Hypervisor,
		"host": f.BootID, "agent": f.Agent,
	}
	if f.Cores > 0 {
		out["cores"] = strconv.Itoa(f.Cores)
	}
	if f.CPULimit > 0 {
		out["cpu_limit"] = strconv.FormatFloat(f.CPULimit, 'g', 4, 64)
	}
	if f.Memory > 0 {
		out["memory"] = strconv.FormatInt(f.Memory>>20, 10) + " MiB"
	}
	if f.Cloud != nil {
		out["instance_type"], out["zone"], out["instance"] = f.Cloud.InstanceType, f.Cloud.Zone, f.Cloud.InstanceID
	}
	for name, level := range n.Labels {
		if name != model.LabelAddress {
			out[name] = level
		}
	}
	maps.DeleteFunc(out, func(_, level string) bool { return level == "" })
	return out
}

// factColumns makes columns of what is known of each row.
func factColumns(rows []map[string]string) []frame.Fact {
	names := make(map[string]bool)
	for _, row := range rows {
		for name := range row {
			names[name] = true
		}
	}
	out := make([]frame.Fact, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		x := frame.NewFact(name)
		for _, row := range rows {
			x.Append(row[name])
		}
		out = append(out, x.Fact())
	}
	return out
}
