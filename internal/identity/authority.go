package identity

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// Reasons why a join is refused. All of them are model.ErrDenied, too.
var (
	ErrTokenUnknown = errors.New("this server does not know the join token; make a new one with `scalebench token`")
	ErrTokenExpired = errors.New("the join token has expired; make a new one with `scalebench token`")
	ErrTokenUsed    = errors.New("the join token is used up; make a new one with `scalebench token`")
	ErrTokenRole    = errors.New("the join token is for another role")
	ErrJoinReplayed = errors.New("the join request is older than the last one with this key; check this host's clock")
	ErrNodeTaken    = errors.New("another agent uses this node id; choose another one with --node")
)

// keepTokens is how long the server remembers a token that cannot be used any
// more, so that its holder learns why.
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
// the token's key pair: like a hash of the secret, it admits no one.
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
	grants   map[string]Grant     // by key
	tokens   map[string]openToken // by the token's key
	onRevoke []func(key string)
}

// OpenAuthority reads the list at path; a file that does not exist is an empty
// list. One process at a time may use it (package queue holds a lock on the
// data directory).
func OpenAuthority(path string) (*Authority, error) {
	a := &Authority{path: path, now: time.Now, grants: map[string]Grant{}, tokens: map[string]openToken{}}
	if err := a.load(); err != nil {
		return nil, fmt.Errorf("list of admitted keys %s: %w", path, err)
	}
	return a, nil
}

// NewToken makes a token that leads to an endpoint, and remembers it.
func (a *Authority) NewToken(spec TokenSpec, at Endpoint) (Token, error) {
	if spec.Role != RoleAgent && spec.Role != RoleClient {
		return Token{}, &model.InputError{Problem: fmt.Sprintf("join token: the role must be %s or %s, not %q", RoleAgent, RoleClient, spec.Role)}
	}
	if spec.Uses < 0 || spec.TTL < 0 {
		return Token{}, &model.InputError{Problem: fmt.Sprintf("join token: uses (%d) and lifetime (%v) must not be negative", spec.Uses, spec.TTL)}
	}
	spec.Uses = cmp.Or(spec.Uses, 1)
	spec.TTL = cmp.Or(spec.TTL, time.Hour)
	k, err := New(spec.Role)
	if err != nil {
		return Token{}, err
	}
	seed, err := k.seed()
	if err != nil {
		return Token{}, err
	}
	t := Token{at, NewSecret(string(seed)), spec.Role, a.now().Add(spec.TTL), spec.Uses}
	a.mu.Lock()
	defer a.mu.Unlock()
	return t, a.commit(func() {
		limit := a.now().Add(-keepTokens)
		maps.DeleteFunc(a.tokens, func(_ string, t openToken) bool { return t.Expires.Before(limit) })
		a.tokens[k.Public()] = openToken{Key: k.Public(), Role: t.Role, Expires: t.Expires, Left: t.Uses}
	})
}

// commit changes memory and file together or neither. The caller holds the
// lock.
func (a *Authority) commit(change func()) error {
	grants, tokens := maps.Clone(a.grants), maps.Clone(a.tokens)
	change()
	err := a.save()
	if err != nil {
		a.grants, a.tokens = grants, tokens
	}
	return err
}

// TokenKnown reports whether the server made this token, usable or not. Its
// holder may ask to join, and learn why not.
func (a *Authority) TokenKnown(tokenKey string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.tokens[tokenKey]
	return ok
}

// Redeem uses a token to admit the key of a verified [Join]. Each use admits
// one key, also when many ask at once. The same key asking again gets the same
// grant and uses nothing up, for its first answer may have been lost. A node
// id that belongs to another key goes to the new one only if alive says that
// the old agent is gone (nil: it never is). Errors are model.ErrDenied.
func (a *Authority) Redeem(j Join, alive func(model.NodeID) bool) (Grant, error) {
	// Asked before the lock is taken: the answer may need locks of its own.
	gone := alive != nil && !alive(j.Node)
	g, replaced, err := a.redeem(j, gone)
	if err != nil {
		return Grant{}, fmt.Errorf("%w: %w", model.ErrDenied, err)
	}
	a.revoked(replaced)
	return g, nil
}

