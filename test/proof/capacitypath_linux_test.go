//go:build proof

package proof_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study/capacity"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
)

// TestLabPath: behind a link, windows of their usual length show what short ones do.
func TestLabPath(t *testing.T) {
	parts.Begin(t)
	program.CheckLabPath(t, "duration: 5s, warm_up: 1s")
}

// TestLabPathAtOnce: the first load fills the path already, and the next takes
// most of it. Still the path is found to be at its limit, and no window with the
// shorter round trips of an emptier path is taken for a change of it.
func TestLabPathAtOnce(t *testing.T) {
	parts.Begin(t)
	program.NeedNginx(t)
	const link, page = 100e6, 1 << 20
	const most = link / (8 * page * 1514. / 1448)
	program.Calmly(t, func() error {
		r, _, err := installForLabs(t).SearchFile(4, fmt.Sprintf(`
fleet: {lab: {nodes: 1, link: 100Mbit/s}}
services: [{name: web, port: 8080, command: %q}]
evaluations: [search]
workloads:
  - {kind: load, target: "http://${service.web}:8080/", sla: p90=200ms, duration: 4s, warm_up: 1s, start: 100op/s, resolution: 0.1, windows: 8}
`, program.LabNginx(page, "")))
		for i, w := range r.Windows {
			t.Logf("window %d: %.3g/s %s, round trips %v ms; %s", i+1, w.Load, w.Verdict, program.Optional(w.RTT), w.PathChange)
		}
		if err != nil {
			return err
		}
		t.Logf("the link takes %.2f/s by arithmetic; passed %v, failed %v, path %+v", most, program.Optional(r.Passed),
			program.Optional(r.Failed), r.Path)
		switch first := r.Windows[0]; {
		case r.Limit != capacity.LimitPath || r.Path == nil || r.Estimate != nil:
			return fmt.Errorf("limit %s, estimate %v, want path and none; warnings %q", r.Limit, program.Optional(r.Estimate),
				r.Warnings)
		case first.Verdict != capacity.Missed || *first.RTT < 5:
			return fmt.Errorf("the first window, at %g/s, is %s with round trips of %g ms; want one that fills the link", first.Load, first.Verdict, *first.RTT)
		case slices.ContainsFunc(r.Windows, func(w capacity.WindowRecord) bool { return strings.Contains(w.PathChange, "shorter") }):
			return fmt.Errorf("a lower load counts as a change of the path")
		case *r.Passed > 1.1*most:
			return fmt.Errorf("%.2f/s passed through a link that takes %.2f/s", *r.Passed, most)
		}
		return nil
	})
}

// TestLabPathTooLong: round trips alone take longer than the SLA allows at the
// smallest load. That is said, and nothing of the server.
func TestLabPathTooLong(t *testing.T) {
	parts.Begin(t)
	program.NeedNginx(t)
	program.Calmly(t, func() error {
		r, _, err := installForLabs(t).SearchFile(4, fmt.Sprintf(`
fleet: {lab: {nodes: 1, link: 20Mbit/s}}
services: [{name: web, port: 8080, command: %q}]
evaluations: [search]
workloads:
  - {kind: load, target: "http://${service.web}:8080/", sla: p90=10ms, duration: 3s, warm_up: 1s, start: 400op/s, min: 400op/s, windows: 5}
`, program.LabNginx(10240, "")))
		if err != nil {
			return err
		}
		text := strings.Join(r.Warnings, "\n")
		t.Logf("limit %s, %d windows; %s", r.Limit, len(r.Windows), text)
		if r.Limit != capacity.LimitPath || r.Passed != nil || !strings.Contains(text, "round trips to the target alone take") {
			return fmt.Errorf("limit %s, passed %v, want path and none; %q", r.Limit, program.Optional(r.Passed), r.Warnings)
		}
		return nil
	})
}

