package http1

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/test/loadserver"
)

// The benchmarks run one loop on the last processor, against a server on the
// first: nginx where there is one, with a small page, and otherwise a
// loadserver.

// BenchmarkSaturated: 64 connections, as many requests as the two can do.
func BenchmarkSaturated(b *testing.B) {
	benchmark(b, load.Plan{Closed: &load.Closed{Users: 64, Duration: 2 * time.Second}})
}

// BenchmarkRate: an open loop.
func BenchmarkRate(b *testing.B) {
	for _, rate := range []float64{1000, 10_000, 40_000} {
		for _, arrivals := range []load.Arrivals{load.Constant, load.Poisson} {
			b.Run(fmt.Sprintf("%s/%v", arrivals, rate), func(b *testing.B) {
				plan := hold(rate, 2*time.Second)
				plan.Arrivals = arrivals
				benchmark(b, plan)
			})
		}
	}
}

func benchmark(b *testing.B, plan load.Plan) {
	url, pid := startServer(b)
	if n := runtime.NumCPU(); n > 1 {
		pin(b, pid, 0)
		pin(b, os.Getpid(), n-1)
	}
	d := open(b, Config{Requests: get(strings.TrimSuffix(url, "/")), Loops: 1, Connections: 64})
	warm := hold(1000, 300*time.Millisecond)
	run(b.Context(), b, d, load.Run{Plan: warm, Drain: time.Second})
	var before, end runtime.MemStats
	var got result
	for b.Loop() {
		runtime.ReadMemStats(&before)
		got = run(b.Context(), b, d, load.Run{Plan: plan, Drain: time.Second})
		runtime.ReadMemStats(&end)
	}
	if got.OK == 0 {
		b.Fatalf("%+v, for example %v", got.Counts, got.usage.Examples)
	}
	n := float64(got.OK)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(n/plan.Duration().Seconds(), "req/s")
	b.ReportMetric(float64(got.usage.CPU.Microseconds())/n, "cpu-µs/req")
	b.ReportMetric(float64(end.Mallocs-before.Mallocs)/n, "allocs/req")
	b.ReportMetric(float64(got.Due-got.OK), "not-ok")
	b.ReportMetric(float64(got.Late), "late")
	b.ReportMetric(got.usage.Busy, "busy")
	for _, p := range []float64{50, 99, 99.9} {
		b.ReportMetric(float64(got.latency.ValueAtPercentile(p))/1e3, fmt.Sprintf("p%v-µs", p))
		b.ReportMetric(float64(got.lag.ValueAtPercentile(p))/1e3, fmt.Sprintf("lag-p%v-µs", p))
		b.ReportMetric(float64(got.read.ValueAtPercentile(p))/1e3, fmt.Sprintf("read-lag-p%v-µs", p))
	}
}

// startServer returns a server's URL and its process.
func startServer(b *testing.B) (url string, pid int) {
	b.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		s := loadserver.Start(b, loadserver.Behaviour{Body: loadserver.Page})
		return s.URL(), s.PID()
	}
	n := loadserver.StartNginx(b, path)
	return n.URL(), n.PID()
}

// pin lets all threads of a process use one processor only.
func pin(b *testing.B, pid, cpu int) {
	b.Helper()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		b.Fatal(err)
	}
	var set unix.CPUSet
	set.Set(cpu)
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			b.Fatal(err)
		}
		if err := unix.SchedSetaffinity(id, &set); err != nil {
			b.Fatal(err)
		}
	}
}
