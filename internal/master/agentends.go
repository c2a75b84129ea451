package master

import (
	"fmt"
	"slices"
	"sync"

	"github.com/scalebench/scalebench/internal/model"
)

// agentEnds are how agents of a run's fleet have ended by themselves, each at
// last. Its methods may be called from any goroutine.
type agentEnds struct {
	sync.Mutex
	last map[model.NodeID]agentEnd
}

type agentEnd struct {
	why   string
	again bool // it is started again
	count int  // of the ends so far
}

// endsToTell is at how many ends of an agent that has not connected people are
// told what the run waits for; fewer pass before anybody has read it.
const endsToTell = 3

// reset forgets the ends of a fleet that was up before.
func (e *agentEnds) reset() {
	e.Lock()
	defer e.Unlock()
	e.last = make(map[model.NodeID]agentEnd)
}

// note returns how often the node's agent has ended.
func (e *agentEnds) note(id model.NodeID, why string, again bool) int {
	e.Lock()
	defer e.Unlock()
	end := agentEnd{why, again, e.last[id].count + 1}
	e.last[id] = end
	return end.count
}

// final reports whether none of these nodes will come.
func (e *agentEnds) final(ids []model.NodeID) bool {
	e.Lock()
	defer e.Unlock()
	return !slices.ContainsFunc(ids, func(id model.NodeID) bool {
		end, known := e.last[id]
		return !known || end.again
	})
}

// why says how the agent of the first of these nodes ended that is known to
// have, as the end of a sentence; "" if none has.
func (e *agentEnds) why(ids []model.NodeID) string {
	e.Lock()
	defer e.Unlock()
	for _, id := range ids {
		if end, known := e.last[id]; known {
			return fmt.Sprintf("; the agent of node %s ended: %s", id, end.why)
		}
	}
	return ""
}
