package corpus

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/scalebench/scalebench/test/truth/simulated"
	"github.com/scalebench/scalebench/test/truth/synthetic"
)

// csvTable is a table in the making.
type csvTable struct {
	header string
	rows   []string
}

// add appends a row.
func (t *csvTable) add(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		switch x := c.(type) {
		case float64:
			texts[i] = fmt.Sprintf("%.6g", x)
		case time.Time:
			texts[i] = x.UTC().Format("2006-01-02T15:04:05Z")
		default:
			texts[i] = fmt.Sprint(x)
		}
	}
	t.rows = append(t.rows, strings.Join(texts, ","))
}

func (t *csvTable) String() string { return t.header + "\n" + strings.Join(t.rows, "\n") + "\n" }

// hour is a time so many hours after the beginning of tables.
func hour(n int) time.Time {
	return time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Hour)
}

// values are the rows of one column.
func values(name string, n int, of func(i int) float64) string {
	t := csvTable{header: name}
	for i := range n {
		t.add(of(i))
	}
	return t.String()
}

// timed are values with a time each, an hour apart.
func timed(name string, n int, of func(i int) float64) string {
	t := csvTable{header: "time," + name}
	for i := range n {
		t.add(hour(i), of(i))
	}
	return t.String()
}

// normal is a value about a mean, with a standard deviation relative to it.
func normal(rng *rand.Rand, mean, cov float64) func(int) float64 {
	return func(int) float64 { return mean * (1 + cov*rng.NormFloat64()) }
}

// campaignTable is a campaign of known composition as a table.
func campaignTable(c synthetic.Campaign) string {
	f := c.Frame()
	t := csvTable{header: "time,score"}
	for _, x := range f.Facts {
		t.header += "," + x.Name
	}
	for i, v := range f.Values {
		cells := []any{time.Unix(0, f.Times[i]), v}
		for k := range f.Facts {
			cells = append(cells, f.Facts[k].Level(i))
		}
		t.add(cells...)
	}
	return t.String()
}

// grid is a table of nodes by trials; of says the value.
func grid(prefix string, nodes, trials int, of func(node, trial int) float64) string {
	t := csvTable{header: "time,value,node,trial"}
	for trial := range trials {
		for node := range nodes {
			t.add(hour(trial).Add(time.Duration(node)*time.Second), of(node, trial), fmt.Sprintf("%s%d", prefix, node), trial+1)
		}
	}
	return t.String()
}

// metricsTable has a row for each time and metric.
func metricsTable(rng *rand.Rand, times int, of func(metric string, i int) (mean, cov float64), metrics ...string) string {
	t := csvTable{header: "time,metric,value"}
	for i := range times {
		for _, m := range metrics {
			mean, cov := of(m, i)
			t.add(hour(i), m, mean*(1+cov*rng.NormFloat64()))
		}
	}
	return t.String()
}

// bands are values on two levels.
func bands(rng *rand.Rand, share, low, high, cov float64) func(int) float64 {
	return func(int) float64 {
		level := high
		if rng.Float64() < share {
			level = low
		}
		return level * (1 + cov*rng.NormFloat64())
	}
}

