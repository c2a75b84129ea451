package queue

import (
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// names makes the subjects and JetStream names of one master. All of them
// contain a part of the master's public key, so that several masters can
// share a cluster.
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
	kindGoodbye   = "goodbye"
	kindPart      = "part"  // upload of a request too large for one message
	kindFetch     = "fetch" // download of a reply too large for one message
	kindCall      = "call"
	kindWatch     = "watch"
	kindClock     = "clock"
)

func (n names) root() string   { return "sb." + n.id }
func (n names) stream() string { return "SB_" + n.id }

// agent is the subject on which a node sends; kind may be "*" or ">".
func (n names) agent(node model.NodeID, kind string) string {
	return n.root() + ".a." + token(node) + "." + kind
}

func (n names) anyAgent(kind string) string { return n.root() + ".a.*." + kind }

// client is the subject on which a client, known by its key, sends.
func (n names) client(key, kind string) string { return n.root() + ".c." + key + "." + kind }

func (n names) anyClient(kind string) string { return n.root() + ".c.*." + kind }

// task is where a node's assignments are stored.
func (n names) task(node model.NodeID) string { return n.root() + ".t." + token(node) }

func (n names) anyTask() string { return n.root() + ".t.*" }

// order is where a node hears start and cancel.
func (n names) order(node model.NodeID) string { return n.root() + ".o." + token(node) }

// event is where the events of a run are told; of the fleet for "".
func (n names) event(run model.RunID) string {
	if run == "" {
		return n.root() + ".e.fleet"
	}
	return n.root() + ".e." + string(run)
}

func (n names) anyEvent() string { return n.root() + ".e.*" }

func (n names) join() string { return n.root() + ".j" }

// inbox is the prefix of the subjects on which the holder of a key receives
// replies.
func (n names) inbox(key string) string { return n.inboxes() + key }

func (n names) inboxes() string { return n.root() + ".i." }

// isInbox reports whether the master may answer on a subject: below the
// inbox of that key, or below anybody's for "", when the sender is not
// admitted (yet). Whoever names another subject wants the master to write
// where the sender itself may not.
func (n names) isInbox(subject, key string) bool {
	if key == "" {
		return strings.HasPrefix(subject, n.inboxes())
	}
	return strings.HasPrefix(subject, n.inbox(key)+".")
}

// consumer is the name of a node's durable consumer.
func (names) consumer(node model.NodeID) string { return token(node) }

// token encodes a node id as one token of a subject, which is a legal consumer
// name, too. It is injective: "_" begins an escape and is escaped itself. The
// longest id (128 characters) stays within the 255 that JetStream allows,
// because its first character needs no escape.
func token(node model.NodeID) string {
	return strings.NewReplacer("_", "_u", ".", "_d", ":", "_c").Replace(string(node))
}

// tokenAt returns the i-th token (from 0) of a subject, or "".
func tokenAt(subject string, i int) string {
	for ; i > 0; i-- {
		_, rest, ok := strings.Cut(subject, ".")
		if !ok {
			return ""
		}
		subject = rest
	}
	tok, _, _ := strings.Cut(subject, ".")
	return tok
}

// senderToken is the position of the node or key in agents' and clients'
// subjects: sb.<id>.a.<node>.<kind>.
const senderToken = 3
