//go:build !linux

package runner

import (
	"errors"
	"fmt"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// Without /proc only the process group can be killed; daemons that left it
// stay. Linux is the platform for measuring.

func startToken(int) (uint64, error) { return 0, nil }

func (t tree) kill() error {
	if t.pgid <= 0 || t.spareSelf {
		return nil
	}
	if err := unix.Kill(-t.pgid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("killing process group %d: %w", t.pgid, err)
	}
	return nil
}

// KillLeftover cannot tell a leftover from a later process of the same id on
// this system, and so kills nothing.
func KillLeftover(pgid int, _ uint64) error {
	if errors.Is(unix.Kill(-pgid, 0), unix.ESRCH) {
		return nil
	}
	return fmt.Errorf("process group %d may be left over from an earlier task; check it, and end it with `kill -9 -- -%d`", pgid, pgid)
}

func awaitExit(cmd *exec.Cmd) { _, _ = cmd.Process.Wait() } // the state is lost; the outcome does not need it

func adoptOrphans() {}

func (tree) cpu() (time.Duration, bool) { return 0, false }

// sleep is as precise as the runtime's timers.
func sleep(d time.Duration) { <-time.After(d) }
