package master

import (
	"errors"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestAddressesFirst: an address that a step needs and that is unknown ends the run
// before anything of it is executed.
func TestAddressesFirst(t *testing.T) {
	h := newHouse(t, testStore(t))
	id, _ := h.submit("addresses", "pair: ab", `services: [{name: db, on: {node: a}, port: 1, command: "true"}]`)
	h.end(id)
	data, err := h.store.Data(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if r := data.Run.Reason; !strings.Contains(r, "node a, which runs the service db, has no address") || !strings.Contains(r, "--label address=ADDRESS") {
		t.Errorf("the run is %s: %q, want the node without an address, and what to do", data.Run.State, r)
	}
	for _, s := range data.Steps {
		if s.Attempt != 0 {
			t.Errorf("step %d was begun %d times", s.Number, s.Attempt)
		}
	}
}

// TestAddressesAreNoCommands: what a node calls its address stands in commands of other
// nodes, so that nothing but an address may be one.
func TestAddressesAreNoCommands(t *testing.T) {
	for address, want := range map[string]bool{
		"": true, "10.0.0.5": true, "fd00::1": true, "::1": true, "fe80::1%eth0": true, "db-1.example.org": true, "db_1": true,
		"$(touch /tmp/x)": false, "`id`": false, "10.0.0.5;id": false, "a b": false, "a|b": false, "a'b": false, "a\nb": false,
		"{{.Self}}": false, "${self}": false, "-h": false, "%": false, "a/b": false, "a&b": false,
	} {
		err := addressBook{"n": {Node: "n", Address: address}}.check(model.Step{}, nil)
		if ok := err == nil; ok != want || err != nil && !errors.Is(err, model.ErrUnavailable) {
			t.Errorf("check(%q) = %v, want it to pass: %v", address, err, want)
		}
	}
}
