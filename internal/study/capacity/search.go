package capacity

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// Search is one search of a run: that of a workload in a trial.
type Search struct {
	Workload string // its name in the experiment file
	Target   string // what was searched, for people
	Trial    int    // from 1
	// Labels are what the file says of the target; nil: nothing.
	Labels map[string]string
	Config Config
	Answer Answer
}

// measured is what one search has measured.
type measured struct {
	workload string
	trial    int
	spec     model.Spec // of a window that was as long as the file says
	// windows are those that are complete, in order.
	windows []load.Window
	// broken: its latest window is invalid for good. Either the search goes on
	// with the generators that are left, or this is its end.
	broken  bool
	failure string // why, if broken
	// dropouts say which generators were lost in mid-search.
	dropouts []string
	offering []model.NodeID // the generators of the latest window
	latest   int            // the number of its step
}

// measuredIn reads the windows of all searches in seen, which may be a part of a
// run: in the order of their first windows.
func measuredIn(seen *observe.Run) ([]*measured, error) {
	var out []*measured
	for _, s := range seen.Steps() {
		if s.Phase != model.Search || len(s.Tasks) == 0 {
			continue
		}
		i := slices.IndexFunc(out, func(m *measured) bool { return m.workload == s.Workload && m.trial == s.Trial })
		if i < 0 {
			i = len(out)
			out = append(out, &measured{workload: s.Workload, trial: s.Trial})
		}
		m := out[i]
		if err := m.add(s, seen); err != nil {
			return nil, fmt.Errorf("workload %s, trial %d, window %d: %w", s.Workload, s.Trial, len(m.windows)+1, err)
		}
	}
	return out, nil
}

// add takes a step into account that is over.
func (m *measured) add(s model.Step, seen *observe.Run) error {
	var now, gone []model.NodeID
	for _, t := range s.Tasks {
		now = append(now, t.Node)
	}
	for _, n := range m.offering {
		if !slices.Contains(now, n) {
			gone = append(gone, n)
		}
	}
	if len(gone) > 0 {
		m.dropouts = append(m.dropouts, fmt.Sprintf(
			"%s did not come back after window %d; from then on the load came from %d", named(gone), len(m.windows), len(now)))
	}
	m.offering, m.latest = now, s.Number
	m.specOf(s)
	m.broken, m.failure = s.State == model.StepInvalid, failure(s, seen.Results())
	if s.State != model.StepComplete {
		return nil
	}
	w, err := load.ReadWindow(s, seen.Accepted(s.ID))
	m.windows = append(m.windows, w)
	return err
}

// specOf takes the task of a window: of one that the search has made longer, only
// until there is another, and without its length.
func (m *measured) specOf(s model.Step) {
	spec := s.Tasks[0].Spec
	if _, longer := s.Levels["duration"]; longer {
		if m.spec.Kind != "" {
			return
		}
		spec.Params = maps.Clone(spec.Params)
		delete(spec.Params, "duration")
	}
	m.spec = spec
}

// failure is why a window is invalid, "" if it is not. A task that could not
// even prepare says most: there a generator finds that the target does not
// answer, and no other task was begun.
func failure(s model.Step, results []model.Result) string {
	if s.State != model.StepInvalid {
		return ""
	}
	for _, r := range results {
		if r.Step != s.ID || r.Attempt != s.Attempt || r.Outcome != model.OutcomeFailed {
			continue
		}
		if why, ok := strings.CutPrefix(r.Error, "preparing: "); ok {
			// Of which kind the error is matters to programs alone.
			return strings.TrimPrefix(strings.TrimPrefix(why, model.ErrUnavailable.Error()+": "), model.ErrUsage.Error()+": ")
		}
	}
	return s.Reason
}

// searchesOf computes what the searches of a run have found.
func (s *Study) searchesOf(run *observe.Run) ([]Search, error) {
	if err := errors.Join(run.Need(observe.Hosts, load.Recordings...), run.Need(observe.Histograms)); err != nil {
		return nil, err
	}
	all, err := measuredIn(run)
	if err != nil {
		return nil, err
	}
	var out []Search
	for i, m := range all {
		// Searches are made one after another.
		one, err := s.searchOf(m, i == len(all)-1 && !run.Run().State.Final())
		if err != nil {
			return nil, fmt.Errorf("workload %s, trial %d: %w", m.workload, m.trial, err)
		}
		out = append(out, one)
	}
	return out, nil
}

// searchOf computes what one search has found; underWay says that its run goes on
// with it.
func (s *Study) searchOf(m *measured, underWay bool) (Search, error) {
	c, p, err := s.configFor(m.spec.Params, m.spec.Kind)
	if err != nil {
		return Search{}, err
	}
	c.bound(m.spec.Timeout, p.Estimate())
	out := Search{Workload: m.workload, Target: p.Target, Trial: m.trial, Labels: p.Labels, Config: c}
	if out.Answer, err = c.Review(m.windows); err != nil {
		return out, err
	}
	for i := range out.Answer.Windows {
		out.Answer.Windows[i].Services = nil // large, and of use only to judge
	}
	if a := &out.Answer; a.Limit == LimitNone {
		a.Doubts = slices.Insert(a.Doubts, 0, model.Doubt{Code: "unfinished", Severity: model.Problem, Text: a.unfinished(underWay && !m.broken)})
	}
	for _, d := range m.dropouts {
		out.Answer.Doubts.Warn("generator_lost", "%s", d)
	}
	if m.broken {
		out.Answer.fail(m.failure)
	}
	return out, nil
}
