package identity

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// office is an authority with a clock that tests set.
type office struct {
	*Authority
	path   string
	server *Key
	clock  time.Time
}

func newOffice(t testing.TB) *office {
	o := &office{path: filepath.Join(t.TempDir(), "data", "admitted.json"), server: newKey(t, RoleServer), clock: testTime}
	o.reopen(t)
	return o
}

// reopen reads the list again, as a restarted server does.
func (o *office) reopen(t testing.TB) {
	t.Helper()
	o.Authority = must[*Authority](t)(OpenAuthority(o.path))
	o.now = func() time.Time { return o.clock }
}

func (o *office) token(t testing.TB, spec TokenSpec) Token {
	t.Helper()
	return must[Token](t)(o.NewToken(spec, Endpoint{Servers: []string{"127.0.0.1:1"}, ServerKey: o.server.Public()}))
}

// join is what a host does with a token, through the real request.
func (o *office) join(t testing.TB, tok Token, k *Key, node model.NodeID, alive func(model.NodeID) bool) error {
	t.Helper()
	return o.replay(t, must[[]byte](t)(SealJoin(tok, k, node, o.clock)), alive)
}

func (o *office) replay(t testing.TB, request []byte, alive func(model.NodeID) bool) error {
	t.Helper()
	_, err := o.Redeem(must[Join](t)(OpenJoin(o.server, request)), alive)
	return err
}

// agentOf returns the grant of the agent that has a node id.
func (o *office) agentOf(node model.NodeID) (Grant, bool) {
	for _, key := range o.named(node, RoleAgent) {
		return o.Admitted(key)
	}
	return Grant{}, false
}

func gone(model.NodeID) bool  { return false }
func there(model.NodeID) bool { return true }

func TestRedeem(t *testing.T) {
	o := newOffice(t)
	k := newKey(t, RoleAgent)
	check(t, o.join(t, o.token(t, TokenSpec{Role: RoleAgent}), k, "n", there))
	o.reopen(t)
	got, ok := o.Admitted(k.Public())
	want := Grant{Key: k.Public(), Role: RoleAgent, Node: "n", At: testTime, Asked: testTime}
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("Admitted after a restart: %v (-want +got):\n%s", ok, diff)
	}
	if got, ok := o.agentOf("n"); !ok || got != want {
		t.Errorf("Node = %+v, %v", got, ok)
	}
	if diff := cmp.Diff(map[string]Grant{want.Key: want}, o.grants); diff != "" {
		t.Errorf("grants (-want +got):\n%s", diff)
	}
}

