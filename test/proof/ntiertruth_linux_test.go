//go:build proof

package proof_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
	"github.com/scalebench/scalebench/test/skip"
)

// boardFile is the example with the built-in application, of which demands are known.
const boardFile = "ntier-board.yaml"

// needBoard fills a small database, and returns what sets the example to it.
func needBoard(t *testing.T, w *installation) string {
	t.Helper()
	program.NeedLab(t)
	if _, err := exec.LookPath("mariadbd"); err != nil && os.Getenv("CI") == "" {
		t.Skip("needs mariadbd: scripts/deps.sh installs it")
	}
	t.Setenv("PATH", strings.TrimSuffix(w.Bin, "/scalebench")+":"+os.Getenv("PATH"))
	// The database has a user of its own, who must get there.
	folder := t.TempDir()
	for _, dir := range []string{folder, filepath.Dir(folder)} {
		if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // others must read it
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "../../examples/ntier/prepare.sh", "mariadb")
	cmd.Env = append(os.Environ(), "FOLDER="+folder, "SCALEBENCH="+w.Bin,
		"SIZES=--users 2000 --stories 300 --old-stories 1000 --comments 5")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return "services.db.reset.from=" + folder + "/mariadb"
}

// TestNtierBoard: one run of the built-in application in a lab: the application's
// processor is named, and it ends where its work says.
func TestNtierBoard(t *testing.T) {
	skip.UnlessLong(t)
	parts.Begin(t)
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	w := install(t)
	data := needBoard(t, w)
	c := boardCase{name: "app", work: [3]float64{2, 20, 4}, cpu: [3]float64{.4, .3, .3}, pool: 50, threads: 200, want: "named", names: []tiersResource{{"app", "cpu"}}}
	f := w.ntier(boardFile, append(c.sets(), data, c.loads([3]float64{}, .3, .5, .7, 1.6, 2.2), "trials=1", "workloads.users.run=6s", "workloads.users.ramp_up=2s", "workloads.users.ramp_down=2s")...)
	logLoads(t, c.name, f)
	if problem := c.wrong(f); problem != "" {
		t.Error(problem)
	}
	// The page costs something beside the work, up to a tenth of 20 ms.
	if x, most := peak(f).Throughput, c.limit([3]float64{}); x > 1.05*most || x < .8*most {
		t.Errorf("it ends at %.1f pages per second, want %.1f less what pages cost", x, most)
	}
}

// ntierRounds is how often each kind of limit is drawn.
var ntierRounds = flag.Int("ntier-rounds", 5, "how many systems of each kind TestNtierTruth measures")

// truth measures systems with a known answer, and keeps what came out.
type truth struct {
	t     *testing.T
	w     *installation
	data  string     // where the database is
	costs [3]float64 // of a page beside its work, in ms
	table *sheet
	all   int // systems
	again int // of these, that had no verdict at first
}

// kneeLoads are below and beyond the knee that the law has.
var kneeLoads = []float64{.35, .5, .7, 1.4, 1.8, 2.2}

// measure measures a system in the shortest form that decides: one trial of six
// seconds, of which five are analysed at least, if set asks for no longer one. Users who think for just a second
// come again evenly, so that so short a time tells how many there are.
func (p *truth) measure(c boardCase, shares []float64, set ...string) (f tiersFinding, took time.Duration) {
	p.t.Helper()
	begin := time.Now()
	f = p.w.ntier(boardFile, slices.Concat(c.sets(), []string{p.data, c.loads(p.costs, shares...), "trials=1", "workloads.users.think_distribution=constant",
		"workloads.users.ramp_up=2s", "workloads.users.run=6s", "workloads.users.ramp_down=3s"}, set)...)
	logLoads(p.t, fmt.Sprintf("%s: %+v", c.name, c), f)
	return f, time.Since(begin)
}

// measureCosts finds what a page costs each tier beside its work, below the knee of tiers
// with quotas such as the systems have (one that is held back finds colder caches): what
// is used of the processors over what is answered, less the work.
func (p *truth) measureCosts() (costs [3]float64) {
	p.t.Helper()
	c := boardCase{name: "costs", work: [3]float64{8, 12, 8}, cpu: [3]float64{.2, .3, .2}, pool: 50, threads: 300}
	f, _ := p.measure(c, []float64{.4, .5, .6, .7}, "workloads.users.run=12s")
	for i, tier := range boardTiers {
		used, pages := 0.0, 0.0
		for _, l := range f.Loads {
			used, pages = used+l.processor(tier)*c.cpu[i], pages+l.Throughput
		}
		costs[i] = 1e3*used/pages - c.work[i]
	}
	return costs
}

// systemFound is what was found of a system, as far as the table shows it.
type systemFound struct {
	Again bool // it had no verdict at first
	Row   []any
}

