package queue

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/crypto/nacl/secretbox"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// maxJoins is how many requests to join may wait. A fleet of a thousand agents
// may start at once.
const maxJoins = 4096

// join admits whoever proves that it holds an open token. Joins are handled
// one after another: each writes the list of admitted keys.
func (h *Hub) join(m *nats.Msg) {
	if !h.lanes.do("join", maxJoins, func() { h.redeem(m) }) {
		h.refused(m, errors.New("too many joins at a time"))
	}
}

func (h *Hub) redeem(m *nats.Msg) {
	j, err := identity.OpenJoin(h.key, m.Data)
	if err != nil {
		h.refused(m, err)
		return
	}
	r := request{data: m.Data, reply: m.Reply, kind: "join", sender: j.Key}
	grant, err := h.auth.Redeem(j, h.alive)
	if err != nil {
		h.refused(m, err)
		h.answer(r, errorFrame(err))
		return
	}
	h.opt.Log.Info("admitted", "role", grant.Role, "node", grant.Node, "key", grant.Key)
	h.answer(r, bodyFrame(nil))
}

// api lets the master answer a client's call.
func (h *Hub) api(hs Handlers) answerer {
	return func(ctx context.Context, r request) ([]byte, error) {
		verb, body, err := parseCall(r.body)
		if err != nil {
			return nil, err
		}
		if hs.API == nil {
			return nil, errNoHandler
		}
		caller := Caller{Key: r.sender, Role: r.grant.Role, Name: string(r.grant.Node)}
		return hs.API(ctx, caller, verb, body)
	}
}

// encodeCall puts the verb before the body.
func encodeCall(verb string, body []byte) ([]byte, error) {
	if verb == "" || len(verb) > 255 {
		return nil, fmt.Errorf("%w: verb %.40q: want 1 to 255 bytes", model.ErrUsage, verb)
	}
	out := append(make([]byte, 0, 1+len(verb)+len(body)), byte(len(verb)))
	return append(append(out, verb...), body...), nil
}

func parseCall(data []byte) (verb string, body []byte, err error) {
	if len(data) == 0 || data[0] == 0 || len(data) < 1+int(data[0]) {
		return "", nil, fmt.Errorf("%w: call without a verb", model.ErrUsage)
	}
	n := 1 + int(data[0])
	return string(data[1:n]), data[n:], nil
}

// signOrder signs without encrypting: one order goes to many nodes, and it
// says nothing but which step begins or ends when.
func (h *Hub) signOrder(o wire.Order) ([]byte, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return identity.Seal(h.key, purposeOrder, body, h.stamp.next())
}

// flushContext gives a context the deadline that nats.go insists on.
func flushContext(ctx context.Context) context.Context {
	if _, ok := ctx.Deadline(); ok {
		return ctx
	}
	// The context is short-lived; its timer ends it.
	ctx, cancel := context.WithTimeout(ctx, publishWait)
	context.AfterFunc(ctx, cancel)
	return ctx
}

const (
	eventKeySize   = 32
	eventNonceSize = 24
	// watchLease is how long a client counts as watching after it asked.
	watchLease = time.Minute
	// watchRenew is how often clients ask again, so that they also notice that
	// the master was restarted.
	watchRenew = 15 * time.Second
)

// eventKey encrypts events for all watching clients at once. It is made anew
// with every hub and whenever a key is revoked; clients fetch it as a reply
// that is encrypted for them.
type eventKey struct {
	mu    sync.Mutex
	key   *[eventKeySize]byte // nil: nobody asked yet
	until time.Time           // somebody watches
}

// get returns the key for a watching client.
func (e *eventKey) get(now time.Time) ([eventKeySize]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.key == nil {
		k := new([eventKeySize]byte)
		if _, err := rand.Read(k[:]); err != nil {
			return *k, err
		}
		e.key = k
	}
	e.until = now.Add(watchLease)
	return *e.key, nil
}

// current returns the key if anybody watches.
func (e *eventKey) current(now time.Time) (key [eventKeySize]byte, watched bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.key == nil || now.After(e.until) {
		return key, false
	}
	return *e.key, true
}

func (e *eventKey) renew() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.key = nil
}

func (h *Hub) watch(context.Context, request) ([]byte, error) {
	k, err := h.events.get(h.opt.Now())
	return k[:], err
}

// PublishEvent tells an event to the clients that watch its run. It costs
// nothing while nobody watches. Events may be lost; the store has them.
func (h *Hub) PublishEvent(e model.Event) error {
	key, watched := h.events.current(h.opt.Now())
	if !watched {
		return nil
	}
	body, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("publishing event %s: %w", e.Kind, err)
	}
	secret, err := sealEvent(body, &key)
	if err != nil {
		return fmt.Errorf("publishing event %s: %w", e.Kind, err)
	}
	data, err := identity.Seal(h.key, purposeEvent, secret, h.stamp.next())
	if err == nil {
		err = h.nc.Publish(h.names.event(e.Run), data)
	}
	if err != nil {
		return fmt.Errorf("publishing event %s: %w", e.Kind, unavailable("%w", err))
	}
	return nil
}

func sealEvent(body []byte, key *[eventKeySize]byte) ([]byte, error) {
	var nonce [eventNonceSize]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return nil, err
	}
	return secretbox.Seal(nonce[:], pack(body), &nonce, key), nil
}

// openEvent decrypts and decodes an event; ok is false if the key is another.
func openEvent(secret []byte, key *[eventKeySize]byte) (e model.Event, ok bool) {
	if len(secret) < eventNonceSize {
		return e, false
	}
	nonce := [eventNonceSize]byte(secret[:eventNonceSize])
	packed, ok := secretbox.Open(nil, secret[eventNonceSize:], &nonce, key)
	if !ok {
		return e, false
	}
	body, err := unpack(packed)
	if err != nil {
		return e, false
	}
	return e, json.Unmarshal(body, &e) == nil
}
