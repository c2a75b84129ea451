package users

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/session"
	"github.com/scalebench/scalebench/internal/site"
	"github.com/scalebench/scalebench/test/loadserver"
)

// BenchmarkUsers: users who think for 7 s, from one event loop on the last
// processor, against nginx on the first: how late requests are sent, and what
// that takes. Pages have 20 kB and a hundred links.
func BenchmarkUsers(b *testing.B) {
	path, err := exec.LookPath("nginx")
	if err != nil {
		b.Skip("nginx is missing")
	}
	n := loadserver.StartNginx(b, path)
	page := strings.Repeat("<p>"+strings.Repeat("lorem ipsum ", 16)+"</p><a href=\"/home.html?id=1&amp;page=2\">on</a>\n", 80)
	if err := os.WriteFile(filepath.Join(n.Dir, "home.html"), []byte(page), 0o644); err != nil {
		b.Fatal(err)
	}
	if cpus := runtime.NumCPU(); cpus > 1 {
		pin(b, n.PID(), only(0))
		pin(b, os.Getpid(), only(cpus-1))
	}
	for _, users := range []int{1000, 10_000} {
		b.Run(strconv.Itoa(users), func(b *testing.B) {
			for b.Loop() {
				p := params(strings.TrimSuffix(n.URL(), "/"), users, 7, 10, 20, 1)
				p.Site = []site.Interaction{{Name: "home", Path: "/home.html"}}
				p.Transitions = "home\t.9\nEnd of Session\t.1\n"
				o := visit(b, p, 0, 1)
				if o.sample(session.MetricErrors, nil)+o.sample(session.MetricNoLink, nil) > 0 {
					b.Fatalf("%v errors, %v pages without a link\n%s", o.sample(session.MetricErrors, nil), o.sample(session.MetricNoLink, nil), o.stderr)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(o.sample(session.MetricThroughput, nil), "req/s")
				b.ReportMetric(o.sample(session.MetricLag, nil)*1e3, "lag-p99-µs")
				b.ReportMetric(o.sample("response_p99", nil)*1e3, "p99-µs")
				b.ReportMetric(o.sample(load.MetricCPU, nil), "cores")
				b.ReportMetric(o.sample(load.MetricBusy, nil), "busy")
				b.ReportMetric(o.sample(session.MetricLaw, nil), "X(R+Z)/N")
				b.ReportMetric(resident(b), "MB")
			}
		})
	}
}

// resident is the most memory that this process had, in MB.
func resident(b testing.TB) float64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	kilobytes, err := strconv.ParseFloat(strings.Fields(after)[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kilobytes / 1e3
}

// only is a single processor.
func only(cpu int) *unix.CPUSet {
	var set unix.CPUSet
	set.Set(cpu)
	return &set
}

// pin lets all threads of a process use these processors only.
func pin(b testing.TB, pid int, set *unix.CPUSet) {
	b.Helper()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		b.Fatal(err)
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			b.Fatal(err)
		}
		if err := unix.SchedSetaffinity(id, set); err != nil {
			b.Fatal(err)
		}
	}
}
