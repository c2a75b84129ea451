package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// Pauses between tries: short at first, for a server that restarts, never
// longer than maxPause, so that a result waits little once the server is back.
const (
	firstPause = 200 * time.Millisecond
	maxPause   = 5 * time.Second
)

// retry calls try until it succeeds, is denied for good, or ctx is done. Each
// kind of trouble is logged once. The link bounds every request in time.
func retry(ctx context.Context, log *slog.Logger, doing string, try func(context.Context) error) error {
	said := ""
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if errors.Is(err, model.ErrDenied) || errors.Is(err, model.ErrUsage) {
			return fmt.Errorf("%s: %w", doing, err)
		}
		if ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			log.Warn(doing+" does not work now; trying on", "err", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", doing, ctx.Err())
		case <-time.After(pause):
		}
	}
}
