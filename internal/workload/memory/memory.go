// Package memory is the built-in memory benchmark: bandwidth of sequential
// copies and triads, and rate and latency of random accesses, over a working
// set beyond the caches.
//
//   - copy: c[i] = a[i], 16 bytes an element of 8 bytes (one read, one
//     written), as STREAM counts (McCalpin 1995, "Memory bandwidth and machine
//     balance in current high performance computers"); the library's memmove.
//   - triad: c[i] = a[i] + s·b[i], 24 bytes an element, as STREAM counts; a
//     scalar loop, because this compiler makes no vector code. Whatever the
//     cache moves in addition (reading a line before it is written) is not
//     counted, in either test.
//   - latency: each thread follows a random cycle through all cache lines of
//     its working set; every access depends on the one before, so none can be
//     predicted, prefetched or overlapped. The time of one access includes
//     what the translation of its address costs.
//
// The tests run one after the other, each for the duration, on all threads at
// once; every test has its own metrics and its own progress series. Every
// result is checked.
package memory

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/cgroup"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/kernel"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// The tests.
const (
	Copy    = "copy"
	Triad   = "triad"
	Latency = "latency"
)

// Params are the parameters of the workload, with its state between Prepare
// and Run.
type Params struct {
	Threads  workload.Threads `json:"threads,omitzero" jsonschema_description:"Threads that access memory at the same time: a number, all for one per core, or such as 2 per core."`
	Duration unit.Duration    `json:"duration,omitempty" jsonschema:"description=How long each test takes,default=5s"`
	Size     unit.Size        `json:"size,omitempty" jsonschema:"description=Working set of each thread; without it four times the last-level cache divided among the threads and 64MiB at least"`
	Tests    []string         `json:"tests,omitempty" jsonschema:"description=What to measure and in which order,minItems=1,uniqueItems=true,enum=copy,enum=triad,enum=latency"`

	arenas []*arena // one a thread
}

// Kind describes the workload.
func Kind() workload.Kind {
	return workload.Kind{
		Name:    "memory",
		Summary: "Built-in memory benchmark: copy and triad bandwidth and random-access latency beyond the caches.",
		New: func() workload.Workload {
			return &Params{Threads: workload.Threads{Number: 1}, Duration: unit.Duration(5 * time.Second)}
		},
	}
}

var allTests = []string{Copy, Triad, Latency}

// tests returns the tests to run: all when none is named. (A default in New
// would be overwritten element by element when parameters are decoded.)
func (p *Params) tests() []string {
	if len(p.Tests) == 0 {
		return allTests
	}
	return p.Tests
}

// kind describes one test.
type kind struct {
	metric  string // of the rate, in unit a second; its progress counts units
	unit    string
	weight  float64 // units in one step of the counter
	latency string  // metric of the time of one step in ns; "" for none
	begin   func(*arena)
	block   func(*arena) uint64 // does the next block, returns counter steps
}

var kinds = map[string]kind{
	Copy: {metric: "copy_bandwidth", unit: "byte", weight: 16, block: (*arena).copyBlock,
		begin: func(a *arena) { a.next = 0 }},
	Triad: {metric: "triad_bandwidth", unit: "byte", weight: 24, block: (*arena).triadBlock,
		begin: func(a *arena) { a.next, a.before = 0, a.copied }},
	Latency: {metric: "random_access_rate", unit: "op", weight: 1, latency: "random_access_latency", begin: func(*arena) {}, block: (*arena).walk},
}

const (
	minDuration = 100 * time.Millisecond
	minSize     = unit.MiB
	maxSize     = 128 * unit.GiB // of each thread
)

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	return cmp.Or(
		workload.Refuse(p.Duration.Std() < minDuration, "duration", fmt.Sprintf("%v or more", minDuration), "%s is too short to measure", p.Duration),
		workload.Refuse(p.Size != 0 && (p.Size < minSize || p.Size > maxSize), "size", fmt.Sprintf("%v to %v; leave it out for four times the last-level cache", minSize, maxSize), "%s is not a useful working set", p.Size),
	)
}

// Estimate implements workload.Workload.
func (p *Params) Estimate() time.Duration {
	return time.Duration(len(p.tests())) * p.Duration.Std()
}

