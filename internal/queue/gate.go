package queue

import (
	"encoding/base64"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
)

// joinTime is how long a connection that only has a join token may last.
const joinTime = time.Minute

// gate decides who may connect to the embedded server, and what for. Every
// connection must sign the server's nonce with an nkey:
//
//   - the master's own key: everything;
//   - an admitted key: the subjects of its role, and its own inbox;
//   - the key of a join token that the server made: the join subject, for a
//     minute (used-up and expired ones too, to be told so);
//   - anybody else is refused.
type gate struct {
	master string
	auth   *identity.Authority
	names  names

	mu    sync.Mutex
	conns map[string][]uint64 // connection ids by key, the latest last
	ns    *server.Server      // nil until it listens and after it stopped
}

// maxConns is how many connections of one key are remembered; a key has one,
// and ended ones are not taken out.
const maxConns = 64

func newGate(master string, auth *identity.Authority) *gate {
	g := &gate{master: master, auth: auth, names: namesOf(master), conns: make(map[string][]uint64)}
	auth.OnRevoke(g.disconnect)
	return g
}

// Check implements server.Authentication.
func (g *gate) Check(c server.ClientAuthentication) bool {
	key, ok := signerOf(c)
	if !ok {
		return false
	}
	// Before the look-up: a key that is revoked in between is in the list of
	// connections to end.
	g.remember(key, c.GetID())
	user := g.userFor(key)
	if user == nil {
		return false
	}
	c.RegisterUser(user)
	return true
}

// signerOf returns the key that signed the server's nonce.
func signerOf(c server.ClientAuthentication) (key string, ok bool) {
	o := c.GetOpts()
	if o.Nkey == "" || len(c.GetNonce()) == 0 {
		return "", false
	}
	sig, err := base64.RawURLEncoding.DecodeString(o.Sig)
	if err != nil {
		return "", false
	}
	return o.Nkey, identity.Verify(o.Nkey, c.GetNonce(), sig)
}

// userFor returns what a proven key may do, nil for nothing.
func (g *gate) userFor(key string) *server.User {
	u := &server.User{Username: key}
	if key == g.master {
		return u // no permissions set: no limits
	}
	if grant, ok := g.auth.Admitted(key); ok {
		u.Permissions = permissions(g.names, grant)
		return u
	}
	if g.auth.TokenKnown(key) {
		u.Permissions = joinPermissions(g.names, key)
		u.ConnectionDeadline = time.Now().Add(joinTime)
		return u
	}
	return nil
}

// permissions of an admitted key. Nothing is allowed that is not listed.
func permissions(n names, g identity.Grant) *server.Permissions {
	inbox := n.inbox(g.Key) + ".>"
	if g.Role == identity.RoleClient {
		return allow([]string{n.client(g.Key, ">")}, []string{inbox, n.anyEvent()})
	}
	return allow(agentPublishes(n, g.Node), []string{inbox, n.order(g.Node)})
}

// agentPublishes are an agent's own subjects, and of JetStream's API what
// fetching and acknowledging its own tasks takes.
func agentPublishes(n names, node model.NodeID) []string {
	own := n.stream() + "." + n.consumer(node)
	return []string{
		n.agent(node, ">"),
		"$JS.API.CONSUMER.INFO." + own,
		"$JS.API.CONSUMER.MSG.NEXT." + own,
		"$JS.ACK." + own + ".>",
		"$JS.ACK.*.*." + own + ".>", // NATS's newer form, with domain and account
	}
}

func joinPermissions(n names, key string) *server.Permissions {
	return allow([]string{n.join()}, []string{n.inbox(key) + ".>"})
}

func allow(publish, subscribe []string) *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: publish},
		Subscribe: &server.SubjectPermission{Allow: subscribe},
	}
}

func (g *gate) remember(key string, id uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.auth.Admitted(key); !ok && !g.auth.TokenKnown(key) {
		return // a stranger must not make the list grow
	}
	ids := append(g.conns[key], id)
	if len(ids) > maxConns {
		ids = ids[1:]
	}
	g.conns[key] = ids
}

// disconnect ends the connections of a key that is not admitted any more.
func (g *gate) disconnect(key string) {
	g.mu.Lock()
	ids, ns := g.conns[key], g.ns
	delete(g.conns, key)
	g.mu.Unlock()
	if ns == nil {
		return
	}
	for _, id := range ids {
		_ = ns.DisconnectClientByID(id) // fails for connections that ended by themselves
	}
}

func (g *gate) attach(ns *server.Server) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ns = ns
}

func (g *gate) detach() { g.attach(nil) }
