package capacity

import (
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// AddressRecord is what became of one of several addresses of the target in a
// window.
type AddressRecord struct {
	Address string            `json:"address"`
	State   load.AddressState `json:"state"`
	// Opened is how many connections were made to it.
	Opened int64 `json:"opened"`
}

func addressRecords(uses []load.AddressUse) (out []AddressRecord) {
	for _, u := range uses {
		out = append(out, AddressRecord{u.Address, u.State, u.Opened})
	}
	return out
}

// repeatedShare is the share of operations from which on it is told that they were
// sent twice.
const repeatedShare = .01

// connectionDoubts say what the windows' connections mean for the result: which of
// the target's addresses took none, and whether it closes connections that are in
// use.
func connectionDoubts(windows []Assessment, d *model.Doubts) {
	var due, repeated int64
	states := make(map[load.AddressState][]string)
	var used, all []string
	for _, w := range windows {
		due, repeated = due+w.Counts.Due, repeated+w.Counts.Repeated
		for _, a := range w.Addresses {
			all = append(all, a.Address)
			if a.State == load.AddressUsed {
				used = append(used, a.Address)
			}
		}
		for _, a := range w.Addresses {
			if a.State != load.AddressUsed && !slices.Contains(states[a.State], a.Address) {
				states[a.State] = append(states[a.State], a.Address)
			}
		}
	}
	n := len(distinct(all))
	for _, s := range []struct {
		state load.AddressState
		words string
	}{
		{load.AddressUnanswered, "did not answer"}, {load.AddressRefused, "refused connections"},
		{load.AddressUnreachable, "could not be reached"}, {load.AddressFailed, "took no connections"},
	} {
		if dead := distinct(states[s.state]); len(dead) > 0 {
			d.Warn("dead_address", "%d of the target's %d addresses %s (%s): the load went to the others (%s), and "+
				"the result is theirs; repair it, or name one address in the URL",
				len(dead), n, s.words, num.List(dead), num.List(distinct(used)))
		}
	}
	if due > 0 && float64(repeated) > repeatedShare*float64(due) {
		d.Warn("repeated", "%s of the requests were sent twice, because the server had closed their connection "+
			"without announcing it; their latency counts from the first time: let the server keep idle "+
			"connections open for longer",
			share(float64(repeated)/float64(due)).text)
	}
}

// distinct are texts in order, each once.
func distinct(texts []string) []string { return slices.Compact(slices.Sorted(slices.Values(texts))) }
