package corpus

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/truth/simulated"
	"github.com/scalebench/scalebench/test/truth/synthetic"
)

// Values in no order that depends on time.
var (
	some  = []float64{102.1, 98.4, 101.7, 99.2, 103.3, 100.9, 97.8, 104.2}
	other = []float64{112.5, 109.3, 107.7, 115.1, 110.8, 113.9, 108.6, 111.4}
)

// list are given values, each times a factor.
func list(xs []float64, factor float64) string {
	return values("value", len(xs), func(i int) float64 { return factor * xs[i] })
}

// compareCases are questions whether B differs from A.
func compareCases() (out []question) {
	with := func(name, params string, texts ...string) {
		q := question{name: "compare/" + name, study: "compare", params: params}
		for i, text := range texts {
			q.files = append(q.files, file{fmt.Sprintf("%c.csv", 'a'+i), text})
		}
		out = append(out, q)
	}
	const higher, lower = `{"better": "higher", "fail_worse": 5}`, `{"better": "lower", "fail_worse": 5}`
	noisy := []float64{80, 130, 95, 140, 70, 121, 88, 109}
	same := []float64{100, 100.1, 99.9, 100.2, 99.8, 100.05}
	with("better", higher, list(some, 1), list(some, 1.2))
	with("worse", higher, list(some, 1), list(some, .8))
	with("worse by less", higher, list(some, 1), list(some, .955))
	with("less is better", lower, list(some, 1), list(some, .8))
	with("less is better, and more", lower, list(some, 1), list(some, 1.2))
	with("higher", `{"fail_worse": 5}`, list(some, 1), list(some, 1.2))
	with("lower", "", list(some, 1), list(some, .8))
	with("equivalent", higher, list(same, 1), list(same, 1.0001))
	with("unclear", higher, list(noisy, 1), list(noisy, 1.05))
	with("hardly settled", higher, list(noisy, 1), list(noisy, 1.0000001))
	with("two values", higher, list(some[:2], 1), list(other[:2], 1))
	with("three values", higher, list(some[:3], 1), list(other[:3], 1))
	with("zeros, then errors", lower, list(make([]float64, 6), 1), list([]float64{3, 5, 4, 6, 5, 4}, 1))
	with("some zeros", lower, list([]float64{4, 5, 0, 6, 5, 4, 5}, 1), list([]float64{9, 11, 10, 8, 0, 12, 11}, 1))
	with("differences", lower, list([]float64{-1, 1, 2, -2, .5, -.5}, 1), list([]float64{1, -1, 2, -2, .4, -.4}, 1))
	with("no spread", lower, list([]float64{16, 16, 16}, 1), list([]float64{17, 17, 17}, 1))
	with("means", `{"means": true, "better": "higher"}`, list(some, 1), list(other, 1))
	with("margin and level", `{"margin": 30, "level": 0.99, "better": "higher"}`, list(some, 1), list(other, 1))
	with("three sources", higher, list(some, 1), list(other, 1), list(some, .9))
	with("ranks", "", values("value", 40, normal(seeded(140), 100, .05)), values("value", 35, normal(seeded(141), 104, .05)))
	with("bands beside none", lower, values("value", 80, bands(seeded(142), .3, 50, 100, .01)), values("value", 80, normal(seeded(143), 100, .01)))
	with("a rare band", lower, values("value", 60, normal(seeded(144), 100, .003)), values("value", 60, bands(seeded(145), .1, 130, 100, .003)))
	with("running total", higher, timed("requests_total", 30, func(i int) float64 { return 500 * float64(i+1) }), timed("requests_total", 30, func(i int) float64 { return 510 * float64(i+1) }))
	with("a rare band of many", lower, values("value", 900, normal(seeded(186), 100, .003)), values("value", 900, bands(seeded(187), .03, 130, 100, .003)))
	with("values of another name", higher, list(some, 1), strings.Replace(list(other, 1), "value", "score", 1))
	two := metricsTable(seeded(188), 12, func(string, int) (mean, cov float64) { return 100, .02 }, "read", "write")
	one := metricsTable(seeded(189), 12, func(string, int) (mean, cov float64) { return 100, .02 }, "read", "seek")
	with("a metric of one side", higher, two, one)
	with("few values of many sides", higher, list(some[:4], 1), list(other[:4], 1), list(some[4:], 1.1), list(other[4:], 1.2), list(other[2:6], 1.3), list(some[2:6], .7))
	with("five values that are less", higher, list(some[:5], 1), list(other[:5], .8), list(other[3:], 1), list(some[3:], 1))
	compareLayouts(with)
	compareTime(with)
	compareSides(with)
	return append(out, duets()...)
}

