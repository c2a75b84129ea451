package identity

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// TokenPrefix begins the printable form of a join token.
const TokenPrefix = "sbjoin1."

// maxToken bounds what ParseToken reads, in bytes.
const maxToken = 16 << 10

// Endpoint is where a server can be reached, and how it proves itself.
type Endpoint struct {
	Servers     []string `json:"servers"`               // URLs or host:port
	ServerKey   string   `json:"server_key"`            // public key of the master
	Fingerprint string   `json:"fingerprint,omitempty"` // SHA-256 of the TLS certificate in hex, empty without TLS
	// External: the servers are the user's own NATS cluster.
	External bool `json:"external,omitempty"`
	// Insecure: the server's owner allowed traffic off loopback without TLS.
	Insecure bool `json:"insecure,omitempty"`
}

// Token admits one or more agents or clients to a server. Its printable form
// (Encode) is a secret; every other way of printing it shows no secret.
type Token struct {
	Endpoint // where it leads
	// Secret is the seed of a key pair of the token's own. It signs the
	// request to join and is never sent; the server keeps the public half.
	Secret  Secret
	Role    Role // agent or client
	Expires time.Time
	Uses    int // how many keys it can admit
}

// briefEndpoint is an Endpoint with names that keep the printable form short.
type briefEndpoint struct {
	Servers     []string `json:"s"`
	ServerKey   string   `json:"k"`
	Fingerprint string   `json:"f,omitempty"`
	External    bool     `json:"x,omitempty"`
	Insecure    bool     `json:"i,omitempty"`
}

// tokenJSON is the content of the printable form.
type tokenJSON struct {
	briefEndpoint
	Secret  string `json:"t"`
	Role    Role   `json:"r"`
	Expires int64  `json:"e"` // seconds since 1970
	Uses    int    `json:"u"`
}

// Encode returns the printable form: one line, "sbjoin1." and base64url. It is
// as secret as a password.
func (t Token) Encode() string {
	data, err := json.Marshal(tokenJSON{briefEndpoint(t.Endpoint), t.Secret.Reveal(), t.Role, t.Expires.Unix(), t.Uses})
	if err != nil { // strings and numbers always encode
		panic(err)
	}
	return TokenPrefix + base64.RawURLEncoding.EncodeToString(data)
}

// ParseToken reads the printable form, white space around it allowed. It does
// not say whether the server still accepts the token. Errors never contain the
// token's text.
func ParseToken(s string) (Token, error) {
	body, ok := strings.CutPrefix(strings.TrimSpace(s), TokenPrefix)
	switch {
	case !ok:
		return Token{}, fmt.Errorf("join token: does not begin with %q; copy the whole line that `scalebench token` printed", TokenPrefix)
	case len(body) > maxToken:
		return Token{}, errors.New("join token: too long; copy the one line that `scalebench token` printed, nothing else")
	}
	data, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return Token{}, errors.New("join token: damaged; copy the whole line that `scalebench token` printed")
	}
	var j tokenJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return Token{}, errors.New("join token: incomplete; copy the whole line that `scalebench token` printed")
	}
	t := Token{Endpoint(j.briefEndpoint), NewSecret(j.Secret), j.Role, time.Unix(j.Expires, 0), j.Uses}
	return t, t.check()
}

// check reports what makes a token unusable whatever the server says.
func (t Token) check() error {
	if t.Role != RoleAgent && t.Role != RoleClient {
		return fmt.Errorf("join token: unknown role %.20q; this scalebench may be older than the server", t.Role)
	}
	if len(t.Servers) == 0 {
		return errors.New("join token: names no server; make a new one with `scalebench token`")
	}
	if err := CheckPublic(t.ServerKey, RoleServer); err != nil {
		return fmt.Errorf("join token: server key: %w", err)
	}
	if t.Fingerprint != "" {
		if _, err := ClientTLS(t.Fingerprint); err != nil {
			return fmt.Errorf("join token: %w", err)
		}
	}
	_, err := t.Key()
	return err
}

// Key is the token's own key pair.
func (t Token) Key() (*Key, error) {
	k, err := parseSeed(t.Secret.Reveal(), t.Role)
	if err != nil {
		return nil, errors.New("join token: its secret is damaged; make a new one with `scalebench token`")
	}
	return k, nil
}

