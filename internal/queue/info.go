package queue

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
)

// ServerInfo is what an agent or client needs to connect again; it is made by
// [Join] and saved by the agent. It holds no secret of its own, but Servers
// may carry the credentials of an external cluster.
type ServerInfo struct {
	Servers     []string `json:"servers"`
	ServerKey   string   `json:"server_key"`
	Fingerprint string   `json:"fingerprint,omitempty"`
	External    bool     `json:"external,omitempty"`
	Insecure    bool     `json:"insecure,omitempty"`
	// Socket is the path of a [Relay] by which the servers are reached, from
	// a host of a lab on this machine; empty elsewhere.
	Socket string `json:"socket,omitempty"`
}

func infoOf(e identity.Endpoint) ServerInfo {
	return ServerInfo{Servers: e.Servers, ServerKey: e.ServerKey, Fingerprint: e.Fingerprint, External: e.External, Insecure: e.Insecure}
}

// Endpoint is the part of a token that leads to this server. A relay is no
// part of it: its socket leads nowhere on other machines.
func (i ServerInfo) Endpoint() identity.Endpoint {
	return identity.Endpoint{Servers: i.Servers, ServerKey: i.ServerKey, Fingerprint: i.Fingerprint, External: i.External, Insecure: i.Insecure}
}

// String shows the servers without credentials.
func (i ServerInfo) String() string {
	return strings.Join(identity.RedactURLs(i.Servers), ",")
}

// errNoTLS: refused before anything is sent.
var errNoTLS = errors.New("no TLS, and the server is not on this machine")

// check refuses what could not be trusted.
func (i ServerInfo) check() error {
	if len(i.Servers) == 0 {
		return fmt.Errorf("%w: no server named", model.ErrUsage)
	}
	if err := identity.CheckPublic(i.ServerKey, identity.RoleServer); err != nil {
		return fmt.Errorf("%w: server key: %w", model.ErrUsage, err)
	}
	for _, s := range i.Servers {
		u, err := parseServer(s)
		if err != nil {
			return err
		}
		if host := u.Hostname(); !loopback(host) && i.Fingerprint == "" && !i.Insecure && !i.External {
			return fmt.Errorf("%w: %s: %w; start the server without --insecure-no-tls and join with a new token (or with it, if you accept that)", model.ErrDenied, host, errNoTLS)
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
		return nil, fmt.Errorf("%w: server address %q: want nats://host:port", model.ErrUsage, identity.RedactURLs([]string{server})[0])
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

// transport returns the options that decide whom we talk to and how we prove
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
			return nil, fmt.Errorf("%w: CA file: %w", model.ErrUsage, err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("%w: CA file %s: no PEM certificate in it", model.ErrUsage, c.caFile)
		}
		opts = append(opts, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}))
	}
	if c.credsFile != "" {
		opts = append(opts, nats.UserCredentials(c.credsFile))
	}
	if c.nkeyFile != "" {
		o, err := nats.NkeyOptionFromSeed(c.nkeyFile)
		if err != nil {
			return nil, fmt.Errorf("%w: nkey file %s: %w", model.ErrUsage, c.nkeyFile, err)
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
