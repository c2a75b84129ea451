package capacity

import (
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/histogram"
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
		"dead in one window of two": {[]Assessment{window(9, 0, use("a", load.AddressUsed), use("b", load.AddressRefused)),
			window(9, 0, use("a", load.AddressUsed), use("b", load.AddressUsed))}, []string{
			"dead_address 1 of the target's 2 addresses refused connections (b in 1 of 2 windows): the load went to the others (a), and"}},
		"each in a window of its own": {[]Assessment{window(9, 0, use("a", load.AddressUsed), use("b", load.AddressFailed)),
			window(9, 0, use("a", load.AddressFailed), use("b", load.AddressUsed)), window(9, 0)}, []string{
			"dead_address 2 of the target's 2 addresses took no connections (a in 1 of 3 windows, b in 1 of 3 windows): the load went to the others, and"}},
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

// TestFewConnections: a search of a server that allows fewer connections than were
// asked for is of those that there are, says so and is not confirmed, as far as
// operations waited for one; one that was missed for want of connections has no
// capacity. Neither is the generators' limit.
func TestFewConnections(t *testing.T) {
	const target = 730
	room := load.Room{Limit: 3, Others: 1, Setting: "max_connections"}
	all := load.ConnectionUse{Asked: 64, Allowed: 64, Open: 64}
	capped := load.ConnectionUse{Room: room, Asked: 64, Allowed: 1, Open: 1}
	refused := load.ConnectionUse{Asked: 64, Allowed: 64, Open: 8, Refused: 9, Answer: "FATAL: sorry"}
	once := load.ConnectionUse{Asked: 64, Allowed: 64, Open: 64, Refused: 1, Answer: "FATAL: sorry"}
	for name, c := range map[string]struct {
		use       load.ConnectionUse
		waits     bool    // operations wait for connections beyond the target
		fail      float64 // share of those that fail for want of one
		confirmed bool
		doubts    []string // a code and the beginning of its text
		limit     Limit
		estimate  bool
	}{
		"as many as asked for":               {all, false, 0, true, nil, LimitTarget, true},
		"fewer, which does not matter":       {capped, false, 0, true, []string{"few_connections the server allows 3 connections (max_connections) and others hold 1, so that the search opens at most 1 of the 64"}, LimitTarget, true},
		"fewer":                              {capped, true, 0, false, []string{"few_connections the server allows 3", "unconfirmed the boundary was not confirmed: above it operations waited for connections that the server does not allow"}, LimitTarget, true},
		"refused":                            {refused, true, .005, false, []string{"few_connections the server refused 9 connections (FATAL: sorry), and at most 8 of the 64 asked for were open", "unconfirmed"}, LimitTarget, true},
		"refused once, and opened later":     {once, true, 0, true, nil, LimitTarget, true},
		"refused once, and operations fail":  {once, true, .2, false, []string{"connections_refused the server refused 1 connection (FATAL: sorry)"}, LimitTarget, false},
		"refused, and operations fail":       {refused, true, .2, false, []string{"few_connections", "connections_refused the server refused 9 connections (FATAL: sorry)"}, LimitTarget, false},
		"asked for few, and operations wait": {load.ConnectionUse{Asked: 1, Allowed: 1, Open: 1}, true, 0, false, []string{"generator"}, LimitGenerator, false},
	} {
		cfg, w := config(t), newWorld(target)
		cfg.Connections = c.use.Asked
		w.change = func(_ int, w *load.Window) {
			w.Generators = []load.Generator{{Node: "a", Counts: w.Counts, Connections: c.use}}
			if w.Load <= target || !c.waits {
				return
			}
			w.Counts.Waited = w.Counts.Due / 2
			w.Services.Reset()
			histogram.RecordMany(w.Services, int64(10*time.Millisecond), w.Counts.OK) // they waited for the rest
			w.Replies = int64(target * w.Scored.Seconds())
			lose(w, c.fail, load.ErrConnect)
		}
		a := w.search(t, cfg, 100).Answer
		if a.Limit != c.limit || a.Confirmed != c.confirmed || (a.Estimate != nil) != c.estimate {
			t.Errorf("%s: %v, confirmed %t, estimate %v; want %v, %t, %t", name, a.Limit, a.Confirmed, a.Estimate, c.limit, c.confirmed, c.estimate)
		}
		for _, want := range c.doubts {
			code, text, _ := strings.Cut(want, " ")
			if d := doubtOf(a, code); d == nil || !strings.HasPrefix(d.Text, text) {
				t.Errorf("%s: %v, want %q", name, a.Doubts, want)
			}
		}
		if d := doubtOf(a, "few_connections"); d != nil && len(c.doubts) == 0 {
			t.Errorf("%s: %v", name, d)
		}
	}
}
