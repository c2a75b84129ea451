package capacity

import (
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// TestConnectionDoubts: addresses that took no connection are told, by kind; so are
// requests that were sent twice, if they are many.
func TestConnectionDoubts(t *testing.T) {
	window := func(due, repeated int64, uses ...load.AddressUse) Assessment {
		return Assessment{Window: load.Window{Counts: load.Counts{Due: due, Repeated: repeated}, Addresses: uses}}
	}
	use := func(address string, state load.AddressState) load.AddressUse {
		return load.AddressUse{Address: address, State: state}
	}
	for name, c := range map[string]struct {
		windows []Assessment
		want    []string // of each doubt, its code and a part of its text
	}{
		"nothing":     {nil, nil},
		"one address": {[]Assessment{window(100, 0)}, nil},
		"both are used": {[]Assessment{window(100, 1, use("a", load.AddressUsed), use("b", load.AddressUsed))},
			nil},
		"one is silent": {[]Assessment{window(100, 0, use("a", load.AddressUnanswered),
			use("b", load.AddressUsed))}, []string{
			"dead_address 1 of the target's 2 addresses did not answer (a): the load went to the others (b)"}},
		"not tried in every window": {[]Assessment{window(100, 0, use("a", load.AddressUnreachable), use("b", load.AddressUsed)),
			window(100, 0, use("a", load.AddressSpare), use("b", load.AddressUsed))}, []string{
			"dead_address 1 of the target's 2 addresses could not be reached (a): the load went to the others (b)"}},
		"in several ways": {[]Assessment{window(9, 0, use("a", load.AddressUnanswered), use("b", load.AddressUsed),
			use("c", load.AddressRefused))},
			[]string{"dead_address 1 of the target's 3 addresses did not answer (a)",
				"dead_address 1 of the target's 3 addresses refused connections (c)"}},
		"requests repeated": {[]Assessment{window(100, 0), window(100, 3)},
			[]string{"repeated 1.5 % of the requests were sent twice"}},
	} {
		var d model.Doubts
		connectionDoubts(c.windows, &d)
		if len(d) != len(c.want) {
			t.Errorf("%s: %v, want %v", name, d, c.want)
			continue
		}
		for i, want := range c.want {
			if got := d[i].Code + " " + d[i].Text; !strings.HasPrefix(got, want) || d[i].Severity != model.Warning {
				t.Errorf("%s: %v, want %q", name, got, want)
			}
		}
	}
}
