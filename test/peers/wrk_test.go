package peers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// wrkMark is before what wrkScript prints.
const wrkMark = "result:"

// wrkScript prints µs, numbers of requests and of errors, more exactly than wrk
// itself does. It is called once, at the end: wrk is not slowed down by it.
const wrkScript = `done = function(summary, latency)
  local e = summary.errors
  print("` + wrkMark + `", summary.duration, summary.requests, e.connect + e.read + e.write + e.timeout + e.status,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9))
end
`

// wrk has no rate: each connection sends as soon as it has an answer.
func wrk(t *testing.T, j job) []string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "done.lua")
	if err := os.WriteFile(script, []byte(wrkScript), 0o644); err != nil {
		t.Fatal(err)
	}
	return []string{"wrk", "--threads", "1", "--connections", strconv.Itoa(connections),
		"--duration", fmt.Sprintf("%.0fs", j.window.Seconds()), "--script", script, j.url}
}

// readWrk understands what wrk printed.
func readWrk(printed []byte, _ job) (outcome, error) {
	_, last, found := bytes.Cut(printed, []byte(wrkMark))
	x, err := numbers(strings.Fields(string(last)))
	if !found || err != nil || len(x) != 3+len(percentiles) {
		return outcome{}, fmt.Errorf("wrk printed no line of %d numbers after %q: %w", 3+len(percentiles), wrkMark, err)
	}
	o := unknown()
	o.took, o.answered = time.Duration(x[0])*time.Microsecond, x[1]-x[2]
	for i, micros := range x[3:] {
		o.latencies[i] = micros / 1e6
	}
	return o, nil
}

func numbers(words []string) ([]float64, error) {
	x := make([]float64, len(words))
	for i, w := range words {
		var err error
		if x[i], err = strconv.ParseFloat(w, 64); err != nil {
			return nil, err
		}
	}
	return x, nil
}
