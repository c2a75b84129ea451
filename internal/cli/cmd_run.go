package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/control"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/plan"
)

// runOptions are the flags of commands that execute a run.
type runOptions struct {
	set    []string
	dryRun bool
	detach bool
	out    string // path of the HTML report
}

func (c *common) runCommand() *cobra.Command {
	var opt runOptions
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "run an experiment file and print the CDI",
		Long: `Runs an experiment file (YAML; "-" reads standard input) and prints the CDI of
every workload. Without --server, and unless a server is running on the data
directory, this process is the server. Ctrl-C ends the run in order; what was
measured is kept, and "scalebench resume" goes on from there.`,
		Example: `  scalebench run examples/cpu-overcommit.yaml
  scalebench run examples/cpu-overcommit.yaml --set trials=3 --set fleet.local.nodes=2
  scalebench run experiment.yaml --dry-run
  scalebench run experiment.yaml --server nats://10.0.0.5:4222 --detach`,
		Args: oneArg("the experiment file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.runFile(cmd.Context(), args[0], opt)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&opt.set, "set", nil, "replace a value of the file: KEY.PATH=VALUE (may be repeated)")
	f.BoolVar(&opt.dryRun, "dry-run", false, "print the plan and do nothing")
	f.BoolVar(&opt.detach, "detach", false, "with a server: return as soon as the run is in line")
	f.StringVarP(&opt.out, "output", "o", "", "path of the HTML report (default: in the data directory)")
	c.addFormat(cmd)
	return cmd
}

func (c *common) runFile(ctx context.Context, file string, opt runOptions) error {
	text, name, err := c.readFile(file)
	if err != nil {
		return err
	}
	exp, err := experiment.Parse(name, text, Workloads(), opt.set)
	if err != nil {
		return err
	}
	if opt.dryRun {
		return c.printPlan(exp)
	}
	src := newSource(name, exp.Source, model.KindExperiment)
	return c.executeSource(ctx, src, time.Duration(exp.Timeouts.Node), opt)
}

// readFile reads a file, or standard input for "-".
func (c *common) readFile(file string) (text []byte, name string, err error) {
	if file == "-" {
		text, err = io.ReadAll(c.env.Stdin)
		return text, "stdin", err
	}
	text, err = os.ReadFile(file)
	if err != nil {
		return nil, "", fmt.Errorf("%w: reading the file: %w", model.ErrUsage, err)
	}
	return text, filepath.Base(file), nil
}

// printPlan shows what a run would do. Agents that are not known yet are
// given names, for the order is what matters.
func (c *common) printPlan(exp *experiment.Experiment) error {
	n, prefix := 0, "agent"
	switch {
	case exp.Fleet.Local != nil:
		n, prefix = exp.Fleet.Local.Nodes, "local"
	case exp.Fleet.Agents != nil:
		n = exp.Fleet.Agents.Count
	}
	if n == 0 {
		n = 2
		c.say("the number of agents is not known before the run; shown for 2")
	}
	nodes := make([]model.NodeID, n)
	for i := range nodes {
		nodes[i] = model.NodeID(fmt.Sprintf("%s-%d", prefix, i+1))
	}
	p, err := plan.Build(exp, model.RunID(ulid.Make().String()), nodes)
	if err != nil {
		return err
	}
	if c.formatFlag == "json" {
		return printJSON(c.env.Stdout, p)
	}
	return p.Text(c.env.Stdout)
}

// newSource is a file to be submitted, as a run with a new id.
func newSource(name, text string, kind model.RunKind) control.Source {
	return control.Source{ID: model.RunID(ulid.Make().String()), Name: name, Text: text, Kind: kind}
}

// executeSource submits a source, follows the run to its end, and prints what
// it found. While nodes are missing it tries again, up to wait.
func (c *common) executeSource(ctx context.Context, src control.Source, wait time.Duration, opt runOptions) error {
	return c.withService(ctx, toRun, func(ctx context.Context, s service) error {
		id, err := c.submitPatiently(ctx, s, src, wait)
		if err != nil {
			return err
		}
		if opt.detach && !s.own {
			return write(c.env.Stdout, string(id)+"\n")
		}
		return c.finish(ctx, s, id, opt)
	})
}

// submitPatiently submits, waiting for agents that have not joined yet.
func (c *common) submitPatiently(ctx context.Context, s service, src control.Source, wait time.Duration) (model.RunID, error) {
	deadline := time.Now().Add(wait)
	said := ""
	for {
		id, err := s.Submit(ctx, src)
		if err == nil || !isUnavailable(err) || s.own || time.Now().After(deadline) {
			return id, err
		}
		if err.Error() != said {
			said = err.Error()
			c.say("waiting for nodes: %v", err)
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func (c *common) resumeCommand() *cobra.Command {
	var opt runOptions
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "go on with a run that was cut short",
		Long: `Goes on with a run that was interrupted or cancelled, or that ended incomplete:
complete steps are kept, the others are executed again.`,
		Example: "  scalebench resume latest",
		Args:    oneArg("the run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withService(cmd.Context(), toRun, func(ctx context.Context, s service) error {
				run, err := s.Run(ctx, args[0])
				if err != nil {
					return err
				}
				if err := s.Resume(ctx, run.ID); err != nil {
					return err
				}
				return c.finish(ctx, s, run.ID, opt)
			})
		},
	}
	cmd.Flags().StringVarP(&opt.out, "output", "o", "", "path of the HTML report (default: in the data directory)")
	c.addFormat(cmd)
	return cmd
}
