package cli

import (
	"regexp"
	"testing"

	"github.com/spf13/cobra"
)

// TestFlagsApart: no command has a flag of its own that is called as one of those
// of all commands, which could not be given any more.
func TestFlagsApart(t *testing.T) {
	root := newRoot(Env{})
	common := regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(root.PersistentFlags().FlagUsages(), -1)
	if len(common) == 0 {
		t.Fatal("no flag of all commands was found")
	}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, flag := range common {
			if cmd.Name() == "capacity" && flag[1] == "data" {
				continue // as with curl; --data-dir takes its place
			}
			if cmd.LocalNonPersistentFlags().Lookup(flag[1]) != nil {
				t.Errorf("%s %s hides the flag of all commands", cmd.CommandPath(), flag[0])
			}
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(root)
}
