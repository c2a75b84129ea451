package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/campaign"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/wire"
)

// Queue is what the master needs of package queue. It carries and keeps
// nothing: what is dispatched or ordered may get lost.
type Queue interface {
	// Dispatch sends an assignment to its node. An error that is not
	// model.ErrUnavailable will not pass.
	Dispatch(a wire.Assignment) error
	// Order tells nodes to start or to cancel a step's tasks.
	Order(ctx context.Context, o wire.Order, nodes []model.NodeID) error
	PublishEvent(ev model.Event) error
	NewToken(spec identity.TokenSpec) (identity.Token, error)
}

// Fleet brings nodes up and down again.
type Fleet interface {
	// Nodes returns the nodes that the fleet has or will have: ids and labels.
	Nodes() []model.Node
	// Services returns the addresses of the services that come with the
	// fleet, by name; nil when there are none.
	Services() map[string]string
	// Up starts them. ended is called, from any goroutine, when a node's
	// agent has ended without being told to: why, for people, and whether it
	// is started again.
	Up(ctx context.Context, ended func(node model.NodeID, why string, again bool)) error
	// Beside is how long Up has spent on what no node is: its services.
	Beside() time.Duration
	// Down ends what Up started. It is called even when Up failed.
	Down(ctx context.Context) error
}

// Config is what a master is made from.
type Config struct {
	Store     store.Store
	Queue     Queue
	Authority *identity.Authority
	Kinds     experiment.Kinds
	// Fleets makes the fleet that a run's experiment asks for, if this server
	// brings it up itself; nil for a fleet of agents that the user started.
	// It fails if this machine cannot have such a fleet.
	Fleets func(model.RunID, *experiment.Experiment) (Fleet, error)
	// Host and BootID are those of this server's machine, as agents on it tell
	// them.
	Host, BootID string
	// Lease is how long a node may be silent before it is lost; a minute if zero.
	Lease time.Duration
	// RunQuota is how much of what its tasks print a run may keep, and StoreQuota
	// how much the store may hold, in bytes; 0: no bound. KeepFree is how much of
	// the store's disk stays free; 0: see [KeepFree].
	RunQuota, StoreQuota, KeepFree int64
	// Guest: the server lives in a command, and minds only campaigns that are
	// begun or resumed while it runs.
	Guest bool
	// Server is this server's public key: which runs of a shared store are its.
	Server  string
	Version string
	Log     *slog.Logger
}

// Master executes runs.
type Master struct {
	store.Reader // reading goes straight to the store
	answer.Asker // so do studies
	cfg          Config
	store        store.Store
	log          *slog.Logger
	reg          *registry
	ev           *events

	leases *leases
	minder *campaign.Minder
	// stopped is when Serve was told to stop; zero before. Guarded by mu.
	stopped time.Time
	wake    chan struct{} // holds a token when runs have arrived

	mu       sync.Mutex
	active   map[model.RunID]*execution    // submitted or resumed, and not over
	arrived  []*execution                  // those that Serve has not taken yet
	finished map[model.RunID]chan struct{} // closed when a run of this master is over
	// heldUp is when results were last held up by no fault of their tasks: the
	// store failed, or a disk had no room. Zero: never.
	heldUp     time.Time
	storeFails string // why the store does not work; "" if it does
	noRoom     string // why it is to take no more; "" if it may
	// outage is what people were told of that goes on; "" if nothing does.
	outage model.EventKind
	stuck  map[model.NodeID]bool // nodes of which people were told that they wait
	tells  map[model.NodeID]tells
	// artifacts are those of runs that have delivered some lately.
	artifacts map[model.RunID]*artifacts
	inquiries map[string]*inquiry // under way
	readings  readings            // of nodes that are watched; with a lock of its own
	// ended are attempts with results that came lately.
	ended map[wire.Attempt]bool
}

