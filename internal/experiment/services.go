package experiment

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/environ"
	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload/service"
)

// Service is one entry of services: one that runs on nodes of the fleet where it
// has On, and else on a host of a lab of its own.
type Service struct {
	lab.Service
	On    map[string]string `json:"on,omitempty" jsonschema_description:"Labels of the nodes of the fleet on which it runs, for one step at a time: {group: db}. Without it the service has a host of its own, in a lab only, of which nothing is recorded."`
	Count int               `json:"count,omitempty" jsonschema:"minimum=1,maximum=200" jsonschema_description:"On how many of these nodes, the first by their names. Default: 1. A study may set it for each trial."`
	Sizes Sizes             `json:"sizes,omitzero" jsonschema_description:"Variables of environ from which the command takes how large something is, so that a study can change it: {pool: POOL}."`
	service.Settings
}

// OnNodes reports whether the service runs on nodes of the fleet.
func (s Service) OnNodes() bool { return len(s.On) > 0 }

// Instances is on how many nodes it runs unless a study says otherwise.
func (s Service) Instances() int { return max(s.Count, 1) }

// Check is how the health of the service is seen; ok is false where there is
// nothing to look at. Its address is left to the caller.
func (s Service) Check() (c model.Check, ok bool) {
	c = model.Check{Service: s.Name, Port: s.Port}
	if h := s.Healthy; h != nil {
		c.HTTP, c.Command = h.HTTP, h.Command
		if h.Port != 0 {
			c.Port = h.Port
		}
	}
	return c, c.Port != 0 || c.HTTP != "" || c.Command != ""
}

// HostServices are those that have hosts of a lab of their own.
func (e *Experiment) HostServices() []lab.Service {
	var out []lab.Service
	for _, s := range e.Services {
		if !s.OnNodes() {
			out = append(out, s.Service)
		}
	}
	return out
}

