package design

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload/service"
)

// tier is a service of a step: on these nodes, an instance each.
type tier struct {
	experiment.Service
	nodes []model.NodeID
	level model.ServiceLevel

	want  int
	on    map[string]string // labels of its nodes
	hosts string            // see study.ServiceLevel
	// raised is how many times as much their links have; 0: as much.
	raised model.Link
}

// serviceError is about a key of a service of the file.
func serviceError(name, key, problem, allowed string) error {
	return &model.InputError{Path: "services." + name + "." + key, Problem: problem, Allowed: allowed}
}

// tiers are the services of a treatment on their nodes, in the order of the file.
func (b *builder) tiers(t study.Treatment) ([]tier, error) {
	var out []tier
	known := make(map[string]bool)
	for _, s := range b.exp.Services {
		if known[s.Name] = s.OnNodes(); !s.OnNodes() {
			continue
		}
		one, err := tierOf(s, t.Services[s.Name])
		if err != nil {
			return nil, err
		}
		if one.want > 0 {
			out = append(out, one)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Services)) {
		if !known[name] {
			return nil, fmt.Errorf("the treatment sets the service %q, and no service of that name runs on nodes (on)", name)
		}
	}
	nodes := slices.DeleteFunc(slices.Clone(b.setup.Nodes), func(n model.Node) bool { return slices.Contains(t.Without, n.ID) })
	if err := place(out, nodes); err != nil {
		return nil, err
	}
	b.note(company(out)...)
	return out, checkPorts(out, b.setup.Nodes)
}

// note tells whoever reads the design, each thing once.
func (b *builder) note(notes ...string) {
	for _, n := range notes {
		if !slices.Contains(b.notes, n) {
			b.notes = append(b.notes, n)
		}
	}
}

// neverCome are the limits of services that would change after the end of a workload.
func neverCome(tiers []tier, w experiment.Workload) (out []string) {
	lasts := w.Estimate()
	for _, t := range tiers {
		for _, step := range t.Steps {
			if lasts > 0 && step.At.Std() >= lasts {
				out = append(out, fmt.Sprintf("services.%s.steps: %s is not before the end of %s, which takes about %s: in steps of %s this limit never comes", t.Name, step.At, w.Name, unit.Duration(lasts), w.Name))
			}
		}
	}
	return out
}

func tierOf(s experiment.Service, level study.ServiceLevel) (out tier, err error) {
	want := s.Instances()
	if level.Count != 0 {
		want = max(level.Count, 0)
	}
	on := maps.Clone(s.On)
	maps.Copy(on, level.On)
	if level.CPU > 0 {
		s.Settings = s.WithCPU(level.CPU)
	}
	if level.Memory > 0 {
		s.Settings = s.WithMemory(level.Memory)
	}
	s.Environ, err = s.WithSizes(level.Sizes)
	return tier{Service: s, want: want, on: on, hosts: level.Hosts, raised: model.Link{Out: level.LinkOut, In: level.LinkIn}}, err
}

// checkPorts refuses instances that would listen at the same address and port.
// Nodes of a local fleet have one address.
func checkPorts(tiers []tier, nodes []model.Node) error {
	address := make(map[model.NodeID]string)
	for _, n := range nodes {
		address[n.ID] = n.Labels[model.LabelAddress]
		switch {
		case address[n.ID] != "":
		case n.Labels[model.LabelFleet] == model.FleetLocal:
			address[n.ID] = "this machine's"
		case len(n.Facts.Addresses) > 0:
			address[n.ID] = n.Facts.Addresses[0]
		}
	}
	taken := make(map[string]string)
	for _, t := range tiers {
		for _, id := range t.nodes {
			if t.Port == 0 || address[id] == "" {
				continue
			}
			at := address[id] + " port " + strconv.Itoa(t.Port)
			if other, ok := taken[at]; ok {
				return serviceError(t.Name, "port", fmt.Sprintf("on %s it would listen at the same address and port as %s", id, other), "use another port, other nodes, or a lab, in which each node has an address")
			}
			taken[at] = fmt.Sprintf("%s on %s", t.Name, id)
		}
	}
	return nil
}

// used are the nodes that the services of the file use.
func (b *builder) used() (map[model.NodeID]bool, error) {
	tiers, err := b.tiers(study.Treatment{})
	out := make(map[model.NodeID]bool)
	for _, t := range tiers {
		for _, id := range t.nodes {
			out[id] = true
		}
	}
	return out, err
}

// served are the services of all steps that have the same of them, as trials have: all
// of it is shared, and read only.
type served struct {
	services map[string]model.ServiceLevel
	links    map[model.NodeID]model.Link
	await    []model.Check // of what measures
	nodes    []model.NodeID
	specs    map[model.NodeID]model.Spec // of these nodes
}

