package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report"
)

func (c *common) resourcesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "resources RUN", Short: "which resource is lost first, and what limits it",
		Long: `Ranks the resources of a run by how much of them a node loses when all nodes
work, names the limits that nodes share where the totals show one, and says what
the run cannot tell. A run over several fleet sizes (sizes: [1, 2, 4] in the
experiment file) shows the totals against the size as well.

The JSON has the ranking and the scalings; the CSV one line a size.`,
		Example: `  scalebench resources latest
  scalebench resources latest --format json`,
		Args: oneArg("the run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := c.format()
			if err != nil {
				return err
			}
			return c.withRun(cmd.Context(), args[0], func(_ context.Context, _ service, d model.RunData) error {
				s, err := analyse(d)
				if err != nil {
					return err
				}
				return c.printResources(s, format)
			})
		},
	}
	c.addFormat(cmd)
	return cmd
}

// printResources prints the ranking, and the scalings where there are any.
func (c *common) printResources(s analysed, format report.Format) error {
	switch format {
	case report.JSON:
		return printJSON(c.env.Stdout, struct {
			Ranking  model.Ranking   `json:"ranking"`
			Scalings []model.Scaling `json:"scalings"`
		}{s.ranking, s.scalings})
	case report.CSV:
		return report.Scalings(c.env.Stdout, s.scalings, format, c.printing())
	}
	if err := report.Ranking(c.env.Stdout, &s.ranking, format, c.printing()); err != nil {
		return err
	}
	if !sweeps(s.scalings) {
		return nil
	}
	if err := write(c.env.Stdout, "\n"); err != nil {
		return fmt.Errorf("printing the resources: %w", err)
	}
	return report.Scalings(c.env.Stdout, s.scalings, format, c.printing())
}

// sweeps reports whether sizes between one and all were measured: otherwise
// the scalings say no more than the findings.
func sweeps(scalings []model.Scaling) bool {
	for _, s := range scalings {
		if len(s.Points) > 2 {
			return true
		}
	}
	return false
}
