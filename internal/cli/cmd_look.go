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

	"github.com/scalebench/scalebench/internal/analysis"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/record"
	"github.com/scalebench/scalebench/internal/report"
)

func (c *common) runsCommand() *cobra.Command {
	limit := 20
	cmd := &cobra.Command{
		Use: "runs", Short: "list runs, newest first",
		Example: "  scalebench runs --limit 0 --format csv",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return fmt.Errorf("%w: --limit %d: want a number of runs, or 0 for all", model.ErrUsage, limit)
			}
			return c.withService(cmd.Context(), toRead, func(ctx context.Context, s service) error {
				runs, err := s.Runs(ctx, limit)
				if err != nil {
					return err
				}
				return c.print(record.Runs(runs), nil)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", limit, "at most so many; 0 means all")
	c.addFormat(cmd)
	return cmd
}

// withRun calls f with everything that is stored of the run that a user names
// by id, by a unique beginning of it, or as "latest".
func (c *common) withRun(ctx context.Context, name string, f func(context.Context, service, model.RunData) error) error {
	return c.withService(ctx, toRead, func(ctx context.Context, s service) error {
		run, err := s.Run(ctx, name)
		if err != nil {
			return err
		}
		data, err := s.Data(ctx, run.ID)
		if err != nil {
			return err
		}
		return f(ctx, s, data)
	})
}

func (c *common) showCommand() *cobra.Command {
	var least floor
	cmd := &cobra.Command{
		Use: "show RUN", Short: "show a run: state, steps, failures, events",
		Long: `Shows one run. RUN is an id, a unique beginning of one, or "latest". Of a run
that searches for a capacity it also shows what was found, or is known so far,
and holds that to --fail-below as "scalebench capacity" does.`,
		Example: `  scalebench show latest
  scalebench show latest --fail-below 2000`,
		Args: oneArg("the run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := c.format()
			if err != nil {
				return err
			}
			return c.withRun(cmd.Context(), args[0], func(_ context.Context, _ service, d model.RunData) error {
				if err := least.onlySearches(d); err != nil {
					return err
				}
				if d.Has(model.Search) {
					return c.showSearches(d, format, least)
				}
				return report.Show(c.env.Stdout, d, format, c.printing())
			})
		},
	}
	least.addFlag(cmd)
	c.addFormat(cmd)
	return cmd
}

func (c *common) cdiCommand() *cobra.Command {
	csv, limit := "", threshold{}
	cmd := &cobra.Command{
		Use:   "cdi RUN | cdi --csv FILE",
		Short: "the Capacity Degradation Index, with interval and verdict",
		Long: `Computes the CDI of every metric of a run, or of somebody's own numbers.

A CSV file has the columns node,phase,value (phase: serial or parallel) and
optionally workload, metric, unit, trial, better; or one line per node with
node,serial,parallel; or published means with
workload,metric,unit,nodes,serial_mean,parallel_mean.

Verdicts: none (the interval contains 0), degraded (it lies above 0), gain (it
lies below 0), unknown (the measurement does not allow an answer).

With --fail-above the exit code is 3 if the CDI of any metric is above so many
percent, else 4 if any verdict is unknown: what was not measured is not vouched
for.`,
		Example: `  scalebench cdi latest
  scalebench cdi latest --format json
  scalebench cdi latest --fail-above 10
  scalebench cdi --csv numbers.csv`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (csv == "") == (len(args) == 0) {
				return fmt.Errorf("%w: scalebench cdi takes a run or --csv FILE, one of the two", model.ErrUsage)
			}
			if csv != "" {
				return c.cdiOfFile(csv, limit)
			}
			return c.withRun(cmd.Context(), args[0], func(_ context.Context, _ service, d model.RunData) error {
				findings, err := analysis.CDI(d, analysis.Options{Seed: uint64(d.Run.Seed)})
				return c.printFindings(findings, err, limit)
			})
		},
	}
	cmd.Flags().StringVar(&csv, "csv", "", "analyse this file instead of a run (\"-\": standard input)")
	limit.addFlag(cmd)
	c.addFormat(cmd)
	return cmd
}

func (c *common) cdiOfFile(file string, limit threshold) error {
	findings, err := c.findingsOfFile(file)
	return c.printFindings(findings, err, limit)
}

// findingsOfFile reads somebody's own numbers; "-" is standard input.
func (c *common) findingsOfFile(file string) ([]model.Finding, error) {
	if file == "-" {
		return analysis.CDIFromCSV(c.env.Stdin, "stdin", analysis.Options{})
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrUsage, err)
	}
	defer f.Close() //nolint:errcheck // read only
	return analysis.CDIFromCSV(f, filepath.Base(file), analysis.Options{})
}

