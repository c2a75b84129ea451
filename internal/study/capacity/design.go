package capacity

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/internal/unit"
	work "github.com/scalebench/scalebench/internal/workload/load"
)

// design plans the windows of a run, one after another: for each trial, each
// workload in turn. A search whose window became invalid (a generator failed)
// ends there, unless that generator is lost for good and others are left. It is
// told of each step once and keeps the state of the searches, so that planning
// takes no longer the more windows a run has had.
type design struct {
	setup    study.Setup
	searches []*planned // in their order
	over     int        // so many of searches are
	steps    int        // the number of the next step of the run
	lost     []model.NodeID
	latest   string
}

var _ interface {
	study.Design
	study.Loser
	study.Commenter
	study.Forecaster
	study.Bounded
} = (*design)(nil)

// planned is one search of a design.
type planned struct {
	Config
	params   *work.Params // of the workload, with the SLA of the search
	workload study.Workload
	trial    int
	seed     int64 // from which those of its windows are drawn
	// state is where the search is; nil before its first window, and when it is
	// over: windows are large.
	state  *replay
	broken bool // its latest window is invalid for good
	latest int  // the number of the step of its latest window
	// offering are the generators of the latest window.
	offering []model.NodeID
}

// Design implements study.Designer.
func (s *Study) Design(setup study.Setup) (study.Design, error) {
	d := &design{setup: setup}
	for trial := 1; trial <= setup.Trials; trial++ {
		for _, w := range setup.Workloads {
			c, params, err := s.configFor(w.Params, w.Kind)
			if err == nil {
				err = c.suits(params)
			}
			if need := params.Estimate(); err == nil && w.Timeout > 0 && need >= w.Timeout {
				err = &model.InputError{Path: "timeout", Problem: fmt.Sprintf("the timeout of %v is too short", w.Timeout), Allowed: fmt.Sprintf("a window takes about %v", need)}
			}
			if err != nil {
				return nil, atWorkload(w, err)
			}
			c.bound(w.Timeout, params.Estimate())
			d.searches = append(d.searches, &planned{Config: c, params: params, workload: w, trial: trial, seed: cmp.Or(params.Seed, setup.Seed)})
		}
	}
	return d, nil
}

// atWorkload says where a key stands that is not a key of the study, or that is
// one and stands at the workload.
func atWorkload(w study.Workload, err error) error {
	key, ok := errors.AsType[*model.InputError](err)
	if !ok {
		return fmt.Errorf("workload %s: %w", w.Name, err)
	}
	if _, here := w.Params[key.Path]; here || slices.Contains([]string{"kind", "timeout", "request_timeout"}, key.Path) {
		key.Path = "workloads." + w.Name + "." + key.Path
	}
	return err
}

// Next implements study.Design.
func (d *design) Next(seen *observe.Run) ([]study.Treatment, error) {
	if err := d.take(seen); err != nil {
		return nil, err
	}
	d.latest = ""
	for ; d.over < len(d.searches); d.over++ {
		p := d.searches[d.over]
		if err := p.begin(); err != nil {
			return nil, err
		}
		if p.broken && !d.lostInLatest(seen) {
			p.state = nil
			continue
		}
		if isLatest(seen, p) {
			d.latest = p.describe()
		}
		if !p.state.over && !d.allLost(p) {
			return []study.Treatment{d.treatment(p)}, nil
		}
		p.state = nil
	}
	return nil, nil
}

// treatment is the next window: all nodes offer its load together. A window
// that drew what another has drawn would repeat its luck, and find in a store's
// cache what that has read; repeated, the run draws the same again.
func (d *design) treatment(p *planned) study.Treatment {
	rng := rand.New(rand.NewPCG(uint64(p.seed), uint64(d.steps))) //nolint:gosec // repeatable on purpose
	var levels map[string]any
	if lasts := p.state.next.Scored; lasts != p.Scored {
		levels = map[string]any{"duration": unit.Duration(lasts).String()}
	}
	replaces := 0
	if p.broken { // with a node that is lost: the search goes on without it
		replaces = p.latest + 1
	}
	return study.Treatment{
		Levels: levels, Replaces: replaces,
		Phase: model.Search, Label: "window at " + num.Human(p.state.next.Load, "op/s"), Workload: p.workload.Name,
		Trial: p.trial, Without: d.lost,
		Offer: &model.Offer{Rate: p.state.next.Load, Recover: p.state.next.Recover, RecoverWithin: p.state.next.RecoverWithin, SLA: p.SLA.String(),
			Seed: int64(rng.Uint64() >> 11)}, // what JSON keeps whole
	}
}

