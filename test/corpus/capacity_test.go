package corpus

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// searchRun is the id of runs with a search.
const searchRun = "01J0SEARCH0000000000000000"

// window is what happens in windows of a search.
type window = func(k int, rate float64, g *generated)

// above does something in windows above a load.
func above(load float64, do func(g *generated)) window {
	return func(_ int, rate float64, g *generated) {
		if rate > load {
			do(g)
		}
	}
}

// from does something from a window on.
func from(first int, do func(g *generated)) window {
	return func(k int, _ float64, g *generated) {
		if k >= first {
			do(g)
		}
	}
}

// at does something in a window.
func at(window int, do func(g *generated)) window {
	return func(k int, _ float64, g *generated) {
		if k == window {
			do(g)
		}
	}
}

// late sends late, and so answers come late.
func late(by time.Duration) func(g *generated) {
	return func(g *generated) { g.lag, g.latency = by, g.latency+by }
}

// capacityCases are searches for the load that a server takes.
func capacityCases(t *testing.T) (out []question) {
	t.Helper()
	const sla = `{"sla": "p90=150ms"}`
	put := func(name, params string, d model.RunData) {
		out = append(out, question{name: "capacity/" + name, study: "capacity", params: params, runs: []model.RunData{d}})
	}
	add := func(name string, x searched) { put(name, sla, x.run(t, sla)) }
	with := func(name, params string, x searched) { put(name, params, x.run(t, params)) }
	add("target", searched{capacity: 730})
	add("slow target", searched{capacity: 30})
	add("two generators", searched{capacity: 730, generators: 2})
	add("two trials", searched{capacity: 730, trials: 2})
	add("cap", searched{capacity: 1e12})
	add("floor", searched{capacity: .5})
	with("floor of the user", `{"sla": "p90=150ms", "min": "200op/s", "start": "300op/s"}`, searched{capacity: 100})
	with("cap of the user", `{"sla": "p90=150ms", "max": "500op/s"}`, searched{capacity: 730})
	add("generator late", searched{capacity: 7300, change: above(400, late(300*time.Millisecond))})
	add("one of two generators late", searched{capacity: 7300, generators: 2, change: above(400, late(300*time.Millisecond))})
	add("generator busy", searched{capacity: 7300, change: above(400, func(g *generated) {
		late(50 * time.Millisecond)(g)
		g.latency, g.Usage.Busy = g.latency+150*time.Millisecond, .98
	})})
	add("machine full", searched{capacity: 7300, change: above(400, func(g *generated) {
		late(300 * time.Millisecond)(g)
		g.others = 1.9
	})})
	add("path", searched{capacity: 7300, change: above(300, func(g *generated) {
		g.latency, g.service, g.rtt = time.Second, time.Second, 200*time.Millisecond
	})})
	add("path loses", searched{capacity: 7300, change: above(300, func(g *generated) {
		g.latency, g.service, g.rtt, g.lost = time.Second, time.Second, 60*time.Millisecond, 9
		g.Received = 4e7
	})})
	add("path with segments out of order", searched{capacity: 7300, change: func(_ int, rate float64, g *generated) {
		g.Segments.In = int64(8 * rate)
		if rate > 300 {
			g.latency, g.service, g.Segments.OutOfOrder = time.Second, time.Second, int64(1.6*rate)
		}
	}})
	add("path too long", searched{capacity: 7300, change: from(0, func(g *generated) {
		g.rtt, g.latency = 250*time.Millisecond, 252*time.Millisecond
	})})
	add("path longer for good", searched{capacity: 730, change: from(3, func(g *generated) { g.rtt = 3 * time.Millisecond })})
	add("path longer for a window", searched{capacity: 730, change: at(2, func(g *generated) {
		g.rtt, g.latency = 80*time.Millisecond, 240*time.Millisecond
	})})
	add("drift", searched{capacity: 7300, change: from(2, func(g *generated) { g.latency, g.service = time.Second, time.Second })})
	add("drift to less", searched{capacity: 7300, change: func(k int, rate float64, g *generated) {
		if k >= 3 && rate > 50 {
			g.latency, g.service = time.Second, time.Second
		}
	}})
	add("refuses beyond a rate", searched{capacity: 1e12, change: func(_ int, rate float64, g *generated) {
		g.fail(max(0, 1-300/rate), load.ErrStatus)
	}})
	add("statuses", searched{capacity: 1e12, change: func(_ int, rate float64, g *generated) {
		g.fail(max(0, 1-300/rate), load.ErrStatus)
		g.counts.Statuses.Add(503, g.counts.Errors[load.ErrStatus])
	}})
	add("fails at any load", searched{capacity: 1e12, change: func(k int, rate float64, g *generated) {
		g.fail(.008+.006*math.Abs(math.Sin(float64(7*k)+rate)), load.ErrStatus)
	}})
	add("fails at the smallest load", searched{capacity: 1e12, change: from(0, func(g *generated) { g.fail(1, load.ErrClosed) })})
	add("times out", searched{capacity: 1e12, change: above(500, func(g *generated) { g.fail(.6, load.ErrTimeout) })})
	add("slow at the smallest load", searched{capacity: 1e12, change: from(0, func(g *generated) { g.latency, g.service = 200*time.Millisecond, 200*time.Millisecond })})
	add("works off an earlier load", searched{capacity: 1e12, change: from(1, func(g *generated) {
		g.latency, g.service, g.Unrecovered, g.replies = 4*time.Second, 4*time.Second, true, g.replies/50
	})})
	add("useless windows", searched{capacity: 1e12, change: func(k int, rate float64, g *generated) {
		if rate > 20 || k%2 == 1 {
			late(300 * time.Millisecond)(g)
			g.others = 1.9
		}
	}})
	add("windows disagree", searched{capacity: 730, change: func(k int, rate float64, g *generated) {
		if k == 9 || k == 11 {
			g.latency, g.service = time.Second-g.latency, time.Second-g.service
		}
	}})
	stall := func(g *generated) {
		g.latency, g.counts.OK = 3*time.Second, g.counts.OK/2
		g.counts.Errors[load.ErrTimeout], g.replies = g.counts.Due-g.counts.OK, g.counts.OK
		for k := range 10 {
			g.replied = append(g.replied, map[bool]int64{true: 0, false: g.counts.Due / 10}[k > 3 && k < 9])
		}
	}
	add("stall", searched{capacity: 730, change: at(1, stall)})
	add("stalls", searched{capacity: 730, change: func(k int, _ float64, g *generated) {
		if k == 3 || k == 6 {
			stall(g)
		}
	}})
	with("luck at any load", `{"sla": "p90=150ms,errors=1%"}`, searched{capacity: 1e12, change: func(k int, rate float64, g *generated) {
		g.fail(.0094+.0012*float64(k%2)*min(1, rate/300), load.ErrStatus)
	}})
	with("never done with what was left", `{"sla": "p90=150ms", "start": "100op/s"}`, searched{capacity: 1e12, change: func(k int, _ float64, g *generated) {
		g.fail(1, load.ErrTimeout)
		g.Unrecovered = k > 0
	}})
	early := make(map[float64]bool)
	add("not known whether it is as before", searched{capacity: 7300, change: func(k int, rate float64, g *generated) {
		switch {
		case k < 2:
			early[rate] = true
		case early[rate]:
			late(300 * time.Millisecond)(g)
			g.others = 1.9
		default:
			g.latency, g.service = time.Second, time.Second
		}
	}})
	seen := make(map[float64]int)
	add("passes once and misses twice", searched{capacity: 300, change: func(_ int, rate float64, g *generated) {
		if seen[rate]++; seen[rate] > 1 {
			g.latency, g.service = time.Second, time.Second
		}
	}})
	with("too few windows to come down", `{"sla": "p90=150ms", "start": "5000op/s", "windows": 5}`, searched{capacity: 5})
	add("every other window missed", searched{capacity: 1e12, change: func(k int, rate float64, g *generated) {
		if k%3 > 0 {
			g.latency, g.service = 160*time.Millisecond, 160*time.Millisecond
		}
	}})
	capacityReserves(with)
	capacityRecords(add)
	capacityConnections(add)
	capacityEnds(t, put)
	capacityGates(t, put)
	return out
}

