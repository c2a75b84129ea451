package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/scalebench/scalebench/internal/jobs"
	store "github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/internal/workload/jobs/natsqueue"
)

// slot works on one item at a time. Its jobs follow each other without gaps: a job begins
// when the one before has ended, and waits for its item first.
type slot struct {
	*run

	number int
	dir    string // of an item's files, emptied for each

	begun   time.Duration // of the job that is on
	since   time.Duration // the same, or when the queue was found empty last
	count   func(begun, ended time.Duration, counts bool)
	crossed bool

	down *store.Target // it failed as a whole; the slot waits for it before it takes an item
	why  error         // how it failed
	end  error         // what ends the task
}

// job is an execution that has ended.
type job struct {
	jobs.Record

	since, ended time.Duration
	count        func(begun, ended time.Duration, counts bool)
	lost         bool // there is nothing to tell the queue
	// got and put are bytes that were moved, those of failed attempts included.
	got, put int64
}

func (r *run) newSlot(n int) *slot {
	return &slot{run: r, number: n, dir: filepath.Join(r.env.Dir, "slot-"+strconv.Itoa(n))}
}

// serve works from a moment of the ramp on.
func (s *slot) serve(ctx context.Context) error {
	begun := time.Duration(0)
	if s.Ramp > 0 {
		if workload.Pause(ctx, rand.N(s.Ramp.Std())) != nil {
			return context.Cause(ctx)
		}
		begun = s.now()
	}
	s.begin(begun)
	return s.work(ctx)
}

// work takes items until there are no more, or the time is over.
func (s *slot) work(ctx context.Context) error {
	defer func() { _ = os.RemoveAll(s.dir) }() // the end of the task removes what is left
	var last *job
	for {
		var result *jobs.Record
		if last != nil && !last.lost {
			result = &last.Record
		}
		stopped, down := s.stopped.Load(), s.down != nil
		turn, err := s.source.next(ctx, result, !stopped && !down)
		switch {
		case last == nil:
		case err == nil:
			s.settle(ctx, last, turn.counts)
		default: // it may count: what it wrote stays
			last.count(last.since, last.ended, false)
		}
		if err == nil {
			err = s.awaitStore(ctx)
		}
		if err != nil {
			s.count(s.since, s.now(), false)
			return err
		}
		last = nil
		switch {
		case down: // it was, and nothing was taken
			continue
		case turn.lease == nil && (stopped || turn.drained):
			s.leave(turn)
			return nil
		case turn.lease == nil:
			s.rest(ctx, turn)
			continue
		}
		last = s.execute(ctx, turn)
		s.begin(last.ended)
		s.pass(last.ended)
		if s.end == nil && s.hopeless() {
			s.end = errHopeless
		}
		if s.end != nil {
			s.count(s.since, s.now(), false)
			last.count(last.since, last.ended, false)
			return s.end
		}
	}
}

// awaitStore waits for a store that failed as a whole, so that the slot may go on.
func (s *slot) awaitStore(ctx context.Context) error {
	if t := s.down; t != nil {
		s.down = nil
		if err := s.await(ctx, t, s.why); err != nil && !errors.Is(err, errOver) {
			return err
		}
	}
	return context.Cause(ctx)
}

// begin begins a job.
func (s *slot) begin(at time.Duration) { s.begun, s.since, s.count = at, at, s.fracs.Begin() }

// pass notes that the slot has ended what it began before the deadline.
func (s *slot) pass(at time.Duration) {
	if s.past(at) && !s.crossed {
		s.crossed = true
		s.cross()
	}
}

// rest waits where there is nothing to take now.
func (s *slot) rest(ctx context.Context, t turn) {
	now := s.now()
	s.pass(now)
	// If it is over, the next call says so. Soon, so that the task hardly outlives its work.
	_ = workload.Pause(ctx, min(t.again, max(soonest, now/pauses)))
	s.since = now
	if s.Duration > 0 { // readings need not wait for the next item
		s.count(s.since, now, false)
		s.count = s.fracs.Begin()
	}
}

// leave ends the slot where there will be nothing to take.
func (s *slot) leave(t turn) {
	now := s.now()
	s.pass(now)
	s.idle(s.begun, now-t.ago, func() { s.count(s.since, now, false) })
}

// A slot that found nothing asks again after this part of the time so far, and not sooner.
const (
	pauses  = 50
	soonest = 10 * time.Millisecond
)

// execute works on an item.
func (s *slot) execute(ctx context.Context, t turn) *job {
	l := t.lease
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.hold(l.ID, cancel)
	j := &job{since: s.since, count: s.count, Record: jobs.Record{
		Lease: l.ID, Key: l.Key, Name: l.Name, Try: l.Try, Slot: s.number, Outcome: jobs.Done,
		Begin: s.begun.Seconds(), Wait: (s.now() - s.begun).Seconds(),
	}}
	err := s.stages(ctx, j, t.item)
	j.ended = s.now()
	j.End = j.ended.Seconds()
	if err != nil {
		s.fail(j, err, context.Cause(ctx))
		s.drop(ctx, j)
	}
	return j
}

// hold has the lease renewed, and the execution ended with it.
func (r *run) hold(lease uint64, end context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[lease] = end
	if r.stopped.Load() && r.source.free() { // it was taken while the time ended
		end(errOver)
	}
}

