// Package sizing is the question how many nodes a target takes, and which
// resource ends growth (ScaleBench, section 5.4).
//
//  1. [Params]: the target, what one node does and takes, limits that are known.
//  2. Findings and scalings (package evaluation) become capacities: what a fleet
//     had of each resource, in nodes, and whether that was a limit.
//  3. Demands are what one node takes: given, or measured by the monitor.
//  4. question.answer is the formula: one [Resource] for each demand.
//  5. The resources with a limit make a queueing network, which bounds what a
//     fleet does ([queueing.Band]); what the demand's own run measured must lie in it, or
//     the answer is unknown.
//  6. [Result.Document] says it; words.go has all sentences.
//
// docs/methods.md explains the formula.
package sizing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/queueing"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/internal/unit"
)

const long = `Says for each resource whether the fleet that a target rate takes fits into what
was measured (section 5.4 of the ScaleBench paper).

With target m, rate r of one node, demand d of one node at that rate and the
capacity C_n that n nodes had together: the fleet is t = ceil(m/r) nodes, and the
target takes m/r*d.

  fits      m/r*d is at most C_n, and some fleet is sure to reach the target
  fails     m/r*d is more than C_n, beyond all intervals, and C_n was seen to be a
            limit (the interval of the CDI lies above 0): no fleet does it; or d is
            more than a node alone had: not even one node works
  untested  m/r*d is more than C_n, but no limit was seen, C_n was still growing
            with n, whether there is a limit could not be judged, or it is too
            close to call
  unknown   what several nodes did at once in the run of --demand-run lies
            outside of what the plan says of as many: it answers nothing

Of the rate of a fleet it says a band. The upper end is min(n*r, C_n/d*r); the
lower end is what nodes do that wait for each other at what they share, by mean
value analysis. "rate_ci" is the band with the intervals of what was measured.
"nodes_safe" is the fleet that reaches the target by the lower end.

Capacities come from a run, from a file as "scalebench cdi --csv" takes it, and
from --capacity, a limit that you know. Demands are given per second of one
node (--demand) or per job (--demand-per-job), or measured: --demand-run takes
what the monitor saw in the serial steps of your application's run, and the rate
of a node as well.

RESOURCE is cpu, memory, disk.read, disk.write, network.receive, network.send,
objectstore.put, objectstore.get, or WORKLOAD/METRIC. The amount has a unit:
network.receive=25MB/s, disk.write=300op/s, cpu=2core (cores in use); per job
objectstore.get=5.3MB, disk.write=40op, cpu=0.5s (seconds of one core). It is a
bare number, such as upload/throughput=500, where the file of --csv has no unit.

With --fail-unless-fits the exit code is 0 if every resource fits, 3 if one fails,
and otherwise 4: untested, too close to call by the intervals, measured with a
verdict that is unknown, or contradicted by the demand's own run.`

const example = `  scalebench plan latest --target 227/s --node-rate 3.5/s --demand-per-job objectstore.get=5.3MB
  scalebench plan latest --target 500/s --demand-run 01JD2M:transcode
  scalebench plan --capacity network.receive=10Gbit/s --target 200/s --node-rate 5/s --demand network.receive=30MB/s`

// Kind describes the question.
func Kind() study.Kind {
	return study.Kind{
		Name: "sizing", Command: "plan", Summary: "how many nodes a target takes, and which resource ends growth",
		Long: long, Example: example, Optional: true,
		New: func() study.Study { return &Params{} },
	}
}

