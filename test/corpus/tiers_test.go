package corpus

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/session"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/truth/simulated"
	"github.com/scalebench/scalebench/test/truth/tiersim"
)

// shop is an application of which the database binds, at 100 requests a second.
func shop() tiersim.Net {
	return tiersim.Net{Think: 1, RampUp: 5, Run: 12, Tiers: []tiersim.Tier{
		{Name: "web", Quota: 1, Work: .002, Threads: 100}, {Name: "app", Hosts: 2, Quota: 1, Work: .008, Threads: 50, Pool: 30},
		{Name: "db", Quota: .5, Work: .005},
	}}
}

// tiersRun is a run of trials in the making.
type tiersRun struct {
	data model.RunData
	as   tiersim.Step
	seed uint64
}

// shopRun is the id of runs with trials.
const shopRun = "01J0SH0P000000000000000000"

func newTiersRun(seed uint64) *tiersRun {
	return &tiersRun{seed: seed, as: tiersim.Step{At: simulated.Epoch},
		data: model.RunData{Run: model.Run{ID: shopRun, Name: "shop", State: model.RunDone}}}
}

// trial adds one, as a step with this label.
func (r *tiersRun) trial(label string, n tiersim.Net, x bottleneck.Trial) {
	r.as.Label, r.as.RampUp, r.as.Run = label, n.RampUp, n.Run
	tiersim.Record(&r.data, r.as, rounded(x))
	r.as.At = r.as.At.Add(time.Hour)
}

// rounded is a trial with numbers of five digits: the simulation adds up so many times
// that machines of other arithmetic differ by more than answers may.
func rounded(x bottleneck.Trial) bottleneck.Trial {
	round := func(v float64) float64 {
		out, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 5, 64), 64)
		if err != nil {
			panic(err) // it was formatted above
		}
		return out
	}
	all := func(values []float64) []float64 {
		out := make([]float64, len(values))
		for i, v := range values {
			out[i] = round(v)
		}
		return out
	}
	services := func(of []bottleneck.Service) []bottleneck.Service {
		out := slices.Clone(of)
		for i := range out {
			out[i].Signals = maps.Clone(out[i].Signals)
			for name, values := range out[i].Signals {
				out[i].Signals[name] = all(values)
			}
		}
		return out
	}
	x.Throughput, x.Response, x.Think, x.Responses = round(x.Throughput), round(x.Response), round(x.Think), all(x.Responses)
	x.Services = services(x.Services)
	return x
}

// loads adds trials of a configuration with each number of users.
func (r *tiersRun) loads(configuration string, n tiersim.Net, trials int, users ...int) *tiersRun {
	for trial := 1; trial <= trials; trial++ {
		for _, u := range users {
			r.trial(fmt.Sprintf("%s, %d users", configuration, u), n, n.Trial(u, trial, r.seed))
		}
	}
	return r
}

// proof adds trials as it is and with a quarter more of the database's processor.
func (r *tiersRun) proof(as, more tiersim.Net, users, trials int, change func(x *bottleneck.Trial)) *tiersRun {
	for trial := 1; trial <= trials; trial++ {
		label := fmt.Sprintf("1-2-1, %d users, proof: processor of db ×", users)
		r.trial(label+"1", as, as.Trial(users, trial, r.seed+1))
		x := more.Trial(users, trial+10, r.seed+1)
		if change != nil {
			change(&x)
		}
		r.trial(label+"1.25", more, x)
	}
	return r
}

// with is an application with one tier changed.
func with(n tiersim.Net, tier int, change func(t *tiersim.Tier)) tiersim.Net {
	n.Tiers = slices.Clone(n.Tiers)
	change(&n.Tiers[tier])
	return n
}

// signal replaces a signal of a tier in a trial.
func signal(x *bottleneck.Trial, tier, name string, of func(i int, v float64) float64) {
	for k := range x.Services {
		s := &x.Services[k]
		if s.Tier != tier {
			continue
		}
		s.Signals = maps.Clone(s.Signals)
		values := slices.Clone(s.Signals[name])
		if values == nil {
			values = make([]float64, len(s.Signals[bottleneck.SignalCPU]))
		}
		for i := range values {
			values[i] = of(i, values[i])
		}
		s.Signals[name] = values
	}
}

// changed adds loads of which each trial is changed.
func (r *tiersRun) changed(configuration string, n tiersim.Net, trials int, users []int, change func(x *bottleneck.Trial)) *tiersRun {
	for trial := 1; trial <= trials; trial++ {
		for _, u := range users {
			x := n.Trial(u, trial, r.seed)
			change(&x)
			r.trial(fmt.Sprintf("%s, %d users", configuration, u), n, x)
		}
	}
	return r
}