// check measures a system as a part of the proof, and holds the answer to what is true of it.
func (p *truth) check(c boardCase, shares []float64, set ...string) {
	p.t.Helper()
	p.all++
	p.part(fmt.Sprintf("%d %s", p.all, c.name), func() {
		of := fmt.Sprint(c, shares, set, p.costs)
		f := parts.Measure(p.t, of, func() systemFound { return p.judge(c, shares, set...) })
		p.table.row(f.Row...)
		if f.Again {
			p.again++
		}
	})
}

// judge measures a system.
func (p *truth) judge(c boardCase, shares []float64, set ...string) (found systemFound) {
	p.t.Helper()
	if c.holdsLaw() {
		set = append([]string{"workloads.users.run=12s"}, set...)
	}
	f, took := p.measure(c, shares, set...)
	if f.Verdict == "unknown" && c.want != "unknown" { // it says itself that it must be measured again
		found.Again = true
		f, took = p.measure(c, shares, append(set, "trials=2")...)
	}
	if problem := c.wrong(f); problem != "" {
		p.t.Error(problem)
	}
	beyond, measured, law, off := f.beyond(c.knee(p.costs)), "", "", ""
	if f.Laws != nil {
		measured = optional(f.Laws.Limit)
	}
	if c.holdsLaw() {
		limit := c.limit(p.costs)
		law, off = fmt.Sprintf("%.1f", limit), fmt.Sprintf("%+.1f %%", 100*(beyond/limit-1))
		if !(math.Abs(beyond/limit-1) <= .05) {
			p.t.Errorf("%s: %.1f beyond the knee, want %.1f within 5 %%", c.name, beyond, limit)
		}
	}
	found.Row = []any{c.name, fmt.Sprintf("%.1f", c.work), fmt.Sprintf("%.3f", c.cpu), c.link, f.said(),
		fmt.Sprintf("%.1f", beyond), measured, law, off,
		took.Round(time.Second).String()}
	return found
}

// holdsLaw reports whether the throughput is held to what cores and work allow: in six
// seconds, what is under way at the ends makes three loads differ by a tenth.
func (c boardCase) holdsLaw() bool {
	return len(c.names) == 1 && c.names[0].Kind == "cpu"
}

// beyond is the mean throughput of the loads beyond the knee. One load tells less: what
// is under way at the ends of a run of six seconds is up to a fifth of what ends in it.
func (f tiersFinding) beyond(knee float64) float64 {
	sum, n := 0.0, 0.0
	for _, l := range f.Loads {
		if float64(l.Users) > 1.2*knee {
			sum, n = sum+l.Throughput, n+1
		}
	}
	return sum / n
}

// newTruth prepares a proof that costs of pages stand in.
func newTruth(t *testing.T) *truth {
	t.Helper()
	p := &truth{t: t, w: install(t), table: newSheet("limited", "work, ms", "cores", "link", "said", "beyond the knee",
		"measured limit", "by cores and work", "off", "took")}
	p.data = needBoard(t, p.w)
	known := false
	p.part("costs", func() {
		p.costs = parts.Measure(p.t, "", p.measureCosts)
		known = true
	})
	if !known {
		t.Skip("what pages cost is not known")
	}
	t.Logf("a page costs %.2f ms in %v beside its work", p.costs, boardTiers)
	return p
}

// part runs what is a part of the proof, and a test of its own.
func (p *truth) part(name string, measure func()) {
	of := p.t
	of.Run(name, func(t *testing.T) {
		p.t, p.w.T = t, t
		measure()
	})
	p.t, p.w.T = of, of
}

// TestNtierTruth: tiers of the built-in application that are limited at random are
// named, each time the right one and no other, and carry what cores and work allow.
func TestNtierTruth(t *testing.T) {
	p := newTruth(t)
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, 0))
	for range *ntierRounds {
		for _, c := range drawn(rng) {
			p.check(c, kneeLoads)
		}
	}
	t.Logf("%s%d of %d were measured twice, for they had no verdict at first", p.table, p.again, p.all)
}

// TestNtierTruthPatterns: two tiers alike are both named; a generator that binds is
// refused; below the knee nothing is named; and a faster suspect gives what the laws say.
func TestNtierTruthPatterns(t *testing.T) {
	p := newTruth(t)
	p.check(alike(p.costs), kneeLoads)
	p.check(starved(), kneeLoads)
	const seed = 2
	of := drawn(rand.New(rand.NewPCG(seed, 0)))
	below, proved := of[1], of[0]
	below.name, below.want, below.names = "below the knee", "none", nil
	p.check(below, []float64{.2, .35, .5, .6})
	proved.proof = true
	p.check(proved, kneeLoads, "trials=3")
	t.Log(p.table)
}

