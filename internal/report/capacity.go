package report

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/table"
)

// Capacities prints what searches have found: as text a table of them, if there
// are several, and for each of a few the answer, a picture of the loads tried, a
// table of the windows and the warnings; as JSON
// the capacity.Record of the only search, or an array of them; as CSV one line
// a window.
func Capacities(w io.Writer, found []capacity.Found, f Format, o Options) error {
	switch f {
	case JSON:
		return capacitiesJSON(w, found)
	case CSV:
		return windowsFlat(found).WriteCSV(w)
	case Text:
		return capacitiesText(w, found, o)
	}
	return unknownFormat(f)
}

// ShowSearches is Show of a run that searches, with what it has found so far:
// as text below, as JSON in the object; as CSV it is the same.
func ShowSearches(w io.Writer, d model.RunData, found []capacity.Found, f Format, o Options) error {
	v := newOverview(d)
	for _, x := range found {
		v.Searches = append(v.Searches, x.Record())
	}
	if err := show(w, v, f, o); err != nil || f != Text {
		return err
	}
	if err := writeLines(w, ""); err != nil {
		return err
	}
	return Capacities(w, found, f, o)
}

func capacitiesJSON(w io.Writer, found []capacity.Found) error {
	records := make([]capacity.Record, len(found))
	for i, x := range found {
		records[i] = x.Record()
	}
	if len(records) == 1 {
		return writeJSON(w, records[0])
	}
	return writeJSON(w, records)
}

// mostInFull is how many searches are printed with their windows.
const mostInFull = 4

func capacitiesText(w io.Writer, found []capacity.Found, o Options) error {
	if len(found) == 0 {
		return writeLines(w, "No searches: no window of load was planned.")
	}
	if len(found) > 1 {
		lines := append(wrapped("", strings.Join(capacitySummary(found), " "), o), "")
		if err := errors.Join(writeLines(w, lines...), trialsTable(groupSearches(found)).WriteText(w, o.text())); err != nil {
			return err
		}
	}
	if len(found) > mostInFull {
		return capacitiesInBrief(w, found, o)
	}
	for i, x := range found {
		if err := capacityText(w, x, o, i > 0 || len(found) > 1); err != nil {
			return err
		}
	}
	return nil
}

// mostWarnings is how many warnings of many searches are printed.
const mostWarnings = 12

// capacitiesInBrief prints what is to be said of many searches below their
// table.
func capacitiesInBrief(w io.Writer, found []capacity.Found, o Options) error {
	var lines []string
	n := 0
	for _, x := range found {
		for _, text := range x.Result.Warnings {
			if n++; n <= mostWarnings {
				lines = append(lines, wrapped("! ", table.Clean(fmt.Sprintf("%s, trial %d: %s", x.Target, x.Trial, text)), o)...)
			}
		}
	}
	if n > mostWarnings {
		lines = append(lines, fmt.Sprintf("! and %d warnings more", n-mostWarnings))
	}
	lines = append(lines, "")
	lines = append(lines, wrapped("", fmt.Sprintf("The windows of %d searches are in the report, and in --format json and csv.", len(found)), o)...)
	return writeLines(w, lines...)
}

// capacityText prints one search; further ones stand apart from what is above.
func capacityText(w io.Writer, x capacity.Found, o Options, further bool) error {
	var lines []string
	if further {
		lines = append(lines, "")
	}
	for _, line := range CapacityAnswer(x) {
		lines = append(lines, wrapped("", table.Clean(line), o)...)
	}
	if picture := sketch(x, o); len(picture) > 0 {
		lines = append(append(lines, ""), picture...)
	}
	if len(x.Result.Windows) > 0 {
		lines = append(lines, "")
	}
	if err := writeLines(w, lines...); err != nil {
		return err
	}
	if err := windowsText(w, x, o); err != nil {
		return err
	}
	return capacityWarnings(w, x, o)
}

// windowsText prints the windows, one line each, and below them the reasons
// that no column shows.
func windowsText(w io.Writer, x capacity.Found, o Options) error {
	if len(x.Result.Windows) == 0 {
		return nil
	}
	t := windowsTable(x, verdictAlone)
	if !t.FitsOneLine(o.Width) {
		t = withoutColumns(t, "phase", "achieved", "rtt", "lag")
	}
	if err := t.WriteText(w, o.text()); err != nil {
		return err
	}
	var lines []string
	for _, text := range hiddenReasons(x) {
		lines = append(lines, wrapped("", text, o)...)
	}
	if len(lines) == 0 {
		return nil
	}
	return writeLines(w, lines...)
}

func capacityWarnings(w io.Writer, x capacity.Found, o Options) error {
	const mark = "! "
	var b strings.Builder
	for _, text := range furtherWarnings(x.Result) {
		writeWrapped(&b, mark, text, o.proseWidth())
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing warnings: %w", err)
	}
	return nil
}

// withoutColumns is a table that lacks some of the columns.
func withoutColumns(t *table.Table, keys ...string) *table.Table {
	drop := make(map[string]bool)
	for _, k := range keys {
		drop[k] = true
	}
	out := &table.Table{}
	for _, c := range t.Columns {
		if !drop[c.Key] {
			out.Columns = append(out.Columns, c)
		}
	}
	for _, row := range t.Rows {
		var cells []table.Cell
		for i, c := range row {
			if !drop[t.Columns[i].Key] {
				cells = append(cells, c)
			}
		}
		out.Add(cells...)
	}
	return out
}
