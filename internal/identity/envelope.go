package identity

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/nats-io/nkeys"
	"golang.org/x/crypto/curve25519"
	"golang.org/x/crypto/nacl/box"
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

// Encryption between two identities is NaCl box (X25519, XSalsa20-Poly1305),
// what nkeys calls xkeys. Instead of distributing a second key pair, the
// Curve25519 form of the Ed25519 keys is used: secret scalar = SHA-512(seed)
// cut to 32 bytes (RFC 8032, section 5.1.5), public u = (1+y)/(1−y) mod p (RFC
// 7748, section 4.1). Using one pair for both is sound: E. Thormarker, "On
// using the same key pair for Ed25519 and an X25519 based KEM", 2021.
//
// A box also authenticates: only the two holders can make one. It does not say
// which of the two, so messages that matter are signed as well.

const nonceSize = 24

// BoxOverhead is what [Key.Encrypt] adds to its input, in bytes.
const BoxOverhead = nonceSize + box.Overhead

// errDecrypt says no more than that, on purpose.
var errDecrypt = errors.New("cannot be decrypted with this key")

// Encrypt seals plaintext for the holder of the public key to.
func (k *Key) Encrypt(to string, plaintext []byte) ([]byte, error) {
	shared, err := k.sharedWith(to)
	if err != nil {
		return nil, err
	}
	var nonce [nonceSize]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return nil, fmt.Errorf("encrypting: %w", err)
	}
	out := append(make([]byte, 0, BoxOverhead+len(plaintext)), nonce[:]...)
	return box.SealAfterPrecomputation(out, plaintext, &nonce, shared), nil
}

// Decrypt opens what the holder of the public key from encrypted for this key
// (or this key for from: a box does not say in which direction it went).
func (k *Key) Decrypt(from string, ciphertext []byte) ([]byte, error) {
	if len(ciphertext) < BoxOverhead {
		return nil, errDecrypt
	}
	shared, err := k.sharedWith(from)
	if err != nil {
		return nil, err
	}
	nonce := [nonceSize]byte(ciphertext[:nonceSize])
	out, ok := box.OpenAfterPrecomputation(nil, ciphertext[nonceSize:], &nonce, shared)
	if !ok {
		return nil, errDecrypt
	}
	return out, nil
}

// sharedWith returns the secret shared with a peer. It is remembered: the
// X25519 operation costs more than sealing a small message.
func (k *Key) sharedWith(peer string) (*[32]byte, error) {
	if s, ok := k.shared.Load(peer); ok {
		return s.(*[32]byte), nil
	}
	_, raw, err := decodePublic(peer)
	if err != nil {
		return nil, err
	}
	theirs, err := montgomery(raw)
	if err != nil {
		return nil, err
	}
	mine := [32]byte(secretScalar(k))
	// X25519 refuses points of small order, with which the secret would be
	// public; box.Precompute does not.
	if _, err := curve25519.X25519(mine[:], theirs[:]); err != nil {
		return nil, fmt.Errorf("public key %.8s…: unsafe for encryption", peer)
	}
	shared := new([32]byte)
	box.Precompute(shared, theirs, &mine)
	k.shared.Store(peer, shared)
	return shared, nil
}

// secretScalar is the X25519 form of the private half.
func secretScalar(k *Key) []byte {
	digest := sha512.Sum512(k.private.Seed())
	return digest[:32]
}

// montgomery converts an Ed25519 public key to the u coordinate of the same
// point on Curve25519. Public keys are not secret: math/big may take its time.
func montgomery(public []byte) (*[32]byte, error) {
	b := bytes.Clone(public)
	b[31] &= 0x7f // the sign of x plays no part
	slices.Reverse(b)
	y, one := new(big.Int).SetBytes(b), big.NewInt(1)
	p := new(big.Int).Lsh(one, 255)
	p.Sub(p, big.NewInt(19)) // 2^255 − 19
	denominator := new(big.Int).Sub(one, y)
	if y.Cmp(p) >= 0 || denominator.ModInverse(denominator.Mod(denominator, p), p) == nil {
		return nil, errors.New("public key: not usable for encryption")
	}
	u := new(big.Int).Add(one, y)
	u.Mul(u, denominator).Mod(u, p)
	out := new([32]byte)
	u.FillBytes(out[:])
	slices.Reverse(out[:])
	return out, nil
}
