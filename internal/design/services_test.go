package design

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload/service"
)

// tiersFile has an application of three tiers.
const tiersFile = `
timeouts: {ready: 90s}
services:
  - {name: web, on: {tier: front}, after: [app], port: 80, command: "serve ${service.app[*]}"}
  - {name: app, on: {tier: front}, after: [db], port: 81, healthy: {http: "http://${self}:81/${index}"}, command: "serve ${service.db}", environ: {THREADS: "8", A: b}, sizes: {threads: THREADS}}
  - {name: db, on: {tier: back}, count: 2, port: 82, command: db, limits: {cpu: 0.2, memory: 64MiB}}
workloads: [{kind: nap, duration: 2s, on: {tier: users}}]
evaluations: [parallel]
`

// tiered are nodes with the label tier.
func tiered(tiers ...string) []model.Node {
	out := make([]model.Node, len(tiers))
	for i, tier := range tiers {
		out[i] = model.Node{ID: model.NodeID(fmt.Sprintf("n%d", i+1)), Labels: map[string]string{"tier": tier}}
		out[i].Facts.Addresses = []string{fmt.Sprintf("10.0.0.%d", i+1)}
	}
	return out
}

// servicesOn are the services of a node's task, in the order in which they start.
func paramsOn(t *testing.T, s model.Step, node model.NodeID) *service.Params {
	t.Helper()
	for _, task := range s.Tasks {
		if task.Node != node || task.Spec.Kind != model.KindService {
			continue
		}
		p := &service.Params{}
		text, err := json.Marshal(task.Spec.Params)
		if err = errors.Join(err, json.Unmarshal(text, p)); err != nil {
			t.Fatal(err)
		}
		if task.Spec.Role != model.RoleServe || p.Validate() != nil {
			t.Errorf("the task on %s has role %q and parameters that are %v", node, task.Spec.Role, p.Validate())
		}
		return p
	}
	t.Fatalf("no services on %s", node)
	return nil
}

// TestServices: each node has its services, in the order in which they need each
// other; what measures waits for all of them, and is elsewhere.
func TestServices(t *testing.T) {
	d, err := Build(parse(t, tiersFile), testRun, tiered("users", "front", "back", "front", "back", "back"))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Steps) != 1 || fmt.Sprint(d.Steps[0].Subjects()) != "[n1]" || !d.Steps[0].Barrier {
		t.Fatalf("steps %v, want one of n1", outline(d))
	}
	s := d.Steps[0]
	want := map[string]model.ServiceLevel{
		"web": {Nodes: []model.NodeID{"n2"}, On: map[string]string{"tier": "front"}, Port: 80},
		"app": {Nodes: []model.NodeID{"n2"}, On: map[string]string{"tier": "front"}, Port: 81, Sizes: map[string]int{"threads": 8}},
		"db":  {Nodes: []model.NodeID{"n3", "n5"}, On: map[string]string{"tier": "back"}, Port: 82, CPU: 0.2, Memory: 64 << 20},
	}
	if diff := cmp.Diff(want, s.Services); diff != "" {
		t.Errorf("services of the step (-want +got):\n%s", diff)
	}
	front := paramsOn(t, s, "n2")
	if len(front.Services) != 2 || front.Services[0].Name != "app" || front.Services[1].Name != "web" {
		t.Errorf("on n2 start %+v, want app and then web", front.Services)
	}
	ready := parse(t, tiersFile).Timeouts.Ready
	db := model.Check{Service: "db", Address: "${service.db[0]}", Port: 82, Within: ready.Std()}
	second := db
	second.Index, second.Address = 1, "${service.db[1]}"
	if diff := cmp.Diff([]model.Check{db, second}, front.Services[0].Await); diff != "" {
		t.Errorf("app waits for (-want +got):\n%s", diff)
	}
	app := model.Check{Service: "app", Address: "${service.app[0]}", Port: 81, HTTP: "http://${service.app[0]}:81/0", Within: ready.Std()}
	web := model.Check{Service: "web", Address: "${service.web[0]}", Port: 80, Within: ready.Std()}
	if diff := cmp.Diff([]model.Check{app, db, second, web}, s.Tasks[0].Spec.Await); diff != "" {
		t.Errorf("what measures waits for (-want +got):\n%s", diff)
	}
	if back := paramsOn(t, s, "n5"); len(back.Services) != 1 || back.Services[0].Index != 1 || back.Hosts["app"][0] != "${service.app[0]}" || back.Ports["db"] != 82 {
		t.Errorf("on n5: %+v", back.Services)
	}
}

