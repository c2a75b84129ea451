package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/table"
)

// Findings prints findings. Text is an aligned table with all warnings under
// it. JSON is the contract of `scalebench cdi`: the array of findings, where
// warnings and pairs are never null and of is never empty. CSV has one flat line per finding.
func Findings(w io.Writer, findings []model.Finding, f Format, o Options) error {
	switch f {
	case JSON:
		return writeJSON(w, complete(findings))
	case CSV:
		return findingsFlat(findings).WriteCSV(w)
	case Text:
		return findingsText(w, findings, o)
	}
	return unknownFormat(f)
}

// complete replaces the nil slices of a finding by empty ones: a script that
// counts warnings must not meet null.
func complete(findings []model.Finding) []model.Finding {
	out := make([]model.Finding, len(findings))
	for i, f := range findings {
		if f.Warnings == nil {
			f.Warnings = []string{}
		}
		if f.Pairs == nil {
			f.Pairs = []model.NodePair{}
		}
		f.Verdict, f.Of = verdictOf(f), model.Subjects(noun(f.Of))
		out[i] = f
	}
	return out
}

// verdictOf is the verdict, unknown when nobody gave one: a word without a
// number proves nothing.
func verdictOf(f model.Finding) model.Verdict {
	if f.CDI == nil || !num.Finite(*f.CDI) {
		return model.VerdictUnknown
	}
	switch f.Verdict {
	case model.VerdictNone, model.VerdictDegraded, model.VerdictGain:
		return f.Verdict
	}
	return model.VerdictUnknown
}

func findingsText(w io.Writer, findings []model.Finding, o Options) error {
	if len(findings) == 0 {
		return writeLines(w, "No findings: no workload has complete serial and parallel trials.")
	}
	t := findingsWide(findings)
	if compact := findingsCompact(findings); !t.FitsOneLine(o.Width) && compact.FitsStacked(o.Width) && !t.FitsStacked(o.Width) {
		t = compact
	}
	if err := t.WriteText(w, o.text()); err != nil {
		return err
	}
	return warningsText(w, findings, o)
}