// capacityReserves are targets that take more for a while, and windows that are short.
func capacityReserves(with func(name, params string, x searched)) {
	const sla = `{"sla": "p90=150ms", "max": "3000op/s"}`
	with("bucket", sla, searched{capacity: 1e12, change: bucket(100, 200)})
	with("bucket, large", sla, searched{capacity: 1e12, change: bucket(100, 2000)})
	with("bucket, short windows", sla, searched{capacity: 1e12, change: bucket(100, 200), workload: map[string]any{"duration": "5s"}})
	with("short windows", sla, searched{capacity: 730, workload: map[string]any{"duration": "2s"}})
	with("windows shorter than usual", sla, searched{capacity: 730, workload: map[string]any{"duration": "5s"}})
	with("few operations", `{"sla": "p99.9=150ms", "max": "3000op/s"}`, searched{capacity: 20, workload: map[string]any{"duration": "5s"}})
	with("errors of one in a thousand", `{"sla": "p99=300ms,errors=0.1%"}`, searched{capacity: 330})
	with("paper's algorithm", `{"sla": "p90=150ms", "algorithm": "paper", "fraction": 2}`, searched{capacity: 730})
	with("few windows", `{"sla": "p90=150ms", "windows": 5}`, searched{capacity: 7300})
	with("coarse", `{"sla": "p90=150ms", "resolution": 0.5}`, searched{capacity: 730})
}

