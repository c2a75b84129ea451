package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// defaultVolume is the size of a lab's volume that names none; see
// lab.Volume.Size.
const defaultVolume = unit.GiB

// checkVolume notes a volume that the nodes of a workload do not have, or that
// is too small. Only of a lab and of a local fleet is that known beforehand.
func (c *checker) checkVolume(w *Workload, e *Experiment, path []string) {
	user, ok := w.Bench.(workload.VolumeUser)
	if !ok || !c.clean("fleet") || !c.clean(path...) {
		return
	}
	name, need, ok := user.UsesVolume()
	switch {
	case !ok:
	case e.Fleet.Lab != nil:
		c.checkLabVolume(w, e, path, name, need)
	case e.Fleet.Local != nil && name != "":
		c.report(extend(path, "volume"), "the nodes of a local fleet have no volumes", "give a path: in place of it, or use a lab with volumes")
	}
}

// checkLabVolume is checkVolume for a lab.
func (c *checker) checkLabVolume(w *Workload, e *Experiment, path []string, name string, need unit.Size) {
	hosts := takingPart(w, e.Fleet.Lab)
	for _, h := range hosts {
		switch {
		case name == "" && len(h.Use) > 1:
			c.report(extend(path, "volume"), fmt.Sprintf("node %s has the volumes %s", h.Name, strings.Join(h.Use, ", ")), "say which one: volume: NAME")
			return
		case name != "" && !slices.Contains(h.Use, name):
			c.report(extend(path, "volume"), fmt.Sprintf("node %s has no volume %q", h.Name, name), volumesOf(h, name))
			return
		}
	}
	for _, v := range e.Fleet.Lab.Volumes {
		users := slices.DeleteFunc(slices.Clone(hosts), func(h lab.Host) bool {
			return !slices.Contains(h.Use, v.Name) || name != "" && name != v.Name
		})
		if len(users) > 0 {
			c.checkRoom(v, e.atOnce(v, len(users)), extend(path, "size"), need)
		}
	}
}

// checkRoom notes that so many nodes do not find room on a volume.
func (c *checker) checkRoom(v lab.Volume, nodes int, path []string, need unit.Size) {
	has := v.Size
	if has == 0 {
		has = defaultVolume
	}
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
	c.report(path, problem, "give the workload a smaller size, or the volume a larger one")
}

// atOnce is how many of n nodes keep a file on one volume at the same time. All
// use the same part of a raw one.
func (e *Experiment) atOnce(v lab.Volume, n int) int {
	if !v.Shared || v.Type == lab.Raw || !e.Has(model.Parallel) {
		return 1
	}
	return n
}

// takingPart are the nodes of a lab that a workload runs on; none when its
// labels fit no node, which whoever plans the run notes.
func takingPart(w *Workload, spec *lab.Spec) []lab.Host {
	return slices.DeleteFunc(spec.Hosts(nil), func(h lab.Host) bool {
		labels := map[string]string{model.LabelFleet: model.FleetLab}
		if h.Group != "" {
			labels[model.LabelGroup] = h.Group
		}
		return !model.Node{Labels: labels}.Has(w.On)
	})
}

// volumesOf says which volumes a node has instead.
func volumesOf(h lab.Host, name string) string {
	if len(h.Use) == 0 {
		return "it has no volumes: give the lab volumes:, or a path: in place of it"
	}
	all := "it has " + strings.Join(h.Use, ", ")
	if s := Suggest(name, h.Use); s != "" {
		return fmt.Sprintf("did you mean %q? I%s", s, all[1:])
	}
	return all
}