// compareLayouts are tables of which the rows depend on each other.
func compareLayouts(with func(name, params string, texts ...string)) {
	of := func(seed uint64, mean, node, trial float64) func(n, t int) float64 {
		rng := seeded(seed)
		nodes, trials := map[int]float64{}, map[int]float64{}
		return func(n, t int) float64 {
			if _, known := nodes[n]; !known {
				nodes[n] = node * rng.NormFloat64()
			}
			if _, known := trials[t]; !known {
				trials[t] = trial * rng.NormFloat64()
			}
			return mean * (1 + nodes[n] + trials[t] + .01*rng.NormFloat64())
		}
	}
	const higher = `{"better": "higher", "fail_worse": 5}`
	with("same nodes, trials", higher, grid("n", 4, 6, of(150, 100, .05, .02)), grid("n", 4, 6, of(150, 104, .05, .02)))
	with("same nodes, one trial", higher, grid("n", 8, 1, of(151, 100, .05, 0)), grid("n", 8, 1, of(151, 110, .05, 0)))
	with("other nodes, trials", higher, grid("a", 5, 5, of(152, 100, .03, .01)), grid("b", 5, 5, of(153, 130, .03, .01)))
	with("other nodes, one trial", higher, grid("a", 5, 1, of(152, 100, .03, 0)), grid("b", 5, 1, of(153, 130, .03, 0)))
	with("some nodes in common", higher, grid("n", 5, 5, of(154, 100, .03, .01)), strings.ReplaceAll(grid("n", 5, 5, of(155, 105, .03, .01)), ",n4,", ",m4,"))
	with("one node each", higher, grid("a", 1, 6, of(156, 100, 0, .01)), grid("b", 1, 6, of(157, 105, 0, .01)))
	with("two nodes each", higher, grid("a", 2, 6, of(158, 100, .01, .01)), grid("b", 2, 6, of(159, 115, .01, .01)))
	with("a node not known", higher, strings.Replace(grid("n", 3, 4, of(160, 100, .01, .01)), ",n1,2", ",,2", 1), grid("n", 3, 4, of(161, 105, .01, .01)))
	with("a trial without a node", higher, strings.Replace(grid("n", 3, 6, of(162, 100, .01, .01)), ",n1,2\n", ",n0,2\n", 1), grid("n", 3, 6, of(163, 105, .01, .01)))
	bare := func(text string) string {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		for i, line := range lines {
			lines[i] = line[:strings.LastIndex(line, ",")]
		}
		return strings.Join(lines, "\n") + "\n"
	}
	with("nodes without trials", higher, bare(grid("n", 4, 10, of(164, 100, .03, .01))), bare(grid("n", 4, 10, of(164, 110, .03, .01))))
	with("nodes without trials or times", higher, byNodes(165, "n", 4, 5, 100), byNodes(166, "m", 4, 5, 110))
	with("pairs", `{"pair": "node", "better": "higher"}`, grid("n", 8, 1, of(167, 100, .1, 0)), grid("n", 9, 1, of(167, 104, .1, 0)))
	with("two pairs", `{"pair": "node", "better": "higher"}`, grid("n", 2, 1, of(167, 100, .1, 0)), grid("n", 2, 1, of(167, 104, .1, 0)))
	with("paired trials of one", `{"pair": "trial", "better": "higher"}`, grid("n", 4, 1, of(167, 100, .1, 0)), grid("n", 4, 1, of(167, 104, .1, 0)))
	with("pair nothing", `{"pair": "none", "better": "higher"}`, grid("n", 8, 3, of(168, 100, .05, .01)), grid("n", 8, 3, of(168, 104, .05, .01)))
	with("cluster", `{"cluster": "node", "better": "higher"}`, grid("n", 8, 3, of(169, 100, .05, .01)), grid("m", 8, 3, of(170, 120, .05, .01)))
	with("cluster not known", `{"cluster": "node", "better": "higher"}`, strings.Replace(grid("n", 8, 3, of(169, 100, .05, .01)), ",n1,", ",,", 1), grid("m", 8, 3, of(170, 120, .05, .01)))
	runs := func(seed uint64, prefix string, runs int, mean float64) string {
		rng := seeded(seed)
		t := csvTable{header: "time,value,run,node"}
		for r := range runs {
			level := mean * (1 + .02*rng.NormFloat64())
			for node := range 3 {
				for range 2 {
					t.add(hour(24*r+node), level*(1+.01*rng.NormFloat64()), fmt.Sprintf("%s%d", prefix, r), fmt.Sprintf("n%d", node))
				}
			}
		}
		return t.String()
	}
	with("runs", higher, runs(171, "a", 8, 100), runs(172, "b", 8, 105))
	with("one run beside several", higher, runs(173, "a", 8, 100), runs(174, "b", 1, 105))
	with("two runs each", higher, runs(175, "a", 2, 100), runs(176, "b", 2, 120))
	again := csvTable{header: "value,trial"}
	rng := seeded(177)
	for range 10 {
		session := .05 * rng.NormFloat64()
		for k := range 5 {
			again.add(100*math.Exp(session+.01*rng.NormFloat64()), k+1)
		}
	}
	with("trials come again", higher, again.String(), again.String())
	racks := func(seed uint64, prefix string, mean float64) string {
		rng := seeded(seed)
		t := csvTable{header: "value,rack"}
		levels := []float64{.1 * rng.NormFloat64(), .1 * rng.NormFloat64(), .1 * rng.NormFloat64(), .1 * rng.NormFloat64()}
		for i := range 80 {
			t.add(mean*math.Exp(levels[i%4]+.02*rng.NormFloat64()), fmt.Sprintf("%s%d", prefix, i%4))
		}
		return t.String()
	}
	with("other racks", higher, racks(178, "a", 100), racks(179, "b", 200))
	with("autocorrelated", higher, campaignTable(synthetic.Campaign{Seed: 20, Times: 300, Noise: .05, AR: .9}), campaignTable(synthetic.Campaign{Seed: 21, Times: 300, Noise: .05, AR: .9, Mean: 110}))
	with("autocorrelated, few", higher, campaignTable(synthetic.Campaign{Seed: 22, Times: 12, Noise: .05, AR: .99}), campaignTable(synthetic.Campaign{Seed: 23, Times: 12, Noise: .05, AR: .99, Mean: 130}))
}

