package identity

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nkeys"
)

// Kinds of failure of [Open].
var (
	// ErrEnvelope: the bytes are not an envelope, or were cut.
	ErrEnvelope = errors.New("not a signed envelope")
	// ErrSignature: the signature does not fit what it claims to sign.
	ErrSignature = errors.New("signature does not match")
	// ErrPurpose: properly signed, for another purpose.
	ErrPurpose = errors.New("signed for another purpose")
)

// The layout of an envelope, in order:
//
//	4  bytes  magic "SBE1"
//	1  byte   kind of the signer's key (nkey prefix)
//	32 bytes  the signer's public key
//	8  bytes  issue time, nanoseconds since 1970, big endian
//	1  byte   length of the purpose, then the purpose
//	          payload
//	64 bytes  Ed25519 signature
//
// The signature covers signContext and every byte before it. The fields are
// of fixed size or carry their length, so no two envelopes of different
// content have the same signed bytes.
const (
	envelopeMagic = "SBE1"
	signerAt      = len(envelopeMagic)
	timeAt        = signerAt + 1 + ed25519.PublicKeySize
	purposeAt     = timeAt + 8
	headerSize    = purposeAt + 1

	// signContext keeps our signatures apart from everything else that the
	// same keys sign, namely the queue server's challenges.
	signContext = "scalebench envelope 1\x00"
)

// MaxPurpose is the longest purpose, in bytes.
const MaxPurpose = 255

// EnvelopeOverhead is what an envelope adds to its payload, in bytes, apart
// from the purpose.
const EnvelopeOverhead = headerSize + ed25519.SignatureSize

// Seal signs a payload for one purpose. Purpose names type and direction of
// the message ("agent.ready", "reply …"): what was signed for one purpose does
// not open for another.
func Seal(k *Key, purpose string, payload []byte, now time.Time) ([]byte, error) {
	if purpose == "" || len(purpose) > MaxPurpose {
		return nil, fmt.Errorf("sealing: purpose %q: must have 1 to %d bytes", purpose, MaxPurpose)
	}
	buf := make([]byte, 0, len(signContext)+EnvelopeOverhead+len(purpose)+len(payload))
	buf = append(buf, signContext...)
	buf = append(buf, envelopeMagic...)
	buf = append(buf, byte(prefixOf(k.role)))
	buf = append(buf, k.private.Public().(ed25519.PublicKey)...)
	buf = binary.BigEndian.AppendUint64(buf, uint64(now.UnixNano()))
	buf = append(buf, byte(len(purpose)))
	buf = append(buf, purpose...)
	buf = append(buf, payload...)
	buf = append(buf, ed25519.Sign(k.private, buf)...)
	return buf[len(signContext):], nil
}

// Open verifies an envelope and returns what it holds. The caller decides
// whether it trusts the signer, and whether the time is recent enough. The
// payload shares memory with data. Errors are [ErrEnvelope], [ErrSignature] or
// [ErrPurpose]; with ErrPurpose alone signer and time are verified and set.
func Open(data []byte, purpose string) (payload []byte, signer string, issued time.Time, err error) {
	if len(data) < EnvelopeOverhead || string(data[:signerAt]) != envelopeMagic {
		return nil, "", time.Time{}, ErrEnvelope
	}
	prefix := nkeys.PrefixByte(data[signerAt])
	end := len(data) - ed25519.SignatureSize
	body := headerSize + int(data[purposeAt])
	if body > end || prefix != nkeys.PrefixByteUser && prefix != nkeys.PrefixByteServer {
		return nil, "", time.Time{}, ErrEnvelope
	}
	key := data[signerAt+1 : timeAt]
	if !ed25519.Verify(key, append([]byte(signContext), data[:end]...), data[end:]) {
		return nil, "", time.Time{}, ErrSignature
	}
	if signer, err = encodePublic(prefix, key); err != nil {
		return nil, "", time.Time{}, ErrEnvelope
	}
	issued = time.Unix(0, int64(binary.BigEndian.Uint64(data[timeAt:purposeAt])))
	if got := data[headerSize:body]; string(got) != purpose {
		return nil, signer, issued, fmt.Errorf("%w: %.40q, not %.40q", ErrPurpose, got, purpose)
	}
	return data[body:end], signer, issued, nil
}