// String describes the token without its secret.
func (t Token) String() string {
	return fmt.Sprintf("join token for %s at %s, expires %s", t.Role, strings.Join(RedactURLs(t.Servers), ","), t.Expires.UTC().Format(time.RFC3339))
}

// Format implements fmt.Formatter, so that %+v and %#v do not print fields.
func (t Token) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, t.String()) // fmt has no way to report it
}

// MarshalText implements encoding.TextMarshaler: a token put into JSON by
// accident shows no secret. Encode is the form that can be read back.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// RedactURLs replaces the credentials in URLs, for messages and logs. What does
// not parse is cut at its last @: it is unknown what stands before it.
func RedactURLs(urls []string) []string {
	out := slices.Clone(urls)
	for i, s := range urls {
		u, err := url.Parse(s)
		at := strings.LastIndexByte(s, '@')
		switch {
		case err == nil && u.Host != "":
			if u.User != nil {
				u.User = url.User(redacted[1 : len(redacted)-1])
			}
			out[i] = u.String()
		case at >= 0:
			out[i] = redacted + s[at:]
		}
	}
	return out
}

// redacted is printed instead of a secret.
const redacted = "[secret]"

// Secret is text that must not be printed by accident: every verb of fmt, slog
// and every text encoding show "[secret]". The text stands behind a pointer,
// because fmt does not ask the Format method of values in unexported fields:
// it prints the address then.
type Secret struct{ text *string }

// NewSecret hides a text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text; "" for the zero Secret.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Format implements fmt.Formatter for every verb, %#v and %q included.
func (s Secret) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, redacted) // fmt has no way to report it
}

// MarshalText implements encoding.TextMarshaler, and so covers encoding/json
// and slog.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Purposes of the two signatures of a join request.
const (
	purposeJoinOuter = "join.token"
	purposeJoinInner = "join.key"
)

// ErrJoin means that a request to join is not what it should be.
var ErrJoin = errors.New("not a valid join request")

// Join is a request to be admitted, as the server reads it: proven by the
// token's key and by the new key.
type Join struct {
	TokenKey string       // public half of the token's key
	Key      string       // the key to admit
	Role     Role         // what it wants to be
	Node     model.NodeID // the agent's node id, or a name for the client
	Asked    time.Time    // when the new key signed the request
}

// joinBody is what the new key signs. It names the token, so that a request
// cannot be reused with another token.
type joinBody struct {
	Token string       `json:"token"`
	Role  Role         `json:"role"`
	Node  model.NodeID `json:"node"`
}

// SealJoin makes the request: the new key signs who it wants to be, the result
// is encrypted from the token's key to the server, and the token's key signs
// that. The token's secret is not part of it.
func SealJoin(tok Token, key *Key, node model.NodeID, now time.Time) ([]byte, error) {
	tokenKey, err := tok.Key()
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(joinBody{tokenKey.Public(), tok.Role, node})
	if err != nil {
		return nil, fmt.Errorf("encoding the join request: %w", err)
	}
	inner, err := Seal(key, purposeJoinInner, body, now)
	if err != nil {
		return nil, err
	}
	secret, err := tokenKey.Encrypt(tok.ServerKey, inner)
	if err != nil {
		return nil, err
	}
	return Seal(tokenKey, purposeJoinOuter, secret, now)
}

// OpenJoin verifies a request with the server's key. It does not say whether
// the token is good: [Authority.Redeem] does.
func OpenJoin(server *Key, data []byte) (j Join, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrJoin, err)
		}
	}()
	secret, tokenKey, _, err := Open(data, purposeJoinOuter)
	if err != nil {
		return Join{}, err
	}
	inner, err := server.Decrypt(tokenKey, secret)
	if err != nil {
		return Join{}, err
	}
	payload, key, asked, err := Open(inner, purposeJoinInner)
	if err != nil {
		return Join{}, err
	}
	var body joinBody
	if err := json.Unmarshal(payload, &body); err != nil {
		return Join{}, err
	}
	if body.Token != tokenKey {
		return Join{}, errors.New("made for another token")
	}
	return Join{tokenKey, key, body.Role, body.Node, asked.UTC()}, nil
}
