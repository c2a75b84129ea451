package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
)

// ServerConfig says how the embedded server runs.
type ServerConfig struct {
	// DataDir holds the queue's certificate and its lock.
	DataDir string
	// Listen is "host:port"; port 0 means a free one, "" means
	// "127.0.0.1:0". Off loopback the server speaks TLS only, with a
	// certificate that it makes itself.
	Listen string
	// Advertise are the addresses ("host:port") that join tokens carry;
	// if there are none, they follow from Listen.
	Advertise []string
	// Insecure: the user explicitly allowed that traffic leaves this
	// machine without TLS.
	Insecure  bool
	Key       *identity.Key // the master's
	Authority *identity.Authority
	Log       *slog.Logger
}

const (
	// embeddedPayload is the largest message, in bytes. Larger bodies travel in
	// parts; a task has to fit, and a file that makes tasks has at most 1 MiB.
	// Agents and clients send no larger one to a cluster either: it must fit
	// into maxWaitingOne with the small ones beside it.
	embeddedPayload = 2 << 20
	// embeddedPending is how much may wait for one connection before the
	// server gives it up as too slow, in bytes. The master's own reads what a
	// thousand agents send at once.
	embeddedPending = 64 << 20
	// embeddedSubs is how many subscriptions a connection may have; the
	// master's has about twenty, an agent's three.
	embeddedSubs = 64
	startTimeout = 30 * time.Second
)

// Server is the embedded server.
type Server struct {
	ns     *server.Server
	info   ServerInfo
	access *access
	lock   *os.File
	close  sync.Once
}

// StartServer starts the embedded server and returns when it takes
// connections. Only one process at a time can use a data directory.
func StartServer(ctx context.Context, cfg ServerConfig) (*Server, error) {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.Listen = cmp.Or(cfg.Listen, "127.0.0.1:0")
	host, port, err := splitListen(cfg.Listen)
	if err != nil {
		return nil, err
	}
	lock, err := lockDir(cfg.DataDir)
	if err != nil {
		return nil, fmt.Errorf("starting the queue: %w", err)
	}
	s, err := start(ctx, cfg, host, port)
	if err != nil {
		_ = lock.Close() // the first error matters
		return nil, fmt.Errorf("starting the queue: %w", err)
	}
	s.lock = lock
	return s, nil
}

// lockDir makes the data directory if it is missing and locks it for this
// process. Two servers on the same files would destroy them. The kernel frees
// the lock however the process ends.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "queue.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close() // the first error matters
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, model.Unavailablef("data directory %s is in use by another scalebench server; stop it, or choose "+
			"another directory", dir)
	}
	return nil, fmt.Errorf("locking data directory %s: %w", dir, err)
}

