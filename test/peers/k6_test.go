package peers

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// k6Users is how many virtual users k6 has for a rate, all made beforehand: it
// needs one for each request under way, and drops what finds none. So many are
// enough for a rate of 40,000/s while answers take up to 25 ms.
const k6Users = 1000

// k6Script does nothing with an answer but count it.
const k6Script = `import http from 'k6/http';
const rate = +__ENV.RATE, window = __ENV.WINDOW, users = +__ENV.USERS;
export const options = {
  discardResponseBodies: true,
  summaryTrendStats: ['p(50)', 'p(99)', 'p(99.9)'],
  scenarios: {
    load: rate > 0
      ? { executor: 'constant-arrival-rate', rate: rate, timeUnit: '1s', duration: window, preAllocatedVUs: users, maxVUs: users, gracefulStop: '1s' }
      : { executor: 'constant-vus', vus: users, duration: window, gracefulStop: '1s' },
  },
};
export default function () { http.get(__ENV.URL); }
export function handleSummary(data) { return { stdout: JSON.stringify(data) }; }
`

// k6 drives a script in JavaScript.
func k6(t *testing.T, j job) []string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "load.js")
	if err := os.WriteFile(script, []byte(k6Script), 0o644); err != nil {
		t.Fatal(err)
	}
	users := k6Users
	if j.rate == 0 {
		users = connections
	}
	return []string{"k6", "run", "--quiet", "--no-usage-report",
		"--env", "URL=" + j.url, "--env", "RATE=" + strconv.FormatFloat(j.rate, 'f', -1, 64),
		"--env", "WINDOW=" + j.window.String(), "--env", "USERS=" + strconv.Itoa(users), script}
}

// readK6 understands the summary of k6. Its latencies count from when a request
// was sent, not from when it was due.
func readK6(printed []byte, j job) (outcome, error) {
	value, lasted, err := k6Summary(printed)
	if err != nil {
		return outcome{}, err
	}
	o := unknown()
	// Iterations may end after the window, and are counted then, too.
	o.took = max(j.window, lasted)
	o.answered = value("http_reqs", "count") * (1 - value("http_req_failed", "rate"))
	return o.withK6Latencies("http_req_duration", value)
}

// readK6Users understands it of users, who are scored in the window.
func readK6Users(printed []byte, j job) (outcome, error) {
	value, _, err := k6Summary(printed)
	if err != nil {
		return outcome{}, err
	}
	o := unknown()
	o.took, o.answered = j.window, value("scored", "count")
	return o.withK6Latencies("took", value)
}

// k6Summary returns what reads a value of a metric, NaN where there is none, and
// how long the test lasted.
func k6Summary(printed []byte) (value func(metric, name string) float64, lasted time.Duration, err error) {
	var summary struct {
		State   struct{ TestRunDurationMs float64 }
		Metrics map[string]struct{ Values map[string]float64 }
	}
	if err := json.Unmarshal(printed, &summary); err != nil {
		return nil, 0, fmt.Errorf("reading the summary of k6: %w", err)
	}
	value = func(metric, name string) float64 {
		if x, ok := summary.Metrics[metric].Values[name]; ok {
			return x
		}
		return math.NaN()
	}
	return value, time.Duration(summary.State.TestRunDurationMs * 1e6), nil
}

// withK6Latencies adds those of a metric.
func (o outcome) withK6Latencies(metric string, value func(metric, name string) float64) (outcome, error) {
	for i, p := range percentiles {
		o.latencies[i] = value(metric, fmt.Sprintf("p(%v)", p)) / 1e3
	}
	if math.IsNaN(o.answered + o.latencies[0]) {
		return outcome{}, errors.New("the summary of k6 does not say how many requests there were, and how long they took")
	}
	return o, nil
}