// capacityRecords are data stores that lose what was loaded.
func capacityRecords(add func(name string, x searched)) {
	gone := func(g *generated) { g.fail(.3, load.ErrMissing) }
	add("records lost once", searched{capacity: 730, change: at(3, gone)})
	add("records lost twice", searched{capacity: 730, change: func(k int, _ float64, g *generated) {
		if k == 2 || k == 5 {
			gone(g)
		}
	}})
	add("records missed beside other failures", searched{capacity: 730, change: at(3, func(g *generated) {
		g.fail(.06, load.ErrMissing)
		g.fail(.3, load.ErrStatus)
	})})
	add("records lost in between", searched{capacity: 730, change: at(4, func(g *generated) { g.RecordsLoaded = 1000 })})
}

// capacityConnections are targets that allow few connections, and addresses.
func capacityConnections(add func(name string, x searched)) {
	use := func(u load.ConnectionUse, waits bool, fail float64) window {
		return func(_ int, rate float64, g *generated) {
			g.Usage.Connections = u
			if rate <= 730 || !waits {
				return
			}
			g.counts.Waited, g.service = g.counts.Due/2, 10*time.Millisecond
			g.replies = int64(730 * 10)
			g.fail(fail, load.ErrConnect)
		}
	}
	capped := load.ConnectionUse{Room: load.Room{Limit: 3, Others: 1, Setting: "max_connections"}, Asked: 64, Allowed: 1, Open: 1}
	refused := load.ConnectionUse{Asked: 64, Allowed: 64, Open: 8, Refused: 9, Answer: "FATAL: sorry"}
	add("connections capped", searched{capacity: 730, change: use(capped, false, 0)})
	add("connections capped, operations wait", searched{capacity: 730, change: use(capped, true, 0)})
	add("connections refused", searched{capacity: 730, change: use(refused, true, .005)})
	add("connections refused, operations fail", searched{capacity: 730, change: use(refused, true, .2)})
	add("too few connections asked for", searched{capacity: 730, change: use(load.ConnectionUse{Asked: 1, Allowed: 1, Open: 1}, true, 0)})
	states := []load.AddressState{load.AddressUnanswered, load.AddressRefused, load.AddressUnreachable, load.AddressFailed, load.AddressSpare}
	add("dead addresses", searched{capacity: 730, change: func(_ int, _ float64, g *generated) {
		g.Usage.Addresses = []load.AddressUse{{Address: "192.0.2.1:80", State: load.AddressUsed, Opened: 7}}
		for i, s := range states {
			g.Usage.Addresses = append(g.Usage.Addresses, load.AddressUse{Address: "192.0.2." + string(rune('2'+i)) + ":80", State: s})
		}
	}})
	add("repeated", searched{capacity: 730, change: from(0, func(g *generated) { g.counts.Repeated = g.counts.Due / 20 })})
}

