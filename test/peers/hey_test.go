package peers

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// hey's workers share a rate; each waits for its answer before it sends again.
func hey(j job) []string {
	argv := []string{"hey", "-z", j.window.String(), "-c", strconv.Itoa(connections)}
	if j.rate > 0 {
		argv = append(argv, "-q", strconv.FormatFloat(j.rate/connections, 'f', -1, 64))
	}
	return append(argv, j.url)
}

// What hey prints. It rounds latencies to 0.1 ms, and has no p99.9.
var (
	heyTotal   = regexp.MustCompile(`(?m)^\s+Total:\s+([0-9.]+) secs$`)
	heyGood    = regexp.MustCompile(`(?m)^\s+\[200\]\s+([0-9]+) responses$`)
	heyLatency = map[float64]*regexp.Regexp{
		50: regexp.MustCompile(`(?m)^\s+50%+ in ([0-9.]+) secs$`),
		99: regexp.MustCompile(`(?m)^\s+99%+ in ([0-9.]+) secs$`),
	}
)

// readHey understands what hey printed.
func readHey(printed []byte, _ job) (outcome, error) {
	o := unknown()
	total, totalErr := find(heyTotal, printed)
	good, goodErr := find(heyGood, printed)
	o.took, o.answered = time.Duration(total*1e9), good
	errs := []error{totalErr, goodErr}
	for i, p := range percentiles {
		if r := heyLatency[p]; r != nil {
			var err error
			o.latencies[i], err = find(r, printed)
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return outcome{}, fmt.Errorf("reading what hey printed: %w", err)
	}
	return o, nil
}

// find returns the number in a pattern's parentheses.
func find(r *regexp.Regexp, in []byte) (float64, error) {
	m := r.FindSubmatch(in)
	if m == nil {
		return 0, fmt.Errorf("there is nothing like %s", r)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}
