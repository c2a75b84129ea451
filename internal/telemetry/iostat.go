package telemetry

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

// column is what a column of iostat is, in units of so many bytes or operations.
type column struct {
	measure Measure
	unit    float64
}

// columns are those that are measures, by name.
var columns = func() map[string]column {
	out := map[string]column{"r/s": {ReadOps, 1}, "w/s": {WriteOps, 1}, "tps": {Ops, 1},
		"rrqm/s": {ReadMerges, 1}, "wrqm/s": {WriteMerges, 1}}
	for unit, size := range map[string]float64{"sec": 512, "Blk": 512, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30} {
		out["r"+unit+"/s"], out[unit+"_read/s"] = column{ReadBytes, size}, column{ReadBytes, size}
		out["w"+unit+"/s"], out[unit+"_wrtn/s"] = column{WriteBytes, size}, column{WriteBytes, size}
		out[unit+"_w+d/s"], out[unit+"/s"] = column{WriteBytes, size}, column{Bytes, size}
	}
	return out
}()

// withDiscards are columns of reports in which transfers (tps), or bytes written, have discards,
// too: those without -x, and with -s.
var withDiscards = regexp.MustCompile(`_(?:dscd|w\+d)/s$`)

// mostOps and mostBytes a second no device has: sysstat before 12 shows such rates where a
// counter went back.
const mostOps, mostBytes = 1e9, 1e12

// reports are those of one run of iostat on one node, in order.
type reports struct {
	file *file
	node string
	date string // of its beginning
	// sinceBoot: the first report may be about the time since the system was booted. It is not
	// where -y was given, and there is a sign of that only in some versions.
	sinceBoot bool
	line      int       // of the first report
	stamps    []float64 // of the reports; NaN: without
	now       map[string]map[Measure]float64
	devices   map[string]*Recording // periods are from and to the number of their report
}

// begin begins a report.
func (r *reports) begin(line int, stamp float64) {
	r.end()
	if len(r.stamps) == 0 {
		r.line = line
	}
	r.stamps, r.now = append(r.stamps, stamp), make(map[string]map[Measure]float64)
}

// disk takes a value of a device.
func (r *reports) disk(device, name string, value float64) {
	of := r.now[device]
	if of == nil {
		of = make(map[Measure]float64)
		r.now[device] = of
	}
	c, ok := columns[name]
	if value > 0 && (withDiscards.MatchString(name) || c.measure == Bytes) {
		r.device(device).remark(Remark{Code: Discards, Count: 1})
	}
	if !ok {
		return
	}
	of[c.measure] = value * c.unit
	if value < 0 || c.unit == 1 && value > mostOps || value*c.unit > mostBytes {
		of[c.measure] = math.NaN()
		r.device(device).remark(Remark{Code: Reset, Of: name, Count: 1})
	}
}

func (r *reports) device(name string) *Recording {
	if r.devices[name] == nil {
		if r.devices == nil {
			r.devices = make(map[string]*Recording)
		}
		r.devices[name] = &Recording{Node: r.node, Service: name}
	}
	return r.devices[name]
}

// end ends the report.
func (r *reports) end() {
	n := float64(len(r.stamps) - 1)
	for device, of := range r.now {
		if known(of) {
			r.device(device).add(n, n, of)
		}
	}
	r.now = nil
}

// recordings are those of the devices, with times.
func (r *reports) recordings() []Recording {
	r.end()
	if len(r.stamps) == 0 {
		return nil
	}
	begin, remarks := r.times()
	var out []Recording
	for _, name := range slices.Sorted(maps.Keys(r.devices)) {
		d := r.devices[name]
		var places []int
		if absent := len(r.stamps) - len(d.Begin); absent > 0 {
			d.remark(Remark{Code: Absent, Count: absent})
		}
		for i, n := range d.Begin {
			if at := int(n); !math.IsNaN(begin[at]) && (at > 0 || !r.sinceBoot) {
				d.Begin[i], d.End[i] = begin[at], r.stamps[at]
				places = append(places, i)
			}
		}
		d.rows(places)
		for _, x := range remarks {
			d.remark(x)
		}
		out = append(out, *d)
	}
	return out
}

// times sets the stamps to when each report was made, and returns when its time began: that is
// when the one before was made. NaN: not known. Stamps are cut to whole seconds, so between steps
// that differ from the usual one by at most a second, reports are evenly spaced.
func (r *reports) times() (begin []float64, remarks []Remark) {
	if r.sinceBoot {
		remarks = append(remarks, Remark{Code: SinceBoot, Count: 1, Line: r.line})
	}
	usual := r.file.Period.Seconds()
	if slices.ContainsFunc(r.stamps, math.IsNaN) {
		return r.placed(usual), append(remarks, Remark{Code: NoStamps, Count: len(r.stamps)})
	}
	if usual <= 0 {
		usual = median(r.stamps)
	}
	begin = slices.Repeat([]float64{math.NaN()}, len(r.stamps))
	if usual <= 0 { // of a single report
		return begin, remarks
	}
	for from := 0; from < len(r.stamps); {
		to := from
		for to+1 < len(r.stamps) && math.Abs(r.stamps[to+1]-r.stamps[to]-usual) <= 1 {
			to++
		}
		length := usual
		if to > from && r.stamps[to] > r.stamps[from] {
			length = (r.stamps[to] - r.stamps[from]) / float64(to-from)
		}
		first := r.stamps[from]
		for i := from; i <= to; i++ {
			r.stamps[i] = first + float64(i-from)*length
			begin[i] = r.stamps[i] - length
		}
		if from > 0 {
			switch step := first - r.stamps[from-1]; {
			case step <= 0, step > pause*usual:
				begin[from] = math.NaN()
				remarks = append(remarks, Remark{Code: ClockSet, Count: 1, At: first})
			default:
				begin[from] = r.stamps[from-1]
			}
		}
		from = to + 1
	}
	return begin, remarks
}

// placed sets the stamps of reports without any: by their order, from the beginning of the day.
func (r *reports) placed(length float64) (begin []float64) {
	if length <= 0 {
		r.file.refuse(r.line, "the reports have no times", "record with iostat -t, or give how long a report's period is")
		length = math.NaN()
	}
	clock := clock{zone: r.file.Zone}
	from, _ := clock.read(r.date + " 00:00:00") // 0 where there is no date
	for i := range r.stamps {
		begin = append(begin, from+float64(i)*length)
		r.stamps[i] = from + float64(i+1)*length
	}
	return begin
}

// stamp reads the time of a report. Which of day and month is first is a guess only where no
// report shows it.
func (f *file) stamp(c *clock, line int, text string) float64 {
	at, ok := c.read(strings.TrimSpace(text))
	if !ok {
		f.refuse(line, fmt.Sprintf("%q is no time of a report", text), "record with S_TIME_FORMAT=ISO iostat -t")
	}
	return at
}

// guess remarks on dates of which the order of day and month is guessed.
func (c *clock) guess(list []Recording) []Recording {
	for i := range list {
		if c.guessed {
			list[i].remark(Remark{Code: DatesGuessed, Of: string(c.order), Count: 1})
		}
	}
	return list
}
