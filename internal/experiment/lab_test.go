package experiment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// labFile has every key of a lab and its services.
const labFile = `
fleet:
  lab:
    link: 200Mbit/s
    uplink: 1Gbit/s
    cpu: 0.5
    memory: 64MiB
    use: [data]
    volumes:
      - {name: data, size: 64MiB, iops: 300, bandwidth: 60MiB/s, shared: true}
      - {name: tmp, type: folder}
    groups:
      - {name: rack, nodes: 4, link: 100Mbit/s, uplink: 300Mbit/s, cpu: 2, memory: 1GiB, use: [data, tmp]}
      - {name: core, nodes: 1}
services:
  - name: web
    command: serve
    port: 80
    environ: {A: b}
    link: 1Gbit/s
    cpu: 1
sizes: [1, 2, 5]
workloads:
  - kind: shell
    command: "curl http://${service.web}:80/ http://${service.web}:81/"
  - kind: spin
    env: {URL: "http://${service.web}/"}
    metrics: [{name: m, json: "${service.web}"}]
`

// sizes are those of the study sweep.
func sizes(t *testing.T, e *Experiment) []int {
	t.Helper()
	if len(e.Designers) != 1 {
		t.Fatalf("%d designers, want one", len(e.Designers))
	}
	return e.Designers[0].Designer.(*sweep).Sizes
}

func mbit(n float64) unit.Rate { return unit.Rate{Value: n * 1e6, Base: unit.Bits} }

// TestLab: the keys of a lab arrive where the lab reads them, those of the
// embedded limits too.
func TestLab(t *testing.T) {
	got := parse(t, labFile)
	want := &lab.Spec{
		Limits: lab.Limits{Link: mbit(200), CPU: 0.5, Memory: 64 * unit.MiB, Use: []string{"data"}},
		Uplink: mbit(1000),
		Volumes: []lab.Volume{
			{Name: "data", Size: 64 * unit.MiB, IOPS: 300, Bandwidth: unit.Rate{Value: 60 << 20, Base: unit.Bytes}, Shared: true},
			{Name: "tmp", Type: lab.Folder},
		},
		Groups: []lab.Group{
			{Name: "rack", Nodes: 4, Uplink: mbit(300),
				Limits: lab.Limits{Link: mbit(100), CPU: 2, Memory: unit.GiB, Use: []string{"data", "tmp"}}},
			{Name: "core", Nodes: 1},
		},
	}
	if diff := cmp.Diff(want, got.Fleet.Lab); diff != "" {
		t.Errorf("lab (-want +got):\n%s", diff)
	}
	services := []lab.Service{{Name: "web", Command: "serve", Port: 80, Environ: map[string]string{"A": "b"},
		Limits: lab.Limits{Link: mbit(1000), CPU: 1}}}
	if diff := cmp.Diff(services, got.HostServices()); diff != "" {
		t.Errorf("services (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{1, 2, 5}, sizes(t, got)); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
}

// TestPlaceholder: workloads check their parameters with an address; the node
// gets them as they are in the file.
func TestPlaceholder(t *testing.T) {
	got := parse(t, labFile)
	want := []Workload{
		{Params: map[string]any{"command": "curl http://${service.web}:80/ http://${service.web}:81/"},
			Bench: &shell{Command: "curl http://10.213.0.1:80/ http://10.213.0.1:81/"}},
		{Params: map[string]any{"env": map[string]any{"URL": "http://${service.web}/"},
			"metrics": []any{map[string]any{"name": "m", "json": "${service.web}"}}}},
	}
	for i, w := range want {
		if diff := cmp.Diff(w.Params, got.Workloads[i].Params); diff != "" {
			t.Errorf("parameters of workload %d (-want +got):\n%s", i, diff)
		}
	}
	if diff := cmp.Diff(want[0].Bench, got.Workloads[0].Bench); diff != "" {
		t.Errorf("what the workload checked (-want +got):\n%s", diff)
	}
	spin, ok := got.Workloads[1].Bench.(*spin)
	if !ok || spin.Env["URL"] != "http://10.213.0.1/" || spin.Metrics[0].JSON != "10.213.0.1" {
		t.Errorf("what the workload checked = %+v, want the address in it", got.Workloads[1].Bench)
	}
}

// A placeholder is what master fills in, letter for letter.
func TestPlaceholderForm(t *testing.T) {
	for _, name := range []string{"web", "a-b_C9"} {
		p := model.ServicePlaceholder(name)
		for ref := range model.ServiceRefs("x" + p + "y") {
			if ref.Text != p || ref.Name != name {
				t.Errorf("found %+v, want %q", ref, p)
			}
		}
	}
}

func TestFleetSize(t *testing.T) {
	for _, c := range []struct {
		fleet Fleet
		want  int
	}{
		{Fleet{Local: &Local{Nodes: 3}}, 3},
		{Fleet{Lab: &lab.Spec{Nodes: 4}}, 4},
		{Fleet{Lab: &lab.Spec{Groups: []lab.Group{{Nodes: 2}, {Nodes: 3}}}}, 5},
		{Fleet{Agents: &Agents{Count: 7}}, 7},
		{Fleet{Agents: &Agents{}}, 0},
		{Fleet{}, 0},
	} {
		if got := c.fleet.Size(); got != c.want {
			t.Errorf("Size(%+v) = %d, want %d", c.fleet, got, c.want)
		}
	}
}

// Sizes of a fleet of unknown size are checked when the run begins.
func TestSizesOfUnknownFleet(t *testing.T) {
	got := parse(t, "fleet: {agents: {}}\nworkloads: [{kind: shell, command: x}]\nsizes: [1, 400]\n")
	if diff := cmp.Diff([]int{1, 400}, sizes(t, got)); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
}

// TestEnvironNames: what no variable can be called is told, of services in labs and on
// nodes alike.
func TestEnvironNames(t *testing.T) {
	for name, want := range map[string]string{
		"A=B": `services.web.environ: "A=B" cannot name a variable`, `""`: `services.web.environ: "" cannot name a variable`,
		"discovery.type": "", "a-b": "",
	} {
		for _, on := range []string{"", ", on: {group: a}, port: 80"} {
			src := "fleet: {lab: {groups: [{name: a, nodes: 1}, {name: b, nodes: 1}]}}\nservices: [{name: web, command: serve, environ: {" + name + ": x}" + on + "}]\nworkloads: [{kind: shell, command: x}]\n"
			if _, err := Parse("f.yaml", []byte(src), testKinds(), nil); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s%s: %v, want %q", name, on, err, want)
			}
		}
	}
}
