package identity

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// Reasons why a join is refused. All of them are model.ErrDenied, too.
var (
	ErrTokenUnknown = errors.New("this server did not make the join token, or forgot it; make a new one with `scalebench token`")
	ErrTokenExpired = errors.New("the join token is expired; make a new one with `scalebench token`")
	ErrTokenUsed    = errors.New("the join token is used up; make a new one with `scalebench token`")
	ErrTokenRole    = errors.New("the join token is for another role")
	ErrJoinReplayed = errors.New("the join request is not newer than the last one of this key; is this host's clock set back?")
	ErrNodeTaken    = errors.New("node id is in use by another agent: choose another with --node")
)

// keepTokens is how long a token that cannot be used any more is remembered,
// so that whoever tries it is told why.
const keepTokens = 7 * 24 * time.Hour

// Grant is one admitted key.
type Grant struct {
	Key  string       `json:"key"`
	Role Role         `json:"role"`
	Node model.NodeID `json:"node"` // of a client: its name
	At   time.Time    `json:"at"`
	// Asked is when the key signed its last request to join. An older request
	// is a replay.
	Asked time.Time `json:"asked,omitzero"`
}

// TokenSpec says what token to make. Uses 0 means one; TTL 0 means an hour.
type TokenSpec struct {
	Role Role
	Uses int
	TTL  time.Duration
}

// openToken is what the server remembers of a token. Key is the public half of
// the token's key pair: like a hash of the secret, it admits nobody.
type openToken struct {
	Key     string    `json:"key"`
	Role    Role      `json:"role"`
	Expires time.Time `json:"expires"`
	Left    int       `json:"left"`           // keys it can still admit
	Used    []string  `json:"used,omitempty"` // keys it admitted
}

// Authority is the server's list of admitted keys and open tokens, kept in one
// file of mode 0600. A change is on the disk before the method returns, and
// all methods are safe for concurrent use.
type Authority struct {
	path string
	now  func() time.Time

	mu       sync.Mutex
	grants   map[string]Grant      // by key
	tokens   map[string]*openToken // by the token's key
	onRevoke []func(key string)
}

// OpenAuthority reads the list at path; a file that does not exist is an empty
// list. One process at a time may use it (package queue holds a lock on the
// data directory).
func OpenAuthority(path string) (*Authority, error) {
	a := &Authority{path: path, now: time.Now, grants: map[string]Grant{}, tokens: map[string]*openToken{}}
	if err := a.load(); err != nil {
		return nil, fmt.Errorf("list of admitted keys %s: %w", path, err)
	}
	return a, nil
}

// NewToken makes a token that leads to an endpoint, and remembers it.
func (a *Authority) NewToken(spec TokenSpec, at Endpoint) (Token, error) {
	if spec.Role != RoleAgent && spec.Role != RoleClient {
		return Token{}, fmt.Errorf("join token: role %q: want %s or %s: %w", spec.Role, RoleAgent, RoleClient, model.ErrUsage)
	}
	if spec.Uses < 0 || spec.TTL < 0 {
		return Token{}, fmt.Errorf("join token: %d uses, %v: want positive values: %w", spec.Uses, spec.TTL, model.ErrUsage)
	}
	if spec.Uses == 0 {
		spec.Uses = 1
	}
	if spec.TTL == 0 {
		spec.TTL = time.Hour
	}
	k, err := New(spec.Role)
	if err != nil {
		return Token{}, err
	}
	seed, err := k.seed()
	if err != nil {
		return Token{}, err
	}
	t := Token{at.Servers, at.ServerKey, at.Fingerprint, NewSecret(string(seed)), spec.Role, a.now().Add(spec.TTL), spec.Uses, at.External, at.Insecure}
	return t, a.remember(&openToken{Key: k.Public(), Role: t.Role, Expires: t.Expires, Left: t.Uses})
}

func (a *Authority) remember(t *openToken) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forgetOldTokens()
	a.tokens[t.Key] = t
	if err := a.save(); err != nil {
		delete(a.tokens, t.Key)
		return err
	}
	return nil
}