// users changes the results of the users of some steps.
func (r *tiersRun) users(which func(s model.Step) bool, change func(x *model.Result)) *tiersRun {
	for i := range r.data.Results {
		x := &r.data.Results[i]
		for _, s := range r.data.Steps {
			if s.ID == x.Step && x.Node == "users-1" && which(s) {
				change(x)
			}
		}
	}
	return r
}

// sample sets a sample of a result.
func sample(metric string, v float64) func(x *model.Result) {
	return func(x *model.Result) {
		for i := range x.Samples {
			if x.Samples[i].Metric == metric && len(x.Samples[i].Labels) == 0 {
				x.Samples[i].Value = v
				return
			}
		}
		x.Samples = append(x.Samples, model.Sample{Metric: metric, Unit: "1", Value: v, Info: true})
	}
}

func everyStep(model.Step) bool { return true }

// beyond are the steps with more users than so many.
func beyond(users float64) func(s model.Step) bool {
	return func(s model.Step) bool { u, _ := s.Levels["users"].(float64); return u > users }
}

// threeTiers are the parameters of questions about the shop.
const threeTiers = `{"tiers": ["web", "app", "db"]}`

// tierCases are questions which tier of an application binds.
func tierCases() (out []question) {
	withParams := func(name, params string, r *tiersRun, more ...*tiersRun) {
		q := question{name: "ntier/run/" + name, study: "ntier", params: params, runs: []model.RunData{r.data}}
		for i, m := range more {
			id := strings.Replace(shopRun, "0SH0P0", fmt.Sprintf("0SH0P%d", i+1), 1)
			q.runs, q.more = append(q.runs, renumbered(m.data, id)), append(q.more, id)
		}
		out = append(out, q)
	}
	add := func(name string, r *tiersRun) { withParams(name, threeTiers, r) }
	users := []int{30, 60, 90, 120, 160, 220}
	add("named", newTiersRun(1).loads("1-2-1", shop(), 3, users...))
	add("no end of growth", newTiersRun(2).loads("1-2-1", shop(), 3, 20, 30, 40, 50))
	add("one trial", newTiersRun(3).loads("1-2-1", shop(), 1, users...))
	add("too few loads", newTiersRun(4).loads("1-2-1", shop(), 2, 60, 120, 220))
	add("threads", newTiersRun(5).loads("1-2-1", with(shop(), 1, func(t *tiersim.Tier) { t.Threads, t.Delay = 3, .1 }), 2, 20, 40, 60, 80, 120, 180))
	add("pool", newTiersRun(6).loads("1-2-1", with(with(shop(), 1, func(t *tiersim.Tier) { t.Pool = 2 }), 2, func(t *tiersim.Tier) { t.Delay, t.Quota = .05, 4 }), 2, 20, 40, 60, 80, 120, 180))
	add("link", newTiersRun(7).loads("1-2-1", with(shop(), 0, func(t *tiersim.Tier) { t.Link, t.Bytes = 1e6, 20e3 }), 2, 20, 40, 60, 80, 120))
	add("incoming link", newTiersRun(8).loads("1-2-1", with(with(shop(), 1, func(t *tiersim.Tier) { t.Link, t.Hosts = 5e5, 1 }), 2, func(t *tiersim.Tier) { t.Bytes, t.Link = 10e3, 1e8 }), 2, 20, 40, 60, 80, 120))
	two := with(shop(), 1, func(t *tiersim.Tier) { t.Hosts, t.Work = 1, .01 })
	add("two at once", newTiersRun(9).loads("1-1-1", two, 3, users...))
	swings := with(with(shop(), 1, func(t *tiersim.Tier) { t.Hosts, t.Work = 1, .005 }), 2, func(t *tiersim.Tier) { t.Quota, t.Work = 1, .005 })
	swings.Swing, swings.Between = 3, [2]int{1, 2}
	add("in turns", newTiersRun(10).loads("1-1-1", swings, 3, 30, 60, 90, 120, 160, 220))
	swings.Swing = 6 // so seldom that turns are not told from chance
	add("now one and now another", newTiersRun(74).loads("1-1-1", swings, 3, 30, 60, 90, 120, 160, 220))
	add("herd", newTiersRun(11).loads("1-2-1", with(shop(), 2, func(t *tiersim.Tier) { t.Herd = .03 }), 3, users...))
	add("batches", newTiersRun(12).loads("1-2-1", with(shop(), 2, func(t *tiersim.Tier) { t.Batch, t.Work = .08, .009 }), 3, 30, 50, 70, 90, 120, 160))
	hidden := with(with(shop(), 2, func(t *tiersim.Tier) { t.Quota, t.Threads, t.Delay = 8, 4, .04 }), 1, func(t *tiersim.Tier) { t.Pool = 0 })
	add("nothing was full", newTiersRun(13).changed("1-2-1", hidden, 3, users, func(x *bottleneck.Trial) {
		for k := range x.Services {
			s := &x.Services[k]
			s.Signals = maps.Clone(s.Signals)
			for _, name := range []string{bottleneck.SignalThreads, bottleneck.SignalThreadsMax, bottleneck.SignalThreadsQueue} {
				delete(s.Signals, name)
			}
		}
	}))
	starved := shop()
	starved.Generator = 1. / 60
	add("generator", newTiersRun(14).loads("1-2-1", starved, 2, 30, 50, 70, 90, 140))
	early := shop()
	early.Generator = 1. / 10
	add("generator from the first", newTiersRun(15).loads("1-2-1", early, 2, 30, 50, 70, 90))
	add("generator beyond the knee", newTiersRun(16).loads("1-2-1", shop(), 2, users...).users(beyond(150), sample("generator_busy", .97)))
	many := []int{30, 50, 70, 90, 120, 150, 200, 260, 320}
	add("generator beyond a knee that is known", newTiersRun(64).loads("1-2-1", shop(), 3, many...).users(beyond(230), sample("generator_busy", .97)))
	add("generator at one load", newTiersRun(65).loads("1-2-1", shop(), 3, many...).users(func(s model.Step) bool {
		return beyond(230)(s) && !beyond(270)(s)
	}, sample("generator_busy", .97)))
	add("generator busy from the first", newTiersRun(66).loads("1-2-1", shop(), 2, users...).users(everyStep, sample("generator_busy", .97)))
	add("generator is late", newTiersRun(67).loads("1-2-1", shop(), 2, users...).users(beyond(100), func(x *model.Result) {
		h := histogram.New(int64(time.Minute))
		histogram.RecordMany(h, int64(2*time.Second), 1000)
		x.Histograms = append(x.Histograms, model.Histogram{Metric: load.HistogramLag, Unit: "ns", Encoded: histogram.Encode(h)})
	}))
	add("nearly full", newTiersRun(71).changed("1-2-1", shop(), 3, []int{20, 40, 60, 80, 300, 400}, func(x *bottleneck.Trial) {
		signal(x, "db", bottleneck.SignalCPU, func(_ int, v float64) float64 { return .97 * v })
		signal(x, "db", bottleneck.SignalHeld, func(int, float64) float64 { return 0 })
	}))
	mute := shop()
	mute.Generator, mute.Mute = 1./60, true
	add("generator that is mute", newTiersRun(17).loads("1-2-1", mute, 2, 30, 50, 70, 90, 140))
	shared := with(with(shop(), 2, func(t *tiersim.Tier) { t.Shares, t.Hosts, t.Work = true, 2, .004 }), 1, func(t *tiersim.Tier) { t.Quota = .5 })
	add("shared hosts", newTiersRun(19).loads("1-2+2", shared, 3, users...))
	out = append(out, tierDefects(users)...)
	tierProofs(add, withParams)
	out = append(out, tierPlatforms(withParams, users)...)
	return append(out, tierTables()...)
}

