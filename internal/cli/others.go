package cli

import (
	"context"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/control"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/workload"
)

// parting is how long a command may take to ask for the results of its run once
// that is over. After that `scalebench show` still shows them.
const parting = 3 * time.Second

// serveOthers goes on being the server of other commands that have found it on
// the data directory and submitted their runs to it: it ends with this process.
func (c *common) serveOthers(ctx context.Context, s service) {
	served := false
	for ctx.Err() == nil {
		list, err := s.Runs(ctx, store.Filter{States: []model.RunState{model.RunPending, model.RunRunning}})
		i := slices.IndexFunc(list.Runs, func(r model.Run) bool { return r.Server == s.server })
		if err != nil || i < 0 {
			break
		}
		run := list.Runs[i]
		served = true
		c.say("run %s of another command uses this server, which stays until that run is over; Ctrl-C ends it, and `scalebench resume %s` continues it later",
			run.ID, run.ID)
		_, _ = control.AwaitEnd(ctx, s, run.ID, func(error) {}) // its own command says what is wrong
	}
	if served {
		_ = workload.Pause(ctx, parting) // or until it is to end
	}
}
