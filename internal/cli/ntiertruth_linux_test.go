package cli_test

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
	"strconv"
	"strings"
	"testing"
)

// boardFile is the example with the built-in application, of which demands are known.
const boardFile = "ntier-board.yaml"

// needBoard fills a small database, and returns what sets the example to it.
func needBoard(t *testing.T, w *world) string {
	t.Helper()
	needLab(t)
	if _, err := exec.LookPath("mariadbd"); err != nil && os.Getenv("CI") == "" {
		t.Skip("needs mariadbd: scripts/deps.sh installs it")
	}
	t.Setenv("PATH", strings.TrimSuffix(w.bin, "/scalebench")+":"+os.Getenv("PATH"))
	// The database has a user of its own, who must get there.
	folder := t.TempDir()
	for _, dir := range []string{folder, filepath.Dir(folder)} {
		if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // others must read it
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "../../examples/ntier/prepare.sh", "mariadb")
	cmd.Env = append(os.Environ(), "FOLDER="+folder, "SCALEBENCH="+w.bin, "SIZES=--users 2000 --stories 300 --old-stories 1000 --comments 5")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return "services.db.reset.from=" + folder + "/mariadb"
}

// boardCase is an application of three tiers: milliseconds of work of an operation,
// and what each tier has.
type boardCase struct {
	name          string
	web, app, db  float64 // ms of work
	cpu           [3]float64
	pool, threads int
	link          string  // of the database
	generator     float64 // cores of the generator; 0: not limited
	// most is the throughput that the limits allow, without the cost of pages.
	most float64
	// want is the verdict, with the resources that must be named, and no other.
	want  string
	names []tiersResource
}

// sets are the arguments that make the case of the example.
func (c boardCase) sets() []string {
	set := []string{
		fmt.Sprintf("services.app.environ={POOL: %q, THREADS: %q, WORK: %q}", strconv.Itoa(c.pool), strconv.Itoa(c.threads), fmt.Sprintf("app=%.3fms,db=%.3fms", c.app, c.db)),
		fmt.Sprintf("services.web.environ={THREADS: %q, WORK: %q}", "400", fmt.Sprintf("web=%.3fms", c.web)),
	}
	for i, tier := range []string{"web", "app", "db"} {
		set = append(set, fmt.Sprintf("services.%s.steps.0.cpu=%.3f", tier, c.cpu[i]))
	}
	if c.link != "" {
		set = append(set, "fleet.lab.groups.db.link="+c.link)
	}
	if c.generator > 0 {
		set = append(set, fmt.Sprintf("fleet.lab.groups.users.cpu=%.3f", c.generator))
	}
	return set
}

// loads are numbers of users about the knee that the throughput has by the law.
func (c boardCase) loads(shares ...float64) string {
	var out []string
	for _, s := range shares {
		out = append(out, strconv.Itoa(max(2, int(math.Round(s*c.most*1.1)))))
	}
	return "study.users=[" + strings.Join(out, ",") + "]"
}

// TestNtierBoard: one run of the built-in application in a lab: the application's
// processor is named, and it ends where its work says.
func TestNtierBoard(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	w := newWorld(t)
	data := needBoard(t, w)
	c := boardCase{name: "app", web: 2, app: 20, db: 4, cpu: [3]float64{.4, .3, .3}, pool: 50, threads: 200, most: .3 / .020, want: "named", names: []tiersResource{{"app", "cpu"}}}
	f := w.ntier(boardFile, append(c.sets(), data, "study.configurations=[1-1-1]", c.loads(.3, .5, .7, 1.6, 2.3, 3), "trials=1", "workloads.users.run=5s", "workloads.users.ramp_up=1s", "workloads.users.ramp_down=2s")...)
	logLoads(t, c.name, f)
	if problem := c.wrong(f); problem != "" {
		t.Error(problem)
	}
	// The page costs something beside the work, up to a tenth of 20 ms.
	if x := peak(f).Throughput; x > 1.05*c.most || x < .8*c.most {
		t.Errorf("it ends at %.1f pages per second, want %.1f less what pages cost", x, c.most)
	}
}

// wrong says what a finding says that is not so; empty: nothing.
func (c boardCase) wrong(f tiersFinding) string {
	var named []tiersResource
	for _, b := range f.Bottlenecks {
		named = append(named, b.tiersResource)
	}
	same := len(named) == len(c.names) && !slices.ContainsFunc(c.names, func(r tiersResource) bool { return !slices.Contains(named, r) })
	if f.Verdict != c.want || !same {
		return fmt.Sprintf("%s: %s %s %v (%s %s), want %s %v", c.name, f.Verdict, f.Pattern, named, f.Text, f.Why, c.want, c.names)
	}
	return ""
}

