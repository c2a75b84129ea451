package design

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/unit"
)

// linksOf are the rates of the links that a treatment may raise: those that a lab gives
// its nodes, whatever the hour. What is behind an uplink shares that, too, and more of
// the link alone need not be more; and what a service says of its link is not the lab's.
func linksOf(exp *experiment.Experiment) map[model.NodeID]float64 {
	out := make(map[model.NodeID]float64)
	l := exp.Fleet.Lab
	if l == nil || l.Busy != nil {
		return out
	}
	for _, h := range l.Hosts(nil) {
		n := model.Node{ID: h.Name, Labels: h.NodeLabels()}
		told := slices.ContainsFunc(exp.Services, func(s experiment.Service) bool {
			return s.Bounds != nil && s.Bounds.Link != (unit.Rate{}) && n.Has(s.On)
		})
		rate, err := h.Link.BytesPerSecond()
		if err == nil && rate > 0 && !told && l.UplinkOf(h) == (unit.Rate{}) {
			out[h.Name] = rate
		}
	}
	return out
}

// volumesOf are the volumes that a lab gives its nodes.
func volumesOf(exp *experiment.Experiment) (out []study.Volume) {
	l := exp.Fleet.Lab
	if l == nil {
		return nil
	}
	for _, h := range l.Hosts(exp.HostServices()) {
		for _, v := range l.Volumes {
			if slices.Contains(h.Use, v.Name) {
				out = append(out, study.Volume{Name: v.Name, Node: h.Name, VolumeLevel: v.Level()})
			}
		}
	}
	return out
}

// volumes are the limits that volumes have in a step, of which a treatment sets some.
func (b *builder) volumes(want map[string]study.VolumeLevel) (map[string]study.VolumeLevel, error) {
	var out map[string]study.VolumeLevel
	for _, v := range b.setup.Volumes {
		if out == nil && v.VolumeLevel != (study.VolumeLevel{}) {
			out = make(map[string]study.VolumeLevel)
		}
		if v.VolumeLevel != (study.VolumeLevel{}) {
			out[v.Name] = v.VolumeLevel
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		level, is := want[name], out[name]
		if is == (study.VolumeLevel{}) {
			return nil, fmt.Errorf("the treatment sets limits of the volume %q, of which the fleet sets none", name)
		}
		ops, bytes := level.IOPS, math.Round(level.Bandwidth)
		if ops < 0 || !(bytes >= 0) {
			return nil, fmt.Errorf("the treatment gives the volume %s %d operations and %v bytes a second", name, ops, bytes)
		}
		out[name] = study.VolumeLevel{IOPS: cmp.Or(ops, is.IOPS), Bandwidth: cmp.Or(bytes, is.Bandwidth)}
	}
	return out, nil
}

// links are the rates of the links of a step's services.
func (b *builder) links(tiers []tier) (map[model.NodeID]model.Link, error) {
	out := make(map[model.NodeID]model.Link)
	for _, t := range tiers {
		for _, id := range t.nodes {
			rate, is := b.setup.Links[id], out[id]
			is.Out, is.In = max(is.Out, rate*cmp.Or(t.raised.Out, 1)), max(is.In, rate*cmp.Or(t.raised.In, 1))
			if rate > 0 {
				out[id] = is
			} else if t.raised != (model.Link{}) {
				return nil, fmt.Errorf("the treatment raises the link of node %s, which the fleet does not set", id)
			}
		}
	}
	return out, nil
}