// TestServiceLevels: a treatment sets how many there are, where, and how much each
// may use; what it does not name is as in the file.
func TestServiceLevels(t *testing.T) {
	e := parse(t, tiersFile)
	treatment := study.Treatment{Phase: "pool", Workload: "nap", Trial: 1, NoBarrier: true, Services: map[string]study.ServiceLevel{
		"app": {Count: 2, Sizes: map[string]int{"threads": 10}}, "db": {Count: 1, On: map[string]string{"type": "big"}, CPU: 0.25, Memory: 128 * unit.MiB},
	}}
	e.Designers = []experiment.Designer{{Designer: &probe{known(treatment)}, Kind: "a"}}
	nodes := tiered("users", "front", "back", "front", "back", "back")
	nodes[4].Labels["type"] = "big"
	d, err := Build(e, testRun, nodes)
	if err != nil {
		t.Fatal(err)
	}
	s := d.Steps[0]
	db := model.ServiceLevel{Nodes: []model.NodeID{"n5"}, On: map[string]string{"tier": "back", "type": "big"}, Port: 82, CPU: 0.25, Memory: 128 << 20}
	if diff := cmp.Diff(db, s.Services["db"]); diff != "" {
		t.Errorf("db (-want +got):\n%s", diff)
	}
	if got := fmt.Sprint(s.Services["app"].Nodes, s.Services["web"].Nodes); got != "[n2 n4] [n2]" {
		t.Errorf("app and web run on %s, want two and the file's one", got)
	}
	if p := paramsOn(t, s, "n5"); p.Services[0].CPU() != 0.25 || p.Services[0].Memory() != 128*unit.MiB {
		t.Errorf("limits of db %+v", p.Services[0].Bounds)
	}
	if !s.Barrier {
		t.Error("the step has no barrier: services would not be warm")
	}
	if environ := paramsOn(t, s, "n4").Services[0].Environ; environ["THREADS"] != "10" || environ["A"] != "b" || s.Services["app"].Sizes["threads"] != 10 {
		t.Errorf("environ of app %v, of the step %+v, want 10 threads", environ, s.Services["app"])
	}
	if e.Services[2].CPU() != 0.2 || e.Services[1].Environ["THREADS"] != "8" {
		t.Error("the file was changed")
	}
}

// TestSizeUnnamed: a size without a variable cannot be set.
func TestSizeUnnamed(t *testing.T) {
	e := parse(t, tiersFile)
	treatment := study.Treatment{Phase: "pool", Workload: "nap", Trial: 1, Services: map[string]study.ServiceLevel{"app": {Sizes: map[string]int{"pool": 10}}}}
	e.Designers = []experiment.Designer{{Designer: &probe{known(treatment)}, Kind: "a"}}
	if _, err := Build(e, testRun, tiered("users", "front", "back", "back")); err == nil || !strings.Contains(err.Error(), "services.app.sizes: it names no variable for pool") {
		t.Errorf("Build = %v, want that no variable is named", err)
	}
}

// TestServicesRefused: what does not go together is refused with its place.
func TestServicesRefused(t *testing.T) {
	change := func(from, to string) string { return strings.Replace(tiersFile, from, to, 1) }
	all := tiered("users", "front", "back", "back")
	for _, c := range []struct {
		name, src string
		nodes     []model.Node
		want      string
	}{
		{"no node", tiersFile, tiered("users", "front"), "test.yaml:7:20: services.db.on: no node has tier=back; the nodes have tier=front, tier=users"},
		{"too few", tiersFile, tiered("users", "front", "back"), "test.yaml:7:41: services.db.count: 2 instances are asked for, and 1 nodes have tier=back"},
		{"index", change("${service.db}", "${service.db[2]}"), all, "services.app.command: ${service.db[2]}: the service has 2 of these, counted from 0"},
		{"index in a workload", change("on: {tier: users}}", `on: {tier: users}, target: "${service.app[1]}"}`), all, "workloads.nap.target: ${service.app[1]}: the service has 1 of these"},
		{"serves and measures", change("on: {tier: users}", "on: {tier: back}"), all, "workloads.nap.on: node n3 runs a service in the same step"},
		{"index in a template", change("limits:", `files: [{path: a, template: "{{(index .Service.db 2).Address}}"}], limits:`), all, "services.db.files.0.template: it cannot be filled in"},
		{"no such service in the step", change("limits:", `files: [{path: a, template: "{{if eq .Self.Index 1}}{{(index .Service.app 1).Address}}{{end}}"}], limits:`), all, "this step has of each service: app 1, db 2, web 1"},
		{"same port", change("port: 81", "port: 80"), all, "services.app.port: on n2 it would listen at the same address and port as web on n2"},
	} {
		_, err := Build(parse(t, c.src), testRun, c.nodes)
		if !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Build = %v, want %q", c.name, err, c.want)
		}
	}
}

