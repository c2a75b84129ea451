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

// Dispatch sends an assignment to its node, signed and encrypted for its agent.
// It may get lost on the way: dispatch it again until the node shows that it
// has it. An error that is not model.ErrUnavailable will not pass.
func (h *Hub) Dispatch(a wire.Assignment) error {
	var data []byte
	body, err := encode(a)
	if err == nil {
		data, err = sealFor(h.key, a.NodeKey, purposeTask, body, h.stamp.next())
	}
	if room := h.nc.MaxPayload(); err == nil && (int64(len(data)) > room || len(body) > maxWhole) {
		err = model.Usagef("the task has %d bytes, but the queue takes at most %d (max_payload of the NATS server); put "+
			"large inputs into files on the nodes", len(data), min(room, maxWhole))
	}
	if err == nil {
		err = h.publish(h.names.task(a.Node), data)
	}
	if err != nil {
		return fmt.Errorf("dispatching %s#%d: %w", a.Task, a.Attempt, err)
	}
	return nil
}

func (h *Hub) publish(subject string, data []byte) error {
	err := h.nc.Publish(subject, data)
	if err != nil && !errors.Is(err, nats.ErrMaxPayload) {
		return model.Unavailablef("%w", err)
	}
	return err
}

// Order tells nodes to start or to cancel a step's tasks, or to look for what a
// run needs. It returns when the order is on its way to all of them; an agent
// that missed a start or cancel learns of it from the reply to its next Ready.
// It is signed without being encrypted: one order goes to many nodes, and says
// nothing but which step begins or ends when, or names of programs and variables.
func (h *Hub) Order(ctx context.Context, o wire.Order, nodes []model.NodeID) error {
	var data []byte
	body, err := encode(o)
	if err == nil {
		data, err = identity.Seal(h.key, purposeOrder, body, h.stamp.next())
	}
	for i := 0; err == nil && i < len(nodes); i++ {
		err = h.publish(h.names.order(nodes[i]), data)
	}
	if err == nil {
		err = flush(ctx, h.nc)
	}
	if err != nil {
		return fmt.Errorf("ordering %s: %w", o.Kind, err)
	}
	return nil
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
	sync.Mutex
	key   *[eventKeySize]byte // nil: no client has asked yet
	until time.Time           // a client watches
}

// get returns the key for a watching client.
func (e *eventKey) get(now time.Time) [eventKeySize]byte {
	e.Lock()
	defer e.Unlock()
	if e.key == nil {
		e.key = new([eventKeySize]byte)
		rand.Read(e.key[:]) // never fails
	}
	e.until = now.Add(watchLease)
	return *e.key
}

// current returns the key if a client watches.
func (e *eventKey) current(now time.Time) (key [eventKeySize]byte, watched bool) {
	e.Lock()
	defer e.Unlock()
	if e.key == nil || now.After(e.until) {
		return key, false
	}
	return *e.key, true
}

func (e *eventKey) renew() {
	e.Lock()
	defer e.Unlock()
	if e.key != nil { // who watches finds that the old one does not fit, and asks
		e.key = new([eventKeySize]byte)
		rand.Read(e.key[:]) // never fails
	}
}

func (h *Hub) watch(context.Context, *request) ([]byte, error) {
	k := h.events.get(h.opt.Now())
	return k[:], nil
}

// PublishEvent tells an event to the clients that watch its run. It costs
// nothing while no client watches. Events may be lost; the store has them.
func (h *Hub) PublishEvent(e model.Event) error {
	key, watched := h.events.current(h.opt.Now())
	if !watched {
		return nil
	}
	var data []byte
	body, err := json.Marshal(e)
	if err == nil {
		data, err = identity.Seal(h.key, purposeEvent, sealEvent(body, &key), h.stamp.next())
	}
	if err == nil {
		err = h.publish(h.names.event(e.Run), data)
	}
	if err != nil {
		return fmt.Errorf("publishing event %s: %w", e.Kind, err)
	}
	return nil
}

func sealEvent(body []byte, key *[eventKeySize]byte) []byte {
	var nonce [eventNonceSize]byte
	rand.Read(nonce[:]) // never fails
	return secretbox.Seal(nonce[:], pack(body), &nonce, key)
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
	body, err := unpack(packed, maxWhole)
	if err != nil {
		return e, false
	}
	return e, json.Unmarshal(body, &e) == nil
}