// TestNtierProof: a pool and threads that bind are proved with more of them. Three trials
// of six seconds do not tell a gain of a third: what is under way at the ends of a run
// is too much of it.
func TestNtierProof(t *testing.T) {
	const seed = 2
	for _, c := range drawn(rand.New(rand.NewPCG(seed, 0))) {
		if c.names[0].Kind != "pool" && c.names[0].Kind != "threads" {
			continue
		}
		t.Run(c.names[0].Kind, func(t *testing.T) {
			parts.Begin(t)
			p := &truth{t: t, w: install(t), table: newSheet("limited", "work, ms", "cores", "link", "said", "peak",
				"measured limit", "by cores and work", "off", "took")}
			p.data, c.proof = needBoard(t, p.w), true
			p.check(c, kneeLoads, "trials=4", "workloads.users.run=15s")
			t.Log(p.table)
		})
	}
}

// TestNtierProofLink: a link that binds is proved with a quarter more of what the host
// sends, and of nothing else; each trial records the rates that it had.
func TestNtierProofLink(t *testing.T) {
	parts.Begin(t)
	p := &truth{t: t, w: install(t), table: newSheet("limited", "work, ms", "cores", "link", "said", "beyond the knee",
		"measured limit", "by cores and work", "off", "took")}
	p.data = needBoard(t, p.w)
	const seed = 3
	of := drawn(rand.New(rand.NewPCG(seed, 0)))
	c := of[slices.IndexFunc(of, func(c boardCase) bool { return c.link != "" })]
	// Pages differ in size: a gain of a quarter takes more of them than so slow a link
	// carries in trials of seconds.
	const kilobits = 2500
	c.work, c.link, c.most, c.proof = [3]float64{1, 2, 1}, fmt.Sprintf("%dkbit/s", kilobits), kilobits*1e3/8/5.4/1024, true
	// With a quarter more, so many users are still half as many again as it can serve.
	p.check(c, []float64{.35, .7, 1.8, 2.2}, "trials=4", "workloads.users.run=15s")
	t.Log(p.table)
	d := p.w.Data("latest")
	made, raised := d.Steps[0].Links["lab-db-1"], 0
	for _, s := range d.Steps {
		want := made
		if strings.HasSuffix(s.Label, "outgoing link of db ×1.25") {
			want.Out, raised = 1.25*made.Out, raised+1
		}
		if s.Links["lab-db-1"] != want {
			t.Errorf("%s: the link was to have %+v, want %+v", s.Label, s.Links["lab-db-1"], want)
		}
		for _, r := range d.Results {
			for _, h := range r.Host {
				is := map[string]float64{"db:link": want.Out, "db:link_in": want.In}[h.Metric]
				if r.Step == s.ID && is > 0 && (math.Abs(slices.Min(h.Values)-is) > 1 || math.Abs(slices.Max(h.Values)-is) > 1) { // whole bytes
					t.Errorf("%s: %s was %v to %v, want %v", s.Label, h.Metric, slices.Min(h.Values), slices.Max(h.Values), is)
				}
			}
		}
	}
	if made.Out == 0 || raised != 4 {
		t.Errorf("%d trials had a faster link than %+v, want 4", raised, made)
	}
}

// TestNtierAddedHost: with a second host of the tier that binds, knee and throughput
// double, and both are what the hosts allow.
func TestNtierAddedHost(t *testing.T) {
	parts.Begin(t)
	p := newTruth(t)
	if _, stderr, err := p.w.Try("run", program.ExampleFile(boardFile), "--set", p.data, "--set", "trials=1", "--set",
		"workloads.users.run=15s"); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	var r struct {
		Configurations []struct {
			tiersFinding
			Configuration string
			Knee          *struct{ Users float64 }
		}
	}
	if err := json.Unmarshal([]byte(p.w.Run("ntier", "latest", "--format", "json")), &r); err != nil ||
		len(r.Configurations) != 2 {
		t.Fatalf("%d configurations, %v, want two", len(r.Configurations), err)
	}
	knees := make([]float64, 2)
	for i, f := range r.Configurations {
		logLoads(t, f.Configuration, f.tiersFinding)
		c := boardCase{work: [3]float64{2, 10, 4}, cpu: [3]float64{.5, .2 * float64(i+1), .5}}
		if x, limit := f.beyond(c.knee(p.costs)), c.limit(p.costs); !(math.Abs(x/limit-1) <= .05) {
			t.Errorf("%s: %.1f beyond the knee, want %.1f within 5 %%", f.Configuration, x, limit)
		}
		if f.Knee == nil {
			t.Fatalf("%s has no knee", f.Configuration)
		}
		knees[i] = f.Knee.Users
	}
	if knees[1] < 1.5*knees[0] {
		t.Errorf("knees %v, want the second at about twice the first", knees)
	}
}