// variabilityCases are questions how much measurements vary.
func variabilityCases() (out []question) {
	with := func(name, params string, texts ...string) {
		q := question{name: "variability/" + name, study: "variability", params: params}
		for i, text := range texts {
			q.files = append(q.files, file{fmt.Sprintf("%c.csv", 'a'+i), text})
		}
		out = append(out, q)
	}
	add := func(name string, texts ...string) { with(name, "", texts...) }
	add("steady", timed("score", 120, normal(seeded(100), 100, .01)))
	add("varies", timed("score", 120, normal(seeded(101), 100, .2)))
	add("unclear", timed("score", 40, normal(seeded(102), 100, .05)))
	add("bands", campaignTable(synthetic.Campaign{Seed: 1, Times: 240, Mean: 500_000, Bands: synthetic.Paper(1).Bands, Zones: synthetic.Paper(1).Zones}))
	add("change", campaignTable(synthetic.Campaign{Seed: 2, Times: 200, Noise: .01, Steps: []synthetic.Step{{At: .5, By: -.1}}}))
	add("several changes", campaignTable(synthetic.Campaign{Seed: 3, Times: 400, Noise: .005, Steps: []synthetic.Step{{At: .2, By: -.1}, {At: .4, By: .1}, {At: .6, By: -.2}, {At: .8, By: .1}}}))
	add("drift", campaignTable(synthetic.Campaign{Seed: 4, Times: 300, Every: time.Hour, Noise: .01, Drift: .1}))
	add("days and hours", campaignTable(synthetic.Campaign{Seed: 5, Times: 700, Every: time.Hour, Noise: .01, Hour: .05, Day: .02, Weekday: .05}))
	add("autocorrelated", campaignTable(synthetic.Campaign{Seed: 6, Times: 200, Noise: .05, AR: .9}))
	add("outliers", campaignTable(synthetic.Campaign{Seed: 7, Times: 200, Noise: .01, Outliers: .03}))
	add("kept nodes", campaignTable(synthetic.Campaign{Seed: 8, Times: 60, Nodes: 6, Noise: .01, Kept: true, NodeNoise: .05}))
	add("few kept nodes", campaignTable(synthetic.Campaign{Seed: 9, Times: 60, Nodes: 3, Noise: .01, Kept: true, NodeNoise: .2}))
	add("halved nodes", campaignTable(synthetic.Campaign{Seed: 10, Times: 20, Nodes: 20, Noise: .01, Kept: true, Halved: true}))
	add("mixed clusters", campaignTable(synthetic.Campaign{Seed: 11, Times: 40, Nodes: 20, Mixed: .2, Bands: synthetic.Paper(1).Bands}))
	add("searched targets", targetsTable(2913, 1050))
	variabilityDoubts(add, with)
	variabilityParams(with)
	variabilityGates(with)
	variabilityGuesses(with)
	return append(out, disturbedTables()...)
}

// targetsTable is the capacities of 12 targets for 30 hours, of which one takes a
// third less from hour 15 on; those above most are lower bounds.
func targetsTable(seed uint64, most float64) string {
	rng := seeded(seed)
	var b strings.Builder
	b.WriteString("time,node,metric,unit,better,value,censored\n")
	for hour := range 30 {
		for i := range 12 {
			v, bound := 1000*(1+.04*rng.NormFloat64()), "no"
			if i == 7 && hour >= 15 {
				v *= 2. / 3
			}
			if v > most {
				v, bound = most, "at least"
			}
			at := simulated.Epoch.Add(time.Duration(hour)*time.Hour + time.Duration(i)*time.Minute)
			fmt.Fprintf(&b, "%s,n-%d,capacity,op/s,higher,%.2f,%s\n", at.Format(time.RFC3339), i, v, bound)
		}
	}
	return b.String()
}

