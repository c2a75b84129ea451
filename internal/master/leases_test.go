package master

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// claimOf reads "r1 a b @h1 @h2 shared": a run, its nodes and its hosts.
func claimOf(text string) *claim {
	words := strings.Fields(text)
	c := &claim{run: model.RunID(words[0]), name: "N" + words[0]}
	for _, w := range words[1:] {
		on, is := strings.CutPrefix(w, "@")
		switch {
		case is:
			c.hosts = append(c.hosts, host{on, on})
		case w == "shared":
			c.shared = true
		default:
			c.nodes = append(c.nodes, model.NodeID(w))
		}
	}
	made := c.again() // what a request needs
	made.hosts = c.hosts
	return made
}

func claimsOf(texts []string) (out []*claim) {
	for _, text := range texts {
		out = append(out, claimOf(text))
	}
	return out
}

func TestSchedule(t *testing.T) {
	for _, tt := range []struct {
		name          string
		held, waiting []string
		want          []string // without "waiting for "
	}{
		{"nothing", nil, nil, nil},
		{"disjoint nodes go at once", []string{"r1 a @h1"}, []string{"r2 b @h2", "r3 c @h3"}, []string{"", ""}},
		{"a node of a run", []string{"r1 a b @h1 @h2"}, []string{"r2 b @h2"}, []string{"run r1 (Nr1) to release node b"}},
		{
			"two of several nodes", []string{"r1 a b c @h1"}, []string{"r2 a c d @h1 @h2"},
			[]string{"run r1 (Nr1) to release nodes a, c"},
		},
		{"another node of a host", []string{"r1 a @h1"}, []string{"r2 b @h1"}, []string{"run r1 (Nr1) to release host h1"}},
		{"hosts that tell nothing are taken for one", []string{"r1 a @"}, []string{"r2 b @"}, []string{"run r1 (Nr1) to release host of an unknown name"}},
		{"in order", nil, []string{"r1 a @h", "r2 a @h", "r3 a @h"}, []string{
			"", "run r1 (Nr1) to release node a", "run r2 (Nr2) to release node a",
		}},
		{
			"no overtaking for what an earlier one needs, even if it is free", []string{"r1 a @h1"},
			[]string{"r2 a b @h1 @h2", "r3 b @h2"},
			[]string{"run r1 (Nr1) to release node a", "run r2 (Nr2) to release node b"},
		},
		{
			"overtaking with what no earlier one needs", []string{"r1 a @h1"},
			[]string{"r2 a @h1", "r3 b @h2"},
			[]string{"run r1 (Nr1) to release node a", ""},
		},
		{
			"of two runs", []string{"r1 a @h1", "r2 b @h2"}, []string{"r3 a b c @h1 @h2 @h3"},
			[]string{"run r1 (Nr1) to release node a; run r2 (Nr2) to release node b"},
		},
		{
			"a node of one and the host of another", []string{"r1 a @h1", "r2 b @h2"}, []string{"r3 a c @h1 @h2"},
			[]string{"run r1 (Nr1) to release node a; run r2 (Nr2) to release host h2"},
		},
		{"both share a host", []string{"r1 a @h shared"}, []string{"r2 b @h shared"}, []string{""}},
		{"only the later one shares", []string{"r1 a @h"}, []string{"r2 b @h shared"}, []string{"run r1 (Nr1) to release host h"}},
		{"only the earlier one shares", []string{"r1 a @h shared"}, []string{"r2 b @h"}, []string{"run r1 (Nr1) to release host h"}},
		{"nodes are not shared", []string{"r1 a @h shared"}, []string{"r2 a @h shared"}, []string{"run r1 (Nr1) to release node a"}},
		{
			"sharing does not overtake who needs the whole host", []string{"r1 a @h shared"},
			[]string{"r2 b @h", "r3 c @h shared"},
			[]string{"run r1 (Nr1) to release host h", "run r2 (Nr2) to release host h"},
		},
		{
			"a whole host behind several that share it: the last is named", []string{"r1 a @h shared", "r2 b @h shared"},
			[]string{"r3 c @h"},
			[]string{"run r2 (Nr2) to release host h"},
		},
	} {
		got := schedule(claimsOf(tt.held), claimsOf(tt.waiting))
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], "waiting for ")
		}
		if diff := cmp.Diff(tt.want, got, cmp.Transformer("none", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
			t.Errorf("%s: schedule (-want +got):\n%s", tt.name, diff)
		}
	}
}

