package telemetry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// ebsCounters are the keys of what `nvme amzn stats -o json` and `ebsnvme stats -j` print, with
// their units.
var ebsCounters = map[string]column{
	"total_read_ops": {ReadOps, 1}, "total_write_ops": {WriteOps, 1},
	"total_read_bytes": {ReadBytes, 1}, "total_write_bytes": {WriteBytes, 1},
	"ebs_volume_performance_exceeded_iops":   {ExceededOps, 1e-6},
	"ebs_volume_performance_exceeded_tp":     {ExceededBytes, 1e-6},
	"ec2_instance_performance_exceeded_iops": {NodeExceededOps, 1e-6},
	"ec2_instance_performance_exceeded_tp":   {NodeExceededBytes, 1e-6},
}

// ebsPolls is what they print first, if they are to print again and again: then all but the first
// are differences.
var ebsPolls = regexp.MustCompile(`^Polling .* every ([0-9]+) sec`)

const ebsAllowed = `write a line with the time above each, as "date +%s.%N" prints it, and a file for each volume`

// ebsReadings are the counters of an EBS volume.
type ebsReadings struct {
	*file
	clock    clock
	now      float64 // Unix s of the next reading; NaN: not known
	interval float64 // s from one to the next, where all but the first are differences; 0: they have times
	first    map[Measure]int64
	last     map[Measure]int64
	read     Recording // of counters
}

// ebs reads what tools print of the counters of one EBS volume, below lines with the time, or as
// they poll it.
func (f *file) ebs() ([]Recording, error) {
	e := &ebsReadings{file: f, clock: clock{zone: f.Zone}, now: math.NaN()}
	depth, begin := 0, 0
	var text []byte
	for n, line := range f.lines() {
		line = bytes.TrimSpace(line)
		polls := ebsPolls.FindSubmatch(line)
		switch {
		case depth == 0 && len(line) == 0:
		case polls != nil:
			e.interval, _ = strconv.ParseFloat(string(polls[1]), 64) // digits
		case depth == 0 && line[0] != '{':
			var ok bool
			if e.now, ok = e.clock.read(string(line)); !ok {
				f.refuse(n, fmt.Sprintf("%q is no time", line), ebsAllowed)
			}
		default:
			if depth == 0 {
				begin, text = n, nil
			}
			text = append(text, line...)
			if depth += bytes.Count(line, []byte("{")) - bytes.Count(line, []byte("}")); depth <= 0 {
				depth = 0
				e.take(begin, text)
			}
		}
	}
	f.cut = f.cut || depth > 0
	r := e.read.counted(f.Service, Remark{})
	if e.interval > 0 {
		r.remark(Remark{Code: NoStamps, Count: len(e.read.End)})
	}
	return e.clock.guess([]Recording{r}), f.problem()
}

// take takes a reading.
func (e *ebsReadings) take(line int, text []byte) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		e.refuse(line, "this is no JSON of an EBS volume: "+err.Error(), ebsAllowed)
		return
	}
	if e.interval > 0 {
		e.now = float64(len(e.read.End)+1) * e.interval
	}
	if math.IsNaN(e.now) {
		e.refuse(line, "the counters have no time", ebsAllowed)
		return
	}
	raw := make(map[Measure]int64)
	for name, value := range all {
		c, ok := ebsCounters[strings.Replace(name, "instance_ebs", "instance", 1)] // before nvme-cli 3
		if !ok {
			continue
		}
		x, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil { // C prints differences below 0 as numbers of 64 bits
			var wide uint64
			wide, err = strconv.ParseUint(string(value), 10, 64)
			x = int64(wide)
		}
		if err != nil {
			e.refuse(line, fmt.Sprintf("%s is %s", name, value), "it must be a whole number")
		}
		raw[c.measure] = x
		if e.interval > 0 {
			raw[c.measure] += e.last[c.measure]
		}
	}
	if e.first == nil {
		e.first = raw
	}
	of := map[Measure]float64{laterMeasure: e.clock.later}
	for _, c := range ebsCounters {
		if x, has := raw[c.measure]; has {
			of[c.measure] = float64(x-e.first[c.measure]) * c.unit // the difference is small, and so exact
		}
	}
	e.read.add(e.now, e.now, of)
	e.last, e.now = raw, math.NaN()
}