const (
	// defaultLease is long, because a node whose processor is starved by the
	// benchmark must not be taken for dead.
	defaultLease = time.Minute
	// heartbeat is how often a node is to be heard.
	heartbeat = 2 * time.Second
)

// New prepares a master; Serve makes it work.
func New(cfg Config) *Master {
	if cfg.Lease <= 0 {
		cfg.Lease = defaultLease
	}
	cfg.Host = cmp.Or(cfg.Host, "of this server")
	m := &Master{
		Reader: cfg.Store,
		Asker:  answer.Asker{Store: cfg.Store, Kinds: cfg.Kinds, Version: cfg.Version, Now: time.Now},
		cfg:    cfg, store: cfg.Store, log: cfg.Log,
		reg:       newRegistry(cfg.Lease),
		wake:      make(chan struct{}, 1),
		active:    make(map[model.RunID]*execution),
		finished:  make(map[model.RunID]chan struct{}),
		artifacts: make(map[model.RunID]*artifacts),
		ended:     make(map[wire.Attempt]bool),
		stuck:     make(map[model.NodeID]bool),
		tells:     make(map[model.NodeID]tells),
		inquiries: make(map[string]*inquiry),
	}
	m.leases = newLeases(hostOf(model.Facts{Hostname: cfg.Host, BootID: cfg.BootID}), func(id model.NodeID) host {
		n, _ := m.reg.get(id)
		return hostOf(n.node.Facts)
	})
	m.ev = newEvents(cfg.Store, cfg.Queue, cfg.Log)
	m.ev.answered = m.storeAnswered
	m.minder = campaign.New(campaign.Config{
		Store: cfg.Store, Runs: m, Server: cfg.Server, Guest: cfg.Guest, Log: cfg.Log,
		Times: func(c model.Campaign) (campaign.Times, error) { return experiment.ScheduleOf(c, cfg.Kinds) },
	})
	return m
}

// Recover reads what the store knows from before this start: nodes, and runs
// that a former master left in the middle, which become interrupted. It returns
// the interrupted runs of this server, the latest first: they can be resumed. It
// must be called once, before messages are served.
func (m *Master) Recover(ctx context.Context) (interrupted []model.Run, err error) {
	if err := m.store.Beat(ctx, m.cfg.Server); err != nil {
		return nil, err
	}
	nodes, err := m.store.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the known nodes: %w", err)
	}
	for _, n := range nodes {
		m.reg.know(n)
	}
	list, err := m.store.Runs(ctx, store.Filter{States: []model.RunState{model.RunPending, model.RunRunning,
		model.RunInterrupted}})
	if err != nil {
		return nil, fmt.Errorf("reading unfinished runs: %w", err)
	}
	for _, r := range list.Runs {
		if r.Server != m.cfg.Server {
			continue // another server's that shares the store
		}
		interrupted = append(interrupted, r)
		if r.State.Final() {
			continue
		}
		reason := "the scalebench server stopped before the run began"
		if !r.Started.IsZero() {
			reason = "the scalebench server stopped during the run"
		}
		if err := m.store.SetRunState(ctx, r.ID, model.RunInterrupted, reason, time.Now()); err != nil {
			return nil, fmt.Errorf("marking run %s as interrupted: %w", r.ID, err)
		}
	}
	return interrupted, nil
}

