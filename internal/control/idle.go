package control

import (
	"context"
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// CancelIdle marks a run that nobody executes as cancelled, so that it is not
// taken for one to resume. It fails with model.ErrUsage when the run is done
// or cancelled already.
func CancelIdle(ctx context.Context, st store.Store, id model.RunID, reason string, at time.Time) error {
	run, err := st.Run(ctx, string(id))
	if err != nil {
		return err
	}
	if run.State == model.RunDone || run.State == model.RunCancelled {
		return fmt.Errorf("%w: run %s is %s already", model.ErrUsage, id, run.State)
	}
	return st.SetRunState(ctx, id, model.RunCancelled, reason, at.UTC())
}
