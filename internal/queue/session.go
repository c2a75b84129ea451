package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
)

// DialOptions tunes agents' and clients' connections; the zero value is good
// for an embedded server.
type DialOptions struct {
	Log *slog.Logger
	Now func() time.Time
	// For an external cluster: the user's own credentials, where they are not
	// in the servers' URLs.
	CredsFile, NKeyFile, CAFile string
}

// session is a connection with its identity: what links, clients and joins
// have in common.
type session struct {
	nc     *nats.Conn
	key    *identity.Key
	server string // the master's public key
	names  names
	opt    DialOptions
	stamp  issuer
	// external: the queue server is not the master's own.
	external bool
	// from is the prefix of purposes, subject where a kind of message is sent.
	from    string
	subject func(kind string) string

	mu    sync.Mutex
	err   error              // why it is closed; nil before
	up    chan struct{}      // closed while connected
	live  context.Context    // ends with the present connection
	cut   context.CancelFunc // ends live
	done  chan struct{}      // closed when the session is
	again chan struct{}      // one token for every reconnection
}

func newSession(key *identity.Key, server string, opt DialOptions) *session {
	opt.Log = cmp.Or(opt.Log, slog.New(slog.DiscardHandler))
	if opt.Now == nil {
		opt.Now = time.Now
	}
	s := &session{
		key: key, server: server, names: namesOf(server), opt: opt,
		stamp: issuer{now: opt.Now},
		up:    make(chan struct{}), done: make(chan struct{}), again: make(chan struct{}, 1),
	}
	s.live, s.cut = context.WithCancel(context.Background())
	s.cut()
	return s
}

// dial connects; it tries until ctx ends or trying again cannot help.
func (s *session) dial(ctx context.Context, info ServerInfo, name string) error {
	s.external = info.External
	err := info.check()
	var transport []nats.Option
	if err == nil {
		transport, err = info.transport(s.key, credentials{s.opt.CredsFile, s.opt.NKeyFile, s.opt.CAFile})
	}
	if info.Socket != "" {
		// Its other end resolves names, because a lab has no name service; it does not
		// lead to other servers that a cluster announces.
		transport = append(transport, nats.SetCustomDialer(socketDialer(info.Socket)), nats.SkipHostLookup(),
			nats.IgnoreDiscoveredServers())
	}
	opts := append(commonOptions(s.names.inbox(s.key.Public()), name),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { s.disconnected(err) }),
		nats.ReconnectHandler(func(*nats.Conn) { s.reconnected() }),
		nats.ClosedHandler(func(nc *nats.Conn) { s.closed(nc.LastError()) }),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			s.opt.Log.Warn("queue connection", "error", err, "subject", subject)
		}),
	)
	if err == nil {
		s.nc, err = connect(ctx, info, append(opts, transport...), s.opt.Log)
	}
	if err != nil {
		return fmt.Errorf("connecting to %v: %w", info, err)
	}
	s.connected()
	return nil
}

// commonOptions are those of every connection, the master's included.
func commonOptions(inbox, name string) []nats.Option {
	return []nats.Option{
		nats.Name(name),
		nats.CustomInboxPrefix(inbox),
		nats.Timeout(5 * time.Second),
		nats.MaxReconnects(-1),
		nats.CustomReconnectDelay(backoff),
		// Nothing is buffered while the connection is away: a request fails at
		// once and its sender decides whether it is still true.
		nats.ReconnectBufSize(-1),
		nats.PingInterval(10 * time.Second),
		nats.MaxPingsOutstanding(4),
		// A node under full load answers late; that is what is being measured.
		nats.FlusherTimeout(time.Minute),
		nats.NoCallbacksAfterClientClose(),
	}
}

// backoff is the pause before the n-th try: doubling from 100 ms to 5 s, and
// jittered by half, so that a thousand agents do not come back at once.
func backoff(n int) time.Duration {
	d := 5 * time.Second
	if n < 6 {
		d = 100 * time.Millisecond << max(n-1, 0)
	}
	return d/2 + rand.N(d/2)
}

// pause waits, or returns ctx's error as soon as it ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// connect tries until it succeeds, ctx ends, or the server refuses us.
func connect(ctx context.Context, info ServerInfo, opts []nats.Option, log *slog.Logger) (*nats.Conn, error) {
	for n := 1; ; n++ {
		nc, err := nats.Connect(strings.Join(info.Servers, ","), opts...)
		if err == nil {
			return nc, nil
		}
		if err := refusal(err, info.External); err != nil {
			return nil, err
		}
		if n == 1 {
			log.Warn("the server does not answer; retrying", "server", info.String(), "error", err)
		}
		if pause(ctx, backoff(n)) != nil {
			return nil, model.Unavailablef("%w (last error: %w); check that the server is running and that its address can be "+
				"reached from here", ctx.Err(), err)
		}
	}
}

// What a refused connection means.
var (
	errNotAdmitted = errors.New("the server does not admit this key: it was never admitted or was revoked, or the server's data directory was replaced; join with a new token")
	errCredentials = errors.New("the NATS cluster refuses the credentials: give user:pass in the URL, a credentials file or an nkey file")
)

// refusal returns what to tell the user when trying again cannot help, and nil
// when it can.
func refusal(err error, external bool) error {
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		if external {
			return fmt.Errorf("%w: %w", model.ErrDenied, errCredentials)
		}
		return fmt.Errorf("%w: %w", model.ErrDenied, errNotAdmitted)
	case errors.Is(err, identity.ErrFingerprint):
		return fmt.Errorf("%w: %w", model.ErrDenied, err)
	case errors.Is(err, nats.ErrSecureConnWanted):
		return fmt.Errorf("%w: %w; set up TLS on the NATS cluster, or start the server with --insecure-no-tls and join with a new token", model.ErrDenied, errNoTLS)
	}
	return nil
}

func (s *session) connected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.live.Err() == nil {
		return
	}
	s.live, s.cut = context.WithCancel(context.Background())
	close(s.up)
}

func (s *session) reconnected() {
	s.connected()
	s.opt.Log.Info("queue connected again")
	select {
	case s.again <- struct{}{}:
	default: // one token says it
	}
}

func (s *session) disconnected(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live.Err() != nil {
		return
	}
	s.opt.Log.Warn("queue connection lost; reconnecting", "error", err)
	s.cut()
	s.up = make(chan struct{})
}

func (s *session) closed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	if s.err = refusal(err, s.external); s.err == nil {
		s.err = model.Unavailablef("the connection is closed")
	}
	s.cut()
	close(s.done)
}

// Reconnected receives a value after the connection came back: the agent says
// Hello again, a client reads again what it may have missed.
func (s *session) Reconnected() <-chan struct{} { return s.again }

// Err is why the connection ended for good, nil while it has not:
// model.ErrDenied when the server no longer admits this key.
func (s *session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close ends the connection and waits until it is.
func (s *session) Close() error {
	s.nc.Close()
	s.closed(nil)
	return nil
}

// connection waits until there is a connection and returns the context that
// ends with it.
func (s *session) connection(ctx context.Context) (context.Context, error) {
	s.mu.Lock()
	up, live := s.up, s.live
	s.mu.Unlock()
	if live.Err() == nil {
		return live, nil
	}
	select {
	case <-s.done:
		return nil, s.Err()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-up:
		return s.connection(ctx)
	}
}
