package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/control"
	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/queue"
	"github.com/scalebench/scalebench/internal/store/sqlite"
)

type need int

const (
	toRead  need = iota // the store is enough
	toRun               // a master must execute something
	toLeave             // a master must execute something that this command does not wait for
	toJoin              // a master must execute something on agents, which join servers that run by themselves
)

// toExecute is the need of what is executed on agents or not, and waited for or not.
func toExecute(agents, detach bool) need {
	switch {
	case agents:
		return toJoin
	case detach:
		return toLeave
	}
	return toRun
}

// service is a control.Service with an end.
type service struct {
	control.Service
	Close func() error
	// own says that the server lives in this process and dies with it.
	own bool
	// server is the key of an own server, which its runs bear.
	server string
	// left says that no server is running: this is what the last one has left.
	left bool
	// Halt ends what an own server executes, in order; nil otherwise. What is
	// stored can still be read.
	Halt func() error
}

// connect finds the service for a command, in this order: the server that
// --server names; the server that is running on the data directory; and
// otherwise this process itself, as a server when something is to be
// executed, or as a reader of the store.
func (c *common) connect(ctx context.Context, need need) (service, error) {
	if err := c.needData(); err != nil {
		return service{}, err
	}
	// A token in the environment alone does not mean a server elsewhere: on a
	// node it may be the agent's.
	if c.serverAddr != "" || c.flags.Token != "" {
		return c.connectRemote(ctx)
	}
	if s, ok, err := c.connectRunning(ctx); ok || err != nil {
		return s, err
	}
	switch need {
	case toRead:
		st, err := c.openStore(ctx)
		if errors.Is(err, model.ErrUnavailable) && c.storeURL == "" { // on a full disk it can be read all the same
			if only, roErr := sqlite.OpenReadOnly(ctx, c.paths.at(databaseName)); roErr == nil {
				st, err = only, nil
			}
		}
		if err != nil {
			return service{}, err
		}
		return service{Service: newOffline(st, c.ownServer()), Close: st.Close, left: true}, nil
	case toJoin:
		return service{}, errNoServerToJoin
	case toLeave:
		return service{},
			usageError("--detach needs a server, which goes on with the run; start `scalebench server`, name one with " +
				"--server, or leave --detach out")
	}
	in, err := c.startServer(ctx, serverOptions{RunQuota: defaultRunQuota, Guest: true})
	if errors.Is(err, errLocked) {
		return service{}, fmt.Errorf("%w: a scalebench command is using %s; wait for it, or give another --data",
			model.ErrUnavailable, c.paths.root)
	}
	if err != nil {
		return service{}, err
	}
	return service{Service: in.Master, Close: in.Close, own: true, server: in.info.ServerKey, Halt: in.halt}, nil
}

// ownServer is the key of the server that ran on this data directory last, or ""
// if none has, or it has not quite ended yet.
func (c *common) ownServer() string {
	unlock, err := lockFile(c.paths.at(lockName))
	if err != nil {
		return ""
	}
	unlock()
	if _, err := os.Stat(c.paths.at(serverKeyName)); err != nil {
		return "" // and none is made
	}
	key, err := identity.LoadOrCreate(c.paths.at(serverKeyName), identity.RoleServer)
	if err != nil {
		return "" // a server would say what is wrong with it
	}
	return key.Public()
}

// connectRunning connects to a server that runs on this data directory, if
// there is one.
func (c *common) connectRunning(ctx context.Context) (service, bool, error) {
	unlock, err := lockFile(c.paths.at(lockName))
	if err == nil {
		unlock()
		return service{}, false, nil
	}
	if errors.Is(err, os.ErrNotExist) {
		return service{}, false, nil // a copy that is read only, of which no server knows
	}
	if !errors.Is(err, errLocked) {
		return service{}, false, err
	}
	info, err := queue.ReadServerInfo(c.paths.at(serverInfoName))
	if err != nil {
		return service{}, false, nil //nolint:nilerr // its address is not there yet; the caller goes on alone
	}
	key, err := identity.LoadOrCreate(c.paths.at(clientKeyName), identity.RoleClient)
	if err != nil {
		return service{}, false, err
	}
	s, err := c.dial(ctx, info, key)
	return s, err == nil, err
}

