package telemetry

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/tabular"
)

const csvAllowed = "columns are time (the end of each period), volume, node, and rates a second: " +
	"read_ops, write_ops, read_bytes, write_bytes, or ops and bytes"

// csvNames are other names of columns. Those of Azure are names of metrics, those of GCP the ends
// of types of metrics. How the portals write them as CSV is not verified: there may be more in a
// name, which [csvName] cuts off.
var csvNames = map[string]string{
	"timestamp": "time", "date": "time", "device": "volume", "disk": "volume", "volume_id": "volume", "volumeid": "volume",
	"device_name": "volume", "lun": "volume", "host": "node", "instance": "node", "instance_name": "node", "vm": "node",
	"read_operations/sec": "read_ops", "write_operations/sec": "write_ops", "read_bytes/sec": "read_bytes",
	"write_bytes/sec": "write_bytes",
	"read_ops_count":  "read_ops", "write_ops_count": "write_ops", "read_bytes_count": "read_bytes",
	"write_bytes_count": "write_bytes",
}

// csvName is the column that a name means: "data_disk_read_operations/sec_(avg)" is read_ops.
func csvName(name string) string {
	short, _, _ := strings.Cut(name, "_(")
	for _, before := range []string{"instance/disk/", "data_disk_", "os_disk_"} {
		if _, metric, found := strings.Cut(short, before); found {
			short = metric
		}
	}
	return cmp.Or(csvNames[short], name)
}

// csvTable reads a table of rates.
type csvTable struct {
	*file
	*tabular.Reader
	clock  clock
	series map[[2]string]*Recording // of node and volume
	// commas and points: numbers have decimal ones. unclear is the first point that may be a mark
	// for thousands, and unclearComma the first comma.
	commas, points        bool
	unclear, unclearComma *model.InputError
}

// The line of a row, and by how much its time may be later, until its periods are known.
const (
	lineMeasure  Measure = "line"
	laterMeasure Measure = "later"
)

