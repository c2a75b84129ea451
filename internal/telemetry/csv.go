package telemetry

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
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
	if _, metric, found := strings.Cut(short, "instance/disk/"); found {
		short = metric
	}
	for _, prefix := range []string{"data_disk_", "os_disk_", "disk_"} {
		short = strings.TrimPrefix(short, prefix)
	}
	if other, ok := csvNames[short]; ok {
		return other
	}
	return name
}

// csvSeries are the rows of a service, of which the periods have the stamp as begin and end.
type csvSeries struct {
	Recording
	lines []int
}

// csvTable reads a table of rates.
type csvTable struct {
	*file
	*tabular.Reader
	clock  *clock
	series map[[2]string]*csvSeries
}

func (f *file) csv() ([]Recording, error) {
	r, err := tabular.Open(f.name, f.in)
	if err != nil {
		return nil, err
	}
	t := &csvTable{file: f, Reader: r, clock: &clock{zone: f.Zone}, series: make(map[[2]string]*csvSeries)}
	var counts []string // columns of GCP, which are counts unless they were aligned to rates
	r.Names = func(name string) string {
		if strings.HasSuffix(name, "_count") {
			counts = append(counts, name)
		}
		return csvName(name)
	}
	var forms []tabular.Form // a table has any of the measures
	for _, m := range slices.Concat(rates, shares) {
		forms = append(forms, tabular.Form{Required: []string{"time", string(m)}, Optional: csvColumns()})
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
	var out []Recording
	for _, s := range t.series {
		for _, name := range counts {
			s.remark(Remark{Code: RatesAssumed, Of: name, Count: 1})
		}
		t.finish(s)
		out = append(out, s.Recording)
	}
	slices.SortFunc(out, func(a, b Recording) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Service, b.Service))
	})
	return t.clock.guess(out), f.problem()
}

func csvColumns() []string {
	names := []string{"volume", "node"}
	for _, m := range slices.Concat(rates, shares) {
		names = append(names, string(m))
	}
	return names
}

// row reads a row.
func (t *csvTable) row() {
	text := t.Text(t.Column("time"))
	at, ok := t.clock.read(text)
	if !ok {
		t.RefuseCell(t.Column("time"), "time", strings.TrimPrefix(timeAllowed, "use "))
		return
	}
	volume := t.Column("volume")
	if volume != tabular.Absent && t.Text(volume) == "" {
		t.RefuseCell(volume, "volume", "the name of the volume")
	}
	key := [2]string{t.Text(t.Column("node")), cmp.Or(t.Text(volume), t.Options.Service)}
	s := t.series[key]
	if s == nil {
		s = &csvSeries{Recording: Recording{Node: strings.Clone(key[0]), Service: strings.Clone(key[1])}}
		t.series[key] = s
	}
	of := make(map[Measure]float64)
	for _, m := range rates {
		if c := t.Column(string(m)); c != tabular.Absent {
			of[m] = t.rate(c, string(m))
		}
	}
	for _, m := range shares {
		if c := t.Column(string(m)); c != tabular.Absent {
			of[m] = t.share(c, string(m))
		}
	}
	s.add(at, at, of)
	s.lines = append(s.lines, t.Line())
}

// missing reports whether a cell says that nothing is known.
func missing(text string) bool {
	return slices.Contains([]string{"", "nan", "na", "n/a", "null", "none", "-"}, strings.ToLower(text))
}

// rate reads a rate. Where semicolons separate cells, a comma is a decimal one. Elsewhere three
// digits behind a comma may be thousands: they are refused.
func (t *csvTable) rate(c tabular.Column, name string) float64 {
	text := t.Text(c)
	if missing(text) {
		return math.NaN()
	}
	v, ok := tabular.Number(text)
	if before, after, found := strings.Cut(text, ","); found && (t.Comma() == ';' || len(after) != 3) {
		v, ok = tabular.Number(before + "." + after)
	}
	switch {
	case !ok:
		t.RefuseCell(c, name, "a number such as 104.5, without a unit or marks for thousands")
	case v < 0:
		t.RefuseCell(c, name, "a rate of 0 or more; leave the cell empty where it is not known")
	}
	return v
}

func (t *csvTable) share(c tabular.Column, name string) float64 {
	if missing(t.Text(c)) {
		return math.NaN()
	}
	return t.Share(name, 1, "")
}

// finish turns the stamps of a service into periods. A row with the time of another one is left
// out if it says the same.
func (t *csvTable) finish(s *csvSeries) {
	places := make([]int, len(s.End))
	back := 0
	for i := range places {
		if places[i] = i; i > 0 && s.End[i] < s.End[i-1] {
			back++
		}
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(s.End[a], s.End[b]) })
	if back > 0 {
		s.remark(Remark{Code: Sorted, Count: back})
	}
	last := -1
	places = slices.DeleteFunc(places, func(p int) bool {
		twice := last >= 0 && s.End[p] == s.End[last]
		if twice && !maps.EqualFunc(s.row(p), s.row(last), func(a, b float64) bool { return a == b || a != a && b != b }) {
			t.refuse(s.lines[p], fmt.Sprintf("%s has other values for the time of line %d", s.Service, s.lines[last]),
				"keep one of them, or write times with their zone")
		} else if twice {
			s.remark(Remark{Code: Twice, Count: 1, Line: s.lines[p], At: s.End[p]})
		}
		last = p
		return twice
	})
	s.rows(places)
	var ok bool
	if s.Begin, s.End, ok = periods(s.End, t.StampsBegin, t.Period.Seconds()); !ok {
		t.refuse(s.lines[0], fmt.Sprintf("%s has %s", s.Service, num.Count(len(places), "time")),
			"give at least two, or say how long a period is")
	}
}
