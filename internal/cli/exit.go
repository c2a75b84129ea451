package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/scalebench/scalebench/internal/fleet/agentproc"
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

// commandEnded is the exit code of a command that was run for the user, who
// has seen its messages.
type commandEnded int

// What shells report for a command that is there but cannot be executed, and
// for one that is not there.
const (
	notExecutable commandEnded = 126
	noCommand     commandEnded = 127
)

func (e commandEnded) Error() string {
	return fmt.Sprintf("the command ended with exit code %d", int(e))
}

// ExitCode maps an error to an exit code; it is the only place that does.
func ExitCode(err error) int {
	var ended commandEnded
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &ended) && ended >= 0:
		return int(ended) // as shells report it; a signal has none
	case errors.Is(err, context.Canceled), errors.Is(err, errCutShort):
		return exitInterrupt
	case errors.Is(err, model.ErrUsage):
		return exitUsage
	case errors.Is(err, errStateHeld):
		return agentproc.ExitHeld
	case errors.Is(err, model.ErrThreshold):
		return exitThreshold
	case errors.Is(err, model.ErrInvalid):
		return exitInvalid
	}
	return exitFailed
}

// usageError is an error of what the user has typed or written.
func usageError(format string, args ...any) error {
	return fmt.Errorf("%w: %w", model.ErrUsage, fmt.Errorf(format, args...))
}