func (f *file) csv() ([]Recording, error) {
	r, err := tabular.Open(f.name, f.in)
	if err != nil {
		return nil, err
	}
	t := &csvTable{file: f, Reader: r, clock: clock{zone: f.Zone}, series: make(map[[2]string]*Recording)}
	var counts []string // columns of GCP, which are counts unless they were aligned to rates
	r.Names = func(name string) string {
		if strings.HasSuffix(name, "_count") {
			counts = append(counts, name)
		}
		return csvName(name)
	}
	names := []string{"volume", "node"}
	for _, m := range measures {
		names = append(names, string(m))
	}
	var forms []tabular.Form // a table has any of the measures
	for _, m := range measures {
		forms = append(forms, tabular.Form{Required: []string{"time", string(m)}, Optional: names})
	}
	if _, err := r.Use(forms, csvAllowed); err != nil {
		return nil, err
	}
	for r.Next() {
		t.row()
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	t.numerals()
	var out []Recording
	for _, s := range t.series {
		for _, name := range counts {
			s.remark(Remark{Code: RatesAssumed, Of: name, Count: 1})
		}
		t.finish(s)
		out = append(out, *s)
	}
	return t.clock.guess(out), f.problem()
}

// row reads a row.
func (t *csvTable) row() {
	at, ok := t.clock.read(t.Text(t.Column("time")))
	if !ok {
		t.RefuseCell(t.Column("time"), "time", timeAllowed)
		return
	}
	volume := t.Column("volume")
	if volume != tabular.Absent && t.Text(volume) == "" {
		t.RefuseCell(volume, "volume", "the name of the volume")
	}
	key := [2]string{t.Text(t.Column("node")), cmp.Or(t.Text(volume), t.Service)}
	s := t.series[key]
	if s == nil {
		s = &Recording{Node: key[0], Service: key[1]}
		t.series[key] = s
	}
	of := map[Measure]float64{lineMeasure: float64(t.Line()), laterMeasure: t.clock.later}
	for i, m := range measures {
		if c := t.Column(string(m)); c != tabular.Absent {
			of[m] = t.value(c, string(m), i < shares)
		}
	}
	s.add(at, at, of)
}

// grouped are numbers in which each point may be a mark for thousands; oneGroup is one with one mark.
var (
	grouped  = regexp.MustCompile(`^[1-9][0-9]{0,2}(?:\.[0-9]{3})+(?:,[0-9]+)?$`)
	oneGroup = regexp.MustCompile(`^[1-9][0-9]{0,2}[.,][0-9]{3}$`)
)

// value reads a rate or a share. Where semicolons separate cells, a comma is a decimal one.
// Elsewhere three digits behind a comma may be thousands: they are refused.
func (t *csvTable) value(c tabular.Column, name string, share bool) float64 {
	text := t.Text(c)
	if slices.Contains([]string{"", "nan", "na", "n/a", "null", "none", "-"}, strings.ToLower(text)) {
		return math.NaN()
	}
	if share {
		return t.Share(name, 1, "")
	}
	v, ok := tabular.Number(text)
	switch _, after, found := strings.Cut(text, ","); {
	case oneGroup.MatchString(text) && ok:
		if t.unclear == nil {
			t.unclear = t.thousands(c, name)
		}
	case grouped.MatchString(text):
		v, ok = tabular.Number(strings.ReplaceAll(strings.ReplaceAll(text, ".", ""), ",", "."))
		t.commas = true
	case found && (t.Comma() == ';' || len(after) != 3):
		v, ok = tabular.Number(strings.Replace(text, ",", ".", 1))
		if t.commas = t.commas || !oneGroup.MatchString(text); t.unclearComma == nil && oneGroup.MatchString(text) {
			t.unclearComma = t.thousands(c, name)
		}
	case ok && strings.Contains(text, "."):
		t.points = true
	}
	switch {
	case !ok:
		t.RefuseCell(c, name, "a number such as 104.5, without a unit or marks for thousands")
	case v < 0:
		t.RefuseCell(c, name, "a rate of 0 or more; leave the cell empty where it is not known")
	}
	return v
}

// thousands is what is wrong with a cell if its mark is not a decimal one.
func (t *csvTable) thousands(c tabular.Column, name string) *model.InputError {
	p := &model.InputError{File: t.name, Problem: fmt.Sprintf("%s is %q, which may be thousands", name, t.Text(c)),
		Allowed: "write numbers without marks for thousands"}
	p.Line, p.Col = t.Place(c)
	return p
}

// numerals refuses numbers that mean something else if they are read as others of the table: as those
// with decimal commas, which tables of semicolons have, too, unless a point shows that it is decimal.
func (t *csvTable) numerals() {
	if t.unclear != nil && (t.commas || t.unclearComma != nil || t.Comma() == ';' && !t.points) {
		t.Add(t.unclear)
	} else if t.unclearComma != nil && t.points && !t.commas {
		t.Add(t.unclearComma)
	}
}

// equal reports whether two rows have the same values.
func (r *Recording) equal(i, j int) bool {
	for m, values := range r.Rates {
		a, b := values[i], values[j]
		if m != lineMeasure && m != laterMeasure && a != b && !(math.IsNaN(a) && math.IsNaN(b)) {
			return false
		}
	}
	return true
}

// Numbers in which spreadsheets count days since 1899, from 1970 to 2100, and the longest step
// between two times that is taken for a part of a day.
const leastSerial, mostSerial, serialStep = 25_569, 73_051, .5

// finish turns the stamps of a service into periods. A row with the time of another one is left
// out if it says the same.
func (t *csvTable) finish(s *Recording) {
	s.forward()
	guessed, inOrder := unfold(s.End, s.Rates[laterMeasure], func(i int) bool { return s.equal(i, i-1) })
	s.remark(Remark{Code: Repeated, Count: guessed})
	if !inOrder {
		t.refuse(int(slices.Min(s.Rates[lineMeasure])), "times of "+s.Service+" in an hour that the clock showed twice "+
			"are not in order", "sort the rows by time, or write times with their zone")
	}
	s.sort()
	line, step := int(s.Rates[lineMeasure][0]), median(s.End)
	if last := len(s.End) - 1; step > 0 && step < serialStep && s.End[0] >= leastSerial && s.End[last] < mostSerial {
		t.refuse(line, fmt.Sprintf("time is %v, which looks like the serial date of a spreadsheet", s.End[0]),
			"use "+timeAllowed)
	}
	t.dropCopies(s)
	delete(s.Rates, laterMeasure)
	delete(s.Rates, lineMeasure)
	var ok bool
	if s.Begin, ok = begins(s.End, t.Period.Seconds()); !ok {
		t.refuse(line, s.Service+" has one time only", "give at least two, or say how long a period is")
	}
}

// dropCopies leaves out rows that say what the one before says, and refuses others of the same time.
func (t *csvTable) dropCopies(s *Recording) {
	lines, places := s.Rates[lineMeasure], []int(nil)
	for p := range s.End {
		if p == 0 || s.End[p] != s.End[p-1] {
			places = append(places, p)
			continue
		}
		if !s.equal(p, p-1) {
			t.refuse(int(lines[p]), fmt.Sprintf("%s has other values for the time of line %g", s.Service, lines[p-1]),
				"keep one of them, or write times with their zone")
		}
		s.remark(Remark{Code: Twice, Count: 1, Line: int(lines[p])})
	}
	s.rows(places)
}
