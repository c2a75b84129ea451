package identity

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nkeys"
	"go.uber.org/goleak"
	"golang.org/x/crypto/curve25519"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newKey(t testing.TB, role Role) *Key { return must[*Key](t)(New(role)) }

func TestLoadOrCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "agent.nk")
	first := must[*Key](t)(LoadOrCreate(path, RoleAgent))
	again := must[*Key](t)(LoadOrCreate(path, RoleAgent))
	if first.Public() != again.Public() {
		t.Errorf("the key changed from %s to %s", first, again)
	}
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info := must[os.FileInfo](t)(os.Stat(p)); info.Mode().Perm() != want {
			t.Errorf("mode of %s = %04o, want %04o", p, info.Mode().Perm(), want)
		}
	}
	left := must[[]os.DirEntry](t)(os.ReadDir(filepath.Dir(path)))
	if len(left) != 1 {
		t.Errorf("left beside the key: %v", left)
	}
}

func TestKeysAreNkeys(t *testing.T) {
	for role, prefix := range map[Role]string{RoleServer: "N", RoleAgent: "U", RoleClient: "U"} {
		k := newKey(t, role)
		if !strings.HasPrefix(k.Public(), prefix) || len(k.Public()) != 56 {
			t.Errorf("%s key %s, want %s and 56 characters", role, k.Public(), prefix)
		}
		signature := must[[]byte](t)(k.Sign([]byte("data")))
		other := must[nkeys.KeyPair](t)(nkeys.FromPublicKey(k.Public()))
		check(t, other.Verify([]byte("data"), signature)) // the reference accepts it
		if !Verify(k.Public(), []byte("data"), signature) {
			t.Errorf("Verify of a %s key's signature = false", role)
		}
		if Verify(k.Public(), []byte("date"), signature) || Verify(newKey(t, role).Public(), []byte("data"), signature) || Verify("U", nil, nil) {
			t.Errorf("Verify of something else with a %s key = true", role)
		}
	}
}

func TestLoadOrCreateRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(path string) error
		want    string
	}{
		{"a file that others can read", func(p string) error { return os.Chmod(p, 0o644) }, "chmod 600"},
		{"a directory that others can change", func(p string) error { return os.Chmod(filepath.Dir(p), 0o777) }, "chmod 700"},
		{"a damaged file", func(p string) error { return os.WriteFile(p, []byte("SUxyz"), 0o600) }, "restore it"},
		{"an empty file", func(p string) error { return os.Truncate(p, 0) }, "restore it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "keys", "k")
			must[*Key](t)(LoadOrCreate(path, RoleAgent))
			check(t, c.prepare(path))
			if _, err := LoadOrCreate(path, RoleAgent); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("LoadOrCreate = %v, want %q and the path", err, c.want)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "k")
	must[*Key](t)(LoadOrCreate(path, RoleAgent))
	if _, err := LoadOrCreate(path, RoleServer); err == nil || !strings.Contains(err.Error(), "not the key of a server") {
		t.Errorf("an agent's key for a server: %v", err)
	}
}

func TestLoadOrCreateByMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k")
	var wg sync.WaitGroup
	keys := make([]*Key, 8)
	for i := range keys {
		wg.Go(func() { keys[i] = must[*Key](t)(LoadOrCreate(path, RoleClient)) })
	}
	wg.Wait()
	for _, k := range keys {
		if k.Public() != keys[0].Public() {
			t.Errorf("two keys: %s and %s", k, keys[0])
		}
	}
}

// Nothing that prints may show a secret, alone or within other values.
func TestSecretsAreNotPrinted(t *testing.T) {
	k := newKey(t, RoleAgent)
	seed := string(must[[]byte](t)(k.seed()))
	tok := Token{Endpoint: Endpoint{Servers: []string{"nats://user:hunter2@host:1"}}, Secret: NewSecret(seed), Role: RoleAgent}
	type holder struct {
		Token   Token
		Secret  Secret
		Key     *Key
		Pointer *Token
		private Token
	}
	h := holder{tok, tok.Secret, k, &tok, Token{Secret: tok.Secret}}
	var out bytes.Buffer
	for _, v := range []any{k, tok, &tok, tok.Secret, h, &h, []Token{tok}, map[string]Secret{"a": tok.Secret}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(h).Info("message", "value", v)
		}
	}
	_ = h.private
	for _, secret := range []string{seed, fmt.Sprintf("%x", seed), "hunter2", fmt.Sprintf("%d", []byte(seed)[:8])} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%.20q is printed:\n%s", secret, out.String())
		}
	}
}

