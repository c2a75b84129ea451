package peers

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/test/loadserver"
)

var (
	contest = flag.Bool("bench-load", false, "compare the generators, as `make bench-load` does, and print the table")
	rounds  = flag.Int("rounds", 3, "how often each generator is asked for each load")
	only    = flag.String("only", "", "the generators to compare, with commas between them; empty: all")
	window  = flag.Duration("window", 10*time.Second, "for how long each time, in whole seconds")
)

// rates are the loads in the table, in operations/s; 0 is as many as 64
// connections can do.
var rates = []float64{0, 10_000, 40_000}

// contender is a generator in the comparison.
type contender interface {
	title() string
	// offers reports whether it can be asked for a rate.
	offers(rate float64) bool
	run(t *testing.T, j job) outcome
}

func always(float64) bool { return true }

// contenders are in the order of the table's columns.
func contenders(t *testing.T) []contender {
	t.Helper()
	all := []contender{
		engine{},
		engine{spin: true},
		tool{"wrk", func(rate float64) bool { return rate == 0 }, wrk, readWrk},
		tool{"hey", always, func(_ *testing.T, j job) []string { return hey(j) }, readHey},
		tool{"k6", always, k6, readK6},
	}
	if *only == "" {
		return all
	}
	names := strings.Split(*only, ",")
	chosen := slices.DeleteFunc(all, func(c contender) bool { return !slices.Contains(names, c.title()) })
	if len(chosen) != len(names) {
		t.Fatalf("-only %s: not all of these are generators, or one is there twice", *only)
	}
	return chosen
}

// TestContest prints the table; `make bench-load` runs it.
func TestContest(t *testing.T) {
	if !*contest {
		t.Skip("takes minutes and a quiet machine; `make bench-load` runs it")
	}
	if runtime.NumCPU() <= max(serverCore, generatorCore) {
		t.Fatal("the server gets one processor and the generators another; this machine has one only")
	}
	need(t, "nginx", "scalebench", "wrk", "hey", "k6", "taskset", "time", "tcpdump")
	path, err := exec.LookPath("nginx")
	if err != nil {
		t.Fatal(err)
	}
	server := loadserver.StartNginx(t, path)
	pin(t, server.PID())
	all := &results{outcomes: make(map[cell][]outcome), warm: make(map[string][]float64), truths: make(map[string][]truth)}
	for _, c := range contenders(t) {
		all.names = append(all.names, c.title())
	}
	for i := range *rounds {
		all.round(t, i+1, server)
	}
	fmt.Printf("%s\n%s", machine(t), all.table(rates, *window))
}

// round asks every generator for every load once. Each round begins with another
// one, so that no generator always follows the same other one.
func (r *results) round(t *testing.T, number int, server *loadserver.Nginx) {
	order := contenders(t)
	first := number % len(order)
	order = slices.Concat(order[first:], order[:first])
	for _, rate := range rates {
		for _, c := range order {
			if !c.offers(rate) {
				continue
			}
			o := c.run(t, job{url: server.URL(), rate: rate, window: *window})
			k := cell{c.title(), rate}
			r.outcomes[k] = append(r.outcomes[k], o)
			fmt.Fprintf(os.Stderr, "round %d, %s: %s: %.0f answers/s, %.1f µs of processor time each\n",
				number, loadName(rate), c.title(), o.rate(), o.cpuEach()*1e6)
		}
	}
	late := timer(t, *window)
	r.timers = append(r.timers, late.Seconds())
	fmt.Fprintf(os.Stderr, "round %d, a timer at %s: late by %v at p99.9\n", number, loadName(truthRate), late)
	for _, c := range contenders(t) {
		if e, ours := c.(engine); ours {
			o := e.run(t, job{url: server.URL(), rate: truthRate, window: *window, warmUp: warmUp})
			r.warm[c.title()] = append(r.warm[c.title()], o.lag)
			x := compare(t, e, job{url: server.URL(), rate: truthRate, window: *window}, server.Address())
			r.truths[c.title()] = append(r.truths[c.title()], x)
			fmt.Fprintf(os.Stderr, "round %d, packets at %s: p50 %.0f µs on the wire, %.0f µs by %s from when sent, %.0f µs from when due\n",
				number, loadName(truthRate), x.wire[0]*1e6, x.service[0]*1e6, c.title(), x.latency[0]*1e6)
		}
	}
}
