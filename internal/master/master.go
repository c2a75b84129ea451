package master

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/answer"
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
	// agent has ended without being told to.
	Up(ctx context.Context, ended func(model.NodeID)) error
	// Down ends what Up started. It is called even when Up failed.
	Down(ctx context.Context) error
}

// Config is what a master is made from.
type Config struct {
	Store     store.Store
	Queue     Queue
	Authority *identity.Authority
	Kinds     experiment.Kinds
	// Fleets makes the fleet that an experiment asks for, where this server
	// brings it up itself; nil for one of agents that somebody else started.
	// It fails where such a fleet cannot be had here.
	Fleets func(*experiment.Experiment) (Fleet, error)
	// Lease is how long a node may be silent before it is lost; Heartbeat how
	// often it is to be heard.
	Lease, Heartbeat time.Duration
	// Server is this server's public key: which runs of a shared store are its.
	Server  string
	Version string
	Log     *slog.Logger
	Now     func() time.Time
}

// Master executes runs.
type Master struct {
	store.Reader // reading goes straight to the store
	answer.Asker // so do studies
	cfg          Config
	log          *slog.Logger
	reg          *registry
	ev           *events

	queue chan struct{} // holds a token when waiting has grown

	mu       sync.Mutex
	waiting  []model.RunID // submitted or resumed, in order
	active   *execution
	current  *attempt
	finished map[model.RunID]chan struct{} // closed when a run of this master is over
	// storeTrouble is when the store last failed; zero when it never did.
	storeTrouble time.Time
	storeFailing bool
	// tasks are those of the run that last delivered an artifact.
	tasks map[model.TaskID]model.Task
	// ended are attempts whose results have come, of this run and the last.
	ended map[wire.Attempt]bool
}

// Defaults of the lease: long, because a node whose processor is starved by
// the benchmark must not be taken for dead.
const (
	DefaultLease     = time.Minute
	DefaultHeartbeat = 2 * time.Second
)

// New prepares a master; Serve makes it work.
func New(cfg Config) *Master {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Lease <= 0 {
		cfg.Lease = DefaultLease
	}
	if cfg.Heartbeat <= 0 {
		cfg.Heartbeat = DefaultHeartbeat
	}
	m := &Master{
		Reader: cfg.Store,
		Asker:  answer.Asker{Store: cfg.Store, Kinds: cfg.Kinds, Version: cfg.Version},
		cfg:    cfg, log: cfg.Log,
		reg:      newRegistry(cfg.Lease, cfg.Heartbeat),
		queue:    make(chan struct{}, 1),
		finished: make(map[model.RunID]chan struct{}),
		ended:    make(map[wire.Attempt]bool),
	}
	m.ev = newEvents(cfg.Store, cfg.Queue, cfg.Log, cfg.Now)
	m.ev.answered = m.storeAnswered
	return m
}

// Recover reads what the store knows from before this start: nodes, and runs
// that a former master left in the middle, which become interrupted. It must
// be called once, before messages are served.
func (m *Master) Recover(ctx context.Context) error {
	nodes, err := m.cfg.Store.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("reading the known nodes: %w", err)
	}
	for _, n := range nodes {
		m.reg.know(n)
	}
	runs, err := m.cfg.Store.Runs(ctx, 0)
	if err != nil {
		return fmt.Errorf("reading unfinished runs: %w", err)
	}
	for _, r := range runs {
		if r.State.Final() || r.Server != m.cfg.Server {
			continue // over, or another server's that shares the store
		}
		err := m.cfg.Store.SetRunState(ctx, r.ID, model.RunInterrupted, "the scalebench server ended in mid-run", m.cfg.Now())
		if err != nil {
			return fmt.Errorf("marking run %s as interrupted: %w", r.ID, err)
		}
	}
	return nil
}

// Serve executes submitted runs, one after another, until ctx is done.
func (m *Master) Serve(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	wg.Go(func() { m.ev.write(background) })
	defer stop()
	wg.Go(func() { m.watchNodes(ctx) })
	for {
		x, ok := m.nextRun(ctx)
		if !ok {
			return nil
		}
		m.execute(x)
	}
}

