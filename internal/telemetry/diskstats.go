package telemetry

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/kernel"
)

// diskCounters are the counters that are read: their places behind the name in /proc/diskstats,
// and the unit (Documentation/admin-guide/iostats.rst).
var diskCounters = [...]struct {
	Measure
	at   int
	unit float64
}{{ReadOps, 0, 1}, {ReadBytes, 2, 512}, {WriteOps, 4, 1}, {WriteBytes, 6, 512}, {ReadMerges, 1, 1}, {WriteMerges, 5, 1}}

// Kernels write 11 numbers of a device, 15 since 4.18 and 17 since 5.5.
var diskNumbers = []int{11, 15, 17}

const mostDiskNumbers = 17

const diskAllowed = `write each block of /proc/diskstats below a line with the time, as "date +%s.%N" prints it`

// diskDevice is what was recorded of a device.
type diskDevice struct {
	times    []float64
	counters [len(diskCounters)][]float64 // NaN: the device was not there
	last     [len(diskCounters)]uint64
	passed   [len(diskCounters)]uint64 // by how much the counter wrapped so far
	wrapped  Remark
	block    int // the last one that has the device
}

// isDiskstats reports whether a text has a line of /proc/diskstats in its beginning, or is made
// of lines without a device.
func (f *file) isDiskstats(text []byte) bool {
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
	named := slices.IndexFunc(fields[:min(len(fields), 4)], func(field []byte) bool {
		return bytes.ContainsFunc(field, unicode.IsLetter)
	})
	switch {
	case named == 0 && len(fields) > 4 && bytes.ContainsFunc(fields[3], unicode.IsLetter): // an ISO time
		named = 3
	case named == 0:
		named = -1
	}
	switch {
	case named == 2:
		name, fields = fields[2], fields[3:]
	case named == 3:
		at, name, fields = fields[0], fields[3], fields[4:]
	case len(fields) > 1:
		at, fields = fields[0], fields[1:]
	}
	numbers = make([]uint64, mostDiskNumbers+1)
	n := kernel.Uints(bytes.Join(fields, []byte{' '}), numbers)
	return at, name, numbers[:n], n == len(fields) && slices.Contains(diskNumbers, n)
}

// diskstats reads recordings of /proc/diskstats: blocks of it, each below a line with the time,
// or lines that begin with the time. A line may lack the device: then there is one.
func (f *file) diskstats() ([]Recording, error) {
	clock := &clock{zone: f.Zone}
	devices := make(map[string]*diskDevice)
	now, block := math.NaN(), 0
	endBlock := func() {
		for _, d := range devices {
			if block > 0 && d.block < block {
				d.absent(now)
			}
		}
	}
	for n, line := range f.lines() {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		at, name, numbers, ok := diskLine(line)
		when := now
		switch {
		case !ok:
			if when, ok = clock.read(string(line)); ok {
				endBlock()
				now, block = when, block+1
				continue
			}
			f.refuse(n, "the line is no time, and none of /proc/diskstats with "+num.List([]string{"11", "15", "17"})+
				" numbers", diskAllowed)
			continue
		case at != nil:
			if when, ok = clock.read(string(at)); !ok {
				f.refuse(n, fmt.Sprintf("%q is no time", at), timeAllowed)
				continue
			}
		case math.IsNaN(now):
			f.refuse(n, "the line has no time", diskAllowed)
			continue
		}
		d := devices[string(name)]
		if d == nil {
			d = &diskDevice{}
			devices[string(name)] = d
		}
		d.block = block
		d.add(when, numbers)
	}
	endBlock()
	if err := f.problem(); err != nil {
		return nil, err
	}
	var out []Recording
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		r := devices[name].recording(name)
		if name == "" {
			r.Service = f.Service
		}
		out = append(out, r)
	}
	return clock.guess(out), nil
}

// absent notes that a block lacks the device.
func (d *diskDevice) absent(at float64) {
	d.times = append(d.times, at)
	for i := range d.counters {
		d.counters[i] = append(d.counters[i], math.NaN())
	}
}

// add takes a reading. A counter of 32 bits that wrapped goes on. If the operations of one way and
// their sectors fall together, the device was made anew: then the counters fall, too.
func (d *diskDevice) add(at float64, numbers []uint64) {
	var raw [len(diskCounters)]uint64
	var fell [len(diskCounters)]bool
	reset, wraps := false, 0
	for i, c := range diskCounters {
		raw[i] = numbers[c.at]
		if fell[i] = raw[i] < d.last[i]; fell[i] {
			reset = reset || !kernel.Wrapped(d.last[i], raw[i])
			wraps++
		}
	}
	if reset = reset || fell[0] && fell[1] || fell[2] && fell[3]; reset {
		d.passed = [len(diskCounters)]uint64{}
	} else if wraps > 0 {
		d.wrapped = Remark{Code: Wrapped, Count: d.wrapped.Count + 1, At: at}
	}
	d.times, d.last = append(d.times, at), raw
	for i, c := range diskCounters {
		if fell[i] && !reset {
			d.passed[i] += 1 << 32
		}
		d.counters[i] = append(d.counters[i], float64(d.passed[i]+raw[i])*c.unit)
	}
}

func (d *diskDevice) recording(name string) Recording {
	counters := make(map[Measure][]float64)
	for i, c := range diskCounters {
		counters[c.Measure] = d.counters[i]
	}
	r := FromCounters(name, d.times, counters)
	if d.wrapped.Count > 0 {
		r.remark(d.wrapped)
	}
	return r
}
