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
	"github.com/scalebench/scalebench/internal/model"
)

// common is what every command shares: the environment, the global flags, and
// what they resolve to.
type common struct {
	env Env

	dataFlag, storeURL          string
	serverAddr, token           string
	natsCreds, natsNKey, natsCA string
	formatFlag, colorFlag       string
	verbose, wide               bool

	settings  settings
	keptToken string // with which the user's settings join a server; no agent's

	paths   paths
	noPaths error // why there is no data directory, if there is none
	log     *slog.Logger
}

// dataDirFlag is --data for commands that have a flag of that name themselves.
const dataDirFlag = "data-dir"

func (c *common) addFlags(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVar(&c.dataFlag, "data", "", "data directory (default $SCALEBENCH_DATA, or ~/.local/share/scalebench)")
	f.StringVar(&c.dataFlag, dataDirFlag, "", "as --data, also for capacity, where --data is what requests send")
	f.StringVar(&c.storeURL, "store", "", "store: postgres://… or sqlite://PATH (default: $SCALEBENCH_STORE, or SQLite in the data directory)")
	f.StringVar(&c.serverAddr, "server", "", "server to use: nats://HOST:PORT (default: $SCALEBENCH_SERVER, or the server on the data directory)")
	f.StringVar(&c.token, "token", "", "join token, needed once; @FILE reads it from a file (default: $SCALEBENCH_TOKEN)")
	f.StringVar(&c.natsCreds, "nats-creds", "", "credentials file of an external NATS cluster")
	f.StringVar(&c.natsNKey, "nats-nkey", "", "nkey seed file of an external NATS cluster")
	f.StringVar(&c.natsCA, "nats-ca", "", "CA file of an external NATS cluster")
	f.StringVar(&c.colorFlag, "color", "auto", "colours: auto, always or never")
	f.BoolVarP(&c.verbose, "verbose", "v", false, "write the log to standard error")
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
	if err := oneOf("--color", c.colorFlag, colors); err != nil {
		return err
	}
	if c.formatFlag != "" {
		if _, err := render.ParseFormat(c.formatFlag); err != nil {
			return err
		}
	}
	// Not as defaults of the flags: --help prints those, and a store's address
	// may hold a password.
	c.storeURL = cmp.Or(c.storeURL, c.env.Getenv("SCALEBENCH_STORE"))
	c.serverAddr = cmp.Or(c.serverAddr, c.env.Getenv("SCALEBENCH_SERVER"))
	c.paths, c.noPaths = c.env.dataDir(c.dataFlag)
	return nil
}

// logFrom logs what is of this level, or with --verbose all.
func (c *common) logFrom(level slog.Level) {
	if c.verbose {
		level = slog.LevelDebug
	}
	c.log = slog.New(slog.NewTextHandler(c.env.Stderr, &slog.HandlerOptions{Level: level}))
}

func (c *common) textOptions() render.TextOptions {
	color := c.env.Terminal && !c.env.Dumb && c.env.Getenv("NO_COLOR") == ""
	switch c.colorFlag {
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

// oneArg insists on exactly one argument and names it in the message.
func oneArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return wrongArgs(cmd, "takes one argument, "+name, args)
		}
		return nil
	}
}

// atMostOneArg allows no argument, or one.
func atMostOneArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return wrongArgs(cmd, "takes at most one argument, "+name, args)
		}
		return nil
	}
}

func wrongArgs(cmd *cobra.Command, takes string, args []string) error {
	return fmt.Errorf("%w: %s %s (got %d); see `%s --help`", model.ErrUsage, commandName(cmd), takes, len(args), cmd.CommandPath())
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%w: %s takes no arguments (got %q)", model.ErrUsage, commandName(cmd), strings.Join(args, " "))
	}
	return nil
}

// commandName is how a command is called without the program, which messages
// name before anything else.
func commandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// write reports whether everything could be printed.
func write(w io.Writer, s string) error {
	if _, err := io.WriteString(w, s); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}
