package resources

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/study"
)

// Platforms is the rankings of several runs, with what each platform loses of each
// resource side by side. Its JSON form is a contract.
type Platforms struct {
	*evaluation.Platforms
	Rankings []PlatformRanking `json:"rankings"`
	results  []*Result
	title    string
}

// PlatformRanking is that of one run.
type PlatformRanking struct {
	Platform string `json:"platform"`
	*Ranking
}

// compare answers about several platforms. Without a title it is their names.
func compare(results []*Result, title string, tolerance float64) (*study.Answer, error) {
	out := Platforms{results: results}
	var platforms []evaluation.Platform
	spoken := spokesmen(results)
	for _, r := range results {
		x := r.platform
		x.Findings = slices.DeleteFunc(slices.Clone(x.Findings), func(f evaluation.Finding) bool {
			return !slices.ContainsFunc(spoken, f.SameMetric)
		})
		platforms = append(platforms, x)
		out.Rankings = append(out.Rankings, PlatformRanking{Platform: x.Name, Ranking: &r.Ranking})
	}
	var err error
	if out.Platforms, err = evaluation.Compare(platforms, evaluation.Options{Tolerance: tolerance}); err != nil {
		return nil, err //nolint:wrapcheck // it says what is wrong with the question
	}
	out.title = cmp.Or(title, strings.Join(out.Names, ", "))
	places := out.Places()
	for _, r := range results {
		places = append(places, r.parts()...)
	}
	return &study.Answer{Result: &out, Places: places, Document: out.Document}, nil
}

// spokesmen are the findings that speak for each resource: those of the metric with the
// largest loss on any platform. Published means have no verdict: the largest index of a
// resource counts then.
func spokesmen(results []*Result) []evaluation.Finding {
	var all []evaluation.Finding
	for _, r := range results {
		all = append(all, r.platform.Findings...)
	}
	out := worst(slices.DeleteFunc(slices.Clone(all), func(f evaluation.Finding) bool { return !f.Answered() }))
	answered := len(out)
	for _, f := range worst(slices.DeleteFunc(all, func(f evaluation.Finding) bool { return f.CDI == nil })) {
		if !slices.ContainsFunc(out[:answered], func(o evaluation.Finding) bool { return o.About() == f.About() }) {
			out = append(out, f)
		}
	}
	return out
}

// Document is study.Answer.Document.
func (p *Platforms) Document() *doc.Document {
	d := p.Platforms.Document(p.title)
	s := doc.Section{ID: "resources", Title: "Which resource?"}
	d.More = nil
	for i, r := range p.results {
		said := r.answer()
		d.More = append(d.More, p.Names[i]+": "+said[0])
		var items []string
		for _, x := range r.Ranking.Resources {
			items = append(items, fmt.Sprintf("%d. %s", x.Rank, doc.Words(x.Text)))
		}
		items = append(items, doc.Texts(r.Ranking.unknown)...)
		s.Blocks = append(s.Blocks, doc.Block{Part: &doc.Section{Title: p.Names[i],
			Blocks: []doc.Block{{List: &doc.List{Items: items}}}}})
	}
	d.Sections = append(d.Sections, s)
	return d
}
