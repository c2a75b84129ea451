package telemetry

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode"

	"github.com/scalebench/scalebench/internal/kernel"
)

// diskCounters are the counters that are read: their places behind the name in /proc/diskstats,
// and the unit (Documentation/admin-guide/iostats.rst).
var diskCounters = [...]struct {
	Measure
	at   int
	unit float64
}{{ReadOps, 0, 1}, {ReadBytes, 2, 512}, {WriteOps, 4, 1}, {WriteBytes, 6, 512}, {ReadMerges, 1, 1}, {WriteMerges, 5, 1}}

// diskNumbers are how many numbers of a device kernels write: before 4.18, since, and since 5.5.
var diskNumbers = []int{11, 15, 17}

const (
	diskNoLine  = "the line is no time, and none of /proc/diskstats with 11, 15 or 17 numbers"
	diskAllowed = `write each block of /proc/diskstats below a line with the time, as "date +%s.%N" prints it`
)

// readings are those of the counters of a device.
type readings [len(diskCounters)]uint64

// diskDevice is what was recorded of a device.
type diskDevice struct {
	Recording // of counters, NaN: the device was not there

	last    readings
	passed  readings // by how much each counter wrapped so far
	wrapped Remark
	block   int // the last one that has the device
}

// isDiskstats reports whether a text has a line of /proc/diskstats in its beginning, or is made
// of lines without a device.
func isDiskstats(text []byte) bool {
	first := true
	for line := range kernel.Lines(text) {
		if _, name, _, ok := diskLine(line); ok && (first || name != nil) {
			return true
		}
		first = false
	}
	return false
}

// diskLine takes a line apart: the time or nothing, then major, minor and name or nothing, then
// the numbers.
func diskLine(line []byte) (at, name []byte, numbers []uint64, ok bool) {
	fields := bytes.Fields(line)
	named := func(i int) bool { return i < len(fields) && bytes.ContainsFunc(fields[i], unicode.IsLetter) }
	from := min(len(fields), 1)
	switch {
	case named(2):
		name, from = fields[2], 3
	case named(3):
		at, name, from = fields[0], fields[3], 4
	case from > 0:
		at = fields[0]
	}
	for _, field := range fields[from:] {
		n, ok := kernel.ParseUint(field)
		if !ok {
			return nil, nil, nil, false
		}
		numbers = append(numbers, n)
	}
	return at, name, numbers, slices.Contains(diskNumbers, len(numbers))
}

// diskstats reads recordings of /proc/diskstats: blocks of it, each below a line with the time,
// or lines that begin with the time. A line may lack the device: then there is one.
func (f *file) diskstats() ([]Recording, error) {
	clock := clock{zone: f.Zone}
	devices := make(map[string]*diskDevice)
	now, later, block := math.NaN(), 0.0, 0
	end := func() {
		for _, d := range devices {
			if d.block < block { // it lacks the device
				d.add(now, now, map[Measure]float64{laterMeasure: later})
			}
		}
	}
	for n, line := range f.lines() {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		at, name, numbers, isDisk := diskLine(line)
		when, ok := now, !math.IsNaN(now)
		if !isDisk || at != nil {
			when, ok = clock.read(cmp.Or(string(at), string(line)))
		}
		switch {
		case !ok && isDisk && at != nil:
			f.refuse(n, fmt.Sprintf("%q is no time", at), "use "+timeAllowed)
		case !ok && isDisk:
			f.refuse(n, "the line has no time", diskAllowed)
		case !ok:
			f.refuse(n, diskNoLine, diskAllowed)
		case !isDisk:
			end()
			now, later, block = when, clock.later, block+1
		default:
			d := devices[string(name)]
			if d == nil {
				d = &diskDevice{}
				devices[string(name)] = d
			}
			d.block = block
			d.read(when, clock.later, numbers)
		}
	}
	end()
	var out []Recording
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		d := devices[name]
		out = append(out, d.counted(cmp.Or(name, f.Service), d.wrapped))
	}
	return clock.guess(out), f.problem()
}

// read takes a reading. A counter of 32 bits that wrapped goes on. If the operations of one way and
// their sectors fall together, the device was made anew: then the counters fall, too.
func (d *diskDevice) read(at, later float64, numbers []uint64) {
	var raw readings
	var fell [len(raw)]bool
	reset, wraps := false, 0
	for i, c := range diskCounters {
		raw[i] = numbers[c.at]
		if fell[i] = raw[i] < d.last[i]; fell[i] {
			reset = reset || !kernel.Wrapped(d.last[i], raw[i])
			wraps = 1
		}
	}
	if reset = reset || fell[0] && fell[1] || fell[2] && fell[3]; reset {
		d.passed, wraps = readings{}, 0
	}
	values := map[Measure]float64{laterMeasure: later}
	for i, c := range diskCounters {
		if fell[i] && !reset {
			d.passed[i] += 1 << 32
		}
		values[c.Measure] = float64(d.passed[i]+raw[i]) * c.unit
	}
	d.wrapped = Remark{Code: Wrapped, Count: d.wrapped.Count + wraps}
	d.last = raw
	d.add(at, at, values)
}
