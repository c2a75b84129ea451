package prometheus

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/scalebench/scalebench/internal/telemetry"
)

// series is one as Prometheus has it.
type series struct {
	labels map[string]string
	times  []int64 // Unix ms, ascending
	values []float64
}

// UnmarshalJSON reads {"metric": {…}, "values": [[1435781430.781, "1"], …]}.
func (s *series) UnmarshalJSON(data []byte) error {
	var in struct {
		Metric map[string]string
		Values [][2]json.RawMessage
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	s.labels = in.Metric
	for _, pair := range in.Values {
		at, err := strconv.ParseFloat(string(pair[0]), 64)
		if err != nil {
			return fmt.Errorf("the time %s of a sample is not a number", pair[0])
		}
		var text string
		if err := json.Unmarshal(pair[1], &text); err != nil {
			return err
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("the value %q of a sample is not a number", text)
		}
		if math.IsInf(value, 0) {
			value = math.NaN()
		}
		s.times, s.values = append(s.times, int64(math.Round(at*1e3))), append(s.values, value)
	}
	return nil
}

// join adds what is later than all has of the series: neighbouring windows may share a
// sample.
func (s *series) join(all map[string]*series, from int64) {
	key := fmt.Sprint(s.labels)
	have := all[key]
	if have == nil {
		have = &series{labels: s.labels}
		all[key] = have
	}
	for i, at := range s.times {
		if at >= from && (len(have.times) == 0 || at > have.times[len(have.times)-1]) {
			have.times, have.values = append(have.times, at), append(have.values, s.values[i])
		}
	}
}

// service is what the series is a counter of; ok is false if it is none that is read.
func (s *series) service() (name string, ok bool) {
	device := s.labels["device"]
	switch counters[s.labels["__name__"]] {
	case "":
		return "", false
	case telemetry.CPU:
		return "cpu", true
	case telemetry.ReceivedBytes, telemetry.SentBytes:
		return "network " + device, physical.MatchString(device)
	}
	return device, device != ""
}

// increase is that between two times; ok is false if a sample of one of them is
// missing, and reset is true if the counter went back between them.
func (s *series) increase(begin, end int64) (by float64, known, reset bool) {
	i, atBegin := slices.BinarySearch(s.times, begin)
	j, atEnd := slices.BinarySearch(s.times, end)
	for k := i + 1; k <= j && k < len(s.times); k++ {
		reset = reset || s.values[k] < s.values[k-1]
	}
	if !atBegin || !atEnd {
		return math.NaN(), !atBegin && !atEnd, reset
	}
	return s.values[j] - s.values[i], true, reset
}

// group is the series of one service.
type group struct {
	node, service string
	counters      map[telemetry.Measure][]*series
}

// recording has a period from sample to sample. One in which a counter went back, or
// the node was started, is left out: what was counted in it is not known.
func (g *group) recording(step time.Duration, boot *series) telemetry.Recording {
	r := telemetry.Recording{Source: "prometheus", Node: g.node, Service: g.service, Rates: make(map[telemetry.Measure]telemetry.Numbers)}
	reset := telemetry.Remark{Code: "reset"}
	times := g.times()
	for i, j := 0, 1; j < len(times); j++ {
		begin, end := times[i], times[j]
		if end-begin < step.Milliseconds() {
			continue
		}
		i = j
		rates, back := g.rates(begin, end)
		if back || boot.restarted(begin, end) {
			if reset.Count++; reset.Count == 1 {
				reset.At = float64(end) / 1e3
			}
			continue
		}
		r.Begin, r.End = append(r.Begin, float64(begin)/1e3), append(r.End, float64(end)/1e3)
		for m, rate := range rates {
			r.Rates[m] = append(r.Rates[m], rate)
		}
	}
	if reset.Count > 0 {
		r.Remarks = append(r.Remarks, reset)
	}
	return r
}

func (g *group) times() (times []int64) {
	for _, all := range g.counters {
		for _, s := range all {
			times = append(times, s.times...)
		}
		slices.Sort(times)
		times = slices.Compact(times)
	}
	return times
}

// rates are the sums over the series of each measure, NaN if one of them lacks a
// sample.
func (g *group) rates(begin, end int64) (rates map[telemetry.Measure]float64, reset bool) {
	rates = make(map[telemetry.Measure]float64, len(g.counters))
	for m, all := range g.counters {
		sum, any := 0.0, false
		for _, s := range all {
			by, known, back := s.increase(begin, end)
			reset = reset || back
			switch {
			case !known:
				sum, any = math.NaN(), true
			case !math.IsNaN(by):
				sum, any = sum+by, true
			}
		}
		if !any {
			sum = math.NaN()
		}
		rates[m] = sum * 1e3 / float64(end-begin)
	}
	return rates, reset
}

// restarted reports whether the node's boot time changed between two times. Clocks that
// are corrected move it by less than the seconds of a restart.
func (s *series) restarted(begin, end int64) bool {
	if s == nil {
		return false
	}
	i, at := slices.BinarySearch(s.times, begin)
	if !at {
		i--
	}
	j, _ := slices.BinarySearch(s.times, end)
	return i >= 0 && j < len(s.times) && s.values[j]-s.values[i] > 5
}
