package queue

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/scalebench/scalebench/internal/identity"
)

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

	mu   sync.Mutex
	last time.Time
}

func (i *issuer) next() time.Time {
	t := i.now()
	i.mu.Lock()
	defer i.mu.Unlock()
	if !t.After(i.last) {
		t = i.last.Add(1)
	}
	i.last = t
	return t
}

// raise makes later stamps exceed floor: the receiver has seen it.
func (i *issuer) raise(floor time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
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

// openFrom verifies that an envelope is the named signer's and decrypts it.
func openFrom(k *identity.Key, from, purpose string, data []byte) ([]byte, error) {
	secret, signer, _, err := identity.Open(data, purpose)
	if err != nil {
		return nil, err
	}
	if signer != from {
		return nil, fmt.Errorf("%w: signed by %.12s…, not by %.12s…", identity.ErrSignature, signer, from)
	}
	return decrypt(k, from, secret)
}

func decrypt(k *identity.Key, from string, secret []byte) ([]byte, error) {
	packed, err := k.Decrypt(from, secret)
	if err != nil {
		return nil, err
	}
	return unpack(packed)
}

// The first byte of a packed message.
const (
	packedRaw byte = iota
	packedS2
)

const (
	// minPack is the size from which compression is tried, in bytes.
	minPack = 512
	// maxMessage bounds what one message may unpack to, and what its parts may
	// add up to, in bytes.
	maxMessage = 512 << 20
)

var (
	errPacked   = errors.New("message cannot be unpacked")
	errTooLarge = fmt.Errorf("message is larger than %d MiB", maxMessage>>20)
)

// pack compresses a message if that makes it smaller. Compressing before
// encrypting tells an eavesdropper how well a message compresses; nobody but
// its author chooses its content, so nothing can be probed with that.
func pack(body []byte) []byte {
	if len(body) >= minPack {
		out := s2.Encode(nil, body)
		if len(out) < len(body) {
			return append([]byte{packedS2}, out...)
		}
	}
	return append([]byte{packedRaw}, body...)
}

func unpack(packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return nil, errPacked
	}
	switch body := packed[1:]; packed[0] {
	case packedRaw:
		return body, nil
	case packedS2:
		// The claimed size is checked before anything is allocated for it.
		n, err := s2.DecodedLen(body)
		if err != nil {
			return nil, errPacked
		}
		if n > maxMessage {
			return nil, errTooLarge
		}
		out, err := s2.Decode(nil, body)
		if err != nil {
			return nil, errPacked
		}
		return out, nil
	}
	return nil, errPacked
}
