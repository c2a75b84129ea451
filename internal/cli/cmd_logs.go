package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/doc/term"
	"github.com/scalebench/scalebench/internal/model"
)

// logOptions are the flags of "logs".
type logOptions struct {
	Node   model.NodeID `flag:"node" jsonschema_description:"Only tasks of this node."`
	Files  string       `flag:"files" jsonschema_description:"Write the files that services kept (keep) below this folder, and print no output."`
	Stderr bool         `flag:"stderr" jsonschema_description:"Standard error instead of standard output."`
	Raw    bool         `flag:"raw" jsonschema_description:"Print to a terminal what the tasks printed, with all that steers it."`
}

func (c *common) logsCommand() *cobra.Command {
	var opt logOptions
	cmd := newCommand("logs RUN", "print what the tasks of a run printed",
		`Prints the standard output of every task of a run that printed something, or of
every task of one node, in full if it was kept in full. A terminal gets what would
steer it written out (\x1b); a pipe or a file gets what the tasks printed, byte by
byte, and so does a terminal with --raw.`,
		"  scalebench logs latest --node local-1 --stderr\n  scalebench logs latest | less",
		c.aboutRun(func(ctx context.Context, s service, run model.Run) error {
			d, err := s.Printed(ctx, run.ID)
			if err != nil {
				return err
			}
			if err := checkLogNode(d, opt.Node); err != nil {
				return err
			}
			if opt.Files != "" {
				return c.saveKept(ctx, s, d, opt)
			}
			return c.printLogs(ctx, s, d, opt)
		}))
	addOptions(cmd.Flags(), &opt)
	return cmd
}

// printLogs prints what the attempts of a run printed. It leaves out tasks
// that printed nothing, unless the user asks for their node.
func (c *common) printLogs(ctx context.Context, s service, d model.RunData, opt logOptions) error {
	heads, printed := taskHeads(d), false
	for _, r := range d.Results {
		o := r.Stdout
		if opt.Stderr {
			o = r.Stderr
		}
		if opt.Node != "" && r.Node != opt.Node || opt.Node == "" && o.Total == 0 {
			continue
		}
		text, err := wholeOutput(ctx, s, r, o)
		if err != nil {
			return err
		}
		head := fmt.Sprintf("==> %s on %s, attempt %d: %s, %d bytes <==\n", heads[r.Task], r.Node, r.Attempt, r.Outcome, o.Total)
		if err := write(c.env.Stdout, head); err != nil {
			return err
		}
		to := c.env.rawOut
		if !opt.Raw && c.env.Terminal {
			to, text = c.env.Stdout, strings.ReplaceAll(text, "\r\n", "\n")
		}
		if err := write(to, text); err != nil {
			return err
		}
		printed = true
	}
	if !printed {
		hint := ""
		if slices.ContainsFunc(d.Steps, func(s model.Step) bool {
			return slices.ContainsFunc(s.Tasks, func(t model.Task) bool { return t.Spec.Kind == "jobs" })
		}) {
			hint = "; of what the program of jobs prints, only errors are kept"
		}
		c.say("nothing was printed; standard output and standard error (--stderr) are kept separately%s", hint)
	}
	return nil
}

// saveKept writes the files that tasks have left below a folder, each task's in one
// of its own, and names them.
func (c *common) saveKept(ctx context.Context, s service, d model.RunData, opt logOptions) error {
	saved := false
	for _, r := range d.Results {
		for _, k := range r.Kept {
			if opt.Node != "" && r.Node != opt.Node {
				continue
			}
			var content []byte
			if k.Size > 0 { // of an empty one there are no parts
				var err error
				if content, err = s.Artifact(ctx, r.Task, r.Attempt, k.Name); err != nil {
					return err
				}
			}
			task := strings.ReplaceAll(strings.TrimPrefix(string(r.Task), string(d.Run.ID)+"/"), "/", "-")
			path := filepath.Join(opt.Files, fmt.Sprintf("%s-%s-attempt%d", task, r.Node, r.Attempt), k.Name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, content, 0o644); err != nil {
				return err
			}
			saved = true
			cut := ""
			if k.Cut {
				cut = fmt.Sprintf("  (only the first %d bytes were kept: output.artifact)", k.Size)
			}
			if err := c.out(path + cut); err != nil {
				return err
			}
		}
	}
	if !saved {
		c.say("no files were kept; services keep those that `keep` names")
	}
	return nil
}

// wholeOutput is what a task printed, from the artifact where one was kept,
// with a line end.
func wholeOutput(ctx context.Context, s service, r model.Result, o model.Output) (string, error) {
	text := o.Text
	if o.Artifact != "" {
		whole, err := s.Artifact(ctx, r.Task, r.Attempt, o.Artifact)
		if err != nil {
			return "", err
		}
		text = string(whole)
		if o.ArtifactCut {
			text += fmt.Sprintf("\n[… the other %d bytes were not kept …]", o.Total-int64(len(whole)))
		}
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text, nil
}

// checkLogNode fails for a node that is not in the run, and lists those that are.
func checkLogNode(d model.RunData, node model.NodeID) error {
	var nodes []string
	for _, s := range d.Steps {
		for _, t := range s.Tasks {
			nodes = append(nodes, string(t.Node))
		}
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	if node == "" || slices.Contains(nodes, string(node)) {
		return nil
	}
	return usageError("--node %s: run %s has no such node; its nodes are %s", node, d.Run.ID, strings.Join(nodes, ", "))
}

// taskHeads names the tasks of a run for people: by step, workload, trial and what is
// special about it, or by the number of the job, from 1, and its command.
func taskHeads(d model.RunData) map[model.TaskID]string {
	heads := make(map[model.TaskID]string)
	for _, s := range d.Steps {
		for _, t := range s.Tasks {
			heads[t.ID] = fmt.Sprintf("step %d, %s, trial %d, %s", s.Number+1, s.Workload, s.Trial, cmp.Or(s.Label, string(s.Phase)))
			if s.Phase == model.Batch {
				command := term.Cut(printable(fmt.Sprint(t.Spec.Params["command"])), 61)
				heads[t.ID] = fmt.Sprintf("%s, job %d (%s)", s.Workload, t.Position+1, command)
			}
		}
	}
	return heads
}