// Params are the parameters of the study. Amounts are texts with a unit
// ("network.receive=25MB/s"), rates are jobs per second ("227/s").
type Params struct {
	Target   string `json:"target,omitempty" flag:"target" jsonschema:"required" jsonschema_description:"Jobs per second wanted, such as 227/s."`
	NodeRate string `json:"node_rate,omitempty" flag:"node-rate" jsonschema_description:"Jobs per second of one node (default with --demand-run: as measured)."`
	// Demand is per second of one node, DemandPerJob per job.
	Demand       []string `json:"demand,omitempty" flag:"demand" jsonschema_description:"Demand of one node: RESOURCE=AMOUNT, such as network.receive=25MB/s; repeatable."`
	DemandPerJob []string `json:"demand_per_job,omitempty" flag:"demand-per-job" jsonschema_description:"Demand of one job: RESOURCE=AMOUNT, such as objectstore.get=5.3MB; repeatable."`
	DemandRun    string   `json:"demand_run,omitempty" flag:"demand-run" jsonschema_description:"Measure the demand in this run: RUN or RUN:WORKLOAD."`
	Capacity     []string `json:"capacity,omitempty" flag:"capacity" jsonschema_description:"Known limit: RESOURCE=AMOUNT, such as network.receive=10Gbit/s; repeatable."`
	// FailUnlessFits makes the answer a gate; see [Result.Gate].
	FailUnlessFits bool `json:"fail_unless_fits,omitempty" flag:"fail-unless-fits" jsonschema_description:"Exit code 3 if a resource fails, 4 if the measurement does not tell whether all fit."`
}

// wrong is one thing that is wrong with a parameter.
func wrong(key, problem, allowed string) error {
	return &model.InputError{Path: key, Problem: problem, Allowed: allowed}
}

