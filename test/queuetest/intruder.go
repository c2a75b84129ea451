// Package queuetest is for tests that attack the queue: an intruder on a
// user's own NATS server, who may read and write everything there. It knows
// how messages look from outside and nothing of package queue.
package queuetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/identity"
)

// wait bounds everything that an intruder waits for.
const wait = 20 * time.Second

// Message is a message as it went over the wire.
type Message struct {
	Subject string
	Data    []byte
}

// Intruder is a connection with the queue's credentials and no key of
// scalebench's.
type Intruder struct {
	t  testing.TB
	nc *nats.Conn
}

// Connect connects to the queue until the test ends.
func Connect(t testing.TB, url string) *Intruder {
	t.Helper()
	nc, err := Dial(url)
	if err != nil {
		t.Fatalf("the intruder does not reach the queue: %v", err)
	}
	return On(t, nc)
}

// On is an intruder on a connection that the test has made; it ends with the
// test.
func On(t testing.TB, nc *nats.Conn) *Intruder {
	t.Cleanup(nc.Close)
	return &Intruder{t: t, nc: nc}
}

// Dial makes one try to connect, and returns why it failed.
func Dial(url string) (*nats.Conn, error) {
	return nats.Connect(url, nats.Timeout(wait), nats.NoReconnect())
}

// Tap is what was seen on a subject.
type Tap struct {
	t    testing.TB
	mu   sync.Mutex
	seen []Message
	more chan struct{} // one token after every message
}

// Capture records what is published on a subject, which may have wildcards,
// from now on.
func (i *Intruder) Capture(subject string) *Tap {
	i.t.Helper()
	tap := &Tap{t: i.t, more: make(chan struct{}, 1)}
	_, err := i.nc.Subscribe(subject, func(m *nats.Msg) {
		tap.mu.Lock()
		tap.seen = append(tap.seen, Message{m.Subject, append([]byte(nil), m.Data...)})
		tap.mu.Unlock()
		select {
		case tap.more <- struct{}{}:
		default: // one token says it
		}
	})
	if err == nil {
		err = i.nc.FlushTimeout(wait)
	}
	if err != nil {
		i.t.Fatalf("capturing %s: %v", subject, err)
	}
	return tap
}

// Messages returns what was seen so far.
func (tap *Tap) Messages() []Message {
	tap.mu.Lock()
	defer tap.mu.Unlock()
	return append([]Message(nil), tap.seen...)
}

// Await returns what was seen as soon as that is at least n messages.
func (tap *Tap) Await(n int) []Message {
	tap.t.Helper()
	late := time.After(wait)
	for {
		if ms := tap.Messages(); len(ms) >= n {
			return ms
		}
		select {
		case <-tap.more:
		case <-late:
			tap.t.Fatalf("saw %d messages, want %d", len(tap.Messages()), n)
		}
	}
}

// Publish sends bytes to the listeners of a subject; reply may be "".
func (i *Intruder) Publish(subject, reply string, data []byte) {
	i.t.Helper()
	err := i.nc.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Data: data})
	if err == nil {
		err = i.nc.FlushTimeout(wait)
	}
	if err != nil {
		i.t.Fatalf("publishing on %s: %v", subject, err)
	}
}

// Altered returns copies of an envelope, each with one bit changed: in the
// magic, the signer's key, the time, the content (twice) and the signature.
func Altered(data []byte) [][]byte {
	n := len(data)
	var out [][]byte
	for _, at := range []int{0, 10, 40, n / 2, n - 70, n - 1} {
		c := append([]byte(nil), data...)
		c[at] ^= 1
		out = append(out, c)
	}
	return out
}

// PurposeTask is what the envelopes of tasks are for.
const PurposeTask = "master.task"

// Seal makes a message as scalebench itself would: packed, encrypted for one
// reader and signed. With the right key it is accepted, so that a refusal of
// one with a wrong key says something.
func Seal(k *identity.Key, to, purpose string, body []byte, at time.Time) ([]byte, error) {
	const raw = 0 // not compressed
	secret, err := k.Encrypt(to, append([]byte{raw}, body...))
	if err != nil {
		return nil, fmt.Errorf("encrypting for %s: %w", to, err)
	}
	return identity.Seal(k, purpose, secret, at)
}