func (a *Authority) forgetOldTokens() {
	limit := a.now().Add(-keepTokens)
	for k, t := range a.tokens {
		if t.Expires.Before(limit) {
			delete(a.tokens, k)
		}
	}
}

// TokenKnown reports whether the server made this token, usable or not. Its
// holder may ask to join, and be told why not.
func (a *Authority) TokenKnown(tokenKey string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tokens[tokenKey] != nil
}

// Redeem uses a token to admit the key of a verified [Join]. Each use admits
// one key, also when many ask at once. The same key asking again gets the same
// grant and uses nothing up, for its first answer may have been lost. A node
// id that belongs to another key goes to the new one only if alive says that
// the old agent is gone (nil: it never is). Errors are model.ErrDenied.
func (a *Authority) Redeem(j Join, alive func(model.NodeID) bool) (Grant, error) {
	g, replaced, err := a.redeem(j, alive)
	if err != nil {
		return Grant{}, fmt.Errorf("%w: %w", model.ErrDenied, err)
	}
	a.revoked(replaced)
	return g, nil
}

func (a *Authority) redeem(j Join, alive func(model.NodeID) bool) (Grant, []string, error) {
	if err := errors.Join(j.Node.Validate(), CheckPublic(j.Key, j.Role)); err != nil {
		return Grant{}, nil, err
	}
	// Asked before the lock is taken: the answer may need locks of its own.
	gone := alive != nil && !alive(j.Node)
	a.mu.Lock()
	defer a.mu.Unlock()
	t, err := a.usable(j)
	if err != nil {
		return Grant{}, nil, err
	}
	g := Grant{Key: j.Key, Role: j.Role, Node: j.Node, At: a.now().UTC(), Asked: j.Asked}
	if old, ok := a.grants[j.Key]; ok && old.Role == g.Role && old.Node == g.Node {
		return old, nil, nil
	}
	holders := a.holders(j.Node, j.Role, j.Key)
	if len(holders) > 0 && !gone {
		return Grant{}, nil, fmt.Errorf("%q: %w", j.Node, ErrNodeTaken)
	}
	if err := a.admitWith(t, g, holders); err != nil {
		return Grant{}, nil, err
	}
	// A key that moved to another node id must reconnect, too: its open
	// connections have the rights of the old one.
	return g, append(holders, j.Key), nil
}

// usable returns the token of a request if it can still admit this key. A key
// can use a token once: an old request, replayed, must not bring back a key
// that was replaced or revoked since, nor move one back to an old node id.
func (a *Authority) usable(j Join) (*openToken, error) {
	t := a.tokens[j.TokenKey]
	g, admitted := a.grants[j.Key]
	switch {
	case t == nil:
		return nil, ErrTokenUnknown
	case t.Role != j.Role:
		return nil, ErrTokenRole
	case slices.Contains(t.Used, j.Key) && admitted && g.Node == j.Node:
		return t, nil
	case slices.Contains(t.Used, j.Key) && !admitted:
		return nil, ErrTokenUsed
	case !a.now().Before(t.Expires):
		return nil, ErrTokenExpired
	case t.Left < 1:
		return nil, ErrTokenUsed
	case admitted && !j.Asked.After(g.Asked):
		return nil, ErrJoinReplayed
	}
	return t, nil
}

// holders returns the other agents' keys that have a node id. Clients may
// share a name.
func (a *Authority) holders(node model.NodeID, role Role, key string) []string {
	var keys []string
	for k, g := range a.grants {
		if role == RoleAgent && g.Role == RoleAgent && g.Node == node && k != key {
			keys = append(keys, k)
		}
	}
	return keys
}

// admitWith changes memory and file together or neither.
func (a *Authority) admitWith(t *openToken, g Grant, replaced []string) error {
	before, old := maps.Clone(a.grants), *t
	for _, k := range replaced {
		delete(a.grants, k)
	}
	a.grants[g.Key] = g
	t.Left--
	t.Used = append(slices.Clone(t.Used), g.Key)
	err := a.save()
	if err != nil {
		a.grants, *t = before, old
	}
	return err
}

