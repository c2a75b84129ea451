package board

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/procself"
)

// Role is what a process of the application does.
type Role string

// Roles.
const (
	// Web has worker threads and forwards to the application.
	Web Role = "web"
	// App makes the pages.
	App Role = "app"
	// Router forwards to the upstream with the fewest requests.
	Router Role = "router"
	// All is web and app in one process.
	All Role = "all"
)

// Config is what a process of the application is told.
type Config struct {
	Role   Role
	Listen string // host:port

	// DB are URLs of databases for reading and writing; ReadDB, if there are any,
	// of replicas that are read instead. A URL may name several hosts. Of roles
	// App and All.
	DB, ReadDB []string
	// Upstreams are host:port, of roles Web and Router.
	Upstreams []string
	// RoundRobin gives upstreams requests in turn; otherwise one goes to the
	// upstream with the fewest.
	RoundRobin bool

	Work Work
	// DBUnit is what a unit of the database's work costs in processor time, as
	// Calibrate says; 0: what is stored in the database.
	DBUnit time.Duration
	// MeterDB ends the database's work by the processor time of its thread, not after so
	// many units. Its threads must be on this machine.
	MeterDB bool
	// DBWait is for how long each interaction has the database sleep over its
	// connection, as locks and disks have it wait: without processor time.
	DBWait time.Duration

	Threads     int // requests at a time, 0: no limit
	Pool        int // connections to each database
	Backlog     int // connections that wait to be accepted, 0: as many as the system allows
	Connections int // open connections, 0: no limit; more wait to be accepted
}

func (c Config) check() error {
	app := c.Role == App || c.Role == All
	switch {
	case !slices.Contains([]Role{Web, App, Router, All}, c.Role):
		return model.Usagef("no role is called %q: there are web, app, router and all", c.Role)
	case app && len(c.DB) == 0:
		return model.Usagef("role %s needs a database", c.Role)
	case !app && len(c.Upstreams) == 0:
		return model.Usagef("role %s needs upstreams to forward to", c.Role)
	case app && len(c.Upstreams) > 0:
		return model.Usagef("role %s forwards nothing; upstreams are of roles web and router", c.Role)
	case !app && len(c.DB)+len(c.ReadDB) > 0:
		return model.Usagef("role %s has no database; that is of roles app and all", c.Role)
	case app && c.Pool < 1:
		return model.Usagef("the pool needs at least one connection")
	case c.Threads < 0 || c.Backlog < 0 || c.Connections < 0 || c.DBUnit < 0 || c.DBWait < 0:
		return model.Usagef("threads, backlog, connections, and the database's unit and wait are 0 or more")
	}
	if _, known := procself.ThreadTime(); len(c.Work) > 0 && !known {
		return errors.New("work needs Linux, where a thread's processor time is known exactly")
	}
	return nil
}

// tiers are those for whose work the role's own processor is used.
func (c Config) tiers() []string {
	if c.Role == All {
		return []string{string(Web), string(App)}
	}
	return []string{string(c.Role)}
}

// Server is a process of the application.
type Server struct {
	config       Config
	interactions []interaction
	paths        map[string]int // index of the interaction
	work         []time.Duration
	counts       []count
	app          *app
	forward      *forwarder
	listener     *listener
	http         *http.Server
	pages        sync.Pool
	started      time.Time

	threads limiter
	gone    atomic.Int64 // requests whose users did not wait for a thread
	worked  atomic.Int64 // ns of processor time of work
	ending  atomic.Bool
}

// New opens the databases, and listens. The caller calls Serve, or Close.
func New(ctx context.Context, config Config) (*Server, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	all := interactions()
	s := &Server{config: config, interactions: all, paths: map[string]int{"/": 0}, work: config.Work.of(all, config.tiers()...),
		counts: make([]count, len(all)), started: time.Now()}
	s.pages.New = func() any { return &page{} }
	for i, x := range all {
		s.paths[x.Path] = i
	}
	s.threads.limit(config.Threads)
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	var err error
	if s.listener, err = listen(ctx, config.Listen, config.Backlog, config.Connections); err != nil {
		return nil, errors.Join(err, s.disconnect())
	}
	// What fails is answered and counted; a user who goes away is no error.
	s.http = &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Hour}
	return s, nil
}

