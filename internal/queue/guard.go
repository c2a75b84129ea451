package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// Bounds of what waits for the master, in bytes. An agent delivers one thing at
// a time, and sends small messages beside it.
const (
	maxWaiting    = 32 << 20 // of all senders
	maxWaitingOne = 3 << 20  // of one
	// keptForSmall is how much of maxWaiting only small messages can take:
	// results that wait for a slow store must not make nodes look dead.
	keptForSmall = 4 << 20
	// minCharge is what an agent's message counts at least, minChargeClient what
	// a client's does.
	minCharge       = 1 << 10
	minChargeClient = maxWaitingOne / maxCallsOne
)

// Who breaks the form of messages maxBroken times within brokenFor is cut off
// for barredFor. An honest sender never does: what the server would refuse is
// refused by its own side before it is sent.
const (
	maxBroken = 3
	brokenFor = time.Minute
	barredFor = time.Minute
)

// guard holds senders to their bounds. It knows them by what names them in a
// subject: "a.<node>", "c.<key>".
type guard struct {
	now func() time.Time

	sync.Mutex
	waiting int // bytes of all messages that wait or are being handled
	senders map[string]*senderState
}

// senderState is what is remembered of one sender, while there is anything.
type senderState struct {
	waiting int         // bytes
	broken  []time.Time // when it broke the form lately
	last    time.Time   // when it signed the last message that did
	barred  time.Time   // until then what it sends is dropped
}

func newGuard(now func() time.Time) *guard {
	return &guard{now: now, senders: make(map[string]*senderState)}
}

// errBarred: the message is dropped without a word.
var errBarred = errors.New("dropped: its sender is cut off for a while")

// enter notes that a message of so many bytes waits. What it refuses with
// errBusy is not the sender's fault.
func (g *guard) enter(sender string, size int) error {
	g.Lock()
	defer g.Unlock()
	c, room := g.senders[sender], maxWaiting
	if c == nil {
		c = &senderState{}
	}
	if size > maxSmall+margin {
		room -= keptForSmall
	}
	switch {
	case g.now().Before(c.barred):
		return errBarred
	case c.waiting+size > maxWaitingOne:
		return errTooMany
	case g.waiting+size > room:
		return errBusy
	}
	g.senders[sender] = c
	c.waiting += size
	g.waiting += size
	return nil
}

// leave notes that a message has been handled, or dropped.
func (g *guard) leave(sender string, size int) {
	g.Lock()
	defer g.Unlock()
	c := g.senders[sender]
	c.waiting -= size
	g.waiting -= size
	now := g.now()
	if c.waiting == 0 && now.After(c.barred) && (len(c.broken) == 0 || now.Sub(c.broken[len(c.broken)-1]) > brokenFor) {
		delete(g.senders, sender)
	}
}

func (g *guard) barred(sender string) bool {
	g.Lock()
	defer g.Unlock()
	c := g.senders[sender]
	return c != nil && g.now().Before(c.barred)
}

// broke notes a message that breaks the form, and reports whether its sender
// has to be cut now. The time at which it was signed tells a new one from a
// replay; it is zero where only the sender itself can have sent it.
func (g *guard) broke(sender string, issued time.Time) (cut bool) {
	g.Lock()
	defer g.Unlock()
	c, now := g.senders[sender], g.now()
	if c == nil {
		c = &senderState{}
		g.senders[sender] = c
	}
	if now.Before(c.barred) || !issued.IsZero() && !issued.After(c.last) {
		return false
	}
	c.last = issued
	c.broken = append(c.broken, now)
	if len(c.broken) < maxBroken {
		return false
	}
	first := c.broken[0]
	c.broken = c.broken[1:]
	if now.Sub(first) > brokenFor {
		return false
	}
	c.broken, c.barred = nil, now.Add(barredFor)
	return true
}

// sender is what names the sender in the subject of an agent's or a client's
// message.
func (n names) sender(subject string) string {
	sender, _ := strings.CutPrefix(subject, n.root()+".")
	if end := strings.LastIndexByte(sender, '.'); end > 0 {
		return sender[:end]
	}
	return sender
}

// senderOf is the same of an admitted key.
func (n names) senderOf(g identity.Grant) string {
	subject := n.agent(g.Node, "")
	if g.Role == identity.RoleClient {
		subject = n.client(g.Key, "")
	}
	return n.sender(subject)
}

// breaksForm reports whether an error means that a message can only come from
// a sender that does not keep to the form.
func breaksForm(err error) bool {
	for _, kind := range []error{errTooLarge, errPacked, errFrame, errForeign, errReplySubject, wire.ErrForm,
		identity.ErrEnvelope, identity.ErrSignature, identity.ErrPurpose} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// broke logs a message that was not accepted. Its sender is cut if it sent
// several that break the form: its connections end, and what it sends in the
// next minute is dropped. The sender is known if it signed the message, or if
// the queue server holds senders to their subjects.
func (h *Hub) broke(m *nats.Msg, r request, err error) {
	sender := h.names.sender(m.Subject)
	if h.guard.barred(sender) {
		return
	}
	h.refused(m, err)
	owned := h.conn.owned()
	if h.opt.patient || !breaksForm(err) || !owned && (r.grant.Key == "" || h.names.senderOf(r.grant) != sender) {
		return
	}
	issued := r.issued
	if owned {
		issued = time.Time{}
	}
	if !h.guard.broke(sender, issued) {
		return
	}
	for _, g := range h.auth.Grants() {
		if h.names.senderOf(g) == sender {
			h.conn.disconnect(g.Key)
			text := fmt.Sprintf("%s %s is cut off for %v: %d of its messages within %v broke the form, the last one: %.200v",
				g.Role, g.Node, barredFor, maxBroken, brokenFor, err)
			h.opt.Log.Warn(text, "key", g.Key)
			if h.cut != nil {
				h.cut(g, text)
			}
		}
	}
}

// paced lets a sender's messages of one kind pass at a rate, in messages a
// second, after a first burst: an honest one needs no more, and each is kept or
// shown somewhere.
func (h *Hub) paced(perSecond rate.Limit, burst int, do answerer) answerer {
	p := pace{perSecond: perSecond, burst: burst, limits: make(map[string]*rate.Limiter)}
	return func(ctx context.Context, r *request) ([]byte, error) {
		if !h.opt.patient && !p.due(r.sender, h.opt.Now()) {
			return nil, model.Unavailablef("%w", errTooMany)
		}
		return do(ctx, r)
	}
}

// pace holds keys to a rate.
type pace struct {
	perSecond rate.Limit
	burst     int

	sync.Mutex
	limits map[string]*rate.Limiter // by key; only admitted keys get here
}

// due reports whether a key's message may pass. A key that sent nothing for so
// long that it has its whole burst again is forgotten when another one comes.
func (p *pace) due(key string, now time.Time) bool {
	p.Lock()
	defer p.Unlock()
	l := p.limits[key]
	if l == nil {
		maps.DeleteFunc(p.limits, func(_ string, l *rate.Limiter) bool { return l.TokensAt(now) >= float64(p.burst) })
		l = rate.NewLimiter(p.perSecond, p.burst)
		p.limits[key] = l
	}
	return l.AllowN(now, 1)
}
