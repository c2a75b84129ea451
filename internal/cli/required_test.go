package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestRequiredFlags: a command that lacks a flag is bad usage, as one with a
// wrong flag is, and says where help is.
func TestRequiredFlags(t *testing.T) {
	cmd, _, err := newRoot(Env{}).Find([]string{"capacity"})
	if err != nil {
		t.Fatal(err)
	}
	lacks(t, cmd, "sla")
}

// lacks executes a command without its flag.
func lacks(t *testing.T, cmd *cobra.Command, flag string) {
	t.Helper()
	var said bytes.Buffer
	args := append(strings.Fields(cmd.CommandPath())[1:], "http://127.0.0.1:1/")
	code := Main(Env{Args: args, Stdin: strings.NewReader(""), Stdout: &said, Stderr: &said})
	want := "see `" + cmd.CommandPath() + " --help`"
	if code != exitUsage || !strings.Contains(said.String(), flag) || !strings.Contains(said.String(), want) {
		t.Errorf("%s without --%s: exit code %d, %q; want %d and %q", cmd.CommandPath(), flag, code, said.String(), exitUsage, want)
	}
}