// byNodes are rows of nodes without times and trials.
func byNodes(seed uint64, prefix string, nodes, times int, mean float64) string {
	rng := seeded(seed)
	t := csvTable{header: "value,node"}
	for node := range nodes {
		level := mean * (1 + .02*rng.NormFloat64())
		for range times {
			t.add(level*(1+.01*rng.NormFloat64()), fmt.Sprintf("%s%d", prefix, node))
		}
	}
	return t.String()
}

// compareTime are tables measured one after the other, with what changes meanwhile.
func compareTime(with func(name, params string, texts ...string)) {
	const higher = `{"better": "higher", "fail_worse": 5}`
	period := func(seed uint64, from, n int, of func(i int) float64) string {
		rng := seeded(seed)
		t := csvTable{header: "time,value"}
		for i := range n {
			t.add(hour(from+i), of(from+i)*(1+.002*rng.NormFloat64()))
		}
		return t.String()
	}
	flat := func(v float64) func(int) float64 { return func(int) float64 { return v } }
	rising := func(i int) float64 { return 100 * (1 + .001*float64(i)) }
	with("periods", higher, period(180, 0, 30, flat(100)), period(181, 100, 30, flat(110)))
	with("drift carries it", higher, period(182, 0, 40, rising), period(183, 40, 40, rising))
	with("drift beside a change", higher, period(184, 0, 40, rising), period(185, 40, 40, func(i int) float64 { return 1.3 * rising(i) }))
	mix := func(seed uint64, share float64, levels ...float64) string {
		rng := seeded(seed)
		t := csvTable{header: "value,zone"}
		for i := range 100 {
			zone := 0
			if float64(i%10) >= 10*share {
				zone = 1
			}
			t.add(levels[zone]*(1+.02*rng.NormFloat64()), fmt.Sprintf("z%d", zone))
		}
		return t.String()
	}
	with("another mix", higher, mix(186, .8, 100, 150), mix(187, .2, 100, 150))
	with("another mix that turns it over", higher, mix(188, .8, 100, 150), mix(189, .2, 80, 120))
	disturbed := func(xs []float64, from int, by string, factor float64) string {
		t := csvTable{header: "value,disturbed"}
		for i, v := range xs {
			kind := "no"
			if from >= 0 && i >= from || from < 0 && i%3 > 0 {
				kind, v = by, v*factor
			}
			t.add(v, `"`+kind+`"`)
		}
		return t.String()
	}
	long := append(some[:8:8], 101.5, 99.8, 100.3, 98.9, 102.6, 100.1)
	with("disturbed rows carry it", higher, disturbed(long, 14, "no", 1), disturbed(long, -1, "others, steal", .5))
	with("without disturbed rows, too", higher, disturbed(other, 8, "no", 1), disturbed(some, 7, "steal", .9))
	with("all of one side disturbed", higher, disturbed(other, 8, "no", 1), disturbed(some, 0, "pause", 1))
	with("all of the other side disturbed", higher, disturbed(other, 0, "pause", 1), disturbed(some, 4, "pause", 1))
	with("most of one side disturbed", higher, disturbed(other, 8, "no", 1), disturbed(some, 1, "steal", 1))
	with("all of both disturbed", higher, disturbed(other, 0, "pause", 1), disturbed(some, 0, "steal", 1))
}