// clientDial is how long a server may take to answer a person's command.
const clientDial = 5 * time.Second

// connectRemote connects to a server elsewhere: with a token the first time,
// with the identity kept from then on.
func (c *common) connectRemote(ctx context.Context) (service, error) {
	var tok identity.Token
	address := c.serverAddr
	s, err := c.tokenValue(c.keptToken)
	if err != nil {
		return service{}, err
	}
	if s != "" {
		if tok, err = parseToken(s, identity.RoleClient); err != nil {
			return service{}, err
		}
		if address == "" && len(tok.Servers) > 0 {
			address = tok.Servers[0]
		}
	}
	dir := c.paths.remote(hostPort(address))
	key, err := identity.LoadOrCreate(filepath.Join(dir, clientKeyName), identity.RoleClient)
	if err != nil {
		return service{}, err
	}
	file := filepath.Join(dir, serverInfoName)
	var info queue.ServerInfo
	if tok.Secret.Reveal() != "" {
		host, _ := os.Hostname()
		info, err = c.redeem(ctx, tok, key, model.NodeID(cmp.Or(host, "client")), file)
	} else if info, err = queue.ReadServerInfo(file); err != nil {
		err = fmt.Errorf("%w: this user has not joined %s yet; run `scalebench token --client` there and give the token with --token once",
			model.ErrDenied, c.serverAddr)
	}
	if err != nil {
		return service{}, err
	}
	return c.dial(ctx, info, key)
}

// redeem joins a server with a token, and keeps in a file what the server tells.
// The token of a server that was joined before, which an image or a unit file
// may give at every start, is not needed again.
func (c *common) redeem(ctx context.Context, tok identity.Token, key *identity.Key, node model.NodeID, file string) (queue.ServerInfo, error) {
	if kept, err := queue.ReadServerInfo(file); err == nil && kept.ServerKey == tok.ServerKey {
		return kept, nil
	}
	if c.serverAddr != "" {
		tok.Servers = []string{c.serverAddr}
	}
	info, err := queue.Join(ctx, tok, key, node, c.dialOptions())
	if err != nil {
		return info, fmt.Errorf("joining the server: %w", err)
	}
	return info, info.Save(file)
}

func (c *common) dial(ctx context.Context, info queue.ServerInfo, key *identity.Key) (service, error) {
	ctx, cancel := context.WithTimeout(ctx, clientDial)
	defer cancel()
	client, err := queue.DialClient(ctx, info, key, c.dialOptions())
	if err != nil && errors.Is(err, model.ErrUnavailable) {
		return service{}, fmt.Errorf("%w: no server answers at %s; check that it is running and reachable from here", model.ErrUnavailable, info)
	}
	if err != nil {
		return service{}, fmt.Errorf("connecting to the server: %w", err)
	}
	return service{Service: control.NewRemote(client), Close: client.Close}, nil
}

func (c *common) dialOptions() queue.DialOptions {
	return queue.DialOptions{Log: c.log, CredsFile: c.flags.NATSCreds, NKeyFile: c.flags.NATSNKey, CAFile: c.flags.NATSCA}
}

// parseToken reads a token and insists on its being for this role, before it
// is used up in vain.
func parseToken(s string, role identity.Role) (identity.Token, error) {
	tok, err := identity.ParseToken(s)
	if err != nil {
		return tok, usageError("%w", err)
	}
	if tok.Role != role {
		advice := map[identity.Role]string{identity.RoleAgent: "scalebench token", identity.RoleClient: "scalebench token --client"}
		return tok, usageError("this token is for the role %s; make the right one with `%s`", tok.Role, advice[role])
	}
	return tok, nil
}

// tokenValue is the token that was given, or the one that is kept.
func (c *common) tokenValue(kept string) (string, error) {
	t := cmp.Or(c.flags.Token, c.env.Getenv("SCALEBENCH_TOKEN"), kept)
	if file, ok := strings.CutPrefix(t, "@"); ok {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", unreadable("--token (or $SCALEBENCH_TOKEN)", file, err)
		}
		t = string(data)
	}
	return strings.TrimSpace(t), nil
}

// hostPort is what names a server in file names.
func hostPort(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return address
}
