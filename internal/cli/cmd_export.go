package cli

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/frame/files"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/store"
)

func (c *common) exportCommand() *cobra.Command {
	format := "json"
	cmd := newCommand("export RUN", "export everything measured in a run",
		`Exports a run. JSON holds all that is stored: the run with its experiment file,
nodes with facts, steps, events, and the results of every attempt. A result has
samples, series, histograms and the monitor's host metrics. "jobs" is what became of
each item of a queue, and "doubts" what disturbed the nodes meanwhile. CSV holds one
line per sample, ready for a spreadsheet, the start-up of nodes first; its last column
names what disturbed the node during that task. Gobench is the format of Go benchmarks, for benchstat and its relatives:
what counts, without times.`,
		`  scalebench export latest > run.json
  scalebench export latest --format csv > samples.csv`,
		func(ctx context.Context, args []string) error {
			if err := oneOf("--format", format, exportFormats); err != nil {
				return err
			}
			return c.withRun(ctx, toRead, args[0], func(ctx context.Context, s service, run model.Run) error {
				d, err := s.Data(ctx, run.ID)
				switch {
				case err != nil:
					return err
				case format == "json":
					jobs, err := s.RunJobs(ctx, run.ID)
					if err != nil {
						return err
					}
					return render.JSON(c.env.Stdout, exported{d, jobs, observe.Of(d).Doubts()})
				case format == "gobench":
					return files.WriteBench(c.env.Stdout, observe.Of(d).Frames())
				}
				return exportCSV(c.env.Stdout, d)
			})
		})
	cmd.Flags().StringVar(&format, "format", format, "json, csv or gobench")
	return cmd
}

var exportFormats = []string{"json", "csv", "gobench"}

// exported is all that was measured, with what disturbed the nodes.
type exported struct {
	model.RunData
	Jobs   []store.Job   `json:"jobs,omitempty"`
	Doubts []model.Doubt `json:"doubts,omitempty"`
}

// exportCSV writes one line per sample. counted says whether the result is
// the one that analyses use; disturbed what was seen beyond its threshold while
// its task ran.
func exportCSV(w io.Writer, d model.RunData) error {
	out := doc.Table{Columns: doc.ForPrograms(strings.Fields(`run workload phase trial node task attempt outcome counted
		started ended metric labels unit better value resource info disturbed`)...)}
	steps := make(map[model.StepID]model.Step)
	for _, s := range d.Steps {
		steps[s.ID] = s
	}
	type attempt struct {
		task   model.TaskID
		number int
	}
	counted := make(map[attempt]bool)
	for _, r := range d.Accepted() {
		counted[attempt{r.Task, r.Attempt}] = true
	}
	disturbed := make(map[model.TaskID][]string)
	for _, x := range observe.Of(d).Disturbances() {
		for _, task := range x.Where {
			disturbed[task] = append(disturbed[task], x.Kind)
		}
	}
	for _, n := range d.Nodes {
		for i, s := range n.Startups {
			out.Add(doc.Values(d.Run.ID, observe.Startup, nil, i+1, n.ID, nil, nil, model.OutcomeOK, true,
				s.Requested, s.Requested.Add(s.Took), observe.Startup, "s", model.Lower, s.Took.Seconds(), nil, false, "")...)
		}
	}
	for _, r := range d.Results {
		s, counts := steps[r.Step], counted[attempt{r.Task, r.Attempt}]
		var meanwhile string
		if counts {
			meanwhile = strings.Join(disturbed[r.Task], " ")
		}
		for _, m := range r.Samples {
			labels := strings.Trim(strings.TrimPrefix(m.Key(), m.Metric), "{}")
			out.Add(doc.Values(r.Run, s.Workload, s.Phase, s.Trial, r.Node, r.Task, r.Attempt, r.Outcome, counts,
				r.Started, r.Ended, m.Metric, labels, m.Unit, m.Better, m.Value, m.Resource, m.Info, meanwhile)...)
		}
	}
	return render.CSV(w, &out)
}
