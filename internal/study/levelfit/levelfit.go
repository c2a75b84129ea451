// Package levelfit is the question what distribution of service levels a metric that was
// measured stands for (AISLE, section 3.1: processors with two peaks): a model file.
package levelfit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/study"
)

// Kind describes the question.
func Kind() study.Kind {
	return study.Kind{
		Name: "levelfit", Command: "servicelevel fit",
		Summary: "make a model of what may be expected from measured values",
		Long: `Makes a model of expected service levels from the values of a metric: how often a
service came to which level. Values near each other become one level, so that a
processor that comes in two kinds has two. The model is text that
"servicelevel pressure --model FILE" reads.`,
		Example: "  scalebench servicelevel fit nightly --metric score\n" +
			"  scalebench servicelevel fit cpu.csv --value score --name m5-large --format csv\n" +
			"  scalebench servicelevel fit cpu.csv --value score --format json | jq -r .file > m5.yaml",
		New:     func() study.Study { return &Params{} },
		Caveats: caveat.Table{fewValues},
		Takes: func(s study.Study) study.Takes {
			p, _ := s.(*Params) // New made it
			return study.Takes{Least: 1, Most: 1, Choice: frame.Choice{Value: p.Value}}
		},
	}
}

// leastValues is how many values a distribution needs: with fewer, the first and the last
// percentile are guesses.
const leastValues = 30

type valuesArgs struct {
	Values int `json:"values"`
}

var fewValues = caveat.Define("few_values", func(a valuesArgs) string {
	return fmt.Sprintf("the distribution rests on %s: how often rare levels occur is not known. Measure at least %d",
		num.Count(a.Values, "value"), leastValues)
})

// Params are the parameters of the study.
type Params struct {
	Metric string `json:"metric,omitempty" flag:"metric" jsonschema_description:"The metric. Needed where there are several."`
	Value  string `json:"value,omitempty" flag:"value" jsonschema_description:"Column of a table that has the values. Default: guessed; the answer names it."`
	Name   string `json:"name,omitempty" flag:"name" jsonschema:"format=scalebench-name" jsonschema_description:"Name of the model. Default: that of the metric."`
}

// Check implements study.Study: tags say all of it.
func (p *Params) Check() ([]caveat.Caveat, error) { return nil, nil }

// Result is a model. Its JSON form is a contract.
type Result struct {
	Metric string              `json:"metric"`
	Unit   string              `json:"unit,omitempty"`
	Values int                 `json:"values"`
	Levels levels.Distribution `json:"levels"`
	File   string              `json:"file"` // the text of the model file
	caveat.Notes

	all []float64
}

// Answer implements study.Study.
func (p *Params) Answer(_ context.Context, in study.Input) (*study.Answer, error) {
	if len(in.Sources) == 0 {
		return nil, fmt.Errorf("%w: give a run, a campaign or a file", model.ErrUsage)
	}
	f, err := p.choose(in.Sources[0].Frames)
	if err != nil {
		return nil, err
	}
	name := cmp.Or(p.Name, nameOf(f.Metric))
	m := levels.Model{Name: name, About: "measured values of " + f.Name(), Service: levels.Processor,
		Source: levels.Source{Title: in.Sources[0].Name}}
	of := levels.Limit{Quality: levels.Metric, Label: nameOf(f.Metric)}
	switch of.Quality = qualities[f.Unit]; of.Quality {
	case levels.Ops, levels.Bytes:
		m.Service, of.Label = levels.Volume, ""
	default:
		of.Quality = levels.Metric
	}
	made, err := levels.Fit(m, of, f.Values)
	if err != nil {
		return nil, err
	}
	text, err := levels.WriteModel(made)
	if err != nil {
		return nil, err
	}
	now, err := made.Levels(nil)
	if err != nil {
		return nil, err
	}
	r := &Result{Metric: f.Name(), Unit: f.Unit, Values: len(f.Values), Levels: now.Limits[0].Rate, File: string(text),
		all: f.Values}
	if r.Values < leastValues {
		r.Doubts.Add(fewValues.Warn(valuesArgs{r.Values}))
	}
	return &study.Answer{Result: r, Places: r.Places(), Document: r.document}, nil
}

// qualities are what metrics of these units are.
var qualities = map[string]levels.Quality{"op/s": levels.Ops, "byte/s": levels.Bytes, "B/s": levels.Bytes}

// nameOf is a metric as a name in a file: "rate{test=a}" is rate-test-a.
func nameOf(metric string) string {
	return strings.Trim(strings.Map(func(c rune) rune {
		if c == '-' || c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' {
			return c
		}
		return '-'
	}, metric), "-_")
}

// choose is the metric that is meant: the only one, or the one that has the name.
func (p *Params) choose(all []frame.Frame) (*frame.Frame, error) {
	var found []*frame.Frame
	var names []string
	for i := range all {
		f := &all[i]
		if f.Info && p.Metric == "" {
			continue
		}
		if names = append(names, f.Name()); p.Metric == "" || f.Matches(p.Metric) {
			found = append(found, f)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	problem := "there are several metrics"
	if len(found) == 0 {
		problem = fmt.Sprintf("there is no metric %q", p.Metric)
	}
	slices.Sort(names)
	return nil, &model.InputError{Path: "metric", Problem: problem, Allowed: "use one of " + num.List(names)}
}

// mostBins is how many bins the histogram has at most.
const mostBins = 40

func (r *Result) document() *doc.Document {
	scale := num.For(r.Unit, r.all...)
	d := &doc.Document{Title: "Model of " + r.Metric, Warnings: doc.Caveats(r.Doubts...), Data: doc.Flatten(r, "levels"),
		Answer: fmt.Sprintf("%s of %s come to %s.", num.Count(r.Values, "value"), r.Metric, num.Count(len(r.Levels),
			"level"))}
	t := &doc.Table{Columns: []doc.Column{doc.Number("rate", "level"), doc.Number("share", "share of the values")}}
	for _, v := range r.Levels {
		t.Add(doc.Of(v.Rate, scale.Value(v.Rate, 0)), doc.Of(v.Share, num.Share(v.Share)))
	}
	d.AddSection("levels", "Levels", "", doc.Everywhere, doc.Block{Table: t})
	d.AddSection("values", "Values", "", doc.Page, doc.Plot("", "", r.histogram()))
	d.AddSection("file", "Model file", "Save it, and give it to --model.", doc.Everywhere,
		doc.Block{Code: &doc.Code{Text: r.File}})
	return d
}

// histogram has a bar for each bin of the values, and a rule at each level.
func (r *Result) histogram() chart.Chart {
	edges, counts := stats.Histogram(slices.Sorted(slices.Values(r.all)), mostBins)
	bars := chart.Layer{Mark: chart.Bar, Role: chart.Series1}
	for i, n := range counts {
		bars.AddSpan(edges[i], edges[i+1], float64(n))
	}
	rules := chart.Layer{Mark: chart.Rule, Role: chart.Estimate, Name: "levels"}
	for _, v := range r.Levels {
		rules.X = append(rules.X, v.Rate)
	}
	return chart.Chart{Title: "Values of " + r.Metric, X: chart.Axis{Unit: r.Unit, Tight: true},
		Y:      chart.Axis{Label: "values", Whole: true},
		Layers: []chart.Layer{bars, rules}}
}
