package ntier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/model"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/internal/tabular"
)

// Columns of a table of the user's own: one line a trial. A column TIER_cpu,
// TIER_link_out, TIER_link_in, TIER_threads or TIER_pool is the utilisation of that resource over the
// whole trial, as a share or in percent.
var (
	requiredColumns = []string{"configuration", "users", "throughput"}
	optionalColumns = []string{"trial", "response", "think", "errors"}
)

// columnSignals are what stands for the utilisation of a resource.
var columnSignals = map[bottleneck.Kind][2]string{
	bottleneck.CPU: {bottleneck.SignalCPU, bottleneck.SignalQuota}, bottleneck.LinkOut: {bottleneck.SignalSent, bottleneck.SignalLink},
	bottleneck.LinkIn:  {bottleneck.SignalReceived, bottleneck.SignalLink},
	bottleneck.Threads: {bottleneck.SignalThreads, bottleneck.SignalThreadsMax}, bottleneck.Pool: {bottleneck.SignalPool, bottleneck.SignalPoolMax},
}

// Import implements study.Importer.
func (p *Params) Import(_ context.Context, _ study.Input, name string, table io.Reader) (study.Result, error) {
	if p.split(); len(p.Tiers) == 0 {
		return nil, &model.InputError{Path: "tiers", Problem: "a table does not say in which order requests reach its tiers", Allowed: "--tiers web,app,db"}
	}
	t, err := tabular.Open(name, table)
	if err != nil {
		return nil, err
	}
	if p.SLA != "" {
		return nil, &model.InputError{Path: "sla", Problem: "a table has no percentiles of response times, by which an SLA is judged", Allowed: "leave it out, or measure with scalebench run"}
	}
	optional := optionalColumns
	for _, tier := range p.Tiers {
		for _, kind := range bottleneck.Kinds() {
			optional = append(optional, strings.ToLower(tier)+"_"+string(kind))
		}
	}
	allowed := "the first line must name the columns: " + strings.Join(requiredColumns, ",") + ", and of " + strings.Join(optional, ",") + " those that there are"
	if _, err := t.Use([]tabular.Form{{Required: requiredColumns, Optional: optional}}, allowed); err != nil {
		return nil, err
	}
	var trials []trial
	last, there := make(map[string]int), make(map[string]bool) // largest trial of each load; all trials
	for t.Next() {
		x := p.row(t)
		load := label(x.configuration, x.Users)
		if t.Text(t.Column("trial")) == "" { // lines without a number are trials in their order
			x.Trial.Trial = last[load] + 1
		}
		one := fmt.Sprintf("%s, trial %d", load, x.Trial.Trial)
		if there[one] {
			t.RefuseRow(t.Column("trial"), "a second line of "+one, "give each trial a number of its own")
		}
		last[load], there[one] = max(last[load], x.Trial.Trial), true
		trials = append(trials, x)
	}
	if err := t.Err(); err != nil {
		return nil, err
	}
	r, err := p.answer(source{title: name, trials: trials})
	if err != nil {
		return nil, err
	}
	r.Warnings = append(r.Warnings, "a table has one utilisation for each trial: what was full only at times, in turns, is not seen",
		"a table does not tell whether the load generator was the limit: see that it was neither busy nor late")
	return r, nil
}

// row is one trial of a table.
func (p *Params) row(t *tabular.Reader) trial {
	var out trial
	c, err := ParseConfiguration(t.Text(t.Column("configuration")), p.Tiers)
	if bad, ok := errors.AsType[*model.InputError](err); ok {
		t.RefuseRow(t.Column("configuration"), bad.Problem, bad.Allowed)
	}
	out.configuration = c
	out.Users = t.Whole("users", 0)
	out.Trial.Trial = t.Whole("trial", 1)
	out.Throughput = t.Amount("throughput", true)
	out.Response, out.Think, out.NoWay = t.Amount("response", false), t.Amount("think", false), math.NaN()
	out.Errors = t.Share("errors", 1, "")
	out.Shares = make(map[string]int)
	for i, tier := range p.Tiers {
		if i < len(c.Counts) {
			out.Shares[tier] = c.Counts[i]
		}
		s := bottleneck.Service{Tier: tier, Node: model.NodeID(tier), Signals: make(map[string][]float64)}
		for _, kind := range bottleneck.Kinds() {
			name := strings.ToLower(tier) + "_" + string(kind)
			if u := t.Share(name, mostUsed, ", of all that the tier has on all its hosts"); !math.IsNaN(u) {
				with := columnSignals[kind]
				if u > allUsed {
					out.above = append(out.above, name)
				}
				for range bottleneck.FewestSeconds {
					s.Signals[with[0]], s.Signals[with[1]] = append(s.Signals[with[0]], u), append(s.Signals[with[1]], 1)
				}
			}
		}
		out.Services = append(out.Services, s)
	}
	return out
}

// Utilisations are measured, and may be a little above all there is: beyond allUsed that
// is told, and beyond mostUsed they are shares of something else.
const allUsed, mostUsed = 1.02, 1.1