// Validate implements study.Study: it finds what is missing or cannot be read.
// Which names and units a resource may have depends on what was measured.
func (p *Params) Validate() error {
	var errs []error
	refuse := func(key, problem, allowed string) { errs = append(errs, wrong(key, problem, allowed)) }
	rate := func(key, text, missing string) {
		if _, ok := jobRate(text); text == "" && missing != "" {
			refuse(key, "is missing", missing)
		} else if !ok && text != "" {
			refuse(key, fmt.Sprintf("%q is not a rate of jobs", text), jobRateAllowed)
		}
	}
	rate("target", p.Target, "say how many jobs per second are wanted")
	if p.DemandRun == "" {
		rate("node_rate", p.NodeRate, "say how many jobs per second one node does")
	} else {
		rate("node_rate", p.NodeRate, "")
	}
	if len(p.Demand)+len(p.DemandPerJob) == 0 && p.DemandRun == "" {
		refuse("", "no demand is given", "use --demand, --demand-per-job or --demand-run")
	}
	for _, g := range p.given() {
		_, err := g.amount()
		if _, bare := g.bare(); err != nil && !bare {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// jobRateRE is a number of jobs per second: "227", "227/s" or "227 videos/s".
var jobRateRE = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(?: ?([A-Za-z]*)/s)?$`)

// jobRateAllowed says in words what jobRate accepts.
const jobRateAllowed = `use a plain number of jobs per second above 0, such as 227, 227/s or 2000/s; "k" and "M" are not understood here`

// jobRate reads jobs per second. What the jobs are called does not matter, but
// a name that may begin with a prefix ("2k/s", "2kjobs/s", "2Mjobs/s") and
// amounts of bytes or bits are refused: they would be read as 2.
func jobRate(text string) (rate float64, ok bool) {
	found := jobRateRE.FindStringSubmatch(text)
	if found == nil {
		return 0, false
	}
	name := found[2]
	prefixed := len(name) == 1 || len(name) > 1 && strings.ContainsRune("kKMGTPE", rune(name[0]))
	known, err := unit.ParseRate("1" + name + "/s")
	if prefixed || slices.Contains([]string{"byte", "bytes", "bits"}, name) || err == nil && known.Base != unit.Operations {
		return 0, false
	}
	rate, err = strconv.ParseFloat(found[1], 64)
	return rate, err == nil && rate > 0
}

// Analyze implements study.Study. Without a run the capacities are those that
// are given.
func (p *Params) Analyze(ctx context.Context, in study.Input) (study.Result, error) {
	if in.Run == nil {
		if len(p.Capacity) == 0 {
			return nil, fmt.Errorf("%w: no capacity to compare the demand with; scalebench plan takes capacities from a run, from --csv FILE, or from --capacity RESOURCE=AMOUNT", model.ErrUsage)
		}
		return p.size(ctx, in, nil)
	}
	findings, err := evaluation.Findings(in.Run, evaluation.Options{Tolerance: in.Tolerance})
	if err != nil {
		return nil, err
	}
	scalings, err := evaluation.Scalings(in.Run, evaluation.Options{Tolerance: in.Tolerance})
	if err != nil {
		return nil, err
	}
	return p.size(ctx, in, capacitiesOf(findings, scalings, in.Run))
}

// Import implements study.Importer: the capacities are those of a table as the
// study cdi reads it.
func (p *Params) Import(ctx context.Context, in study.Input, name string, table io.Reader) (study.Result, error) {
	findings, err := evaluation.Import(ctx, name, table, evaluation.Options{})
	if err != nil {
		return nil, err
	}
	if platforms := evaluation.ByPlatform(findings); len(platforms) > 1 {
		return nil, &model.InputError{
			Problem: fmt.Sprintf("%s has %d platforms, and a plan is for one", name, len(platforms)),
			Allowed: "keep the rows of one",
		}
	}
	return p.size(ctx, in, capacitiesOf(findings, nil, nil))
}

// size answers with the capacities that were measured.
func (p *Params) size(ctx context.Context, in study.Input, measured []capacity) (study.Result, error) {
	q := question{capacities: measured}
	q.target, _ = jobRate(p.Target)
	if err := p.giveCapacities(&q); err != nil {
		return nil, err
	}
	if err := p.demands(ctx, in, &q); err != nil {
		return nil, err
	}
	r, err := q.answer()
	if err != nil {
		return nil, err
	}
	r.held = p.FailUnlessFits
	return r, nil
}

// Answer is what a capacity says about a planned fleet.
type Answer string

// Fits: the demand stays within what was measured. Fails: it exceeds a
// capacity that was seen not to grow any more. Untested: it exceeds what was
// measured, but no limit was seen, so that the capacity is only a lower bound.
// Unknown: the plan contradicts the run that it rests on.
const (
	Fits     Answer = "fits"
	Fails    Answer = "fails"
	Untested Answer = "untested"
	Unknown  Answer = "unknown"
)

// Result answers how many nodes an application needs and whether they would be
// of use. Its JSON form is a contract.
type Result struct {
	Target   float64 `json:"target"`          // m: jobs per second wanted
	NodeRate float64 `json:"node_rate"`       // r: jobs per second of one node
	Nodes    int     `json:"nodes"`           // t = ceil(m/r)
	Slots    int     `json:"slots,omitempty"` // jobs that a node works on at once; 0: not known
	Answer   Answer  `json:"answer"`          // the worst of the resources, or unknown
	// Binding is the resource that ends growth first; empty when none was
	// seen to. Largest and LargestRate are the largest useful fleet t* and its
	// rate t*·r; nil when no limit was seen.
	Binding     string   `json:"binding,omitempty"`
	Largest     *int     `json:"largest"`
	LargestRate *float64 `json:"largest_rate"`
	// Rate is what so many nodes do; nil where not even one works at its rate.
	// RateCI is from the lower to the upper end of that band, each with the ends of
	// the intervals of rate, demands and capacities that make it widest; nil where
	// none is known, or the answer is unknown. NodesSafe is the least number of
	// nodes, from Nodes on, that reach the target by the lower end of Rate, to within
	// 1 %; nil when none does, or the answer is unknown.
	Rate      *queueing.Band `json:"rate"`
	RateSafe  *queueing.Band `json:"rate_safe"` // of NodesSafe nodes
	RateCI    *[2]float64    `json:"rate_ci"`
	NodesSafe *int           `json:"nodes_safe"`
	// Measured is what several nodes did at once in the run of the demand,
	// ascending; empty where that was not measured.
	Measured  []Measured `json:"measured"`
	Resources []Resource `json:"resources"` // those that end growth first come first
	// Doubts are what speaks against the answer; Warnings their texts.
	Doubts   []model.Doubt `json:"doubts"`
	Warnings []string      `json:"warnings"`

	few, many float64  // nodes, by the interval of a measured node rate
	unjudged  []string // resources with a capacity without a verdict
	held      bool     // against --fail-unless-fits
	against   string   // what the plan contradicts, where the answer is unknown
	beside    string   // what did the target in that run
}

// Resource is one resource of a plan. Amounts are in Unit, demand and capacity
// alike.
type Resource struct {
	Resource string `json:"resource"`
	Unit     string `json:"unit"`
	// Demand is d, what the application takes on one node at its rate;
	// DemandSource where the figure comes from.
	Demand       float64              `json:"demand"`
	DemandCI     *evaluation.Interval `json:"demand_ci"`
	DemandSource string               `json:"demand_source"`
	// Capacity is C_n, measured with MeasuredAt nodes at once, 0 where it was
	// given; nil when the resource was not measured.
	Capacity       *float64             `json:"capacity"`
	CapacityCI     *evaluation.Interval `json:"capacity_ci"`
	CapacitySource string               `json:"capacity_source"`
	MeasuredAt     int                  `json:"measured_at"`
	CDI            *float64             `json:"cdi"`
	CDICI          *evaluation.Interval `json:"cdi_ci"`
	Answer         Answer               `json:"answer"`
	// AtTarget is what the target rate takes, m/r·d; Needed is the same, and what
	// the capacity is compared with. RateLimit is C_n/d·r, the rate at which the
	// resource is used up, and NodeLimit C_n/d, the fleet that takes all of it, both
	// without rounding to whole nodes; nil when no limit was seen. Largest is
	// t* = floor(C_n/d), or t where the target fits and takes one node more, with
	// the rate of that fleet; it is 0, without a NodeLimit, where not even one node
	// can work at its rate. LargestCI comes from the intervals of capacity and
	// demand.
	AtTarget    float64  `json:"at_target"`
	Needed      float64  `json:"needed"`
	RateLimit   *float64 `json:"rate_limit"`
	NodeLimit   *float64 `json:"node_limit"`
	Largest     *int     `json:"largest"`
	LargestCI   *[2]int  `json:"largest_ci"`
	LargestRate *float64 `json:"largest_rate"`
	Text        string   `json:"text"`

	least, most float64     // of what the target takes, by the intervals
	sizes       []sizeTotal // of the capacity, as its alone and falls
	alone       *float64
	falls       bool
}

// Gate is --fail-unless-fits, by intervals as every threshold: a
// model.ErrThreshold names what surely does not fit, a model.ErrInvalid what the
// measurement does not tell.
func (r *Result) Gate() error {
	if !r.held {
		return nil
	}
	if r.Answer == Unknown {
		return fmt.Errorf("%w: the plan contradicts its own run: %s: --fail-unless-fits (fail_unless_fits in a file) cannot be checked; the warning contradicts_run says what to do", model.ErrInvalid, r.against)
	}
	if i := slices.IndexFunc(r.Doubts, func(d model.Doubt) bool { return d.Severity == model.Problem }); i >= 0 {
		return fmt.Errorf("%w: %s: --fail-unless-fits (fail_unless_fits in a file) cannot be checked", model.ErrInvalid, r.Doubts[i].Text)
	}
	var bad, open []string
	for _, x := range r.Resources {
		switch {
		case slices.Contains(r.unjudged, x.Resource):
			open = append(open, x.Resource+" (its verdict is unknown)")
		case x.close():
			open = append(open, x.Resource+" (too close to call)")
		case x.Answer == Untested:
			open = append(open, x.Resource+" (untested)")
		case x.Answer == Fails:
			bad = append(bad, x.Resource)
		}
	}
	if where, _ := r.fleet().Bottleneck(); r.Answer == Untested && len(open) == 0 {
		open = append(open, where+" (no fleet is sure to reach the target)")
	}
	switch {
	case len(bad) > 0:
		return fmt.Errorf("%w: not every resource suffices for %s: %s", model.ErrThreshold, num.Count(r.Nodes, "node"), strings.Join(bad, ", "))
	case len(open) > 0:
		return fmt.Errorf("%w: the measurement does not tell whether %s: --fail-unless-fits (fail_unless_fits in a file) cannot be checked; measure that many nodes, or give the limit with --capacity if you know it",
			model.ErrInvalid, num.Count(r.Nodes, "node")+" fit "+strings.Join(open, ", "))
	}
	return nil
}

// close reports whether the intervals leave open if there is what the target
// takes, of a resource that was not simply too little measured.
func (x Resource) close() bool {
	if x.Capacity == nil || x.Answer == Fails || x.Answer == Unknown {
		return false
	}
	lo, _ := ends(*x.Capacity, x.CapacityCI)
	if x.Answer == Fits {
		return x.most > lo*(1+rounding)
	}
	return x.NodeLimit != nil
}
