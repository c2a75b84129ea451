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
	"github.com/scalebench/scalebench/internal/study"
)

// measureCommand is the command of a study that measures by itself: it makes the
// experiment file that its argument and flags stand for, and runs it.
func (c *common) measureCommand(kind study.Kind) *cobra.Command {
	var opt runOptions
	var agents agentLabels
	measures := kind.Measure()
	cmd := &cobra.Command{
		Use: kind.CommandName() + " " + measures.Usage, Short: kind.Summary, Long: kind.Long, Example: kind.Example,
		Args: oneArg(measures.Meaning),
	}
	flags := addParams(cmd.Flags(), measures.Params)
	cmd.Flags().Var(&agents, "agents", "use the server's agents with these labels, KEY=VALUE,…, or all of them: all")
	cmd.Flags().BoolVar(&opt.detach, "detach", false, "with a server: return as soon as the run is queued")
	cmd.Flags().StringVarP(&opt.out, "output", "o", "", reportUsage)
	c.addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		given, err := flags.given()
		if err != nil {
			return err
		}
		opt.gates = gates{{kind, flags.thresholds()}}
		if err := opt.check(); err != nil {
			return err
		}
		if agents.given {
			if given["agents"], err = json.Marshal(agents.labels); err != nil {
				return fmt.Errorf("%w: --agents: %w", model.ErrUsage, err)
			}
		}
		text, err := measures.Experiment(args[0], given)
		if err != nil {
			return inFlags(err, measures, flags)
		}
		if measures.CheckHost != nil && !agents.given && c.serverAddr == "" {
			if err := measures.CheckHost(cmd.Context(), args[0]); err != nil {
				return err
			}
		}
		explain := func(err error) error { return inFlags(err, measures, flags) }
		return c.measure(cmd.Context(), kind.CommandName()+".yaml", text, opt, explain)
	}
	return cmd
}

// measure runs an experiment that a command stands for; explain says what is
// wrong with it in the words of the command.
func (c *common) measure(ctx context.Context, name string, text []byte, opt runOptions, explain func(error) error) error {
	exp, err := experiment.Parse(name, text, Kinds(), nil)
	if err == nil {
		err = checkNodes(exp)
	}
	if err != nil {
		return explain(err)
	}
	return c.executeExperiment(ctx, name, exp, opt)
}

// inFlags says what is wrong with the file that a command stands for by its
// flags: no user has written that file.
func inFlags(err error, measures study.Command, flags *paramFlags) error {
	argument, _, _ := strings.Cut(measures.Usage, " ")
	for _, one := range model.Single(err) {
		e, ok := errors.AsType[*model.InputError](one)
		if !ok {
			continue
		}
		key := measures.Key(e.Path)
		if key == "" {
			e.Path, e.Flag = "", argument
		}
		for _, f := range flags.flags {
			if f.key == key {
				e.Path, e.Flag = "", "--"+f.name
			}
		}
		if e.Flag == "" {
			e.File, e.Line, e.Col, e.Path = "", 0, 0, key
		}
	}
	return err
}
