package resources

import (
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
}

// PlatformRanking is that of one run.
type PlatformRanking struct {
	Platform string `json:"platform"`
	*Ranking
}

// compare answers about several runs.
func compare(runs []study.NamedRun, opt evaluation.Options) (*study.Answer, error) {
	var out Platforms
	var platforms []evaluation.Platform
	for _, x := range runs {
		name := x.Title()
		r, err := find(x.Run, opt)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out.results = append(out.results, r)
		platforms = append(platforms, evaluation.Platform{Name: name, Run: x.Run, Findings: r.findings})
	}
	for i, spoken := 0, spokesmen(out.results); i < len(platforms); i++ {
		platforms[i].Findings = slices.DeleteFunc(slices.Clone(platforms[i].Findings), func(f evaluation.Finding) bool {
			return !slices.ContainsFunc(spoken, f.SameMetric)
		})
	}
	var err error
	if out.Platforms, err = evaluation.Compare(platforms, opt); err != nil {
		return nil, err //nolint:wrapcheck // it says what is wrong with the question
	}
	places := out.Places()
	for i, r := range out.results {
		places = append(places, r.parts()...)
		out.Rankings = append(out.Rankings, PlatformRanking{Platform: platforms[i].Name, Ranking: &r.Ranking})
	}
	return &study.Answer{Result: &out, Places: places, Document: out.Document}, nil
}

// spokesmen are the findings that speak for each resource: those of the metric with the
// largest loss on any platform.
func spokesmen(results []*Result) []evaluation.Finding {
	var all []evaluation.Finding
	for _, r := range results {
		all = append(all, r.findings...)
	}
	return worst(all)
}

// Document is study.Answer.Document.
func (p *Platforms) Document() *doc.Document {
	d := p.Platforms.Document(strings.Join(p.Names, ", "))
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
