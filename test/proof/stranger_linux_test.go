//go:build proof

package proof_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/test/proof/parts"
	"github.com/scalebench/scalebench/test/skip"
)

// doubtKinds are chosen by `make doubt-proof`.
var doubtKinds = flag.String("doubt-kinds", "stranger,quiet,quota", "the kinds of labs")

// strangerLab is a lab whose only workload has a known index.
type strangerLab struct {
	file  string
	nodes int
	truth float64
}

// newStrangerLab draws a lab: of processors that have enough for all or not, or
// of links, with and without a limit that they share.
func newStrangerLab(rng *rand.Rand, trials int) strangerLab {
	n := 3 + rng.IntN(2)
	keep := 1.0
	if rng.IntN(2) == 0 {
		keep = .3 + .4*rng.Float64()
	}
	l := strangerLab{nodes: n, truth: 100 * (1 - keep)}
	const head = "fleet: {lab: {groups: [{name: rack, nodes: %d, %s}, {name: core, nodes: 1, use: []}]}}\nworkloads: [%s]\ntrials: %d\nexpect: {w: %g}\n"
	if rng.IntN(3) == 0 {
		link := 80 + rng.IntN(80)
		l.file = fmt.Sprintf(strings.Replace(head, "use: []", fmt.Sprintf("link: %.1fMbit/s", keep*float64(n*link)), 1), n, fmt.Sprintf("link: %dMbit/s", link),
			"{name: w, kind: network, pairing: all_to_one, sink: core, duration: 2s}", trials, l.truth)
		return l
	}
	cpu := float64(runtime.NumCPU()) / float64(n) / keep
	if keep == 1 {
		cpu *= .85 // a machine that is full to the brim loses what its system and agents take, 3 to 5 %
	}
	l.file = fmt.Sprintf(head, n, fmt.Sprintf("cpu: %.3f", cpu), fmt.Sprintf("{name: w, kind: cpu, threads: %d, on: {group: rack}, duration: 2s}", int(math.Ceil(cpu))), trials, l.truth)
	return l
}

// stranger is a process's worth of work that is none of the fleet's: half a
// processor, while it is asked for.
type stranger struct{ works chan bool }

func newStranger() stranger {
	s := stranger{make(chan bool)}
	go s.live()
	return s
}

func (s stranger) live() {
	const turn = 10 * time.Millisecond
	runtime.LockOSThread()
	for works := range s.works {
		for works {
			for until := time.Now().Add(turn); time.Now().Before(until); {
			}
			select {
			case now, open := <-s.works:
				works = now && open
			case <-time.After(turn):
			}
		}
	}
}

// newQuotaLab draws a lab of hosts with small quotas, for which the machine has
// enough: nothing is shared.
func newQuotaLab(rng *rand.Rand, trials int) strangerLab {
	n := 2 + rng.IntN(5)
	quota := (.2 + .6*rng.Float64()) * float64(runtime.NumCPU()) / float64(n)
	const file = "fleet: {lab: {groups: [{name: rack, nodes: %d, cpu: %.3f}]}}\nworkloads: [{name: w, kind: cpu, threads: %d, duration: 2s}]\ntrials: %d\nexpect: {w: 0}\n"
	return strangerLab{file: fmt.Sprintf(file, n, quota, int(math.Ceil(quota)), trials), nodes: n}
}

// measure runs the lab; the stranger, if any, works in the parallel phases only.
func (l strangerLab) measure(t *testing.T, s *stranger) evaluation.Finding {
	w := installForLabs(t)
	p := w.Start("run", w.Write("lab.yaml", l.file))
	alone := 0
	for done := false; !done; {
		select {
		case line := <-p.Lines:
			switch {
			case s == nil:
			case strings.Contains(line, ", serial on"):
				if alone++; alone%l.nodes == 0 {
					s.works <- true
				}
			case strings.Contains(line, ", parallel on"):
				s.works <- false
			}
		case <-p.Ended:
			done = true
		}
	}
	if s != nil {
		s.works <- false // whatever was printed
	}
	if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("run ended with %d:\n%s", code, p.Log())
	}
	return w.Findings("latest")[0]
}