// Serve executes submitted runs until ctx is done: each begins when its nodes
// are free. Then it ends all runs in order; they can be resumed.
func (m *Master) Serve(ctx context.Context) error {
	var helpers, runs sync.WaitGroup
	defer helpers.Wait()
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	helpers.Go(func() { m.ev.write(background) })
	defer stop()
	helpers.Go(func() { m.beat(background) })
	helpers.Go(func() { m.watchNodes(ctx) })
	helpers.Go(func() {
		m.checkRoom(ctx)
		every(ctx, roomPoll, func() { m.checkRoom(ctx) })
	})
	helpers.Go(func() { m.minder.Mind(ctx) })
	defer runs.Wait()
	for {
		for _, x := range m.takeArrived() {
			runs.Go(func() {
				defer context.AfterFunc(ctx, func() { m.noteStop(); x.cancel(errInterrupted) })()
				m.execute(x)
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-m.wake:
		}
	}
}

// What may take how long once the server is told to stop: users wait five
// seconds before they lose patience, and so do tools that kill what has not
// ended. Tasks are killed after three.
const (
	stopTasks  = 3500 * time.Millisecond // they end, and their results are stored
	stopFleet  = 3900 * time.Millisecond // nodes are gone
	stopRecord = 4300 * time.Millisecond // the state of the run is stored
	lastFlush  = 400 * time.Millisecond  // of events, after that
)

// noteStop notes that the server is told to stop.
func (m *Master) noteStop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped.IsZero() {
		m.stopped = time.Now()
	}
}

// ending is the context of what ends a run, or a part of it, also when that was
// cut: for grace, but until so long after a stop of the server.
func (m *Master) ending(ctx context.Context, grace, afterStop time.Duration) (context.Context, context.CancelFunc) {
	m.mu.Lock()
	stopped := m.stopped
	m.mu.Unlock()
	until := time.Now().Add(grace)
	if last := stopped.Add(afterStop); !stopped.IsZero() && last.Before(until) {
		until = last
	}
	return context.WithDeadline(context.WithoutCancel(ctx), until)
}

// every does something again and again, after pauses, until ctx is done.
func every(ctx context.Context, pause time.Duration, do func()) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}

// beat lets the servers that share the store know that this one lives, until ctx is
// done: then that it has ended, which they learn later if the store takes long.
func (m *Master) beat(ctx context.Context) {
	every(ctx, store.ServerBeat, func() {
		if err := m.store.Beat(ctx, m.cfg.Server); err != nil {
			m.log.Debug("telling that the server lives", "err", err)
		}
	})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
	defer cancel()
	if err := m.store.Leave(ctx, m.cfg.Server); err != nil {
		m.log.Debug("leaving the store", "err", err)
	}
}

func (m *Master) takeArrived() []*execution {
	m.mu.Lock()
	defer m.mu.Unlock()
	arrived := m.arrived
	m.arrived = nil
	return arrived
}

// reserve claims a run for this master; false when it has it already. It is
// given back by release.
func (m *Master) reserve(id model.RunID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.finished[id]; ok {
		return false
	}
	m.finished[id] = make(chan struct{})
	return true
}

// enqueue puts a reserved run in line for its nodes, behind those that came
// before. From here on it can be cancelled. exp is nil for a batch.
func (m *Master) enqueue(run model.Run, nodes []model.Node, exp *experiment.Experiment) {
	x := &execution{Master: m, run: run, exp: exp}
	x.ctx, x.cancel = context.WithCancelCause(context.Background())
	x.timeouts.ready, x.timeouts.node = time.Minute, 2*time.Minute
	line := claim{run: run.ID, name: run.Name, nodes: model.NodeIDs(nodes)}
	if exp != nil {
		x.timeouts.ready, x.timeouts.node = exp.Timeouts.Ready.Std(), exp.Timeouts.Node.Std()
		line.own, line.shared = exp.Fleet.Agents == nil, exp.Shared
	}
	x.claim = line.again()
	m.leases.request(x.claim) // before anything can take it back
	m.mu.Lock()
	m.active[run.ID] = x
	m.arrived = append(m.arrived, x)
	m.mu.Unlock()
	notify(m.wake)
}

// attemptOf returns the attempt that a run is at; nil when it is at none.
func (m *Master) attemptOf(run model.RunID) *attempt {
	m.mu.Lock()
	defer m.mu.Unlock()
	if x := m.active[run]; x != nil {
		return x.current
	}
	return nil
}

// attemptOn returns the attempt of the run that has leased a node.
func (m *Master) attemptOn(node model.NodeID) *attempt { return m.attemptOf(m.leases.holder(node)) }

