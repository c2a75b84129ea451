package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Prepare opens the driver. The first node then makes sure that the server
// answers at all, or, where asked to, waits until it has worked off the load
// before.
func (p *Params) Prepare(ctx context.Context, env *workload.Env) error {
	if err := p.take(env.Offer); err != nil {
		return err
	}
	if p.drawn = uint64(p.Seed); env.Offer == nil { // what a step offers has its own
		p.drawn = env.Seed(p.Seed)
	}
	var err error
	if p.driver, err = p.open(ctx, env); err != nil {
		return err
	}
	if env.Part > 0 {
		return nil
	}
	if p.Recover {
		p.unrecovered = !p.recover(ctx, env, max(p.recoverFor, RecoverWithin))
	}
	return p.answers(ctx)
}

// take sets the load that a step offers in place of one's own.
func (p *Params) take(o *model.Offer) (err error) {
	if o != nil {
		p.Rate, p.Recover, p.Seed = &unit.Rate{Value: o.Rate, Base: unit.Operations}, o.Recover, o.Seed
		p.recoverFor = o.RecoverWithin
	}
	if o != nil && o.SLA != "" {
		p.Agreement, err = engine.ParseSLA(o.SLA)
	}
	if p.Rate == nil && p.Users == 0 {
		return fmt.Errorf("%w: no load is given: set rate: or users:, or use the study capacity, which chooses the rate", model.ErrUsage)
	}
	return err
}

// Run offers the load and reports what became of it.
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	scorer := engine.NewScorer(len(p.driver.Ops()), p.WarmUp.Std(), p.Scored())
	start := time.Now()
	progress := progress{report: env.Report, start: start}
	from, to := p.WarmUp.Std(), p.WarmUp.Std()+p.Scored() // what is scored
	probes := beside(ctx, func(ctx context.Context) []engine.Handshake {
		prober := prober{address: p.address(), every: p.Handshakes.Std()}
		prober.settle(ctx)
		return prober.run(ctx, start)
	})
	segments := beside(ctx, func(ctx context.Context) engine.Segments {
		before, known := segmentsAt(ctx, start.Add(from))
		after, knownToo := segmentsAt(ctx, start.Add(to))
		if !known || !knownToo {
			return engine.Segments{}
		}
		return after.Sub(before)
	})
	usage, err := p.driver.Run(ctx, engine.Run{
		Plan: p.plan(), Share: engine.Share{Index: env.Part, Of: env.Parts}, Start: start, Drain: p.drain(),
		Each: func(s engine.Second) {
			scorer.Add(s)
			progress.add(s)
		},
	})
	handshakes, arrived := probes(), segments()
	if err != nil {
		return fmt.Errorf("offering load to %s: %w", p.address(), err)
	}
	usage.Connections.Room, usage.Connections.Asked, usage.Connections.Allowed = p.uses.Room, p.uses.Asked, p.uses.Allowed
	summary := scorer.Summary(p.driver.Ops(), usage)
	summary.RTT = slices.DeleteFunc(handshakes, func(h engine.Handshake) bool { return h.At < from || h.At >= to })
	summary.Segments, summary.RecordsLoaded, summary.Unrecovered = arrived, p.recordsLoaded, p.unrecovered
	for _, example := range usage.Examples {
		if example != nil {
			_, _ = fmt.Fprintln(env.Stderr, example) // kept with the task; the counts do not depend on it
		}
	}
	for _, a := range usage.Addresses {
		if a.Cause != nil {
			_, _ = fmt.Fprintf(env.Stderr, "address %s of the target was not used: %v\n", a.Address, a.Cause)
		}
	}
	summary.Report(env.Report)
	if p.Users > 0 || len(p.Agreement.Terms) > 0 { // its rate is not fixed, or a search's
		return nil
	}
	return summary.ReportLatencies(env.Report)
}

