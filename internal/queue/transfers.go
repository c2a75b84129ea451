package queue

import (
	"crypto/rand"
	"encoding/binary"
	"os"
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
	// maxTransfers bounds the bodies in parts of one sender at a time, maxOpen
	// those of all senders, and maxHeld what they hold together on the disk, in
	// bytes. Without bounds an admitted agent could fill the disk; see also
	// HubOptions.Spare.
	maxTransfers = 8
	maxOpen      = 512
	maxHeld      = 1 << 30
)

// transferKey names a body: ids of different senders never meet.
type transferKey struct {
	sender string
	id     transferID
}

// transfers holds bodies that travel in parts, in files without a name, which
// are gone with the process. Every part came in, or goes out, in a verified
// message of the sender that is part of the key.
type transfers struct {
	dir   string
	now   func() time.Time
	spare func() int64

	sync.Mutex
	held int // bytes
	all  map[transferKey]*transfer
}

type transfer struct {
	file    *os.File
	piece   int // size of the parts but the last, in bytes
	count   int
	have    int // parts
	size    int // bytes that it has
	touched time.Time
}

func newTransfers(opt HubOptions) *transfers {
	return &transfers{dir: opt.Dir, now: opt.Now, spare: opt.Spare, all: make(map[transferKey]*transfer)}
}

// put stores a part that was uploaded; parts come in order. Storing it twice
// changes nothing.
func (t *transfers) put(sender string, p part) error {
	t.Lock()
	defer t.Unlock()
	k := transferKey{sender, p.id}
	x := t.all[k]
	if x == nil {
		var err error
		if x, err = t.open(k, p.count); err != nil {
			return err
		}
	}
	x.touched = t.now()
	switch {
	case p.count != x.count:
		return model.Usagef("part %d of %d, earlier it was of %d", p.index, p.count, x.count)
	case p.index < x.have:
		return nil
	case p.index > x.have:
		return model.Usagef("part %d of %d before part %d", p.index, p.count, x.have)
	case x.size+len(p.data) > max(maxCall, maxResult):
		t.remove(k)
		return errTooLarge
	}
	return t.write(k, x, p.data)
}

// write appends to a body.
func (t *transfers) write(k transferKey, x *transfer, data []byte) error {
	var err error
	switch {
	case t.held+len(data) > maxHeld:
		err = model.Unavailablef("too many large messages are under way")
	case t.spare != nil && t.spare() < int64(len(data)):
		err = model.Unavailablef("the disk of the server's data directory is nearly full, and large messages wait there; " +
			"free some space, or delete runs with `scalebench delete`")
	default:
		if _, err = x.file.WriteAt(data, int64(x.size)); err != nil {
			err = model.Unavailablef("keeping a large message: %w", err)
		}
	}
	if err != nil {
		t.remove(k)
		return err
	}
	x.have++
	x.size += len(data)
	t.held += len(data)
	return nil
}

// size is how many bytes of a body are there.
func (t *transfers) size(sender string, id transferID) int {
	t.Lock()
	defer t.Unlock()
	if x := t.all[transferKey{sender, id}]; x != nil {
		return x.size
	}
	return 0
}

// take returns an uploaded body and forgets it.
func (t *transfers) take(sender string, id transferID) ([]byte, error) {
	t.Lock()
	defer t.Unlock()
	k := transferKey{sender, id}
	x := t.all[k]
	if x == nil || x.have < x.count {
		return nil, model.Unavailablef("the parts of the message did not all arrive")
	}
	body := make([]byte, x.size)
	_, err := x.file.ReadAt(body, 0)
	t.remove(k)
	return body, err
}

// offer keeps a reply until its receiver has fetched its last part.
func (t *transfers) offer(receiver string, id transferID, body []byte, piece int) error {
	t.Lock()
	defer t.Unlock()
	k := transferKey{receiver, id}
	x, err := t.open(k, (len(body)+piece-1)/piece)
	if err != nil {
		return err
	}
	x.piece, x.have = piece, x.count-1
	return t.write(k, x, body)
}

// get returns one part of an offered reply.
func (t *transfers) get(receiver string, p part) ([]byte, error) {
	t.Lock()
	defer t.Unlock()
	k := transferKey{receiver, p.id}
	x := t.all[k]
	if x == nil || p.index >= x.count {
		return nil, model.Unavailablef("the reply has been dropped; ask again")
	}
	x.touched = t.now()
	at := p.index * x.piece
	out := make([]byte, min(x.piece, x.size-at))
	if _, err := x.file.ReadAt(out, int64(at)); err != nil {
		return nil, model.Unavailablef("reading a large reply: %w", err)
	}
	if p.index == x.count-1 {
		t.remove(k)
	}
	return out, nil
}

// open begins a body. What was not touched for long is dropped before.
func (t *transfers) open(k transferKey, count int) (*transfer, error) {
	n := 0
	for other, x := range t.all {
		if t.now().Sub(x.touched) > transferIdle {
			t.remove(other)
		} else if other.sender == k.sender {
			n++
		}
	}
	if n >= maxTransfers || len(t.all) >= maxOpen {
		return nil, model.Unavailablef("%d large messages are under way already", n)
	}
	f, err := os.CreateTemp(t.dir, "message-*")
	if err == nil {
		err = os.Remove(f.Name())
	}
	if err != nil {
		return nil, model.Unavailablef("keeping a large message: %w", err)
	}
	x := &transfer{file: f, count: count, touched: t.now()}
	t.all[k] = x
	return x, nil
}

// drop forgets a body.
func (t *transfers) drop(sender string, id transferID) {
	t.Lock()
	defer t.Unlock()
	t.remove(transferKey{sender, id})
}

func (t *transfers) remove(k transferKey) {
	if x := t.all[k]; x != nil {
		_ = x.file.Close() // nothing of it is needed any more
		t.held -= x.size
		delete(t.all, k)
	}
}

func (t *transfers) close() {
	t.Lock()
	defer t.Unlock()
	for k := range t.all {
		t.remove(k)
	}
}
