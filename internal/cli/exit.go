package cli

import (
	"context"
	"errors"

	"github.com/scalebench/scalebench/internal/model"
)

// Exit codes are a contract that users' scripts rely on.
const (
	exitDone      = 0
	exitFailed    = 1
	exitUsage     = 2
	exitThreshold = 3 // measured, but a threshold that the user gave was missed
	exitInvalid   = 4 // refused, because the measurement is not valid
	exitInterrupt = 130
)

// exitCode maps an error to an exit code; it is the only place that does.
func exitCode(err error) int {
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, context.Canceled):
		return exitInterrupt
	case errors.Is(err, model.ErrUsage):
		return exitUsage
	case errors.Is(err, model.ErrThreshold):
		return exitThreshold
	case errors.Is(err, model.ErrInvalid):
		return exitInvalid
	}
	return exitFailed
}
