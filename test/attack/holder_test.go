package attack

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/identity"
)

// holder is who holds a key and makes messages with it as it likes.
type holder struct {
	*world
	name string
	role identity.Role
	key  *identity.Key
	nc   *nats.Conn
}

func (w *world) holder(name string, role identity.Role, k *identity.Key) *holder {
	h := &holder{world: w, name: name, role: role, key: k}
	h.nc = h.connect()
	return h
}

// connect opens one more connection with the key.
func (h *holder) connect(opts ...nats.Option) *nats.Conn {
	h.t.Helper()
	nc := must[*nats.Conn](h.t)(h.dial(opts...))
	h.t.Cleanup(nc.Close)
	return nc
}

func (h *holder) dial(opts ...nats.Option) (*nats.Conn, error) {
	opts = append(opts, nats.CustomInboxPrefix(h.inbox()), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // see forbidden
	if h.external != "" {
		return nats.Connect(h.external, opts...)
	}
	return nats.Connect("nats://"+h.listen, append(opts, nats.Nkey(h.key.Public(), h.key.Sign))...)
}

// root is what all subjects of the server begin with.
func (w *world) root() string { return "sb." + w.key[2:18] }

func (h *holder) inbox() string { return h.root() + ".i." + h.key.Public() }

// own is the subject on which the holder may send messages of a kind.
func (h *holder) own(kind string) string {
	if h.role == identity.RoleClient {
		return h.root() + ".c." + h.key.Public() + "." + kind
	}
	return h.root() + ".a." + h.name + "." + kind
}

// The first bytes of packed messages and of frames; see package queue.
const (
	packedRaw, packedS2 = 0, 1
	frameBody           = 0
	frameParts          = 1
)

func body(b []byte) []byte { return append([]byte{packedRaw, frameBody}, b...) }

// squeezed is a body that travels compressed.
func squeezed(b []byte) []byte {
	return append([]byte{packedS2}, s2.EncodeBest(nil, append([]byte{frameBody}, b...))...)
}

// bomb are some 200 bytes that claim to unpack to 512 MiB.
func bomb() []byte {
	return append(append([]byte{packedS2}, binary.AppendUvarint(nil, 512<<20-1)...), strings.Repeat("\xfe\xff\xff", 60)...)
}

// seal encrypts and signs what is packed as a message of a kind.
func (h *holder) seal(kind string, packed []byte) []byte {
	h.t.Helper()
	data, err := h.sealed(kind, packed)
	check(h.t, err)
	return data
}

func (h *holder) sealed(kind string, packed []byte) ([]byte, error) {
	secret, err := h.key.Encrypt(h.world.key, packed)
	if err != nil {
		return nil, err
	}
	purpose := "agent." + kind
	if h.role == identity.RoleClient {
		purpose = "client." + kind
	}
	return identity.Seal(h.key, purpose, secret, time.Now())
}

// call is the body of a call.
func call(verb string, request any) []byte {
	text, err := json.Marshal(request)
	if err != nil {
		panic(err)
	}
	return append(append([]byte{byte(len(verb))}, verb...), text...)
}

// part is the body of an upload, or of a request to fetch.
func part(id byte, index, count int, data []byte) []byte {
	out := append(make([]byte, 0, 24+len(data)), make([]byte, 16)...)
	out[0] = id
	out = binary.BigEndian.AppendUint32(out, uint32(index))
	out = binary.BigEndian.AppendUint32(out, uint32(count))
	return append(out, data...)
}

// ask sends a message and returns what the server says: its error in words,
// "" for a body; ok is false if it says nothing for a while.
func (h *holder) ask(kind string, packed []byte, within time.Duration) (text string, ok bool) {
	h.t.Helper()
	m, err := h.nc.Request(h.own(kind), h.seal(kind, packed), within)
	if errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrConnectionReconnecting) {
		return "", false
	}
	check(h.t, err)
	text, err = h.read(m.Data)
	check(h.t, err)
	return text, true
}

// read opens a reply of the server.
func (h *holder) read(data []byte) (string, error) {
	const purposeAt = 4 + 1 + 32 + 8 // see package identity
	if len(data) < purposeAt+1 {
		return "", errors.New("no envelope")
	}
	purpose := string(data[purposeAt+1:][:data[purposeAt]])
	secret, signer, _, err := identity.Open(data, purpose)
	if err != nil || signer != h.world.key {
		return "", fmt.Errorf("not the server's: %w", err)
	}
	packed, err := h.key.Decrypt(signer, secret)
	if err != nil {
		return "", err
	}
	if packed[0] == packedS2 {
		packed, err = s2.Decode(nil, packed[1:])
	} else {
		packed = packed[1:]
	}
	if err == nil && packed[0] == 2 { // an error: its kind, its text
		return string(packed[2:]), nil
	}
	return "", err
}

// forbidden reports whether the embedded queue refused to let a connection
// publish or subscribe ("Publish", "Subscription") to a subject.
func forbidden(t testing.TB, nc *nats.Conn, what, subject string) bool {
	t.Helper()
	check(t, nc.Flush())
	err := nc.LastError()
	return errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), what+` to "`+subject+`"`)
}

// deaf are the connections of who asks and never reads: as soon as it is deaf,
// nothing is read from them.
type deaf struct {
	once sync.Once
	now  chan struct{}
}

func newDeaf() *deaf { return &deaf{now: make(chan struct{})} }

func (d *deaf) begin() { d.once.Do(func() { close(d.now) }) }

// Dial implements nats.CustomDialer.
func (d *deaf) Dial(network, address string) (net.Conn, error) {
	c, err := net.DialTimeout(network, address, wait)
	return &deafConn{Conn: c, deaf: d, closed: make(chan struct{})}, err
}

type deafConn struct {
	net.Conn
	deaf   *deaf
	once   sync.Once
	closed chan struct{}
}

func (c *deafConn) Read(b []byte) (int, error) {
	select {
	case <-c.deaf.now:
		<-c.closed
		return 0, net.ErrClosed
	default:
		n, err := c.Conn.Read(b[:min(len(b), 512)])
		return n, err
	}
}

func (c *deafConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// resultOf is a proper result of so many bytes, of a task that the server does
// not know: of numbers, which take more memory than text, or of printed text.
func resultOf(node string, size int, numbers bool) []byte {
	const task = `01J0000000000000000000TEST/0000/0000`
	out := fmt.Appendf(make([]byte, 0, size), `{"run":"01J0000000000000000000TEST","step":"01J0000000000000000000TEST/0000","task":%q,"attempt":1,"node":%q,"outcome":"ok",`, task, node)
	if !numbers {
		out = append(out, `"stdout":{"text":"`...)
		return append(append(out, bytes.Repeat([]byte("t"), size-len(out)-3)...), `"}}`...)
	}
	out = append(out, `"series":[{"metric":"m","unit":"op","offsets":[`...)
	values := bytes.Repeat([]byte("0,"), (size-len(out)-20)/4)
	values = values[:len(values)-1]
	out = append(append(out, values...), `],"values":[`...)
	return append(append(out, values...), `]}]}`...)
}
