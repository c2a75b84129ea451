// Package slots is a workload of tests: slots that take items from the queue of their
// step, write a file for each, and finish it. Its files tell what was really executed.
package slots

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Kind describes the workload.
func Kind() workload.Kind {
	return workload.Kind{Name: "slots", Summary: "Takes items from the queue of the step.",
		New: func() workload.Workload {
			return &params{Slots: 1, Tries: 1000, Lease: unit.Duration(time.Minute)}
		}}
}

type params struct {
	Slots  int           `json:"slots"`
	Items  int64         `json:"items"`
	Names  bool          `json:"names"` // items have names, which the first task adds
	Work   unit.Duration `json:"work"`  // the longest that an item takes; 0: no time
	Lease  unit.Duration `json:"lease"`
	Tries  int           `json:"tries"`
	Poison int64         `json:"poison"` // each item whose number this divides fails; 0: none
	Dir    string        `json:"dir"`    // where files are written; empty: none are

	keep    keeper
	done    atomic.Int64 // results that count
	refused atomic.Int64
	retried atomic.Int64 // executions that were not the first of their item
}

func (p *params) Validate() error         { return nil }
func (p *params) Estimate() time.Duration { return 0 }

func (p *params) open() *jobs.Open {
	o := &jobs.Open{Count: p.Items, Lease: p.Lease.Std(), Tries: p.Tries}
	if p.Names {
		o.Count = 0
	}
	return o
}

// Prepare names the items, if they have names, and waits until they are known.
func (p *params) Prepare(ctx context.Context, env *workload.Env) error {
	if env.Jobs == nil {
		return errors.New("there is no queue of items")
	}
	if p.Names && env.Part == 0 {
		if err := p.add(ctx, env); err != nil {
			return err
		}
	}
	for {
		r, err := env.Jobs(ctx, jobs.Call{Open: p.open()})
		if err != nil || r.State.Ready {
			return err
		}
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // another process is asked again
	}
}

func (p *params) add(ctx context.Context, env *workload.Env) error {
	for from := int64(0); ; {
		a := &jobs.Add{From: from}
		for len(a.Names) < jobs.MaxAdd && from < p.Items {
			a.Names = append(a.Names, fmt.Sprint("item-", from))
			from++
		}
		a.Last = from == p.Items
		if _, err := env.Jobs(ctx, jobs.Call{Open: p.open(), Add: a}); err != nil || a.Last {
			return err
		}
	}
}

// Run works until the queue is drained.
func (p *params) Run(ctx context.Context, env *workload.Env) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begun := time.Now()
	var all, helpers sync.WaitGroup
	for slot := range p.Slots {
		all.Go(func() {
			if err := p.work(ctx, env, slot, begun); err != nil {
				cancel(err)
			}
		})
	}
	helpers.Go(func() { p.tell(ctx, env) })
	all.Wait()
	err := context.Cause(ctx)
	env.Report.Progress("jobs", "job", float64(p.done.Load()))
	cancel(nil)
	helpers.Wait()
	for name, n := range map[string]*atomic.Int64{
		"jobs_done": &p.done, "jobs_refused": &p.refused, "jobs_retried": &p.retried,
	} {
		env.Report.Sample(model.Sample{Metric: name, Unit: "job", Value: float64(n.Load()), Better: model.Higher, Info: true})
	}
	env.Report.Sample(model.Sample{Metric: "jobs", Unit: "job/s", Better: model.Higher,
		Value: float64(p.done.Load()) / time.Since(begun).Seconds()})
	return err
}

// tell reports progress, and renews what the slots hold.
func (p *params) tell(ctx context.Context, env *workload.Env) {
	tick := time.NewTicker(min(p.Lease.Std()/3, 500*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		env.Report.Progress("jobs", "job", float64(p.done.Load()))
		if held := p.keep.all(); len(held) > 0 {
			_, _ = env.Jobs(ctx, jobs.Call{Renew: held}) // a slot that lost its item is told when it finishes
		}
	}
}

// work is the life of one slot: one call finishes an item and takes the next.
func (p *params) work(ctx context.Context, env *workload.Env, slot int, begun time.Time) error {
	c := jobs.Call{Open: p.open(), Take: 1}
	for {
		r, err := env.Jobs(ctx, c)
		if err != nil {
			return err
		}
		for _, f := range c.Finish {
			p.settled(f, len(r.Refused) > 0)
		}
		c = jobs.Call{Take: 1}
		switch {
		case len(r.Leases) > 0:
			c.Finish = []jobs.Record{p.execute(ctx, r.Leases[0], slot, begun)}
		case r.State.Drained:
			return nil
		default:
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(r.Again):
			}
		}
	}
}

// settled notes what became of a result.
func (p *params) settled(f jobs.Record, refused bool) {
	p.keep.drop(f.Lease)
	switch {
	case refused:
		p.refused.Add(1)
		if f.Output != "" {
			_ = os.Remove(filepath.Join(p.Dir, f.Output))
		}
	case f.Outcome == jobs.Done:
		p.done.Add(1)
	}
}

func (p *params) execute(ctx context.Context, l jobs.Lease, slot int, begun time.Time) jobs.Record {
	p.keep.add(l.ID)
	if l.Try > 1 {
		p.retried.Add(1)
	}
	r := jobs.Record{Lease: l.ID, Key: l.Key, Name: l.Name, Try: l.Try, Slot: slot, Outcome: jobs.Done,
		Begin: time.Since(begun).Seconds()}
	if p.Work > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(rand.N(p.Work.Std())):
		}
	}
	var number int64
	_, _ = fmt.Sscan(l.Key, &number)
	switch {
	case p.Poison > 0 && number%p.Poison == 0:
		r.Outcome, r.Error = jobs.Failed, "poison"
	case p.Dir != "":
		// Its key has the attempt, so that no execution writes over another's.
		r.Output = fmt.Sprintf("%s.%d.%s", l.Key, l.ID, strconv.FormatUint(rand.Uint64(), 36))
		if err := os.WriteFile(filepath.Join(p.Dir, r.Output), []byte(l.Key), 0o600); err != nil {
			r.Outcome, r.Error, r.Output = jobs.Failed, err.Error(), ""
		}
	}
	r.End = time.Since(begun).Seconds()
	return r
}

// keeper holds the leases of the slots.
type keeper struct {
	sync.Mutex
	held map[uint64]bool
}

func (k *keeper) add(id uint64) {
	k.Lock()
	defer k.Unlock()
	if k.held == nil {
		k.held = make(map[uint64]bool)
	}
	k.held[id] = true
}

func (k *keeper) drop(id uint64) {
	k.Lock()
	defer k.Unlock()
	delete(k.held, id)
}

func (k *keeper) all() (ids []uint64) {
	k.Lock()
	defer k.Unlock()
	for id := range k.held {
		ids = append(ids, id)
	}
	return ids
}
