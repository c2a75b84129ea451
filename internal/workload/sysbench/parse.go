package sysbench

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/scalebench/scalebench/internal/workload"
)

// summary is what sysbench says at its end, in base units.
type summary struct {
	rate    float64 // events, or bytes, a second
	total   float64 // events, or bytes
	seconds float64
	p95     float64 // of one event, ms
}

const mib = 1 << 20

// The lines of sysbench 1.0.20's report.
var (
	cpuRate     = regexp.MustCompile(`(?m)^\s*events per second:\s*([0-9.]+)\s*$`)
	transferred = regexp.MustCompile(`(?m)^([0-9.]+) MiB transferred \(([0-9.]+) MiB/sec\)\s*$`)
	totalTime   = regexp.MustCompile(`(?m)^\s*total time:\s*([0-9.]+)s\s*$`)
	totalEvents = regexp.MustCompile(`(?m)^\s*total number of events:\s*([0-9]+)\s*$`)
	percentile  = regexp.MustCompile(`(?m)^\s*95th percentile:\s*([0-9.]+)\s*$`)
)

// parseSummary reads the report of a test. A line that is missing is an error.
func parseSummary(test, text string) (summary, error) {
	var s summary
	var g [2]float64
	err := find(text, totalTime, "total time", &s.seconds)
	if test == CPU {
		err = firstError(err, find(text, cpuRate, "events per second", &s.rate),
			find(text, totalEvents, "total number of events", &s.total),
			find(text, percentile, "95th percentile", &s.p95))
	} else {
		err = firstError(err, find(text, transferred, "MiB transferred", &g[0], &g[1]))
		s.total, s.rate = g[0]*mib, g[1]*mib
	}
	if err != nil {
		return summary{}, err
	}
	if s.rate <= 0 || s.seconds <= 0 {
		return summary{}, fmt.Errorf("sysbench reports a rate of %v in %v seconds; nothing was measured", s.rate, s.seconds)
	}
	return s, nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// find reads the groups of a line into numbers.
func find(text string, re *regexp.Regexp, what string, into ...*float64) error {
	m := re.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("the output of sysbench has no line %q: is it version 1.0?", what)
	}
	for i, v := range into {
		var err error
		if *v, err = strconv.ParseFloat(m[i+1], 64); err != nil {
			return fmt.Errorf("the output of sysbench: %s: %q is not a number", what, m[i+1])
		}
	}
	return nil
}

// The lines printed every second: `[ 1s ] thds: 1 eps: 4494.54 lat …` and
// `[ 1s ] 11038.74 MiB/sec`.
var (
	intervalCPU    = regexp.MustCompile(`^\[ \d+s \] thds: \d+ eps: ([0-9.]+)`)
	intervalMemory = regexp.MustCompile(`^\[ \d+s \] ([0-9.]+) MiB/sec`)
)

// parseInterval returns the rate of one interval, in events or bytes a second.
func parseInterval(line string) (float64, bool) {
	factor, m := 1.0, intervalCPU.FindStringSubmatch(line)
	if m == nil {
		factor, m = mib, intervalMemory.FindStringSubmatch(line)
	}
	if m == nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(m[1], 64)
	return v * factor, err == nil
}

// publisher turns lines into a progress counter.
type publisher struct {
	metric, unit string
	report       workload.Reporter
	now          func() time.Time

	line []byte
	last time.Time // of the line before
	done float64
}

// Write takes output as it comes.
func (m *publisher) Write(p []byte) (int, error) {
	for _, b := range p {
		if b != '\n' {
			m.line = append(m.line, b)
			continue
		}
		m.take(string(m.line))
		m.line = m.line[:0]
	}
	return len(p), nil
}

func (m *publisher) take(line string) {
	if line == "Threads started!" {
		m.last = m.now()
		m.report.Progress(m.metric, m.unit, 0)
		return
	}
	rate, ok := parseInterval(line)
	if !ok || m.last.IsZero() {
		return
	}
	now := m.now()
	m.done += rate * now.Sub(m.last).Seconds()
	m.last = now
	m.report.Progress(m.metric, m.unit, m.done)
}

// finish reports the exact total, unless rounding has carried the sum beyond
// it: a counter does not go back.
func (m *publisher) finish(total float64) {
	if total >= m.done {
		m.report.Progress(m.metric, m.unit, total)
	}
}