// tierDefects are runs in which something is wrong, or not known.
func tierDefects(users []int) (out []question) {
	add := func(name string, r *tiersRun) {
		out = append(out, question{name: "ntier/defect/" + name, study: "ntier", params: threeTiers, runs: []model.RunData{r.data}})
	}
	run := func(seed uint64) *tiersRun { return newTiersRun(seed).loads("1-2-1", shop(), 2, users...) }
	add("operations fail", run(20).users(beyond(100), sample(session.MetricOK, 200)))
	add("some operations fail", run(21).users(beyond(100), func(x *model.Result) {
		ok := 0.0
		for _, s := range x.Samples {
			if s.Metric == session.MetricOK && len(s.Labels) == 0 {
				ok = s.Value
			}
		}
		sample(session.MetricOK, .97*ok)(x)
		sample(session.MetricUnfinished, .03*ok)(x)
	}))
	add("no way on", run(22).users(everyStep, sample(session.MetricNoLink, 90)))
	add("nothing ended", run(23).users(beyond(200), func(x *model.Result) {
		sample(session.MetricThroughput, 0)(x)
		sample(session.MetricOK, 0)(x)
	}))
	add("users missing", run(24).users(beyond(100), sample(session.MetricThroughput, 40)))
	add("milliseconds for seconds", run(25).users(everyStep, sample(session.MetricThink, 1000)))
	add("tables say otherwise", run(26).users(everyStep, func(x *model.Result) {
		x.Stages = append(x.Stages, model.Stage{Name: model.StageTables, Note: "the row of Search has no way to BrowseCategories, which is left out"})
	}))
	add("probe fails", newTiersRun(27).changed("1-2-1", shop(), 2, users, func(x *bottleneck.Trial) {
		signal(x, "app", bottleneck.SignalProbeFailed, func(i int, _ float64) float64 { return float64(i % 2) })
	}))
	add("first tier does not tell", newTiersRun(28).changed("1-2-1", shop(), 2, users, func(x *bottleneck.Trial) {
		signal(x, "web", bottleneck.SignalRequests, func(int, float64) float64 { return math.NaN() })
		for k := range x.Services {
			delete(x.Services[k].Signals, map[bool]string{true: bottleneck.SignalRequests, false: ""}[x.Services[k].Tier == "web"])
		}
	}))
	add("limit changes", newTiersRun(29).changed("1-2-1", shop(), 2, users, func(x *bottleneck.Trial) {
		signal(x, "db", bottleneck.SignalQuota, func(i int, v float64) float64 { return map[bool]float64{true: v, false: 2 * v}[i < 6] })
	}))
	silent := run(30)
	for i := range silent.data.Results {
		if x := &silent.data.Results[i]; x.Node == "app-2" {
			x.Host = nil
		}
	}
	for i := range silent.data.Steps {
		silent.data.Steps[i].Services = map[string]model.ServiceLevel{"web": {Nodes: []model.NodeID{"web-1"}},
			"app": {Nodes: []model.NodeID{"app-1", "app-2"}}, "db": {Nodes: []model.NodeID{"db-1"}}}
	}
	add("a host is silent", silent)
	seldom := run(31)
	for i := range seldom.data.Results {
		if x := &seldom.data.Results[i]; x.Node == "db-1" && i%2 == 0 {
			x.Host = nil
		}
	}
	add("a tier is silent at times", seldom)
	front := newTiersRun(32)
	front.as.Params = map[string]any{"url": "http://${service.router}:8080"}
	front.changed("1-2-1", shop(), 2, users, func(x *bottleneck.Trial) {
		if x.Users > 100 {
			x.Response += .4
			for i := range x.Responses {
				x.Responses[i] += .4
			}
			x.Throughput = float64(x.Users) / (x.Response + x.Think)
		}
	})
	add("something in front", front)
	for i, lost := range []func(s *model.Step) bool{
		func(s *model.Step) bool { return s.Levels["users"] == 220. },
		func(s *model.Step) bool { return s.Levels["users"] == 60. },
		func(*model.Step) bool { return true },
	} {
		for _, state := range []model.StepState{model.StepInvalid, model.StepPending} {
			r := newTiersRun(uint64(33+i)).loads("1-2-1", shop(), 2, 20, 30, 40, 60, 220)
			for k := range r.data.Steps {
				if s := &r.data.Steps[k]; lost(s) {
					s.State = state
				}
			}
			r.data.Run.State = model.RunIncomplete
			add(fmt.Sprintf("trials %s %d", state, i), r)
		}
	}
	part := newTiersRun(36).loads("1-2-1", shop(), 2, 20, 30, 40)
	part.loads("1-2-1", shop(), 1, 50)
	part.data.Steps[len(part.data.Steps)-1].State = model.StepPending
	add("too few so far", part)
	hosts := newTiersRun(37).changed("1-1-1", with(shop(), 1, func(t *tiersim.Tier) { t.Hosts = 1 }), 2, users, func(x *bottleneck.Trial) {
		for k := range x.Services {
			if x.Services[k].Tier == "db" {
				x.Services[k].Node = "app-1"
			}
		}
	})
	add("tiers on one host", hosts)
	return out
}

