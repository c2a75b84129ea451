package telemetry

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/tabular"
)

// iostatHeader is the first line of iostat: system, release, node, date.
var iostatHeader = regexp.MustCompile(`^Linux \S+ .*\((.*?)\)\s+(\S+)\s`)

// iostatLines read what iostat prints as text. Columns are known by their header, of which a
// report may have several (--pretty).
type iostatLines struct {
	reports
	blank   int      // empty lines since the header of the file
	columns []string // of the current table
	seen    []string // columns of the current report
	open    bool     // a report has begun, and has no table yet
	cpu     bool     // the next line is about processors
}

func (f *file) iostatText() ([]Recording, error) {
	t := &iostatLines{reports: f.newReports()}
	for n, line := range f.lines() {
		t.read(n, string(line))
	}
	return t.all(), f.problem()
}

// read reads a line.
func (t *iostatLines) read(n int, line string) {
	fields := strings.Fields(line)
	header := iostatHeader.FindStringSubmatch(line + " ")
	switch {
	case len(fields) == 0:
		t.blank++
		t.columns = nil
	case header != nil:
		t.host(header[1], header[2])
		t.blank, t.seen, t.open = 0, nil, false
	case t.cpu:
		t.cpu = false
	case fields[0] == "avg-cpu:":
		t.cpu = true
		if !t.open {
			t.report(n, math.NaN())
		}
	case slices.ContainsFunc(fields, isDevice):
		// These columns are of a new report, if the current one has them.
		again := slices.ContainsFunc(fields, func(name string) bool {
			return !isDevice(name) && slices.Contains(t.seen, name)
		})
		if again || len(t.run) == 0 {
			t.report(n, math.NaN())
		}
		t.columns, t.open, t.seen = fields, false, append(t.seen, fields...)
	case t.columns != nil:
		t.row(n, fields)
	default:
		t.report(n, t.stamp(n, line))
	}
}

func isDevice(field string) bool { return field == "Device" || field == "Device:" }

// report begins a report. Before the first one, a second empty line is a sign of -y.
func (t *iostatLines) report(n int, stamp float64) {
	t.begin(n, stamp, t.blank > 1)
	t.open, t.seen = true, nil
}

// row reads the values of a device, with a decimal point or, in some locales, a comma.
func (t *iostatLines) row(n int, fields []string) {
	if len(fields) != len(t.columns) {
		t.refuse(n, "the line has "+num.Count(len(fields), "value"), "the header has "+num.Count(len(t.columns), "column"))
		return
	}
	device := fields[slices.IndexFunc(t.columns, isDevice)]
	for i, name := range t.columns {
		if !strings.HasSuffix(name, "/s") && name != "tps" {
			continue
		}
		v, ok := tabular.Number(strings.Replace(fields[i], ",", ".", 1))
		if !ok {
			t.refuse(n, fmt.Sprintf("%s is %q", name, fields[i]), "record without -h and --human")
			continue
		}
		t.disk(device, name, v)
	}
}
