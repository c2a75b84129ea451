package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// noSetup replaces what other commands do first: some need no data directory.
func noSetup(*cobra.Command, []string) error { return nil }

// helpCommand is cobra's, but an unknown command is an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "explain a command",
		PersistentPreRunE: noSetup,
		ValidArgsFunction: commands,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(about, strings.Join(rest, " "))
			}
			about.InitDefaultHelpFlag() // else help would not list --help
			return about.Help()
		},
	}
}

func (c *common) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print the version",
		PersistentPreRunE: noSetup,
		RunE: func(*cobra.Command, []string) error {
			return c.out("scalebench version " + Version())
		},
	}
}
