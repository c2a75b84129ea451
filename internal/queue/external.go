package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
)

// ExternalConfig names a user's own NATS cluster.
type ExternalConfig struct {
	// URLs, with user:pass or token where the cluster wants that.
	URLs []string
	// CredsFile (JWT and seed) or NKeyFile (seed) authenticate otherwise;
	// CAFile holds the certificate authorities to trust, in PEM.
	CredsFile, NKeyFile, CAFile string
	// AllowOpen: the user said in so many words that a cluster that takes
	// anonymous connections may be used off loopback.
	AllowOpen bool
	// Insecure: the user said in so many words that traffic may leave this
	// machine without TLS.
	Insecure bool
	Key      *identity.Key // the master's
	Log      *slog.Logger
}

// External is a user's own NATS cluster. On it, envelopes alone protect tasks
// and results; docs/security.md says against what.
type External struct {
	cfg  ExternalConfig
	info ServerInfo
}

// errOpen refuses a cluster on which anyone can write.
var errOpen = errors.New("the NATS cluster accepts anonymous connections: whoever reaches it could flood it; set up authentication on it, or start the server with --insecure-open-nats if its network is closed")

// ConnectExternal checks that the cluster can be reached and does not let
// anyone in without credentials.
func ConnectExternal(ctx context.Context, cfg ExternalConfig) (*External, error) {
	return connectExternal(ctx, cfg, offLoopback(cfg.URLs))
}

// connectExternal is told whether the cluster is off loopback, so that tests
// can exercise the rules for that without leaving loopback.
func connectExternal(ctx context.Context, cfg ExternalConfig, remote bool) (*External, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	e := &External{cfg: cfg, info: ServerInfo{
		Servers: cfg.URLs, ServerKey: cfg.Key.Public(), External: true, Insecure: cfg.Insecure,
	}}
	if err := e.info.check(); err != nil {
		return nil, err
	}
	nc, err := e.connect(ctx, cfg.Key, []nats.Option{nats.Timeout(5 * time.Second)})
	if err != nil {
		return nil, fmt.Errorf("connecting to %v: %w", e.info, err)
	}
	nc.Close()
	if remote && !cfg.AllowOpen && e.open() {
		return nil, fmt.Errorf("%v: %w: %w", e.info, model.ErrDenied, errOpen)
	}
	return e, nil
}

// open reports whether the cluster takes a connection without credentials.
func (e *External) open() bool {
	anonymous := make([]string, len(e.info.Servers))
	for i, s := range e.info.Servers {
		if u, err := parseServer(s); err == nil { // checked before
			u.User = nil
			anonymous[i] = u.String()
		}
	}
	opts, err := e.info.externalTransport(credentials{caFile: e.cfg.CAFile})
	if err != nil {
		return false
	}
	nc, err := nats.Connect(strings.Join(anonymous, ","), append(opts, nats.Timeout(5*time.Second))...)
	if err != nil {
		return false
	}
	nc.Close()
	return true
}

// Info is what agents and clients need to connect, besides credentials that
// are not in the URLs: those they bring in DialOptions.
func (e *External) Info() ServerInfo { return e.info }

func (e *External) connect(ctx context.Context, key *identity.Key, opts []nats.Option) (*nats.Conn, error) {
	transport, err := e.info.transport(key, credentials{e.cfg.CredsFile, e.cfg.NKeyFile, e.cfg.CAFile})
	if err != nil {
		return nil, err
	}
	return connect(ctx, e.info, append(opts, transport...), e.cfg.Log)
}
