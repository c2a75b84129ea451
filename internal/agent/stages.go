package agent

import (
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// tellEvery is how often people are told of stages: several that begin and end
// in between are told together.
const tellEvery = 500 * time.Millisecond

// stages are changes of stages that are still to be told.
type stages struct {
	sync.Mutex
	pending []model.StageChange
	waiting bool
	told    time.Time
}

// stage passes a stage that begins or ends on; the result has all of them.
func (x *execution) stage(s model.StageChange) {
	t := &x.stages
	t.Lock()
	defer t.Unlock()
	t.pending = append(t.pending, wire.FittedStage(s))
	t.pending = t.pending[max(0, len(t.pending)-wire.MaxStages):]
	if !t.waiting {
		t.waiting = true
		time.AfterFunc(tellEvery-time.Since(t.told), func() {
			t.Lock()
			all := t.pending
			t.pending, t.waiting, t.told = nil, false, time.Now()
			t.Unlock()
			x.tell(wire.Progress{Stages: all})
		})
	}
}
