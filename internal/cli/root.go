package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
)

// Main runs one command and returns its exit code. The first SIGINT, SIGTERM, or
// SIGHUP (the terminal is gone) ends the command in order; a second one ends the process at once.
func Main(env Env) int {
	env, flush := env.guarded()
	defer flush()
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as with nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop) // from then on signals act as by default
	err := inTime(ctx, newRoot(env).ExecuteContext)
	var ended commandEnded
	if err != nil && !errors.Is(err, context.Canceled) && !errors.As(err, &ended) {
		prefix := "scalebench: "
		if errors.Is(err, model.ErrUsage) && positionRE.MatchString(err.Error()) {
			prefix = "" // so that editors find the position in every line, the first included
		}
		fmt.Fprintln(env.Stderr, prefix+model.Plain(err)) //nolint:errcheck // no other place to report
	}
	return ExitCode(err)
}

// patience is how long a command may take to end in order.
const patience = 5 * time.Second

// errCutShort is the end of a command that did not end in order. It is safe:
// what is stored survives a kill, and what is left is removed at the next start.
var errCutShort = fmt.Errorf("it did not end within %s and was cut short; what is stored is safe", patience)

// inTime runs a command, and leaves it when it does not end in time after it was
// told to: a disk or a database that hangs must not keep the user waiting.
func inTime(ctx context.Context, command func(context.Context) error) error {
	ended := make(chan error, 1)
	go func() { ended <- command(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		return errCutShort
	}
}

// positionRE is how an error of a file begins: file:line:col.
var positionRE = regexp.MustCompile(`^[^:\n]+:[0-9]+:[0-9]+: `)

const longHelp = `scalebench finds out how far an application scales on rented machines, what
limits it, and how certain that is.

It runs a workload on every node of a fleet alone (serial evaluation) and then
on all nodes at once (parallel evaluation), and reports by how much the
capacity of a node degrades: the Capacity Degradation Index, with an interval
and a verdict.

"scalebench config" shows your settings; its help says in which file they stand.

Exit codes: 0 done, 1 failed, 2 bad usage or file, 3 a threshold was missed,
4 the measurement does not allow an answer, 130 interrupted.`

const rootExample = `  scalebench demo                      try it on this machine in a minute
  scalebench run experiment.yaml       run an experiment file
  scalebench cdi latest --format json  the result as JSON
  scalebench report latest             the result as a page with figures`

// questionCommand is the command of a question, and the group of help that it is in.
func (c *common) questionCommand(kind study.Kind) (group string, cmd *cobra.Command) {
	switch {
	case kind.Measure != nil:
		return "run", c.measureCommand(kind)
	case kind.Takes != nil:
		return "look", c.sourcesCommand(kind)
	}
	return "look", c.studyCommand(kind)
}

// lastWord is the last word of a command, by which its parent knows it.
func lastWord(command string) string { return command[strings.LastIndexByte(command, ' ')+1:] }

// Commands is the tree of commands, from which man pages and the completion of
// shells are made.
func Commands() *cobra.Command { return newRoot(Env{}) }

func newRoot(env Env) *cobra.Command {
	c := &common{env: env}
	root := &cobra.Command{
		Use: "scalebench", Short: "find out how far an application scales on rented machines",
		Long: longHelp, Example: rootExample,
		Version:      Version(),
		SilenceUsage: true, SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return c.resolve(cmd) },
	}
	root.SetArgs(env.Args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(
		&cobra.Group{ID: "run", Title: "Measure:"},
		&cobra.Group{ID: "look", Title: "Look at results:"},
		&cobra.Group{ID: "fleet", Title: "Servers and nodes:"},
	)
	c.addFlags(root)
	add := func(group string, cmds ...*cobra.Command) {
		for _, cmd := range cmds {
			cmd.GroupID = group
			root.AddCommand(cmd)
		}
	}
	add("run", c.demoCommand(), c.runCommand())
	levels := c.serviceLevelCommand()
	for _, kind := range Studies() {
		group, cmd := c.questionCommand(kind)
		if kind.CommandName() != lastWord(kind.CommandName()) { // "servicelevel pressure"
			levels.AddCommand(cmd)
			continue
		}
		add(group, cmd)
	}
	add("look", levels)
	add("run", c.campaignCommand(), c.submitCommand(), c.resumeCommand(), c.cancelCommand(), c.validateCommand(), c.schemaCommand())
	add("look", c.runsCommand(), c.showCommand(),
		c.reportCommand(), c.exportCommand(), c.logsCommand(), c.deleteCommand())
	add("fleet", c.serverCommand(), c.agentCommand(), c.tokenCommand(), c.nodesCommand(), c.labCommand(), c.boardCommand())
	root.AddCommand(c.configCommand())
	root.AddCommand(c.workloadCommand(), c.versionCommand())
	root.SetHelpCommand(helpCommand())
	c.addArguments(root)
	c.foldHelp(root)
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return root
}