// variabilityDoubts are tables that tell less than they seem to.
func variabilityDoubts(add func(name string, texts ...string), with func(name, params string, texts ...string)) {
	add("few values", values("score", 4, normal(seeded(110), 100, .1)))
	add("seven values", values("score", 7, normal(seeded(111), 100, .01)))
	add("heavy tail", values("score", 200, func() func(int) float64 {
		rng := seeded(112)
		return func(int) float64 { return math.Exp(1.5 * rng.NormFloat64()) }
	}()))
	add("heavy tail, steady", values("score", 300, func() func(int) float64 {
		rng := seeded(113)
		return func(i int) float64 {
			return 100 * (1 + .002*rng.NormFloat64() + map[bool]float64{true: .3}[i == 77 || i == 200])
		}
	}()))
	rng := seeded(114)
	alike := csvTable{header: "score,batch"}
	for batch := range 12 {
		level := 100 * (1 + .05*rng.NormFloat64())
		for range 10 {
			alike.add(level*(1+.005*rng.NormFloat64()), fmt.Sprintf("b%d", batch))
		}
	}
	add("alike", alike.String())
	facts := csvTable{header: "score,cpu,zone,disk"}
	for i := range 120 {
		cpu := i % 2
		facts.add((100+30*float64(cpu))*(1+.02*rng.NormFloat64()), fmt.Sprintf("cpu%d", cpu), fmt.Sprintf("zone%d", cpu), fmt.Sprintf("disk%d", i%3))
	}
	add("confounded", facts.String())
	many := csvTable{header: "score,f1,f2,f3,f4"}
	for i := range 120 {
		x := i % 2
		many.add((100+30*float64(x))*(1+.02*rng.NormFloat64()), fmt.Sprintf("a%d", x), fmt.Sprintf("b%d", x), fmt.Sprintf("c%d", x), fmt.Sprintf("d%d", x))
	}
	add("many confounded", many.String())
	untested := csvTable{header: "time,score,node,kernel"}
	for trial := range 30 {
		for node := range 3 {
			untested.add(hour(trial), (100+40*float64(node))*(1+.01*rng.NormFloat64()), fmt.Sprintf("n%d", node), fmt.Sprintf("k%d", node))
		}
	}
	add("untested", untested.String())
	add("constant", values("score", 30, func(int) float64 { return 7 }))
	add("constant, timed", timed("score", 30, func(int) float64 { return 7 }))
	add("constant, of digits", timed("score", 30, func(int) float64 { return 117.25 }))
	add("no mean", values("score", 30, normal(seeded(115), -5, .2)))
	add("some below zero", values("score", 60, func() func(int) float64 {
		rng := seeded(116)
		return func(int) float64 { return 2 + 3*rng.NormFloat64() }
	}()))
	sum := 0.0
	add("running total", timed("requests_total", 60, func(int) float64 { sum += math.Round(500 + 20*rng.NormFloat64()); return sum }))
	short := campaignTable(synthetic.Campaign{Seed: 12, Times: 30, Every: time.Hour, Noise: .005, Steps: []synthetic.Step{{At: .5, By: -.05}}})
	add("a change in a day", short)
	add("a drift in a day", campaignTable(synthetic.Campaign{Seed: 13, Times: 30, Every: 40 * time.Minute, Noise: .005, Drift: .08}))
	add("a level that wanders", campaignTable(synthetic.Campaign{Seed: 14, Times: 120, Every: time.Hour, Noise: .03, AR: .97, Drift: .05}))
	add("no times", values("score", 60, func(i int) float64 { return 100 + map[bool]float64{true: 20}[i > 30] + rng.NormFloat64() }))
	variabilityCells(add, with)
}

// variabilityCells are tables with cells that are not as they should be.
func variabilityCells(add func(name string, texts ...string), with func(name, params string, texts ...string)) {
	rng := seeded(117)
	missing := csvTable{header: "time,score"}
	few := csvTable{header: "time,score"}
	noTimes := csvTable{header: "time,score"}
	fewTimes := csvTable{header: "time,score"}
	copied := csvTable{header: "time,score"}
	sentinel := csvTable{header: "time,score"}
	earlyAll := csvTable{header: "time,score"}
	earlySome := csvTable{header: "time,score"}
	unsorted := csvTable{header: "time,score"}
	for i := range 60 {
		v := 100 * (1 + .02*rng.NormFloat64())
		cell := func(when bool, x any) any {
			if when {
				return ""
			}
			return x
		}
		missing.add(hour(i), cell(i%4 == 0, v))
		few.add(hour(i), cell(i == 7, v))
		noTimes.add(cell(i%4 == 0, hour(i)), v)
		fewTimes.add(cell(i == 7, hour(i)), v)
		copied.add(hour(i/2), 100+float64(i/2%7))
		sentinel.add(hour(i), map[bool]any{true: -1, false: v}[i%9 == 0])
		earlyAll.add(10*i, v)
		earlySome.add(map[bool]any{true: time.Unix(0, 0), false: hour(i)}[i%20 == 0], v)
		unsorted.add(hour((i*7)%60), v)
	}
	add("values missing", missing.String())
	add("a value missing", few.String())
	add("times missing", noTimes.String())
	add("a time missing", fewTimes.String())
	add("rows copied", copied.String())
	add("sentinels", sentinel.String())
	with("all times early", `{"value": "score", "time": "time"}`, earlyAll.String())
	add("some times early", earlySome.String())
	add("unsorted", unsorted.String())
	levels := csvTable{header: "score,host_id,note"}
	for i := range 80 {
		levels.add(100*(1+.02*rng.NormFloat64()), fmt.Sprintf("h%d", i%4), fmt.Sprintf("n-%d", i))
	}
	add("a note each row", levels.String())
	same := timed("score", 60, normal(seeded(118), 100, .02))
	add("two sources alike", same, same)
	add("two sources", same, timed("score", 60, normal(seeded(119), 120, .02)))
	add("two metrics", metricsTable(seeded(131), 60, func(metric string, _ int) (mean, cov float64) {
		return map[string]float64{"read": 100, "write": 50}[metric], map[string]float64{"read": .05, "write": .01}[metric]
	}, "read", "write"))
	add("no number", "score\nmuch\nlittle\n")
	add("empty", "")
	add("header alone", "time,score\n")
}