// warningsText lists all warnings, each with what it is about.
func warningsText(w io.Writer, findings []model.Finding, o Options) error {
	const mark = "! "
	var lines []string
	for _, g := range groupWarnings(findings) {
		about := strings.Join(g.names(), ", ") + ": " + g.text
		for i, l := range table.Wrap(about, o.proseWidth()-len(mark)) {
			lead := mark
			if i > 0 {
				lead = strings.Repeat(" ", len(mark))
			}
			if o.Color {
				l = table.Paint(l, table.Note)
			}
			lines = append(lines, lead+l)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return writeLines(w, append([]string{""}, lines...)...)
}

// warning is one warning and the findings that carry it.
type warning struct {
	text     string
	findings []int
	all      []model.Finding
}

// names lists what the warning is about; "all findings" instead of a list of
// every one.
func (g warning) names() []string {
	if len(g.findings) == len(g.all) && len(g.all) > 2 {
		return []string{"all findings"}
	}
	out := make([]string, len(g.findings))
	for i, k := range g.findings {
		out[i] = name(g.all[k])
	}
	return out
}

// groupWarnings says each warning once, in order of first appearance.
func groupWarnings(findings []model.Finding) []warning {
	var out []warning
	place := make(map[string]int)
	for i, f := range findings {
		for _, text := range f.Warnings {
			k, seen := place[text]
			if !seen {
				k = len(out)
				place[text] = k
				out = append(out, warning{text: table.Clean(text), all: findings})
			}
			if had := out[k].findings; len(had) == 0 || had[len(had)-1] != i {
				out[k].findings = append(out[k].findings, i)
			}
		}
	}
	return out
}

// name is how sentences call a finding: by workload and metric, unless the
// metric begins with the workload's name.
func name(f model.Finding) string { return nameOf(f.Workload, f.Metric) }

func nameOf(workload, metric string) string {
	if strings.HasPrefix(metric, workload+"_") {
		return table.Clean(metric)
	}
	return table.Clean(strings.TrimSpace(workload + " " + metric))
}

func writeLines(w io.Writer, lines ...string) error {
	if _, err := io.WriteString(w, strings.Join(lines, "\n")+"\n"); err != nil {
		return fmt.Errorf("writing text: %w", err)
	}
	return nil
}

// scaleOf chooses one unit for all capacities of a finding, the total apart.
func scaleOf(f model.Finding) num.Scale {
	return rateScale(f.Resource, f.Unit, orNaN(f.Serial.Mean), orNaN(f.Serial.Max), orNaN(f.Parallel.Mean), orNaN(f.Parallel.Max))
}

// orNaN is the value, or NaN, which prints as missing and is not drawn.
func orNaN(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}

// spreadLines prints mean and SD with unit, and the range below.
func spreadLines(f model.Finding, v model.Spread) []string {
	if v == (model.Spread{}) {
		return []string{num.Missing}
	}
	s := scaleOf(f)
	mean, sd := orNaN(v.Mean), orNaN(v.SD)
	first := s.Spread(mean, sd)
	if v.SD == nil {
		first += " ±" + num.Missing
	}
	return []string{
		first + strings.TrimSuffix(" "+s.Unit, " "),
		"[" + s.Number(orNaN(v.Min), sd) + " .. " + s.Number(orNaN(v.Max), sd) + "]",
	}
}

func totalText(f model.Finding, total *float64) string {
	v := orNaN(total)
	return rateScale(f.Resource, f.Unit, v).Value(v, 0)
}

// cdiLines prints the index and the interval below it.
func cdiLines(f model.Finding) []string {
	switch {
	case f.CDI == nil || !num.Finite(*f.CDI):
		return []string{num.Missing}
	case !bounded(f.CI):
		return []string{num.Percent(*f.CDI), "[no interval]"}
	}
	return []string{num.Percent(*f.CDI), intervalText(f.CI)}
}

// bounded reports whether there is an interval to print.
func bounded(i *model.Interval) bool { return i != nil && num.Finite(i[0]) && num.Finite(i[1]) }

func verdictCell(f model.Finding) table.Cell {
	v := verdictOf(f)
	style := map[model.Verdict]table.Style{
		model.VerdictDegraded: table.Bad, model.VerdictGain: table.Good, model.VerdictUnknown: table.Note,
	}[v]
	return table.Of(string(v), string(v)).As(style)
}

func optional(p *float64, print func(float64) string) string {
	if p == nil {
		return num.Missing
	}
	return print(*p)
}

// wholeDiffers reports whether scoring whole tasks gives another index than
// the common window, as far as the printed digits show it.
func wholeDiffers(f model.Finding) bool {
	return f.Window == "common" && f.CDI != nil && f.CDIWhole != nil && num.Finite(*f.CDIWhole) &&
		num.Percent(*f.CDI) != num.Percent(*f.CDIWhole)
}

// wholeSpread is the parallel capacity over whole tasks, from the node pairs;
// ok is false when a node lacks it. SD is the population's, as everywhere.
func wholeSpread(f model.Finding) (s model.ParallelSpread, ok bool) {
	n := float64(len(f.Pairs))
	if n == 0 {
		return s, false
	}
	total, lo, hi := 0.0, math.Inf(1), math.Inf(-1)
	for _, p := range f.Pairs {
		if p.ParallelWhole == 0 && p.Parallel != 0 {
			return s, false
		}
		total += p.ParallelWhole
		lo, hi = min(lo, p.ParallelWhole), max(hi, p.ParallelWhole)
	}
	mean, variance := total/n, 0.0
	for _, p := range f.Pairs {
		variance += (p.ParallelWhole - mean) * (p.ParallelWhole - mean) / n
	}
	sd := math.Sqrt(variance)
	s.Spread, s.Total = model.Spread{Mean: &mean, Min: &lo, Max: &hi, SD: &sd}, &total
	return s, num.Finite(total) && num.Finite(sd)
}
