package lab

import (
	"context"
	"errors"
	"log/slog"

	"github.com/scalebench/scalebench/internal/model"
)

// LeftOver reports whether a lab stands although nobody wants it: its owner is
// dead and it was not to be kept, or the machine was restarted, which takes
// all of a lab away but its directory.
func (m Manifest) LeftOver() bool {
	if m.Keep {
		return m.Owner.earlierBoot()
	}
	return !m.Owner.Alive()
}

// Sweep removes the labs of this machine that are left over. It goes on after
// errors and returns all of them. The directories are those of List; a nil log
// is none.
func Sweep(ctx context.Context, stateDir, volumeDir string, log *slog.Logger) error {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	all, err := List(stateDir, volumeDir)
	if errors.Is(err, model.ErrDenied) {
		return nil // whoever may not list labs made none
	}
	errs := []error{err}
	for _, m := range all {
		if !m.LeftOver() {
			continue
		}
		if err := Remove(ctx, m); err != nil {
			log.Warn(notRemoved, "lab", m.ID, "owner", m.Owner.PID, "error", err)
			errs = append(errs, err)
			continue
		}
		log.Info("lab that was left over removed", "lab", m.ID, "owner", m.Owner.PID)
	}
	return errors.Join(errs...)
}