// compareSides are what can be compared, and what cannot.
func compareSides(with func(name, params string, texts ...string)) {
	zones := csvTable{header: "value,zone"}
	for i, v := range append(append(some[:8:8], other...), some...) {
		zones.add(v, fmt.Sprintf("z%d", i/8))
	}
	two := strings.Join(strings.SplitAfter(zones.String(), "\n")[:17], "")
	with("by zone", `{"by": "zone", "better": "lower"}`, two)
	with("by two of three zones", `{"by": "zone=z2,z1", "better": "lower"}`, zones.String())
	with("by three zones", `{"by": "zone"}`, zones.String())
	with("by no such fact", `{"by": "rack"}`, two)
	with("by no such level", `{"by": "zone=z0,z9"}`, two)
	with("one source", "", list(some, 1))
	with("other metrics", "", strings.Replace(list(some, 1), "value", "read", 1)+"", "a,b,c\n"+"1,2,x\n3,4,y\n")
	with("no such metric", `{"metric": "latency"}`, list(some, 1), list(other, 1))
	with("a without b", `{"a": "new"}`, list(some, 1))
	with("a is b", `{"a": "new", "b": "new"}`, list(some, 1))
	with("a and by", `{"a": "new", "b": "old", "by": "zone"}`, list(some, 1))
	with("bad margin", `{"margin": 0}`, list(some, 1), list(other, 1))
	metrics := func(seed uint64, factor float64) string {
		return metricsTable(seeded(seed), 30, func(metric string, _ int) (mean, cov float64) {
			switch metric {
			case "read":
				return 100, .02
			case "write":
				return 50 * factor, .02
			}
			return 10, .2
		}, "read", "write", "seek")
	}
	with("several metrics", `{"better": "higher", "fail_worse": 5}`, metrics(190, 1), metrics(191, 1.2))
	with("several metrics, one worse", `{"better": "higher", "fail_worse": 5}`, metrics(192, 1), metrics(193, .8))
	bench := func(cpu string, seed uint64, factor float64) string {
		rng := seeded(seed)
		text := "goos: linux\ngoarch: amd64\npkg: example.com/x\ncpu: " + cpu + "\n"
		for range 10 {
			text += fmt.Sprintf("BenchmarkEncode-4 \t 1000 \t %.1f ns/op \t 128 B/op \t 3 allocs/op\n", factor*5000*(1+.02*rng.NormFloat64()))
		}
		return text + "PASS\n"
	}
	with("Go benchmarks", `{"fail_worse": 5}`, bench("Some CPU", 194, 1), bench("Some CPU", 195, .8))
	with("Go benchmarks of other machines", `{"fail_worse": 5}`, bench("Some CPU", 194, 1), bench("Other CPU", 195, 1.2))
}