// tierProofs are runs in which more of what is named was tried.
func tierProofs(add func(string, *tiersRun), withParams func(string, string, *tiersRun, ...*tiersRun)) {
	users := []int{30, 60, 90, 120, 160, 220}
	many := []int{30, 50, 70, 90, 120, 150, 200, 260, 320}
	faster := with(shop(), 2, func(t *tiersim.Tier) { t.Quota *= bottleneck.Quarter })
	add("proof confirmed", newTiersRun(40).loads("1-2-1", shop(), 3, users...).proof(shop(), faster, 160, 3, nil))
	add("proof refuted", newTiersRun(41).loads("1-2-1", shop(), 3, users...).proof(shop(), shop(), 160, 3, func(x *bottleneck.Trial) {
		signal(x, "db", bottleneck.SignalQuota, func(_ int, v float64) float64 { return v * bottleneck.Quarter })
	}))
	add("proof not raised", newTiersRun(42).loads("1-2-1", shop(), 3, users...).proof(shop(), shop(), 160, 3, nil))
	add("proof of one trial", newTiersRun(43).loads("1-2-1", shop(), 3, users...).proof(shop(), faster, 160, 1, nil))
	times := func(x *bottleneck.Trial, factor float64) {
		x.Throughput *= factor
		x.Response = float64(x.Users)/x.Throughput - x.Think
	}
	add("proof of another law", newTiersRun(44).loads("1-2-1", shop(), 3, users...).proof(shop(), faster, 160, 3, func(x *bottleneck.Trial) {
		x.Throughput *= 1.5
	}))
	add("proof exceeded", newTiersRun(48).loads("1-2-1", shop(), 3, many...).proof(shop(), faster, 260, 3, func(x *bottleneck.Trial) {
		times(x, 1.3)
	}))
	add("proof half", newTiersRun(45).loads("1-2-1", shop(), 3, many...).proof(shop(), faster, 260, 3, func(x *bottleneck.Trial) {
		times(x, .87+.03*float64(x.Trial-11))
	}))
	add("proof of another verdict", newTiersRun(46).loads("1-2-1", shop(), 3, 20, 30, 40, 50).proof(shop(), faster, 50, 2, nil))
	asked := newTiersRun(47).loads("1-2-1", shop(), 3, users...)
	asked.data.Nodes = []model.Node{{ID: "db-1", Facts: model.Facts{Cores: 8, CPULimit: .5}}}
	withParams("proof not made", `{"tiers": ["web", "app", "db"], "proof": true}`, asked)
}

