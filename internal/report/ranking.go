package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/table"
)

// Ranking answers "which resource?" in a terminal: one line a resource, worst
// first, with the shared limit in words, and what the run cannot tell. A nil
// ranking, or an empty one, prints nothing as text. JSON is model.Ranking
// itself; CSV has one line per resource.
func Ranking(w io.Writer, r *model.Ranking, f Format, o Options) error {
	switch f {
	case JSON:
		return writeJSON(w, completeRanking(r))
	case CSV:
		return rankingFlat(r).WriteCSV(w)
	case Text:
		return rankingText(w, r, o)
	}
	return unknownFormat(f)
}

// completeRanking replaces nil slices by empty ones, as complete does.
func completeRanking(r *model.Ranking) model.Ranking {
	out := model.Ranking{Resources: []model.RankedResource{}, Unknown: []string{}}
	if r == nil {
		return out
	}
	for _, x := range r.Resources {
		x.Finding = complete([]model.Finding{x.Finding})[0]
		out.Resources = append(out.Resources, x)
	}
	out.Unknown = append(out.Unknown, r.Unknown...)
	return out
}

func rankingText(w io.Writer, r *model.Ranking, o Options) error {
	if r == nil || len(r.Resources)+len(r.Unknown) == 0 {
		return nil
	}
	lines := []string{"Which resource?"}
	if len(r.Resources) > 0 {
		lines = append(lines, rankingLines(r.Resources, o)...)
	}
	for _, u := range r.Unknown {
		lines = append(lines, hanging("  ? ", table.Clean(u), o)...)
	}
	return writeLines(w, lines...)
}

// rankingLines are one line a resource; what a limit says follows indented
// where it does not fit beside.
func rankingLines(resources []model.RankedResource, o Options) []string {
	label, cdi := 0, 0
	for _, x := range resources {
		label = max(label, table.Width(resourceText(x)))
		cdi = max(cdi, table.Width(strings.Join(cdiLines(x.Finding), " ")))
	}
	var out []string
	for _, x := range resources {
		value := strings.Join(cdiLines(x.Finding), " ")
		line := fmt.Sprintf("%3d. %s%s  %s%s  ", x.Rank, resourceText(x), space(label-table.Width(resourceText(x))),
			space(cdi-table.Width(value)), value)
		out = append(out, beside(line, verdictCell(x.Finding), besideText(x), o)...)
	}
	return out
}

// beside ends a line with the verdict, and with text when that fits there, or
// below it.
func beside(line string, verdict table.Cell, text string, o Options) []string {
	const longest = len("degraded")
	word := verdict.Lines[0]
	pad := space(longest - len(word))
	width := table.Width(line) + longest + 2 + table.Width(text)
	if o.Color {
		word = table.Paint(word, verdict.Style)
	}
	switch {
	case text == "":
		return []string{line + word}
	case o.Width <= 0 || width <= o.Width:
		return []string{line + word + pad + "  " + text}
	}
	return append([]string{line + word}, hanging("     ", text, o)...)
}

// besideText is what stands beside a resource: its shared limits, or the loss
// that a "none" does not exclude.
func besideText(x model.RankedResource) string {
	var limits []string
	for _, l := range x.Limits {
		limits = append(limits, limitText(l))
	}
	if len(limits) == 0 {
		return notExcludedWords(x.Finding)
	}
	return strings.Join(limits, "; ")
}

// limitText is the limit in words, with who shares it unless the words say so.
func limitText(l model.SharedLimit) string {
	text := table.Clean(l.Text)
	if among := table.Clean(l.Among); among != "" && !strings.Contains(text, among) {
		text = among + ": " + text
	}
	return text
}

// resourceText names a resource with the metric that speaks for it.
func resourceText(x model.RankedResource) string {
	resource := table.Clean(x.Resource)
	if metric := name(x.Finding); !strings.EqualFold(strings.ReplaceAll(resource, "/", " "), metric) {
		return resource + " (" + metric + ")"
	}
	return resource
}

func space(n int) string { return strings.Repeat(" ", max(0, n)) }

// hanging wraps text; the first line begins with lead, the others below it.
func hanging(lead, text string, o Options) []string {
	lines := table.Wrap(text, o.proseWidth()-table.Width(lead))
	for i, l := range lines {
		if i > 0 {
			lead = space(table.Width(lead))
		}
		lines[i] = lead + l
	}
	return lines
}

// rankingColumns are the columns of the CSV form; new ones are added at the
// end.
var rankingColumns = []string{
	"rank", "resource", "workload", "metric", "nodes", "of", "cdi", "ci_lo", "ci_hi", "verdict", "limits", "text",
}

func rankingFlat(r *model.Ranking) *table.Table {
	t := keyed(rankingColumns...)
	for _, x := range completeRanking(r).Resources {
		lo, hi := ends(x.Finding.CI)
		var limits []string
		for _, l := range x.Limits {
			limits = append(limits, limitText(l))
		}
		t.Add(table.Of(x.Rank, strconv.Itoa(x.Rank)), table.Text(x.Resource), table.Text(x.Finding.Workload),
			table.Text(x.Finding.Metric), table.Of(x.Finding.Nodes), table.Of(string(x.Finding.Of)), table.Of(x.Finding.CDI),
			table.Of(lo), table.Of(hi), table.Of(string(x.Finding.Verdict)), table.Of(strings.Join(limits, "; ")),
			table.Of(x.Text))
	}
	return t
}

// keyed is a table for programs: its heads are its keys.
func keyed(keys ...string) *table.Table {
	t := &table.Table{}
	for _, key := range keys {
		t.Columns = append(t.Columns, table.Column{Key: key, Head: key})
	}
	return t
}
