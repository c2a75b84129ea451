package queue

import (
	"cmp"
	"strings"

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
	// maxWhole bounds the body of one message, unpacked, in bytes. Larger
	// bodies travel in parts.
	maxWhole = 16 << 20
	// maxMessage bounds what the parts of a body may add up to, in bytes.
	maxMessage = 512 << 20
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
	case kindResult, kindCall:
		return maxWhole, maxMessage
	case kindPart:
		return maxPart + margin, maxPart + margin
	case kindChunk:
		return wire.MaxChunk + margin, wire.MaxChunk + margin
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

// event is where the events of a run are told; of the fleet for "".
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
