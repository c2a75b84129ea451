package telemetry

import (
	"fmt"
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
		for name, m := range map[string]Measure{"r%s/s": ReadBytes, "%s_read/s": ReadBytes, "w%s/s": WriteBytes,
			"%s_wrtn/s": WriteBytes, "%s_w+d/s": WriteBytes, "%s/s": Bytes} {
			out[fmt.Sprintf(name, unit)] = column{m, size}
		}
	}
	return out
}()

// withDiscards are columns of reports in which transfers (tps) or bytes have discards, too: those
// without -x, and with -s.
var withDiscards = regexp.MustCompile(`_(?:dscd|w\+d)/s$|^(?:sec|kB|MB)/s$`)

// mostOps and mostBytes a second no device has: sysstat before 12 shows such rates where a
// counter went back.
const mostOps, mostBytes = 1e9, 1e12

// report is one of iostat: the measures of each device.
type report struct {
	stamp float64 // Unix s; NaN: it has none
	later float64 // by how much it may be later
	disks map[string]map[Measure]float64
}

// reports are those of runs of iostat, each on one node, in order.
type reports struct {
	*file
	clock clock
	node  string
	date  string // of the beginning of the run
	// sinceBoot: the first report may be about the time since the system was booted. It is not
	// where -y was given, and there is a sign of that only in some versions.
	sinceBoot bool
	first     int // the line of the first report
	run       []report
	devices   map[[2]string]*Recording // of node and name
}

func (f *file) newReports() reports {
	return reports{file: f, clock: clock{zone: f.Zone}, devices: make(map[[2]string]*Recording)}
}

// all are the recordings of all runs.
func (r *reports) all() (out []Recording) {
	r.host("", "")
	for _, d := range r.devices {
		out = append(out, *d)
	}
	return r.clock.guess(out)
}

// stamp reads the time of a report.
func (r *reports) stamp(line int, text string) float64 {
	at, ok := r.clock.read(strings.TrimSpace(text))
	if !ok {
		r.refuse(line, fmt.Sprintf("%q is no time of a report", text), "record with S_TIME_FORMAT=ISO iostat -t")
	}
	return at
}

// begin begins a report; omitted: if it is the first one, that since boot was omitted.
func (r *reports) begin(line int, stamp float64, omitted bool) {
	if len(r.run) == 0 {
		r.first, r.sinceBoot = line, !omitted
	}
	later := r.clock.later
	if math.IsNaN(stamp) {
		later = 0
	}
	r.run = append(r.run, report{stamp, later, make(map[string]map[Measure]float64)})
}

func (r *reports) device(name string) *Recording {
	d := r.devices[[2]string{r.node, name}]
	if d == nil {
		d = &Recording{Node: r.node, Service: name}
		r.devices[[2]string{r.node, name}] = d
	}
	return d
}

// disk takes a value of a device.
func (r *reports) disk(device, name string, value float64) {
	disks := r.run[len(r.run)-1].disks
	if disks[device] == nil {
		disks[device] = make(map[Measure]float64)
	}
	c, ok := columns[name]
	if value > 0 && withDiscards.MatchString(name) {
		r.device(device).remark(Remark{Code: Discards, Count: 1})
	}
	if value < 0 || c.unit == 1 && value > mostOps || value*c.unit > mostBytes {
		r.device(device).remark(Remark{Code: Reset, Of: name, Count: 1})
		value = math.NaN()
	}
	if ok {
		disks[device][c.measure] = value * c.unit
	}
}

// host ends a run, of which the reports now get their times, and begins another one.
func (r *reports) host(node, date string) {
	begin, remarks := r.times()
	seen := make(map[*Recording]int)
	for i, x := range r.run {
		for name, of := range x.disks {
			d := r.device(name)
			seen[d]++
			if !math.IsNaN(begin[i]) && (i > 0 || !r.sinceBoot) {
				d.add(begin[i], x.stamp, of)
			}
		}
	}
	for d, n := range seen {
		if n < len(r.run) {
			d.remark(Remark{Code: Absent, Count: len(r.run) - n})
		}
		for _, x := range remarks {
			d.remark(x)
		}
	}
	r.node, r.date, r.run = node, date, nil
}

// times sets the stamps to when each report was made, and returns when its time began: that is
// when the one before was made. NaN: not known. Stamps are cut to whole seconds, so between steps
// that differ from the usual one by at most a second, reports are evenly spaced.
func (r *reports) times() (begin []float64, remarks []Remark) {
	if r.sinceBoot {
		remarks = append(remarks, Remark{Code: SinceBoot, Count: 1, Line: r.first})
	}
	var stamps, later []float64
	for _, x := range r.run {
		stamps, later = append(stamps, x.stamp), append(later, x.later)
	}
	guessed, _ := unfold(stamps, later, always)
	remarks = append(remarks, Remark{Code: Repeated, Count: guessed})
	usual := r.Period.Seconds()
	if slices.ContainsFunc(stamps, math.IsNaN) {
		remarks = append(remarks, Remark{Code: NoStamps, Count: len(stamps)})
		if usual <= 0 {
			r.refuse(r.first, "the reports have no times", "record with iostat -t, or give how long a report's period is")
		}
		clock := clock{zone: r.Zone}
		day, _ := clock.read(r.date + " 00:00:00") // 0 where there is no date
		for i := range stamps {
			stamps[i] = day + float64(i+1)*usual
		}
	}
	if usual <= 0 {
		usual = median(stamps)
	}
	begin = slices.Repeat([]float64{math.NaN()}, len(stamps))
	for from := 0; usual > 0 && from < len(stamps); {
		to := from + 1
		for to < len(stamps) && math.Abs(stamps[to]-stamps[to-1]-usual) <= 1 {
			to++
		}
		first, length := stamps[from], usual
		if gained := stamps[to-1] - first; gained > 0 {
			length = gained / float64(to-1-from)
		}
		before := first - length
		if from > 0 {
			before = stamps[from-1]
		}
		for i := from; i < to; i++ {
			r.run[i].stamp = first + float64(i-from)*length
			begin[i] = r.run[i].stamp - length
		}
		if begin[from] = before; first <= before || first-before > pause*usual {
			begin[from] = math.NaN()
			remarks = append(remarks, Remark{Code: ClockSet, Count: 1, At: first})
		}
		from = to
	}
	return begin, remarks
}
