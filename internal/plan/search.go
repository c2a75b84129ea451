package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
)

// Searched is implemented by workloads that offer a load to a target, whose
// capacity the evaluation "search" looks for. Their parameters "rate" (an
// amount per second, "100op/s", of all nodes together), "recover" (true where
// the window before has overloaded the target) and "seed" (of random numbers,
// another in each window) are the search's.
type Searched interface {
	// Search is what is searched for. It is called on valid parameters.
	Search() (capacity.Config, error)
}

// Next is what a run that searches does next.
type Next struct {
	// Step is the window to measure; nil when all searches are over.
	Step *model.Step
	// After is when the step may begin at the earliest: searches are repeated
	// at intervals.
	After time.Time
	// Latest says what the latest window was worth; empty if that of the run
	// is not complete.
	Latest string
}

// Searches plans the windows of a run, one after another: for each trial, each
// workload in turn. A search in which a window has become invalid (a generator
// failed) is left as it is, unless that generator is left out from then on
// (Without). It is told of every step once and keeps what the
// search under way needs, so that planning takes no longer the more windows a
// run has had.
type Searches struct {
	exp *experiment.Experiment
	// steps is how many steps of the run it has been told of.
	steps int
	list  []*search // in their order
	over  int       // so many of list are
	// gone are nodes that are lost for good.
	gone map[model.NodeID]bool
}

// search is one search of a run.
type search struct {
	workload experiment.Workload
	capacity.Recorded
}

// NewSearches is for a run of exp that it has not been told of yet. Without the
// evaluation "search" there is nothing to plan.
func NewSearches(exp *experiment.Experiment) *Searches {
	s := &Searches{exp: exp}
	if !exp.Has(model.Search) {
		return s
	}
	for trial := 1; trial <= exp.Trials; trial++ {
		for _, w := range exp.Workloads {
			s.list = append(s.list, &search{workload: w, Recorded: capacity.Recorded{Workload: w.Name, Trial: trial}})
		}
	}
	return s
}

// Told is how many steps of the run have been taken into account: the number of
// the first one that Next has to be told of.
func (s *Searches) Told() int { return s.steps }

// Next plans the next window. news is what is stored of the run's steps from
// number Told on, all of which are over.
func (s *Searches) Next(news model.RunData) (next Next, err error) {
	if err := s.take(news); err != nil {
		return Next{}, err
	}
	for ; s.over < len(s.list); s.over++ {
		now := s.list[s.over]
		step, latest, err := s.nextOf(now, news)
		if err != nil {
			return Next{}, fmt.Errorf("workload %s, trial %d: %w", now.Workload, now.Trial, err)
		}
		if latest != "" {
			next.Latest = latest
		}
		if step != nil {
			next.Step, next.After = step, news.Run.Started.Add(time.Duration(now.Trial-1)*s.exp.Every.Std())
			return next, nil
		}
		now.Windows = nil // it is over, and they are large
	}
	return next, nil
}

// take adds steps that are over to their searches.
func (s *Searches) take(news model.RunData) error {
	recorded, err := capacity.Searches(news)
	if err != nil {
		return err
	}
	for _, r := range recorded {
		i := slices.IndexFunc(s.list, func(x *search) bool { return x.Workload == r.Workload && x.Trial == r.Trial })
		if i < 0 {
			return fmt.Errorf("%w: the experiment has no search with workload %s in trial %d", model.ErrUsage, r.Workload, r.Trial)
		}
		s.list[i].Windows = append(s.list[i].Windows, r.Windows...)
		s.list[i].Broken = r.Broken
	}
	s.steps += len(news.Steps)
	return nil
}

// nextOf plans the next window of one search; nil when it is over. latest is
// about its latest window, if that is the latest of the run.
func (s *Searches) nextOf(now *search, news model.RunData) (step *model.Step, latest string, err error) {
	searched, ok := now.workload.Bench.(Searched)
	if !ok {
		return nil, "", fmt.Errorf("%w: kind %s offers no load to search with", model.ErrUsage, now.workload.Kind)
	}
	cfg, err := searched.Search()
	if err != nil || now.Broken && !s.lostAny(news) {
		return nil, "", err
	}
	state, err := cfg.Evaluate(now.Windows)
	if err != nil {
		return nil, "", err
	}
	if isLatest(news, now.Recorded) {
		latest = latestOf(state.Result, cfg.MaxWindows)
	}
	if state.Next == nil {
		return nil, latest, nil
	}
	step, err = s.window(now, news, *state.Next)
	return step, latest, err
}

// latestOf says what the latest window was worth, and how many of those that
// count there have been.
func latestOf(r capacity.Result, most int) string {
	if n := len(r.Windows); n == 0 || r.Windows[n-1].Verdict == capacity.Unusable {
		return r.Latest()
	}
	return fmt.Sprintf("window %d of at most %d: %s", r.Counted, most, r.Latest())
}

// Without leaves nodes out of the windows to come: they are lost for good. A
// search whose window became invalid with one of them goes on with the others.
func (s *Searches) Without(nodes map[model.NodeID]bool) { s.gone = nodes }

// lostAny reports whether the latest step had a node that is lost for good.
func (s *Searches) lostAny(news model.RunData) bool {
	if len(news.Steps) == 0 {
		return false
	}
	last := news.Steps[len(news.Steps)-1]
	return slices.ContainsFunc(last.Tasks, func(t model.Task) bool { return s.gone[t.Node] })
}

// isLatest reports whether the latest step of a run belongs to this search.
func isLatest(news model.RunData, r capacity.Recorded) bool {
	if len(news.Steps) == 0 {
		return false
	}
	last := news.Steps[len(news.Steps)-1]
	return last.Phase == model.Search && last.Workload == r.Workload && last.Trial == r.Trial
}

// window is a step in which all nodes of a workload offer a load together; nil
// if none is left.
func (s *Searches) window(now *search, data model.RunData, order capacity.Order) (*model.Step, error) {
	w := now.workload
	spec, err := specOf(w, s.exp.Output)
	if err != nil {
		return nil, err
	}
	spec.Params["rate"] = strconv.FormatFloat(order.Load, 'f', -1, 64) + "op/s"
	spec.Params["recover"] = order.Recover
	spec.Params["seed"] = s.seed(spec.Params["seed"], data.Run.ID)
	nodes := slices.DeleteFunc(slices.Clone(data.Nodes), func(n model.Node) bool { return !n.Has(w.On) })
	if len(nodes) == 0 {
		return nil, fmt.Errorf("%w: no node has %s", model.ErrUsage, labelList(w.On))
	}
	if nodes = slices.DeleteFunc(nodes, func(n model.Node) bool { return s.gone[n.ID] }); len(nodes) == 0 {
		return nil, nil // nobody is left to go on
	}
	step := newStep(data.Run.ID, s.steps, model.Search, w.Name, now.Trial)
	step.Barrier = true
	for i, n := range nodes {
		step.Tasks = append(step.Tasks, newTask(step.ID, i, n.ID, spec))
	}
	deal(step.Tasks)
	return &step, nil
}

// seed is that of the next window, from the workload's own or, where it has
// none, the run's. A window that drew what another has drawn would repeat its
// luck, and find in a store's cache what that has read; repeated, the run draws
// the same again.
func (s *Searches) seed(own any, run model.RunID) float64 {
	base, ok := own.(float64)
	if !ok {
		base = float64(seedOf(s.exp, run))
	}
	rng := rand.New(rand.NewPCG(uint64(base), uint64(s.steps))) //nolint:gosec // repeatable on purpose
	return float64(rng.Uint64() >> 11)                          // what JSON keeps whole
}