// watchNodes looks for silent nodes, until ctx is done.
func (m *Master) watchNodes(ctx context.Context) {
	last := time.Now()
	every(ctx, time.Second, func() {
		now := time.Now()
		if now.Sub(last) > m.reg.slowAfter {
			// This process was paused or starved: heartbeats may wait unread.
			m.reg.pardon(now)
			m.tell(model.Event{Kind: model.EventServerSlow, Severity: model.Warning,
				Text: "the scalebench server stood still or was starved for " + num.Brief(now.Sub(last))})
		}
		last = now
		for _, c := range m.reg.expire(now) {
			m.nodeChanged(c, fmt.Sprintf("no heartbeat for %s", m.cfg.Lease))
		}
	})
}

// nodeChanged tells people, and the attempt that runs on the node when the node is lost.
func (m *Master) nodeChanged(c change, why string) {
	if c.to == model.NodeLost || c.to == model.NodeLeft || c.replaced && c.rekeyed {
		if a := m.attemptOn(c.node); a != nil {
			a.lose(c.node, why)
		}
	}
	m.tellChange(c, why)
}

// tellChange tells people of a node that changed.
func (m *Master) tellChange(c change, why string) {
	ev := model.Event{Node: c.node}
	switch {
	case c.to == model.NodeLost:
		ev.Kind, ev.Severity, ev.Text = model.EventNodeLost, model.Warning, "is lost: "+why
	case c.to == model.NodeSlow:
		ev.Kind, ev.Text = model.EventNodeSlow, "is heard late; it may be busy"
	case c.to == model.NodeLeft:
		ev.Kind, ev.Text = model.EventNodeLeft, "has left"
	case c.from == model.NodeAlive || c.hello:
		return
	default:
		ev.Kind, ev.Text = model.EventNodeBack, "is heard again"
	}
	ev.Text = fmt.Sprintf("node %s %s", c.node, ev.Text)
	m.tell(ev)
}

// tellsPerMinute is how many events one node can have told in a minute. An agent
// that comes and goes all the time must not fill the store.
const tellsPerMinute = 60

// tells counts the events of a node in a minute.
type tells struct {
	minute int64
	count  int
}

// tell publishes an event that names no run. One of a node belongs to the run
// that has leased it, and one of the server to all runs that hold leases: who
// looks at them later must know.
func (m *Master) tell(ev model.Event) {
	switch n := m.countTell(ev.Node, time.Now()); {
	case n > tellsPerMinute+1:
		return
	case n > tellsPerMinute:
		ev = model.Event{Node: ev.Node, Kind: model.EventQuota, Severity: model.Warning,
			Text: fmt.Sprintf("node %s: more than %d events in a minute; the rest of this minute is left out", ev.Node, tellsPerMinute)}
	}
	runs := []model.RunID{m.leases.holder(ev.Node)}
	if ev.Node == "" {
		runs = m.leases.holding()
	}
	for _, run := range runs {
		ev.Run = run
		m.ev.emit(ev)
	}
	if len(runs) == 0 {
		m.ev.emit(ev)
	}
}

// countTell counts an event of a node; those of no node have no bound.
func (m *Master) countTell(node model.NodeID, now time.Time) int {
	if node == "" {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t, minute := m.tells[node], now.Unix()/60
	if t.minute != minute {
		t = tells{minute: minute}
		maps.DeleteFunc(m.tells, func(_ model.NodeID, other tells) bool { return other.minute != minute })
	}
	t.count++
	m.tells[node] = t
	return t.count
}

// persist calls write until it succeeds, fails for a reason that time does
// not cure, or ctx is done. A failing store stops the run, not its data.
func (m *Master) persist(ctx context.Context, doing string, write func() error) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := write()
		m.storeAnswered(ctx, err)
		if err == nil {
			return nil
		}
		if !errors.Is(err, model.ErrUnavailable) {
			return fmt.Errorf("%s: %w", doing, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", doing, ctx.Err())
		case <-time.After(pause):
		}
	}
}
