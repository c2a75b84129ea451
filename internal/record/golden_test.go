package record

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/test/golden"
)

// written compares what a function writes with a file in testdata.
func written(t *testing.T, name string, write func(io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	golden.Check(t, "testdata/"+name, b.Bytes())
}

// goldens compares a document in the formats of lists: as text, and as JSON and
// CSV, which are contracts with programs. result is what JSON has, nil for the
// document's table.
func goldens(t *testing.T, name string, d *doc.Document, result any, width int, formats ...render.Format) {
	t.Helper()
	for _, f := range formats {
		ext := strings.Replace(string(f), "text", "txt", 1)
		written(t, name+"."+ext, func(w io.Writer) error { return render.Write(w, d, result, f, render.TextOptions{Width: width}) })
	}
}

const (
	text = render.FormatText
	js   = render.FormatJSON
	csv  = render.FormatCSV
)

func TestRunsGolden(t *testing.T) {
	waiting := model.Run{ID: testRun, Name: "later", Kind: model.KindBatch, State: model.RunPending, Created: day, SourceName: "job.json"}
	goldens(t, "runs", Runs([]model.Run{quarter().build().Run, cancelled().Run, waiting}, 3, false), nil, render.PlainWidth, text, js, csv)
	goldens(t, "runs-more", Runs([]model.Run{waiting}, 1234, true), nil, render.PlainWidth, text, js, csv)
	goldens(t, "runs-none", Runs(nil, 0, false), nil, render.PlainWidth, text, js, csv)
	goldens(t, "runs-no-match", Runs(nil, 0, true), nil, render.PlainWidth, text)
}

func TestNodesGolden(t *testing.T) {
	x := fixture{nodes: 12}
	nodes := []model.NodeInfo{
		{Node: x.node(0), Status: model.NodeAlive, Heard: day, Task: "task"},
		{Node: x.node(6), Status: model.NodeLost, Heard: day},
		{Node: model.Node{ID: "bare"}, Status: model.NodeSlow}, // knows nothing about itself
	}
	nodes[0].Facts.CPULimit, nodes[0].Facts.MemLimit = 2.5, 4<<30
	goldens(t, "nodes", Nodes(nodes, true), nodes, render.PlainWidth, text, js, csv)
	goldens(t, "nodes-none", Nodes(nil, false), []model.NodeInfo{}, render.PlainWidth, text, js, csv)
}

// someLabs are one of each state. The first has hosts of every kind.
func someLabs() []Lab {
	host := func(name, group, address string, l lab.Limits, paths map[string]string) lab.HostRecord {
		return lab.HostRecord{Host: lab.Host{Name: model.NodeID(name), Group: group, Address: address, Limits: l},
			Namespace: lab.Namespace{Name: "scalebench-abc123-" + name, Inode: 7}, Paths: paths}
	}
	service := host("web", "", "10.213.255.1", lab.Limits{}, nil)
	service.Service = &lab.Service{Name: "web", Command: "serve", Environ: map[string]string{"KEY": "secret"}}
	first := host("lab-a-1", "a", "10.213.1.1", lab.Limits{Link: unit.Rate{Value: 1e8, Base: unit.Bits}, CPU: 0.5, Memory: 256 * unit.MiB},
		map[string]string{"data": "/mnt/1", "all": "/dev/loop7"})
	first.Uplink = unit.Rate{Value: 3e8, Base: unit.Bits}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return []Lab{
		{State: LabKept, Manifest: lab.Manifest{Version: 1, ID: "abc123", Created: at, Keep: true, Owner: lab.Owner{PID: 41}, Dir: "/var/lib/abc123",
			Hosts: []lab.HostRecord{
				first,
				host("lab-a-2", "a", "10.213.1.2", lab.Limits{}, nil), host("lab-a-3", "a", "10.213.1.3", lab.Limits{}, nil),
				host("lab-a-4", "a", "10.213.1.4", lab.Limits{}, nil), service,
			},
			Volumes: []lab.VolumeRecord{
				{Volume: lab.Volume{Name: "data", Size: 256 * unit.MiB, IOPS: 400, Bandwidth: unit.Rate{Value: 80 << 20, Base: unit.Bytes}}, Hosts: []string{"lab-a-1"}, Mount: "/mnt/1"},
				{Volume: lab.Volume{Name: "data", Size: 64 * unit.MiB}, Hosts: []string{"lab-a-2"}},
				{Volume: lab.Volume{Name: "all", Type: lab.Raw, Shared: true}, Hosts: []string{"lab-a-1", "lab-a-2"}, Device: "/dev/loop7"},
			}}},
		{State: LabRunning, Manifest: lab.Manifest{Version: 1, ID: "b", Created: at, Owner: lab.Owner{PID: 42}, Dir: "/var/lib/b",
			Hosts: []lab.HostRecord{host("lab-1", "", "10.213.0.1", lab.Limits{}, nil)}}},
		{State: LabLeftOver, Manifest: lab.Manifest{Version: 1, ID: "c", Created: at, Owner: lab.Owner{PID: 43}, Dir: "/var/lib/c"}},
	}
}

// TestLabsGolden: no form of a list has the values of a service's environment.
func TestLabsGolden(t *testing.T) {
	labs := someLabs()
	goldens(t, "labs", Labs(labs), Masked(labs), render.PlainWidth, text, js, csv)
	goldens(t, "labs-none", Labs(nil), Masked(nil), render.PlainWidth, text, js, csv)
	goldens(t, "lab-hosts", LabHosts(labs[0]), labs[0].Masked(), render.PlainWidth, text, csv)
	if labs[0].Hosts[4].Service.Environ["KEY"] != "secret" {
		t.Error("masking changed the lab itself")
	}
}

func TestShowGolden(t *testing.T) {
	bad := trouble()
	bad.Steps = bad.Steps[39:] // the rest is more of the same
	for name, c := range map[string]struct {
		data    model.RunData
		width   int
		formats []render.Format
	}{
		"show":           {quarter().build(), 120, []render.Format{text}},
		"show-trouble":   {bad, 100, []render.Format{text, js, csv}},
		"show-cancelled": {cancelled(), 100, []render.Format{text}},
	} {
		v := NewOverview(observe.Of(c.data))
		goldens(t, name, v.Document(), v, c.width, c.formats...)
	}
}

// page is what this package says of a run, as on its page.
func page(d model.RunData) *doc.Document {
	run := observe.Of(d)
	return &doc.Document{Title: run.Title(), About: About(run), Answer: State(run), Warnings: append(Warnings(run), doc.Warnings(model.Texts(NewOverview(run).Doubts))...), Sections: Sections(run)}
}

// TestPageGolden: the parts of a run's page as documents: of a run with
// trouble, of one with all that the monitor and histograms bring, and of a job
// file.
func TestPageGolden(t *testing.T) {
	x := quarter()
	x.nodes, x.trials = 2, 1
	bad := x.build()
	addTroubleTo(&bad, 1)
	small := (&simLab{nodes: 2, trials: 1, seconds: 5, loads: labLoads()[:1]}).build()
	for name, d := range map[string]model.RunData{"page-trouble.json": bad, "page-lab.json": small, "page-batch.json": batch()} {
		written(t, name, func(w io.Writer) error { return render.JSON(w, page(d)) })
	}
}

// TestTextKeepsToTheWidth: every width is kept to.
func TestTextKeepsToTheWidth(t *testing.T) {
	show := NewOverview(observe.Of(trouble())).Document()
	for width := 60; width <= 200; width += 7 {
		var b strings.Builder
		if err := render.Text(&b, show, render.TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(b.String(), "\n") {
			if n := len([]rune(line)); n > width && !strings.HasPrefix(line, "  | ") { // what a program printed keeps its lines
				t.Errorf("width %d: line of %d columns: %q", width, n, line)
			}
		}
	}
}

// What is doubtful is said once, with its steps as people count them.
func TestShowNamesStepsOfDoubts(t *testing.T) {
	stolen := model.Doubt{Text: "w: stolen", Steps: []int{0, 1, 2, 6}}
	v := Overview{Doubts: []model.Doubt{stolen, stolen, {Text: "w: swapped", Steps: []int{3}}, {Text: "not over"}}}
	want := []string{"w: stolen; in steps 1 to 3, 7", "w: swapped; in step 4", "not over"}
	var got []string
	for _, w := range v.Document().Warnings {
		got = append(got, w.Text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
