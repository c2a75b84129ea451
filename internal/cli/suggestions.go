package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// unknownCommand is the error for a word that is no command below cmd, with
// those that were perhaps meant.
func unknownCommand(cmd *cobra.Command, word string) error {
	return usageError("unknown command %q%s; see `%s --help`", word, didYouMean(cmd, word, "`"+cmd.CommandPath()+" "),
		cmd.CommandPath())
}

// flagError is what is wrong with a command's flags, with where to look.
func flagError(cmd *cobra.Command, err error) error {
	meant := ""
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		flags := &cobra.Command{} // cobra compares commands only: here each is a flag
		add := func(f *pflag.Flag) {
			if !f.Hidden {
				flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
			}
		}
		cmd.LocalFlags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
		meant = didYouMean(flags, unknown.GetSpecifiedName(), "`--")
	}
	return usageError("%w%s; see `%s --help`", err, meant, cmd.CommandPath())
}

// didYouMean names the commands below cmd that a word resembles, each with a
// prefix; it is empty where there are none.
func didYouMean(cmd *cobra.Command, word, prefix string) string {
	if cmd.SuggestionsMinimumDistance == 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	near := cmd.SuggestionsFor(word)
	if len(near) == 0 {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s%s`?)", prefix, strings.Join(near, "` or "+prefix))
}
