package experiment

import (
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/workload"
)

// volumes is a lab with volumes of every kind: data and big on every node of
// rack a, only all on rack b.
const volumes = `
fleet: {lab: {volumes: [{name: data, size: 64MiB}, {name: all, size: 64MiB, shared: true}, {name: dev, type: raw, size: 64MiB, shared: true}, {name: dir, type: folder}, {name: big}],
  groups: [{name: a, nodes: 2, use: [data, dev, dir, big]}, {name: b, nodes: 2, use: [all]}, {name: c, nodes: 1, use: []}]}}
`

// TestVolumes: a volume that the nodes do not have, or that is too small, is
// an error in the file; what only the node can know is not.
func TestVolumes(t *testing.T) {
	const ok = ""
	for _, c := range []struct{ workload, want string }{
		{"{kind: writer, volume: data, size: 63MiB, on: {group: a}}", ok},
		{"{kind: writer, volume: data, on: {group: a}}", ok}, // how much only the node knows
		{"{kind: writer, volume: dev, size: 64MiB, on: {group: a}}", ok},
		{"{kind: writer, volume: dir, size: 64TiB, on: {group: a}}", ok},
		{"{kind: writer, volume: big, size: 1023MiB, on: {group: a}}", ok},
		{"{kind: writer, size: 31MiB, on: {group: b}}", ok},
		{"{kind: writer, size: 64TiB, on: {group: c}}", ok}, // its own folder
		{"{kind: writer, path: /x, size: 64TiB}", ok},
		{"{kind: writer, volumes: [data, big], size: 63MiB, on: {group: a}}", ok},
		{"{kind: writer, volumes: [big, dta], on: {group: a}}",
			`5:29: workloads.writer.volumes: node lab-a-1 has no volume "dta"; did you mean "data"?`},
		{"{kind: writer, volume: dta, on: {group: a}}", `5:28: workloads.writer.volume: node lab-a-1 has no volume "dta"; did you mean "data"? It has data, dev, dir, big`},
		{"{kind: writer, volume: data}", `5:28: workloads.writer.volume: node lab-b-1 has no volume "data"; it has all`},
		{"{kind: writer, volume: all, on: {group: c}}", `5:28: workloads.writer.volume: node lab-c-1 has no volume "all"; it has no volumes: give the lab volumes:, or give path: instead`},
		{"{kind: writer, on: {group: a}}", `5:5: workloads.writer.volume: node lab-a-1 has the volumes data, dev, dir, big; say which one: volume: NAME`},
		{"{kind: writer, volume: data, size: 64MiB, on: {group: a}}", `5:40: workloads.writer.size: 64MiB does not fit on volume data, which has 64MiB; give the workload a smaller size, or the volume a larger one`},
		{"{kind: writer, volume: dev, size: 65MiB, on: {group: a}}", `5:39: workloads.writer.size: 65MiB does not fit on volume dev, which has 64MiB; give`},
		{"{kind: writer, volume: big, size: 1GiB, on: {group: a}}", `does not fit on volume big, which has 1GiB`},
		{"{kind: writer, size: 32MiB, on: {group: b}}", `5:26: workloads.writer.size: 32MiB for each of 2 nodes does not fit on volume all, which has 64MiB for all of them; give`},
	} {
		checkVolumes(t, volumes+"workloads:\n  - "+c.workload+"\n", c.want)
	}
	checkVolumes(t, "fleet: {local: {nodes: 1}}\nworkloads:\n  - {kind: writer, volume: data}\n",
		"3:28: workloads.writer.volume: the nodes of a local fleet have no volumes; give path: instead, or use a lab with volumes")
	checkVolumes(t, "fleet: {agents: {}}\nworkloads:\n  - {kind: writer, volume: data}\n", ok)
	checkVolumes(t, volumes+"evaluations: [serial]\nworkloads:\n  - {kind: writer, size: 63MiB, on: {group: b}}\n", ok) // one at a time
}

func checkVolumes(t *testing.T, src, want string) {
	t.Helper()
	reg := testKinds()
	reg.Workloads["writer"] = workload.Kind{Name: "writer", Summary: "Writes.", New: func() workload.Workload { return &writer{} }}
	_, err := Parse("f.yaml", []byte(src), reg, nil)
	switch {
	case want == "" && err != nil:
		t.Errorf("Parse(%s) = %v, want no error", src, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("Parse(%s) = %v, want %s", src, err, want)
	}
}

// TestRefusal: what only the nodes show is said at its place, or that of what
// is around it.
func TestRefusal(t *testing.T) {
	e := parse(t, "fleet: {local: {nodes: 1}}\nworkloads:\n  - {kind: shell, command: x}\n")
	for field, want := range map[string]string{
		"command": e.SourceName + ":3:28: workloads.shell.command: p; a",
		"on":      e.SourceName + ":3:5: workloads.shell.on: p; a",
	} {
		if got := e.Refusal([]string{"workloads", "0", field}, "p", "a").Error(); got != want {
			t.Errorf("Refusal(%s) = %s, want %s", field, got, want)
		}
	}
}

// TestTooManyNodes: a number of nodes that is impossible is not away, too.
func TestTooManyNodes(t *testing.T) {
	_, err := Parse("f.yaml", []byte("fleet: {lab: {nodes: 65}}\nworkloads: [{kind: shell, command: x}]\n"), testKinds(), nil)
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "65") {
		t.Errorf("Parse = %v, want one error, of 65", err)
	}
}