// variabilityParams are tables with parameters.
func variabilityParams(with func(name, params string, texts ...string)) {
	rng := seeded(120)
	table := csvTable{header: "time,score,cpu,zone,one,row"}
	for i := range 90 {
		cpu := i % 3
		table.add(hour(i), (100+10*float64(cpu))*(1+.02*rng.NormFloat64()), fmt.Sprintf("cpu%d", cpu), fmt.Sprintf("z%d", i%2), "x", fmt.Sprintf("r%d", i))
	}
	text := table.String()
	with("by", `{"by": ["cpu,zone"]}`, text)
	with("by one level", `{"by": ["one"]}`, text)
	with("by rows", `{"by": ["row"]}`, text)
	with("by nothing", `{"by": ["rack"]}`, text)
	with("by hour", `{"by": ["Hour"], "zone": "Europe/Berlin"}`, text)
	with("cutoffs", `{"cutoffs": [105, 900]}`, text)
	with("targets", `{"targets": [0.5, 3, 3]}`, text)
	with("level", `{"level": 0.99}`, text)
	with("level that is hardly reached", `{"level": 0.99999}`, timed("score", 60, normal(seeded(197), 100, .02)))
	with("cluster", `{"cluster": "zone"}`, campaignTable(synthetic.Campaign{Seed: 15, Times: 20, Nodes: 6, Noise: .02}))
	with("no such cluster", `{"cluster": "rack"}`, campaignTable(synthetic.Campaign{Seed: 15, Times: 20, Nodes: 6, Noise: .02}))
	with("small groups", `{"by": ["zone"]}`, func() string {
		t := csvTable{header: "score,zone"}
		for i := range 60 {
			t.add(100*(1+.05*rng.NormFloat64()), map[bool]string{true: "rare", false: "usual"}[i%20 == 0])
		}
		return t.String()
	}())
	sum := 0.0
	total := csvTable{header: "time,requests_total"}
	for i := range 80 {
		if sum += math.Round(500 + 20*rng.NormFloat64()); i == 30 || i == 60 {
			sum = 400
		}
		total.add(hour(i), sum)
	}
	with("rate", `{"rate": true}`, total.String())
	with("rate of no total", `{"rate": true}`, text)
	with("zone unknown", `{"zone": "Mars/Base"}`, text)
	with("metric unknown", `{"metric": ["latency"]}`, text)
	with("bad level", `{"level": 2}`, text)
	with("value column unknown", `{"value": "latency"}`, text)
	own := timed("score", 60, normal(seeded(121), 50, .003))
	with("baseline", `{"baseline": "b.csv"}`, text, own)
	with("baseline of another metric", `{"baseline": "b.csv"}`, text, strings.Replace(own, "score", "latency", 1))
	with("baseline without a mean", `{"baseline": "b.csv"}`, text, timed("score", 60, normal(seeded(122), -50, .003)))
	with("baseline that is constant", `{"baseline": "b.csv"}`, text, timed("score", 60, func(int) float64 { return 50 }))
	bench := func(unit string, seed uint64) string {
		rng := seeded(seed)
		text := "goos: linux\ngoarch: amd64\npkg: example.com/x\ncpu: Some CPU\n"
		for range 12 {
			text += fmt.Sprintf("BenchmarkEncode-4 \t 1000 \t %.1f %s\n", 5000*(1+.02*rng.NormFloat64()), unit)
		}
		return text + "PASS\n"
	}
	with("Go benchmark", "", bench("ns/op", 123))
	units := func(unit string, seed uint64) string {
		rng := seeded(seed)
		t := csvTable{header: "score,unit"}
		for range 30 {
			t.add(100*(1+.02*rng.NormFloat64()), unit)
		}
		return t.String()
	}
	with("baseline in another unit", `{"baseline": "b.csv"}`, units("MB/s", 124), units("kB/s", 125))
	local := csvTable{header: "time,score"}
	for i := range 60 {
		local.add(time.Date(2026, 3, 28, 0, 30, 0, 0, time.UTC).Add(time.Duration(i)*time.Hour).Format("2006-01-02 15:04:05"), 100*(1+.02*rng.NormFloat64()))
	}
	with("clocks put forward", `{"zone": "Europe/Berlin"}`, local.String())
	back := csvTable{header: "time,score"}
	for i := range 60 {
		back.add(time.Date(2026, 10, 24, 0, 30, 0, 0, time.UTC).Add(time.Duration(i)*time.Hour).Format("2006-01-02 15:04:05"), 100*(1+.02*rng.NormFloat64()))
	}
	with("clocks put back", `{"zone": "Europe/Berlin"}`, back.String())
}