// tierPlatforms are configurations beside each other: rankings, agreements, prices.
func tierPlatforms(withParams func(string, string, *tiersRun, ...*tiersRun), users []int) (out []question) {
	many := []int{30, 50, 70, 90, 120, 150, 200, 260, 320}
	slower := with(shop(), 2, func(t *tiersim.Tier) { t.Quota *= .7 })
	four := func(seed uint64, a, b, c, d tiersim.Net, trials int, users ...int) *tiersRun {
		return newTiersRun(seed).loads("1-2-1-em", a, trials, users...).loads("1-2-2-em", b, trials, users...).
			loads("1-2-1-ec2", c, trials, users...).loads("1-2-2-ec2", d, trials, users...)
	}
	withParams("ranking turns over", threeTiers, four(50, shop(), slower, slower, shop(), 3, 40, 80, 120, 180))
	withParams("ranking is the same", threeTiers, four(51, shop(), slower, shop(), slower, 3, 40, 80, 120, 180))
	withParams("ranking of one trial", threeTiers, four(52, shop(), slower, slower, shop(), 1, 40, 80, 120, 180))
	withParams("ranking of what still grew", threeTiers, four(53, shop(), slower, slower, shop(), 2, 15, 20, 25, 30))
	const sla = `{"tiers": ["web", "app", "db"], "sla": "p95=500ms", "price_table": "type,price_per_hour,currency\nlarge,0.5,USD\nsmall,0.1,USD\n"}`
	cheap := newTiersRun(54).loads("1-2-1-ec2-large", shop(), 3, users...).loads("1-2-1-ec2-small", slower, 3, users...)
	withParams("prices and agreement", sla, cheap)
	withParams("prices, one type unknown", strings.Replace(sla, `small,0.1,USD\n`, "", 1), cheap)
	withParams("agreement at", strings.Replace(sla, `"sla"`, `"at": 90, "sla"`, 1), cheap)
	withParams("agreement where users are missing", sla, newTiersRun(69).loads("1-2-1-em", shop(), 2, users...).users(beyond(100), sample(session.MetricThroughput, 40)))
	withParams("agreement at a load that is off", sla, newTiersRun(72).loads("1-2-1-em", shop(), 3, many...).users(func(s model.Step) bool {
		return !beyond(60)(s) && s.Trial == 1
	}, sample(session.MetricThroughput, 25)))
	withParams("agreement without latencies", sla, newTiersRun(73).loads("1-2-1-em", shop(), 2, users...).users(everyStep, func(x *model.Result) {
		x.Histograms = nil
	}))
	lost := newTiersRun(70).loads("1-2-1-em", shop(), 2, 20, 30, 40, 60).loads("1-2-1-oc", shop(), 2, 20, 30, 40, 60)
	for i := range lost.data.Steps {
		if x := &lost.data.Steps[i]; strings.HasPrefix(x.Label, "1-2-1-oc") {
			x.State = model.StepInvalid
		}
	}
	lost.data.Run.State = model.RunIncomplete
	withParams("a configuration without trials", sla, lost)
	withParams("agreement kept by none", strings.Replace(sla, "p95=500ms", "p95=1ms", 1), cheap)
	apart := newTiersRun(55).loads("1-2-1-em", shop(), 2, 20, 30, 40, 50).loads("1-2-1-oc", shop(), 2, 25, 35, 45, 55)
	withParams("no load in common", sla, apart)
	longer := shop()
	longer.Think = 2
	withParams("other think times", sla, newTiersRun(56).loads("1-2-1-em", shop(), 2, 20, 30, 40, 50).loads("1-2-1-oc", longer, 2, 20, 30, 40, 50))
	mixed := newTiersRun(57).loads("1-2-1-em", shop(), 2, 20, 30, 40, 50)
	mixed.as.Params = map[string]any{"mix": "read_write"}
	withParams("other operations", sla, mixed.loads("1-2-1-oc", shop(), 2, 20, 30, 40, 50))
	starved := shop()
	starved.Generator = 1. / 60
	withParams("one is not counted", sla, newTiersRun(58).loads("1-2-1-em", shop(), 2, users...).loads("1-2-1-oc", starved, 2, 30, 50, 70, 90, 140))
	a, b := newTiersRun(59).loads("1-2-1", shop(), 2, 40, 80, 120, 180), newTiersRun(60).loads("1-2-1", slower, 2, 40, 80, 120, 180)
	withParams("two runs of one name", threeTiers, a, b)
	a, b = newTiersRun(59).loads("1-2-1", shop(), 2, 40, 80, 120, 180), newTiersRun(60).loads("1-2-1", slower, 2, 40, 80, 120, 180)
	out = append(out, question{name: "ntier/run/two named runs", study: "ntier", params: threeTiers, as: "fast",
		runs: []model.RunData{a.data, renumbered(b.data, "01J0SH0P900000000000000000")}, more: []string{"slow=01J0SH0P900000000000000000"}})
	withParams("switches cost", `{"tiers": ["web", "app", "db"], "switch_cost": "5us"}`, newTiersRun(63).loads("1-2-1", shop(), 2, 30, 60, 90, 120, 160))
	withParams("no tiers", `{}`, newTiersRun(61).loads("1-2-1", shop(), 1, 40))
	withParams("at without agreement", `{"tiers": ["web", "app", "db"], "at": 50}`, newTiersRun(61).loads("1-2-1", shop(), 1, 40))
	withParams("bad agreement", `{"tiers": ["web", "app", "db"], "sla": "soon"}`, newTiersRun(61).loads("1-2-1", shop(), 1, 40))
	withParams("bad prices", `{"tiers": ["web", "app", "db"], "price_table": "much\n"}`, newTiersRun(61).loads("1-2-1", shop(), 1, 40))
	withParams("no trial", threeTiers, newTiersRun(62))
	return out
}

