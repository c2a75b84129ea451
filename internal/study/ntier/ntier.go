// Package ntier is the question which tier of an application binds, in which
// configuration and on which platform (D. Jayasinghe et al., "Variations in
// performance and scalability when migrating n-tier applications to different
// clouds", CLOUD 2011).
//
//  1. Configurations are written as the paper does ([Configuration]); [Params.Design]
//     makes a trial of each with each number of users, and, with proof, trials
//     with a quarter more of the suspect (prove.go). Configurations that grow follow
//     from the bottlenecks of those before (grow.go). Each may begin with a search for
//     the best sizes (sizes.go).
//  2. [Params.Analyze] reads what users and tiers recorded (read.go), or
//     a table of the user's own (import.go).
//  3. Package bottleneck names what binds. What is compared across platforms, and
//     what a request costs, is here (platforms.go, cost.go).
//  4. [Result.Document] says it (document.go, figures.go).
//
// docs/ntier.md has the method with its sources and limits.
package ntier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/prices"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/internal/unit"
)

// Phase is that of the study's steps.
const Phase model.Phase = "trial"

const long = `Says for each configuration of an application of several tiers where its
throughput stops growing with the users, and what stops it: the processor or the
link of a tier, its threads, its connection pool; one, several at once or in
turns; whether what is full is the cause or waits for something behind it.

It refuses where the load generator binds, and says so where nothing that was
measured was full. Verdicts: named; none seen up to the last load; unknown and why.

Beside it stand what the operational laws say (demands, bounds, an exact model of
the queues) and where they do not fit; across platforms, rankings of configurations
that turn over, where intervals carry it; and with --prices the cost of a request,
and which configuration keeps the SLA at the least cost. If configurations grow (grow
in the file), the answer is the path: which tier got a host, and why it ends. Of several runs each has the
name of its platform before it, and after a slash what else differs: its variant.`

const example = `  scalebench ntier latest
  scalebench ntier latest --sla p95=500ms --at 300 --prices prices.csv
  scalebench ntier latest --format json
  scalebench ntier fast=01J9ZK slow=01JA0M
  scalebench ntier fast/galera=01J9ZK fast/spider=01JA0M \
    slow/galera=01JA2C slow/spider=01JA3D
  scalebench ntier --csv own.csv --tiers web,app,db`

// Kind describes the question.
func Kind() study.Kind {
	return study.Kind{
		Name: "ntier", Summary: "which tier of an application binds, and what a request costs", Long: long, Example: example,
		Named: true, Several: true, Phases: []model.Phase{Phase},
		Tells: func(run *observe.Run) bool { return run.Has(Phase) },
		New:   func() study.Study { return &Params{Order: OrderBlocks} },
	}
}

// Orders of trials.
const (
	OrderRandom    = "random"
	OrderBlocks    = "blocks"
	OrderAscending = "ascending"
)

// Params are the parameters of the study.
type Params struct {
	Configurations []string                    `json:"configurations,omitempty" jsonschema:"maxItems=200,uniqueItems=true" jsonschema_description:"What is measured: how many hosts each tier has, in the order of tiers, then platform and type: 1-2-1-2-ec2-large. Tiers joined by + share hosts: 1-2-2+2. Default: one, with as many hosts as count of each service says."`
	Tiers          []string                    `json:"tiers,omitempty" flag:"tiers" jsonschema:"maxItems=20,uniqueItems=true" jsonschema_description:"The services that are tiers, in the order in which a request reaches them: [web, app, db]."`
	Users          []int                       `json:"users,omitempty" jsonschema:"maxItems=100,uniqueItems=true,minimum=1" jsonschema_description:"Numbers of users, each of which is measured with each configuration; a knee takes 4 or more."`
	Mixes          []string                    `json:"mixes,omitempty" jsonschema:"maxItems=3,uniqueItems=true,enum=browse_only,enum=read_write,enum=author" jsonschema_description:"Mixes of what users do: all trials with the first, then all with the next. Each mix is analysed and ranked by itself, and stands in parentheses in the configuration: 1-2-1(read_write). Default: the mix of the workload."`
	Order          string                      `json:"order" jsonschema:"enum=random,enum=blocks,enum=ascending" jsonschema_description:"Order of the trials: random; blocks: each trial of all before the next, in random order; ascending: as the paper, by configuration and users, in which drift and load cannot be told apart."`
	Proof          bool                        `json:"proof,omitempty" jsonschema_description:"Whether there is then a quarter more of what is named, beyond the knee, in turns with trials as before, to see whether the throughput follows: of processors, of threads and pools whose sizes services name, and of links that a lab sets."`
	Grow           *Grow                       `json:"grow,omitempty" jsonschema_description:"Each configuration grows: a host is added to the tiers that are named, until no hardware binds, a ceiling is reached, or the answer is unknown. Ceilings: {hosts: 8, price_per_hour: 5}; {}: as far as the fleet goes."`
	Sizes          map[string]map[string][]int `json:"sizes,omitempty" jsonschema_description:"Sizes of services that are tried with the most users before each configuration is measured: {app: {pool: [2, 4, 8, 16]}}. Each keeps its best, by successive halving. Services name the variables (sizes)."`

	Platforms map[string]map[string]string `json:"platforms,omitempty" jsonschema_description:"Labels of the nodes of each platform. Default: the label platform has its name."`
	Types     map[string]map[string]string `json:"types,omitempty" jsonschema_description:"Labels of the nodes of each type. Default: the label type has its name."`

	SLA        string                 `json:"sla,omitempty" flag:"sla" jsonschema_description:"What users must get: p95=500ms, or several: p99=2s,errors=0.1%."`
	At         int                    `json:"at,omitempty" flag:"at" jsonschema:"minimum=1" jsonschema_description:"With an SLA: the number of users for which the cheapest configuration is wanted. Default: the largest that was measured of all."`
	Prices     map[string]prices.Host `json:"prices,omitempty" jsonschema_description:"What a host of each type costs: {large: {price_per_hour: 0.34, currency: USD}}."`
	PriceList  []prices.Row           `json:"price_list,omitempty" jsonschema:"maxItems=10000" jsonschema_description:"The same in rows, as price lists have it, where prices differ by zone or region: [{type: large, zone: us-east-1, price_per_hour: 0.34, currency: USD}]."`
	PriceTable string                 `json:"price_table,omitempty" flag:"prices" from:"file" jsonschema_description:"Prices of hosts, CSV: type, price_per_hour, currency, and if prices differ by it zone or region; replaces prices and price_list of the file."`
	SwitchCost *unit.Duration         `json:"switch_cost,omitempty" flag:"switch-cost" jsonschema_description:"What a context switch costs on such nodes: what share of the processors it takes is then among the suspects. Default: as a workload of the kind context_switch has measured it, of this run or another that is given."`
}

