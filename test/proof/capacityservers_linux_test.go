//go:build proof

package proof_test

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

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/study/capacity"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
)

// TestCapacityServers: the capacity of servers that people run, found as a user
// finds it, from another host than theirs. Each runs on a share of a core, so
// that it is the server that reaches its limit. Beside the search, runs at one
// rate say whether it was right.
func TestCapacityServers(t *testing.T) {
	table := "\n| server | load | core | SLA | passed | failed | estimate | 95 % interval | windows |\n|---|---|---|---|---|---|---|---|---|"
	defer func() { t.Log(table) }()
	for _, s := range targets {
		t.Run(s.name, func(t *testing.T) {
			table += parts.Measure(t, "", func() (rows string) {
				bed := newTestbed(t, s, s.cpu)
				for _, c := range s.cases {
					t.Run(c.name, func(t *testing.T) {
						program.Calmly(t, func() error {
							r, err := bed.checkCapacity(c)
							if err == nil {
								rows += "\n" + c.row(s, r)
							}
							return err
						})
					})
				}
				return rows
			})
		})
	}
}

// TestCapacityHalf: half of a core is half of the capacity, of a server that
// does not suffer from being stopped now and then, as PostgreSQL does.
func TestCapacityHalf(t *testing.T) {
	parts.Begin(t)
	i := slices.IndexFunc(targets, func(s target) bool { return s.name == "Apache" })
	s, c := targets[i], targets[i].cases[0]
	const core = 1.
	half, whole := newTestbed(t, s, core/2), newTestbed(t, s, core)
	program.Calmly(t, func() error {
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
	*installation
	id  string // of the lab
	url string // of the server
}

// serverHost is the address of the first service of every lab.
const serverHost = "10.213.255.1"

// newTestbed starts a server with so many processors.
func newTestbed(t *testing.T, s target, cpu float64) testbed {
	t.Helper()
	w := installForLabs(t)
	for _, p := range s.programs {
		needProgram(t, p)
	}
	made := w.MakeLab(w.writeJSON("lab.yaml", map[string]any{
		"fleet":     map[string]any{"lab": map[string]any{"nodes": 1, "cpu": 1}},
		"services":  []any{map[string]any{"name": "server", "port": s.port, "cpu": cpu, "command": s.command(t)}},
		"workloads": []any{map[string]any{"kind": "command", "command": "true"}},
	}))
	return testbed{installation: w, id: made.ID, url: strings.ReplaceAll(s.url, "HOST", serverHost)}
}

// inLab runs scalebench on the generator's host. Its own variables do not get
// there.
func (b testbed) inLab(args ...string) (stdout, stderr string, err error) {
	in := []string{"lab", "exec", "--lab", b.id, "lab-1", "--", b.Bin, "--data", filepath.Join(b.Dir, "server")}
	return b.Try(append(in, args...)...)
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
	b.T.Logf("%s: passed %v, failed %v, estimate %v %v, %s, %d windows, warnings %q", c.name, program.Optional(r.Passed),
		program.Optional(r.Failed), program.Optional(r.Estimate), r.CI, r.Limit, len(r.Windows), r.Warnings)
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
	b.T.Logf("%s: at %s %.1f %% of %d were answered within %v", c.name, num.Human(rate, "op/s"), 100*share, total.Due,
		c.limit)
	return share >= c.quantile, nil
}

// total is what became of the operations of the latest run.
func (b testbed) total() (load.Op, error) {
	d, ok := b.TryData("newest")
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

// writeJSON writes a file that YAML's readers read, too.
func (w *installation) writeJSON(name string, v any) string {
	w.T.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		w.T.Fatal(err)
	}
	return w.Write(name, string(text))
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
