package cli

import (
	_ "embed"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
)

// demoExperiment is what `scalebench demo` runs.
//
//go:embed demo.yaml
var demoExperiment string

func (c *common) demoCommand() *cobra.Command {
	var opt runOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "see it work on this machine, in about a minute",
		Long: `Runs a small experiment on this machine, with nothing configured: four agent
processes share its cores. Each uses all of them, so that in the parallel
evaluation every node has a quarter of what it had alone: the CDI is 75 % by
arithmetic. A second workload reads and writes memory, where no arithmetic
tells the answer beforehand. Prints the CDI table and writes an HTML report.`,
		Example: `  scalebench demo
  scalebench demo -o demo.html`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := opt.check(); err != nil {
				return err
			}
			threads := fmt.Sprintf("workloads.cpu-all-cores.threads=%d", runtime.NumCPU())
			exp, err := experiment.Parse("demo.yaml", []byte(demoExperiment), Workloads(), append([]string{threads}, opt.set...))
			if err != nil {
				return err
			}
			src := newSource("demo.yaml", exp.Source, model.KindExperiment)
			return c.executeSource(cmd.Context(), src, 0, opt)
		},
	}
	cmd.Flags().StringArrayVar(&opt.set, "set", nil, "replace a value of the demo's experiment file: KEY.PATH=VALUE")
	cmd.Flags().StringVarP(&opt.out, "output", "o", "", "path of the HTML report (default: in the data directory)")
	c.addFormat(cmd)
	return cmd
}