var _ interface {
	study.Designer
	study.Importer
	study.Noter
} = (*Params)(nil)

// refuse is the error about a parameter.
func refuse(path, problem, allowed string) error {
	return &model.InputError{Path: path, Problem: problem, Allowed: allowed}
}

// Validate implements study.Study.
func (p *Params) Validate() error {
	p.split()
	var errs []error
	for i, tier := range p.Tiers {
		twice := slices.ContainsFunc(p.Tiers[:i], func(other string) bool { return strings.EqualFold(other, tier) }) // columns of tables are in small letters
		if twice || strings.Contains(tier, "+") {
			errs = append(errs, refuse("tiers", fmt.Sprintf("%q is there twice, or has a +", tier),
				"each tier once, by its name: web,app,db"))
		}
	}
	first := make(map[string]string) // as it was written
	for i, text := range p.Configurations {
		path := "configurations." + strconv.Itoa(i)
		c, err := ParseConfiguration(text, p.Tiers)
		twice, known := first[c.String()]
		bad, wrong := errors.AsType[*model.InputError](err)
		switch {
		case wrong:
			errs = append(errs, refuse(path, bad.Problem, bad.Allowed))
		case c.Variant != "":
			errs = append(errs, refuse(path, fmt.Sprintf("%q names a variant, and the file says nothing of what differs", text),
				"run the file once for each (choose), and name the runs: fast/galera=RUN"))
		case known:
			errs = append(errs, refuse(path, fmt.Sprintf("%s is the same as %s", text, twice), "leave one of them out"))
		default:
			first[c.String()] = text
		}
	}
	if p.SLA != "" {
		if err := load.CheckSLA(p.SLA); err != nil {
			errs = append(errs, refuse("sla", err.Error(), ""))
		}
	}
	if p.At > 0 && p.SLA == "" {
		errs = append(errs, refuse("at", "a number of users for which nothing is asked", "add sla: p95=500ms, say"))
	}
	if _, err := p.list(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, p.checkGrow(), p.checkSizes())...)
}

// Notes implements study.Noter.
func (p *Params) Notes() (out []string) {
	if n := len(p.Users); n > 0 && n < bottleneck.LeastLoads {
		out = append(out, fmt.Sprintf("users: a knee takes %d numbers of users, and there are %d: what binds will be unknown", bottleneck.LeastLoads, n))
	}
	if p.At > 0 && len(p.Users) > 0 && !slices.Contains(p.Users, p.At) {
		out = append(out, fmt.Sprintf("at: %s are not measured, so that no configuration is known to keep the SLA with as many: add them to users", num.Count(p.At, "user")))
	}
	return out
}

// Analyze implements study.Study.
func (p *Params) Analyze(ctx context.Context, in study.Input) (study.Result, error) {
	p.split()
	from, err := p.readAll(in)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("looking at the tiers: %w", err)
	}
	return p.answer(from)
}

// split takes tiers that were given with commas, as --tiers web,app,db, apart; or as a
// file has them, [web, app, db].
func (p *Params) split() {
	p.Tiers = strings.FieldsFunc(strings.Join(p.Tiers, ","), func(r rune) bool { return strings.ContainsRune("[, ]", r) })
}

// labels are those of the nodes of a configuration.
func (p *Params) labels(c Configuration) map[string]string {
	out := make(map[string]string)
	add := func(key, name string, of map[string]map[string]string) {
		if labels, ok := of[name]; ok {
			maps.Copy(out, labels)
		} else if name != "" {
			out[key] = name
		}
	}
	add("platform", c.Platform, p.Platforms)
	add("type", c.Type, p.Types)
	return out
}
