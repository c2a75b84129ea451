package queue

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// A body that is too large for one message travels in parts.

// partSize is the size of parts for a server's max_payload, in bytes.
func partSize(maxPayload int64) int {
	return int(min(max(maxPayload-margin, 1<<10), maxPart))
}

func newTransferID() (id transferID) {
	rand.Read(id[:]) // never fails
	return id
}

// split cuts a body that is not empty into pieces for a server's max_payload.
func split(body []byte, maxPayload int64) [][]byte {
	return slices.Collect(slices.Chunk(body, partSize(maxPayload)))
}

// part is one piece of a body, or the request for it.
type part struct {
	id    transferID
	index int
	count int
	data  []byte
}

const partHeader = 16 + 4 + 4

func (p part) encode() []byte {
	out := append(make([]byte, 0, partHeader+len(p.data)), p.id[:]...)
	out = binary.BigEndian.AppendUint32(out, uint32(p.index))
	out = binary.BigEndian.AppendUint32(out, uint32(p.count))
	return append(out, p.data...)
}

func parsePart(data []byte) (part, error) {
	if len(data) < partHeader {
		return part{}, errFrame
	}
	p := part{
		id:    transferID(data),
		index: int(binary.BigEndian.Uint32(data[16:])),
		count: int(binary.BigEndian.Uint32(data[20:])),
		data:  data[partHeader:],
	}
	if p.count < 1 || p.count > maxParts || p.index >= p.count {
		return part{}, errFrame
	}
	return p, nil
}

const (
	// transferIdle is how long a body in parts is kept without being touched.
	transferIdle = 2 * time.Minute
	// maxTransfers bounds the bodies in parts of one sender at a time, and
	// maxHeld what all of them together hold, in bytes. Without bounds an
	// admitted agent could fill the master's memory.
	maxTransfers = 8
	maxHeld      = 1 << 30
)

// transferKey names a body: ids of different senders never meet.
type transferKey struct {
	sender string
	id     transferID
}

// transfers holds bodies that travel in parts. Every part came in, or goes
// out, in a verified message of the sender that is part of the key.
type transfers struct {
	now func() time.Time

	mu   sync.Mutex
	held int // bytes
	all  map[transferKey]*transfer
}

type transfer struct {
	parts   [][]byte
	missing int
	size    int
	touched time.Time
}

func newTransfers(now func() time.Time) *transfers {
	return &transfers{now: now, all: make(map[transferKey]*transfer)}
}

// put stores a part that was uploaded. Storing it twice changes nothing.
func (t *transfers) put(sender string, p part) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := transferKey{sender, p.id}
	x := t.all[k]
	if x == nil {
		if err := t.room(sender); err != nil {
			return err
		}
		x = &transfer{parts: make([][]byte, p.count), missing: p.count}
		t.all[k] = x
	}
	x.touched = t.now()
	if p.count != len(x.parts) {
		return fmt.Errorf("%w: part %d of %d, earlier it was of %d", model.ErrUsage, p.index, p.count, len(x.parts))
	}
	if x.parts[p.index] != nil {
		return nil
	}
	if x.size+len(p.data) > maxMessage || t.held+len(p.data) > maxHeld {
		t.drop(k)
		return fmt.Errorf("%w: %w", model.ErrUnavailable, errTooLarge)
	}
	x.parts[p.index] = append(make([]byte, 0, len(p.data)), p.data...)
	x.missing--
	x.size += len(p.data)
	t.held += len(p.data)
	return nil
}

// take returns an uploaded body and forgets it.
func (t *transfers) take(sender string, id transferID) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := transferKey{sender, id}
	x := t.all[k]
	if x == nil || x.missing > 0 {
		return nil, unavailable("the parts of the message did not all arrive")
	}
	t.drop(k)
	return slices.Concat(x.parts...), nil
}

// offer keeps a reply until its receiver has fetched its last part.
func (t *transfers) offer(receiver string, id transferID, parts [][]byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.room(receiver); err != nil {
		return err
	}
	x := &transfer{parts: parts, touched: t.now()}
	for _, p := range parts {
		x.size += len(p)
	}
	if t.held+x.size > maxHeld {
		return unavailable("too many large replies are waiting to be fetched")
	}
	t.held += x.size
	t.all[transferKey{receiver, id}] = x
	return nil
}

// get returns one part of an offered reply.
func (t *transfers) get(receiver string, p part) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := transferKey{receiver, p.id}
	x := t.all[k]
	if x == nil || p.index >= len(x.parts) || x.missing > 0 {
		return nil, unavailable("the reply has been dropped; ask again")
	}
	x.touched = t.now()
	out := x.parts[p.index]
	if p.index == len(x.parts)-1 {
		t.drop(k)
	}
	return out, nil
}

// room drops what was not touched for long and reports whether the sender may
// have one more.
func (t *transfers) room(sender string) error {
	n := 0
	for k, x := range t.all {
		if t.now().Sub(x.touched) > transferIdle {
			t.drop(k)
		} else if k.sender == sender {
			n++
		}
	}
	if n >= maxTransfers {
		return unavailable("%d large messages are under way already", n)
	}
	return nil
}

func (t *transfers) drop(k transferKey) {
	if x := t.all[k]; x != nil {
		t.held -= x.size
		delete(t.all, k)
	}
}
