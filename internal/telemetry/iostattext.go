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
	file    *file
	clock   *clock
	now     reports
	out     []Recording
	blank   int      // empty lines since the header of the file
	columns []string // of the current table
	device  int      // the column with the device's name
	seen    []string // columns of the current report
	open    bool     // a report has begun, and has no table yet
	cpu     bool     // the next line is about processors
}

func (f *file) iostatText() ([]Recording, error) {
	t := &iostatLines{file: f, clock: &clock{zone: f.Zone}}
	t.now = reports{file: f, sinceBoot: true}
	for n, line := range f.lines() {
		t.read(n, string(line))
	}
	t.out = append(t.out, t.now.recordings()...)
	return t.clock.guess(t.out), f.problem()
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
		t.out = append(t.out, t.now.recordings()...)
		t.now = reports{file: t.file, node: header[1], date: header[2], sinceBoot: true}
		t.blank, t.seen, t.open = 0, nil, false
	case t.cpu:
		t.cpu = false
	case fields[0] == "avg-cpu:":
		t.cpu = true
		if !t.open {
			t.begin(n, math.NaN())
		}
	case isDevice(fields[0]), isDevice(fields[len(fields)-1]):
		t.table(n, fields)
	case t.columns != nil:
		t.row(n, fields)
	default:
		t.begin(n, t.file.stamp(t.clock, n, line))
	}
}

func isDevice(field string) bool { return field == "Device" || field == "Device:" }

// begin begins a report. Before the first one, a second empty line is a sign of -y.
func (t *iostatLines) begin(n int, stamp float64) {
	if len(t.now.stamps) == 0 && t.blank > 1 {
		t.now.sinceBoot = false
	}
	t.now.begin(n, stamp)
	t.open, t.seen = true, nil
}

// table begins a table: of a new report, where the current one has these columns.
func (t *iostatLines) table(n int, fields []string) {
	t.device = slices.IndexFunc(fields, isDevice)
	again := slices.ContainsFunc(fields, func(name string) bool {
		return !isDevice(name) && slices.Contains(t.seen, name)
	})
	if again || len(t.now.stamps) == 0 {
		t.begin(n, math.NaN())
	}
	t.columns, t.open = fields, false
	t.seen = append(t.seen, fields...)
}

// row reads the values of a device, with a decimal point or, in some locales, a comma.
func (t *iostatLines) row(n int, fields []string) {
	if len(fields) != len(t.columns) {
		t.file.refuse(n, "the line has "+num.Count(len(fields), "value"),
			"the header has "+num.Count(len(t.columns), "column"))
		return
	}
	for i, name := range t.columns {
		if _, ok := columns[name]; !ok && !withDiscards.MatchString(name) {
			continue
		}
		v, ok := tabular.Number(strings.Replace(fields[i], ",", ".", 1))
		if !ok {
			t.file.refuse(n, fmt.Sprintf("%s is %q", name, fields[i]), "record without -h and --human")
			continue
		}
		t.now.disk(fields[t.device], name, v)
	}
}
