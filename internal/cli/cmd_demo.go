package cli

import (
	"context"
	_ "embed"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/lab"
)

// What `scalebench demo` runs: on hosts of its own where it may make them, with
// agent processes elsewhere.
var (
	//go:embed demo-lab.yaml
	demoLab string
	//go:embed demo.yaml
	demoLocal string
)

func (c *common) demoCommand() *cobra.Command {
	var opt runOptions
	processes := false
	cmd := newCommand("demo", "try scalebench on this machine in about a minute",
		`Runs a small experiment on this machine without configuration, prints the CDI
table and writes an HTML report.

With the rights to make a lab (root), it makes six hosts behind an uplink that
they share, and a seventh that they send to; afterwards nothing is left of them.
By arithmetic the CDI of the network is 62.5 % and that of the processor 83.3 %;
the result shows what was measured beside it.

Otherwise, or with --local, six agent processes share this machine. Each uses
all cores, so that the CDI of the processor is 83.3 % by arithmetic; what memory
loses depends on the machine.`,
		`  scalebench demo
  scalebench demo -o demo.html
  scalebench demo --local`,
		func(ctx context.Context, _ []string) error {
			if err := opt.check(); err != nil {
				return err
			}
			exp, err := experiment.Parse("demo.yaml", []byte(c.demoText(processes)), Kinds(), opt.set)
			if err != nil {
				return err
			}
			return c.executeExperiment(ctx, "demo.yaml", exp, opt)
		})
	cmd.Flags().BoolVar(&processes, "local", false, "use agent processes, even if a lab is possible")
	cmd.Flags().StringArrayVar(&opt.set, "set", nil, "replace a value of the demo's experiment file: KEY.PATH=VALUE")
	cmd.Flags().StringVarP(&opt.out, "output", "o", "", reportUsage)
	c.addFormat(cmd)
	return cmd
}

// demoText chooses the demo's experiment, and says why it is not the lab's.
func (c *common) demoText(processes bool) string {
	if processes {
		return demoLocal
	}
	if err := lab.Check(); err != nil {
		c.log.Debug("the demo makes no lab", "err", err)
		c.say("no lab is possible here (see `scalebench lab up --help`); six agent processes share this machine instead")
		return demoLocal
	}
	return demoLab
}