// capacityEnds are searches that did not come to their end, or not as this program would.
func capacityEnds(t *testing.T, put func(name, params string, d model.RunData)) {
	t.Helper()
	const sla = `{"sla": "p90=150ms"}`
	run := func(x searched) model.RunData { return x.run(t, sla) }
	invalid := func(d model.RunData, from int, why string) model.RunData {
		s := &d.Steps[from]
		s.State, s.Reason = model.StepInvalid, why
		d.Steps, d.Run.State = d.Steps[:from+1], model.RunIncomplete
		return d
	}
	put("broken off", sla, invalid(run(searched{capacity: 730, most: 5}), 4, "generator g1 was lost"))
	put("broken off, no reason", sla, invalid(run(searched{capacity: 730, most: 5}), 4, ""))
	first := invalid(run(searched{capacity: 730, most: 1}), 0, "preparing failed")
	first.Results[0].Outcome, first.Results[0].Error = model.OutcomeFailed, "preparing: unavailable: connection refused"
	put("nothing measured", sla, first)
	stopped := run(searched{capacity: 730, most: 4})
	stopped.Run.State = model.RunCancelled
	put("stopped", sla, stopped)
	put("stopped, gate", `{"sla": "p90=150ms", "fail_below": "5000op/s"}`, stopped)
	under := run(searched{capacity: 730, most: 4})
	under.Run.State = model.RunRunning
	put("under way", sla, under)
	none := run(searched{capacity: 730, most: 1})
	none.Steps[0].State, none.Run.State = model.StepPending, model.RunInterrupted
	put("stopped before the first window", sla, none)
	begun := run(searched{capacity: 730, most: 1})
	begun.Steps[0].State, begun.Run.State = model.StepRunning, model.RunRunning
	put("under way, first window", sla, begun)
	put("did not return", sla, run(searched{capacity: 7300, most: 40, change: from(3, func(g *generated) {
		g.latency, g.service, g.others, g.lag = time.Second, time.Second, 1.9, 500*time.Millisecond
	})}))
	put("generator lost", sla, run(searched{capacity: 730, generators: 2, after: func(d *model.RunData) []model.NodeID {
		if len(d.Steps) != 4 {
			return nil
		}
		d.Steps[3].State, d.Steps[3].Reason = model.StepInvalid, "node g2 was lost"
		return []model.NodeID{"g2"}
	}}))
	put("no search", `{"fail_below": "100op/s"}`, model.RunData{Run: model.Run{ID: searchRun, State: model.RunDone}})
	put("no search, no gate", "", model.RunData{Run: model.Run{ID: searchRun, State: model.RunDone}})
}

// capacityGates hold what was found against a threshold.
func capacityGates(t *testing.T, put func(name, params string, d model.RunData)) {
	t.Helper()
	const sla = `{"sla": "p90=150ms"}`
	target := searched{capacity: 730}.run(t, sla)
	for name, below := range map[string]string{"kept": "500op/s", "missed": "1000op/s", "cannot be told": "715op/s"} {
		put("gate/"+name, strings.Replace(sla, "}", `, "fail_below": "`+below+`"}`, 1), target)
	}
	const thousandth = `{"sla": "p99=300ms,errors=0.1%", "fail_below": "335op/s"}`
	put("gate/within the interval", thousandth, searched{capacity: 330}.run(t, thousandth))
	generator := searched{capacity: 7300, change: above(400, late(300*time.Millisecond))}.run(t, sla)
	put("gate/generator, kept", `{"sla": "p90=150ms", "fail_below": "50op/s"}`, generator)
	put("gate/generator, not known", `{"sla": "p90=150ms", "fail_below": "5000op/s"}`, generator)
	put("gate/bad rate", `{"sla": "p90=150ms", "fail_below": "5MB/s"}`, target)
	put("gate/bad agreement", `{"sla": "soon"}`, target)
	put("gate/bounds", `{"sla": "p90=150ms", "min": "500op/s", "max": "5op/s"}`, target)
	floor := searched{capacity: .5}.run(t, sla)
	put("gate/floor", `{"sla": "p90=150ms", "fail_below": "50op/s"}`, floor)
	ceiling := `{"sla": "p90=150ms", "max": "500op/s", "fail_below": "600op/s"}`
	put("gate/cap", ceiling, searched{capacity: 7300}.run(t, ceiling))
}
