package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/study/pressure"
	"github.com/scalebench/scalebench/internal/telemetry"
	"github.com/scalebench/scalebench/internal/unit"
)

// watchOptions are what `servicelevel watch` takes beside models and their inputs.
type watchOptions struct {
	Alert   string            `flag:"alert" jsonschema_description:"Say so, and end with exit code 3, when a pressure has been above so much for so long: 95%:60s."`
	Command string            `flag:"command" jsonschema_description:"With --alert: run this shell command at each alert, and go on; SCALEBENCH_NODE, SCALEBENCH_SERVICE, SCALEBENCH_LIMIT and SCALEBENCH_PRESSURE say what it is about."`
	Volumes map[string]string `flag:"volume" jsonschema_description:"A device or folder of this host that is shown by a name: data=/dev/nvme1n1. Repeatable. Default: all disks."`
	Nodes   []string          `flag:"node" jsonschema_description:"Show this node of the server in place of this host: a name, or a pattern such as 'db-*'. Repeatable."`
	For     unit.Duration     `flag:"for" jsonschema_description:"End after so long. Default: Ctrl-C ends it."`
	level   float64           // of the alert, as a share
	after   time.Duration     // how long it takes
}

// levelWatcher is a watch that goes on.
type levelWatcher struct {
	c      *common
	params *pressure.Params
	opt    watchOptions
	screen *pressureScreen
}

// levelWatch shows pressures each second.
func (c *common) levelWatch() *cobra.Command {
	kind := pressure.Kind()
	params := pressure.New()
	var opt watchOptions
	cmd := newCommand("watch [RUN]", "show each second how close services are to their limits",
		`Shows each second the pressure of the disks, the network and the processors of this
host. With --server or --node it shows the volumes that the agents of a server offer,
and with RUN those of the nodes of a run that is under way. A line has the course of
the last seconds, the value, and how long it was critical. Where standard output is no
terminal, or with --format json, each second is a line for each limit.`,
		`  scalebench servicelevel watch --model aws-gp3 --set gib=100
  scalebench servicelevel watch --model data=aws-io1 --set gib=100 --set iops=1800 --volume data=/dev/nvme1n1
  scalebench servicelevel watch --model aws-gp3 --set gib=100 --node 'db-*' --alert 95%:60s --command 'logger disk'
  scalebench servicelevel watch running --model lab --set iops=300 --set bandwidth=60MiB/s`, nil)
	cmd.Args = atMostOneArg("the run")
	wanted := []string{"model", "set", "critical", "or-equal", "credits"}
	flags := addSomeParams(cmd.Flags(), params, func(name string) bool { return slices.Contains(wanted, name) })
	addOptions(cmd.Flags(), &opt)
	c.addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
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
		ctx := cmd.Context()
		if d := opt.For.Std(); d > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, d)
			defer cancel()
		}
		w := levelWatcher{c, params, opt, c.newPressureScreen()}
		defer w.screen.close()
		if len(args) == 0 && len(opt.Nodes) == 0 && !cmd.Flag("server").Changed {
			return w.host(ctx)
		}
		return w.agents(ctx, strings.Join(args, ""))
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
// second.
const watchPoll = 250 * time.Millisecond

// errWatchOver ends a watch that has nothing to wait for any more.
var errWatchOver = errors.New("there is nothing more to watch")

// follow looks until the context ends, an alert ends it, or the source does. look returns what
// was recorded in the last seconds.
func (w *levelWatcher) follow(ctx context.Context, look func(context.Context) ([]telemetry.Recording, error)) error {
	alerts := alerts{c: w.c, screen: w.screen, opt: w.opt, said: make(map[*pressure.Moment]bool)}
	live := w.params.Live(w.opt.level)
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
		recordings, err := look(ctx)
		now := time.Now()
		switch {
		case errors.Is(err, errWatchOver):
			return nil
		case ctx.Err() != nil:
			continue
		case err != nil:
			return err
		}
		news, err := live.Look(now, recordings)
		if err == nil {
			err = w.screen.show(now, news, live.Limits())
		}
		if err == nil {
			err = alerts.check(ctx, live.Limits())
		}
		if err != nil {
			return err
		}
	}
}
