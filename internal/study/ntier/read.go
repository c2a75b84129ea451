package ntier

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/session"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/prices"
	"github.com/scalebench/scalebench/internal/timeline"
)

// trial is one step, or a line's of a table.
type trial struct {
	label
	failed bool // the step did, or was not measured yet: it has no results that count
	bottleneck.Trial
	latencies *hdrhistogram.Histogram  // ns; nil: not known
	hosts     []prices.Place           // of the nodes of the tiers
	places    map[string]prices.Place  // what the nodes of each tier have in common
	timeline  func() timeline.Timeline // nil: there is none
	notes     []string                 // what users did otherwise than their tables say
	above     []string                 // columns of a table with more than all that there is
	run       *observe.Run             // nil: of a table
	window    timeline.Window          // that is scored
	of        model.Step
}

// open reports whether the step of a trial is not over.
func (t trial) open() bool {
	return t.failed && t.run != nil && t.of.State != model.StepInvalid && t.of.State != model.StepComplete
}

// measured is one configuration with its trials.
type measured struct {
	configuration Configuration
	mix           string // that the study set; empty: none
	system        bottleneck.System
	proofs        []trial
	searches      []trial // of sizes
	trials        []trial // of the system
	failed        []trial // of both, by users
}

// readRun takes the trials of a run.
func (p *Params) readRun(run *observe.Run) ([]trial, error) {
	if len(p.Tiers) == 0 {
		return nil, refuse("tiers", "the run's file does not say which services are tiers",
			"name them in the order in which a request reaches them: --tiers web,app,db")
	}
	if err := run.Need(observe.Hosts, timeline.Recordings(p.Tiers)...); err != nil {
		return nil, err
	}
	if err := run.Need(observe.Histograms, session.HistogramResponse, load.HistogramLag); err != nil {
		return nil, err
	}
	trials, err := p.trialsOf(run)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(trials, func(t trial) bool { return !t.failed }) {
		id := run.Run().ID
		return nil, fmt.Errorf("run %s: %w; `scalebench show %s` says why", id, errNoTrial, id)
	}
	return trials, nil
}

// group puts trials together by configuration, in the order of their first.
func (p *Params) group(trials []trial) []measured {
	var out []measured
	at := make(map[string]int)
	for _, t := range trials {
		name := t.configuration.String()
		i, ok := at[name]
		if !ok {
			i, at[name] = len(out), len(out)
			mix, _ := t.of.Levels[levelMix].(string)
			out = append(out, measured{configuration: t.configuration, mix: mix,
				system: bottleneck.System{Name: name, Tiers: p.Tiers, Front: p.front(t.of)}})
		}
		switch {
		case t.sizes != "":
			out[i].searches = append(out[i].searches, t)
		case t.failed:
			out[i].failed = append(out[i].failed, t)
			slices.SortStableFunc(out[i].failed, func(a, b trial) int { return cmp.Compare(a.Users, b.Users) })
		case t.proof != "":
			out[i].proofs = append(out[i].proofs, t)
		default:
			out[i].system.Trials, out[i].trials = append(out[i].system.Trials, t.Trial), append(out[i].trials, t)
		}
	}
	slices.SortStableFunc(out, func(a, b measured) int {
		x, y := a.configuration, b.configuration
		return cmp.Or(cmp.Compare(a.mix, b.mix), cmp.Compare(x.Place(), y.Place()), slices.Compare(x.Counts, y.Counts),
			cmp.Compare(x.Shape(), y.Shape()))
	})
	return out
}