// variabilityGates hold what was found against thresholds.
func variabilityGates(with func(name, params string, texts ...string)) {
	steady, varies := timed("score", 120, normal(seeded(100), 100, .01)), timed("score", 120, normal(seeded(101), 100, .2))
	unclear := timed("score", 40, normal(seeded(102), 100, .05))
	changed := campaignTable(synthetic.Campaign{Seed: 2, Times: 200, Noise: .01, Steps: []synthetic.Step{{At: .5, By: -.1}}})
	banded := values("score", 100, bands(seeded(126), .3, 50, 100, .01))
	with("gate/above kept", `{"fail_above": 5}`, steady)
	with("gate/above missed", `{"fail_above": 5}`, varies)
	with("gate/above not told", `{"fail_above": 5}`, unclear)
	with("gate/above of few", `{"fail_above": 5}`, values("score", 4, normal(seeded(110), 100, .1)))
	with("gate/above of a tail", `{"fail_above": 3}`, values("score", 300, func() func(int) float64 {
		rng := seeded(113)
		return func(i int) float64 {
			return 100 * (1 + .002*rng.NormFloat64() + map[bool]float64{true: .3}[i == 77 || i == 200])
		}
	}()))
	with("gate/on varies", `{"fail_on": ["varies"]}`, varies)
	with("gate/on varies, unclear", `{"fail_on": ["varies"]}`, unclear)
	with("gate/on changes", `{"fail_on": ["changes"]}`, changed)
	with("gate/on bands and varies", `{"fail_on": ["bands", "varies"]}`, banded)
	with("gate/on nothing", `{"fail_on": ["changes", "bands"]}`, steady)
	with("gate/on unknown", `{"fail_on": ["changes"]}`, values("score", 4, normal(seeded(110), 100, .1)))
	with("gate/within", `{"fail_unless_within": 2}`, steady)
	with("gate/within missed", `{"fail_unless_within": 0.01}`, steady)
	with("gate/within of few", `{"fail_unless_within": 1}`, values("score", 4, normal(seeded(110), 100, .1)))
	with("gate/within takes nodes", `{"fail_unless_within": 1}`, campaignTable(synthetic.Campaign{Seed: 9, Times: 60, Nodes: 3, Noise: .01, Kept: true, NodeNoise: .2}))
	with("gate/within takes more nodes", `{"fail_unless_within": 1}`, campaignTable(synthetic.Campaign{Seed: 16, Times: 60, Nodes: 8, Noise: .01, Kept: true, NodeNoise: .1}))
	with("gate/bad verdict", `{"fail_on": ["steady"]}`, steady)
	with("gate/two missed", `{"fail_above": 5, "fail_on": ["varies"]}`, varies)
}

// batches are rows that are alike by a fact that may be a sample.
func batches(seed uint64, count int, between float64) string {
	rng := seeded(seed)
	levels := make([]float64, count)
	for i := range levels {
		levels[i] = 100 * (1 + between*rng.NormFloat64())
	}
	t := csvTable{header: "score,lot"}
	for i := range 200 {
		t.add(levels[i%count]*(1+.005*rng.NormFloat64()), fmt.Sprintf("lot%d", i*7%count))
	}
	return t.String()
}