// serve adds to a step the services of its treatment: to the tasks that measure,
// that they wait for all of them; and a task for each node that runs some.
func (b *builder) serve(s *model.Step, t study.Treatment, w experiment.Workload, at string) error {
	x, err := b.served(t, w, at)
	if err != nil || len(x.nodes) == 0 {
		return err
	}
	s.Services, s.Links = x.services, x.links
	for i := range s.Tasks {
		if node := s.Tasks[i].Node; slices.Contains(x.nodes, node) {
			return &model.InputError{Path: at + ".on", Problem: fmt.Sprintf("node %s runs a service in the same step, and does one thing at a time", node), Allowed: "let it run on other nodes: on: {group: NAME}"}
		}
		s.Tasks[i].Spec.Await = x.await
	}
	s.Barrier = true // what is served begins when all is warm
	for _, id := range x.nodes {
		s.Tasks = append(s.Tasks, newTask(s.ID, len(s.Tasks), id, x.specs[id]))
	}
	return nil
}

// served are the services of a treatment, made and checked once for all trials.
func (b *builder) served(t study.Treatment, w experiment.Workload, at string) (*served, error) {
	key, err := json.Marshal([]any{t.Workload, t.Levels, t.Services, t.Without})
	if err != nil {
		return nil, fmt.Errorf("encoding the treatment: %w", err)
	}
	if x, ok := b.services[string(key)]; ok {
		return x, nil
	}
	x, err := b.serving(t, w, at)
	if err == nil {
		b.services[string(key)] = x
	}
	return x, err
}

func (b *builder) serving(t study.Treatment, w experiment.Workload, at string) (*served, error) {
	x := &served{services: make(map[string]model.ServiceLevel), specs: make(map[model.NodeID]model.Spec)}
	tiers, err := b.tiers(t)
	if err != nil || len(tiers) == 0 {
		return x, err
	}
	b.note(neverCome(tiers, w)...)
	counts := make(map[string]int)
	for _, one := range tiers {
		x.services[one.Name] = one.level
		counts[one.Name] = len(one.nodes)
		x.nodes = append(x.nodes, one.nodes...)
	}
	slices.Sort(x.nodes)
	x.nodes = slices.Compact(x.nodes)
	if err := b.checkRefs(tiers, counts, w, at); err != nil {
		return x, err
	}
	if x.links, err = b.links(tiers); err != nil {
		return x, err
	}
	checks := checksOf(tiers, b.exp.Timeouts.Ready)
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		x.await = append(x.await, checks[name]...)
	}
	for _, id := range x.nodes {
		if x.specs[id], err = b.serviceSpec(id, tiers, checks, w); err != nil {
			return x, err
		}
	}
	return x, nil
}

// checksOf says how the health of each instance is seen from elsewhere.
func checksOf(tiers []tier, ready unit.Duration) map[string][]model.Check {
	out := make(map[string][]model.Check)
	for _, t := range tiers {
		c, ok := t.Check()
		if !ok {
			continue
		}
		for i := range t.nodes {
			out[t.Name] = append(out[t.Name], checkOf(c, i, ready))
		}
	}
	return out
}

func checkOf(c model.Check, index int, ready unit.Duration) model.Check {
	c.Index, c.Address, c.Within = index, model.InstancePlaceholder(c.Service, index), ready.Std()
	own := strings.NewReplacer(model.SelfPlaceholder, c.Address, model.IndexPlaceholder, strconv.Itoa(index))
	c.HTTP, c.Command = own.Replace(c.HTTP), own.Replace(c.Command)
	return c
}

// serviceSpec is the task of a node that runs services.
func (b *builder) serviceSpec(node model.NodeID, tiers []tier, checks map[string][]model.Check, w experiment.Workload) (model.Spec, error) {
	p := service.Params{Hosts: make(map[string][]string), Ports: make(map[string]int), Ready: b.exp.Timeouts.Ready}
	stops := time.Duration(0)
	for _, t := range inOrder(tiers) {
		for i, id := range t.nodes {
			p.Hosts[t.Name] = append(p.Hosts[t.Name], model.InstancePlaceholder(t.Name, i))
			if id != node {
				continue
			}
			c, _ := t.Check()
			one := service.Instance{
				Name: t.Name, Index: i, Command: t.Command, Port: t.Port, Environ: t.Environ, PassEnv: t.PassEnv,
				Settings: t.Settings, Own: checkOf(c, i, b.exp.Timeouts.Ready), Link: b.link(t.Service, id),
			}
			for _, name := range t.After {
				one.Await = append(one.Await, checks[name]...)
			}
			p.Services = append(p.Services, one)
			stops += service.StopsWithin(t.Settings)
		}
		if t.Port != 0 {
			p.Ports[t.Name] = t.Port
		}
	}
	spec := specOf(w, b.exp.Output)
	spec.Kind, spec.Role = model.KindService, model.RoleServe
	// The bound is for services that are not told to end. They are, when all have
	// ended that measure.
	spec.Timeout = max(w.Timeout.Std(), b.exp.Timeouts.Ready.Std()) + stops + afterwards
	var err error
	spec.Params, err = paramsOf(&p)
	return spec, err
}

