// Package tiers watches a service of an n-tier application while it serves: what
// its tier has used up, and who waits for what.
//
//  1. [New] takes the service: its control groups or its process, its ports, the
//     rate of its link, and the probes that ask the server itself.
//  2. [Watch.Start] takes a first reading of everything before it returns.
//  3. The kernel is read every step, once a second or as often as every 50 ms, and
//     each probe on a schedule of its own, so that a server that answers late
//     delays no other reading. Every reading has its own time.
//  4. [Watch.Stop] takes the last readings; [Watch.Series] gives columns named
//     SERVICE:SIGNAL. [Signals] lists the signals.
//
// A reading that fails is counted (probe_failed) and told ([Watch.Failures]);
// what it would have told is missing, never 0 and never the value before.
//
// What reading costs depends on how many threads and connections there are. Each
// of the two may take 0.5 % of a core on average; where a reading takes more, it
// is taken less often, and [Watch.Notes] says how often. The processor time of all
// readings of the kernel is a signal itself (watch).
package tiers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scalebench/scalebench/internal/kernel"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/probe"
	"github.com/scalebench/scalebench/internal/procself"
	"github.com/scalebench/scalebench/internal/recording"
	"github.com/scalebench/scalebench/internal/workload/service"
)

// Config is a service, and how it is watched. Its ports are looked for in this process's
// network namespace.
type Config = service.Watched

// Watch is a service that is watched.
type Watch struct {
	cfg      Config
	doubts   doubts
	host     *host
	probes   []*probed
	tracks   []*recording.Recording
	cancel   context.CancelFunc
	stopping atomic.Bool
	used     atomic.Pointer[used]
}

// used is what a service has used until a moment, in seconds of processor time, and the
// share of what it may use since the one before.
type used struct {
	at    time.Time
	cpu   float64
	share float64
	known bool
}

// note takes a reading of the kernel: processor time and limit in cores.
func (w *Watch) note(at time.Time, cpu, cores float64) {
	last := w.used.Load()
	now := &used{at: at, cpu: cpu}
	if last != nil {
		took := at.Sub(last.at)
		if took < leastUsed {
			return
		}
		now.share, now.known = (cpu-last.cpu)/took.Seconds()/cores, cores > 0
	}
	w.used.Store(now)
}

// leastUsed is the time over which a share is worth telling.
const leastUsed = 900 * time.Millisecond

// oldUsed is how old a share may be, and still be how things are.
const oldUsed = 3 * time.Second

// New prepares to watch a service; it need not run yet. What is wrong with the
// configuration is told by [Watch.Failures] after Start.
func New(cfg Config) *Watch {
	cfg.Step = cmp.Or(cfg.Step, time.Second)
	return &Watch{cfg: cfg}
}

// maxRows is how many readings a track keeps: 25 minutes at 50 ms.
const maxRows = 30_000

// Start takes first readings, and goes on until Stop is called or ctx ends. Stop
// must be called in either case. It returns when probes have answered or failed.
func (w *Watch) Start(ctx context.Context) {
	w.doubts.began = time.Now()
	ctx, w.cancel = context.WithCancel(ctx)
	w.host = openHost(w.cfg, &w.doubts)
	w.host.note = w.note
	for _, b := range w.host.bounds {
		b.last = w.stopping.Load
	}
	w.openProbes(ctx)
	w.tracks = make([]*recording.Recording, 1+len(w.probes))
	w.tracks[0] = recording.Start(ctx, recording.Config{
		Step: w.cfg.Step, Sources: []recording.Source{w.host}, Metric: signal, Limit: maxRows,
	})
	var first sync.WaitGroup
	for i, p := range w.probes {
		first.Go(func() {
			w.tracks[1+i] = recording.Start(ctx, recording.Config{
				Step: p.every, Sources: []recording.Source{p}, Metric: signal, Limit: maxRows, AtEnd: true,
			})
		})
	}
	first.Wait()
}

// openProbes prepares the probes. A signal that two of them tell is taken from
// the first.
func (w *Watch) openProbes(ctx context.Context) {
	claimed := map[string]bool{}
	for _, cfg := range w.cfg.Probes {
		session, err := cfg.Open()
		if err != nil {
			w.doubts.failed("probe "+cfg.Kind, err)
			continue
		}
		p := &probed{doubts: &w.doubts, ctx: ctx, name: "probe " + cfg.String(), session: session,
			every: cmp.Or(cfg.Every.Std(), time.Second), tells: map[string]bool{}}
		for _, name := range cfg.Tells() {
			if !claimed[name] {
				claimed[name], p.tells[name] = true, true
			}
		}
		w.probes = append(w.probes, p)
	}
}