func (s *Server) connect(ctx context.Context) error {
	if s.config.Role == Web || s.config.Role == Router {
		s.forward = &forwarder{roundRobin: s.config.RoundRobin}
		for _, a := range s.config.Upstreams {
			s.forward.upstreams = append(s.forward.upstreams, &upstream{address: a})
		}
		return nil
	}
	databases, err := openDatabases(ctx, s.config.DB, s.config.ReadDB, s.config.Pool)
	if err != nil {
		return err
	}
	s.app = &app{databases: databases, dbWork: s.config.Work.of(s.interactions, tierDB), dbWait: s.config.DBWait}
	if err := databases.calibrated(ctx, s.app.dbWork, s.config.DBUnit, s.config.MeterDB); err != nil {
		return errors.Join(err, databases.close())
	}
	return nil
}

func (s *Server) disconnect() error {
	if s.app != nil {
		return s.app.databases.close()
	}
	for _, u := range s.forward.upstreams {
		u.close()
	}
	return nil
}

// Address is where it listens, host:port.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Backlog is how many connections may wait to be accepted: what was asked for,
// or less where the system allows no more. 0 if the system does not tell.
func (s *Server) Backlog() int { return s.listener.backlog }

// drainTime is how long requests have to end after the server was told to.
const drainTime = 4 * time.Second

// Serve answers until ctx is done; requests that have begun are answered then,
// within some seconds.
func (s *Server) Serve(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.http.Serve(s.listener) }()
	select {
	case err := <-ended:
		return errors.Join(err, s.disconnect())
	case <-ctx.Done():
	}
	s.ending.Store(true)
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	err := s.http.Shutdown(late)
	if err != nil {
		err = errors.Join(fmt.Errorf("ending: requests were not answered within %s: %w", drainTime, err), s.http.Close())
	}
	if end := <-ended; !errors.Is(end, http.ErrServerClosed) && !errors.Is(end, net.ErrClosed) {
		err = errors.Join(err, end)
	}
	return errors.Join(err, s.disconnect())
}

// Close ends a server that does not serve.
func (s *Server) Close() error { return errors.Join(s.listener.Close(), s.disconnect()) }

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i, ok := s.paths[r.URL.Path]
	p := s.pages.Get().(*page)
	defer s.pages.Put(p)
	p.reset()
	if !ok {
		s.other(w, r, p)
		return
	}
	started := time.Now()
	if s.threads.enter(r.Context()) != nil {
		s.gone.Add(1)
		return
	}
	s.handle(w, r, i, p)
	s.counts[i].add(time.Since(started), p.status)
}

// handle makes and writes the page; its worker thread is free then, even if that
// panics.
func (s *Server) handle(w http.ResponseWriter, r *http.Request, i int, p *page) {
	defer s.threads.leave()
	s.answer(w, r, i, p)
	p.write(w)
}

// answer makes the page of interaction i, and works.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, i int, p *page) {
	interaction := s.interactions[i]
	switch {
	case r.Method != http.MethodPost && (interaction.Write || r.Method != http.MethodGet && r.Method != http.MethodHead):
		allowed := "GET, HEAD, POST"
		if interaction.Write {
			allowed = "POST"
		}
		w.Header().Set("Allow", allowed)
		p.show(&fault{http.StatusMethodNotAllowed, interaction.Name + " takes " + allowed})
	case s.forward != nil:
		s.worked.Add(int64(spin(s.work[i])))
		s.forward.answer(w, r, p)
	default:
		s.app.answer(w, r, i, interaction, p)
		s.worked.Add(int64(spin(s.work[i])))
	}
}

// write sends the page.
func (p *page) write(w http.ResponseWriter) {
	h := w.Header()
	h["Content-Type"] = []string{p.contentType}
	h["Content-Length"] = []string{strconv.Itoa(len(p.body))}
	w.WriteHeader(p.status)
	_, _ = w.Write(p.body) // a user who has gone is told nothing
}

// other answers what is no interaction; it needs no worker thread.
func (s *Server) other(w http.ResponseWriter, r *http.Request, p *page) {
	switch r.URL.Path {
	case StatusPath:
		p.contentType = "application/json"
		p.body = append(p.body, s.Status().json()...)
	case HealthPath:
		p.contentType = "text/plain; charset=utf-8"
		if err := s.health(r.Context()); err != nil {
			p.status = http.StatusServiceUnavailable
			p.raw(err.Error(), "\n")
		} else {
			p.raw("ok\n")
		}
	default:
		p.show(&fault{http.StatusNotFound, "there is no such page"})
	}
	p.write(w)
}

// health is nil where requests can be answered.
func (s *Server) health(ctx context.Context) error {
	switch {
	case s.ending.Load():
		return errors.New("it is ending")
	case s.forward != nil:
		return s.forward.health(ctx)
	}
	return s.app.databases.health(ctx)
}