// onNodes are the names of the services that run on nodes, sorted.
func (e *Experiment) onNodes() (names []string) {
	for _, s := range e.Services {
		if s.OnNodes() {
			names = append(names, s.Name)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// checkServices notes impossible services.
func (r *reader) checkServices(e *Experiment) {
	if len(e.Services) == 0 || !r.clean("fleet") || !r.clean("services") {
		return
	}
	r.checkHostServices(e)
	first := make(map[string]int)
	for i, s := range e.Services {
		path := []string{"services", strconv.Itoa(i)}
		if was, taken := first[s.Name]; taken && (s.OnNodes() || e.Services[was].OnNodes()) {
			r.report(extend(path, "name"), fmt.Sprintf("%q is already used: another service has that name", s.Name), "use another name")
		}
		first[s.Name] = i
		r.checkEnviron(s, path)
		if s.OnNodes() {
			r.checkOnNodes(e, s, path)
		} else {
			r.onlyOnNodes(path)
		}
	}
	r.checkOrder(e)
}

// checkEnviron notes what no variable can be called: what is behind an equals sign
// would be a part of the value.
func (r *reader) checkEnviron(s Service, path []string) {
	for _, name := range slices.Sorted(maps.Keys(s.Environ)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			r.report(extend(path, "environ"), fmt.Sprintf("%q cannot name a variable", clip(name)), "use letters, digits and _, as in environ: {PORT: \"80\"}")
		}
	}
}

// checkHostServices notes those without a lab, and what a lab cannot do.
func (r *reader) checkHostServices(e *Experiment) {
	var at []string // of each, in the list of all
	for i, s := range e.Services {
		if !s.OnNodes() {
			at = append(at, strconv.Itoa(i))
		}
	}
	if len(at) == 0 {
		return
	}
	if e.Fleet.Lab == nil {
		r.report([]string{"services", at[0]}, "only a lab has hosts for services",
			"say on which nodes it runs (on: {group: db}), use fleet: {lab: …}, or start the service yourself and give its address to the workloads")
		return
	}
	for _, one := range model.Single(e.Fleet.Lab.ValidateServices(e.HostServices())) {
		fe, ok := errors.AsType[*model.InputError](one)
		if !ok {
			r.report([]string{"services"}, one.Error(), "")
			continue
		}
		path := fieldPath(fe.Path)
		if n, err := strconv.Atoi(path[0]); err == nil {
			path[0] = at[n]
		}
		r.report(append([]string{"services"}, path...), fe.Problem, fe.Allowed)
	}
}

// keys that only one sort of services reads.
var (
	nodeKeys = []string{"count", "sizes", "volume", "files", "reset", "after", "healthy", "warm", "limits", "steps", "keep", "stop_timeout", "probes", "every"}
	hostKeys = []string{"link", "delay", "queue", "cpu", "memory", "use"}
)

// onlyOnNodes notes keys of services on nodes where the service is on none.
func (r *reader) onlyOnNodes(path []string) {
	if at := extend(path, "on"); r.root.has(at) {
		r.report(at, "it has no labels", "name those of the nodes: on: {group: db}")
		return
	}
	for _, key := range nodeKeys {
		if at := extend(path, key); r.root.has(at) {
			r.report(at, "only a service on nodes of the fleet has "+key, "say on which nodes it runs: on: {group: db}")
		}
	}
}

// checkOnNodes notes what is impossible of a service on nodes.
func (r *reader) checkOnNodes(e *Experiment, s Service, path []string) {
	for _, key := range hostKeys {
		if at := extend(path, key); r.root.has(at) {
			r.report(at, fmt.Sprintf("%s is for services with a host of their own in a lab", key), "use limits: {cpu: …, memory: …}, or the limits of the nodes (fleet.lab.groups)")
		}
	}
	if strings.TrimSpace(s.Command) == "" {
		r.report(extend(path, "command"), "is empty", "give the shell command that runs the service")
	}
	if problem, allowed := environ.Check(s.PassEnv); problem != "" {
		r.report(extend(path, "pass_env"), problem, allowed)
	}
	err := s.Validate()
	if err == nil {
		err = s.CheckTemplates(e.onNodes())
	}
	if err != nil {
		r.reportErrors(path, err)
	}
	if h := s.Healthy; h != nil && h.Within > e.Timeouts.Ready {
		r.report(append(slices.Clone(path), "healthy", "within"), fmt.Sprintf("%s is longer than all of the preparation may take (timeouts.ready: %s)", h.Within, e.Timeouts.Ready), "give timeouts.ready more")
	}
	r.checkSizes(s, path)
	r.checkNodesOf(e, s, path)
	r.checkRefs(r.root.find(path), path)
}

// checkNodesOf notes limits that the nodes of a lab do not have.
func (r *reader) checkNodesOf(e *Experiment, s Service, path []string) {
	if e.Fleet.Lab == nil {
		return
	}
	for _, h := range e.Fleet.Lab.Hosts(nil) {
		if !(model.Node{Labels: h.NodeLabels()}).Has(s.On) {
			continue
		}
		if most := s.MostCPU(); h.CPU > 0 && most > h.CPU {
			r.report(extend(path, "limits"), fmt.Sprintf("it is to have %v cores, and its node %s has %v", most, h.Name, h.CPU), "give the node more, or the service less")
			return
		}
		if need := s.Memory(); h.Memory > 0 && need > h.Memory {
			r.report(extend(path, "limits"), fmt.Sprintf("it is to have %s of memory, and its node %s has %s", need, h.Name, h.Memory), "give the node more, or the service less")
			return
		}
		if s.Volume != "" && !slices.Contains(h.Use, s.Volume) {
			r.report(extend(path, "volume"), fmt.Sprintf("node %s has no volume %q", h.Name, s.Volume), volumesOf(h, s.Volume))
			return
		}
	}
}

// checkRefs notes placeholders in a value that name no service.
func (r *reader) checkRefs(v *value, path []string) {
	if v == nil {
		return
	}
	known := slices.Compact(slices.Sorted(slices.Values(r.serviceNames())))
	var walk func(v *value, path []string)
	walk = func(v *value, path []string) {
		r.standIns(v.text(), path, known)
		for key, val := range v.members() {
			walk(val, extend(path, key.Value))
		}
		for i, item := range v.items() {
			walk(item, extend(path, strconv.Itoa(i)))
		}
	}
	walk(v, path)
}

// checkOrder notes services that come after others that cannot be waited for, and
// cycles.
func (r *reader) checkOrder(e *Experiment) {
	at := make(map[string]int)
	var names []string
	for i, s := range e.Services {
		at[s.Name], names = i, append(names, s.Name)
	}
	for i, s := range e.Services {
		for k, name := range s.After {
			path := []string{"services", strconv.Itoa(i), "after", strconv.Itoa(k)}
			j, known := at[name]
			switch {
			case !known:
				r.report(path, fmt.Sprintf("unknown service %q", clip(name)), servicesAllowed(name, slices.Compact(slices.Sorted(slices.Values(names)))))
			case !e.Services[j].OnNodes():
				r.report(path, fmt.Sprintf("%s runs for as long as the lab is up: it is there before", name), "remove it")
			default:
				if _, ok := e.Services[j].Check(); !ok {
					r.report(path, fmt.Sprintf("nothing shows when %s is healthy", name), "give it port or healthy")
				}
			}
		}
	}
	if r.clean("services") {
		r.checkCycle(e, at)
	}
}

// checkCycle notes a cycle, with the way around it.
func (r *reader) checkCycle(e *Experiment, at map[string]int) {
	const open, done = 1, 2
	state := make([]int, len(e.Services))
	var way []string
	var visit func(i int) (cycle []string)
	visit = func(i int) []string {
		name := e.Services[i].Name
		switch state[i] {
		case done:
			return nil
		case open:
			return append(way[slices.Index(way, name):len(way):len(way)], name)
		}
		state[i], way = open, append(way, name)
		for _, next := range e.Services[i].After {
			if cycle := visit(at[next]); cycle != nil {
				return cycle
			}
		}
		state[i], way = done, way[:len(way)-1]
		return nil
	}
	for i := range e.Services {
		if cycle := visit(i); cycle != nil {
			path := []string{"services", strconv.Itoa(at[cycle[0]]), "after"}
			r.report(path, "services wait for each other: "+strings.Join(cycle, " → "), "leave one of them out")
			return
		}
	}
}