// trialsOf reads the steps of a run that count, and those that failed, or were not
// measured.
func (p *Params) trialsOf(run *observe.Run) ([]trial, error) {
	nodes := make(map[model.NodeID]model.Node)
	for _, n := range run.Nodes() {
		nodes[n.ID] = n
	}
	var out []trial
	for _, s := range run.Steps() {
		l, ok := p.labelOf(s)
		if !ok {
			continue
		}
		if err := p.tiersOf(s); err != nil {
			return nil, err
		}
		t := trial{label: l, run: run, of: s, Trial: bottleneck.Trial{Users: l.users, Trial: s.Trial}}
		if err := p.read(&t, nodes); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// tiersOf refuses tiers that are no services of a step: what binds there would never be
// seen.
func (p *Params) tiersOf(s model.Step) error {
	for _, tier := range p.Tiers {
		if _, ok := s.Services[tier]; !ok && len(s.Services) > 0 {
			return refuse("tiers", fmt.Sprintf("the run has no service %q", tier),
				"its services are "+strings.Join(slices.Sorted(maps.Keys(s.Services)), ", "))
		}
	}
	return nil
}

// read takes what the step of a trial has.
func (p *Params) read(t *trial, nodes map[model.NodeID]model.Node) error {
	var users []model.Result
	for _, x := range t.run.Measured(t.of) {
		users = append(users, x)
		t.takeNotes(x)
		t.window.Take(x)
	}
	if t.failed = len(users) == 0 || t.of.State != model.StepComplete; t.failed {
		return nil
	}
	came, err := session.Sum(users)
	if err != nil {
		return fmt.Errorf("step %d: %w", t.of.Number+1, err)
	}
	t.latencies = came.Latencies
	t.Throughput, t.Response, t.Think, t.Errors = came.Throughput, came.Response, came.Think, came.Errors
	t.NoLink, t.Unfinished, t.Responses = came.NoLink, came.Unfinished, t.window.Responses(users)
	for _, g := range came.Generators {
		t.Generators = append(t.Generators, bottleneck.Generator(g))
	}
	for _, x := range t.run.Accepted(t.of.ID) {
		t.Services = append(t.Services, t.window.Services(x, p.Tiers, time.Second)...)
	}
	t.Services = timeline.Silent(t.of, p.Tiers, t.Services)
	t.Cores = make(map[model.NodeID]float64)
	for _, node := range p.hostsOf(t.of) {
		t.hosts = append(t.hosts, prices.PlaceOf(nodes[node]))
		if cores := nodes[node].Facts.Processors(); cores > 0 {
			t.Cores[node] = cores
		}
	}
	t.places = make(map[string]prices.Place)
	for tier, service := range t.of.Services {
		for _, node := range service.Nodes {
			place := prices.PlaceOf(nodes[node])
			if before, ok := t.places[tier]; ok {
				place = common(before, place)
			}
			t.places[tier] = place
		}
	}
	run, step := t.run, t.of
	t.timeline = func() timeline.Timeline { return timeline.Of(run, step, p.Tiers) }
	return nil
}

// takeNotes takes what users did otherwise than their tables say.
func (t *trial) takeNotes(x model.Result) {
	for _, s := range x.Stages {
		if s.Name == model.StageTables && s.Service == "" {
			t.notes = append(t.notes, s.Note)
		}
	}
}

// table reports whether the trials are those of a table of the user's own.
func (m measured) table() bool { return len(m.trials) > 0 && m.trials[0].run == nil }

// doubts are those of what users did, of what a table does not tell, and of trials that
// failed or were not measured.
func (m measured) doubts() (out model.Doubts) {
	for _, set := range m.configuration.sets() {
		if len(set) > 1 && m.table() {
			on := m.system.Tiers[set[0] : set[len(set)-1]+1]
			out.Warn("colocated", "%s share hosts, and a table has no column for what these have together: a host can be full with none of them full", strings.Join(on, " and "))
		}
	}
	for _, t := range m.trials {
		for _, n := range t.notes {
			out.Warn(model.StageTables, "%s", n)
		}
		for _, column := range t.above {
			out.Warn("above_all", "%s is above %g %%: it is measured badly, or no share of all that the tier has", column, 100*allUsed)
		}
	}
	for _, proof := range []bool{false, true} {
		for _, failed := range []bool{true, false} {
			var of []trial
			for _, t := range m.failed {
				if (t.proof != "") == proof && (t.of.State == model.StepInvalid) == failed {
					of = append(of, t)
				}
			}
			what := "load of"
			if proof {
				what = "proof with"
			}
			switch {
			case len(of) == 0:
			case failed:
				out.Warn("failed", "the %s %s, and what was measured there is left out; `scalebench show %s` says why", what,
					inTrials(" failed", of), of[0].run.Run().ID)
			default:
				out.Warn("not_measured", "the %s %s: the run is not at its end; `scalebench resume %s` goes on", what,
					inTrials(" was not measured", of), of[0].run.Run().ID)
			}
		}
	}
	return out
}

// inTrials says of trials, by users, what became of them: "50 users failed in trial 1 to
// 3, that of 60 users in trial 2".
func inTrials(verb string, of []trial) string {
	numbers := make(map[int][]int)
	for _, t := range of {
		numbers[t.Users] = append(numbers[t.Users], t.of.Trial)
	}
	var parts []string
	for _, users := range slices.Sorted(maps.Keys(numbers)) {
		slices.Sort(numbers[users])
		parts = append(parts, fmt.Sprintf("%s%s in trial %s", num.Count(users, "user"), verb, num.Ranges(slices.Compact(numbers[users]))))
		verb = ""
	}
	return strings.Join(parts, ", that of ")
}

// front is the service that the address of the users of a step names, where that is no
// tier; empty: it is one, or is no service of the file.
func (p *Params) front(s model.Step) string {
	for _, t := range observe.Measuring(s) { // all generators do the same
		url, _ := t.Spec.Params["url"].(string)
		for ref := range model.ServiceRefs(url) {
			if slices.Contains(p.Tiers, ref.Name) {
				return ""
			}
			return ref.Name
		}
	}
	return ""
}

// hostsOf are the nodes of the tiers of a step, each once: several tiers may share
// one. Where the step does not say, they are those of its tasks that serve.
func (p *Params) hostsOf(s model.Step) []model.NodeID {
	var out []model.NodeID
	for _, tier := range p.Tiers {
		out = append(out, s.Services[tier].Nodes...)
	}
	for _, t := range s.Tasks {
		if len(s.Services) == 0 && t.Spec.Role == model.RoleServe {
			out = append(out, t.Node)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