// TestLabPathNotLimit: where the link still has room, the server is what is at
// its limit, although answers wait as long.
func TestLabPathNotLimit(t *testing.T) {
	parts.Begin(t)
	program.NeedNginx(t)
	program.Calmly(t, func() error {
		w := installForLabs(t)
		r, _, err := w.SearchFile(0, fmt.Sprintf(`
fleet: {lab: {nodes: 1, link: 20Mbit/s}}
services: [{name: web, port: 8080, command: %q}]
evaluations: [search]
workloads:
  - {kind: load, target: "http://${service.web}:8080/", sla: p90=100ms, duration: 3s, warm_up: 1s}
`, slowPages))
		if err != nil {
			return err
		}
		most := 20e6 / program.PageOnWire
		t.Logf("the link takes %.1f/s by arithmetic, the server %d/s; passed %v, failed %v, estimate %v", most, slowRate,
			program.Optional(r.Passed), program.Optional(r.Failed), program.Optional(r.Estimate))
		if r.Limit != capacity.LimitTarget || r.Estimate == nil || *r.Estimate < .9*slowRate || *r.Estimate > 1.1*slowRate {
			return fmt.Errorf("limit %s, estimate %v, want target and %d within 10 %%; %q", r.Limit,
				program.Optional(r.Estimate), slowRate, r.Warnings)
		}
		return nil
	})
}

// slowRate is how many pages of 10 KiB slowPages serves in a second: 75 % of
// what the link takes.
const slowRate = 170

// slowPages serves them one after another, each 1/slowRate s after the one
// before at the earliest.
const slowPages = `exec python3 -c "
import http.server, socketserver, threading, time, os
lock, free = threading.Lock(), [0.0]
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True
    def do_GET(self):
        with lock:
            now = time.monotonic()
            free[0] = max(free[0], now) + 1/170
            wait = free[0] - now
        time.sleep(wait)
        self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 10240\r\n\r\n' + b'x' * 10240)
    def log_message(self, *a): pass
class S(socketserver.ThreadingTCPServer):
    request_queue_size, allow_reuse_address, daemon_threads = 1024, True, True
S(('', 8080), H).serve_forever()
"`

// TestLabPathChange: the window in which the path changed is marked and
// measured again; the search is none the wiser.
func TestLabPathChange(t *testing.T) {
	parts.Begin(t)
	program.NeedNginx(t)
	t.Run("cable", func(t *testing.T) {
		changePath(t, func(l *lab.Lab) error { return program.SetLink(l, "down") },
			func(l *lab.Lab) error { return program.SetLink(l, "up") })
	})
	t.Run("rate", func(t *testing.T) {
		changePath(t, func(l *lab.Lab) error { return setRate(l, "4mbit", "32kb", "96kb") }, func(l *lab.Lab) error { return setRate(l, "50mbit", "32kb", "96kb") })
	})
}

// setRate changes what the switch lets through to the generator: how much, how
// much of it at once, and how much may wait.
func setRate(l *lab.Lab, rate, burst, limit string) error {
	_, err := program.InSwitch(l, "tc", "qdisc", "change", "dev", program.PortOf(l, "lab-1"),
		"root", "handle", "1:", "tbf", "rate", rate, "burst", burst, "limit", limit)
	return err
}

// changePath runs a search of two loads; in the window of the second the path
// is changed for a second.
func changePath(t *testing.T, spoil, mend func(*lab.Lab) error) {
	program.Calmly(t, func() error {
		p, second, standing, err := searchInLab(t,
			program.PathSearch(", link: 50Mbit/s", "duration: 3s, warm_up: 0s, start: 40op/s, max: 100op/s"), 2)
		if err != nil {
			return err
		}
		<-time.After(time.Until(second.StartAt.Add(time.Second)))
		if err := spoil(standing); err != nil {
			return err
		}
		<-time.After(time.Second)
		if err := mend(standing); err != nil {
			return err
		}
		r, err := p.record(0)
		if err != nil {
			return err
		}
		return checkRedone(t, r)
	})
}

// searchInLab begins a search, waits until a window of it, from 1, has its time to
// begin, and opens the lab that it runs in.
func searchInLab(t *testing.T, text string, number int) (capturing, model.Step, *lab.Lab, error) {
	t.Helper()
	w := installForLabs(t)
	p := w.startCapturing("run", w.Write("search.yaml", text), "--format", "json")
	d := w.AwaitRunOf(p.Process, "newest", fmt.Sprintf("in window %d", number), func(d model.RunData) bool {
		return program.IsOver(d) || len(d.Steps) == number && !d.Steps[number-1].StartAt.IsZero()
	})
	if program.IsOver(d) {
		return p, model.Step{}, nil, fmt.Errorf("the run was over before window %d: %s", number, d.Run.Reason)
	}
	standing, err := lab.Open(lab.DefaultStateDir, program.LabName(t, p.Log()))
	return p, d.Steps[number-1], standing, err
}

