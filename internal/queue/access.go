package queue

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// names makes the subjects of one master. All of them contain a part of the
// master's public key, so that several masters can share a cluster.
type names struct{ id string }

func namesOf(serverKey string) names {
	// The first characters of an nkey tell its kind; the next sixteen are 80
	// bits of the key. A collision would disturb and not deceive: signatures
	// are checked against the whole key.
	if len(serverKey) < 18 {
		return names{"none"}
	}
	return names{serverKey[2:18]}
}

// The kinds of message that agents and clients send, each a subject token and
// part of the envelope's purpose.
const (
	kindHello     = "hello"
	kindHeartbeat = "heartbeat"
	kindReady     = "ready"
	kindResult    = "result"
	kindChunk     = "chunk"
	kindProgress  = "progress"
	kindReport    = "report"
	kindMissing   = "missing"
	kindReadings  = "readings"
	kindGoodbye   = "goodbye"
	kindPart      = "part"  // upload of a request too large for one message
	kindFetch     = "fetch" // download of a reply too large for one message
	kindCall      = "call"
	kindWatch     = "watch"
	kindClock     = "clock"
)

const (
	// maxSmall bounds the messages that are small by nature, in bytes.
	maxSmall = 64 << 10
	// maxReadings bounds what a node reads in a few seconds: five readings of 1,000
	// series.
	maxReadings = 256 << 10
	// maxWhole bounds the body of one message, unpacked, in bytes. Larger
	// bodies travel in parts.
	maxWhole = 4 << 20
	// maxCall and maxResult bound what the parts of a call and of a result may
	// add up to, in bytes. A file that can be submitted has at most 1 MiB; a
	// result of a day with every series and histogram has less.
	maxCall   = 8 << 20
	maxResult = 24 << 20
	// maxReply bounds what the parts of a reply may add up to, in bytes: the
	// data of a whole run.
	maxReply = 512 << 20
	// maxPart bounds parts also where the server allows more, in bytes: a large
	// message delays the small ones behind it.
	maxPart = 1 << 20
	// margin is what envelope, encryption, headers and packing may add to a
	// body, in bytes, with plenty to spare.
	margin = 4 << 10
)

// limits are the largest body of a kind of message, in bytes: in one message,
// before and after it is unpacked, and in parts.
func limits(kind string) (whole, total int) {
	switch kind {
	case kindResult:
		return maxWhole, maxResult
	case kindCall:
		return maxWhole, maxCall
	case kindPart:
		return maxPart + margin, maxPart + margin
	case kindChunk:
		return wire.MaxChunk + margin, wire.MaxChunk + margin
	case kindReadings:
		return maxReadings, maxReadings
	}
	return maxSmall, maxSmall
}

func (n names) root() string { return "sb." + n.id }

// agent is the subject on which a node sends; kind may be ">".
func (n names) agent(node model.NodeID, kind string) string {
	return n.root() + ".a." + token(node) + "." + kind
}

func (n names) anyAgent(kind string) string { return n.root() + ".a.*." + kind }

// client is the subject on which a client, known by its key, sends.
func (n names) client(key, kind string) string { return n.root() + ".c." + key + "." + kind }

func (n names) anyClient(kind string) string { return n.root() + ".c.*." + kind }

// task is where a node receives its assignments.
func (n names) task(node model.NodeID) string { return n.root() + ".t." + token(node) }

// order is where a node hears start and cancel.
func (n names) order(node model.NodeID) string { return n.root() + ".o." + token(node) }

// event is the subject of the events of a run; of the fleet for "".
func (n names) event(run model.RunID) string {
	return n.root() + ".e." + cmp.Or(string(run), "fleet")
}

func (n names) anyEvent() string { return n.root() + ".e.*" }

func (n names) join() string { return n.root() + ".j" }

// inbox is the prefix of the subjects on which the holder of a key receives
// replies.
func (n names) inbox(key string) string { return n.root() + ".i." + key }

// isInbox reports whether the master may answer a key's request on a subject:
// only below that key's own inbox. A sender that names another subject wants
// the master to write where it may not write itself.
func (n names) isInbox(subject, key string) bool {
	return key != "" && strings.HasPrefix(subject, n.inbox(key)+".") && !strings.ContainsAny(subject, "*>")
}

// token encodes a node id as one token of a subject. It is injective: "_"
// begins an escape and is escaped itself.
func token(node model.NodeID) string {
	return strings.NewReplacer("_", "_u", ".", "_d", ":", "_c").Replace(string(node))
}

// tokenAt returns the i-th token (from 0) of a subject, or "".
func tokenAt(subject string, i int) string {
	for ; i > 0; i-- {
		_, subject, _ = strings.Cut(subject, ".")
	}
	tok, _, _ := strings.Cut(subject, ".")
	return tok
}

// Positions in the subjects of agents and clients: sb.<id>.a.<node>.<kind>.
const (
	senderToken = 3
	kindToken   = 4
)

// joinTime is how long a connection that only has a join token may last.
const joinTime = time.Minute

// access decides who may connect to the embedded server, and what for. Every
// connection must sign the server's nonce with an nkey:
//
//   - the master's own key: its own subjects;
//   - an admitted key: the subjects of its role, and its own inbox;
//   - the key of a join token that the server made: the join subject, for a
//     minute (used-up and expired ones too, to learn the reason);
//   - any other is refused.
type access struct {
	master string
	auth   *identity.Authority
	names  names

	sync.Mutex
	conns map[string][]uint64 // connection ids by key, the latest last
	ns    *server.Server      // nil until it listens and after it stopped
}

