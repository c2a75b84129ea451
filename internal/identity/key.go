package identity

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/nats-io/nkeys"
)

// Role is what a key may act as.
type Role string

// The roles: the master itself, a node's agent, a person's or program's
// command line.
const (
	RoleServer Role = "server"
	RoleAgent  Role = "agent"
	RoleClient Role = "client"
)

// Key is a private identity: an Ed25519 key pair in the nkey encoding. It is
// safe for concurrent use, and no fmt verb prints the private half.
type Key struct {
	private ed25519.PrivateKey
	public  string
	role    Role
	shared  sync.Map // peer's public key -> *[32]byte, see Encrypt
}

// New makes a key in memory.
func New(role Role) (*Key, error) {
	var seed [ed25519.SeedSize]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return nil, fmt.Errorf("making a %s key: %w", role, err)
	}
	return fromSeed(seed[:], role)
}

// Public is the nkey that others know: "U…" or, for a server, "N…".
func (k *Key) Public() string { return k.public }

// Sign returns the Ed25519 signature (64 bytes) of data. The queue uses it
// for the server's challenge; messages are signed with [Seal].
func (k *Key) Sign(data []byte) ([]byte, error) {
	return ed25519.Sign(k.private, data), nil
}

// Format implements fmt.Formatter: the public key, whatever the verb.
func (k *Key) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, k.public) // fmt has no way to report it
}

// LogValue implements slog.LogValuer.
func (k *Key) LogValue() slog.Value { return slog.StringValue(k.public) }

// LoadOrCreate reads the key at path, or makes it if it is missing, with mode
// 0600 in a directory of mode 0700. It refuses a file that others can read and
// a directory that others can write to. Two processes that create the same
// file at the same time get the same key.
func LoadOrCreate(path string, role Role) (*Key, error) {
	if err := privateDir(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	k, err := load(path, role)
	if !errors.Is(err, os.ErrNotExist) {
		return k, err
	}
	if k, err = New(role); err != nil {
		return nil, err
	}
	seed, err := k.seed()
	if err == nil {
		// Linking a finished file into place means that no reader ever sees
		// half a key.
		err = PlacePrivate(path, append(seed, '\n'), os.Link)
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("writing key file %s: %w", path, err)
	}
	return load(path, role)
}

// Verify reports whether signature is that of the holder of the public key
// over data.
func Verify(public string, data, signature []byte) bool {
	_, raw, err := decodePublic(public)
	return err == nil && ed25519.Verify(raw, data, signature)
}

// CheckPublic reports whether s is a public key of a role.
func CheckPublic(s string, role Role) error {
	prefix, _, err := decodePublic(s)
	if err != nil {
		return err
	}
	if prefix != prefixOf(role) {
		return fmt.Errorf("public key %.8s…: not the key of a %s", s, role)
	}
	return nil
}

func prefixOf(role Role) nkeys.PrefixByte {
	if role == RoleServer {
		return nkeys.PrefixByteServer
	}
	return nkeys.PrefixByteUser
}

func fromSeed(seed []byte, role Role) (*Key, error) {
	private := ed25519.NewKeyFromSeed(seed)
	public, err := encodePublic(prefixOf(role), private.Public().(ed25519.PublicKey))
	if err != nil {
		return nil, fmt.Errorf("encoding a %s key: %w", role, err)
	}
	return &Key{private: private, public: public, role: role}, nil
}

// parseSeed reads the nkey form of a private key ("SU…", "SN…").
func parseSeed(text string, role Role) (*Key, error) {
	prefix, raw, err := nkeys.DecodeSeed([]byte(text))
	if err != nil || len(raw) != ed25519.SeedSize {
		return nil, errors.New("not an nkey seed (a line that begins with S)")
	}
	if prefix != prefixOf(role) {
		return nil, fmt.Errorf("not the key of a %s", role)
	}
	return fromSeed(raw, role)
}

func (k *Key) seed() ([]byte, error) {
	return nkeys.EncodeSeed(prefixOf(k.role), k.private.Seed())
}

func encodePublic(prefix nkeys.PrefixByte, raw []byte) (string, error) {
	b, err := nkeys.Encode(prefix, raw)
	return string(b), err
}

// decodePublic returns the kind and the 32 raw bytes of a user's or server's
// public key.
func decodePublic(s string) (nkeys.PrefixByte, ed25519.PublicKey, error) {
	prefix := nkeys.Prefix(s)
	if prefix != nkeys.PrefixByteUser && prefix != nkeys.PrefixByteServer {
		return 0, nil, fmt.Errorf("public key %.8q…: must be an nkey that begins with U or N", s)
	}
	raw, err := nkeys.Decode(prefix, []byte(s))
	// nkeys ignores characters beyond the 56 of a key: one key must have one
	// form.
	if err != nil || len(raw) != ed25519.PublicKeySize || len(s) != 56 {
		return 0, nil, fmt.Errorf("public key %.8q…: damaged", s)
	}
	return prefix, raw, nil
}

// load reads a key file; the error wraps os.ErrNotExist if it is missing.
func load(path string, role Role) (*Key, error) {
	data, err := readPrivate(path)
	if err != nil {
		return nil, fmt.Errorf("reading key file %s: %w", path, err)
	}
	k, err := parseSeed(strings.TrimSpace(string(data)), role)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w; restore it, or remove it to get a new identity", path, err)
	}
	return k, nil
}

// privateDir makes dir with mode 0700 if it is missing, and refuses one in
// which others could replace our files. Others may list it: the files
// themselves are 0600.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making its directory: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("directory %s can be changed by others (mode %04o): run `chmod 700 %s`", dir, mode, dir)
	}
	return nil
}

// readPrivate reads a file that holds a secret, and refuses one that others
// can read: its secret must be taken as known.
func readPrivate(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("others can read or change it (mode %04o): run `chmod 600 %s` if you trust all users who had access, or else remove it to get a new identity", mode, path)
	}
	return os.ReadFile(path)
}

// WritePrivate replaces a file with mode 0600, whole or not at all, and has it
// on the disk when it returns.
func WritePrivate(path string, data []byte) error { return PlacePrivate(path, data, os.Rename) }

// PlacePrivate writes data to a new file of mode 0600 beside path and lets place
// give it its name: by os.Rename, which replaces, or by os.Link, which fails
// with os.ErrExist where there is one.
func PlacePrivate(path string, data []byte, place func(tmp, path string) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // a renamed file is gone, a link stays
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = place(f.Name(), path)
	}
	if err != nil {
		return err
	}
	// The name must survive a power cut, too.
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
