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
	probes := p.probe(ctx, start)
	warm := start.Add(p.WarmUp.Std())
	segments := countSegments(ctx, warm, warm.Add(p.Scored()))
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
	summary.RTT, summary.Segments = p.meanwhile(handshakes), arrived
	summary.RecordsLoaded, summary.Unrecovered = p.recordsLoaded, p.unrecovered
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

// probe makes handshakes beside the load, until the function returned is
// called.
func (p *Params) probe(ctx context.Context, start time.Time) (end func() []engine.Handshake) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan []engine.Handshake, 1)
	go func() {
		prober := prober{address: p.address(), every: p.Handshakes.Std()}
		prober.settle(ctx)
		done <- prober.run(ctx, start)
	}()
	return func() []engine.Handshake {
		cancel()
		return <-done
	}
}

// meanwhile leaves out what was measured while warming up and draining.
func (p *Params) meanwhile(all []engine.Handshake) []engine.Handshake {
	var out []engine.Handshake
	for _, h := range all {
		if h.At >= p.WarmUp.Std() && h.At < p.WarmUp.Std()+p.Scored() {
			out = append(out, h)
		}
	}
	return out
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

// countSegments counts the TCP segments that arrive from one moment to another,
// or until the function returned is called: none where the kernel does not say.
func countSegments(ctx context.Context, from, to time.Time) (end func() engine.Segments) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan engine.Segments, 1)
	go func() {
		before, known := segmentsAt(ctx, from)
		after, knownToo := segmentsAt(ctx, to)
		if !known || !knownToo {
			before, after = engine.Segments{}, engine.Segments{}
		}
		done <- after.Sub(before)
	}()
	return func() engine.Segments {
		cancel()
		return <-done
	}
}

// segmentsAt is the count at a moment, or when ctx is done.
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
// refuses connections, which is seen by the load, or this end was told to stop.
func (p prober) handshake(ctx context.Context) (took time.Duration, lost, ok bool) {
	within, cancel := context.WithTimeout(ctx, handshakeWithin)
	defer cancel()
	began := time.Now()
	conn, err := (&net.Dialer{}).DialContext(within, "tcp", p.address)
	took = time.Since(began)
	if err != nil {
		return took, true, unreachable(err) || took >= resentAfter && unanswered(err)
	}
	defer func() { _ = conn.Close() }() // nothing was sent
	tcp, isTCP := conn.(*net.TCPConn)
	if !isTCP {
		return 0, false, false
	}
	return handshakeTime(tcp, took)
}

// resentAfter is when a SYN that was not answered is sent again (RFC 6298); a
// handshake that takes as long has lost something on the way.
const resentAfter = time.Second

// unanswered reports whether a handshake was given up for want of an answer.
func unanswered(err error) bool {
	var failure net.Error
	return errors.Is(err, context.Canceled) || errors.As(err, &failure) && failure.Timeout()
}

// unreachable reports whether there was no way to the server.
func unreachable(err error) bool {
	return errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.ENETDOWN)
}