// nextRun waits for a submitted run and makes it the active one, so that
// there is no moment at which it could not be cancelled.
func (m *Master) nextRun(ctx context.Context) (*execution, bool) {
	for ctx.Err() == nil {
		if x := m.takeWaiting(ctx); x != nil {
			return x, true
		}
		select {
		case <-ctx.Done():
		case <-m.queue:
		}
	}
	return nil, false
}

func (m *Master) takeWaiting(ctx context.Context) *execution {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.waiting) == 0 {
		return nil
	}
	x := &execution{m: m, run: model.Run{ID: m.waiting[0]}}
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	m.waiting = m.waiting[1:]
	m.active = x
	return x
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

// enqueue makes a reserved run wait for its turn.
func (m *Master) enqueue(id model.RunID) {
	m.mu.Lock()
	m.waiting = append(m.waiting, id)
	m.mu.Unlock()
	select {
	case m.queue <- struct{}{}:
	default:
	}
}

// watchNodes looks for silent nodes, until ctx is done.
func (m *Master) watchNodes(ctx context.Context) {
	every := min(time.Second, m.cfg.Heartbeat)
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := m.cfg.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := m.cfg.Now()
		if now.Sub(last) > m.reg.slowAfter {
			// This process was paused or starved: heartbeats may wait unread.
			m.reg.pardon(now)
		}
		last = now
		for _, c := range m.reg.expire(now) {
			m.nodeChanged(c, fmt.Sprintf("not heard for %s", m.cfg.Lease))
		}
	}
}

// nodeChanged tells people, and the running attempt when the node is lost.
func (m *Master) nodeChanged(c change, why string) {
	switch {
	case c.to == model.NodeLost || c.to == model.NodeLeft || c.replaced && c.rekeyed:
		m.loseNode(c.node, why)
	}
	switch {
	case c.to == model.NodeLost:
		m.tell(model.Event{Node: c.node, Kind: model.EventNodeLost, Severity: model.Warning,
			Text: fmt.Sprintf("node %s is lost: %s", c.node, why)})
	case c.to == model.NodeSlow:
		m.tell(model.Event{Node: c.node, Kind: model.EventNodeSlow, Severity: model.Info,
			Text: fmt.Sprintf("node %s is heard late; it may be busy", c.node)})
	case c.to == model.NodeLeft:
		m.tell(model.Event{Node: c.node, Kind: model.EventNodeLeft, Severity: model.Info,
			Text: fmt.Sprintf("node %s has left", c.node)})
	case c.to == model.NodeAlive && c.from != model.NodeAlive && !c.hello:
		m.tell(model.Event{Node: c.node, Kind: model.EventNodeBack, Severity: model.Info,
			Text: fmt.Sprintf("node %s is heard again", c.node)})
	}
}

// tell publishes an event of the fleet or the server. While a run is executed
// it belongs to that run: whoever looks at it later must know.
func (m *Master) tell(ev model.Event) {
	m.mu.Lock()
	if m.active != nil {
		ev.Run = m.active.run.ID
	}
	m.mu.Unlock()
	m.ev.emit(ev)
}

// persist calls write until it succeeds, fails for a reason that time does
// not cure, or ctx is done. A failing store stops the run, not its data.
func (m *Master) persist(ctx context.Context, doing string, write func(context.Context) error) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := write(ctx)
		m.storeAnswered(err)
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

// storeAnswered keeps track of whether the store works, and tells people when
// that changes.
func (m *Master) storeAnswered(err error) {
	failing := errors.Is(err, model.ErrUnavailable)
	m.mu.Lock()
	was := m.storeFailing
	m.storeFailing = failing
	if failing {
		m.storeTrouble = m.cfg.Now()
	}
	m.mu.Unlock()
	switch {
	case failing && !was:
		m.log.Error("the store fails; agents keep their results", "err", err)
		m.tell(model.Event{Kind: model.EventStoreFailing, Severity: model.Problem,
			Text: fmt.Sprintf("the store fails: %v; results stay with the agents and are stored as soon as it works again", err)})
	case !failing && was:
		m.log.Info("the store works again")
		m.tell(model.Event{Kind: model.EventStoreBack, Severity: model.Info,
			Text: "the store works again; waiting results are being stored"})
	}
}
