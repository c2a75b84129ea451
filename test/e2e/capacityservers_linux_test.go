package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/study/capacity"
	"github.com/scalebench/scalebench/internal/unit"
)

// TestCapacityServers: the capacity of servers that people run, found as a user
// finds it, from another host than theirs. Each runs on a share of a core, so
// that it is the server that reaches its limit. Beside the search, runs at one
// rate say whether it was right.
func TestCapacityServers(t *testing.T) {
	if !*loadProof {
		t.Skip("takes minutes a server; `make load-proof` runs it")
	}
	table := "\n| server | load | core | SLA | passed | failed | estimate | 95 % interval | windows |\n|---|---|---|---|---|---|---|---|---|"
	defer func() { t.Log(table) }()
	for _, s := range targets {
		t.Run(s.name, func(t *testing.T) {
			bed := newTestbed(t, s, s.cpu)
			for _, c := range s.cases {
				t.Run(c.name, func(t *testing.T) {
					calmly(t, func() error {
						r, err := bed.checkCapacity(c)
						if err == nil {
							table += "\n" + c.row(s, r)
						}
						return err
					})
				})
			}
		})
	}
}

// TestCapacityHalf: half of a core is half of the capacity, of a server that
// does not suffer from being stopped now and then, as PostgreSQL does.
func TestCapacityHalf(t *testing.T) {
	if !*loadProof {
		t.Skip("takes minutes; `make load-proof` runs it")
	}
	i := slices.IndexFunc(targets, func(s target) bool { return s.name == "Apache" })
	s, c := targets[i], targets[i].cases[0]
	const core = 1.
	half, whole := newTestbed(t, s, core/2), newTestbed(t, s, core)
	calmly(t, func() error {
		small, err := half.search(c)
		if err != nil {
			return err
		}
		large, err := whole.search(c)
		if err != nil {
			return err
		}
		ratio := *small.Estimate / *large.Estimate
		t.Logf("%s takes %.0f/s on %g of a core, %.0f/s on %g: %.2f", s.name, *small.Estimate, core/2, *large.Estimate, core, ratio)
		if ratio < .42 || ratio > .58 {
			return fmt.Errorf("half of a core takes %.2f of what a whole one does, want about .5", ratio)
		}
		return nil
	})
}

// testbed is a lab with a server on one host and a generator on another.
type testbed struct {
	*world
	id  string // of the lab
	url string // of the server
}

// serverHost is the address of the first service of every lab.
const serverHost = "10.213.255.1"

// newTestbed starts a server with so many processors.
func newTestbed(t *testing.T, s target, cpu float64) testbed {
	t.Helper()
	w := labWorld(t)
	for _, p := range s.programs {
		needProgram(t, p)
	}
	made := w.makeLab(w.writeJSON("lab.yaml", map[string]any{
		"fleet":     map[string]any{"lab": map[string]any{"nodes": 1, "cpu": 1}},
		"services":  []any{map[string]any{"name": "server", "port": s.port, "cpu": cpu, "command": s.command(t)}},
		"workloads": []any{map[string]any{"kind": "command", "command": "true"}},
	}))
	return testbed{world: w, id: made.ID, url: strings.ReplaceAll(s.url, "HOST", serverHost)}
}

// inLab runs scalebench on the generator's host. Its own variables do not get
// there.
func (b testbed) inLab(args ...string) (stdout, stderr string, err error) {
	in := []string{"lab", "exec", "--lab", b.id, "lab-1", "--", b.bin, "--data", filepath.Join(b.dir, "server")}
	return b.try(append(in, args...)...)
}

// checkCapacity searches, and tries the loads on both sides of what was found.
func (b testbed) checkCapacity(c targetCase) (capacity.Record, error) {
	r, err := b.search(c)
	if err != nil {
		return r, err
	}
	return r, errors.Join(b.checkBelow(c, .9**r.Estimate), b.checkAbove(c, 1.1**r.Estimate))
}

// checkBelow tries more than once: a neighbour on the machine can break the SLA,
// but cannot keep it.
func (b testbed) checkBelow(c targetCase, rate float64) error {
	for range 3 {
		if kept, err := b.keeps(c, rate); kept || err != nil {
			return err
		}
	}
	return fmt.Errorf("the SLA is broken at %.0f/s, a tenth below what was found", rate)
}

func (b testbed) checkAbove(c targetCase, rate float64) error {
	kept, err := b.keeps(c, rate)
	if kept {
		return fmt.Errorf("the SLA is kept at %.0f/s, a tenth above what was found", rate)
	}
	return err
}