// Admit admits keys without a token: the server's own command line, or agents
// that this process starts itself. An agent replaces any other that has its
// node id.
func (a *Authority) Admit(grants ...Grant) error {
	for _, g := range grants {
		if err := errors.Join(g.Node.Validate(), CheckPublic(g.Key, g.Role)); err != nil {
			return fmt.Errorf("admitting %q: %w", g.Node, err)
		}
	}
	replaced, err := a.admit(grants)
	if err != nil {
		return err
	}
	a.revoked(replaced)
	return nil
}

func (a *Authority) admit(grants []Grant) (replaced []string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := maps.Clone(a.grants)
	for _, g := range grants {
		holders := a.holders(g.Node, g.Role, g.Key)
		for _, k := range holders {
			delete(a.grants, k)
		}
		replaced = append(replaced, holders...)
		if g.At.IsZero() {
			g.At = a.now().UTC()
		}
		a.grants[g.Key] = g
	}
	if err := a.save(); err != nil {
		a.grants = before
		return nil, err
	}
	return replaced, nil
}

// Admitted returns the grant of a public key.
func (a *Authority) Admitted(key string) (Grant, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g, ok := a.grants[key]
	return g, ok
}

// Node returns the grant of the agent that has a node id.
func (a *Authority) Node(node model.NodeID) (Grant, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, g := range a.grants {
		if g.Role == RoleAgent && g.Node == node {
			return g, true
		}
	}
	return Grant{}, false
}

// Grants lists what was granted, by role and node id.
func (a *Authority) Grants() []Grant {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]Grant, 0, len(a.grants))
	for _, g := range a.grants {
		out = append(out, g)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Role != out[j].Role {
			return out[i].Role < out[j].Role
		}
		return out[i].Node < out[j].Node
	})
	return out
}

// Revoke forgets the keys of a node, or of a client with this name if no
// agent has it, and ends their connections. It also closes the join tokens
// that admitted them, with which they could come back under another key. It
// fails with model.ErrNotFound if there is none.
func (a *Authority) Revoke(node model.NodeID) error {
	keys, err := a.revoke(node)
	if err != nil {
		return err
	}
	a.revoked(keys)
	return nil
}

func (a *Authority) revoke(node model.NodeID) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	keys := a.named(node, RoleAgent)
	if len(keys) == 0 {
		keys = a.named(node, RoleClient)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("revoking %q: %w; `scalebench nodes` lists the nodes", node, model.ErrNotFound)
	}
	grants := maps.Clone(a.grants)
	left := make(map[string]int)
	for _, k := range keys {
		delete(a.grants, k)
		a.closeTokensOf(k, left)
	}
	if err := a.save(); err != nil {
		a.grants = grants
		for k, n := range left {
			a.tokens[k].Left = n
		}
		return nil, err
	}
	return keys, nil
}

// named returns the keys that have a node id or name in a role.
func (a *Authority) named(node model.NodeID, role Role) []string {
	var keys []string
	for k, g := range a.grants {
		if g.Node == node && g.Role == role {
			keys = append(keys, k)
		}
	}
	return keys
}

// closeTokensOf closes the tokens that admitted a key and notes in before how
// many uses they had left.
func (a *Authority) closeTokensOf(key string, before map[string]int) {
	for k, t := range a.tokens {
		if slices.Contains(t.Used, key) && t.Left > 0 {
			before[k], t.Left = t.Left, 0
		}
	}
}

// OnRevoke calls f with every key that stops being admitted. The queue ends
// its connections.
func (a *Authority) OnRevoke(f func(key string)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.onRevoke = append(a.onRevoke, f)
}

// revoked must be called without the lock: the functions may call back.
func (a *Authority) revoked(keys []string) {
	a.mu.Lock()
	fs := append([]func(string){}, a.onRevoke...)
	a.mu.Unlock()
	for _, k := range keys {
		for _, f := range fs {
			f(k)
		}
	}
}