// TestStranger: half a processor that something else takes while all nodes work
// looks like a loss of capacity. The verdict is never wrong for it, and nearly
// always there is one; so it is without a stranger, and with small quotas.
func TestStranger(t *testing.T) {
	skip.UnlessLong(t)
	labs, trials, kinds := 1, 3, []string{"stranger"}
	if parts.Whole() { // a processor's speed moves by some percent from one trial to the next
		labs, trials, kinds = 30, 5, strings.Split(*doubtKinds, ",")
	}
	there := newStranger()
	defer close(there.works)
	for _, kind := range kinds {
		table := doubtTable{rows: []string{"| lab | truth | measured | interval | possible | verdict |",
			"|---|---|---|---|---|---|"}}
		rng := rand.New(rand.NewPCG(10, 1))
		for i := range labs {
			l, s := newStrangerLab(rng, trials), (*stranger)(nil)
			switch kind {
			case "stranger":
				s = &there
			case "quota":
				l = newQuotaLab(rng, trials)
			}
			t.Run(fmt.Sprintf("%s %d", kind, i+1), func(t *testing.T) {
				table.add(t, l, parts.Measure(t, l.file, func() evaluation.Finding { return l.measure(t, s) }))
			})
		}
		t.Log("\n" + strings.Join(table.rows, "\n"))
		t.Logf("%s: of %d labs %d have no verdict, %d are more than 3 points from the truth, the interval misses it in %d",
			kind, table.labs, table.silent, table.apart, table.outside)
		if parts.Whole() && table.labs == labs && (table.silent > labs/10 || kind != "stranger" && table.apart > labs/10) {
			t.Errorf("%s: of %d labs %d have no verdict and %d are more than 3 points from the truth, want at most %d", kind,
				labs, table.silent, table.apart, labs/10)
		}
	}
}

// doubtTable counts what was found in labs of a kind, and has a row for each.
type doubtTable struct {
	rows                         []string
	labs, silent, apart, outside int
}

// add judges a finding, whenever it was measured.
func (d *doubtTable) add(t *testing.T, l strangerLab, f evaluation.Finding) {
	truth := l.truth
	if f.ExpectedHere != nil {
		truth = *f.ExpectedHere
	}
	row := fmt.Sprintf("| %s | %.1f | %s | %s | [%.1f, %.1f] | %s |", path.Base(t.Name()), truth, f.CDIText(),
		f.IntervalText(), f.Possible[0], f.Possible[1], f.Verdict)
	t.Logf("%s %q", row, f.Warnings)
	if problem := contradicts(f, truth); problem != "" {
		t.Errorf("%s: %s", row, problem)
	}
	d.rows = append(d.rows, row)
	d.labs++
	if f.Verdict == evaluation.Unclear || f.Verdict == evaluation.Unknown {
		d.silent++
	}
	if math.Abs(*f.CDI-truth) > 3 {
		d.apart++
	}
	if !f.CI.Contains(truth) {
		d.outside++
	}
}

// contradicts says where a clear verdict is wrong. What is known beforehand is
// known to a point.
func contradicts(f evaluation.Finding, truth float64) string {
	switch f.Verdict {
	case evaluation.Unclear, evaluation.Unknown:
		return ""
	case evaluation.None:
		if truth > evaluation.DefaultTolerance {
			return "none, where capacity is lost"
		}
	case evaluation.Gain:
		if truth > -1 {
			return "gain, where there is none"
		}
	case evaluation.Degraded:
		if truth < 1 {
			return "degraded, where nothing is lost"
		}
	}
	if truth < f.Possible[0]-1 || truth > f.Possible[1]+1 {
		return "the truth is outside of what it can have been"
	}
	return ""
}
