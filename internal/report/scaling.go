package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/table"
)

// Scalings prints how totals grew with the size of the fleet: a table a
// metric with its fit and limit below, JSON as []model.Scaling, or CSV with one
// line per size.
func Scalings(w io.Writer, scalings []model.Scaling, f Format, o Options) error {
	switch f {
	case JSON:
		return writeJSON(w, completeScalings(scalings))
	case CSV:
		return scalingFlat(scalings).WriteCSV(w)
	case Text:
		return scalingsText(w, scalings, o)
	}
	return unknownFormat(f)
}

func completeScalings(scalings []model.Scaling) []model.Scaling {
	out := make([]model.Scaling, len(scalings))
	for i, s := range scalings {
		if s.Warnings == nil {
			s.Warnings = []string{}
		}
		if s.Points == nil {
			s.Points = []model.ScalingPoint{}
		}
		s.Of = model.Subjects(noun(s.Of))
		out[i] = s
	}
	return out
}

func scalingsText(w io.Writer, scalings []model.Scaling, o Options) error {
	for i, s := range scalings {
		if i > 0 {
			if err := writeLines(w, ""); err != nil {
				return err
			}
		}
		if err := writeLines(w, hanging("", scalingTitle(s), o)...); err != nil {
			return err
		}
		if err := scalingTable(s).WriteText(w, o.text()); err != nil {
			return err
		}
		var lines []string
		for _, sentence := range scalingWords(s) {
			lines = append(lines, hanging("", sentence, o)...)
		}
		for _, warning := range s.Warnings {
			lines = append(lines, hanging("! ", table.Clean(warning), o)...)
		}
		if len(lines) == 0 {
			continue
		}
		if err := writeLines(w, lines...); err != nil {
			return err
		}
	}
	return nil
}

func scalingTitle(s model.Scaling) string {
	return fmt.Sprintf("%s: total against the number of %ss at work", scalingName(s), noun(s.Of))
}

func scalingName(s model.Scaling) string {
	return nameOf(s.Workload, s.Metric)
}

// scalingScale chooses one unit for all totals of a scaling. Networks are
// rated in bits: "300 Mbit/s" is what the provider's page says.
func scalingScale(s model.Scaling) num.Scale {
	var totals []float64
	for _, p := range s.Points {
		totals = append(totals, p.Total)
	}
	return rateScale(s.Resource, s.Unit, totals...)
}

// rateScale is num.For, in bits for networks.
func rateScale(resource, unit string, values ...float64) num.Scale {
	scale := num.For(table.Clean(unit), values...)
	base, rate := strings.CutSuffix(unit, "/s")
	if !strings.HasPrefix(resource, "network.") || !rate || base != "byte" && base != "B" {
		return scale
	}
	bits := make([]float64, len(values))
	for i, v := range values {
		bits[i] = 8 * v
	}
	scale = num.For("bit/s", bits...)
	return num.Scale{Factor: scale.Factor / 8, Unit: scale.Unit}
}

// idealOf is the mean of the serial phase, what one subject does alone; ok is
// false where it was not measured.
func idealOf(s model.Scaling) (mean float64, ok bool) {
	for _, p := range s.Points {
		if p.Nodes == 1 && num.Finite(p.Total) {
			return p.Total, true
		}
	}
	return 0, false
}

// scalingTable has a line a size: the total, its interval over trials, and what
// it is of the serial mean times the size.
func scalingTable(s model.Scaling) *table.Table {
	scale := scalingScale(s)
	t := &table.Table{Columns: []table.Column{
		{Key: "size", Head: noun(s.Of) + "s", Align: table.Right},
		{Key: "trials", Head: "trials", Align: table.Right},
		{Key: "total", Head: "total", Align: table.Right},
		{Key: "interval", Head: "95 %", Align: table.Right},
		{Key: "per_subject", Head: "per " + noun(s.Of), Align: table.Right},
		{Key: "of_ideal", Head: "of ideal", Align: table.Right},
	}}
	serial, known := idealOf(s)
	for _, p := range s.Points {
		interval := table.Of(nil, num.Missing)
		if bounded(p.CI) {
			// A total below 0 there is not, whatever few trials allow.
			interval = table.Of(nil, "["+scale.Number(max(p.CI[0], 0), 0)+" .. "+scale.Number(p.CI[1], 0)+"]")
		}
		ideal := table.Of(nil, num.Missing)
		if known && serial > 0 && p.Nodes > 0 {
			share := p.Total / (serial * float64(p.Nodes))
			ideal = table.Of(share, num.Fraction(share))
		}
		each := p.Total / float64(max(p.Nodes, 1))
		t.Add(table.Of(p.Nodes, strconv.Itoa(p.Nodes)), table.Of(len(p.Totals), trialsOf(p)),
			table.Of(p.Total, scale.Value(p.Total, 0)).As(table.Strong), interval,
			table.Of(each, scale.Value(each, 0)), ideal)
	}
	return t
}

