package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/analysis"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report"
)

// planOptions are the flags of `scalebench plan`.
type planOptions struct {
	csv              string
	target, nodeRate string
	demands, perJob  []string
	capacities       []string
	demandRun        string
	out              string
	failUnlessFits   bool
}

func (c *common) planCommand() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "plan RUN | plan --csv FILE | plan --capacity RESOURCE=AMOUNT",
		Short: "how many nodes a target takes, and which resource ends growth",
		Long: `Says for each resource whether the fleet that a target rate takes fits into what
was measured (section 5.4 of the ScaleBench paper).

With target m, rate r of one node, demand d of one node at that rate and the
capacity C_n that n nodes had together: the fleet is t = ceil(m/r) nodes.

  fits      t*d is at most C_n
  fails     t*d is more than C_n, and C_n was seen to be a limit (the interval
            of the CDI lies above 0): more than floor(C_n/d) nodes are of no use;
            or d is more than a node alone had: not even one node works
  untested  t*d is more than C_n, but no limit was seen, C_n was still growing
            with n, or whether there is a limit could not be judged

Capacities come from a run, from a file as "scalebench cdi --csv" takes it, and
from --capacity, a limit that you know. Demands are given per second of one
node (--demand) or per job (--demand-per-job), or measured: --demand-run takes
what the monitor saw in the serial steps of your application's run, and the rate
of a node as well.

RESOURCE is cpu, memory, disk.read, disk.write, network.receive, network.send,
objectstore.put, objectstore.get, or WORKLOAD/METRIC. The amount has a unit:
network.receive=25MB/s, disk.write=300op/s, cpu=2core (cores in use); per job
objectstore.get=5.3MB, disk.write=40op, cpu=0.5s (seconds of one core). It is a
bare number, such as upload/throughput=500, where the file of --csv has no unit.

With --fail-unless-fits the exit code is 3 unless every resource fits, and 4
where the answer rests on a measurement whose verdict is unknown.`,
		Example: `  scalebench plan latest --target 227/s --node-rate 3.5/s --demand-per-job objectstore.get=5.3MB
  scalebench plan latest --target 500/s --demand-run 01JD2M:transcode
  scalebench plan --capacity network.receive=10Gbit/s --target 200/s --node-rate 5/s --demand network.receive=30MB/s`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.runPlan(cmd.Context(), args, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.target, "target", "", "jobs per second wanted, such as 227/s")
	f.StringVar(&o.nodeRate, "node-rate", "", "jobs per second of one node (default with --demand-run: as measured)")
	f.StringArrayVar(&o.demands, "demand", nil, "what one node takes: RESOURCE=AMOUNT, such as network.receive=25MB/s; repeatable")
	f.StringArrayVar(&o.perJob, "demand-per-job", nil, "what one job takes: RESOURCE=AMOUNT, such as objectstore.get=5.3MB; repeatable")
	f.StringVar(&o.demandRun, "demand-run", "", "measure the demand in this run: RUN or RUN:WORKLOAD")
	f.StringArrayVar(&o.capacities, "capacity", nil, "a limit that is known: RESOURCE=AMOUNT, such as network.receive=10Gbit/s; repeatable")
	f.StringVar(&o.csv, "csv", "", "take capacities from this file instead of a run (\"-\": standard input)")
	f.StringVarP(&o.out, "output", "o", "", "draw demand against capacity into this file too: NAME.html or NAME.svg")
	f.BoolVar(&o.failUnlessFits, "fail-unless-fits", false, "exit code 3 unless every resource fits, 4 if that rests on an unknown verdict")
	c.addFormat(cmd)
	return cmd
}

// runPlan collects capacities and demands, answers, and prints the answer.
func (c *common) runPlan(ctx context.Context, args []string, o planOptions) error {
	if err := o.check(args); err != nil {
		return err
	}
	var in analysis.PlanInput
	var err error
	if in.Target, err = parseJobRate("--target", o.target); err != nil {
		return err
	}
	if err := c.planCapacities(ctx, args, o, &in); err != nil {
		return err
	}
	if err := c.planDemands(ctx, o, &in); err != nil {
		return err
	}
	result, err := analysis.Plan(in)
	if err != nil {
		return err
	}
	if err := c.showPlan(result); err != nil {
		return err
	}
	if err := c.drawPlan(o.out, result); err != nil {
		return err
	}
	if o.failUnlessFits {
		return checkFits(in, result)
	}
	return nil
}

// check finds what is missing or too much before anything is read.
func (o planOptions) check(args []string) error {
	var problem string
	switch {
	case len(args) == 1 && o.csv != "":
		problem = "scalebench plan takes a run or --csv FILE, not both"
	case len(args) == 0 && o.csv == "" && len(o.capacities) == 0:
		problem = "scalebench plan takes capacities from a run, from --csv FILE, or from --capacity RESOURCE=AMOUNT"
	case o.target == "":
		problem = "--target is missing: how many jobs per second are wanted"
	case len(o.demands)+len(o.perJob) == 0 && o.demandRun == "":
		problem = "no demand is given: --demand, --demand-per-job or --demand-run"
	case o.nodeRate == "" && o.demandRun == "":
		problem = "--node-rate is missing: how many jobs per second one node does"
	case o.out != "" && planPicture(o.out) == nil:
		problem = fmt.Sprintf("-o %s: want a name that ends in .html or .svg", o.out)
	default:
		return checkReportPath(o.out)
	}
	return fmt.Errorf("%w: %s", model.ErrUsage, problem)
}