// Stop takes the last readings and ends all. A probe that waits for an answer is
// not waited for.
func (w *Watch) Stop() {
	if w.stopping.Swap(true) {
		return
	}
	w.cancel()
	var all sync.WaitGroup
	for _, t := range w.tracks {
		all.Go(t.Stop)
	}
	all.Wait()
	w.doubts.ended = time.Now()
}

// Used is the share of the processor time that the service may use that it did use in
// the last second or so; false where that is not known. Any goroutine may call it.
func (w *Watch) Used() (share float64, ok bool) {
	if u := w.used.Load(); u != nil && u.known && time.Since(u.at) < max(oldUsed, 2*w.cfg.Step) {
		return u.share, true
	}
	return 0, false
}

// Series returns what was read, by name, with offsets from started, which is in
// this machine's own clock. It is for after Stop.
func (w *Watch) Series(started time.Time) []model.HostSeries {
	list := []model.HostSeries{w.doubts.series(started)}
	for _, t := range w.tracks {
		list = append(list, t.Series(started)...)
	}
	list = withoutOnly(list)
	for i := range list {
		list[i].Metric = w.cfg.Service + ":" + list[i].Metric
	}
	slices.SortFunc(list, func(a, b model.HostSeries) int { return strings.Compare(a.Metric, b.Metric) })
	return list
}

// Failures are what could not be read, a line for each source, and what makes
// that which was read doubtful. It is for after Stop.
func (w *Watch) Failures() []string {
	list := w.doubts.texts()
	for _, p := range w.probes {
		for _, note := range p.session.Notes() {
			list = append(list, p.name+": "+note)
		}
	}
	return list
}

// Notes say what was read less often than asked for, to bound the cost. It is for
// after Stop.
func (w *Watch) Notes() []string { return w.host.notes() }

// part is something of the host to read.
type part interface {
	// Parse emits what there is, and returns what could not be read.
	Parse(out kernel.Emit) error
	Close()
}

// host is what the kernel tells of the service.
type host struct {
	names  []string // of parts, in messages
	parts  []part
	bounds []*bound
	doubts *doubts
	spent  time.Duration
	note   func(at time.Time, cpu, cores float64) // nil: it is not told
}

func (h *host) add(name string, p part, err error) {
	if err != nil {
		h.doubts.failed(name, err)
		return
	}
	h.names, h.parts = append(h.names, name), append(h.parts, p)
}

// Read reads all parts. It keeps its thread, which alone has a clock for the
// processor time of just this work.
func (h *host) Read(out func(string, float64)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, _ := procself.ThreadTime()
	at := time.Now()
	cpu, cores := math.NaN(), 0.0
	take := func(signal string, value float64) {
		switch signal {
		case "cpu":
			cpu = value
		case "quota":
			cores = value
		}
		out(signal, value)
	}
	h.doubts.again()
	for i, p := range h.parts {
		h.doubts.read(h.names[i])
		if err := p.Parse(take); err != nil {
			h.doubts.failed(h.names[i], err)
		}
	}
	if h.note != nil && !math.IsNaN(cpu) && cores > 0 {
		h.note(at, cpu, cores)
	}
	after, _ := procself.ThreadTime()
	h.spent += after - before
	out("watch", h.spent.Seconds())
}

// Close closes all parts.
func (h *host) Close() {
	for _, p := range h.parts {
		p.Close()
	}
}

func (h *host) notes() []string {
	var list []string
	for _, b := range h.bounds {
		if b.left > 0 {
			list = append(list, fmt.Sprintf("%s: read at %d of %d readings, each of which took %v of processor time, to stay within %v %% of a core",
				b.what, b.took, b.took+b.left, (b.spent/time.Duration(max(b.took, 1))).Round(10*time.Microsecond), 100*share))
		}
	}
	return list
}

// probed is a probe in use.
type probed struct {
	doubts  *doubts
	ctx     context.Context // of the readings before the last
	name    string
	session *probe.Session
	every   time.Duration
	tells   map[string]bool // which signals are taken from it
}

// How long an answer is waited for, and how long at the end.
const (
	answerTimeout = 5 * time.Second
	lastTimeout   = 2 * time.Second
)

// Read asks once. A question that the end cuts off is no failure: the last one
// follows.
func (p *probed) Read(out func(string, float64)) {
	ctx, limit := p.ctx, answerTimeout
	last := p.ctx.Err() != nil
	if last {
		ctx, limit = context.WithoutCancel(p.ctx), lastTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	values, err := p.session.Read(ctx)
	if err != nil && !last && p.ctx.Err() != nil {
		return
	}
	p.doubts.read(p.name)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = context.Cause(ctx)
		}
		p.doubts.failed(p.name, err)
		return
	}
	for name, v := range values {
		if p.tells[probe.Pattern(name)] {
			out(name, v)
		}
	}
}

// Close ends the probe's connections.
func (p *probed) Close() { p.session.Close() }