// duets are runs in which two workloads were measured in turns on the same nodes.
func duets() (out []question) {
	duet := func(seed uint64, blocks int, factor, drift float64) model.RunData {
		rng := seeded(seed)
		b := simulated.New(3)
		for block := range blocks {
			for turn := range 2 {
				name, f := "old", 1+drift*float64(2*block+turn)
				if (turn+block)%2 == 1 {
					name, f = "new", f*factor
				}
				var all []model.Result
				for node := range 3 {
					all = append(all, b.Reported(node, 0, 10, (100+float64(node))*f*(1+.005*rng.NormFloat64())))
				}
				b.Step(model.Parallel, block+1, all...)
				s := &b.Data.Steps[len(b.Data.Steps)-1]
				s.Workload, s.Block, s.Study = name, block+1, "compare"
			}
		}
		b.Data.Run.State, b.Data.Run.Name = model.RunDone, "duet"
		return b.Data
	}
	add := func(name, params string, d model.RunData) {
		out = append(out, question{name: "compare/duet/" + name, study: "compare", params: params, runs: []model.RunData{d}, sources: []string{"duet"}})
	}
	const ab = `{"a": "old", "b": "new", "fail_worse": 5}`
	add("better", ab, duet(200, 8, 1.1, 0))
	add("worse", ab, duet(201, 8, .8, 0))
	add("equivalent", ab, duet(202, 12, 1, 0))
	add("drift", ab, duet(203, 10, 1.1, .01))
	add("few blocks", ab, duet(204, 2, 1.1, 0))
	add("no such workload", `{"a": "old", "b": "newest"}`, duet(200, 8, 1.1, 0))
	add("by node", `{"by": "node=n00,n01"}`, duet(200, 8, 1.1, 0))
	failed := duet(205, 8, 1.1, 0)
	failed.Steps[3].State, failed.Steps[5].State = model.StepInvalid, model.StepInvalid
	add("steps failed", ab, failed)
	left := duet(206, 8, 1.1, 0)
	left.Results[4].Samples = nil
	add("a value left out", ab, left)
	steal := &builder{Data: duet(207, 8, 1.1, 0)}
	add("disturbed", ab, hostSees(steal, model.Parallel, disturbing["steal"]).Data)
	out = append(out, question{name: "compare/duet/asked of the run", study: "compare", params: ab, runs: []model.RunData{duet(200, 8, 1.1, 0)}})
	out = append(out, question{name: "compare/duet/asked of the run without sides", study: "compare", runs: []model.RunData{duet(200, 8, 1.1, 0)}})
	return append(out, storedRuns()...)
}

// stored is a run of a name, so many days after the first.
func stored(d model.RunData, id int, name string, days int) model.RunData {
	b := &builder{Data: copied(d)}
	b.Data.Run.ID, b.Data.Run.Name = model.RunID(fmt.Sprintf("01J1%022d", id)), name
	if b.Data.Run.State == "" {
		b.Data.Run.State = model.RunDone
	}
	by := time.Duration(days) * 24 * time.Hour
	b.Data.Run.Created = simulated.Epoch.Add(by)
	for i := range b.Data.Results {
		r := &b.Data.Results[i]
		r.Started, r.Ended = r.Started.Add(by), r.Ended.Add(by)
	}
	for i := range b.Data.Steps {
		if s := &b.Data.Steps[i]; !s.StartAt.IsZero() {
			s.StartAt = s.StartAt.Add(by)
		}
	}
	renumber(b)
	return b.Data
}

// copied is a run of which steps, tasks and results may be changed.
func copied(d model.RunData) model.RunData {
	d.Steps, d.Results = slices.Clone(d.Steps), slices.Clone(d.Results)
	for i := range d.Steps {
		d.Steps[i].Tasks = slices.Clone(d.Steps[i].Tasks)
	}
	return d
}

// storedRuns are comparisons of runs by name.
func storedRuns() (out []question) {
	out = append(out,
		question{name: "compare/runs/better", study: "compare", params: `{"fail_worse": 5}`, sources: []string{"before", "after"},
			runs: []model.RunData{stored(keeping(210, 6, 4, .8, .01).Data, 1, "before", 0), stored(keeping(211, 6, 4, .9, .01).Data, 2, "after", 1)}},
		question{name: "compare/runs/of one name", study: "compare", sources: []string{"before", "after"},
			runs: []model.RunData{stored(keeping(210, 6, 4, .8, .01).Data, 1, "before", 0), stored(keeping(211, 6, 4, .9, .01).Data, 2, "before", 1), stored(keeping(211, 6, 4, .9, .01).Data, 3, "after", 1)}},
		question{name: "compare/runs/not there", study: "compare", sources: []string{"before", "later"},
			runs: []model.RunData{stored(keeping(210, 6, 4, .8, .01).Data, 1, "before", 0)}},
		question{name: "compare/runs/one trial", study: "compare", sources: []string{"before", "after"},
			runs: []model.RunData{stored(keeping(212, 6, 1, .8, .01).Data, 1, "before", 0), stored(keeping(213, 6, 1, .9, .01).Data, 2, "after", 1)}},
		question{name: "compare/runs/disturbed", study: "compare", sources: []string{"before", "after"},
			runs: []model.RunData{stored(keeping(214, 6, 4, .8, .01).Data, 1, "before", 0), stored(hostSees(keeping(215, 6, 4, .7, .01), model.Parallel, disturbing["steal"]).Data, 2, "after", 1)}})
	return out
}
