package queue

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
)

// A message is a frame: packed, encrypted for its reader and signed for one
// purpose.

// Purposes of envelopes. Agents' and clients' are "agent." and "client." with
// the kind of message.
const (
	purposeTask  = "master.task"
	purposeOrder = "master.order"
	purposeEvent = "master.event"

	fromAgent  = "agent."
	fromClient = "client."
)

// replyPurpose binds a reply to its request: a reply to another request, or an
// older reply to an equal one, does not open. Envelopes of equal content
// differ in their time and nonce, so the hash names one request.
func replyPurpose(request []byte) string {
	sum := sha256.Sum256(request)
	return "reply." + base64.RawStdEncoding.EncodeToString(sum[:])
}

// issuer stamps messages. Its times strictly increase, also when the host's
// clock is set back, so that a receiver can tell a replayed message from a new
// one by its time alone.
type issuer struct {
	now func() time.Time

	sync.Mutex
	last time.Time
}

func (i *issuer) next() time.Time {
	t := i.now()
	i.Lock()
	defer i.Unlock()
	if !t.After(i.last) {
		t = i.last.Add(1)
	}
	i.last = t
	return t
}

// raise makes later stamps exceed floor: the receiver has seen it.
func (i *issuer) raise(floor time.Time) {
	i.Lock()
	defer i.Unlock()
	if floor.After(i.last) {
		i.last = floor
	}
}

// sealFor packs a message, encrypts it for one reader and signs the result.
func sealFor(k *identity.Key, to, purpose string, body []byte, at time.Time) ([]byte, error) {
	secret, err := k.Encrypt(to, pack(body))
	if err != nil {
		return nil, fmt.Errorf("sealing %s: %w", purpose, err)
	}
	return identity.Seal(k, purpose, secret, at)
}

// verify returns what is in an envelope of the named signer.
func verify(from, purpose string, data []byte) ([]byte, error) {
	payload, signer, _, err := identity.Open(data, purpose)
	if err != nil {
		return nil, err
	}
	if signer != from {
		return nil, fmt.Errorf("%w: signed by %.12s…, not by %.12s…", identity.ErrSignature, signer, from)
	}
	return payload, nil
}

// openFrom verifies that an envelope is the named signer's and decrypts it.
func openFrom(k *identity.Key, from, purpose string, data []byte) ([]byte, error) {
	secret, err := verify(from, purpose, data)
	if err != nil {
		return nil, err
	}
	packed, err := k.Decrypt(from, secret)
	if err != nil {
		return nil, err
	}
	return unpack(packed, maxWhole+margin)
}

// The first byte of a packed message.
const (
	packedRaw byte = iota
	packedS2
)

// minPack is the size from which compression is tried, in bytes.
const minPack = 512

var (
	errPacked   = errors.New("message cannot be unpacked")
	errTooLarge = model.Usagef("the message is larger than its kind may be")
)

// pack compresses a message if that makes it smaller. Compressing before
// encrypting tells an eavesdropper how well a message compresses; only its
// author chooses its content, so nothing can be probed with that.
func pack(body []byte) []byte {
	if len(body) >= minPack {
		out := s2.Encode(nil, body)
		if len(out) < len(body) {
			return append([]byte{packedS2}, out...)
		}
	}
	return append([]byte{packedRaw}, body...)
}

// unpackedSize is how large a message is when it is unpacked, which must be at
// most limit; by its header, before anything is allocated for it.
func unpackedSize(packed []byte, limit int) (int, error) {
	if len(packed) == 0 || packed[0] > packedS2 {
		return 0, errPacked
	}
	size, err := len(packed)-1, error(nil)
	if packed[0] == packedS2 {
		size, err = s2.DecodedLen(packed[1:])
	}
	switch {
	case err != nil:
		return 0, errPacked
	case size > limit:
		return 0, errTooLarge
	}
	return size, nil
}

// unpack returns a message of at most limit bytes.
func unpack(packed []byte, limit int) ([]byte, error) {
	if _, err := unpackedSize(packed, limit); err != nil {
		return nil, err
	}
	if packed[0] == packedRaw {
		return packed[1:], nil
	}
	body, err := s2.Decode(nil, packed[1:])
	if err != nil {
		return nil, errPacked
	}
	return body, nil
}