func TestRedeemRefuses(t *testing.T) {
	o := newOffice(t)
	used := o.token(t, TokenSpec{Role: RoleAgent})
	check(t, o.join(t, used, newKey(t, RoleAgent), "first", gone))
	expired := o.token(t, TokenSpec{Role: RoleAgent, TTL: time.Minute})
	foreign := newOffice(t).token(t, TokenSpec{Role: RoleAgent})
	foreign.ServerKey = o.server.Public()
	forClients := o.token(t, TokenSpec{Role: RoleClient})
	forClients.Role = RoleAgent // the token's holder changes it
	taken := o.token(t, TokenSpec{Role: RoleAgent})
	o.clock = o.clock.Add(time.Minute)
	for _, c := range []struct {
		name  string
		tok   Token
		node  model.NodeID
		alive func(model.NodeID) bool
		want  error
	}{
		{"used up", used, "n", gone, ErrTokenUsed},
		{"expired", expired, "n", gone, ErrTokenExpired},
		{"of another server", foreign, "n", gone, ErrTokenUnknown},
		{"for another role", forClients, "n", gone, ErrTokenRole},
		{"node is there", taken, "first", there, ErrNodeTaken},
		{"presence of the node unknown", taken, "first", nil, ErrNodeTaken},
	} {
		err := o.join(t, c.tok, newKey(t, RoleAgent), c.node, c.alive)
		if !errors.Is(err, c.want) || !errors.Is(err, model.ErrDenied) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if err := o.join(t, taken, newKey(t, RoleAgent), "bad id!", gone); !errors.Is(err, model.ErrDenied) {
		t.Errorf("a bad node id: %v, want %v", err, model.ErrDenied)
	}
	check(t, o.join(t, taken, newKey(t, RoleAgent), "n", gone)) // refusals used nothing up
}

func TestOneUseIsAtomic(t *testing.T) {
	o := newOffice(t)
	for _, uses := range []int{1, 3} {
		tok := o.token(t, TokenSpec{Role: RoleAgent, Uses: uses})
		var ok atomic.Int32
		var wg sync.WaitGroup
		for i := range 12 {
			k := newKey(t, RoleAgent)
			wg.Go(func() {
				if o.join(t, tok, k, model.NodeID(fmt.Sprintf("u%d-n%d", uses, i)), gone) == nil {
					ok.Add(1)
				}
			})
		}
		wg.Wait()
		if int(ok.Load()) != uses {
			t.Errorf("%d admitted with a token for %d", ok.Load(), uses)
		}
	}
}

func TestRedeemAgainUsesNothingUp(t *testing.T) {
	o := newOffice(t)
	tok := o.token(t, TokenSpec{Role: RoleAgent, Uses: 2})
	k := newKey(t, RoleAgent)
	for range 3 {
		check(t, o.join(t, tok, k, "n", there))
	}
	o.clock = o.clock.Add(2 * time.Hour) // the token is expired; the key is in
	check(t, o.join(t, tok, k, "n", there))
	o.clock = testTime
	check(t, o.join(t, tok, newKey(t, RoleAgent), "m", there))
}

func TestNodeIsReplacedOnlyWhenGone(t *testing.T) {
	o := newOffice(t)
	var revoked []string
	o.OnRevoke(func(key string) { revoked = append(revoked, key) })
	tok := o.token(t, TokenSpec{Role: RoleAgent, Uses: 5})
	first, second := newKey(t, RoleAgent), newKey(t, RoleAgent)
	request := must[[]byte](t)(SealJoin(tok, first, "n", o.clock))
	check(t, o.replay(t, request, gone))
	check(t, o.join(t, tok, second, "n", gone))
	if _, ok := o.Admitted(first.Public()); ok {
		t.Error("the first key is still admitted")
	}
	if want := []string{first.Public(), first.Public(), second.Public()}; !cmp.Equal(want, revoked) {
		t.Errorf("connections to end: %q, want %q", revoked, want)
	}
	// The first one's old request must not bring it back.
	if err := o.replay(t, request, gone); !errors.Is(err, ErrTokenUsed) {
		t.Errorf("replay after the replacement: %v, want %v", err, ErrTokenUsed)
	}
}

func TestKeyMovesToAnotherNode(t *testing.T) {
	o := newOffice(t)
	tok := o.token(t, TokenSpec{Role: RoleAgent, Uses: 5})
	k := newKey(t, RoleAgent)
	old := must[[]byte](t)(SealJoin(tok, k, "old", o.clock))
	check(t, o.replay(t, old, gone))
	o.clock = o.clock.Add(time.Second)
	check(t, o.join(t, tok, k, "new", gone))
	if err := o.replay(t, old, gone); !errors.Is(err, ErrJoinReplayed) {
		t.Errorf("replay after the move: %v, want %v", err, ErrJoinReplayed)
	}
	if g, _ := o.Admitted(k.Public()); g.Node != "new" {
		t.Errorf("the key belongs to %q, want new", g.Node)
	}
}

func TestRevoke(t *testing.T) {
	o := newOffice(t)
	var ended []string
	o.OnRevoke(func(key string) { ended = append(ended, key) })
	tok := o.token(t, TokenSpec{Role: RoleAgent, Uses: 5})
	k := newKey(t, RoleAgent)
	request := must[[]byte](t)(SealJoin(tok, k, "n", o.clock))
	check(t, o.replay(t, request, gone))
	ended = nil
	check(t, o.Revoke("n"))
	if !cmp.Equal(ended, []string{k.Public()}) {
		t.Errorf("connections to end: %q", ended)
	}
	o.reopen(t)
	if _, ok := o.Admitted(k.Public()); ok {
		t.Error("still admitted after a restart")
	}
	if err := o.replay(t, request, gone); !errors.Is(err, model.ErrDenied) {
		t.Errorf("its old request: %v, want %v", err, model.ErrDenied)
	}
	if err := o.join(t, tok, newKey(t, RoleAgent), "n", gone); !errors.Is(err, ErrTokenUsed) {
		t.Errorf("a new key with the same token: %v, want %v", err, ErrTokenUsed)
	}
	if err := o.Revoke("n"); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("revoking an unknown node: %v, want %v", err, model.ErrNotFound)
	}
}

func TestRevokeClientOnlyWhereNoNodeHasTheName(t *testing.T) {
	o := newOffice(t)
	agent, client := newKey(t, RoleAgent), newKey(t, RoleClient)
	check(t, o.Admit(Grant{Key: agent.Public(), Role: RoleAgent, Node: "x"}, Grant{Key: client.Public(), Role: RoleClient, Node: "x"}))
	check(t, o.Revoke("x"))
	if _, ok := o.Admitted(client.Public()); !ok {
		t.Error("the client went with the node of the same name")
	}
	check(t, o.Revoke("x"))
	if _, ok := o.Admitted(client.Public()); ok {
		t.Error("the client is still admitted")
	}
}

func TestAdmitReplacesTheNodesKey(t *testing.T) {
	o := newOffice(t)
	a, b := newKey(t, RoleAgent), newKey(t, RoleAgent)
	check(t, o.Admit(Grant{Key: a.Public(), Role: RoleAgent, Node: "n"}))
	check(t, o.Admit(Grant{Key: b.Public(), Role: RoleAgent, Node: "n"}))
	if g, ok := o.agentOf("n"); !ok || g.Key != b.Public() || len(o.grants) != 1 {
		t.Errorf("grants: %+v", o.grants)
	}
	if err := o.Admit(Grant{Key: o.server.Public(), Role: RoleAgent, Node: "m"}); err == nil {
		t.Error("a server's key was admitted as an agent's")
	}
}

