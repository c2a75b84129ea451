package corpus

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// night is one run of a history.
type night struct {
	level   float64
	nodes   int
	by      string // what disturbed it; empty: nothing
	atLeast bool
	facts   []string
}

// nightly is a table of a run a day on nodes with two trials each: runs differ by 1 %,
// values by 2 %.
func nightly(seed uint64, days int, header string, of func(day int) night) string {
	rng := seeded(seed)
	t := csvTable{header: "time,value,run,node,disturbed,censored" + header}
	for day := range days {
		n := of(day)
		run := n.level * (1 + .01*rng.NormFloat64())
		for node := range max(1, n.nodes) {
			for trial := range 2 {
				by, bound := "no", "no"
				if n.by != "" {
					by = n.by
				}
				if n.atLeast {
					bound = "at least"
				}
				cells := []any{hour(24*day + trial), run * (1 + .1*float64(node)) * (1 + .02*rng.NormFloat64()), fmt.Sprintf("r%03d", day), fmt.Sprintf("n%d", node), by, bound}
				for _, f := range n.facts {
					cells = append(cells, f)
				}
				t.add(cells...)
			}
		}
	}
	return t.String()
}

// historyCases are questions how results went over their runs.
func historyCases() (out []question) {
	with := func(name, params, text string) {
		out = append(out, question{name: "history/" + name, study: "history", params: params, files: []file{{"nightly.csv", text}}})
	}
	const worse = `{"better": "higher", "fail_worse": 5}`
	steady := func(int) night { return night{level: 100, nodes: 3} }
	lastBy := func(days int, last night) func(int) night {
		return func(day int) night {
			if day == days-1 {
				return last
			}
			return steady(day)
		}
	}
	with("as before", worse, nightly(220, 30, "", steady))
	with("worse", worse, nightly(221, 30, "", lastBy(30, night{level: 80, nodes: 3})))
	with("better", worse, nightly(222, 30, "", lastBy(30, night{level: 130, nodes: 3})))
	with("higher", `{"fail_worse": 5}`, nightly(223, 30, "", lastBy(30, night{level: 130, nodes: 3})))
	with("lower", "", nightly(224, 30, "", lastBy(30, night{level: 70, nodes: 3})))
	with("less is better", `{"better": "lower", "fail_worse": 5}`, nightly(225, 30, "", lastBy(30, night{level: 130, nodes: 3})))
	with("a little worse", worse, nightly(226, 30, "", lastBy(30, night{level: 95.5, nodes: 3})))
	with("change", worse, nightly(227, 60, ",kernel", func(day int) night {
		if day >= 40 {
			return night{level: 88, nodes: 3, facts: []string{"6.2"}}
		}
		return night{level: 100, nodes: 3, facts: []string{"6.1"}}
	}))
	with("few runs", worse, nightly(228, 6, "", steady))
	with("four runs", worse, nightly(246, 4, "", lastBy(4, night{level: 60, nodes: 3})))
	with("three runs", worse, nightly(247, 3, "", lastBy(3, night{level: 60, nodes: 3})))
	with("two runs", worse, nightly(229, 2, "", steady))
	with("one run", worse, nightly(230, 1, "", steady))
	with("level that is hardly reached", `{"level": 0.99999}`, nightly(240, 20, "", steady))
	with("rows without a run", worse, strings.ReplaceAll(nightly(241, 20, "", steady), ",r007,", ",,"))
	with("fewer nodes", worse, nightly(231, 20, "", lastBy(20, night{level: 100, nodes: 1})))
	with("disturbed latest", worse, nightly(232, 20, "", lastBy(20, night{level: 80, nodes: 3, by: "steal"})))
	with("disturbed as those before", worse, nightly(233, 20, "", func(day int) night { return night{level: 100, nodes: 3, by: "steal"} }))
	with("some disturbed", worse, nightly(234, 20, "", func(day int) night {
		return night{level: map[bool]float64{true: 80, false: 100}[day%4 == 1], nodes: 3, by: map[bool]string{true: "others"}[day%4 == 1]}
	}))
	with("latest is only a bound", worse, nightly(235, 20, "", lastBy(20, night{level: 80, nodes: 3, atLeast: true})))
	with("bounds before", worse, nightly(236, 20, "", func(day int) night {
		return night{level: map[bool]float64{true: 130, false: 100}[day == 19], nodes: 3, atLeast: day < 19}
	}))
	with("a lower level of bounds", worse, nightly(237, 24, "", func(day int) night {
		return night{level: map[bool]float64{true: 80, false: 100}[day >= 12], nodes: 3, atLeast: day >= 12}
	}))
	with("branches", worse, nightly(238, 24, ",branch", func(day int) night {
		return night{level: 100, nodes: 2, facts: []string{[]string{"main", "try"}[day%2]}}
	}))
	with("one branch", `{"better": "higher", "branch": "try"}`, nightly(238, 24, ",branch", func(day int) night {
		return night{level: 100, nodes: 2, facts: []string{[]string{"main", "try"}[day%2]}}
	}))
	with("all branches", `{"better": "higher", "branch": "all"}`, nightly(238, 24, ",branch", func(day int) night {
		return night{level: 100, nodes: 2, facts: []string{[]string{"main", "try"}[day%2]}}
	}))
	with("no such branch", `{"branch": "next"}`, nightly(238, 24, ",branch", func(day int) night {
		return night{level: 100, nodes: 2, facts: []string{[]string{"main", "try"}[day%2]}}
	}))
	with("branch of no column", `{"branch": "next"}`, nightly(220, 30, "", steady))
	with("rows without a branch", worse, nightly(239, 24, ",branch", func(day int) night { return night{level: 100, nodes: 2, facts: []string{[]string{"main", ""}[day%2]}} }))
	historyShapes(with)
	return append(out, namedRuns()...)
}