// search is `scalebench capacity`, with a result that may be used.
func (b testbed) search(c targetCase) (r capacity.Record, err error) {
	args := append([]string{"capacity", b.url, "--sla", c.sla(), "--window", "2s", "--warm-up", "1s", "--format", "json"}, c.args()...)
	out, stderr, err := b.inLab(args...)
	if err != nil {
		return r, fmt.Errorf("scalebench %s: %w\n%s", strings.Join(args, " "), err, stderr)
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		return r, err
	}
	b.t.Logf("%s: passed %v, failed %v, estimate %v %v, %s, %d windows, warnings %q", c.name, number(r.Passed), number(r.Failed), number(r.Estimate), r.CI, r.Limit, len(r.Windows), r.Warnings)
	switch {
	case r.Limit != capacity.LimitTarget || !r.Confirmed || r.Estimate == nil || r.Passed == nil || r.Failed == nil || r.CI == nil:
		return r, fmt.Errorf("limit %s, confirmed %v; want a boundary of the target", r.Limit, r.Confirmed)
	case *r.Failed <= *r.Passed || *r.Failed > 1.06**r.Passed:
		return r, fmt.Errorf("passed %v, failed %v; want them 5 %% apart", *r.Passed, *r.Failed)
	case *r.Estimate < r.CI[0] || *r.Estimate > r.CI[1]:
		return r, fmt.Errorf("estimate %v is not in %v", *r.Estimate, *r.CI)
	}
	return r, nil
}

func number(v *float64) any {
	if v == nil {
		return "none"
	}
	return fmt.Sprintf("%.1f", *v)
}

// keeps offers one rate for some seconds and reports whether the share of
// operations that the SLA names was answered within its time.
func (b testbed) keeps(c targetCase, rate float64) (bool, error) {
	work := map[string]any{"kind": "load", "target": b.url, "rate": fmt.Sprintf("%.1fop/s", rate), "duration": "5s", "warm_up": "1s"}
	if c.data != "" {
		work["data"] = map[string]any{"workload": c.data, "records": c.records}
	}
	file := b.writeJSON("rate.yaml", map[string]any{
		"fleet": map[string]any{"local": map[string]any{"nodes": 1}}, "evaluations": []string{"serial"}, "workloads": []any{work},
	})
	if _, stderr, err := b.inLab("run", file); err != nil {
		return false, fmt.Errorf("at %.0f/s: %w\n%s", rate, err, stderr)
	}
	total, err := b.total()
	if err != nil {
		return false, err
	}
	within := int64(0)
	for _, bar := range total.Latency.Distribution() {
		if bar.To <= int64(c.limit) {
			within += bar.Count
		}
	}
	share := float64(within) / float64(total.Due)
	b.t.Logf("%s: at %s %.1f %% of %d were answered within %v", c.name, unit.Human(rate, "op/s"), 100*share, total.Due, c.limit)
	return share >= c.quantile, nil
}

// total is what became of the operations of the latest run.
func (b testbed) total() (load.Op, error) {
	d, ok := b.tryData("newest")
	results := d.Accepted()
	if !ok || len(results) != 1 {
		return load.Op{}, fmt.Errorf("the run at one rate has %d results, want 1", len(results))
	}
	s, err := load.ReadSummary(results[0])
	if err != nil {
		return load.Op{}, err
	}
	return s.Total()
}

// labMade is what `lab up` prints of a lab.
type labMade struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Hosts []struct {
		Name      string
		Namespace struct{ Name string }
		Paths     map[string]string
	} `json:"hosts"`
}

// makeLab makes a lab that is removed at the end of the test at the latest.
func (w *world) makeLab(file string) (made labMade) {
	w.t.Helper()
	out, stderr, err := w.try("lab", "up", "--format", "json", file)
	if err != nil {
		w.t.Fatalf("lab up: %v\n%s", err, stderr)
	}
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		w.t.Fatalf("lab up: %v\n%s", err, out)
	}
	w.t.Cleanup(func() { _, _, _ = w.try("lab", "down", made.ID) }) // most tests have done it
	return made
}

// writeJSON writes a file that YAML's readers read, too.
func (w *world) writeJSON(name string, v any) string {
	w.t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		w.t.Fatal(err)
	}
	return w.write(name, string(text))
}

var errMissing = errors.New("is not installed; `make load-proof` installs it")

// needProgram fails if a program is missing: the proof needs all of them.
func needProgram(t *testing.T, name string) {
	t.Helper()
	for _, dir := range []string{"", "/usr/sbin/", "/sbin/"} {
		if _, err := exec.LookPath(dir + name); err == nil {
			return
		}
	}
	t.Fatalf("%s %v", name, errMissing)
}

// targetCase is one load on a server, and the SLA.
type targetCase struct {
	name     string
	data     string // workload of a data store; "" is none
	records  int
	quantile float64
	limit    time.Duration
}

func (c targetCase) sla() string { return fmt.Sprintf("p%g=%v", 100*c.quantile, c.limit) }

// args are further arguments of scalebench capacity.
func (c targetCase) args() (args []string) {
	if c.data != "" {
		args = append(args, "--mix", c.data, "--records", fmt.Sprint(c.records))
	}
	return args
}

// row is the line of the table in docs/capacity.md.
func (c targetCase) row(s target, r capacity.Record) string {
	return fmt.Sprintf("| %s | %s | %g | %s | %.0f/s | %.0f/s | %.0f/s | %.0f to %.0f/s | %d |",
		s.name, c.name, s.cpu, c.sla(), *r.Passed, *r.Failed, *r.Estimate, r.CI[0], r.CI[1], len(r.Windows))
}
