package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/procself"
)

// Self is the process that asks, as an owner.
func Self() (Owner, error) { return ownerOf(os.Getpid()) }

func ownerOf(pid int) (Owner, error) {
	start, err1 := startTicks(pid)
	boot, err2 := procself.BootID()
	space, err3 := os.Readlink("/proc/self/ns/pid")
	if err := errors.Join(err1, err2, err3); err != nil {
		return Owner{}, fmt.Errorf("identifying process %d: %w", pid, err)
	}
	return Owner{PID: pid, Start: start, Boot: boot, Space: space}, nil
}

// earlierBoot reports whether the owner lived before the machine's restart. It
// is false where that cannot be known.
func (o Owner) earlierBoot() bool {
	now, err := procself.BootID()
	return err == nil && o.Boot != "" && o.Boot != now
}

// Alive reports whether the process still runs. A process of another PID
// namespace cannot be seen from here and counts as alive, for what it owns
// must not be taken away; with the machine's restart it is gone for certain.
func (o Owner) Alive() bool {
	me, err := Self()
	if err != nil || o.Boot == me.Boot && o.Space != me.Space {
		return true
	}
	start, err := startTicks(o.PID)
	gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
	return o.Boot == me.Boot && !gone && (err != nil || start == o.Start)
}

// startTicks reads when a process started. A zombie has ended: it does not
// exist.
func startTicks(pid int) (uint64, error) {
	p, err := procself.ReadProcess(pid)
	if err == nil && p.Zombie {
		err = fs.ErrNotExist
	}
	return p.Start, err
}

// LeftOver reports whether a lab stands although it is not needed any more: its
// owner is dead and it was not to be kept, or the machine was restarted, which
// takes all of a lab away but its directory.
func (m Manifest) LeftOver() bool {
	if m.Keep {
		return m.Owner.earlierBoot()
	}
	return !m.Owner.Alive()
}

// Sweep removes the labs of this machine that are left over. It goes on after
// errors and returns all of them. The directories are those of List; log may be
// nil.
func Sweep(ctx context.Context, stateDir, volumeDir string, log *slog.Logger) error {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	all, err := List(stateDir, volumeDir)
	if errors.Is(err, model.ErrDenied) {
		return nil // a user who may not list labs made none
	}
	err = errors.Join(err, sweepUnplaced(Config{StateDir: stateDir}.withDefaults().StateDir))
	for _, m := range all {
		if !m.LeftOver() {
			continue
		}
		if failed := Remove(ctx, m); failed != nil {
			log.Warn(notRemoved, "lab", m.ID, "owner", m.Owner.PID, "error", failed)
			err = errors.Join(err, failed)
		} else {
			log.Info("removed a leftover lab", "lab", m.ID, "owner", m.Owner.PID)
		}
	}
	return err
}
