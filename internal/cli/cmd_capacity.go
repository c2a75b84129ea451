package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study/capacity"
)

// capacityCommand makes the experiment file that its flags stand for, and runs
// it.
func (c *common) capacityCommand() *cobra.Command {
	kind := capacity.Kind()
	var opt runOptions
	var agents agentLabels
	cmd := &cobra.Command{
		Use: "capacity TARGET --sla p90=150ms", Short: kind.Summary, Long: kind.Long, Example: kind.Example,
		Args: oneArg("the URL of the server"),
	}
	flags := addParams(cmd.Flags(), capacity.NewFlags())
	cmd.Flags().Var(&agents, "agents", "use the server's agents with these labels, KEY=VALUE,…, or all of them: all")
	cmd.Flags().BoolVar(&opt.detach, "detach", false, "with a server: return as soon as the run is queued")
	cmd.Flags().StringVarP(&opt.out, "output", "o", "", "path of the HTML report (default: in the data directory)")
	_ = cmd.MarkFlagRequired("sla") // it exists
	sla := cmd.Flag("sla")
	sla.Usage, _, _ = strings.Cut(sla.Usage, ". Evaluations:") // of a file
	sla.Usage += " (required)"
	c.addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		given, err := flags.given()
		if err != nil {
			return err
		}
		if below, ok := given["fail_below"]; ok {
			opt.gates = gates{{kind, flags, map[string]json.RawMessage{"fail_below": below}}}
		}
		if err := opt.check(); err != nil {
			return err
		}
		if agents.given {
			if given["agents"], err = json.Marshal(agents.labels); err != nil {
				return fmt.Errorf("%w: --agents: %w", model.ErrUsage, err)
			}
		}
		return c.runCapacity(cmd.Context(), args[0], given, flags, opt)
	}
	return cmd
}

func (c *common) runCapacity(ctx context.Context, target string, given map[string]json.RawMessage, flags *paramFlags, opt runOptions) error {
	text, err := capacity.Experiment(target, given)
	if err != nil {
		return err
	}
	exp, err := experiment.Parse("capacity.yaml", text, Kinds(), nil)
	if err != nil {
		return inFlags(err, flags)
	}
	src := newSource("capacity.yaml", exp.Source, model.KindExperiment)
	return c.executeSource(ctx, src, exp.Timeouts.Node.Std(), opt)
}

// inFlags says what is wrong with the file that a command stands for by its
// flags: no user has written that file.
func inFlags(err error, flags *paramFlags) error {
	all, ok := errors.AsType[model.InputErrors](err)
	if !ok {
		return err
	}
	names := map[string]string{
		"target": "TARGET", "data.workload": "--mix", "data.records": "--records", "objects.operation": "--mix", "objects.count": "--records", "objects.size": "--object-size",
		"fleet.local.nodes": "--generators", "requests.get.expect": "--expect",
	}
	for _, f := range flags.flags {
		names[f.key] = "--" + f.name
	}
	for _, e := range all {
		if flag := names[strings.TrimPrefix(e.Path, "workloads.capacity.")]; flag != "" {
			e.Path, e.Flag = "", flag
		}
	}
	return err
}

// checkResumable refuses to go on with a search of another version, which would
// fail at its next window.
func checkResumable(ctx context.Context, s service, run model.Run) error {
	a, err := s.Show(ctx, string(run.ID), nil)
	if err != nil {
		return err
	}
	var shown struct{ Searches []capacity.Record }
	if err := json.Unmarshal(a.Result, &shown); err != nil {
		return fmt.Errorf("reading the results of run %s: %w", run.ID, err)
	}
	for _, r := range shown.Searches {
		if r.Limit == capacity.LimitUnknown {
			return fmt.Errorf("%w: another version of scalebench ran the search %s and would try other loads; resume run %s with that version, or search again", model.ErrUsage, r.Workload, run.ID)
		}
	}
	return nil
}
