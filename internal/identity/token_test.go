package identity

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// byText compares tokens by all that they hold.
var byText = cmp.Comparer(func(a, b Token) bool { return a.Encode() == b.Encode() })

func testToken(t testing.TB) Token {
	k := newKey(t, RoleAgent)
	return Token{
		Endpoint: Endpoint{
			Servers:     []string{"tls://192.0.2.1:4222", "nats://[2001:db8::1]:4222"},
			ServerKey:   newKey(t, RoleServer).Public(),
			Fingerprint: strings.Repeat("ab", 32),
			External:    true,
			Insecure:    true,
		},
		Secret:  NewSecret(string(must[[]byte](t)(k.seed()))),
		Role:    RoleAgent,
		Expires: testTime.Truncate(time.Second),
		Uses:    3,
	}
}

func TestTokenRoundTrip(t *testing.T) {
	want := testToken(t)
	line := want.Encode()
	if !strings.HasPrefix(line, TokenPrefix) || strings.ContainsAny(line, " \n\t'\"$\\&;|") {
		t.Errorf("the printable form %q is not one plain word", line)
	}
	got := must[Token](t)(ParseToken("  " + line + "\n"))
	if !got.Expires.Equal(want.Expires) || !cmp.Equal(got, want, byText) || got.Secret.Reveal() != want.Secret.Reveal() {
		t.Errorf("ParseToken(Encode(%v)) = %v", want, got)
	}
	if got.Uses != want.Uses || got.External != want.External || got.Insecure != want.Insecure || got.Role != want.Role {
		t.Errorf("ParseToken(Encode(…)) lost a field: %v", got)
	}
}

func TestParseTokenErrors(t *testing.T) {
	good := testToken(t)
	change := func(f func(*Token)) string { x := good; f(&x); return x.Encode() }
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", "does not begin with"},
		{"something else", "nats://host", "does not begin with"},
		{"no base64", TokenPrefix + "!!", "damaged"},
		{"cut", good.Encode()[:40], "incomplete"},
		{"too long", TokenPrefix + strings.Repeat("A", maxToken+1), "too long"},
		{"not JSON", TokenPrefix + base64.RawURLEncoding.EncodeToString([]byte("x")), "incomplete"},
		{"no server", change(func(x *Token) { x.Servers = nil }), "names no server"},
		{"server's role", change(func(x *Token) { x.Role = RoleServer }), "unknown role"},
		{"bad server key", change(func(x *Token) { x.ServerKey = "N" }), "server key"},
		{"an agent's key as the server's", change(func(x *Token) { x.ServerKey = newKey(t, RoleAgent).Public() }), "not the key of a server"},
		{"bad fingerprint", change(func(x *Token) { x.Fingerprint = "abc" }), "fingerprint"},
		{"bad secret", change(func(x *Token) { x.Secret = NewSecret("SUA") }), "secret is damaged"},
	} {
		_, err := ParseToken(c.in)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
			continue
		}
		if len(c.in) > 40 && strings.Contains(err.Error(), c.in[20:40]) || strings.Contains(err.Error(), good.Secret.Reveal()) {
			t.Errorf("%s: the error shows the token: %v", c.name, err)
		}
	}
}

func TestRedactURLs(t *testing.T) {
	for in, want := range map[string]string{
		"nats://user:pass@host:1":   "nats://secret@host:1",
		"nats://token@host:1":       "nats://secret@host:1",
		"nats://host:1":             "nats://host:1",
		"host:1":                    "host:1",
		"user:pass@host:1":          "[secret]@host:1",
		"nats://user:p%zz@host":     "[secret]@host",
		"nats://u:p@ss@host:1/path": "nats://secret@host:1/path",
		"":                          "",
	} {
		if got := RedactURLs([]string{in})[0]; got != want {
			t.Errorf("RedactURLs(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add(testToken(f).Encode())
	f.Add(TokenPrefix)
	f.Add(TokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(`{"s":["a"],"e":9223372036854775807}`)))
	f.Fuzz(func(t *testing.T, s string) {
		tok, err := ParseToken(s)
		if err != nil {
			return
		}
		again, err := ParseToken(tok.Encode())
		if err != nil || !cmp.Equal(tok, again, byText) {
			t.Errorf("%v became %v, %v", tok, again, err)
		}
	})
}

func TestJoinRoundTrip(t *testing.T) {
	server := newKey(t, RoleServer)
	tok := testToken(t)
	tok.ServerKey = server.Public()
	k := newKey(t, RoleAgent)
	data := must[[]byte](t)(SealJoin(tok, k, "node", testTime))
	if strings.Contains(string(data), tok.Secret.Reveal()) {
		t.Error("the request contains the secret")
	}
	got := must[Join](t)(OpenJoin(server, data))
	want := Join{must[*Key](t)(tok.Key()).Public(), k.Public(), RoleAgent, "node", testTime}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("OpenJoin (-want +got):\n%s", diff)
	}
	if _, err := OpenJoin(newKey(t, RoleServer), data); !errors.Is(err, ErrJoin) {
		t.Errorf("at another server: %v, want %v", err, ErrJoin)
	}
}

// The key's own signature cannot be carried over to another token.
func TestJoinIsBoundToItsToken(t *testing.T) {
	server := newKey(t, RoleServer)
	stolen, mine := testToken(t), testToken(t)
	stolen.ServerKey, mine.ServerKey = server.Public(), server.Public()
	victim := must[[]byte](t)(SealJoin(stolen, newKey(t, RoleAgent), "node", testTime))
	secret, from, _, err := Open(victim, purposeJoinOuter)
	check(t, err)
	inner := must[[]byte](t)(server.Decrypt(from, secret)) // as a thief of the server's traffic might
	myKey := must[*Key](t)(mine.Key())
	outer := must[[]byte](t)(myKey.Encrypt(server.Public(), inner))
	forged := must[[]byte](t)(Seal(myKey, purposeJoinOuter, outer, testTime))
	if _, err := OpenJoin(server, forged); !errors.Is(err, ErrJoin) {
		t.Errorf("OpenJoin = %v, want %v", err, ErrJoin)
	}
}

func FuzzOpenJoin(f *testing.F) {
	server := newKey(f, RoleServer)
	tok := testToken(f)
	tok.ServerKey = server.Public()
	f.Add(must[[]byte](f)(SealJoin(tok, newKey(f, RoleAgent), "node", testTime)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if j, err := OpenJoin(server, data); err != nil && j != (Join{}) {
			t.Errorf("OpenJoin = %+v beside %v", j, err)
		}
	})
}
