// Command sharefiles writes what is installed beside scalebench: man pages, and
// the completion of shells. Both are made from the commands that the program
// has; this is a program of its own, so that scalebench need not carry it.
//
//	SOURCE_DATE_EPOCH=SECONDS sharefiles VERSION DIR
//
// DIR then holds man1/*.1, scalebench.bash, _scalebench (zsh) and
// scalebench.fish. The same commands, version and date give the same bytes.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/cli"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: SOURCE_DATE_EPOCH=SECONDS sharefiles VERSION DIR")
		os.Exit(2)
	}
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, "sharefiles: SOURCE_DATE_EPOCH must be the version's date, in seconds since 1970")
		os.Exit(2)
	}
	of := edition{version: os.Args[1], date: time.Unix(seconds, 0).UTC()}
	if err := writeAll(os.Args[2], cli.Commands(), of); err != nil {
		fmt.Fprintln(os.Stderr, "sharefiles:", err)
		os.Exit(1)
	}
}

// writeAll writes every file into a directory, which it makes.
func writeAll(dir string, root *cobra.Command, of edition) error {
	if err := os.MkdirAll(filepath.Join(dir, "man1"), 0o755); err != nil {
		return err
	}
	root.InitDefaultCompletionCmd()
	for _, cmd := range documented(root) {
		file := filepath.Join(dir, "man1", pageName(cmd)+".1")
		if err := os.WriteFile(file, []byte(of.page(cmd)), 0o644); err != nil {
			return err
		}
	}
	for file, write := range map[string]func(*bytes.Buffer) error{
		"scalebench.bash": func(b *bytes.Buffer) error { return root.GenBashCompletionV2(b, true) },
		"_scalebench":     func(b *bytes.Buffer) error { return root.GenZshCompletion(b) },
		"scalebench.fish": func(b *bytes.Buffer) error { return root.GenFishCompletion(b, true) },
	} {
		var script bytes.Buffer
		if err := write(&script); err != nil {
			return fmt.Errorf("making %s: %w", file, err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), script.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// documented returns the command and those below it that have a page: all that
// a user sees, but not help, which every page is.
func documented(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			all = append(all, documented(c)...)
		}
	}
	return all
}

// pageName is that of git's pages: scalebench-lab-up.
func pageName(cmd *cobra.Command) string {
	return strings.ReplaceAll(cmd.CommandPath(), " ", "-")
}