// fail says what becomes of an execution that ended with an error. cause is what ended it
// from outside; nil: nothing did.
func (s *slot) fail(j *job, err, cause error) {
	j.Outcome, j.Error = jobs.Failed, short(err.Error())
	var outage *outageError
	over := errors.Is(err, errOver) || errors.Is(err, errDown)
	switch {
	case errors.Is(cause, errOver), cause == nil && over:
		j.Outcome, j.Error = jobs.Returned, ""
	case cause != nil: // the lease is over, or the task
		j.lost = true
	case errors.As(err, &outage):
		s.end, j.lost = outage, true
	}
}

// timed adds to how long a stage takes.
func timed(seconds *float64, stage func() error) error {
	begun := time.Now()
	err := stage()
	*seconds += time.Since(begun).Seconds()
	return err
}

// stages gets, computes and puts. The files go before the queue is told of the result, as
// they may fill the disk that it needs. Each moment of a job is in one of its stages.
func (s *slot) stages(ctx context.Context, j *job, item natsqueue.Item) (err error) {
	r := &j.Record
	var in, out string
	first, last := &r.Compute, &r.Compute
	if s.gets() {
		first = &r.Get
	}
	if s.Put != nil {
		last = &r.Put
	}
	defer func() { _ = timed(last, func() error { return os.RemoveAll(s.dir) }) }() // or the next item says why not
	err = timed(first, func() error { return errors.Join(os.RemoveAll(s.dir), os.Mkdir(s.dir, 0o700)) })
	if err != nil {
		return s.explain("get", r.Name, err)
	}
	if s.gets() {
		if err := timed(&r.Get, func() (err error) { in, err = s.get(ctx, j, item); return err }); err != nil {
			return s.explain("get", s.key(r.Name), err)
		}
	}
	if s.Put != nil {
		out = filepath.Join(s.dir, "out"+s.Put.Suffix)
	}
	if err := timed(&r.Compute, func() error { return s.compute(ctx, r, in, out) }); err != nil || s.Put == nil {
		return err
	}
	if _, err := os.Stat(out); err != nil {
		return errors.New("the command ended well, and has written no {out}")
	}
	r.Output = s.outputKey(r.Key)
	err = timed(&r.Put, func() error { return s.put(ctx, j, out) })
	return s.explain("put", r.Output, err)
}

// put puts the result. A put that was sent ends even if the execution does not count any more:
// the store may keep what nobody waited for after it was deleted.
func (s *slot) put(ctx context.Context, j *job, out string) error {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = time.AfterFunc(dropTime, cancel) })()
	return s.insist(ctx, s.to, true, func() error {
		size, moved, err := s.to.PutFile(sending, out, j.Output)
		j.Out, j.put = size, j.put+moved
		return cmp.Or(err, context.Cause(ctx))
	})
}

// get gets an item's object into a file. If the key can be read in several ways, it finds
// out which object is meant.
func (s *slot) get(ctx context.Context, j *job, item natsqueue.Item) (in string, err error) {
	r, hold := &j.Record, !s.source.free()
	if len(item.Names) > 1 {
		err = s.insist(ctx, s.from, hold, func() error {
			name, requests, err := s.from.Which(ctx, item.ETag, item.Names)
			s.lookups.Add(requests)
			r.Name = cmp.Or(name, r.Name)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	in = filepath.Join(s.dir, "in"+ending(r.Name))
	return in, s.insist(ctx, s.from, hold, func() error {
		size, moved, err := s.from.GetFile(ctx, s.key(r.Name), in)
		r.In, j.got = size, j.got+moved
		return err
	})
}

// outputKey is a key of this execution alone.
func (s *slot) outputKey(item string) string {
	if !s.Put.Keep {
		return s.to.NewKey("")
	}
	return s.to.NewKey(s.to.Prefix+"/"+item+"/") + s.Put.Suffix
}

func (s *slot) compute(ctx context.Context, r *jobs.Record, in, out string) (err error) {
	var cpu time.Duration
	if s.Function != "" {
		cpu, err = s.function(ctx, in, out)
		s.mu.Lock()
		s.functions += cpu
		s.mu.Unlock()
	} else {
		cpu, err = execution{text: s.Command, dir: s.dir, in: in, out: out, item: r.Name, environ: s.environ}.run(ctx)
	}
	r.CPU = cpu.Seconds()
	return s.explain("compute", r.Name, err)
}

// explain says what an error is about.
func (s *slot) explain(stage, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrGone):
		return fmt.Errorf("%s: object %q is not in bucket %q", stage, key, s.getBucket())
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%s: the disk of %s has no room for item %q: %w", stage, s.env.Dir, key, err)
	}
	return fmt.Errorf("%s: %w", stage, err)
}

// dropTime bounds the deletion of a result that does not count.
const dropTime = 10 * time.Second

// drop deletes what an execution wrote that does not count.
func (s *slot) drop(ctx context.Context, j *job) {
	if j.Output == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTime) // also at the end of the task
	defer cancel()
	if err := s.to.Drop(ctx, j.Output); err != nil {
		s.say("deleting a result that does not count: %v", err)
	}
	j.Output = ""
}

// settle ends a job, once it is known whether it counts.
func (s *slot) settle(ctx context.Context, j *job, counts bool) {
	counts = counts && j.Outcome == jobs.Done
	j.count(j.since, j.ended, counts)
	s.mu.Lock()
	delete(s.held, j.Lease)
	s.mu.Unlock()
	if j.Outcome == jobs.Done && !counts {
		s.drop(ctx, j)
	}
	s.keep(j, counts)
}