// historyShapes are tables of other forms.
func historyShapes(with func(name, params, text string)) {
	const worse = `{"better": "higher", "fail_worse": 5}`
	with("no times", worse, values("value", 20, normal(seeded(240), 100, .02)))
	with("times alone", worse, timed("value", 20, normal(seeded(241), 100, .02)))
	with("equal", worse, timed("value", 20, func(int) float64 { return 117.5 }))
	with("equal copies", worse, values("value", 20, func(int) float64 { return 117.5 }))
	with("below zero", worse, timed("value", 20, normal(seeded(242), -3, .02)))
	with("running total", worse, timed("requests_total", 30, func(i int) float64 { return 500 * float64(i+1) }))
	commits := csvTable{header: "time,value,commit"}
	rng := seeded(243)
	for i := range 60 {
		commits.add(hour(24*(i/3)+i%3), 100*(1+.02*rng.NormFloat64()), fmt.Sprintf("c%02d", i/3))
	}
	with("commits", worse, commits.String())
	metrics := metricsTable(seeded(245), 25, func(metric string, i int) (mean, cov float64) {
		if metric == "write" && i == 24 {
			return 30, .02
		}
		return 100, .02
	}, "read", "write")
	with("several metrics", worse, metrics)
	with("metric", `{"metric": "read", "better": "higher", "fail_worse": 5}`, metrics)
	with("no such metric", `{"metric": "latency"}`, metrics)
	with("bad zone", `{"zone": "Mars/Base"}`, metrics)
	with("bad better", `{"better": "faster"}`, metrics)
	with("empty", "", "")
	many := csvTable{header: "time,value"}
	for i := range 66_000 {
		many.add(hour(i/3600).Add(time.Duration(i%3600)*time.Second), 100+float64(i%7))
	}
	with("more runs than there may be", worse, many.String())
	with("values missing", worse, strings.Replace(timed("value", 20, normal(seeded(244), 100, .02)), "T05:00:00Z,", "T05:00:00Z,x", 1))
}

// namedRuns are histories of stored runs.
func namedRuns() (out []question) {
	runs := func(seed uint64, n int, of func(rng *rand.Rand, i int) *builder) (all []model.RunData) {
		rng := seeded(seed)
		for i := range n {
			all = append(all, stored(of(rng, i).Data, i+1, "nightly", i))
		}
		return all
	}
	add := func(name string, all []model.RunData) {
		out = append(out, question{name: "history/runs/" + name, study: "history", params: `{"fail_worse": 5}`, runs: all, sources: []string{"nightly"}})
	}
	add("as before", runs(250, 14, func(rng *rand.Rand, i int) *builder {
		return keeping(uint64(300+i), 3, 2, .8+.005*rng.NormFloat64(), .01)
	}))
	add("worse", runs(251, 14, func(rng *rand.Rand, i int) *builder {
		return keeping(uint64(320+i), 3, 2, map[bool]float64{true: .5, false: .8}[i == 13]+.005*rng.NormFloat64(), .01)
	}))
	add("disturbed", runs(252, 12, func(rng *rand.Rand, i int) *builder {
		b := keeping(uint64(340+i), 3, 2, .8+.005*rng.NormFloat64(), .01)
		if i > 5 {
			hostSees(b, model.Parallel, disturbing["steal"])
		}
		return b
	}))
	add("steps failed", runs(253, 12, func(rng *rand.Rand, i int) *builder {
		b := keeping(uint64(360+i), 3, 2, .8+.005*rng.NormFloat64(), .01)
		if i%3 == 0 {
			b.Data.Steps[1].State = model.StepInvalid
		}
		return b
	}))
	add("not there", nil)
	return out
}

// searchesInHistory are searches of a target, a run a day; the last has no room above.
func searchesInHistory(t *testing.T) (all []model.RunData) {
	t.Helper()
	for day := range 6 {
		params := `{"sla": "p90=150ms"}`
		if day == 5 {
			params = `{"sla": "p90=150ms", "max": "500op/s"}`
		}
		d := searched{capacity: 700 + 10*float64(day%3)}.run(t, params)
		d.Run.Kind, d.Run.SourceName = model.KindExperiment, "search.yaml"
		d.Run.Source = "fleet: {local: {nodes: 1}}\nworkloads: [{name: web, kind: load, target: \"http://192.0.2.1:80/\"}]\nstudy: {kind: capacity, sla: p90=150ms" + map[bool]string{true: ", max: 500op/s"}[day == 5] + "}\n"
		all = append(all, stored(d, 40+day, "search", day))
	}
	return all
}
