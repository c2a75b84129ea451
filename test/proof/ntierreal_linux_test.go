//go:build proof

package proof_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
)

// realTiers are made once for all tests: a compiled application and filled databases.
const realTiers = "/var/lib/scalebench-ntier"

// needReal makes what the examples with real components start from.
func needReal(t *testing.T, w *installation, components ...string) {
	t.Helper()
	program.NeedLab(t)
	t.Setenv("PATH", filepath.Dir(w.Bin)+":"+os.Getenv("PATH"))
	var missing []string
	for _, part := range components {
		if _, err := os.Stat(filepath.Join(realTiers, part)); err != nil {
			missing = append(missing, part)
		}
	}
	if len(missing) == 0 {
		return
	}
	cmd := exec.CommandContext(t.Context(), "../../examples/ntier/prepare.sh", missing...)
	cmd.Env = append(os.Environ(), "FOLDER="+realTiers, "SCALEBENCH="+w.Bin)
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
	Loads  []tiersLoad
	Proof  *tiersProof
	Doubts []struct{ Code string }
	Laws   *struct {
		Limit   *float64
		LimitCI []float64 `json:"limit_ci"` // null, or its ends
		Points  []struct {
			Hi    float64 `json:"bound_hi"`
			Model *float64
		}
	}
}

type tiersProof struct {
	Outcome, Why string
	CI           [2]float64 // zeros: none
}

type tiersResource struct{ Tier, Kind string }

// said is the verdict in a word, with what it names.
func (f tiersFinding) said() string {
	said := cmp.Or(f.Pattern, f.Verdict)
	for _, b := range f.Bottlenecks {
		said += " " + b.Tier + "." + b.Kind
	}
	if f.Proof != nil {
		said += ", " + f.Proof.Outcome
	}
	return said
}

type tiersLoad struct {
	Users      int
	Throughput float64
	CI         []float64 // null, or its ends
	Refused    string    // why it says nothing of the application
	Trials     int
	Errors     *float64 // share of the operations, with those that had not ended
	Unfinished int
	Usage      []tiersUsage
}

type tiersUsage struct {
	tiersResource
	Node string
	Mean float64
}

// ntier runs an example, and returns what it says of its only configuration. A
// measurement that has no verdict ends as invalid, and says why all the same.
func (w *installation) ntier(file string, set ...string) tiersFinding {
	w.T.Helper()
	args := []string{"run", program.ExampleFile(file)}
	for _, s := range set {
		args = append(args, "--set", s)
	}
	w.valid(args...)
	var r struct{ Configurations []tiersFinding }
	if err := json.Unmarshal([]byte(w.valid("ntier", "latest", "--format", "json")), &r); err != nil || len(r.Configurations) != 1 {
		w.T.Fatalf("%v: %d configurations, %v, want one", args, len(r.Configurations), err)
	}
	return r.Configurations[0]
}

// valid executes a command that may end as an invalid measurement, and returns its
// output.
func (w *installation) valid(args ...string) string {
	w.T.Helper()
	out, stderr, err := w.Try(args...)
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 4) {
		w.T.Fatalf("%v: %v\n%s", args, err, stderr)
	}
	return out
}

// peak is the load with the most throughput of those that count.
func peak(f tiersFinding) (most tiersLoad) {
	for _, l := range f.Loads {
		if l.Refused == "" && l.Throughput > most.Throughput {
			most = l
		}
	}
	return most
}

// dataSeconds is how long each trial of a data tier is scored.
const dataSeconds = 6

