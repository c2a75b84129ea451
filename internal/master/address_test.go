package master

import (
	"errors"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

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
