package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// withRun calls f with the run that a user names: see [store.Reader.Run].
func (c *common) withRun(ctx context.Context, need need, name string, f func(context.Context, service, model.Run) error) error {
	return c.withService(ctx, need, func(ctx context.Context, s service) error {
		run, err := s.Run(ctx, name)
		if err != nil {
			return err
		}
		return f(ctx, s, run)
	})
}

// aboutRun is what a command does about the run that its argument names.
func (c *common) aboutRun(f func(context.Context, service, model.Run) error) func(context.Context, []string) error {
	return func(ctx context.Context, args []string) error { return c.withRun(ctx, toRead, args[0], f) }
}

func (c *common) showCommand() *cobra.Command {
	var held gates
	cmd := newCommand("show RUN", "show a run: state, steps, failures, events",
		`Shows one run. RUN is an id, the unique beginning of an id, a name (the newest run
of that name), "latest" (the newest run that is over) or "running" (the newest that
is under way). All commands take runs so. For a run that searches for a capacity it
also shows the result, or what is known so far, and checks it against --fail-below as
"scalebench capacity" does. A threshold in the run's file is not checked here. Steps
are counted from 1; their "number" in JSON and CSV counts from 0.`,
		`  scalebench show latest
  scalebench show latest --fail-below 2000`,
		func(ctx context.Context, args []string) error {
			params, err := held.given()
			if err != nil {
				return err
			}
			return c.withService(ctx, toRead, func(ctx context.Context, s service) error {
				if args[0] == store.Latest {
					if run, err := s.Run(ctx, store.Running); err == nil {
						c.say("run %s (%s) is under way: `scalebench show %s` shows it", run.ID, run.Name, store.Running)
					}
				}
				return c.printAnswer("", func() (answer.Answer, error) { return s.Show(ctx, args[0], params) })
			})
		})
	held.add(cmd)
	c.addFormat(cmd)
	return cmd
}

func (c *common) reportCommand() *cobra.Command {
	out := ""
	cmd := newCommand("report RUN", "write the HTML report of a run",
		"Writes one self-contained HTML file with figures and prints its path; with -o -\nwrites it to standard output. "+
			"With -o FILE the ending of the name says the\nformat: .html, .md, .svg, .json, .csv or .txt.",
		"  scalebench report latest -o result.html",
		c.aboutRun(func(ctx context.Context, s service, run model.Run) error {
			path, err := c.writePage(ctx, s, run.ID, out)
			if err != nil || out == "-" {
				return err
			}
			return c.out(path)
		}))
	cmd.Flags().StringVarP(&out, "output", "o", "", "path of the file, or - for HTML on standard output (default: in the data directory)")
	return cmd
}

// checkReportPath says early what is wrong with the path of a report. An empty
// one means the default and "-" standard output, with which nothing is.
func checkReportPath(path string) error {
	if path == "" || path == "-" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usageError("-o %s is a directory; give the path of a file", path)
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return usageError("-o %s: %w; create the directory first", path, err)
	}
	_, err := render.FormatOfFile(path)
	return err
}

func (c *common) deleteCommand() *cobra.Command {
	yes := false
	cmd := newCommand("delete RUN", "delete a run and everything measured in it (asks first)",
		"",
		"  scalebench delete 01JD2M --yes",
		c.aboutRun(func(ctx context.Context, s service, run model.Run) error {
			if !yes && !c.confirm(fmt.Sprintf("delete run %s (%s, %s) with all its results?", run.ID, run.Name, run.State)) {
				return errors.New("not deleted; answer y, or give --yes")
			}
			if err := s.Delete(ctx, run.ID); err != nil {
				return err
			}
			if err := os.Remove(c.paths.report(string(run.ID))); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("the run is deleted, but its report is not: %w", err)
			}
			c.say("deleted %s", run.ID)
			return nil
		}))
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// confirm asks a question. Only y and yes confirm; end of input does not.
func (c *common) confirm(question string) bool {
	_, _ = fmt.Fprintf(c.env.Stderr, "%s [y/N] ", question) // no other place to report
	in := bufio.NewScanner(c.env.Stdin)
	if !in.Scan() {
		return false
	}
	a := strings.ToLower(strings.TrimSpace(in.Text()))
	return a == "y" || a == "yes"
}

func (c *common) cancelCommand() *cobra.Command {
	return newCommand("cancel RUN", "cancel a run; what was measured is kept",
		`Cancels a run; what was measured is kept. "latest" is here the newest run that is
under way, as "running" is everywhere.`,
		"  scalebench cancel running",
		func(ctx context.Context, args []string) error {
			name := args[0]
			if name == store.Latest { // of those that are over none can be meant
				name = store.Running
			}
			return c.withRun(ctx, toRead, name, func(ctx context.Context, s service, run model.Run) error {
				if err := s.Cancel(ctx, run.ID); err != nil {
					return err
				}
				run, err := s.Run(ctx, string(run.ID))
				if err != nil {
					return err
				}
				c.say("run %s is %s", run.ID, run.State) // it may have been done just then
				return nil
			})
		})
}