func (a *Authority) redeem(j Join, gone bool) (g Grant, replaced []string, err error) {
	if err := errors.Join(j.Node.Validate(), CheckPublic(j.Key, j.Role)); err != nil {
		return g, nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t, err := a.usable(j)
	if err != nil {
		return g, nil, err
	}
	g = Grant{Key: j.Key, Role: j.Role, Node: j.Node, At: a.now().UTC(), Asked: j.Asked}
	if old, ok := a.grants[j.Key]; ok && old.Role == g.Role && old.Node == g.Node {
		return old, nil, nil
	}
	if !gone && len(a.holders(g)) > 0 {
		return g, nil, fmt.Errorf("%q: %w", j.Node, ErrNodeTaken)
	}
	err = a.commit(func() {
		replaced = a.put(g)
		t.Left--
		t.Used = append(slices.Clone(t.Used), g.Key)
		a.tokens[t.Key] = t
	})
	// A key that moved to another node id must reconnect, too: its open
	// connections have the rights of the old one.
	return g, append(replaced, j.Key), err
}

// usable returns the token of a request if it can still admit this key. A key
// can use a token once: an old request, replayed, must not bring back a key
// that was replaced or revoked since, nor move one back to an old node id.
func (a *Authority) usable(j Join) (openToken, error) {
	t, known := a.tokens[j.TokenKey]
	g, admitted := a.grants[j.Key]
	switch {
	case !known:
		return t, ErrTokenUnknown
	case t.Role != j.Role:
		return t, ErrTokenRole
	case slices.Contains(t.Used, j.Key) && admitted && g.Node == j.Node:
		return t, nil
	case slices.Contains(t.Used, j.Key) && !admitted:
		return t, ErrTokenUsed
	case !a.now().Before(t.Expires):
		return t, ErrTokenExpired
	case t.Left < 1:
		return t, ErrTokenUsed
	case admitted && !j.Asked.After(g.Asked):
		return t, ErrJoinReplayed
	}
	return t, nil
}

// holders returns the other agents' keys that have a grant's node id. Clients
// may share a name.
func (a *Authority) holders(g Grant) []string {
	if g.Role != RoleAgent {
		return nil
	}
	return slices.DeleteFunc(a.named(g.Node, g.Role), func(k string) bool { return k == g.Key })
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

// put admits a key, and returns those that it replaces.
func (a *Authority) put(g Grant) (replaced []string) {
	replaced = a.holders(g)
	for _, k := range replaced {
		delete(a.grants, k)
	}
	a.grants[g.Key] = g
	return replaced
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
	var replaced []string
	a.mu.Lock()
	err := a.commit(func() {
		for _, g := range grants {
			if g.At.IsZero() {
				g.At = a.now().UTC()
			}
			replaced = append(replaced, a.put(g)...)
		}
	})
	a.mu.Unlock()
	if err == nil {
		a.revoked(replaced)
	}
	return err
}

// Admitted returns the grant of a public key.
func (a *Authority) Admitted(key string) (Grant, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g, ok := a.grants[key]
	return g, ok
}

// Grants returns all admitted keys, in no order.
func (a *Authority) Grants() []Grant {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Values(a.grants))
}

// Revoke forgets the keys of a node, or of a client with this name if no
// agent has it, and ends their connections. It also closes the join tokens
// that admitted them, with which they could come back under another key. It
// fails with model.ErrNotFound if there is no such node or client.
func (a *Authority) Revoke(node model.NodeID) error {
	a.mu.Lock()
	keys := a.named(node, RoleAgent)
	if len(keys) == 0 {
		keys = a.named(node, RoleClient)
	}
	err := fmt.Errorf("revoking %q: %w; `scalebench nodes` lists the nodes", node, model.ErrNotFound)
	if len(keys) > 0 {
		err = a.commit(func() {
			for _, key := range keys {
				delete(a.grants, key)
				for k, t := range a.tokens {
					if slices.Contains(t.Used, key) {
						t.Left = 0
						a.tokens[k] = t
					}
				}
			}
		})
	}
	a.mu.Unlock()
	if err == nil {
		a.revoked(keys)
	}
	return err
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
	fs := slices.Clone(a.onRevoke)
	a.mu.Unlock()
	for _, k := range keys {
		for _, f := range fs {
			f(k)
		}
	}
}

// authorityFile is the stored form. It holds public keys only.
type authorityFile struct {
	Version int          `json:"version"`
	Grants  []Grant      `json:"grants"`
	Tokens  []*openToken `json:"tokens"`
}

const authorityVersion = 1

func (a *Authority) load() error {
	if err := privateDir(filepath.Dir(a.path)); err != nil {
		return err
	}
	data, err := readPrivate(a.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var f authorityFile
	if err == nil {
		f, err = parseAuthority(data)
	}
	if err != nil {
		return err
	}
	for _, g := range f.Grants {
		a.grants[g.Key] = g
	}
	for _, t := range f.Tokens {
		a.tokens[t.Key] = *t
	}
	return nil
}

// parseAuthority reads the stored form and refuses what it does not fully
// understand: guessing here would admit a stranger.
func parseAuthority(data []byte) (authorityFile, error) {
	var f authorityFile
	if err := json.Unmarshal(data, &f); err != nil {
		return f, fmt.Errorf("damaged: %w; restore it, or remove it and let the agents join again", err)
	}
	if f.Version != authorityVersion {
		return f, fmt.Errorf("version %d, but this scalebench reads version %d", f.Version, authorityVersion)
	}
	for _, g := range f.Grants {
		if err := errors.Join(g.Node.Validate(), CheckPublic(g.Key, g.Role)); err != nil {
			return f, err
		}
		if g.Role != RoleAgent && g.Role != RoleClient {
			return f, fmt.Errorf("unknown role %q", g.Role)
		}
	}
	for _, t := range f.Tokens {
		if t == nil {
			return f, errors.New("damaged: a token is empty")
		}
		if err := CheckPublic(t.Key, t.Role); err != nil {
			return f, err
		}
	}
	return f, nil
}

// save writes the list; the caller holds the lock.
func (a *Authority) save() error {
	f := authorityFile{Version: authorityVersion}
	for _, k := range slices.Sorted(maps.Keys(a.grants)) {
		f.Grants = append(f.Grants, a.grants[k])
	}
	for _, k := range slices.Sorted(maps.Keys(a.tokens)) {
		t := a.tokens[k]
		f.Tokens = append(f.Tokens, &t)
	}
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the list of admitted keys: %w", err)
	}
	if err := WritePrivate(a.path, append(data, '\n')); err != nil {
		return fmt.Errorf("writing the list of admitted keys: %w", err)
	}
	return nil
}
