package capacity

import (
	"fmt"
	"maps"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// use is the connections of all generators of a window.
type use struct{ load.ConnectionUse }

// connectionUse adds up what generators could have; zero where they do not count.
func connectionUse(w load.Window) (u use) {
	for _, g := range w.Generators {
		c := g.Connections
		u.Asked, u.Allowed, u.Open, u.Refused = u.Asked+c.Asked, u.Allowed+c.Allowed, u.Open+c.Open, u.Refused+c.Refused
		if u.Answer == "" {
			u.Answer = c.Answer
		}
		u.Room = u.Tighter(c.Room)
	}
	return u
}

// short reports whether the server allowed fewer connections than the generators
// would have opened. One that was refused once and opened later is there.
func (u use) short() bool { return u.Capped() || u.Refused > 0 && u.Open < u.Asked }

// String says why there were fewer connections than were asked for.
func (u use) String() string {
	switch {
	case u.Refused > 0:
		return fmt.Sprintf("the server refused %s (%s), and at most %d of the %d asked for were open", num.Count(int(u.Refused), "connection"), u.Answer, u.Open, u.Asked)
	case u.Capped():
		return fmt.Sprintf("the server allows %d connections (%s) and others hold %d, so that the search opens at most %d of the %d asked for and leaves some to others",
			u.Limit, u.Setting, u.Others, u.Allowed, u.Asked)
	}
	return ""
}

// shortOfConnections finds the windows that say how much the target takes at most,
// and whose operations waited for connections that the server did not allow, or
// failed for want of one. failed: that alone broke the SLA in one of them.
func (r *replay) shortOfConnections(passed float64) (worst use, failed bool) {
	for _, j := range r.judged {
		u := connectionUse(j.Window)
		none := j.Share(j.Counts.Errors[load.ErrConnect])
		waited := j.Share(j.Counts.Waited+j.Counts.Dropped) + none
		broke := u.Refused > 0 && slices.ContainsFunc(r.cfg.SLA.Terms, func(t load.Term) bool {
			return t.OnErrors() && none > t.Errors
		})
		if j.Verdict != Missed || j.Load <= passed || j.Load > offered*passed || !(broke || u.short() && waited > waitedShare) {
			continue
		}
		if u.Refused > worst.Refused || worst.Asked == 0 {
			worst = u
		}
		failed = failed || broke
	}
	return worst, failed
}

// refusedConnections says that the windows above the load passed were missed because
// the server refused connections; empty if that is not why.
func (r *replay) refusedConnections(passed float64) string {
	if u, failed := r.shortOfConnections(passed); failed {
		return u.String()
	}
	return ""
}

// repeatedShare is the share of operations from which on it is told that they were
// sent twice.
const repeatedShare = .01

// connectionDoubts say what the windows' connections mean for the result: whether the
// target allows as many as were asked for, which of its addresses took none, and
// whether it closes connections that are in use.
func connectionDoubts(windows []Assessment, d *model.Doubts) {
	var worst use
	for _, w := range windows {
		if u := connectionUse(w.Window); u.short() && (u.Refused > worst.Refused || worst.Asked == 0) {
			worst = u
		}
	}
	if worst.Asked > 0 {
		d.Warn("few_connections", "%v; the result is of that many connections: let the server allow more, or ask for "+
			"fewer (--connections, for each generator)", worst)
	}
	addressDoubts(windows, d)
	if all := total(windows); all.Share(all.Counts.Repeated) > repeatedShare {
		d.Warn("repeated", "%s of the requests were sent twice, because the server had closed their connection "+
			"without announcing it; their latency counts from the first time: let the server keep idle "+
			"connections open for longer", num.Share(all.Share(all.Counts.Repeated)))
	}
}

// addressDoubts tell of addresses that took no connection: in all windows, or in some.
func addressDoubts(windows []Assessment, d *model.Doubts) {
	seen := make(map[string]map[load.AddressState]int) // in how many windows an address was
	for _, w := range windows {
		for _, a := range w.Addresses {
			if seen[a.Address] == nil {
				seen[a.Address] = make(map[load.AddressState]int)
			}
			seen[a.Address][a.State]++
		}
	}
	for _, s := range []struct {
		state load.AddressState
		words string
	}{
		{load.AddressUnanswered, "did not answer"}, {load.AddressRefused, "refused connections"},
		{load.AddressUnreachable, "could not be reached"}, {load.AddressFailed, "took no connections"},
	} {
		var dead, others []string
		for _, a := range slices.Sorted(maps.Keys(seen)) {
			switch n, used := seen[a][s.state], seen[a][load.AddressUsed]; {
			case n > 0 && used > 0:
				dead = append(dead, fmt.Sprintf("%s in %d of %s", a, n, num.Count(len(windows), "window")))
			case n > 0:
				dead = append(dead, a)
			case used > 0:
				others = append(others, a)
			}
		}
		to := "the others"
		if len(others) > 0 {
			to += " (" + num.List(others) + ")"
		}
		if len(dead) > 0 {
			d.Warn("dead_address", "%d of the target's %d addresses %s (%s): the load went to %s, and the result is "+
				"theirs; repair it, or name one address in the URL", len(dead), len(seen), s.words, num.List(dead), to)
		}
	}
}