// TestLabPathDrops: a path that drops what exceeds its rate, where hardly
// anything can wait, is at its limit, although round trips take no longer.
func TestLabPathDrops(t *testing.T) {
	parts.Begin(t)
	program.NeedNginx(t)
	const link = 50e6
	const most = link / program.PageOnWire
	program.Calmly(t, func() error {
		p, _, standing, err := searchInLab(t,
			program.PathSearch(", link: 50Mbit/s", "duration: 4s, warm_up: 1s, start: 100op/s, resolution: 0.1, windows: 12"), 1)
		if err != nil {
			return err
		}
		if err := setRate(standing, "50mbit", "8kb", "16kb"); err != nil {
			return err
		}
		r, err := p.record(4)
		if err != nil {
			return err
		}
		t.Logf("the link takes %.1f/s by arithmetic; passed %v, failed %v, path %+v; %q", most, program.Optional(r.Passed),
			program.Optional(r.Failed), r.Path, r.Warnings)
		switch {
		case r.Limit != capacity.LimitPath || r.Path == nil || r.Estimate != nil:
			return fmt.Errorf("limit %s, estimate %v, want path and none", r.Limit, program.Optional(r.Estimate))
		case r.Path.Full > 5:
			return fmt.Errorf("round trips of %.2f ms, want a path in which little can wait", r.Path.Full)
		case r.Path.OutOfOrder == nil || *r.Path.OutOfOrder < .05 || r.Path.OutOfOrderLight == nil || *r.Path.OutOfOrderLight > .01:
			return fmt.Errorf("%v of the segments came out of order, %v under a light load", program.Optional(r.Path.OutOfOrder),
				program.Optional(r.Path.OutOfOrderLight))
		case r.Passed == nil:
			return fmt.Errorf("nothing passed")
		case *r.Passed > 1.05*most:
			return fmt.Errorf("%.1f/s passed through a path that takes %.1f/s", *r.Passed, most)
		}
		return nil
	})
}

// checkRedone: the second window is marked and the third is its repetition,
// with which the search goes on.
func checkRedone(t *testing.T, r capacity.Record) error {
	t.Helper()
	for i, w := range r.Windows {
		t.Logf("window %d: %g/s %s, round trips %v ms, %d lost; %s", i+1, w.Load, w.Verdict, program.Optional(w.RTT), w.Lost,
			w.PathChange)
	}
	if len(r.Windows) < 3 || r.Limit != capacity.LimitCap {
		return fmt.Errorf("%d windows, limit %s, want three or more and the largest load allowed; %q", len(r.Windows), r.Limit, r.Warnings)
	}
	second, third := r.Windows[1], r.Windows[2]
	if second.Verdict != capacity.Unusable || !second.PathChanged || second.PathChange == "" {
		return fmt.Errorf("the window in which the path changed is %s, marked %v %q", second.Verdict, second.PathChanged, second.PathChange)
	}
	if third.Load != second.Load || third.Verdict != capacity.Passed {
		return fmt.Errorf("after it %g/s %s, want %g/s again, and passed", third.Load, third.Verdict, second.Load)
	}
	return nil
}

// TestLabStarvedOne: one of two generators has next to no processor; the
// refusal names it.
func TestLabStarvedOne(t *testing.T) {
	parts.Begin(t)
	program.NeedNginx(t)
	program.Calmly(t, func() error {
		r, stderr, err := installForLabs(t).SearchFile(4, fmt.Sprintf(`
fleet: {lab: {groups: [{name: well, nodes: 1, cpu: 0.6}, {name: starved, nodes: 1, cpu: 0.05}]}}
services: [{name: web, port: 8080, cpu: 1, command: %q}]
evaluations: [search]
workloads:
  - {kind: load, target: "http://${service.web}:8080/", sla: p90=100ms, duration: 2s, warm_up: 1s, start: 1kop/s, resolution: 0.2, windows: 8}
`, program.LabNginx(10240, "")))
		if err != nil {
			return err
		}
		t.Logf("passed %v, failed %v; %q", program.Optional(r.Passed), program.Optional(r.Failed), r.Warnings)
		if r.Limit != capacity.LimitGenerator || r.Estimate != nil || len(r.Generators) != 1 || r.Generators[0] != "lab-starved-1" {
			return fmt.Errorf("limit %s by %q, want generator by lab-starved-1", r.Limit, r.Generators)
		}
		for what, text := range map[string]string{"the warnings": strings.Join(r.Warnings, "\n"), "the end": stderr} {
			if !strings.Contains(text, "lab-starved-1") {
				return fmt.Errorf("%s do not name the generator: %s", what, text)
			}
		}
		return nil
	})
}
