package queue

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
)

// ServerInfo is what an agent or client needs to connect again; it is made by
// [Join] and saved by the agent. It holds no secret of its own, but Servers
// may carry the credentials of an external cluster.
type ServerInfo struct {
	identity.Endpoint
	// Socket is the path of a [Relay] that leads to the servers from a host of
	// a lab on this machine; empty elsewhere. Tokens do not contain it, because
	// it leads nowhere on other machines.
	Socket string `json:"socket,omitempty"`
}

// String shows the servers without credentials.
func (i ServerInfo) String() string {
	return strings.Join(identity.RedactURLs(i.Servers), ",")
}

// errNoTLS: refused before anything is sent.
var errNoTLS = errors.New("no TLS, although the server is not on this machine")

// check refuses what could not be trusted.
func (i ServerInfo) check() error {
	if len(i.Servers) == 0 {
		return model.Usagef("no server named")
	}
	if err := identity.CheckPublic(i.ServerKey, identity.RoleServer); err != nil {
		return model.Usagef("server key: %w", err)
	}
	for _, s := range i.Servers {
		u, err := parseServer(s)
		if err != nil {
			return err
		}
		if host := u.Hostname(); !loopback(host) && i.Fingerprint == "" && !i.Insecure && !i.External {
			return fmt.Errorf("%w: %s: %w; start the server without --insecure-no-tls and join with a new token", model.ErrDenied, host, errNoTLS)
		}
	}
	return nil
}

// offLoopback reports whether any server is on another machine.
func offLoopback(servers []string) bool {
	return slices.ContainsFunc(servers, func(s string) bool {
		u, err := parseServer(s)
		return err != nil || !loopback(u.Hostname())
	})
}

// parseServer reads "nats://user:pass@host:port" or "host:port". Errors do not
// contain credentials.
func parseServer(server string) (*url.URL, error) {
	if !strings.Contains(server, "://") {
		server = "nats://" + server
	}
	u, err := url.Parse(server)
	if err != nil || u.Hostname() == "" {
		return nil, model.Usagef("server address %q must be nats://host:port", identity.RedactURLs([]string{server})[0])
	}
	return u, nil
}

// loopback reports whether a host is this machine for certain. Names other
// than localhost can resolve to anything.
func loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// credentials are the user's own for an external cluster.
type credentials struct{ credsFile, nkeyFile, caFile string }

// transport returns the options that decide which server we talk to and how we prove
// who we are to the queue server. It refuses to leave the machine without TLS.
func (i ServerInfo) transport(key *identity.Key, c credentials) ([]nats.Option, error) {
	if i.External {
		return i.externalTransport(c)
	}
	opts := []nats.Option{nats.Nkey(key.Public(), key.Sign), nats.IgnoreDiscoveredServers()}
	if i.Fingerprint == "" {
		return opts, nil
	}
	conf, err := identity.ClientTLS(i.Fingerprint)
	if err != nil {
		return nil, err
	}
	return append(opts, nats.Secure(conf), nats.TLSHandshakeFirst()), nil
}

func (i ServerInfo) externalTransport(c credentials) ([]nats.Option, error) {
	var opts []nats.Option
	if offLoopback(i.Servers) && !i.Insecure {
		opts = append(opts, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	if c.caFile != "" {
		data, err := os.ReadFile(c.caFile)
		if err != nil {
			return nil, model.Usagef("CA file: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(data) {
			return nil, model.Usagef("CA file %s has no PEM certificate", c.caFile)
		}
		opts = append(opts, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}))
	}
	if c.credsFile != "" {
		opts = append(opts, nats.UserCredentials(c.credsFile))
	}
	if c.nkeyFile != "" {
		o, err := nats.NkeyOptionFromSeed(c.nkeyFile)
		if err != nil {
			return nil, model.Usagef("nkey file %s: %w", c.nkeyFile, err)
		}
		opts = append(opts, o)
	}
	return opts, nil
}

// Save writes the info for [ReadServerInfo]. The file is replaced whole or not
// at all: a token is redeemed only once, so what it gave must not get lost, and
// others may read the file at the same time.
func (i ServerInfo) Save(file string) error {
	data, err := json.Marshal(i)
	if err != nil {
		return fmt.Errorf("encoding the server's address: %w", err)
	}
	if err := identity.WritePrivate(file, data); err != nil {
		return fmt.Errorf("keeping the server's address: %w", err)
	}
	return nil
}

// ReadServerInfo reads what Save has written.
func ReadServerInfo(file string) (ServerInfo, error) {
	var info ServerInfo
	data, err := os.ReadFile(file)
	if err != nil {
		return info, err
	}
	return info, json.Unmarshal(data, &info)
}

// ExternalConfig names a user's own NATS cluster.
type ExternalConfig struct {
	// URLs, with user:pass or token where the cluster wants that.
	URLs []string
	// CredsFile (JWT and seed) or NKeyFile (seed) authenticate otherwise;
	// CAFile holds the certificate authorities to trust, in PEM.
	CredsFile, NKeyFile, CAFile string
	// AllowOpen: the user explicitly allowed that a cluster that takes
	// anonymous connections is used off loopback.
	AllowOpen bool
	// Insecure: the user explicitly allowed that traffic leaves this
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
var errOpen = errors.New("the NATS cluster accepts anonymous connections, so anyone who reaches it can flood it; set up authentication on it, or start the server with --insecure-open-nats if its network is closed")

// ConnectExternal checks that the cluster can be reached and does not let
// anyone in without credentials.
func ConnectExternal(ctx context.Context, cfg ExternalConfig) (*External, error) {
	return connectExternal(ctx, cfg, offLoopback(cfg.URLs))
}

// connectExternal takes remote, whether the cluster is off loopback, so that
// tests can check the rules for that without leaving loopback.
func connectExternal(ctx context.Context, cfg ExternalConfig, remote bool) (*External, error) {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	e := &External{cfg: cfg, info: ServerInfo{Endpoint: identity.Endpoint{
		Servers: cfg.URLs, ServerKey: cfg.Key.Public(), External: true, Insecure: cfg.Insecure,
	}}}
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

func (*External) owned() bool       { return false }
func (*External) disconnect(string) {}
func (*External) unread(string) int { return 0 }
