package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Bounds of quantities, which tags cannot express.
const (
	minOutput   = unit.KiB
	maxOutput   = 256 * unit.KiB // stdout, stderr and the series share one message of the queue
	maxArtifact = unit.GiB

	longestRun = 10 * 366 * 24 * time.Hour
)

// checkTop notes impossible values outside the workloads.
func (r *reader) checkTop(e *Experiment) {
	for key, d := range map[string]unit.Duration{"task": e.Timeouts.Task, "ready": e.Timeouts.Ready, "node": e.Timeouts.Node} {
		if d <= 0 {
			r.report([]string{"timeouts", key}, "a timeout must be longer than 0s", "")
		}
	}
	if e.Output.Limit < minOutput || e.Output.Limit > maxOutput {
		r.report([]string{"output", "limit"}, fmt.Sprintf("%s is not possible", e.Output.Limit), fmt.Sprintf("use %s to %s", minOutput, maxOutput))
	}
	if e.Output.Artifact > maxArtifact {
		r.report([]string{"output", "artifact"}, fmt.Sprintf("%s is too large", e.Output.Artifact), fmt.Sprintf("use 0B to %s", maxArtifact))
	}
	if e.Every.Std() > longestRun/time.Duration(max(e.Trials, 1)) {
		r.report([]string{"every"}, fmt.Sprintf("%d trials at this distance take more than 10 years", e.Trials), "use a shorter time, or fewer trials")
	}
	r.checkSchedule(e)
	r.checkLab(e)
	r.checkServices(e)
}

// checkSchedule notes what is impossible whenever a campaign is made of the
// file. A length of nothing would be taken for none given.
func (r *reader) checkSchedule(e *Experiment) {
	path := []string{"schedule"}
	if e.Schedule == nil || !r.clean(path...) {
		return
	}
	if length := extend(path, "for"); r.root.has(length) && e.Schedule.For == 0 {
		r.report(length, "a schedule must be longer than 0s", "leave it out for one without end")
		return
	}
	if err := e.Schedule.Validate(); err != nil {
		r.reportErrors(path, err)
	}
}

// checkLab notes what a lab says against its specification. Of one in which
// decoding found problems only a part is left: of that, what is wrong by
// itself is noted, and nothing that may follow from the rest being away.
func (r *reader) checkLab(e *Experiment) {
	if e.Fleet.Lab == nil {
		return
	}
	err := e.Fleet.Lab.Validate()
	if err == nil {
		return
	}
	path := []string{"fleet", "lab"}
	if r.clean(path...) {
		r.reportErrors(path, err)
		return
	}
	volumes := r.clean("fleet", "lab", "volumes")
	for _, one := range model.Single(err) {
		fe, ok := errors.AsType[*model.InputError](one)
		if !ok {
			continue
		}
		at := slices.Concat(path, fieldPath(fe.Path))
		// What was complained about is away, and so found missing.
		if r.root.has(at) && r.clean(at...) && (volumes || !slices.Contains(at, "use")) {
			r.report(at, fe.Problem, fe.Allowed)
		}
	}
}

// checkVolume notes a volume that the nodes of a workload do not have, or that
// is too small. Only of a lab and of a local fleet is that known beforehand.
func (r *reader) checkVolume(w *Workload, e *Experiment, path []string) {
	user, ok := w.Bench.(workload.VolumeUser)
	if !ok || !r.clean("fleet") || !r.clean(path...) {
		return
	}
	has := 0
	if e.Fleet.Lab != nil {
		for _, h := range takingPart(w, e.Fleet.Lab) {
			has = max(has, len(h.Use))
		}
	}
	names, need, ok := user.UsesVolumes(has)
	if !ok {
		return
	}
	for _, name := range names {
		key := "volume"
		if r.root.has(extend(path, "volumes")) {
			key = "volumes"
		}
		switch {
		case e.Fleet.Lab != nil:
			r.checkLabVolume(w, e, path, key, name, need)
		case e.Fleet.Local != nil && name != "":
			r.report(extend(path, key), "the nodes of a local fleet have no volumes",
				"give path: instead, or use a lab with volumes")
			return
		}
	}
}

func (r *reader) checkLabVolume(w *Workload, e *Experiment, path []string, key, name string, need unit.Size) {
	hosts := takingPart(w, e.Fleet.Lab)
	for _, h := range hosts {
		switch {
		case name == "" && len(h.Use) > 1:
			r.report(extend(path, key), fmt.Sprintf("node %s has the volumes %s", h.Name, strings.Join(h.Use, ", ")),
				"say which one: volume: NAME")
			return
		case name != "" && !slices.Contains(h.Use, name):
			r.report(extend(path, key), fmt.Sprintf("node %s has no volume %q", h.Name, name), volumesOf(h, name))
			return
		}
	}
	for _, v := range e.Fleet.Lab.Volumes {
		users := slices.DeleteFunc(slices.Clone(hosts), func(h lab.Host) bool {
			return !slices.Contains(h.Use, v.Name) || name != "" && name != v.Name
		})
		if len(users) > 0 {
			r.checkRoom(v, e.atOnce(v, len(users)), extend(path, "size"), need)
		}
	}
}

// checkRoom notes that so many nodes do not find room on a volume.
func (r *reader) checkRoom(v lab.Volume, nodes int, path []string, need unit.Size) {
	has := cmp.Or(v.Size, lab.DefaultVolume)
	// A file system takes a part of its device for itself, how much the node
	// finds out.
	fits := need < has/unit.Size(nodes) || v.Type == lab.Raw && need == has
	if v.Type == lab.Folder || need == 0 || fits {
		return
	}
	problem := fmt.Sprintf("%s does not fit on volume %s, which has %s", need, v.Name, has)
	if nodes > 1 {
		problem = fmt.Sprintf("%s for each of %d nodes does not fit on volume %s, which has %s for all of them", need, nodes, v.Name, has)
	}
	r.report(path, problem, "give the workload a smaller size, or the volume a larger one")
}

// atOnce is how many of n nodes keep a file on one volume at the same time. All
// use the same part of a raw one.
func (e *Experiment) atOnce(v lab.Volume, n int) int {
	several := func(p model.Phase) bool { return p != model.Serial }
	if !v.Shared || v.Type == lab.Raw || !slices.ContainsFunc(e.Evaluations, several) {
		return 1
	}
	return n
}

// takingPart are the nodes of a lab that a workload runs on; none if its
// labels fit no node, which the planner reports.
func takingPart(w *Workload, spec *lab.Spec) []lab.Host {
	return slices.DeleteFunc(spec.Hosts(nil), func(h lab.Host) bool {
		return !model.Node{Labels: h.NodeLabels()}.Has(w.On)
	})
}

func volumesOf(h lab.Host, name string) string {
	if len(h.Use) == 0 {
		return "it has no volumes: give the lab volumes:, or give path: instead"
	}
	all := "it has " + strings.Join(h.Use, ", ")
	if s := num.Suggest(name, h.Use); s != "" {
		return fmt.Sprintf("did you mean %q? I%s", s, all[1:])
	}
	return all
}