// beside does something beside the load, until the function returned is called.
func beside[T any](ctx context.Context, do func(context.Context) T) (end func() T) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan T, 1)
	go func() { done <- do(ctx) }()
	return func() T {
		cancel()
		return <-done
	}
}

// plan is the load of all nodes together.
func (p *Params) plan() engine.Plan {
	whole := p.WarmUp.Std() + p.Scored()
	plan := engine.Plan{Arrivals: engine.Arrivals(p.Arrivals), Seed: p.drawn}
	if p.Users > 0 {
		plan.Closed = &engine.Closed{Users: p.Users, Think: p.Think.Std(), Duration: whole}
		return plan
	}
	plan.Stages = []engine.Stage{engine.Hold(p.Rate.Value, whole)}
	return plan
}

// progress publishes answers as they come.
type progress struct {
	report workload.Reporter
	start  time.Time
	sum    float64
}

func (p *progress) add(s engine.Second) {
	p.sum += float64(s.Replies)
	// The last second may be shorter.
	at := min(time.Duration(s.Index+1)*time.Second, time.Since(p.start))
	p.report.ProgressAt(engine.MetricThroughput, "op", at, p.sum)
}

// segmentsAt counts the TCP segments that have arrived by a moment, or when ctx is done.
func segmentsAt(ctx context.Context, at time.Time) (s engine.Segments, ok bool) {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return engine.CountSegments()
}

// prober makes TCP handshakes with a server at fixed times, whatever became of
// those before, and closes the connections again. If each waited for the one
// before, a path that is interrupted would be probed once and no more.
type prober struct {
	address string // host:port
	every   time.Duration
}

// settle chooses the first address of several that takes a connection, for all
// handshakes.
func (p *prober) settle(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, handshakeWithin)
	defer cancel()
	var d engine.Dialer
	if conn, err := d.Dial(within, p.address); err == nil {
		p.address = conn.RemoteAddr().String()
		_ = conn.Close() // nothing was sent
	}
	_ = d.Close() // it has nothing to say
}

// handshakeWithin bounds a handshake. A lost SYN is sent again after 1 s, and
// once more 2 s later.
const handshakeWithin = 3 * time.Second

// run probes until ctx is done. Times are since start.
func (p prober) run(ctx context.Context, start time.Time) []engine.Handshake {
	var (
		mu  sync.Mutex
		out []engine.Handshake
		all sync.WaitGroup
	)
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			all.Wait()
			slices.SortFunc(out, func(a, b engine.Handshake) int { return int(a.At - b.At) })
			return out
		case <-tick.C:
		}
		at := time.Since(start)
		all.Go(func() {
			took, lost, ok := p.handshake(ctx)
			if !ok {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			out = append(out, engine.Handshake{At: at, Took: took, Lost: lost})
		})
	}
}

// handshake is one. ok is false where it tells nothing of the path: the server
// refuses connections, which is seen by the load, or this end was told to stop. One that
// finds no way to the server, or no answer, has lost something.
func (p prober) handshake(ctx context.Context) (took time.Duration, lost, ok bool) {
	within, cancel := context.WithTimeout(ctx, handshakeWithin)
	defer cancel()
	began := time.Now()
	conn, err := (&net.Dialer{}).DialContext(within, "tcp", p.address)
	took = time.Since(began)
	if err != nil {
		is := func(target error) bool { return errors.Is(err, target) }
		away := slices.ContainsFunc([]error{syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENETDOWN}, is)
		var failure net.Error
		silent := is(context.Canceled) || errors.As(err, &failure) && failure.Timeout()
		return took, true, away || took >= resentAfter && silent
	}
	defer func() { _ = conn.Close() }() // nothing was sent
	tcp, _ := conn.(*net.TCPConn)
	return handshakeTime(tcp, took)
}

// resentAfter is when a SYN that was not answered is sent again (RFC 6298); a
// handshake that takes as long has lost something on the way.
const resentAfter = time.Second