// A list that cannot be written changes nothing, in memory or on the disk.
func TestFailedWritesChangeNothing(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("root writes anywhere: the directory is taken away instead of being made read-only")
	}
	o := newOffice(t)
	tok := o.token(t, TokenSpec{Role: RoleAgent})
	kept := newKey(t, RoleAgent)
	check(t, o.Admit(Grant{Key: kept.Public(), Role: RoleAgent, Node: "kept"}))
	dir := filepath.Dir(o.path)
	check(t, os.Rename(dir, dir+".away"))
	k := newKey(t, RoleAgent)
	if err := o.join(t, tok, k, "kept", gone); err == nil {
		t.Error("joined without the list being written")
	}
	if err := o.Revoke("kept"); err == nil {
		t.Error("revoked without the list being written")
	}
	if err := o.Admit(Grant{Key: k.Public(), Role: RoleAgent, Node: "x"}); err == nil {
		t.Error("admitted without the list being written")
	}
	if _, err := o.NewToken(TokenSpec{Role: RoleAgent}, Endpoint{}); err == nil {
		t.Error("a token was made without the list being written")
	}
	if _, ok := o.Admitted(k.Public()); ok {
		t.Error("admitted in memory only")
	}
	if _, ok := o.Admitted(kept.Public()); !ok {
		t.Error("revoked in memory only")
	}
	check(t, os.Rename(dir+".away", dir))
	check(t, o.join(t, tok, k, "kept", gone)) // the token is still good
}

func TestTheStoreHoldsNoSecret(t *testing.T) {
	o := newOffice(t)
	tok := o.token(t, TokenSpec{Role: RoleAgent})
	data := string(must[[]byte](t)(os.ReadFile(o.path)))
	k := must[*Key](t)(tok.Key())
	if strings.Contains(data, tok.Secret.Reveal()) || !strings.Contains(data, k.Public()) {
		t.Errorf("the list:\n%s", data)
	}
	if info := must[os.FileInfo](t)(os.Stat(o.path)); info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %04o, want 0600", info.Mode().Perm())
	}
}

func TestNewTokenRefuses(t *testing.T) {
	o := newOffice(t)
	for _, spec := range []TokenSpec{{}, {Role: RoleServer}, {Role: RoleAgent, Uses: -1}, {Role: RoleAgent, TTL: -1}} {
		if _, err := o.NewToken(spec, Endpoint{}); !errors.Is(err, model.ErrUsage) {
			t.Errorf("NewToken(%+v) = %v, want %v", spec, err, model.ErrUsage)
		}
	}
}

func TestOldTokensAreForgotten(t *testing.T) {
	o := newOffice(t)
	old := must[*Key](t)(o.token(t, TokenSpec{Role: RoleAgent}).Key())
	o.clock = o.clock.Add(keepTokens)
	o.token(t, TokenSpec{Role: RoleAgent})
	if !o.TokenKnown(old.Public()) {
		t.Error("forgotten too early")
	}
	o.clock = o.clock.Add(2 * time.Hour)
	o.token(t, TokenSpec{Role: RoleAgent})
	if o.TokenKnown(old.Public()) {
		t.Error("not forgotten")
	}
}

func TestOpenAuthorityRefuses(t *testing.T) {
	public := newKey(t, RoleAgent).Public()
	for name, text := range map[string]string{
		"not JSON":        "{",
		"another version": `{"version":2}`,
		"an unknown role": `{"version":1,"grants":[{"key":"` + public + `","role":"root","node":"n"}]}`,
		"the server role": `{"version":1,"grants":[{"key":"` + newKey(t, RoleServer).Public() + `","role":"server","node":"n"}]}`,
		"a bad key":       `{"version":1,"grants":[{"key":"U","role":"agent","node":"n"}]}`,
		"a bad node":      `{"version":1,"grants":[{"key":"` + public + `","role":"agent","node":"*"}]}`,
		"an empty token":  `{"version":1,"tokens":[null]}`,
	} {
		path := filepath.Join(t.TempDir(), "a.json")
		check(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := OpenAuthority(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want an error that names the file", name, err)
		}
	}
	path := filepath.Join(t.TempDir(), "a.json")
	check(t, os.WriteFile(path, []byte(`{"version":1}`), 0o644))
	if _, err := OpenAuthority(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a list that others can read: %v", err)
	}
}

func FuzzParseAuthority(f *testing.F) {
	f.Add([]byte(`{"version":1,"grants":[{"key":"` + newKey(f, RoleAgent).Public() + `","role":"agent","node":"n"}],"tokens":[{"key":"x"}]}`))
	f.Add([]byte(`{"version":1,"tokens":[null]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parseAuthority(data)
		if err != nil {
			return
		}
		for _, g := range list.Grants {
			if CheckPublic(g.Key, g.Role) != nil || g.Node.Validate() != nil || g.Role == RoleServer {
				t.Errorf("accepted %+v", g)
			}
		}
	})
}