// Prepare allocates the working sets and touches all of them, so that no page
// fault is left for the tests. Where on a machine with several memory nodes
// they lie, and where the threads run, is left to the kernel.
func (p *Params) Prepare(ctx context.Context, _ *workload.Env) error {
	threads, err := p.Threads.On(cgroup.Cores())
	if err != nil {
		return err
	}
	size := p.Size
	if size == 0 {
		size = defaultSize(lastLevelCache("/sys"), threads)
	}
	walks := slices.Contains(p.tests(), Latency)
	streams := !walks || len(p.tests()) > 1
	need := int64(size) * int64(threads)
	if walks && streams {
		need *= 2 // links and vectors
	}
	if err := checkFits(need, available("/proc/meminfo")); err != nil {
		return err
	}
	runtime.GOMAXPROCS(threads + 1)
	p.arenas = make([]*arena, threads)
	var wg sync.WaitGroup
	for i := range p.arenas {
		p.arenas[i] = &arena{}
		wg.Go(func() {
			if streams {
				p.arenas[i].newVectors(int64(size))
			}
			if walks {
				p.arenas[i].newLinks(int64(size), uint64(i+1))
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// Run makes the tests one after the other. The k-th ends (k+1) durations after
// the start by the clock, so that nodes which started together stay in the
// same test. What the tests wrote is checked at the end, after the time of the
// last progress point.
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	start := time.Now()
	var walked []uint64 // accesses by thread
	for i, name := range p.tests() {
		deadline := start.Add(time.Duration(i+1) * p.Duration.Std())
		t := p.test(ctx, env.Report, kinds[name], deadline)
		if err := ctx.Err(); err != nil {
			return err
		}
		if name == Latency {
			walked = t.Counts()
		}
	}
	for i, a := range p.arenas {
		var n uint64
		if walked != nil {
			n = walked[i]
		}
		if err := a.check(n); err != nil {
			return fmt.Errorf("thread %d: %w", i, err)
		}
	}
	p.Threads.Report(env.Report, len(p.arenas))
	return nil
}

// test makes one test on all threads and reports its metrics.
func (p *Params) test(ctx context.Context, r workload.Reporter, k kind, deadline time.Time) *workload.Team {
	var steps []func() (uint64, error)
	for _, a := range p.arenas {
		k.begin(a)
		steps = append(steps, func() (uint64, error) { return k.block(a), nil })
	}
	r.Progress(k.metric, k.unit, 0) // while it is still true
	t := workload.StartTeam(ctx, deadline, steps)
	workload.PublishUntil(t.Done(), r, k.metric, k.unit, func() float64 { return t.Total() * k.weight })
	rate, step, _ := t.Result() // no step fails
	if ctx.Err() != nil {
		return t
	}
	r.Sample(workload.Capacity(k.metric, k.unit+"/s", rate*k.weight, model.ResourceMemory))
	if k.latency != "" {
		r.Sample(workload.Info(k.latency, "ns", 1e9*step))
	}
	return t
}

// leastSize is the smallest default working set of a thread.
const leastSize = 64 * unit.MiB

// defaultSize is the working set of each thread when none is given: together
// the threads use four times the last-level cache (0 if unknown), STREAM's
// rule for an array.
func defaultSize(cache unit.Size, threads int) unit.Size {
	return max(leastSize, 4*cache/unit.Size(threads))
}

// lastLevelCache returns the size of the largest cache of processor 0, as
// Linux shows it below root ("/sys"); 0 if unknown.
func lastLevelCache(root string) (largest unit.Size) {
	files, _ := filepath.Glob(filepath.Join(root, "devices/system/cpu/cpu0/cache/index*/size")) // the pattern is right
	for _, f := range files {
		data, _ := os.ReadFile(f)
		size, _ := unit.ParseSize(strings.TrimSpace(string(data)) + "iB") // "32768K"; 0 if it is something else
		largest = max(largest, size)
	}
	return largest
}

// available returns the memory that can be had without swapping (MemAvailable
// of proc(5)) in bytes, read from a file like /proc/meminfo; 0 if unknown.
func available(meminfo string) (bytes int64) {
	data, _ := os.ReadFile(meminfo) // empty is unknown
	kernel.Pairs(data, func(key []byte, kib uint64) {
		if string(key) == "MemAvailable" {
			bytes = int64(kib) << 10
		}
	})
	return bytes
}

// checkFits refuses working sets that would make the machine swap or kill:
// that would measure a disk, or nothing.
func checkFits(need, available int64) error {
	if available == 0 || need <= available/10*9 {
		return nil
	}
	return fmt.Errorf("the working sets need %s, but only %s of memory are available: use a smaller size or fewer threads",
		num.Human(float64(need), "B"), num.Human(float64(available), "B"))
}
