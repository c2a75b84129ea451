package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/design"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

func (c *common) validateCommand() *cobra.Command {
	var set []string
	cmd := newCommand("validate FILE", "check an experiment or job file",
		`Checks an experiment file (YAML) or a job file (JSON) and reports all
problems as file:line:col. The exit code is 2 if there are any.`,
		"  scalebench validate experiment.yaml",
		func(_ context.Context, args []string) error {
			text, name, err := c.readFile(args[0])
			if err != nil {
				return err
			}
			if strings.HasSuffix(name, ".json") {
				_, err = experiment.ParseJob(name, text)
			} else {
				err = c.validateExperiment(name, text, set)
			}
			if err != nil {
				return err
			}
			return c.out(name + ": valid")
		})
	cmd.Args = oneArg("the file")
	cmd.Flags().StringArrayVar(&set, "set", nil, "replace a value of the file: KEY.PATH=VALUE")
	return cmd
}

// validateExperiment checks an experiment file, and warns if it could not be
// run here.
func (c *common) validateExperiment(name string, text []byte, set []string) error {
	exp, err := experiment.Parse(name, text, c.env.kinds(), set)
	if err != nil {
		return err
	}
	// What `run --dry-run` refuses is not valid, also where the nodes are agents.
	p, err := design.Build(exp, newRunID(), planNodes(exp, func(string, ...any) {}))
	if err == nil {
		err = p.Repeat(exp, time.Now())
	}
	if err != nil {
		return err
	}
	c.sayLabProblem(exp)
	c.sayNotes(exp)
	for _, note := range p.Notes {
		c.say("warning: %s", note)
	}
	if p.Schedule != nil {
		c.say("schedule: %s", p.Schedule.Text)
	}
	c.sayOverrun(p)
	return nil
}

// sayNotes says what workloads do otherwise than the file says, and what studies will not
// be able to tell.
func (c *common) sayNotes(exp *experiment.Experiment) {
	for _, w := range exp.Workloads {
		if n, ok := w.Bench.(workload.Noter); ok {
			for _, note := range n.Notes() {
				c.say("warning: workload %s: %s", w.Name, note)
			}
		}
	}
	for _, d := range exp.Designers {
		kind, _ := Studies().Find(d.Kind)
		notes, _ := d.Check() // the file reader has reported what is wrong
		kind.Caveats.Fill(caveat.Subject{}, notes)
		for _, note := range notes {
			c.say("warning: study %s: %s", d.Kind, doc.Words(note.Text))
		}
	}
}

// checkNodes reports what the nodes of a local fleet or a lab do not suit, as
// far as that is known before there are any: of agents it is not.
func checkNodes(exp *experiment.Experiment) error {
	nodes := ownNodes(exp)
	if nodes == nil {
		return nil
	}
	_, err := design.Build(exp, newRunID(), nodes)
	return err
}

func (c *common) schemaCommand() *cobra.Command {
	job := false
	cmd := newCommand("schema", "print the JSON Schema of experiment files",
		`Prints the JSON Schema of experiment files. Editors use it to complete and check
them. With --job it prints the schema of the job files of "scalebench submit".`,
		"  scalebench schema > scalebench.schema.json",
		func(context.Context, []string) error {
			schema := func() ([]byte, error) { return experiment.Schema(Kinds()) }
			if job {
				schema = experiment.JobSchema
			}
			out, err := schema()
			if err != nil {
				return err
			}
			return c.out(strings.TrimRight(string(out), "\n"))
		})
	cmd.Flags().BoolVar(&job, "job", false, "print the schema of job files")
	return cmd
}

func (c *common) submitCommand() *cobra.Command {
	var opt runOptions
	var limits struct {
		Timeout       unit.Duration `flag:"timeout" jsonschema_description:"Time limit of each job (default 24h)."`
		ArtifactLimit unit.Size     `flag:"artifact-limit" jsonschema_description:"Limit up to which a job's stdout and stderr are kept in full, such as 100MiB (default 16MiB)."`
	}
	cmd := newCommand("submit JOB.json", "run a job file: commands on some or all nodes, in order",
		`Runs a job file of the form used by ScaleBench (jobName or testName, jobs with
node, path and command) on the agents of a running server. Jobs for "*" run on
every agent; on each node jobs run in the order of the file. The exit code is 1
if any job fails.`,
		`  scalebench submit examples/paper-fig2.json
  scalebench submit job.json --detach`,
		func(ctx context.Context, args []string) error {
			text, name, err := c.readFile(args[0])
			if err != nil {
				return err
			}
			_, err = experiment.ParseJob(name, text)
			if err != nil && !strings.HasSuffix(name, ".json") && !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
				return usageError("%s looks like an experiment file: use `scalebench run`", name)
			}
			if err != nil {
				return err
			}
			src := newSource(name, string(text), model.KindBatch)
			src.Timeout, src.ArtifactLimit = limits.Timeout.Std(), limits.ArtifactLimit.Bytes()
			opt.agents = true
			return c.executeSource(ctx, src, 0, opt)
		})
	cmd.Flags().BoolVar(&opt.detach, "detach", false, "return as soon as the batch is queued")
	addOptions(cmd.Flags(), &limits)
	c.addFormat(cmd)
	return cmd
}

func batchError(data model.RunData) error {
	failed := 0
	for _, r := range data.Accepted() {
		if r.Outcome != model.OutcomeOK {
			failed++
		}
	}
	if failed == 0 {
		return nil
	}
	return errors.New(num.Count(failed, "job") + " failed")
}