// shopTable is a table of trials of an application that does 100 operations a second and
// no more. cells are those of a load and trial behind the first six, which change may
// change.
func shopTable(configuration, columns string, loads []int, trials int, cells func(rate float64, trial int) string, change func(users, trial int, row []string)) string {
	text := ""
	for _, users := range loads {
		for trial := 1; trial <= trials; trial++ {
			n := float64(users)
			rate := min(100, n/1.02) * (1 + .004*math.Sin(n+3*float64(trial)))
			response := max(.02, n/rate-1)
			row := []string{configuration, fmt.Sprint(users), fmt.Sprint(trial), fmt.Sprintf("%.3f", rate), fmt.Sprintf("%.4f", response), "1"}
			if change != nil {
				change(users, trial, row)
			}
			text += strings.Join(row, ",") + "," + cells(rate, trial) + "\n"
		}
	}
	return "configuration,users,trial,throughput,response,think," + columns + "\n" + text
}

// busy are cells of utilisations that follow the rate: shares at 100 operations a second.
func busy(shares ...float64) func(rate float64, trial int) string {
	return func(rate float64, trial int) string {
		var out []string
		for i, s := range shares {
			out = append(out, fmt.Sprintf("%.4f", min(1, s*rate/100*(1+.002*math.Sin(float64(trial+i))))))
		}
		return strings.Join(out, ",")
	}
}

