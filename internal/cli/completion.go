package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/queue"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/store/sqlite"
)

// What shells complete. Cobra knows commands and flags; here are the arguments
// and the values of flags: fixed ones, and what is stored, which is asked of the
// server or of the store, and changes neither.

// completing is how long a shell waits at most for what is stored.
const completing = 800 * time.Millisecond

// suggest says what could stand in the place of an argument or value.
type suggest = cobra.CompletionFunc

// addArguments gives every command below root its completion, and checks of the
// arguments that its use names.
func (c *common) addArguments(root *cobra.Command) {
	nothing := cobra.NoFileCompletions
	runs, nodes := c.stored(storedRuns), c.stored(knownNodes)
	aFile := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault) // which the shell knows
	arguments := map[string]struct {
		one     string // what it is called where there must be just one
		suggest suggest
	}{
		"RUN": {"the run", runs}, "CAMPAIGN": {"the campaign", c.stored(storedCampaigns)}, "[RUN]": {"", runs},
		"FILE": {"the experiment file", aFile}, "JOB.json": {"the job file", aFile},
		"[ID]": {"", standingLabs}, "HOST": {"", labHosts}, "[NAME=]RUN…": {"", runs},
	}
	values := map[string]suggest{
		"format": oneOfThese(string(render.FormatText), string(render.FormatJSON), string(render.FormatCSV)),
		"color":  oneOfThese(colors...), "state": oneOfThese(stateNames()...), "kind": oneOfThese(kindNames...),
		"study": oneOfThese(designingStudies()...), "agents": oneOfThese(allAgents),
		"remove": nodes, "node": nodes, "lab": standingLabs, "demand-run": runs,
		"set": nothing, "name": nothing, "since": nothing, "until": nothing, "server": nothing, "store": nothing,
	}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		_, words, _ := strings.Cut(cmd.Use, " ")
		word, _, _ := strings.Cut(words, " ")
		argument := arguments[word]
		switch {
		case cmd.Args != nil:
		case word == "":
			cmd.Args = noArgs
		case argument.one != "":
			cmd.Args = oneArg(argument.one)
		}
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion,
			cobra.ShellCompDirective) {
			if argument.suggest == nil || len(args) > 0 && word != "HOST" {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return argument.suggest(cmd, args, typed)
		}
		complete := func(f *pflag.Flag) {
			of := values[f.Name]
			switch kind := f.Value.Type(); {
			case cmd.Name() == "export" && f.Name == "format":
				of = oneOfThese(string(render.FormatJSON), string(render.FormatCSV))
			case cmd.Name() == "agent" && f.Name == "node":
				of = nothing
			case strings.Contains(kind, "|"):
				of = oneOfThese(strings.Split(kind, "|")...)
			case of == nil && kind != "string" && kind != "stringArray":
				of = nothing
			case of == nil:
				return // a path, for all that is known
			}
			_ = cmd.RegisterFlagCompletionFunc(f.Name, of) // fails only for a flag that is not there
		}
		cmd.LocalNonPersistentFlags().VisitAll(complete)
		cmd.PersistentFlags().VisitAll(complete)
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(root)
	root.ValidArgsFunction = nil // its arguments are commands
}

