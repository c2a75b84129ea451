package http1

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// latencies is what a tool says of a server, or what it should say.
type latencies struct {
	name      string
	rate      float64   // answers per second
	mean      float64   // seconds
	quantiles []float64 // seconds; at stallQuantiles
}

// table is Markdown, in milliseconds.
func table(all []latencies) string {
	var b strings.Builder
	b.WriteString("| tool | answers/s | mean")
	for _, p := range stallQuantiles {
		fmt.Fprintf(&b, " | p%v", percent(p))
	}
	b.WriteString(" |\n|---|---|---" + strings.Repeat("|---", len(stallQuantiles)) + "|\n")
	for _, l := range all {
		fmt.Fprintf(&b, "| %s | %.0f | %.1f ms", l.name, l.rate, 1e3*l.mean)
		for _, q := range l.quantiles {
			fmt.Fprintf(&b, " | %.1f ms", 1e3*q)
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// percent is a share in percent, without what rounding leaves: 99.9.
func percent(p float64) string { return strconv.FormatFloat(100*p, 'g', 4, 64) }

// peerConnections is how many requests a peer has under way at most, each of
// which waits for its answer: hey's and wrk's tutorials have between 2 and 400.
const peerConnections = 10

// hey sends at a rate that its workers share, each one request after the other.
func hey(t *testing.T, url string, rate float64, lasts time.Duration) latencies {
	t.Helper()
	perWorker := strconv.FormatFloat(rate/peerConnections, 'f', -1, 64)
	out := peer(t, "hey", "-z", lasts.String(), "-c", strconv.Itoa(peerConnections), "-q", perWorker, "-o", "csv", url)
	rows, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil || len(rows) < 2 || rows[0][0] != "response-time" {
		t.Fatalf("hey printed %d lines that are not understood: %v", len(rows), err)
	}
	l := latencies{name: "hey", rate: float64(len(rows)-1) / lasts.Seconds()}
	var times []float64
	for _, row := range rows[1:] {
		took := number(t, row[0])
		times = append(times, took)
		l.mean += took / float64(len(rows)-1)
	}
	slices.Sort(times)
	for _, p := range stallQuantiles {
		l.quantiles = append(l.quantiles, times[int(p*float64(len(times)))])
	}
	return l
}

// wrk has no rate: its connections send as soon as they have an answer.
func wrk(t *testing.T, url string, lasts time.Duration) latencies {
	t.Helper()
	script := filepath.Join(t.TempDir(), "done.lua")
	if err := os.WriteFile(script, []byte(wrkScript()), 0o644); err != nil {
		t.Fatal(err)
	}
	seconds := strconv.Itoa(int(lasts.Seconds())) + "s"
	out := peer(t, "wrk", "-t", "1", "-c", strconv.Itoa(peerConnections), "-d", seconds, "--timeout", "10s", "-s", script, url)
	_, last, found := strings.Cut(string(out), wrkMark)
	f := strings.Fields(last)
	if !found || len(f) != 2+len(stallQuantiles) {
		t.Fatalf("wrk printed what is not understood:\n%s", out)
	}
	l := latencies{name: "wrk", rate: number(t, f[0]) / lasts.Seconds(), mean: number(t, f[1]) / 1e6}
	for _, text := range f[2:] {
		l.quantiles = append(l.quantiles, number(t, text)/1e6)
	}
	return l
}

// wrkMark is before what wrkScript prints: requests, and microseconds.
const wrkMark = "latencies:"

func wrkScript() string {
	values := "summary.requests, latency.mean"
	for _, p := range stallQuantiles {
		values += fmt.Sprintf(", latency:percentile(%s)", percent(p))
	}
	return fmt.Sprintf("done = function(summary, latency) print(%q, %s) end\n", wrkMark, values)
}

// peer returns what another load generator prints.
func peer(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s (`make load-proof` installs it): %v", cmd, err)
	}
	return out
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
