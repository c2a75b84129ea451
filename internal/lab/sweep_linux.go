package lab

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// LeftOver reports whether a lab stands although nobody wants it: its owner is
// dead and it was not to be kept, or the machine was restarted, which takes
// most of a lab away.
func (m Manifest) LeftOver() bool {
	if m.Keep {
		boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
		return err == nil && strings.TrimSpace(string(boot)) != m.Owner.Boot
	}
	return !m.Owner.Alive()
}

// Sweep removes the labs of this machine that are left over. It goes on after
// errors and returns all of them. An empty stateDir is DefaultStateDir; a nil
// log, none.
func Sweep(ctx context.Context, stateDir string, log *slog.Logger) error {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	all, err := List(stateDir)
	if errors.Is(err, model.ErrDenied) {
		return nil // whoever may not list labs made none
	}
	errs := []error{err}
	for _, m := range all {
		if !m.LeftOver() {
			continue
		}
		err := Remove(ctx, m)
		log.Info("lab that was left over removed", "lab", m.ID, "owner", m.Owner.PID, "error", err)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
