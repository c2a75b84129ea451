package jobs

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/doc/term"
	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/jobs"
	store "github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// What is measured: jobs by time.
const (
	jobsMetric = "jobs"
	jobsUnit   = "job"
)

// stats are what became of executions; run.mu guards them.
type stats struct {
	done       int64 // results that count
	scored     int64 // those of jobs that began in time
	executions int64 // that ended, but those that were given back
	failed     int64
	lost       int64 // executions whose lease ended
	duplicates int64 // results that did not count
	aside      int64
	faults     map[string]bool // items that failed at least once
	first      string          // error of the first

	stages         map[string]*hdr.Histogram // of those that jobs here have, in µs; of bytes, in bytes
	sums           map[string]float64        // s
	all, useful    cost
	times          []time.Duration // of all jobs, where the queue is drained
	idleSince      time.Duration   // of the slot that found the queue empty first; -1: none did
	makespan       time.Duration   // until all items were over
	own, functions time.Duration   // processor time of this process without functions; and of these
}

// cost is what executions of jobs that began in time took: of all that ended, or of those
// that count, without the attempts at requests that failed.
type cost struct {
	got, put int64   // bytes
	cpu      float64 // s
}

func (c *cost) add(got, put int64, cpu float64) {
	c.got, c.put, c.cpu = c.got+got, c.put+put, c.cpu+cpu
}

// longest is the longest time that histograms tell apart, in µs.
const longest = int64(7 * 24 * time.Hour / time.Microsecond)

func (p *Params) newStats() stats {
	s := stats{faults: map[string]bool{}, stages: map[string]*hdr.Histogram{}, sums: map[string]float64{}, idleSince: -1}
	for stage, used := range map[string]bool{
		"wait": true, "get": p.gets(), "compute": true, "put": p.Put != nil, "time": true, "cpu": true,
		"get_bytes": p.gets(), "put_bytes": p.Put != nil,
	} {
		if used {
			s.stages[stage] = histogram.New(longest)
		}
	}
	return s
}

// keep counts a job.
func (r *run) keep(j *job, counts bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	inTime := !r.past(j.since) // others began while the fleet came to its end
	if inTime {
		r.all.add(j.got, j.put, j.CPU)
	}
	if j.Outcome == jobs.Returned {
		return
	}
	r.executions++
	if !counts {
		r.miss(j)
		return
	}
	if r.done++; inTime {
		r.score(j)
	}
}

// miss counts an execution that has no result that counts; r.mu is held.
func (r *run) miss(j *job) {
	switch {
	case j.lost:
		r.lost++
	case j.Outcome == jobs.Failed:
		r.failed++
		if j.Try >= r.Tries {
			r.aside++
		}
		r.complain(j)
	default:
		r.duplicates++
	}
}

// score counts what a job that began in time took; r.mu is held.
func (r *run) score(j *job) {
	r.scored++
	r.useful.add(j.In, j.Out, j.CPU)
	if r.Duration == 0 {
		r.times = append(r.times, j.ended-j.since)
	}
	took := map[string]float64{"wait": j.Wait, "get": j.Get, "compute": j.Compute, "put": j.Put, "time": j.End - j.Begin,
		"cpu": j.CPU, "get_bytes": float64(j.In) / 1e6, "put_bytes": float64(j.Out) / 1e6}
	for stage, h := range r.stages {
		histogram.Record(h, int64(math.Round(took[stage]*1e6)))
		r.sums[stage] += took[stage]
	}
}

// mostComplaints is how many failures are printed; the queue has all.
const mostComplaints = 20

// complain notes that an item has failed; r.mu is held.
func (r *run) complain(j *job) {
	if len(r.faults) == 0 {
		r.first = j.Error
	}
	r.faults[j.Key] = true
	if r.failed <= mostComplaints {
		r.say("item %s failed (try %d of %d): %s", j.Name, j.Try, r.Tries, j.Error)
	}
}

// idle notes since when a slot that leaves has found nothing, and when all items were over.
// Readings wait for its end, which finish calls.
func (r *run) idle(since, over time.Duration, end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends = append(r.ends, end)
	if r.makespan == 0 || over < r.makespan {
		r.makespan = over
	}
	if r.idleSince < 0 || since < r.idleSince {
		r.idleSince = since
	}
}

// say prints a line for people; what cannot be printed is lost. Names of items and words of
// programs may hold what acts on a terminal, or breaks the line.
func (r *run) say(format string, args ...any) { say(r.env, format, args...) }

func say(env *workload.Env, format string, args ...any) {
	_, _ = fmt.Fprintln(env.Stderr, "jobs: "+term.Clean(fmt.Sprintf(format, args...)))
}

// hopeless says that the task will fail whatever comes.
func (r *run) hopeless() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	const enough = 20
	return r.MaxErrors < .5 && len(r.faults) >= enough && int64(len(r.faults)) > r.done
}