// A frame is what stands inside a sealed request or reply. Its first byte
// says what follows.
const (
	frameBody   byte = iota // the body itself
	frameParts              // transfer id, number of parts: the body travels apart
	frameError              // kind of error (1 byte), text
	frameReplay             // reply only: the latest issue time seen of this sender
)

// transferID names a body that travels in parts.
type transferID [16]byte

// frame is the decoded form.
type frame struct {
	kind  byte
	body  []byte
	id    transferID
	parts int
	err   error
	floor time.Time
}

var errFrame = errors.New("message has no known form")

// maxParts bounds how many parts a body can have: with the smallest part size
// still enough for 64 MiB, with the usual one for more than maxReply.
const maxParts = 1 << 16

func bodyFrame(body []byte) []byte { return append([]byte{frameBody}, body...) }

func partsFrame(id transferID, parts int) []byte {
	out := append([]byte{frameParts}, id[:]...)
	return binary.BigEndian.AppendUint32(out, uint32(parts))
}

func errorFrame(err error) []byte {
	// 0 if it has no kind.
	code := max(0, slices.IndexFunc(errorKinds(), func(kind error) bool { return kind != nil && errors.Is(err, kind) }))
	return append([]byte{frameError, byte(code)}, err.Error()...)
}

func replayFrame(floor time.Time) []byte {
	return binary.BigEndian.AppendUint64([]byte{frameReplay}, uint64(floor.UnixNano()))
}

// parseFrame decodes a frame; the body shares memory with data.
func parseFrame(data []byte) (frame, error) {
	if len(data) == 0 {
		return frame{}, errFrame
	}
	f, rest := frame{kind: data[0]}, data[1:]
	switch {
	case f.kind == frameBody:
		f.body = rest
	case f.kind == frameParts && len(rest) == len(f.id)+4:
		f.id = transferID(rest)
		f.parts = int(binary.BigEndian.Uint32(rest[len(f.id):]))
		if f.parts < 1 || f.parts > maxParts {
			return frame{}, errFrame
		}
	case f.kind == frameError && len(rest) > 0:
		remote := remoteError{text: string(rest[1:])}
		if kinds := errorKinds(); int(rest[0]) < len(kinds) { // this version knows it
			remote.kind = kinds[rest[0]]
		}
		f.err = remote
	case f.kind == frameReplay && len(rest) == 8:
		f.floor = time.Unix(0, int64(binary.BigEndian.Uint64(rest)))
	default:
		return frame{}, errFrame
	}
	return f, nil
}

// encodeCall puts the verb before the body.
func encodeCall(verb string, body []byte) ([]byte, error) {
	if verb == "" || len(verb) > 255 {
		return nil, model.Usagef("verb %.40q must have 1 to 255 bytes", verb)
	}
	out := append(make([]byte, 0, 1+len(verb)+len(body)), byte(len(verb)))
	return append(append(out, verb...), body...), nil
}

func parseCall(data []byte) (verb string, body []byte, err error) {
	if len(data) == 0 || data[0] == 0 || len(data) < 1+int(data[0]) {
		return "", nil, model.Usagef("call without a verb: %w", errFrame)
	}
	n := 1 + int(data[0])
	return string(data[1:n]), data[n:], nil
}

// errorKinds are the kinds of error that keep their meaning across the wire;
// the position is the code. Codes are never reused.
func errorKinds() []error {
	return []error{
		nil,
		model.ErrUsage,
		model.ErrNotFound,
		model.ErrInvalid,
		model.ErrThreshold,
		model.ErrDenied,
		model.ErrStale,
		model.ErrUnavailable,
		model.ErrQuota,
	}
}

// remoteError is an error of the other side: its text, and its kind for
// errors.Is.
type remoteError struct {
	kind error
	text string
}

func (e remoteError) Error() string { return e.text }
func (e remoteError) Unwrap() error { return e.kind }
