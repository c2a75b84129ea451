package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/monitor"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/study/pressure"
	"github.com/scalebench/scalebench/internal/telemetry"
	"github.com/scalebench/scalebench/internal/unit"
)

// watchOptions are what `servicelevel watch` takes beside models and their inputs.
type watchOptions struct {
	Alert   string            `flag:"alert" jsonschema_description:"Say so, and end with exit code 3, when a pressure has been above so much for longer than so long: 95%:60s."`
	Command string            `flag:"command" jsonschema_description:"With --alert: run this shell command at each alert, and go on; SCALEBENCH_SERVICE, SCALEBENCH_LIMIT and SCALEBENCH_PRESSURE say what it is about."`
	Volumes map[string]string `flag:"volume" jsonschema_description:"A device or folder that is shown by a name: data=/dev/nvme1n1. Repeatable. Default: all disks."`
	For     unit.Duration     `flag:"for" jsonschema_description:"End after so long. Default: Ctrl-C ends it."`
	level   float64           // of the alert, as a share
	after   time.Duration     // how long it takes
}

// sparkWidth is how many seconds the line beside a pressure shows.
const sparkWidth = 40

// levelWatch shows the pressures of this host each second.
func (c *common) levelWatch() *cobra.Command {
	kind := pressure.Kind()
	params := pressure.New()
	var opt watchOptions
	cmd := newCommand("watch", "show each second how close this host's services are to their limits",
		`Shows each second the pressure of the disks, the network and the processors of this
host. A line has the course of the last seconds, the value, and how long it was critical.
Where standard output is no terminal, or with --format json, each second is a line for
each service.`,
		`  scalebench servicelevel watch --model aws-gp3 --set gib=100
  scalebench servicelevel watch --model data=aws-io1 --set gib=100 --set iops=1800 --volume data=/dev/nvme1n1
  scalebench servicelevel watch --model aws-gp3 --set gib=100 --alert 95%:60s --command 'logger disk'`, nil)
	wanted := []string{"model", "set", "critical", "or-equal", "credits"}
	flags := addSomeParams(cmd.Flags(), params, func(name string) bool { return slices.Contains(wanted, name) })
	addOptions(cmd.Flags(), &opt)
	c.addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		given, err := flags.given()
		if err == nil {
			err = answer.Set(study.Registry{kind}, params, given)
		}
		if err == nil {
			err = opt.parse()
		}
		if err == nil {
			err = params.Chosen()
		}
		if err != nil {
			return err
		}
		return c.watchPressure(cmd.Context(), params, opt)
	}
	return cmd
}

// parse reads the alert.
func (o *watchOptions) parse() error {
	if o.Alert == "" {
		if o.Command != "" {
			return usageError("--command says what an alert runs: give --alert, too, such as --alert 95%%:60s")
		}
		return nil
	}
	level, after, ok := strings.Cut(o.Alert, ":")
	var percent study.Percent
	var duration unit.Duration
	if !ok || percent.Set(level) != nil || !(percent > 0) || duration.UnmarshalText([]byte(after)) != nil {
		return usageError("--alert must be a pressure and a time, such as 95%%:60s (got %q)", o.Alert)
	}
	o.level, o.after = float64(percent)/100, duration.Std()
	return nil
}

// watchPoll is how often it is looked whether there is a new reading: there is one each
// second. Each look copies what was recorded.
const watchPoll = 250 * time.Millisecond

// watchPressure looks until the context ends, the time is over, or an alert ends it.
func (c *common) watchPressure(ctx context.Context, p *pressure.Params, opt watchOptions) error {
	if d := opt.For.Std(); d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("asking for the name of this host: %w", err)
	}
	began := time.Now()
	rec := monitor.New(monitor.Config{Volumes: opt.Volumes}).Start(ctx)
	defer rec.Stop()
	view := newLiveView(c.env, model.RunData{})
	view.out, view.raw = c.env.Stdout, c.env.rawOut
	defer view.close()
	alerts := make(map[string]bool) // services about which it was said
	last := 0.0                     // when the latest period that was shown ended, Unix s
	tick := time.NewTicker(watchPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil
			}
			return ctx.Err()
		case <-tick.C:
		}
		services := pressure.OfHost(host, began, rec.Series(began), false)
		if len(opt.Volumes) > 0 {
			services = slices.DeleteFunc(services, func(r telemetry.Recording) bool {
				_, named := opt.Volumes[r.Service]
				return !named && r.Service != telemetry.Network && r.Service != telemetry.Processor
			})
		}
		latest := last
		for _, r := range services {
			if n := len(r.End); n > 0 {
				latest = max(latest, r.End[n-1])
			}
		}
		if latest <= last {
			continue
		}
		last = latest
		now, err := p.Now(services)
		if err != nil {
			return err
		}
		if err := c.showPressures(view, now); err != nil {
			return err
		}
		if err := c.alert(ctx, opt, now, alerts); err != nil {
			return err
		}
	}
}

// showPressures draws them on a terminal, and prints a line for each elsewhere.
func (c *common) showPressures(view *liveView, now []pressure.Moment) error {
	if view.redraw && c.formatFlag == string(render.FormatText) {
		lines := make([]string, len(now))
		for i, m := range now {
			lines[i] = m.Line(sparkWidth, c.env.ASCII)
		}
		view.draw(lines...)
		return nil
	}
	for _, m := range now {
		line := m.Plain()
		switch c.formatFlag {
		case string(render.FormatJSON):
			b, err := json.Marshal(m)
			if err != nil {
				return fmt.Errorf("encoding a pressure: %w", err)
			}
			line = string(b)
		case string(render.FormatCSV):
			line = m.CSV()
		}
		if err := c.out(line); err != nil {
			return err
		}
	}
	return nil
}

// alert says when a pressure has been too high for too long, once for each time that
// this happens: it runs the command, or ends the watch.
func (c *common) alert(ctx context.Context, opt watchOptions, now []pressure.Moment, said map[string]bool) error {
	if opt.after == 0 {
		return nil
	}
	for _, m := range now {
		key, above := m.Name(), m.Above(pressure.Sampling{Above: opt.level})
		if above < opt.after {
			delete(said, key)
			continue
		}
		if said[key] {
			continue
		}
		said[key] = true
		text := fmt.Sprintf("%s has been above %s for %s", key, num.Percent(100*opt.level), num.Seconds(above.Seconds()))
		if opt.Command == "" {
			return fmt.Errorf("%w: %s", model.ErrThreshold, text)
		}
		c.say("%s", text)
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", opt.Command)
		cmd.Stdout, cmd.Stderr = c.env.Stderr, c.env.Stderr
		cmd.Env = os.Environ()
		for name, value := range maps.All(m.Environ()) {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("running the command of the alert: %w", err)
		}
		go func() { // a command that takes long must not delay the next second
			if err := cmd.Wait(); err != nil && ctx.Err() == nil {
				c.say("the command of the alert failed: %v", err)
			}
		}()
	}
	return nil
}
