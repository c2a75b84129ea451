package corpus

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/cli"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// shelf is a store of a few runs in memory. What questions do not ask is not there.
type shelf struct {
	answer.Store
	runs      []model.RunData // the newest last
	campaigns []campaign
}

// campaign is one with its repetitions.
type campaign struct {
	model.Campaign
	reps []model.Repetition
}

func (s *shelf) data(id model.RunID) (model.RunData, error) {
	for _, d := range s.runs {
		if d.Run.ID == id {
			d.Run.Asked = asked(d.Run.SourceName, d.Run.Source)
			return d, nil
		}
	}
	return model.RunData{}, fmt.Errorf("%w: run %s", model.ErrNotFound, id)
}

// asked is the question of a file, as the server stores it when the file is submitted.
func asked(name, source string) model.Asked {
	if source == "" {
		return model.Asked{}
	}
	exp, err := experiment.Parse(name, []byte(source), cli.Kinds(), nil)
	if err != nil {
		panic(err) // a file of the corpus
	}
	return exp.Asked
}

// Run implements store.Reader.
func (s *shelf) Run(_ context.Context, id string) (model.Run, error) {
	for _, d := range slices.Backward(s.runs) {
		if id == store.Latest || string(d.Run.ID) == id || d.Run.Name == id {
			d.Run.Asked = asked(d.Run.SourceName, d.Run.Source)
			return d.Run, nil
		}
	}
	return model.Run{}, fmt.Errorf("%w: run %s", model.ErrNotFound, id)
}

// Runs implements store.Reader.
func (s *shelf) Runs(_ context.Context, f store.Filter) (out store.RunList, err error) {
	for _, d := range slices.Backward(s.runs) {
		if strings.Contains(d.Run.Name, f.Name) && (d.Run.Campaign == "" || !f.WithoutRepetitions) {
			out.Runs = append(out.Runs, d.Run)
		}
	}
	out.Matching = len(out.Runs)
	return out, nil
}

// Heads implements store.Columns.
func (s *shelf) Heads(_ context.Context, id model.RunID, _ int) (model.RunData, error) {
	d, err := s.data(id)
	d.Events, d.Results = nil, slices.Clone(d.Results)
	for i := range d.Results {
		r := &d.Results[i]
		r.Series, r.Host, r.Histograms, r.Stdout.Text, r.Stderr.Text = nil, nil, nil, "", ""
	}
	return d, err
}

// Events implements store.Columns.
func (s *shelf) Events(_ context.Context, id model.RunID) ([]model.Event, error) {
	d, err := s.data(id)
	return d.Events, err
}

// Printed implements observe.Source.
func (s *shelf) Printed(_ context.Context, id model.RunID) (model.RunData, error) { return s.data(id) }

// Series implements store.Columns.
func (s *shelf) Series(_ context.Context, id model.RunID, sel store.Selection) iter.Seq2[store.Column[model.Series], error] {
	return columns(s, id, sel, func(r model.Result) []model.Series { return r.Series },
		func(x model.Series) string { return x.Metric })
}

// Host implements store.Columns.
func (s *shelf) Host(_ context.Context, id model.RunID, sel store.Selection) iter.Seq2[store.Column[model.HostSeries], error] {
	return columns(s, id, sel, func(r model.Result) []model.HostSeries { return r.Host },
		func(x model.HostSeries) string { return x.Metric })
}

// Histograms implements store.Columns.
func (s *shelf) Histograms(_ context.Context, id model.RunID, sel store.Selection) iter.Seq2[store.Column[model.Histogram], error] {
	return columns(s, id, sel, func(r model.Result) []model.Histogram { return r.Histograms },
		func(x model.Histogram) string { return x.Metric })
}

// columns are those of a run in the order of its results, of each by metric.
func columns[T any](s *shelf, id model.RunID, sel store.Selection, list func(model.Result) []T, metric func(T) string) iter.Seq2[store.Column[T], error] {
	return func(yield func(store.Column[T], error) bool) {
		d, err := s.data(id)
		if err != nil {
			yield(store.Column[T]{}, err)
			return
		}
		for _, r := range d.Results {
			all := slices.Clone(list(r))
			slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(metric(a), metric(b)) })
			for _, x := range all {
				if sel.Metrics != nil && !slices.Contains(sel.Metrics, metric(x)) {
					continue
				}
				if !yield(store.Column[T]{Task: r.Task, Attempt: r.Attempt, Node: r.Node, Value: x}, nil) {
					return
				}
			}
		}
	}
}

// Campaign implements store.CampaignReader.
func (s *shelf) Campaign(_ context.Context, id string) (model.Campaign, error) {
	for _, c := range s.campaigns {
		if string(c.ID) == id || c.Name == id {
			return c.Campaign, nil
		}
	}
	return model.Campaign{}, fmt.Errorf("%w: campaign %s", model.ErrNotFound, id)
}

// Campaigns implements store.CampaignReader.
func (s *shelf) Campaigns(context.Context, ...model.CampaignState) (out []model.Campaign, err error) {
	for _, c := range slices.Backward(s.campaigns) {
		out = append(out, c.Campaign)
	}
	return out, nil
}

// Repetitions implements store.CampaignReader.
func (s *shelf) Repetitions(_ context.Context, id model.CampaignID, _, _ int) ([]model.Repetition, error) {
	for _, c := range s.campaigns {
		if c.ID == id {
			return c.reps, nil
		}
	}
	return nil, fmt.Errorf("%w: campaign %s", model.ErrNotFound, id)
}

// Measured implements store.CampaignReader: nothing is stored in brief.
func (s *shelf) Measured(context.Context, model.CampaignID) iter.Seq2[store.Measurement, error] {
	return func(func(store.Measurement, error) bool) {}
}
