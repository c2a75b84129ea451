package cli_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/evaluation"
)

// doubtProof makes the proof of doubts complete, as `make doubt-proof` does: 30
// labs with a stranger on the machine, and 30 without.
var doubtProof = flag.Bool("doubt-proof", false, "run every lab with and without a stranger")

// withStrangers false leaves out the half of the proof with a stranger.
var withStrangers = flag.Bool("strangers", true, "with -doubt-proof: measure with a stranger, too")

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

// measure runs the lab; the stranger, if any, works in the parallel phases only.
func (l strangerLab) measure(t *testing.T, s *stranger) evaluation.Finding {
	w := labWorld(t)
	p := w.start("run", w.write("lab.yaml", l.file))
	alone := 0
	for done := false; !done; {
		select {
		case line := <-p.lines:
			switch {
			case s == nil:
			case strings.Contains(line, ", serial on"):
				if alone++; alone%l.nodes == 0 {
					s.works <- true
				}
			case strings.Contains(line, ", parallel on"):
				s.works <- false
			}
		case <-p.ended:
			done = true
		}
	}
	if s != nil {
		s.works <- false // whatever was printed
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("run ended with %d:\n%s", code, p.log())
	}
	return w.findings("latest")[0]
}

// TestStranger: half a processor that something else takes while all nodes work
// looks like a loss of capacity. The verdict is never wrong for it; and without
// it there is one.
func TestStranger(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	labs, trials, cases := 1, 3, []bool{true}
	if *doubtProof { // a processor's speed moves by some percent from one trial to the next
		labs, trials, cases = 30, 5, []bool{true, false}
	}
	if !*withStrangers {
		cases = []bool{false}
	}
	rows := []string{"| truth | stranger | measured | interval | possible | verdict |", "|---|---|---|---|---|---|"}
	silent, apart := 0, 0
	there := newStranger()
	defer close(there.works)
	for _, disturbed := range cases {
		rng := rand.New(rand.NewPCG(10, 1))
		var s *stranger
		if disturbed {
			s = &there
		}
		for range labs {
			l := newStrangerLab(rng, trials)
			f := l.measure(t, s)
			truth := l.truth
			if f.ExpectedHere != nil {
				truth = *f.ExpectedHere
			}
			rows = append(rows, fmt.Sprintf("| %.1f | %v | %s | %s | [%.1f, %.1f] | %s |", truth, disturbed, f.CDIText(), f.IntervalText(), f.Possible[0], f.Possible[1], f.Verdict))
			t.Logf("%s %q", rows[len(rows)-1], f.Warnings)
			if problem := contradicts(f, truth); problem != "" {
				t.Errorf("%s: %s", rows[len(rows)-1], problem)
			}
			if !disturbed && (f.Verdict == evaluation.Unclear || f.Verdict == evaluation.Unknown) {
				silent++
			} else if !disturbed && math.Abs(*f.CDI-truth) > 3 {
				apart++
			}
		}
	}
	t.Log("\n" + strings.Join(rows, "\n"))
	if *doubtProof && (silent > labs/10 || apart > labs/10) {
		t.Errorf("of %d quiet labs %d have no verdict and %d are more than 3 points from the truth, want at most %d of each", labs, silent, apart, labs/10)
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