// planPicture is how a file of this name is drawn; nil if it is not known.
func planPicture(path string) func(io.Writer, model.PlanResult) error {
	switch filepath.Ext(path) {
	case ".html":
		return report.PlanHTML
	case ".svg":
		return report.PlanSVG
	}
	return nil
}

// drawPlan writes the figure, if one is asked for. What cannot be drawn leaves
// no file behind.
func (c *common) drawPlan(path string, r model.PlanResult) error {
	if path == "" {
		return nil
	}
	var b bytes.Buffer
	if err := planPicture(path)(&b, r); err != nil {
		return err
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the figure: %w", err)
	}
	c.say("figure: %s", path)
	return nil
}

// findingsOfFile reads somebody's own numbers; "-" is standard input.
func (c *common) findingsOfFile(file string) ([]model.Finding, error) {
	if file == "-" {
		return analysis.CDIFromCSV(c.env.Stdin, "stdin", analysis.Options{})
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrUsage, err)
	}
	defer f.Close() //nolint:errcheck // read only
	return analysis.CDIFromCSV(f, filepath.Base(file), analysis.Options{})
}

// planCapacities adds the capacities of a run or file, and the limits given.
func (c *common) planCapacities(ctx context.Context, args []string, o planOptions, in *analysis.PlanInput) error {
	switch {
	case len(args) == 1:
		if err := c.withRun(ctx, args[0], func(_ context.Context, _ service, d model.RunData) error {
			return addRunCapacities(d, in)
		}); err != nil {
			return err
		}
	case o.csv != "":
		findings, err := c.findingsOfFile(o.csv)
		if err != nil {
			return err
		}
		in.Capacities = analysis.CapacitiesOf(findings, nil, model.RunData{})
	}
	return givenCapacities(o, in)
}

// addRunCapacities takes the capacities of a run.
func addRunCapacities(d model.RunData, in *analysis.PlanInput) error {
	opt := analysis.Options{Seed: uint64(d.Run.Seed)}
	findings, err := analysis.CDI(d, opt)
	if err != nil {
		return err
	}
	scalings, err := analysis.Scaling(d, opt)
	if err != nil {
		return err
	}
	in.Capacities = analysis.CapacitiesOf(findings, scalings, d)
	return nil
}

// planDemands adds the node's rate and what it takes. A demand that is given
// stands in place of the measured one.
func (c *common) planDemands(ctx context.Context, o planOptions, in *analysis.PlanInput) error {
	var measured []analysis.Demand
	if o.demandRun != "" {
		name, workload, _ := strings.Cut(o.demandRun, ":")
		if err := c.withRun(ctx, name, func(_ context.Context, _ service, d model.RunData) error {
			var err error
			measured, err = measuredDemands(d, workload, o.nodeRate == "", in)
			return err
		}); err != nil {
			return fmt.Errorf("--demand-run: %w", err)
		}
	}
	if o.nodeRate != "" {
		var err error
		if in.NodeRate, err = parseJobRate("--node-rate", o.nodeRate); err != nil {
			return err
		}
	}
	if err := givenDemands(o, in); err != nil {
		return err
	}
	given := in.Demands
	for _, d := range measured {
		if !hasDemand(given, d) {
			in.Demands = append(in.Demands, d)
		}
	}
	return nil
}

// measuredDemands takes the demands of a run, and the rate of its nodes where
// none is given.
func measuredDemands(d model.RunData, workload string, rate bool, in *analysis.PlanInput) ([]analysis.Demand, error) {
	demands, err := analysis.DemandsOf(d, workload)
	if err != nil || !rate {
		return demands, err
	}
	findings, err := analysis.CDI(d, analysis.Options{Seed: uint64(d.Run.Seed)})
	if err != nil {
		return nil, err
	}
	in.NodeRate, in.NodeRateCI, err = analysis.NodeRateOf(findings, d, workload)
	return demands, err
}

// hasDemand reports a demand on the same resource in the same unit: one in
// operations does not stand in place of one in bytes.
func hasDemand(ds []analysis.Demand, d analysis.Demand) bool {
	return slices.ContainsFunc(ds, func(o analysis.Demand) bool { return o.Resource == d.Resource && o.Unit == d.Unit })
}

// showPlan prints the answer in the format asked for.
func (c *common) showPlan(r model.PlanResult) error {
	format, err := c.format()
	if err != nil {
		return err
	}
	return report.Plan(c.env.Stdout, r, format, c.printing())
}