// drawn are cases of each kind, at random. What binds has the least of what a page
// needs by a factor of two or more; pools and threads bind above hardware that is
// used to two thirds at most.
func drawn(rng *rand.Rand) []boardCase {
	between := func(lo, hi float64) float64 { return lo + (hi-lo)*rng.Float64() }
	base := func(name string, names ...tiersResource) boardCase {
		return boardCase{name: name, web: 2, app: 10, db: 4, cpu: [3]float64{.4, .6, .4}, pool: 50, threads: 300, want: "named", names: names}
	}
	web := base("processor of web", tiersResource{"web", "cpu"})
	web.web, web.cpu[0] = between(8, 12), between(.12, .2)
	web.most = web.cpu[0] / web.web * 1e3
	app := base("processor of app", tiersResource{"app", "cpu"})
	app.app, app.cpu[1] = between(15, 25), between(.2, .35)
	app.most = app.cpu[1] / app.app * 1e3
	db := base("processor of db", tiersResource{"db", "cpu"})
	db.db, db.cpu[2] = between(8, 14), between(.15, .25)
	db.most = db.cpu[2] / db.db * 1e3
	link := base("link of db", tiersResource{"db", "link_out"})
	rate := between(.7, 1.2) // Mbit/s
	link.app, link.link, link.most = 6, fmt.Sprintf("%.0fkbit/s", 1000*rate), rate*1e6/8/5.4/1024
	pool := base("pool of app", tiersResource{"app", "pool"})
	pool.web, pool.app, pool.db, pool.pool, pool.cpu[2] = 1, 2, between(15, 25), 1, 1.6
	pool.most = 1e3 / (pool.db + 2)
	threads := base("threads of app", tiersResource{"app", "threads"})
	threads.web, threads.app, threads.db, threads.threads, threads.cpu = 1, between(6, 10), between(6, 10), 1, [3]float64{.4, 1, 1}
	threads.most = 1e3 / (threads.app + threads.db + 2)
	return []boardCase{web, app, db, link, pool, threads}
}

// others are cases of which no single resource must be named.
func others() []boardCase {
	both := boardCase{name: "app and db alike", web: 2, app: 10, db: 10, cpu: [3]float64{.4, .22, .22}, pool: 100, threads: 300, most: 20, want: "named", names: []tiersResource{{"app", "cpu"}, {"db", "cpu"}}}
	starved := boardCase{name: "starved generator", web: 1, app: 2, db: 1, cpu: [3]float64{.4, .4, .4}, pool: 50, threads: 200, generator: .01, most: 60, want: "unknown"}
	return []boardCase{both, starved}
}

// ntierRounds is how often each kind of limit is drawn.
var ntierRounds = flag.Int("ntier-rounds", 5, "how many systems of each kind TestNtierTruth measures")

// TestNtierTruth: tiers of the built-in application that are limited at random are
// named, each time the right one and no other; below the knee nothing is.
func TestNtierTruth(t *testing.T) {
	if !*ntierProof {
		t.Skip("takes an hour and a half; `make ntier-proof` runs it")
	}
	w := newWorld(t)
	data := needBoard(t, w)
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, 0))
	right, all := 0, 0
	measure := func(c boardCase, shares ...float64) tiersFinding {
		return w.ntier(boardFile, append(c.sets(), data, "study.configurations=[1-1-1]", c.loads(shares...), "trials=2", "workloads.users.run=10s", "workloads.users.ramp_down=5s")...)
	}
	for range *ntierRounds {
		for _, c := range drawn(rng) {
			f := measure(c, .3, .6, 1.4, 2.2, 3.5)
			logLoads(t, fmt.Sprintf("%s: %+v", c.name, c), f)
			all++
			if problem := c.wrong(f); problem != "" {
				t.Error(problem)
				continue
			}
			right++
			if l := f.Laws; strings.HasPrefix(c.name, "processor") && l != nil && l.Limit != nil {
				x := peak(f).Throughput
				t.Logf("%s: peak %.1f, by the laws %.1f (%+.1f %%), by the work alone %.1f", c.name, x, *l.Limit, 100*(x / *l.Limit - 1), c.most)
				if math.Abs(x / *l.Limit - 1) > .05 {
					t.Errorf("%s: peak %.1f, want %.1f within 5 %%", c.name, x, *l.Limit)
				}
			}
		}
	}
	t.Logf("%d of %d are named rightly", right, all)
	for _, c := range others() {
		f := measure(c, .3, .6, 1.4, 2.2, 3.5)
		logLoads(t, c.name, f)
		if problem := c.wrong(f); problem != "" {
			t.Error(problem)
		}
	}
	below := drawn(rng)[1]
	below.name, below.want, below.names = "below the knee", "none", nil
	f := measure(below, .1, .2, .3, .4)
	logLoads(t, below.name, f)
	if problem := below.wrong(f); problem != "" {
		t.Error(problem)
	}
}

// TestNtierAddedHost: with a second host of the tier that binds, knee and throughput
// double.
func TestNtierAddedHost(t *testing.T) {
	if !*ntierProof {
		t.Skip("takes five minutes; `make ntier-proof` runs it")
	}
	w := newWorld(t)
	data := needBoard(t, w)
	if _, stderr, err := w.try("run", example(boardFile), "--set", data, "--set", "trials=2"); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	var r struct {
		Configurations []struct {
			tiersFinding
			Configuration string
			Knee          *struct{ Users float64 }
		}
	}
	if err := json.Unmarshal([]byte(w.run("ntier", "latest", "--format", "json")), &r); err != nil || len(r.Configurations) != 2 {
		t.Fatalf("%d configurations, %v, want two", len(r.Configurations), err)
	}
	one, two := r.Configurations[0], r.Configurations[1]
	logLoads(t, "1-1-1", one.tiersFinding)
	logLoads(t, "1-2-1", two.tiersFinding)
	if ratio := peak(two.tiersFinding).Throughput / peak(one.tiersFinding).Throughput; math.Abs(ratio-2) > .2 {
		t.Errorf("with two hosts the throughput is %.2f times that of one, want 2", ratio)
	}
	if one.Knee == nil || two.Knee == nil || two.Knee.Users < 1.5*one.Knee.Users {
		t.Errorf("knees %v and %v, want the second at about twice the first", one.Knee, two.Knee)
	}
}