// judge fails the task if more items failed than the user allows.
func (r *run) judge() error {
	faults := int64(len(r.faults))
	all := r.done + faults
	switch {
	case faults > 0 && r.done == 0 && (faults > 1 || r.Duration > 0):
		return fmt.Errorf("no item was done, %d failed; the first: %s", faults, r.first)
	case faults > 1 && float64(faults) > r.MaxErrors*float64(all):
		return fmt.Errorf("%d of %d items failed, more than max_errors allows (%g); the first: %s", faults, all,
			r.MaxErrors, r.first)
	case r.Duration > 0 && r.done == 0 && r.duplicates == 0 && r.why != nil:
		return fmt.Errorf("no item was done in time: the store failed for %s: %w", r.total.Round(time.Second/10), r.why)
	case r.Duration > 0 && r.done == 0 && r.duplicates == 0:
		return errors.New("no item was done in time: give a longer duration, or look whether the queue has items")
	}
	return nil
}

// report publishes what was measured.
func (r *run) report() {
	if r.until.N > 0 && r.until.After > 0 && r.earlier == 0 {
		r.env.Report.Sample(workload.Capacity(jobsMetric, jobsUnit+"/s", r.until.N/r.until.After.Seconds(), ""))
	}
	info := func(name, unit string, value float64) { r.env.Report.Sample(workload.Info("jobs_"+name, unit, value)) }
	q, _ := r.source.(*messages)
	if q != nil {
		r.aside += q.aside
	}
	done := workload.Info("jobs_done", "1", float64(r.done))
	done.Better = model.Higher
	r.env.Report.Sample(done)
	info("failed", "1", float64(r.failed))
	info("lost", "1", float64(r.lost))
	info("duplicates", "1", float64(r.duplicates))
	info("set_aside", "1", float64(r.aside))
	r.reportStore(info)
	if r.done > 0 {
		info("tries", "1", float64(r.executions)/float64(r.done))
		info("cpu_own", "s", max(r.own, 0).Seconds()/float64(r.done))
	}
	if r.scored > 0 {
		r.reportStages(info)
	}
	if r.Duration == 0 {
		r.reportDrain(info)
	}
}

// reportStages publishes means and distributions of one job. What executions took that do
// not count is a cost of those that do: the means of bytes and processor time have it.
func (r *run) reportStages(info func(name, unit string, value float64)) {
	n := float64(r.scored)
	costs := map[string]float64{"cpu": r.all.cpu, "get_bytes": float64(r.all.got), "put_bytes": float64(r.all.put)}
	for stage, h := range r.stages {
		unit, fine := "s", "us"
		if strings.HasSuffix(stage, "_bytes") {
			unit, fine = "byte", "byte"
		}
		sum, ok := costs[stage]
		if !ok {
			sum = r.sums[stage]
		}
		info(stage, unit, sum/n)
		r.env.Report.Histogram(model.Histogram{Metric: "jobs_" + stage, Unit: fine, Encoded: histogram.Encode(h)})
	}
	info("wasted_cpu", "s", (r.all.cpu-r.useful.cpu)/n)
	if len(r.targets()) > 0 {
		info("wasted_bytes", "byte", float64(r.all.got+r.all.put-r.useful.got-r.useful.put)/n)
	}
}

// reportStore publishes what requests to the store became.
func (r *run) reportStore(info func(name, unit string, value float64)) {
	retries, requests, failed := int64(0), map[string]int64{store.Get: r.lookups.Load()}, map[store.Failure]int64{}
	for _, t := range r.targets() {
		c := t.Recorder.Counts()
		retries += c.Retries
		for operation, n := range c.Requests {
			requests[operation] += n
		}
		for kind, n := range c.Errors {
			failed[kind] += n
		}
		if text := c.Describe(); text != "" {
			t.Say(r.env.Stderr, "jobs: attempts at requests that failed%s", text)
		}
	}
	if len(r.targets()) == 0 {
		return
	}
	info("retries", "1", float64(retries))
	info("outage", "s", r.total.Seconds())
	for _, kind := range store.Failures {
		s := workload.Info("jobs_errors", "1", float64(failed[kind]))
		s.Labels = map[string]string{"kind": string(kind)}
		r.env.Report.Sample(s)
	}
	if r.done > 0 {
		n := float64(r.done)
		info("requests", "1", float64(requests[store.Get]+requests[store.Put])/n)
		info("get_requests", "1", float64(requests[store.Get])/n)
		info("put_requests", "1", float64(requests[store.Put])/n)
	}
}

// stragglerFactor is how many times the median a job takes that is called a straggler
// (Ananthanarayanan et al., OSDI 2010).
const stragglerFactor = 1.5

// reportDrain publishes how long the work took, and how long not all slots had some.
func (r *run) reportDrain(info func(name, unit string, value float64)) {
	info("earlier", "1", float64(r.earlier))
	if r.earlier > 0 {
		return
	}
	info("makespan", "s", r.makespan.Seconds())
	if r.idleSince >= 0 {
		info("tail", "s", max(0, r.makespan-r.idleSince).Seconds())
	}
	if len(r.times) == 0 {
		return
	}
	slices.Sort(r.times)
	median := r.times[len(r.times)/2]
	slow, _ := slices.BinarySearch(r.times, time.Duration(stragglerFactor*float64(median))+1)
	info("stragglers", "1", float64(len(r.times)-slow))
}