// failed is the share of pages that failed in trials of a data tier, of those that ended:
// what had not ended when a trial did is no error. 1: it is not known.
func (l tiersLoad) failed() float64 {
	well := l.Throughput * dataSeconds * float64(l.Trials)
	if l.Errors == nil || !(well > 0) {
		return 1
	}
	failed := max(0, *l.Errors*well/(1-*l.Errors)-float64(l.Unfinished))
	return failed / (well + failed)
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

// sheet is a table in Markdown, which a proof prints at its end.
type sheet struct{ strings.Builder }

func newSheet(columns ...any) *sheet {
	s := &sheet{}
	s.WriteByte('\n')
	s.row(columns...)
	s.WriteString("|" + strings.Repeat("---|", len(columns)) + "\n")
	return s
}

func (s *sheet) row(cells ...any) {
	s.WriteByte('|')
	for _, c := range cells {
		fmt.Fprintf(&s.Builder, " %v |", c)
	}
	s.WriteByte('\n')
}

// optional is a number that may be missing.
func optional(x *float64) string {
	if x == nil {
		return "not known"
	}
	return fmt.Sprintf("%.4g", *x)
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
	parts.Begin(t)
	w := install(t)
	needReal(t, w, "tomcat", "mariadb")
	table := newSheet("limited", "said", "peak", "by the laws", "took")
	for _, c := range []struct {
		name string
		set  []string
		want tiersResource
		// lo and hi are around what the limits allow: limit ÷ demand, which the load changes.
		lo, hi float64
		queue  float64 // least mean of bytes that the database had sent and that were not taken
	}{
		{"database at 0.2 core", nil, tiersResource{"db", "cpu"}, 300, 900, 0},
		{"the same behind Apache", []string{"choose.web=apache"}, tiersResource{"db", "cpu"}, 300, 900, 0},
		{"application at 0.15 core", []string{"services.db.steps.0.cpu=0.8", "services.app.steps.0.cpu=0.15", "study.users=[50,100,200,400,600,800]"},
			tiersResource{"app", "cpu"}, 130, 330, 0},
		{"link of the database at 2 Mbit/s", []string{"services.db.steps.0.cpu=0.8", "fleet.lab.groups.db.link=2Mbit/s", "study.users=[10,20,40,80,160]"},
			tiersResource{"db", "link_out"}, 35, 60, 50_000},
	} {
		begin := time.Now()
		f := w.ntier("ntier-tomcat.yaml", append(c.set, "study.proof=false", "trials=1", "workloads.users.ramp_up=4s", "workloads.users.run=8s", "workloads.users.ramp_down=2s")...)
		logLoads(t, c.name, f)
		x, limit := peak(f).Throughput, ""
		if f.Laws != nil {
			limit = optional(f.Laws.Limit) + interval(f.Laws.LimitCI)
		}
		table.row(c.name, f.said(), fmt.Sprintf("%.1f", x), limit, time.Since(begin).Round(time.Second))
		if f.Verdict != "named" || f.Pattern != "single" || f.Bottlenecks[0].tiersResource != c.want {
			t.Errorf("%s: %s %s %v %s, want %s named alone", c.name, f.Verdict, f.Pattern, f.Bottlenecks, f.Why, c.want)
			continue
		}
		if x < c.lo || x > c.hi {
			t.Errorf("%s: at most %.1f pages per second, want %g to %g", c.name, x, c.lo, c.hi)
		}
		// A prediction from low loads that real servers exceed, by more than its interval,
		// says so itself.
		if ci := f.Laws.LimitCI; len(ci) == 2 && x > 1.1*ci[1] && !slices.ContainsFunc(f.Doubts, func(d struct{ Code string }) bool { return d.Code == "bound_exceeded" || d.Code == "demand_falls" }) {
			t.Errorf("%s: %.1f pages per second, where the laws allow %.1f at most, and no doubt says so: %v", c.name, x, ci[1], f.Doubts)
		}
		if q := f.Bottlenecks[0].SendQueue; c.queue > 0 && (q == nil || *q < c.queue) {
			t.Errorf("%s: its Send-Q is %s, want %g bytes and more", c.name, optional(q), c.queue)
		}
	}
	t.Log(table)
}

// dataLinks are the links between hosts over which data tiers are compared, with
// numbers of users of which the last are more than the slower of them carries.
var dataLinks = []struct{ rate, users string }{{"1Gbit/s", "80,160,320"}, {"5Mbit/s", "40,80,160"}}

// TestNtierData: the same application over data tiers that are replicated and
// partitioned, on fast and on slow links. It shows how they rank, with intervals;
// which way is not known beforehand. The others are measured once.
func TestNtierData(t *testing.T) {
	parts.Begin(t)
	w := install(t)
	needReal(t, w, "mariadb", "partitioned", "postgres")
	table := newSheet("links", "users", "replicated", "partitioned", "more is carried by")
	others := newSheet("data tier", "links", "users", "pages/s")
	var more, runs []string // on each link; PLATFORM/VARIANT=RUN
	for _, link := range dataLinks {
		measure := func(data, users string, trials int) tiersFinding {
			f := w.ntier("ntier-data.yaml", "choose.data="+data, "fleet.lab.groups.sql.link="+link.rate, "fleet.lab.groups.data.link="+link.rate, "study.users=["+users+"]",
				fmt.Sprintf("trials=%d", trials),
				"workloads.users.ramp_up=3s", fmt.Sprintf("workloads.users.run=%ds", dataSeconds), "workloads.users.ramp_down=2s")
			logLoads(t, data+" over "+link.rate, f)
			if trials > 1 {
				runs = append(runs, fmt.Sprintf("%s/%s=%s",
					map[string]string{dataLinks[0].rate: "fast", dataLinks[1].rate: "slow"}[link.rate], data, w.Data("latest").Run.ID))
			}
			for _, l := range f.Loads {
				if l.Trials != trials || !(l.Throughput >= 1) {
					t.Errorf("%s over %s, %d users: %d of %d trials, %.1f pages a second", data, link.rate, l.Users, l.Trials, trials, l.Throughput)
				}
			}
			if most := peak(f); most.failed() > .01 {
				t.Errorf("%s over %s: with %d users, where most is carried, %.0f %% of the pages failed", data, link.rate, most.Users, 100*most.failed())
			}
			return f
		}
		replicated, partitioned := measure("galera", link.users, 3), measure("partitioned", link.users, 3)
		for i, l := range replicated.Loads {
			table.row(link.rate, l.Users, l.carried(), partitioned.Loads[i].carried(), moreOf(l, partitioned.Loads[i]))
		}
		a, b := peak(replicated), peak(partitioned)
		table.row(link.rate, "at most", a.carried(), b.carried(), moreOf(a, b))
		more = append(more, moreOf(a, b))
		users, _, _ := strings.Cut(link.users, ",")
		for _, data := range []string{"one", "replicas", "pgpool"} {
			l := peak(measure(data, users, 1))
			others.row(data, link.rate, l.Users, fmt.Sprintf("%.1f", l.Throughput))
		}
	}
	verdict := "the ranking does not turn over"
	switch {
	case slices.Contains(more, notApart):
		verdict = "whether the ranking turns over is not told"
	case more[0] != more[1]:
		verdict = "the ranking turns over"
	}
	// So few loads have no knee for the study, which ranks what it can.
	t.Logf("%s%s\n%s\n%s", table, verdict, others, w.valid(append([]string{"ntier"}, runs...)...))
}

// carried is the throughput with its interval, where the generator did not bind.
func (l tiersLoad) carried() string {
	if l.Refused != "" {
		return "refused"
	}
	text := fmt.Sprintf("%.1f%s", l.Throughput, interval(l.CI))
	if share := l.failed(); share > .01 {
		text += fmt.Sprintf(", %.0f %% failed", 100*share)
	}
	return text
}

// notApart is that intervals overlap, or are not known.
const notApart = "not told apart"

// moreOf says which carries more, where intervals tell.
func moreOf(replicated, partitioned tiersLoad) string {
	a, b := replicated.CI, partitioned.CI
	switch {
	case len(a) != 2 || len(b) != 2 || replicated.Refused+partitioned.Refused != "":
		return notApart
	case a[0] > b[1]:
		return "replicated"
	case b[0] > a[1]:
		return "partitioned"
	}
	return notApart
}
