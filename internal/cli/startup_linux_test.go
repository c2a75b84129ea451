package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// TestStartup: the start-up of a node is what it took from the request until its
// agent had registered, whatever it was that took so long; the time for which the
// lab waited for its services does not count. The agent of one node and the
// service are delayed by known times.
func TestStartup(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("makes a lab; make test does")
	}
	if err := lab.Check(); err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	self, err := exec.LookPath("scalebench") // testscript.Main put it there
	if err != nil {
		t.Fatal(err)
	}
	h := hostileHome{t: t, dir: t.TempDir()}
	h.environ = append(os.Environ(), "SCALEBENCH_DATA="+h.path("data"), "HOME="+h.dir)
	h.self = h.write("late.sh", "#!/bin/sh\ncase \"$*\" in *'--node lab-2 '*) sleep 1.5;; esac\nexec "+self+" \"$@\"\n")
	if err := os.Chmod(h.self, 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	out, errs := h.run(false, "run", h.write("late.yaml", `
fleet: {lab: {nodes: 2}}
services: [{name: web, port: 80, command: "sleep 1; exec python3 -m http.server --bind $SCALEBENCH_ADDRESS 80"}]
workloads: [{kind: command, command: "true"}]
evaluations: [serial]
`))
	text, _ := h.run(false, "export", "latest")
	var d model.RunData
	if err := json.Unmarshal([]byte(text), &d); err != nil || d.Run.State != model.RunDone {
		t.Fatalf("export: %v\n%s%s", err, out, errs)
	}
	frames := observe.Of(d).Frames()
	f := frames[len(frames)-1]
	node := f.Fact(frame.FactSubject)
	if f.Name() != "startup" || f.Unit != "s" || f.Len() != 2 || node == nil {
		t.Fatalf("the last frame is %+v", f)
	}
	took := map[string]float64{node.Level(0): f.Values[0], node.Level(1): f.Values[1]}
	// Of the whole run at least a second was the service's.
	most := d.Run.Finished.Sub(d.Run.Started).Seconds() - 1
	if a, b := took["lab-1"], took["lab-2"]; !(0 < a && a+1 < b && b >= 1.5 && b <= most) {
		t.Errorf("lab-1 took %.3f s, lab-2 %.3f s, want something, and 1.5 s more, %.3f s at most", a, b, most)
	}
	if at := time.Unix(0, f.Times[0]); at.Before(d.Run.Started) || at.After(d.Steps[0].StartAt) {
		t.Errorf("requested at %v, not between the start of the run %v and of its first step %v", at, d.Run.Started, d.Steps[0].StartAt)
	}
	if show, _ := h.run(false, "show", "latest"); !strings.Contains(show, "from the request until a node was usable") {
		t.Errorf("show:\n%s\nsays nothing of the start-up", show)
	}
	if csv, _ := h.run(false, "export", "latest", "--format", "csv"); strings.Count(csv, ",startup,s,lower,") != 2 {
		t.Errorf("CSV:\n%s\nwant two lines of start-up", csv)
	}
}