// The public conversion must agree with the secret one, for every key.
func TestMontgomeryAgreesWithX25519(t *testing.T) {
	for range 200 {
		k := newKey(t, RoleAgent)
		converted := must[*[32]byte](t)(montgomery(k.private.Public().(ed25519.PublicKey)))
		derived := must[[]byte](t)(curve25519.X25519(secretScalar(k), curve25519.Basepoint))
		if !bytes.Equal(converted[:], derived) {
			t.Fatalf("key %s: %x from the public, %x from the secret half", k, converted[:], derived)
		}
	}
}

func TestEncryption(t *testing.T) {
	a, b, c := newKey(t, RoleServer), newKey(t, RoleAgent), newKey(t, RoleAgent)
	for _, text := range []string{"", "x", strings.Repeat("long ", 100_000)} {
		secret := must[[]byte](t)(a.Encrypt(b.Public(), []byte(text)))
		if len(secret) != len(text)+BoxOverhead {
			t.Errorf("%d bytes became %d, want %d more", len(text), len(secret), BoxOverhead)
		}
		if got := must[[]byte](t)(b.Decrypt(a.Public(), secret)); string(got) != text {
			t.Errorf("decrypted %d bytes, want %d", len(got), len(text))
		}
		if _, err := c.Decrypt(a.Public(), secret); !errors.Is(err, errDecrypt) {
			t.Errorf("another reader: %v, want %v", err, errDecrypt)
		}
		if _, err := b.Decrypt(c.Public(), secret); !errors.Is(err, errDecrypt) {
			t.Errorf("another writer: %v, want %v", err, errDecrypt)
		}
		secret[len(secret)-1] ^= 1
		if _, err := b.Decrypt(a.Public(), secret); !errors.Is(err, errDecrypt) {
			t.Errorf("changed: %v, want %v", err, errDecrypt)
		}
	}
	if _, err := b.Decrypt(a.Public(), []byte("short")); !errors.Is(err, errDecrypt) {
		t.Errorf("too short: %v, want %v", err, errDecrypt)
	}
}

// Points of small order make a shared secret that everybody knows.
func TestUnsafePublicKeysAreRefused(t *testing.T) {
	k := newKey(t, RoleServer)
	ones := bytes.Repeat([]byte{0xff}, 32)
	for name, raw := range map[string][]byte{
		"y=0":          make([]byte, 32),
		"y=1":          append([]byte{1}, make([]byte, 31)...),
		"y=-1":         append(append([]byte{0xec}, ones[:30]...), 0x7f),
		"y beyond p":   append(append([]byte{0xee}, ones[:30]...), 0x7f),
		"largest":      ones,
		"y=p, as zero": append(append([]byte{0xed}, ones[:30]...), 0x7f),
	} {
		public := must[string](t)(encodePublic(nkeys.PrefixByteUser, raw))
		if _, err := k.Encrypt(public, []byte("x")); err == nil {
			t.Errorf("%s: encrypted", name)
		}
	}
	for _, public := range []string{"", "U", "XAAA", k.Public()[:55], k.Public() + "A", strings.ToLower(k.Public())} {
		if _, err := k.Encrypt(public, nil); err == nil {
			t.Errorf("encrypted for %q", public)
		}
	}
}

func FuzzCheckPublic(f *testing.F) {
	f.Add(newKey(f, RoleAgent).Public())
	f.Add(newKey(f, RoleServer).Public())
	f.Add("UAAA")
	f.Fuzz(func(t *testing.T, s string) {
		if CheckPublic(s, RoleAgent) == nil {
			prefix, raw, err := decodePublic(s)
			check(t, err)
			if back := must[string](t)(encodePublic(prefix, raw)); back != s {
				t.Errorf("%q and %q are the same key", s, back)
			}
		}
	})
}
