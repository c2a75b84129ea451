package master

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// at is a time of the tests: seconds after an arbitrary moment.
func at(seconds float64) time.Time {
	return time.Unix(1_800_000_000, 0).Add(time.Duration(seconds * float64(time.Second)))
}

// hello is what node n says.
func hello(session, key string) wire.Hello {
	return wire.Hello{Session: session, Node: model.Node{ID: "n", PublicKey: key}}
}

// TestSlowIsNotDead: a node that is silent for less than its lease is slow; it
// is lost only after a whole lease, and comes back by being heard.
func TestSlowIsNotDead(t *testing.T) {
	r := newRegistry(60 * time.Second)
	r.hello(hello("s", "k"), at(0))
	status := func() model.NodeStatus { n, _ := r.get("n"); return n.status }
	for _, step := range []struct {
		now   float64
		heard bool
		want  model.NodeStatus
	}{
		{5, false, model.NodeAlive},
		{7, false, model.NodeSlow},
		{59, false, model.NodeSlow},
		{59.5, true, model.NodeAlive},
		{119, false, model.NodeSlow},
		{120, false, model.NodeLost},
		{500, false, model.NodeLost},
		{501, true, model.NodeAlive},
	} {
		if step.heard {
			r.heartbeat(wire.Heartbeat{Node: "n", Session: "s"}, at(step.now))
		}
		r.expire(at(step.now))
		if got := status(); got != step.want {
			t.Errorf("after %g s: status = %s, want %s", step.now, got, step.want)
		}
	}
}

// TestPardon: silence while the master itself was paused kills no node.
func TestPardon(t *testing.T) {
	r := newRegistry(60 * time.Second)
	r.hello(hello("s", "k"), at(0))
	r.pardon(at(1000))
	if got := r.expire(at(1001)); len(got) != 0 {
		t.Errorf("expire after a pardon = %v, want no change", got)
	}
}

func TestHelloTellsWhatChanged(t *testing.T) {
	r := newRegistry(time.Minute)
	for _, c := range []struct {
		name string
		msg  wire.Hello
		want change
	}{
		{"first", hello("s1", "k1"), change{node: "n", from: model.NodeLost, to: model.NodeAlive, hello: true}},
		{"after a reconnect", hello("s1", "k1"), change{node: "n", from: model.NodeAlive, to: model.NodeAlive, hello: true}},
		{"another process", hello("s2", "k1"), change{node: "n", from: model.NodeAlive, to: model.NodeAlive, hello: true, replaced: true}},
		{"another identity", hello("s3", "k2"), change{node: "n", from: model.NodeAlive, to: model.NodeAlive, hello: true, replaced: true, rekeyed: true}},
	} {
		got := r.hello(c.msg, at(0))
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(change{})); diff != "" {
			t.Errorf("%s: hello (-want +got):\n%s", c.name, diff)
		}
	}
	// The former process is not heard any more.
	if _, ok := r.heartbeat(wire.Heartbeat{Node: "n", Session: "s1"}, at(1)); ok {
		t.Error("a heartbeat of a former agent process changed something")
	}
}

// TestMissingWakes: a step that waits for a node wakes when it comes.
func TestMissingWakes(t *testing.T) {
	r := newRegistry(time.Minute)
	missing, changed := r.missing([]model.NodeID{"n"})
	if len(missing) != 1 {
		t.Fatalf("missing = %v, want n", missing)
	}
	r.hello(hello("s", "k"), at(0))
	<-changed
	if missing, _ = r.missing([]model.NodeID{"n"}); len(missing) != 0 {
		t.Errorf("missing = %v, want none", missing)
	}
}