// tierTables are questions about tables of the user's own.
func tierTables() (out []question) {
	withParams := func(name, params, text string) {
		out = append(out, question{name: "ntier/table/" + name, study: "ntier", params: params, table: &file{"own.csv", text}})
	}
	add := func(name, text string) { withParams(name, threeTiers, text) }
	loads := []int{30, 50, 70, 90, 110, 150, 200, 300}
	table := func(columns string, cells func(float64, int) string, change func(users, trial int, row []string)) string {
		return shopTable("1-1-1", columns, loads, 2, cells, change)
	}
	add("named", table("web_cpu,app_cpu,db_cpu", busy(.3, .5, 1), nil))
	add("two", table("web_cpu,app_cpu,db_cpu", busy(.3, 1, 1), nil))
	add("nearly full", table("web_cpu,app_threads,db_cpu", busy(.3, 1, .92), nil))
	add("nothing full", table("web_cpu,app_cpu,db_cpu", busy(.3, .4, .5), nil))
	add("busy and not full", table("app_cpu,db_cpu", busy(.93, .93), nil))
	add("pool pushes back", table("app_pool,app_threads,db_cpu", busy(1, 1, 1), nil))
	add("above all there is", table("db_cpu", func(rate float64, _ int) string { return fmt.Sprintf("%.3f", 1.05*rate/100) }, nil))
	add("far above all there is", table("db_cpu", func(rate float64, _ int) string { return fmt.Sprintf("%.3f", 1.5*rate/100) }, nil))
	add("columns missing at times", table("app_cpu,db_cpu", func(rate float64, trial int) string {
		return fmt.Sprintf("%.3f,%s", .4*rate/100, map[bool]string{true: fmt.Sprintf("%.3f", rate/100), false: ""}[trial == 1])
	}, nil))
	add("full early", table("web_threads,db_cpu", func(rate float64, _ int) string { return fmt.Sprintf("1,%.3f", min(1, rate/100)) }, nil))
	add("full early, nothing else", table("web_threads,db_cpu", func(rate float64, _ int) string { return fmt.Sprintf("1,%.3f", .5*rate/100) }, nil))
	add("errors", table("errors,db_cpu", func(rate float64, _ int) string { return fmt.Sprintf(".4,%.3f", rate/100) }, nil))
	add("few errors", table("errors,db_cpu", func(rate float64, _ int) string { return fmt.Sprintf(".02,%.3f", rate/100) }, nil))
	add("errors of one trial", table("errors,db_cpu", func(rate float64, trial int) string {
		return fmt.Sprintf("%s,%.3f", map[bool]string{true: ".03", false: ""}[trial == 1], rate/100)
	}, nil))
	add("nothing ended", table("db_cpu", busy(1), func(users, trial int, row []string) {
		if users == 200 && trial == 2 {
			row[3], row[4] = "0", ""
		}
	}))
	add("nothing ever ended", table("db_cpu", func(float64, int) string { return ".5" }, func(_, _ int, row []string) { row[3], row[4] = "0", "" }))
	add("law is broken", table("db_cpu", busy(1), func(users, _ int, row []string) {
		if users >= 110 {
			row[4] = ".02"
		}
	}))
	add("law is a little off", table("db_cpu", busy(1), func(users, _ int, row []string) {
		if users == 90 {
			row[4] = ".15"
		}
	}))
	add("no think time", table("db_cpu", busy(1), func(_, _ int, row []string) { row[5] = "0" }))
	add("milliseconds", table("db_cpu", busy(1), func(_, _ int, row []string) { row[5] = "1000" }))
	add("response time alone", table("db_cpu", busy(1), func(_, _ int, row []string) { row[4], row[5] = "9", "" }))
	add("response time alone, far off", table("db_cpu", busy(1), func(_, _ int, row []string) { row[4], row[5] = "9000", "" }))
	add("times are not known", table("db_cpu", busy(1), func(_, _ int, row []string) { row[4], row[5] = "", "" }))
	add("some times are not known", table("db_cpu", busy(1), func(users, trial int, row []string) {
		if users == 50 && trial == 1 {
			row[4], row[5] = "", ""
		}
	}))
	add("throughput falls", table("db_cpu", busy(1), func(users, _ int, row []string) {
		if users >= 200 {
			row[3], row[4] = fmt.Sprintf("%.2f", 100-float64(users-150)/4), ""
		}
	}))
	add("cheaper and cheaper", table("db_cpu", func(rate float64, _ int) string { return fmt.Sprintf("%.3f", min(1, .75+.25*rate/100)) }, nil))
	add("more than the demand allows", shopTable("1-1-1", "db_cpu", loads, 2, func(rate float64, _ int) string {
		return fmt.Sprintf("%.3f", min(1, map[bool]float64{true: 1.6 * rate / 100, false: 1}[rate < 80]))
	}, nil))
	add("97 % busy", table("web_cpu,db_cpu", busy(.3, .97), nil))
	add("always full and grows", shopTable("1-1-1", "db_cpu", []int{10, 20, 30, 40, 50}, 2, func(float64, int) string { return "1" }, nil))
	add("cold at first", shopTable("1-1-1", "db_cpu", []int{50, 100, 150, 200}, 1, busy(.5), func(users, _ int, row []string) {
		rate := map[int]float64{50: 30, 100: 98, 150: 140, 200: 150}[users]
		row[3], row[4] = fmt.Sprint(rate), fmt.Sprintf("%.4f", max(.001, float64(users)/rate-1))
		row[5] = "0.3"
	}))
	add("grows to the end", shopTable("1-1-1", "web_cpu,db_cpu", []int{10, 20, 30, 40, 50}, 2, busy(.3, 1), nil))
	add("full at the end and grows", shopTable("1-1-1", "web_cpu,db_cpu", []int{20, 40, 60, 80, 96}, 2, busy(.3, 1.04), nil))
	add("behind at the end", shopTable("1-1-1", "db_cpu", []int{30, 60, 90, 125}, 1, busy(.5), nil))
	add("few loads", shopTable("1-1-1", "db_cpu", []int{30, 60}, 2, busy(1), nil))
	add("one load", shopTable("1-1-1", "db_cpu", []int{30}, 2, busy(1), nil))
	add("shared hosts", shopTable("1-1+1", "app_cpu,db_cpu", loads, 2, busy(.4, .5), nil))
	add("idle part", shopTable("1-1-1", "db_cpu", loads, 3, func(rate float64, _ int) string { return fmt.Sprintf("%.4f", .2+.8*rate/100) }, nil))
	other := strings.SplitAfterN(shopTable("1-1-1-ec2", "db_cpu", loads, 2, busy(1), func(_, _ int, row []string) { row[5] = "" }), "\n", 2)[1]
	add("think times of one", table("db_cpu", busy(1), nil)+other)
	alike := func(configuration string, most float64) string {
		return strings.SplitAfterN(shopTable(configuration, "db_cpu", loads, 2, busy(1), func(users, _ int, row []string) {
			rate := min(most, float64(users)/1.02)
			row[3], row[4] = fmt.Sprintf("%.2f", rate), fmt.Sprintf("%.4f", float64(users)/rate-1)
		}), "\n", 2)[1]
	}
	add("rankings without scatter", "configuration,users,trial,throughput,response,think,db_cpu\n"+alike("1-1-1-em", 100)+alike("1-1-2-em", 80)+alike("1-1-1-ec2", 80)+alike("1-1-2-ec2", 100))
	withParams("prices", `{"tiers": ["web", "app", "db"], "prices": {"large": {"price_per_hour": 0.34, "currency": "USD"}}}`,
		shopTable("1-1-1-ec2-large", "db_cpu", loads, 3, busy(1), nil))
	withParams("agreement", `{"tiers": ["web", "app", "db"], "sla": "p95=1s"}`, table("db_cpu", busy(1), nil))
	const agreed = `{"tiers": ["web", "app", "db"], "sla": "mean=1s,errors=1%"}`
	withParams("agreement on what is known", agreed, table("errors,db_cpu", func(rate float64, _ int) string { return fmt.Sprintf(".001,%.3f", rate/100) }, nil))
	withParams("agreement without times", agreed, table("errors,db_cpu", func(rate float64, _ int) string { return fmt.Sprintf(".001,%.3f", rate/100) }, func(_, _ int, row []string) {
		row[4], row[5] = "", ""
	}))
	withParams("no tiers", `{}`, table("db_cpu", busy(1), nil))
	add("another configuration", shopTable("1-1", "db_cpu", loads, 2, busy(1), nil))
	add("unknown column", table("lb_cpu", busy(1), nil))
	add("a line twice", table("db_cpu", busy(1), func(_, _ int, row []string) { row[2] = "1" }))
	add("no number", table("db_cpu", func(float64, int) string { return "much" }, nil))
	return out
}
