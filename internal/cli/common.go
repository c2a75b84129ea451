package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/doc/render"
)

// common is what every command shares: the environment, the global flags, and
// what they resolve to.
type common struct {
	env Env

	flags                globalFlags
	storeURL, serverAddr string // what flag and environment say
	formatFlag           string
	wide                 bool

	settings  settings
	keptToken string // with which the user's settings join a server; no agent's

	paths   paths
	noPaths error // why there is no data directory, if there is none
	log     *slog.Logger
}

// globalFlags are those of all commands.
type globalFlags struct {
	Data      string `flag:"data" jsonschema_description:"Data directory (default $SCALEBENCH_DATA, or ~/.local/share/scalebench)."`
	Store     string `flag:"store" jsonschema_description:"Store: postgres://… or sqlite://PATH (default: $SCALEBENCH_STORE, or SQLite in the data directory)."`
	Server    string `flag:"server" jsonschema_description:"Server to use: nats://HOST:PORT (default: $SCALEBENCH_SERVER, or the server on the data directory)."`
	Token     string `flag:"token" jsonschema_description:"Join token, needed once; @FILE reads it from a file (default: $SCALEBENCH_TOKEN)."`
	NATSCreds string `flag:"nats-creds" jsonschema_description:"Credentials file of an external NATS cluster."`
	NATSNKey  string `flag:"nats-nkey" jsonschema_description:"Nkey seed file of an external NATS cluster."`
	NATSCA    string `flag:"nats-ca" jsonschema_description:"CA file of an external NATS cluster."`
	Color     string `flag:"color" jsonschema_description:"Colours: auto, always or never."`
	Verbose   bool   `flag:"verbose,v" jsonschema_description:"Write the log to standard error."`
}

// dataDirFlag is --data for commands that have a flag of that name themselves.
const dataDirFlag = "data-dir"

func (c *common) addFlags(cmd *cobra.Command) {
	c.flags.Color = "auto"
	addOptions(cmd.PersistentFlags(), &c.flags)
	cmd.PersistentFlags().StringVar(&c.flags.Data, dataDirFlag, "",
		"as --data, also for capacity, where --data is what requests send")
}

func (c *common) addFormat(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.formatFlag, "format", "text", "output: text, json or csv")
}

// addList adds the flags of commands that list in one line a row.
func (c *common) addList(cmd *cobra.Command) {
	c.addFormat(cmd)
	cmd.Flags().BoolVar(&c.wide, "wide", false, "show all columns in full, however long the lines become")
}

var colors = []string{"auto", "always", "never"}

// resolve prepares what commands use. It runs before every command, and creates
// nothing.
func (c *common) resolve(cmd *cobra.Command) error {
	if cmd.Name() == cobra.ShellCompRequestCmd || cmd.HasParent() && cmd.Parent().Name() == "completion" {
		return nil
	}
	return c.settle(cmd)
}

// settle turns flags, environment and the user's settings into what commands use.
func (c *common) settle(cmd *cobra.Command) error {
	err := c.configure(cmd)
	c.logFrom(slog.LevelError)
	if err != nil {
		return err
	}
	if err := oneOf("--color", c.flags.Color, colors); err != nil {
		return err
	}
	if c.formatFlag != "" {
		if _, err := render.ParseFormat(c.formatFlag); err != nil {
			return err
		}
	}
	// Not as defaults of the flags: --help prints those, and a store's address
	// may hold a password.
	c.storeURL = cmp.Or(c.flags.Store, c.env.Getenv("SCALEBENCH_STORE"))
	c.serverAddr = cmp.Or(c.flags.Server, c.env.Getenv("SCALEBENCH_SERVER"))
	c.paths, c.noPaths = c.env.dataDir(c.flags.Data)
	return nil
}

// logFrom logs what is of this level, or with --verbose all.
func (c *common) logFrom(level slog.Level) {
	if c.flags.Verbose {
		level = slog.LevelDebug
	}
	c.log = slog.New(slog.NewTextHandler(c.env.Stderr, &slog.HandlerOptions{Level: level}))
}

func (c *common) textOptions() render.TextOptions {
	color := c.env.Terminal && !c.env.Dumb && c.env.Getenv("NO_COLOR") == ""
	switch c.flags.Color {
	case "always":
		color = true
	case "never":
		color = false
	}
	width := c.env.Width
	if c.wide {
		width = 0
	}
	return render.TextOptions{Width: width, Color: color, ASCII: c.env.ASCII}
}

// say prints a line for people to standard error, where it cannot disturb
// what a program reads from standard output.
func (c *common) say(format string, args ...any) {
	_, _ = fmt.Fprintf(c.env.Stderr, format+"\n", args...) // no other place to report
}

// withService calls f with a service and closes that afterwards.
func (c *common) withService(ctx context.Context, need need, f func(context.Context, service) error) error {
	s, err := c.connect(ctx, need)
	if err != nil {
		return err
	}
	err = f(ctx, s)
	if s.own {
		c.serveOthers(ctx, s)
	}
	return errors.Join(err, s.Close())
}

// asking is what a command does that only asks a service.
func (c *common) asking(f func(context.Context, service, []string) error) func(context.Context, []string) error {
	return func(ctx context.Context, args []string) error {
		return c.withService(ctx, toRead, func(ctx context.Context, s service) error { return f(ctx, s, args) })
	}
}

// oneArg insists on exactly one argument and names it in the message.
func oneArg(name string) cobra.PositionalArgs { return args(1, "one argument, "+name) }

// atMostOneArg allows no argument, or one.
func atMostOneArg(name string) cobra.PositionalArgs { return args(0, "at most one argument, "+name) }

func args(least int, takes string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := len(args); n < least || n > 1 {
			return usageError("%s takes %s (got %d); see `%s --help`", commandName(cmd), takes, n, cmd.CommandPath())
		}
		return nil
	}
}

// noArgs refuses arguments. Of a command that has others below it, they were meant as one of these.
func noArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasAvailableSubCommands():
		return unknownCommand(cmd, args[0])
	}
	return usageError("%s takes no arguments (got %q)", commandName(cmd), strings.Join(args, " "))
}

// commandName is how a command is called without the program, which messages
// name before anything else.
func commandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// out prints a line of the result.
func (c *common) out(line string) error { return write(c.env.Stdout, line+"\n") }

// write reports whether everything could be printed.
func write(w io.Writer, s string) error {
	if _, err := io.WriteString(w, s); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}

// newCommand is a command with its help: what it takes is said by its use, see
// addArguments. Without run it shows its help.
func newCommand(use, short, long, example string, run func(context.Context, []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Long: long, Example: example,
		RunE: func(cmd *cobra.Command, args []string) error {
			if run == nil {
				return cmd.Help()
			}
			return run(cmd.Context(), args)
		}}
}