// testLeases has nodes with names that begin with their host's: h1.a.
func testLeases() *leases {
	return newLeases(host{"here", "here"}, func(n model.NodeID) host {
		on, _, _ := strings.Cut(string(n), ".")
		return host{on, on}
	})
}

func isGranted(c *claim) bool {
	select {
	case <-c.granted:
		return true
	default:
		return false
	}
}

// TestLeases: what is released, or taken out of the line, goes to the next in
// order, and word of what a claim waits for comes when that changes.
func TestLeases(t *testing.T) {
	l := testLeases()
	claims := make(map[string]*claim)
	for _, text := range []string{"r1 h1.a", "r2 h1.a h2.a", "r3 h1.a", "r4 h2.a", "r5 h3.a"} {
		c := claimOf(text)
		claims[string(c.run)] = c
		l.request(c)
	}
	check := func(when, want string) {
		t.Helper()
		var got []string
		for _, run := range []string{"r1", "r2", "r3", "r4", "r5"} {
			if isGranted(claims[run]) {
				got = append(got, run)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: granted so far %v, want %s", when, got, want)
		}
	}
	said := func(run, want string) {
		t.Helper()
		select {
		case got := <-claims[run].waits:
			if got != want {
				t.Errorf("%s: %q, want %q", run, got, want)
			}
		default:
			if want != "" {
				t.Errorf("%s says nothing, want %q", run, want)
			}
		}
	}
	check("at first", "r1 r5")
	said("r2", "waiting for run r1 (Nr1) to release node h1.a")
	said("r3", "waiting for run r2 (Nr2) to release node h1.a")
	said("r4", "waiting for run r2 (Nr2) to release node h2.a")
	if got := l.holder("h1.a"); got != "r1" {
		t.Errorf("node h1.a is held by %q, want r1", got)
	}
	l.release("r5")
	said("r2", "") // nothing has changed
	l.release("r2")
	check("r2 was cancelled while it waited", "r1 r4 r5")
	said("r3", "waiting for run r1 (Nr1) to release node h1.a")
	l.release("r1")
	check("r1 is over", "r1 r3 r4 r5")
	if got := l.holder("h1.a"); got != "r3" {
		t.Errorf("node h1.a is held by %q, want r3", got)
	}
	// A run that comes back gets in line behind those that came meanwhile.
	back := claims["r1"].again()
	claims["r2"] = claimOf("r2 h1.b")
	l.request(claims["r2"])
	l.request(back)
	l.release("r3")
	check("r3 is over", "r1 r2 r3 r4 r5")
	if isGranted(back) {
		t.Error("a run that came back has overtaken another one")
	}
	l.release("r2")
	if !isGranted(back) {
		t.Error("a run that came back has not got its nodes")
	}
}

// TestOwnHost: what the server brings up itself is on its host, as are agents
// that say so.
func TestOwnHost(t *testing.T) {
	l := testLeases()
	own := claimOf("r1 local-1")
	own.own = true
	agent, elsewhere := claimOf("r2 here.a"), claimOf("r3 there.a")
	for _, c := range []*claim{own, agent, elsewhere} {
		l.request(c)
	}
	if !isGranted(own) || isGranted(agent) || !isGranted(elsewhere) {
		t.Errorf("granted %v, %v, %v; want the fleet of the server and the agent elsewhere", isGranted(own), isGranted(agent), isGranted(elsewhere))
	}
	if got, want := <-agent.waits, "waiting for run r1 (Nr1) to release host here"; got != want {
		t.Errorf("the agent's run is %q, want %q", got, want)
	}
}

// TestHostOf: the kernel tells machines apart, not the name that a container
// or a copied image has.
func TestHostOf(t *testing.T) {
	boot, copied := model.Facts{Hostname: "box", BootID: "1"}, model.Facts{Hostname: "box", BootID: "2"}
	container := model.Facts{Hostname: "c0ffee", BootID: "1"}
	if hostOf(boot).id != hostOf(container).id || hostOf(boot).id == hostOf(copied).id {
		t.Errorf("hosts %v, %v (a container on it) and %v (another machine of that name)", hostOf(boot), hostOf(container), hostOf(copied))
	}
	if got := hostOf(model.Facts{Hostname: "box"}); got != (host{"box", "box"}) {
		t.Errorf("without a boot id the host is %v, want its name", got)
	}
}

// TestDisturbs: left-over work on the hosts of a run disturbs it, what another
// run measures does not, nor what is done elsewhere.
func TestDisturbs(t *testing.T) {
	l := testLeases()
	c := claimOf("r1 h1.a shared")
	l.request(c)
	l.request(claimOf("r2 h1.b shared"))
	for node, want := range map[model.NodeID]bool{"h1.a": true, "h1.b": false, "h1.c": true, "h2.a": false} {
		if got := l.disturbs(c, node); got != want {
			t.Errorf("work on %s disturbs: %v, want %v", node, got, want)
		}
	}
}

// TestFree: a node is free if a run that asks for it now need not wait.
func TestFree(t *testing.T) {
	l := testLeases()
	l.request(claimOf("r1 h1.a shared"))
	l.request(claimOf("r2 h1.a h2.a"))
	for _, c := range []struct {
		node   model.NodeID
		shared bool
		want   bool
	}{
		{"h1.a", true, false},  // it is held
		{"h1.b", false, false}, // its host is
		{"h2.a", true, false},  // it is waited for
		{"h3.a", false, true},
	} {
		if got := l.free(c.node, c.shared); got != c.want {
			t.Errorf("free(%s, %v) = %v, want %v", c.node, c.shared, got, c.want)
		}
	}
}

// TestEveryClaimIsGranted: whatever is asked for and released in whatever
// order, no two claims hold the same thing, each gets its turn, and none is
// overtaken by a later one that needs anything it needs.
func TestEveryClaimIsGranted(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		l := testLeases()
		var all, held []*claim
		for i := range 12 {
			text := fmt.Sprintf("r%d", i)
			for h := range 3 {
				if rng.IntN(2) == 0 {
					text += fmt.Sprintf(" h%d.%d", h, rng.IntN(2))
				}
			}
			if rng.IntN(2) == 0 {
				text += " shared"
			}
			all = append(all, claimOf(text))
			l.request(all[i])
		}
		for len(all) > 0 || len(held) > 0 {
			for i, c := range slices.Backward(all) {
				if isGranted(c) {
					for _, other := range slices.Concat(held, all[:i]) {
						if collide(c, other) {
							t.Fatalf("round %d: %+v was granted beside or before %+v", round, c, other)
						}
					}
				}
			}
			for _, c := range all {
				if isGranted(c) {
					held = append(held, c)
				}
			}
			all = slices.DeleteFunc(all, isGranted)
			if len(held) == 0 {
				t.Fatalf("round %d: %d claims wait and none is held", round, len(all))
			}
			i := rng.IntN(len(held))
			l.release(held[i].run)
			held = slices.Delete(held, i, i+1)
		}
	}
}

// collide is the rule in other words.
func collide(a, b *claim) bool {
	for _, x := range a.nodes {
		for _, y := range b.nodes {
			sameHost := x[:2] == y[:2]
			if x == y || sameHost && (!a.shared || !b.shared) {
				return true
			}
		}
	}
	return false
}
