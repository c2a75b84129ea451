package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scalebench/scalebench/internal/doc/num"
)

// unknownCommand is the error for a word that is no command below cmd, with
// those that were perhaps meant.
func unknownCommand(cmd *cobra.Command, word string) error {
	meant, path := "", cmd.CommandPath()
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		prefix := "`" + path + " "
		meant = fmt.Sprintf(" (did you mean %s%s`?)", prefix, strings.Join(near, "` or "+prefix))
	}
	return usageError("unknown command %q%s; see `%s --help`", word, meant, path)
}

// flagError is what is wrong with a command's flags, with where to look.
func flagError(cmd *cobra.Command, err error) error {
	meant := ""
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		add := func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		}
		cmd.LocalFlags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
		if near := num.Suggest(unknown.GetSpecifiedName(), names); near != "" {
			meant = fmt.Sprintf(" (did you mean `--%s`?)", near)
		}
	}
	return usageError("%w%s; see `%s --help`", err, meant, cmd.CommandPath())
}