// printFindings prints what an analysis found, and then holds it to the limit.
func (c *common) printFindings(findings []model.Finding, err error, limit threshold) error {
	if err != nil {
		return err
	}
	format, err := c.format()
	if err != nil {
		return err
	}
	if err := report.Findings(c.env.Stdout, findings, format, c.printing()); err != nil {
		return err
	}
	return limit.check(findings)
}

func (c *common) reportCommand() *cobra.Command {
	out := ""
	cmd := &cobra.Command{
		Use: "report RUN", Short: "write the HTML report of a run",
		Long:    "Writes one self-contained HTML file with figures and prints its path; with -o -\nwrites it to standard output.",
		Example: "  scalebench report latest -o result.html",
		Args:    oneArg("the run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withRun(cmd.Context(), args[0], func(_ context.Context, _ service, d model.RunData) error {
				s, err := analyse(d)
				if err != nil {
					return err
				}
				path, err := c.writeReport(s, out)
				if err != nil || out == "-" {
					return err
				}
				return write(c.env.Stdout, path+"\n")
			})
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "path of the file, or - (default: in the data directory)")
	return cmd
}

// checkReportPath says early what is wrong with the path of a report. An empty
// one means the default, with which nothing is.
func checkReportPath(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%w: -o %s is a directory; give the path of a file", model.ErrUsage, path)
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%w: -o %s: %w; create the directory first", model.ErrUsage, path, err)
	}
	return nil
}

func (c *common) deleteCommand() *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use: "delete RUN", Short: "delete a run and everything measured in it (asks first)",
		Example: "  scalebench delete 01JD2M --yes",
		Args:    oneArg("the run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withService(cmd.Context(), toRead, func(ctx context.Context, s service) error {
				run, err := s.Run(ctx, args[0])
				if err != nil {
					return err
				}
				if !yes && !c.confirm(fmt.Sprintf("delete run %s (%s, %s) with all its results?", run.ID, run.Name, run.State)) {
					return errors.New("not deleted; answer y, or give --yes")
				}
				if err := s.Delete(ctx, run.ID); err != nil {
					return err
				}
				if err := os.Remove(c.paths.report(string(run.ID))); err != nil && !errors.Is(err, os.ErrNotExist) {
					return fmt.Errorf("the run is deleted, its report is not: %w", err)
				}
				c.say("deleted %s", run.ID)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// confirm asks a question; anything but y or yes, and an end of input, is no.
func (c *common) confirm(question string) bool {
	_, _ = fmt.Fprintf(c.env.Stderr, "%s [y/N] ", question) // nobody to tell
	in := bufio.NewScanner(c.env.Stdin)
	if !in.Scan() {
		return false
	}
	a := strings.ToLower(strings.TrimSpace(in.Text()))
	return a == "y" || a == "yes"
}

func (c *common) cancelCommand() *cobra.Command {
	return &cobra.Command{
		Use: "cancel RUN", Short: "cancel a run; what was measured is kept",
		Example: "  scalebench cancel latest",
		Args:    oneArg("the run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withService(cmd.Context(), toRead, func(ctx context.Context, s service) error {
				run, err := s.Run(ctx, args[0])
				if err != nil {
					return err
				}
				if err := s.Cancel(ctx, run.ID); err != nil {
					return err
				}
				if run, err = s.Run(ctx, string(run.ID)); err != nil {
					return err
				}
				c.say("run %s is %s", run.ID, run.State) // it may have been done just then
				return nil
			})
		},
	}
}