// trialsOf counts the trials of a size; size 1 is the serial phase, whose mean
// is over nodes as well.
func trialsOf(p model.ScalingPoint) string {
	if len(p.Totals) == 0 {
		return ""
	}
	return strconv.Itoa(len(p.Totals))
}

// scalingWords say what the curve is and where it ends.
func scalingWords(s model.Scaling) []string {
	var out []string
	if text := fitWords(s); text != "" {
		out = append(out, text)
	}
	var limits []model.SharedLimit
	if s.Limit != nil {
		limits = append(limits, *s.Limit)
	}
	for _, l := range append(limits, s.Groups...) {
		out = append(out, "Shared limit: "+strings.TrimSuffix(limitText(l), ".")+".")
	}
	return out
}

func fitWords(s model.Scaling) string {
	scale := scalingScale(s)
	switch {
	case s.Fit == nil:
		return ""
	case s.Fit.Cap == nil:
		return fmt.Sprintf("No end of growth was seen: each %s adds %s (linear fit).",
			noun(s.Of), scale.Value(s.Fit.Slope, 0))
	}
	text := fmt.Sprintf("Each %s adds %s until the total stays at %s", noun(s.Of),
		scale.Value(s.Fit.Slope, 0), scale.Value(*s.Fit.Cap, 0))
	if ci := s.Fit.CapCI; bounded(ci) {
		text += fmt.Sprintf(" (95 %% interval %s to %s)", scale.Number(ci[0], 0), scale.Value(ci[1], 0))
	}
	if k := s.Fit.Knee; k != nil && num.Finite(*k) {
		text += fmt.Sprintf(", reached with %s", kneeText(*k, noun(s.Of)))
	}
	return text + "."
}

// kneeText says a knee in subjects: it seldom falls on a whole number.
func kneeText(knee float64, noun string) string {
	text := strings.TrimSuffix(num.Tick(knee, 0.1), ".0")
	if text == "1" {
		return "1 " + noun
	}
	return text + " " + noun + "s"
}

// scalingColumns are the columns of the CSV form; new ones are added at the
// end.
var scalingColumns = []string{
	"workload", "metric", "unit", "resource", "of", "nodes", "trials", "total", "ci_lo", "ci_hi",
	"fit", "slope", "cap", "cap_lo", "cap_hi", "knee", "limit", "warnings",
}

func scalingFlat(scalings []model.Scaling) *table.Table {
	t := keyed(scalingColumns...)
	for _, s := range completeScalings(scalings) {
		for _, p := range s.Points {
			var row []table.Cell
			for _, v := range append(pointValues(s, p), fitValues(s)...) {
				row = append(row, table.Of(v))
			}
			t.Add(row...)
		}
	}
	return t
}

func pointValues(s model.Scaling, p model.ScalingPoint) []any {
	lo, hi := ends(p.CI)
	return []any{s.Workload, s.Metric, s.Unit, s.Resource, string(s.Of), p.Nodes, len(p.Totals), p.Total, lo, hi}
}

func fitValues(s model.Scaling) []any {
	var limit any
	if s.Limit != nil {
		limit = limitText(*s.Limit)
	}
	warnings := strings.Join(s.Warnings, "; ")
	if s.Fit == nil {
		return []any{nil, nil, nil, nil, nil, nil, limit, warnings}
	}
	lo, hi := ends(s.Fit.CapCI)
	return []any{s.Fit.Model, s.Fit.Slope, s.Fit.Cap, lo, hi, s.Fit.Knee, limit, warnings}
}