// maxConns is how many connections a key can have: an agent has one, and a
// user's commands have one each. With one more, the oldest is ended.
const maxConns = 64

func newAccess(master string, auth *identity.Authority) *access {
	a := &access{master: master, auth: auth, names: namesOf(master), conns: make(map[string][]uint64)}
	auth.OnRevoke(a.disconnect)
	return a
}

// Check implements server.Authentication.
func (a *access) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	if o.Nkey == "" || len(c.GetNonce()) == 0 {
		return false
	}
	key := o.Nkey // which has signed the server's nonce
	if sig, err := base64.RawURLEncoding.DecodeString(o.Sig); err != nil || !identity.Verify(key, c.GetNonce(), sig) {
		return false
	}
	// Before the look-up: a key that is revoked in between is in the list of
	// connections to end.
	a.remember(key, c.GetID())
	user := a.userFor(key)
	if user == nil {
		return false
	}
	c.RegisterUser(user)
	return true
}

// userFor returns what a proven key may do, nil for nothing. Nothing is allowed that
// is not listed: no subject of the queue server's own administration is.
func (a *access) userFor(key string) *server.User {
	u := &server.User{Username: key}
	inbox := a.names.inbox(key) + ".>"
	grant, admitted := a.auth.Admitted(key)
	switch {
	case key == a.master:
		own := []string{a.names.root() + ".>"}
		u.Permissions = allow(own, own)
	case admitted && grant.Role == identity.RoleClient:
		u.Permissions = allow([]string{a.names.client(key, ">")}, []string{inbox, a.names.anyEvent()})
	case admitted:
		u.Permissions = allow([]string{a.names.agent(grant.Node, ">")},
			[]string{inbox, a.names.task(grant.Node), a.names.order(grant.Node)})
	case a.auth.TokenKnown(key):
		u.Permissions = allow([]string{a.names.join()}, []string{inbox})
		u.ConnectionDeadline = time.Now().Add(joinTime)
	default:
		return nil
	}
	return u
}

func allow(publish, subscribe []string) *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: publish},
		Subscribe: &server.SubjectPermission{Allow: subscribe},
	}
}

func (a *access) remember(key string, id uint64) {
	a.Lock()
	defer a.Unlock()
	if _, ok := a.auth.Admitted(key); !ok && !a.auth.TokenKnown(key) {
		return // a stranger must not make the list grow
	}
	ids := append(slices.DeleteFunc(a.conns[key], a.ended), id)
	if len(ids) > maxConns {
		_ = a.ns.DisconnectClientByID(ids[0]) // fails if it has just ended
		ids = ids[1:]
	}
	a.conns[key] = ids
}

// ended reports whether a connection is over. a.mu is held.
func (a *access) ended(id uint64) bool { return a.ns == nil || a.ns.GetClient(id) == nil }

// unread is how many bytes wait for the connections of a key, because it does
// not read them.
func (a *access) unread(key string) (bytes int) {
	a.Lock()
	ids, ns := slices.Clone(a.conns[key]), a.ns
	a.Unlock()
	for _, id := range ids {
		if ns == nil {
			break
		}
		if z, err := ns.Connz(&server.ConnzOptions{CID: id}); err == nil && len(z.Conns) == 1 {
			bytes += z.Conns[0].Pending
		}
	}
	return bytes
}

// disconnect ends the connections of a key that is not admitted any more.
func (a *access) disconnect(key string) {
	a.Lock()
	ids, ns := a.conns[key], a.ns
	delete(a.conns, key)
	a.Unlock()
	if ns == nil {
		return
	}
	for _, id := range ids {
		_ = ns.DisconnectClientByID(id) // fails for connections that ended by themselves
	}
}

// attach says which server's connections disconnect ends; nil for none.
func (a *access) attach(ns *server.Server) {
	a.Lock()
	defer a.Unlock()
	a.ns = ns
}

const (
	// maxJoins is how many requests to join may wait. A fleet of a thousand
	// agents may start at once.
	maxJoins = 4096
	// maxJoin bounds a request to join, in bytes: keys, signatures, a name.
	maxJoin = 2 << 10
)

// join admits a key that proves that it holds an open token. Joins are handled
// one after another: each writes the list of admitted keys.
func (h *Hub) join(m *nats.Msg) {
	if len(m.Data) > maxJoin {
		h.refused(m, errTooLarge)
		return
	}
	if !h.queues.add("join", maxJoins, func() { h.redeem(m) }) {
		h.refused(m, errTooMany)
	}
}

func (h *Hub) redeem(m *nats.Msg) {
	j, err := identity.OpenJoin(h.key, m.Data)
	r := request{msg: m, inbox: j.TokenKey, kind: "join", sender: j.Key}
	if err == nil && !h.names.isInbox(m.Reply, j.TokenKey) {
		err = errReplySubject
	}
	var grant identity.Grant
	if err == nil {
		grant, err = h.auth.Redeem(j, func(n model.NodeID) bool { return h.opt.NodeAlive != nil && h.opt.NodeAlive(n) })
	}
	if err != nil {
		h.refused(m, err)
		h.answer(r, errorFrame(err))
		return
	}
	h.opt.Log.Info("admitted", "role", grant.Role, "node", grant.Node, "key", grant.Key)
	h.answer(r, bodyFrame(nil))
}
