package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study/pressure"
)

// alerts say when a pressure has been too high for too long.
type alerts struct {
	c      *common
	screen *pressureScreen
	opt    watchOptions
	said   map[*pressure.Moment]bool // limits of which it was said, and that are still above
	failed chan error                // of commands
}

// alertLine is an alert as a line of JSON.
type alertLine struct {
	Event string `json:"event"`
	*pressure.Moment
	Above        float64 `json:"above"` // the pressure of the alert, as a share
	AboveSeconds float64 `json:"above_s"`
}

// check says of each limit that has been above for too long so, once for each time that
// this happens: it runs the command, or ends the watch.
func (a *alerts) check(ctx context.Context, limits []*pressure.Moment) error {
	if a.opt.after == 0 {
		return nil
	}
	for _, m := range limits {
		above := m.Above()
		if above < a.opt.after {
			delete(a.said, m)
			continue
		}
		if a.said[m] {
			continue
		}
		a.said[m] = true
		if a.c.formatFlag == string(render.FormatJSON) {
			if err := a.screen.json(alertLine{eventAlert, m, a.opt.level, above.Seconds()}); err != nil {
				return err
			}
		}
		text := fmt.Sprintf("%s has been above %s for %s", m.Name(), num.Percent(100*a.opt.level),
			num.Seconds(above.Seconds()))
		if a.opt.Command == "" {
			return fmt.Errorf("%w: %s", model.ErrThreshold, text)
		}
		a.screen.say("%s", text)
		if err := a.run(ctx, m); err != nil {
			return err
		}
	}
	a.sayFailed()
	return nil
}

// run starts the command. One that takes long must not delay the next second.
func (a *alerts) run(ctx context.Context, m *pressure.Moment) error {
	if a.failed == nil {
		a.failed = make(chan error, 16)
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", a.opt.Command)
	cmd.Stdout, cmd.Stderr = a.c.env.Stderr, a.c.env.Stderr
	cmd.Env = os.Environ()
	for name, value := range maps.All(m.Environ()) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("running the command of the alert: %w", err)
	}
	go func() {
		if err := cmd.Wait(); err != nil && ctx.Err() == nil {
			select {
			case a.failed <- err:
			default: // it has failed often enough
			}
		}
	}()
	return nil
}

func (a *alerts) sayFailed() {
	for {
		select {
		case err := <-a.failed:
			a.screen.say("the command of the alert failed: %v", err)
		default:
			return
		}
	}
}