// variabilityGuesses are tables of which something is guessed, and what no interval holds.
func variabilityGuesses(with func(name, params string, texts ...string)) {
	with("alike by lot", "", batches(180, 12, .05))
	with("gate/above, alike by lot", `{"fail_above": 6}`, batches(181, 12, .05))
	with("gate/above, between", `{"fail_above": 8}`, batches(181, 12, .05))
	with("gate/above, alike by little", `{"fail_above": 4.5}`, batches(190, 40, .03))
	tail := values("score", 300, func() func(int) float64 {
		rng := seeded(191)
		return func(i int) float64 {
			return 100 * math.Exp(.01*rng.NormFloat64()+map[bool]float64{true: .2}[i%60 == 7])
		}
	}())
	with("gate/above, a tail", `{"fail_above": 6}`, tail)
	with("gate/within, alike by lot", `{"fail_unless_within": 2}`, batches(181, 12, .05))
	opposed := values("score", 200, bands(seeded(182), .5, -10, 10.4, .05))
	with("both signs in bands", "", opposed)
	with("gate/above, both signs in bands", `{"fail_above": 5}`, opposed)
	with("about zero", "", values("score", 60, func() func(int) float64 {
		rng := seeded(183)
		return func(int) float64 { return .3 + 3*rng.NormFloat64() }
	}()))
	with("two halves", `{"targets": [0.5, 1]}`, values("score", 60, bands(seeded(184), .5, 50, 100, .001)))
	with("two numbers", `{"targets": [0.01]}`, values("score", 24, func(i int) float64 { return 50 + 50*float64(i%2) }))
	with("days or months", "", func() string {
		t := csvTable{header: "day,score"}
		rng := seeded(196)
		for i := range 12 {
			t.add(fmt.Sprintf("%02d/%02d/2026", i+1, 12-i), 100*(1+.02*rng.NormFloat64()))
		}
		return t.String()
	}())
	with("sorted", "", values("score", 60, func(i int) float64 { return 100 + float64(i*i)/90 }))
	rng := seeded(185)
	local := csvTable{header: "started,ended,score,port,remark"}
	several := csvTable{header: "time,score"}
	thousands := csvTable{header: "time,score"}
	unread := csvTable{header: "time,score"}
	metrics := csvTable{header: "benchmark,score,spare"}
	long := csvTable{header: "time,metric,value"}
	for i := range 60 {
		v := 1500 * (1 + .02*rng.NormFloat64())
		at := hour(i).Format("2006-01-02 15:04:05")
		local.add(at, hour(i+1).Format("2006-01-02 15:04:05"), v, 1000+i, "")
		several.add(map[bool]any{true: hour(i), false: at}[i%2 == 0], v)
		thousands.add(hour(i), fmt.Sprintf(`"1,%03.1f"`, v-1000))
		unread.add(fmt.Sprintf("run of day %d", i), v)
		metrics.add([]string{"encode", "decode"}[i%2], v, "")
		long.add(hour(i), []string{"read", "spare"}[i%2], map[bool]any{true: v, false: ""}[i%2 == 0])
	}
	with("times without a zone", "", local.String())
	with("times in several ways", "", several.String())
	with("marks before thousands", "", thousands.String())
	with("times that are texts", "", unread.String())
	with("benchmarks by column", "", metrics.String())
	with("a metric without values", "", long.String())
	with("no values", `{"value": "spare"}`, metrics.String())
}

// disturbedTables are tables of which a column says what disturbed each row.
func disturbedTables() (out []question) {
	for _, x := range []struct {
		name  string
		first int // row that is disturbed
		every int
		by    string
		less  float64
	}{
		{"some, as the others", 0, 5, "steal", 1}, {"some, and they decide", 0, 4, "others, steal", .6},
		{"nearly all", 2, 1, "others", .9}, {"by its own limit", 0, 1, "throttled", 1},
	} {
		rng := seeded(130)
		t := csvTable{header: "time,score,disturbed"}
		for i := range 60 {
			v, by := 100*(1+.01*rng.NormFloat64()), "no"
			if i >= x.first && i%x.every == 0 {
				v, by = v*x.less, x.by
			}
			t.add(hour(i), v, `"`+by+`"`)
		}
		out = append(out, question{name: "variability/disturbed " + x.name, study: "variability", files: []file{{"a.csv", t.String()}}})
	}
	return out
}