// TestNeverCome: a limit that changes after the end of what is measured is told.
func TestNeverCome(t *testing.T) {
	src := strings.Replace(tiersFile, "limits: {cpu: 0.2, memory: 64MiB}", "steps: [{at: 0s, cpu: 0.2}, {at: 1s, cpu: 0.3}, {at: 10s, cpu: 0.4}]", 1)
	d, err := Build(parse(t, src), testRun, tiered("users", "front", "back", "back"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"services.db.steps: 10s is not before the end of nap, which takes about 2s: in steps of nap this limit never comes"}
	if diff := cmp.Diff(want, d.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// TestNodesLeft: a workload without labels has the nodes that services leave.
func TestNodesLeft(t *testing.T) {
	src := strings.Replace(tiersFile, ", on: {tier: users}", "", 1)
	d, err := Build(parse(t, src), testRun, tiered("users", "front", "back", "front", "back", "back"))
	if err != nil || fmt.Sprint(d.Steps[0].Subjects()) != "[n1 n4 n6]" {
		t.Errorf("subjects %v, %v; want those without services", d.Steps, err)
	}
	_, err = Build(parse(t, src), testRun, tiered("front", "back", "back"))
	if err == nil || !strings.Contains(err.Error(), "services run on all nodes") {
		t.Errorf("Build = %v, want that no node is left", err)
	}
}

// TestLinks: a step says which rates the links of its services have, where a lab sets
// them for a host alone; a treatment raises one direction of those, and of no others.
func TestLinks(t *testing.T) {
	exp := parse(t, tiersFile)
	rate := func(bits float64) lab.Limits { return lab.Limits{Link: unit.Rate{Value: bits, Base: unit.Bits}} }
	exp.Fleet = experiment.Fleet{Lab: &lab.Spec{Groups: []lab.Group{
		{Name: "users", Nodes: 1, Labels: map[string]string{"tier": "users"}},
		{Name: "front", Nodes: 1, Limits: rate(80), Uplink: unit.Rate{Value: 160, Base: unit.Bits}, Labels: map[string]string{"tier": "front"}},
		{Name: "back", Nodes: 2, Limits: rate(80), Labels: map[string]string{"tier": "back"}},
	}}}
	var nodes []model.Node
	for _, h := range exp.Fleet.Lab.Hosts(nil) {
		nodes = append(nodes, model.Node{ID: h.Name, Labels: h.NodeLabels(), Facts: model.Facts{Addresses: []string{h.Address}}})
	}
	step := func(services map[string]study.ServiceLevel) (model.Step, error) {
		b, err := newBuilder(exp, testRun, nodes)
		if err != nil {
			t.Fatal(err)
		}
		return b.step("x", study.Treatment{Phase: "trial", Workload: "nap", Trial: 1, Services: services}, 0)
	}
	for name, c := range map[string]struct{ out, in float64 }{"as made": {}, "faster out": {out: 1.25}, "faster in": {in: 1.25}} {
		s, err := step(map[string]study.ServiceLevel{"db": {LinkOut: c.out, LinkIn: c.in}})
		is := model.Link{Out: 10 * max(1, c.out), In: 10 * max(1, c.in)}
		if diff := cmp.Diff(map[model.NodeID]model.Link{"lab-back-1": is, "lab-back-2": is}, s.Links); err != nil || diff != "" {
			t.Errorf("%s: %v, links (-want +got):\n%s", name, err, diff)
		}
	}
	if _, err := step(map[string]study.ServiceLevel{"web": {LinkOut: 1.25}}); err == nil || !strings.Contains(err.Error(), "raises the link of node lab-front-1, which the fleet does not set") {
		t.Errorf("behind an uplink: %v, want it refused", err)
	}
	exp.Services[2].Bounds.Link = unit.Rate{Value: 80, Base: unit.Bits} // what the file tells is not the lab's
	if s, err := step(nil); err != nil || len(s.Links) != 0 {
		t.Errorf("links %v, %v, want none", s.Links, err)
	}
}

// TestVolumes: a step says which limits the volumes have that a lab limits; a treatment
// sets some of them, and what it leaves out is as in the file.
func TestVolumes(t *testing.T) {
	exp := parse(t, tiersFile)
	mib := func(n float64) unit.Rate { return unit.Rate{Value: n * (1 << 20), Base: unit.Bytes} }
	exp.Fleet = experiment.Fleet{Lab: &lab.Spec{Limits: lab.Limits{Use: []string{"data", "log", "free", "plain"}},
		Volumes: []lab.Volume{{Name: "data", IOPS: 300, Bandwidth: mib(60)}, {Name: "log", IOPS: 100}, {Name: "free"},
			{Name: "plain", Type: lab.Folder}, {Name: "unused", IOPS: 5}},
		Groups: []lab.Group{
			{Name: "users", Nodes: 1, Labels: map[string]string{"tier": "users"}},
			{Name: "front", Nodes: 1, Labels: map[string]string{"tier": "front"}},
			{Name: "back", Nodes: 2, Labels: map[string]string{"tier": "back"}},
		}}}
	nodes := tiered("users", "front", "back", "back")
	step := func(volumes map[string]study.VolumeLevel) (model.Step, error) {
		b, err := newBuilder(exp, testRun, nodes)
		if err != nil {
			t.Fatal(err)
		}
		return b.step("x", study.Treatment{Phase: "trial", Workload: "nap", Trial: 1, Volumes: volumes}, 0)
	}
	for name, c := range map[string]struct {
		set  study.VolumeLevel
		want model.VolumeLevel
	}{
		"as made":     {study.VolumeLevel{}, model.VolumeLevel{IOPS: 300, Bandwidth: 60 << 20}},
		"operations":  {study.VolumeLevel{IOPS: 1800}, model.VolumeLevel{IOPS: 1800, Bandwidth: 60 << 20}},
		"whole bytes": {study.VolumeLevel{Bandwidth: 1e6 + .4}, model.VolumeLevel{IOPS: 300, Bandwidth: 1e6}},
	} {
		s, err := step(map[string]study.VolumeLevel{"data": c.set})
		want := map[string]model.VolumeLevel{"data": c.want, "log": {IOPS: 100}}
		if diff := cmp.Diff(want, s.Volumes); err != nil || diff != "" {
			t.Errorf("%s: %v, volumes (-want +got):\n%s", name, err, diff)
		}
	}
	for name, c := range map[string]struct {
		set  study.VolumeLevel
		want string
	}{
		"free": {study.VolumeLevel{IOPS: 1}, "sets none"}, "plain": {study.VolumeLevel{IOPS: 1}, "sets none"},
		"unused": {study.VolumeLevel{IOPS: 1}, "sets none"}, "other": {study.VolumeLevel{IOPS: 1}, "sets none"},
		"data": {study.VolumeLevel{IOPS: -1}, "-1 operations"},
		"log":  {study.VolumeLevel{Bandwidth: math.NaN()}, "NaN bytes"},
	} {
		_, err := step(map[string]study.VolumeLevel{name: c.set})
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %v: %v, want it refused", name, c.set, err)
		}
	}
	exp.Fleet = experiment.Fleet{} // which sets no limits
	if s, err := step(nil); err != nil || len(s.Volumes) != 0 {
		t.Errorf("volumes %v, %v, want none", s.Volumes, err)
	}
	_, err := step(map[string]study.VolumeLevel{"data": {IOPS: 1}})
	if err == nil || !strings.Contains(err.Error(), "of which the fleet sets none") {
		t.Errorf("volumes of another fleet: %v, want them refused", err)
	}
}
