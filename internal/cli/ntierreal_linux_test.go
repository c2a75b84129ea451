package cli_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ntierProof runs the proofs of n-tier experiments that take more than make test has
// time for, as `make ntier-proof` does.
var ntierProof = flag.Bool("ntier-proof", false, "run the whole proof of n-tier experiments")

// realTiers are made once for all tests: a compiled application and filled databases.
const realTiers = "/var/lib/scalebench-ntier"

// needReal makes what the examples with real components start from.
func needReal(t *testing.T, w *world, parts ...string) {
	t.Helper()
	if !*ntierProof {
		t.Skip("takes long, and needs scripts/ntier-deps.sh; `make ntier-proof` runs it")
	}
	needLab(t)
	t.Setenv("PATH", filepath.Dir(w.bin)+":"+os.Getenv("PATH"))
	var missing []string
	for _, part := range parts {
		if _, err := os.Stat(filepath.Join(realTiers, part)); err != nil {
			missing = append(missing, part)
		}
	}
	if len(missing) == 0 {
		return
	}
	cmd := exec.CommandContext(t.Context(), "../../examples/ntier/prepare.sh", missing...)
	cmd.Env = append(os.Environ(), "FOLDER="+realTiers, "SCALEBENCH="+w.bin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// tiersFinding is what this proof reads of the JSON of ntier, for one configuration.
type tiersFinding struct {
	Verdict, Pattern, Why, Text string
	Bottlenecks                 []struct {
		tiersResource
		SendQueue *float64 `json:"send_queue"`
	}
	Loads []tiersLoad
	Laws  *struct {
		Limit  *float64
		Points []struct {
			Hi    float64 `json:"bound_hi"`
			Model *float64
		}
	}
}

type tiersResource struct{ Tier, Kind string }

type tiersLoad struct {
	Users      int
	Throughput float64
	CI         []float64 // null, or its ends
	Usage      []struct {
		tiersResource
		Node string
		Mean float64
	}
}

// ntier runs an example, and returns what it says of its only configuration.
func (w *world) ntier(file string, set ...string) tiersFinding {
	w.t.Helper()
	args := []string{"run", example(file)}
	for _, s := range set {
		args = append(args, "--set", s)
	}
	if _, stderr, err := w.try(args...); err != nil {
		w.t.Fatalf("%v: %v\n%s", args, err, stderr)
	}
	var r struct{ Configurations []tiersFinding }
	if err := json.Unmarshal([]byte(w.run("ntier", "latest", "--format", "json")), &r); err != nil || len(r.Configurations) != 1 {
		w.t.Fatalf("%v: %d configurations, %v, want one", args, len(r.Configurations), err)
	}
	return r.Configurations[0]
}

// peak is the load with the most throughput.
func peak(f tiersFinding) tiersLoad {
	return slices.MaxFunc(f.Loads, func(a, b tiersLoad) int {
		return cmp.Compare(a.Throughput, b.Throughput)
	})
}

// logLoads prints the throughput, with what the laws say beside it.
func logLoads(t *testing.T, name string, f tiersFinding) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", name, f.Text)
	for i, l := range f.Loads {
		fmt.Fprintf(&b, "| %d | %.1f%s |", l.Users, l.Throughput, interval(l.CI))
		if f.Laws != nil && i < len(f.Laws.Points) {
			p := f.Laws.Points[i]
			fmt.Fprintf(&b, " at most %.1f |", p.Hi)
			if p.Model != nil {
				fmt.Fprintf(&b, " model %.1f |", *p.Model)
			}
		}
		for _, u := range l.Usage {
			if u.Node == "" {
				fmt.Fprintf(&b, " %s %s %.2f,", u.Tier, u.Kind, u.Mean)
			}
		}
		b.WriteByte('\n')
	}
	t.Log(b.String())
}

func interval(ci []float64) string {
	if len(ci) != 2 {
		return ""
	}
	return fmt.Sprintf(" [%.1f, %.1f]", ci[0], ci[1])
}

// TestNtierReal: HAProxy, Tomcat and MariaDB, of which each time something else is
// limited, and is named.
func TestNtierReal(t *testing.T) {
	w := newWorld(t)
	needReal(t, w, "tomcat", "mariadb")
	for _, c := range []struct {
		name string
		set  []string
		want tiersResource
		// lo and hi are around what the limits allow: limit ÷ demand, which the load changes.
		lo, hi float64
		queue  float64 // least mean of bytes that the database had sent and that were not taken
	}{
		{"database at 0.2 core", nil, tiersResource{"db", "cpu"}, 300, 700, 0},
		{"the same behind Apache", []string{"choose.web=apache"}, tiersResource{"db", "cpu"}, 300, 700, 0},
		{"application at 0.15 core", []string{"services.db.steps.0.cpu=0.8", "services.app.steps.0.cpu=0.15", "study.users=[50,100,200,400,600,800]"},
			tiersResource{"app", "cpu"}, 130, 330, 0},
		{"link of the database at 2 Mbit/s", []string{"services.db.steps.0.cpu=0.8", "fleet.lab.groups.db.link=2Mbit/s", "study.users=[10,20,40,80,160]"},
			tiersResource{"db", "link_out"}, 35, 60, 50_000},
	} {
		f := w.ntier("ntier-tomcat.yaml", c.set...)
		logLoads(t, c.name, f)
		if f.Verdict != "named" || f.Pattern != "single" || f.Bottlenecks[0].tiersResource != c.want {
			t.Errorf("%s: %s %s %v %s, want %s named alone", c.name, f.Verdict, f.Pattern, f.Bottlenecks, f.Why, c.want)
			continue
		}
		if x := peak(f).Throughput; x < c.lo || x > c.hi {
			t.Errorf("%s: at most %.1f pages per second, want %g to %g", c.name, x, c.lo, c.hi)
		}
		if q := f.Bottlenecks[0].SendQueue; c.queue > 0 && (q == nil || *q < c.queue) {
			t.Errorf("%s: its Send-Q is %v, want %g bytes and more", c.name, q, c.queue)
		}
	}
}

// TestNtierData: the same application over data tiers that are replicated and
// partitioned, on fast and on slow links. It shows how they rank; which way is not
// known beforehand.
func TestNtierData(t *testing.T) {
	w := newWorld(t)
	needReal(t, w, "mariadb", "partitioned", "postgres")
	for _, link := range []string{"1Gbit/s", "5Mbit/s"} {
		found := make(map[string]tiersFinding)
		for _, data := range []string{"one", "replicas", "galera", "pgpool", "partitioned"} {
			set := []string{"choose.data=" + data, "fleet.lab.groups.sql.link=" + link, "fleet.lab.groups.data.link=" + link}
			if data == "one" {
				set = append(set, "study.configurations=[1-1-1]")
			}
			f := w.ntier("ntier-data.yaml", set...)
			logLoads(t, data+" over "+link, f)
			found[data] = f
		}
		a, b := peak(found["galera"]), peak(found["partitioned"])
		if len(a.CI) != 2 || len(b.CI) != 2 {
			t.Errorf("over %s: a throughput has no interval", link)
			continue
		}
		verdict := "not told apart"
		switch {
		case a.CI[0] > b.CI[1]:
			verdict = "replicated carries more"
		case b.CI[0] > a.CI[1]:
			verdict = "partitioned carries more"
		}
		t.Logf("over %s: replicated %.1f%s, partitioned %.1f%s: %s", link, a.Throughput, interval(a.CI), b.Throughput, interval(b.CI), verdict)
	}
}