// oneOfThese completes a list at its last comma.
func oneOfThese(all ...string) suggest {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		var out []cobra.Completion
		for _, x := range all {
			out = append(out, before+x)
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

func commands(cmd *cobra.Command, args []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	about, _, err := cmd.Root().Find(args)
	if err == nil {
		for _, sub := range about.Commands() {
			if sub.IsAvailableCommand() {
				out = append(out, cobra.CompletionWithDesc(sub.Name(), sub.Short))
			}
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func standingLabs(_ *cobra.Command, args []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	all, _ := labs() // those that can be read
	for _, l := range all {
		out = append(out, cobra.CompletionWithDesc(l.ID, string(l.State)))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func labHosts(_ *cobra.Command, args []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault // the command's own arguments
	}
	all, _ := labs()
	for _, l := range all {
		for _, h := range l.Hosts {
			out = append(out, cobra.CompletionWithDesc(string(h.Name), "lab "+l.ID))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// stored completes what is stored.
func (c *common) stored(list func(context.Context, *cobra.Command, service) []cobra.Completion) suggest {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		out := c.ask(cmd, func(ctx context.Context, s service) []cobra.Completion { return list(ctx, cmd, s) })
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

func storedCampaigns(ctx context.Context, _ *cobra.Command, s service) (out []cobra.Completion) {
	list, _ := s.CampaignStatuses(ctx)
	for _, x := range list {
		out = append(out, cobra.CompletionWithDesc(string(x.ID), fmt.Sprintf("%s, %s", printable(x.Name), x.State)))
	}
	return out
}

// latestRuns is how many runs are offered: more cannot be looked through.
const latestRuns = 100

func storedRuns(ctx context.Context, cmd *cobra.Command, s service) (out []cobra.Completion) {
	filter := store.Filter{Limit: latestRuns}
	switch cmd.Name() {
	case "cancel":
		filter.States = []model.RunState{model.RunPending, model.RunRunning}
	case "resume":
		filter.States = []model.RunState{model.RunIncomplete, model.RunFailed, model.RunCancelled, model.RunInterrupted}
	}
	list, _ := s.Runs(ctx, filter)
	for i, r := range list.Runs {
		switch {
		case i > 0 || len(filter.States) > 0:
		case r.State.Final():
			out = append(out, cobra.CompletionWithDesc(store.Latest, "the newest run that is over"))
		default:
			out = append(out, cobra.CompletionWithDesc(store.Running, "the newest run that is under way"))
		}
		what := fmt.Sprintf("%s, %s, %s", printable(r.Name), r.State, r.Created.UTC().Format("2006-01-02 15:04"))
		out = append(out, cobra.CompletionWithDesc(string(r.ID), what))
	}
	return out
}

func knownNodes(ctx context.Context, _ *cobra.Command, s service) (out []cobra.Completion) {
	nodes, _ := s.Nodes(ctx)
	for _, n := range nodes {
		out = append(out, cobra.CompletionWithDesc(string(n.ID), string(n.Status)))
	}
	return out
}

// ask calls f with what a command would read from, and returns what f does, or
// nothing where that takes too long. Errors are for the command itself to tell.
func (c *common) ask(cmd *cobra.Command, f func(context.Context, service) []cobra.Completion) []cobra.Completion {
	ctx, cancel := context.WithTimeout(cmd.Context(), completing)
	defer cancel()
	if err := c.settle(cmd); err != nil {
		return nil
	}
	c.log = slog.New(slog.DiscardHandler)
	answer := make(chan []cobra.Completion, 1)
	go func() {
		var out []cobra.Completion
		if s, ok := c.peek(ctx); ok {
			out = f(ctx, s)
			_ = s.Close() // it was only read from
		}
		answer <- out
	}()
	select {
	case out := <-answer:
		return out
	case <-ctx.Done():
		return nil
	}
}

// peek connects to what is there: the server that is named, if this user has
// joined it, or the one on the data directory, or the store.
func (c *common) peek(ctx context.Context) (service, bool) {
	if c.noPaths != nil {
		return service{}, false
	}
	if c.serverAddr != "" {
		dir := c.paths.remote(hostPort(c.serverAddr))
		info, err := queue.ReadServerInfo(filepath.Join(dir, serverInfoName))
		if err != nil {
			return service{}, false
		}
		key, err := identity.LoadOrCreate(filepath.Join(dir, clientKeyName), identity.RoleClient)
		if err != nil {
			return service{}, false
		}
		s, err := c.dial(ctx, info, key)
		return s, err == nil
	}
	if _, err := os.Stat(c.paths.at(lockName)); err != nil {
		return service{}, false // nothing has ever run here
	}
	if s, ok, err := c.connectRunning(ctx); ok || err != nil {
		return s, ok
	}
	path, ok := strings.CutPrefix(c.storeURL, "sqlite://")
	switch {
	case c.storeURL == "":
		path = c.paths.at(databaseName)
	case !ok:
		return service{}, false
	}
	st, err := sqlite.OpenAsIs(ctx, path)
	if err != nil {
		return service{}, false
	}
	return service{Service: newOffline(st, c.ownServer()), Close: st.Close}, true
}
