package capacity

import (
	"strings"
)

// Limit is what was at its limit where the search ended.
type Limit string

// What can be at its limit.
const (
	// LimitTarget: the server.
	LimitTarget Limit = "target"
	// LimitPath: the network on the way to it. The target takes at least the
	// load passed, if any was; how much more is not known.
	LimitPath Limit = "path"
	// LimitGenerator: the machines that offer the load. The target takes at
	// least the load passed; how much more is not known.
	LimitGenerator Limit = "generator"
	// LimitMachine: the machine that offers the load was full; whether the target
	// could not do more, or that machine, cannot be told.
	LimitMachine Limit = "machine"
	// LimitRecords: none; the target lost records that were loaded, again and again.
	LimitRecords Limit = "records"
	// LimitDrift: none that stays: the target took a load early in the search and
	// does not take it any more.
	LimitDrift Limit = "drift"
	// LimitCap: the largest load allowed was passed. The capacity is at least
	// that.
	LimitCap Limit = "cap"
	// LimitFloor: the smallest load allowed was missed.
	LimitFloor Limit = "floor"
	// LimitNone: the search is not over.
	LimitNone Limit = "none"
)

// limitWords are what is said of a limit; [Answer.fill] fills in what stands in braces.
type limitWords struct {
	cell string // of a table
	// short is why there is no capacity, in a few words, long the same in a sentence,
	// and gate the same for who waits for one; empty: there is one.
	short, long, gate string
	// doubt is what that means for the result, and what to do; its code is the limit.
	doubt string
}

var limits = map[Limit]limitWords{
	LimitTarget: {cell: "target"},
	LimitCap:    {cell: "largest load allowed"},
	LimitFloor:  {cell: "smallest load allowed"},
	LimitNone:   {cell: "not over"},
	LimitPath: {
		cell: "path", short: "the path was at its limit", long: "the path to the server was at its limit, not the server",
		gate: "the path to the target was at its limit, so no capacity of the target can be reported",
	},
	LimitGenerator: {
		cell: "generators", short: "{generators}", long: "{generators}, not the server",
		gate: "{generators}, so no capacity can be reported",
		doubt: "{names} could not offer more load in time, so the target's capacity is unknown{passed}; " +
			"use more or larger generators",
	},
	LimitMachine: {
		cell: "machine full", short: "the machine was full",
		long: "{machine} was full, so that this search cannot tell whether the server was at its limit",
		gate: "the machine that offers the load was full, so no capacity can be reported",
		doubt: "{machine} was full at the load that failed, so this search cannot tell whether the server or that machine " +
			"was at its limit; stop what else runs there, or offer the load from another machine than the server's",
	},
	LimitRecords: {
		cell: "records lost", short: "the server lost records", long: "the server lost records while it was measured",
		gate: "the target lost records while it was measured, so no capacity can be reported",
	},
	LimitDrift: {
		cell: "server changed", short: "the server changed",
		long: "the server changed while it was measured: it took {then} early in the search and did not at the end{now}",
		gate: "the server changed while it was measured: it took {then} and later did not, so no capacity can be reported",
		doubt: "the target changed while it was measured: it took {then} and later did not. Look for a leak, a cache that " +
			"fills, or credits that run out, and search again when it is steady",
	},
}

// fill puts what this search has found into words of its limit.
func (a Answer) fill(words string) string {
	passed, then, now, machine := "", "", "", "the machine that offers the load"
	if a.Passed != nil {
		passed = "; it takes at least the load that passed"
	}
	if a.Drift != nil {
		then = rate(a.Drift.Then)
		if a.Drift.Now != nil {
			now = ", when it took " + rate(*a.Drift.Now)
		}
	}
	if len(a.Generators) > 0 {
		machine = "the machine of " + named(a.Generators)
	}
	return strings.NewReplacer("{generators}", a.generatorsWords(), "{names}", named(a.Generators), "{machine}", machine,
		"{passed}", passed, "{then}", then, "{now}", now).Replace(words)
}

// generatorsWords say which generators were at their limit; none are named
// where it was all of them.
func (a Answer) generatorsWords() string {
	if len(a.Generators) == 1 {
		return named(a.Generators) + " was at its limit"
	}
	return named(a.Generators) + " were at their limit"
}

// breaksAlone reports whether round trips alone break the SLA.
func (a Answer) breaksAlone() bool {
	return a.Limit == LimitPath && a.Path != nil && a.Path.Breaks != nil
}