func start(ctx context.Context, cfg ServerConfig, host string, port int) (*Server, error) {
	a := newAccess(cfg.Key.Public(), cfg.Authority)
	s := &Server{access: a, info: ServerInfo{Endpoint: identity.Endpoint{ServerKey: cfg.Key.Public(), Insecure: cfg.Insecure}}}
	opts := &server.Options{
		ServerName:                 "scalebench",
		Host:                       host,
		Port:                       port,
		NoSigs:                     true, // signals are the command's
		MaxPayload:                 embeddedPayload,
		MaxPending:                 embeddedPending,
		MaxSubs:                    embeddedSubs,
		WriteDeadline:              30 * time.Second,
		PingInterval:               20 * time.Second,
		MaxPingsOut:                6, // a starved node is slow, not dead
		AuthTimeout:                15,
		CustomClientAuthentication: a,
		AlwaysEnableNonce:          true,
	}
	if !loopback(host) && !cfg.Insecure {
		conf, fingerprint, err := identity.ServerTLS(cfg.DataDir)
		if err != nil {
			return nil, err
		}
		opts.TLS, opts.TLSConfig, opts.TLSHandshakeFirst, opts.TLSTimeout = true, conf, true, 10
		s.info.Fingerprint = fingerprint
	}
	ns, err := server.NewServer(opts)
	if err != nil {
		return nil, err
	}
	fatal := make(chan string, 1)
	ns.SetLoggerV2(&natsLog{log: cfg.Log, fatal: fatal, warn: rate.Sometimes{First: 20, Interval: 5 * time.Second}}, false, false, false)
	s.ns = ns
	if err := s.run(ctx, cfg, fatal); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// run starts listening and waits until the server is ready.
func (s *Server) run(ctx context.Context, cfg ServerConfig, fatal <-chan string) error {
	go s.ns.Start()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for !s.ns.ReadyForConnections(50 * time.Millisecond) {
		select {
		case text := <-fatal:
			return model.Unavailablef("%s; check that no other server is running there (listen address %s, data directory %s)",
				text, cfg.Listen, cfg.DataDir)
		case <-ctx.Done():
			return model.Unavailablef("not ready: %w", ctx.Err())
		default:
		}
	}
	addr, ok := s.ns.Addr().(*net.TCPAddr)
	if !ok {
		return errors.New("the queue does not listen on TCP")
	}
	scheme := "nats://"
	if s.info.Fingerprint != "" {
		scheme = "tls://"
	}
	for _, host := range advertised(cfg.Advertise, addr) {
		s.info.Servers = append(s.info.Servers, scheme+host)
	}
	s.access.attach(s.ns)
	return nil
}

// advertised returns where a listening server can be reached: what the user
// said, or the address itself, or every address of the host.
func advertised(said []string, addr *net.TCPAddr) []string {
	if len(said) > 0 {
		return said
	}
	port := strconv.Itoa(addr.Port)
	if !addr.IP.IsUnspecified() {
		return []string{net.JoinHostPort(addr.IP.String(), port)}
	}
	var out []string
	addrs, _ := net.InterfaceAddrs() // without them, the user can say --advertise
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			out = append(out, net.JoinHostPort(n.IP.String(), port))
		}
	}
	// Last, for agents on this machine.
	return append(out, net.JoinHostPort("127.0.0.1", port))
}

// splitListen reads "host:port". NATS takes -1 for a free port.
func splitListen(listen string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(listen)
	if err == nil {
		port, err = strconv.Atoi(p)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, model.Usagef("listen address %q must be host:port, such as 127.0.0.1:4222 or 0.0.0.0:4222", listen)
	}
	if host == "" {
		host = "0.0.0.0"
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

// Info is what agents and clients need to connect.
func (s *Server) Info() ServerInfo { return s.info }

// Shutdown stops the server, waits until it has stopped and frees the data
// directory. The hub should be closed before.
func (s *Server) Shutdown() {
	s.close.Do(func() {
		s.stop()
		_ = s.lock.Close() // the lock goes with the file descriptor
	})
}

func (s *Server) stop() {
	s.access.attach(nil)
	s.ns.Shutdown()
	s.ns.WaitForShutdown()
}

// connect gives the master a connection inside the process.
func (s *Server) connect(_ context.Context, key *identity.Key, opts []nats.Option) (*nats.Conn, error) {
	return nats.Connect("", append(opts, nats.InProcessServer(s.ns), nats.Nkey(key.Public(), key.Sign))...)
}

func (s *Server) owned() bool           { return true }
func (s *Server) disconnect(key string) { s.access.disconnect(key) }
func (s *Server) unread(key string) int { return s.access.unread(key) }

// natsLog passes on what the server says that matters to a person.
type natsLog struct {
	log   *slog.Logger
	fatal chan<- string  // the first thing that the server cannot run with
	warn  rate.Sometimes // what others can cause is logged, but not a flood of it
}

// maxLogged bounds a line, in characters: it may quote what a stranger sent.
const maxLogged = 500

func (l *natsLog) text(format string, v []any) string {
	return fmt.Sprintf("queue: %.*s", maxLogged, fmt.Sprintf(format, v...))
}

func (l *natsLog) Noticef(format string, v ...any) { l.log.Debug(l.text(format, v)) }
func (l *natsLog) Warnf(format string, v ...any) {
	l.warn.Do(func() { l.log.Warn(l.text(format, v)) })
}
func (l *natsLog) Errorf(format string, v ...any) { l.Warnf(format, v...) }
func (*natsLog) Debugf(string, ...any)            {}
func (*natsLog) Tracef(string, ...any)            {}

func (l *natsLog) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.log.Error("queue: " + text)
	select {
	case l.fatal <- text:
	default: // the first is the cause
	}
}