// link is the rate of the link of a service's node in bytes a second, where it is
// known: by the file, or because the lab sets it; else 0.
func (b *builder) link(s experiment.Service, node model.NodeID) float64 {
	var rate unit.Rate
	if s.Bounds != nil {
		rate = s.Bounds.Link
	}
	if l := b.exp.Fleet.Lab; rate == (unit.Rate{}) && l != nil && l.Busy == nil {
		for _, h := range l.Hosts(nil) {
			if h.Name == node {
				rate = h.Link
			}
		}
	}
	if rate == (unit.Rate{}) {
		return 0
	}
	bytes, err := rate.BytesPerSecond()
	if err != nil {
		return 0 // the file was refused for it
	}
	return bytes
}

// afterwards is what results and files of a step may take to be delivered.
const afterwards = 5 * time.Minute

// paramsOf are parameters in the form that they have in a task.
func paramsOf(p any) (map[string]any, error) {
	out, err := throughJSON(map[string]any{"p": p})
	if err != nil {
		return nil, err
	}
	params, ok := out["p"].(map[string]any)
	if !ok {
		return nil, errors.New("the parameters of services are no object")
	}
	return params, nil
}

// inOrder sorts services such that each comes after those that it waits for; else
// they stay in the order of the file.
func inOrder(tiers []tier) []tier {
	var out []tier
	placed := make(map[string]bool)
	for _, t := range tiers {
		placed[t.Name] = false
	}
	for len(out) < len(tiers) {
		before := len(out)
		for _, t := range tiers {
			waits := slices.ContainsFunc(t.After, func(name string) bool { done, here := placed[name]; return here && !done })
			if !placed[t.Name] && !waits {
				out, placed[t.Name] = append(out, t), true
			}
		}
		if len(out) == before {
			return append(out, tiers...) // a cycle, which the file was refused for
		}
	}
	return out
}

// checkRefs refuses what names an instance that the step does not have.
func (b *builder) checkRefs(tiers []tier, counts map[string]int, w experiment.Workload, at string) error {
	errs := []error{checkValue(w.Params, at, counts, b.hosted())}
	for _, t := range tiers {
		params, err := throughJSON(map[string]any{"command": t.Command, "environ": t.Environ, "files": t.Files, "healthy": t.Healthy, "warm": t.Warm, "probes": t.Probes, "reset": t.Reset})
		errs = append(errs, err, checkValue(params, "services."+t.Name, counts, b.hosted()))
		for _, one := range model.Single(t.CheckInstances(t.Name, counts)) {
			if bad, ok := errors.AsType[*model.InputError](one); ok {
				one = serviceError(t.Name, strings.NewReplacer("[", ".", "]", "").Replace(bad.Path), bad.Problem, bad.Allowed)
			}
			errs = append(errs, one)
		}
		for _, name := range t.After {
			if counts[name] == 0 {
				errs = append(errs, serviceError(t.Name, "after", name+" takes no part in this step", "give it a count"))
			}
		}
	}
	return errors.Join(errs...)
}

// hosted are the services that have hosts of their own.
func (b *builder) hosted() map[string]bool {
	out := make(map[string]bool)
	for _, s := range b.exp.HostServices() {
		out[s.Name] = true
	}
	return out
}

// checkValue looks for placeholders in a value of a file.
func checkValue(v any, at string, counts map[string]int, hosted map[string]bool) error {
	var errs []error
	switch v := v.(type) {
	case string:
		for ref := range model.ServiceRefs(v) {
			n, on := counts[ref.Name]
			if !on && hosted[ref.Name] {
				n = 1
			}
			switch {
			case n == 0:
				errs = append(errs, &model.InputError{Path: at, Problem: fmt.Sprintf("%s: the service takes no part in this step", ref.Text), Allowed: "give it a count"})
			case ref.Index >= n:
				errs = append(errs, &model.InputError{Path: at, Problem: fmt.Sprintf("%s: the service has %d of these, counted from 0", ref.Text, n), Allowed: "name another one, or give the service a larger count"})
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			errs = append(errs, checkValue(v[key], at+"."+key, counts, hosted))
		}
	case []any:
		for i := range v {
			errs = append(errs, checkValue(v[i], at+"."+strconv.Itoa(i), counts, hosted))
		}
	}
	return errors.Join(errs...)
}

// servicesOf are the services on nodes as designs know them.
func servicesOf(exp *experiment.Experiment) []study.Service {
	var out []study.Service
	for _, s := range exp.Services {
		if s.OnNodes() {
			out = append(out, study.Service{Name: s.Name, On: s.On, Count: s.Instances(), CPU: s.CPU()})
		}
	}
	return out
}