// take adds steps that are over to their searches.
func (d *design) take(seen *observe.Run) error {
	for _, s := range seen.Steps() {
		d.steps = max(d.steps, s.Number+1)
	}
	all, err := measuredIn(seen)
	if err != nil {
		return err
	}
	for _, m := range all {
		i := slices.IndexFunc(d.searches, func(p *planned) bool { return p.workload.Name == m.workload && p.trial == m.trial })
		if i < d.over {
			return fmt.Errorf("%w: the experiment has no search under way with workload %s in trial %d", model.ErrUsage, m.workload, m.trial)
		}
		p := d.searches[i]
		if err := p.begin(); err != nil {
			return err
		}
		p.broken, p.offering, p.latest = m.broken, m.offering, m.latest
		if err := p.state.takeAll(m.windows); err != nil {
			return fmt.Errorf("workload %s, trial %d: %w", m.workload, m.trial, err)
		}
	}
	return nil
}

// begin makes the state of a search that has none yet.
func (p *planned) begin() (err error) {
	if p.state == nil {
		p.state, err = p.Config.begin()
	}
	return err
}

// Lost implements study.Loser. A search whose window became invalid with
// one of the nodes goes on with the others.
func (d *design) Lost(nodes []model.NodeID) { d.lost = slices.Clone(nodes) }

// lostInLatest reports whether the latest step had a node that is lost for good.
func (d *design) lostInLatest(seen *observe.Run) bool {
	steps := seen.Steps()
	return len(steps) > 0 && slices.ContainsFunc(steps[len(steps)-1].Tasks, func(t model.Task) bool { return slices.Contains(d.lost, t.Node) })
}

// allLost reports whether no generator is left for a search.
func (d *design) allLost(p *planned) bool {
	left := p.offering
	if len(left) == 0 {
		left = model.NodeIDs(d.setup.Nodes)
	}
	return !slices.ContainsFunc(left, func(n model.NodeID) bool { return !slices.Contains(d.lost, n) })
}

// Latest implements study.Commenter.
func (d *design) Latest() string { return d.latest }

// isLatest reports whether the latest step belongs to this search.
func isLatest(seen *observe.Run, p *planned) bool {
	steps := seen.Steps()
	if len(steps) == 0 {
		return false
	}
	last := steps[len(steps)-1]
	return last.Phase == model.Search && last.Workload == p.workload.Name && last.Trial == p.trial
}

// describe says what the latest window was worth, and how many of those that
// count there have been.
func (p *planned) describe() string {
	a := p.state.result()
	if n := len(a.Windows); n == 0 || a.Windows[n-1].Verdict == Unusable {
		return a.Latest()
	}
	return fmt.Sprintf("window %d of at most %d: %s", a.Counted, p.MaxWindows, a.Latest())
}

// AtMost implements study.Bounded. Once a load has passed no lighter one is
// tried, which would take longer.
func (d *design) AtMost() (steps int, all time.Duration) {
	for _, p := range d.searches[d.over:] {
		left, lightest := p.MaxWindows, p.Min
		if p.state != nil {
			a := p.state.result()
			left -= min(a.Counted, left)
			if a.Passed != nil {
				lightest = max(lightest, *a.Passed)
			}
		}
		steps += left
		lasts := p.lasts(lightest)
		if p.state != nil {
			lasts = max(lasts, p.state.next.Scored)
		}
		all += time.Duration(left) * (p.params.Estimate() - p.Scored + lasts)
	}
	return steps, all
}

// Outlook implements study.Forecaster.
func (d *design) Outlook() (out []study.Outlook) {
	for _, p := range d.searches {
		if p.trial == 1 {
			out = append(out, study.Outlook{Phase: model.Search, Workload: p.workload.Name, Trials: d.setup.Trials, Steps: p.MaxWindows, Step: p.params.Estimate()})
		}
	}
	return out
}
