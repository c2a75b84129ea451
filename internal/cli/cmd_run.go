package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/control"
	"github.com/scalebench/scalebench/internal/design"
	"github.com/scalebench/scalebench/internal/experiment"
	fleetlab "github.com/scalebench/scalebench/internal/fleet/lab"
	"github.com/scalebench/scalebench/internal/fleet/local"
	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

type runOptions struct {
	set    []string
	dryRun bool
	detach bool
	// agents says that the nodes are agents, which can join only a server that
	// runs by itself.
	agents bool
	out    string // path of the report
	gates  gates
}

// reportUsage is the help of -o.
const reportUsage = "write the report to this file, in the format of its ending: .html, .md, .svg, .json, .csv or .txt (default: HTML in the data directory)"

func (c *common) runCommand() *cobra.Command {
	var opt runOptions
	cmd := newCommand("run FILE", "run an experiment file and print what it found",
		`Runs an experiment file (YAML; "-" reads standard input) and prints the results of
the file's study, or the CDI of every workload if the file names no study. Without
--server, and unless a server is running on the data directory, this process is
the server: then Ctrl-C ends the run cleanly, what was measured is kept, and
"scalebench resume" continues the run. A run on another server goes on after
Ctrl-C; "scalebench cancel" ends it.`,
		`  scalebench run examples/cpu-overcommit.yaml
  scalebench run examples/cpu-overcommit.yaml --set trials=3 --set fleet.local.nodes=2
  scalebench run experiment.yaml --dry-run
  scalebench run experiment.yaml --server nats://10.0.0.5:4222 --detach`,
		func(ctx context.Context, args []string) error {
			return c.runFile(ctx, args[0], opt)
		})
	f := cmd.Flags()
	f.StringArrayVar(&opt.set, "set", nil, "replace a value of the file: KEY.PATH=VALUE (may be repeated)")
	f.BoolVar(&opt.dryRun, "dry-run", false, "print the plan and do nothing")
	f.BoolVar(&opt.detach, "detach", false, "with a server: return as soon as the run is queued")
	f.StringVarP(&opt.out, "output", "o", "", reportUsage)
	opt.gates.add(cmd)
	c.addFormat(cmd)
	return cmd
}

// check refuses flags that would only fail after hours of measurement.
func (opt runOptions) check() error {
	if opt.out == "-" {
		return usageError("-o - is not possible, because standard output shows the table; give -o a path, or use " +
			"`scalebench report RUN -o -` afterwards")
	}
	if _, err := opt.gates.given(); err != nil {
		return err
	}
	if flag := opt.gates.flag(); opt.detach && flag != "" {
		return usageError("--detach does not wait for the result that %s checks; use `scalebench show RUN %s …` afterwards",
			flag, flag)
	}
	return checkReportPath(opt.out)
}

func (c *common) runFile(ctx context.Context, file string, opt runOptions) error {
	if err := opt.check(); err != nil {
		return err
	}
	if opt.dryRun && c.formatFlag == "csv" {
		return usageError("--dry-run cannot print csv; use --format text or json")
	}
	text, name, err := c.readFile(file)
	if err != nil {
		return err
	}
	exp, err := experiment.Parse(name, text, c.env.kinds(), opt.set)
	if err != nil && bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) && bytes.Contains(text, []byte(`"jobs"`)) {
		return usageError("%s looks like a job file: use `scalebench submit`", name)
	}
	if err == nil {
		err = opt.gates.fit(exp)
	}
	if err != nil {
		return err
	}
	if opt.dryRun {
		c.sayNotes(exp)
		return c.printPlan(exp)
	}
	if err := checkNodes(exp); err != nil {
		return err
	}
	if exp.Schedule != nil {
		return c.startCampaign(ctx, name, exp, opt)
	}
	return c.executeExperiment(ctx, name, exp, opt)
}

// readFile reads the file that an argument names ("-": standard input).
func (c *common) readFile(file string) (text []byte, name string, err error) {
	const most = 2 << 20 // more than any that is accepted
	if file == "-" {
		text, err = io.ReadAll(io.LimitReader(c.env.Stdin, most))
		return text, "stdin", err
	}
	f, err := os.Open(file)
	if err == nil {
		defer f.Close() //nolint:errcheck // read only
		text, err = io.ReadAll(io.LimitReader(f, most))
	}
	if err != nil {
		return nil, "", unreadable("FILE", file, err)
	}
	return text, filepath.Base(file), nil
}

// unreadable says which argument or flag names a file that cannot be read.
func unreadable(argument, file string, err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		err = e.Err // the path stands there already
	}
	return usageError("%s %q: %w; give the path of a file that you can read", argument, file, err)
}

// printPlan shows what a run would do. Agents that are not known yet are
// given names, for the order is what matters.
func (c *common) printPlan(exp *experiment.Experiment) error {
	if exp.Fleet.Lab != nil {
		c.sayLab(exp)
	}
	p, err := design.Build(exp, newRunID(), planNodes(exp, c.say))
	if err != nil {
		return err
	}
	if err := p.Repeat(exp, time.Now()); err != nil {
		return err
	}
	c.sayOverrun(p)
	if exp.Seed == nil && len(p.Steps) > 0 {
		c.say("the file sets no seed: this order is an example; the run draws its own order and records it")
	}
	return c.print(p.Document(), p)
}

// sayOverrun warns of a campaign that cannot keep its schedule.
func (c *common) sayOverrun(p design.Design) {
	if p.Schedule != nil && p.Schedule.Overrun != "" {
		c.say("! %s", p.Schedule.Overrun)
	}
}

// planNodes names the nodes of a plan: those of a fleet that the server brings
// up itself, or placeholders for agents; say hears what is assumed of these.
func planNodes(exp *experiment.Experiment, say func(format string, args ...any)) []model.Node {
	if nodes := ownNodes(exp); nodes != nil {
		return nodes
	}
	n := exp.Fleet.Size()
	if n == 0 {
		n = 2
		for _, s := range exp.Services {
			n += s.Instances()
		}
		n = max(n, 2*len(asked(exp)))
		for _, d := range exp.Designers {
			if kind, _ := Studies().Find(d.Kind); kind.Least != nil {
				n = max(n, kind.Least(d.Designer))
			}
		}
		say("the number of agents is unknown before the run; this plan assumes %d", n)
	}
	form := fmt.Sprintf("agent-%%0%dd", max(2, len(strconv.Itoa(n))))
	say("the names of the agents are placeholders; the run uses the nodes that have joined")
	nodes := make([]model.Node, n)
	for i := range nodes {
		nodes[i].ID = model.NodeID(fmt.Sprintf(form, i+1))
	}
	labelForServices(exp, nodes)
	if slices.ContainsFunc(exp.Workloads, byGroups) {
		say("so are their groups: half of them in each of two")
		for i := range nodes {
			nodes[i].Labels = map[string]string{model.LabelGroup: string(rune('a' + 2*i/n))}
		}
	}
	return nodes
}

// labelForServices gives nodes of a plan the labels that services and workloads ask
// for, in turns, as far as there are nodes.
func labelForServices(exp *experiment.Experiment, nodes []model.Node) {
	next := 0
	give := func(labels map[string]string, count int) {
		for ; count > 0 && next < len(nodes) && len(labels) > 0; count-- {
			nodes[next].Labels = labels
			next++
		}
	}
	for _, s := range exp.Services {
		if s.OnNodes() {
			give(s.On, s.Instances())
		}
	}
	if next > 0 {
		for _, w := range exp.Workloads {
			give(w.On, 1)
		}
		return
	}
	for _, labels := range asked(exp) {
		give(labels, max(1, len(nodes)/len(asked(exp))))
	}
}

// asked are the labels for which workloads ask, each set once.
func asked(exp *experiment.Experiment) (out []map[string]string) {
	for _, w := range exp.Workloads {
		if len(w.On) > 0 && !slices.ContainsFunc(out, func(on map[string]string) bool { return maps.Equal(on, w.On) }) {
			out = append(out, w.On)
		}
	}
	return out
}

// byGroups reports whether a workload connects nodes by their groups.
func byGroups(w experiment.Workload) bool {
	p, ok := w.Bench.(workload.Paired)
	return ok && (p.Pairing().Kind == workload.AcrossGroups || p.Pairing().Kind == workload.WithinGroups)
}

// ownNodes names the nodes of a fleet that the server brings up itself; nil for
// agents.
func ownNodes(exp *experiment.Experiment) []model.Node {
	switch f := exp.Fleet; {
	case f.Local != nil:
		return local.Nodes(f.Local.Nodes)
	case f.Lab != nil:
		return fleetlab.Nodes(*f.Lab)
	}
	return nil
}

func newRunID() model.RunID { return model.RunID(ulid.Make().String()) }

// sayLab says what hosts a run would make, and why it could not.
func (c *common) sayLab(exp *experiment.Experiment) {
	for _, h := range exp.Fleet.Lab.Hosts(exp.HostServices()) {
		kind := "node"
		if h.Service != nil {
			kind = "service"
		}
		c.say("lab: %s %s at %s", kind, h.Name, h.Address)
	}
	c.sayLabProblem(exp)
}

// sayLabProblem warns of a lab that this process could not make: the file may
// be meant for another machine, or for root.
func (c *common) sayLabProblem(exp *experiment.Experiment) {
	if exp.Fleet.Lab == nil {
		return
	}
	if err := checkLab(exp); err != nil {
		c.say("! this machine cannot run it: %v", err)
	}
}

// checkLab reports why this process cannot make the lab of an experiment.
func checkLab(exp *experiment.Experiment) error {
	return errors.Join(lab.Check(), lab.CheckDelay(*exp.Fleet.Lab, exp.HostServices()))
}

// newSource is a file to be submitted, as a run with a new id.
func newSource(name, text string, kind model.RunKind) control.Source {
	return control.Source{ID: newRunID(), Name: name, Text: text, Kind: kind}
}

// executeExperiment executes an experiment file that was read.
func (c *common) executeExperiment(ctx context.Context, name string, exp *experiment.Experiment, opt runOptions) error {
	opt.agents = exp.Fleet.Agents != nil
	return c.executeSource(ctx, newSource(name, exp.Source, model.KindExperiment), exp.Timeouts.Node.Std(), opt)
}

// executeSource submits a source, follows the run to its end, and prints what
// it found. While nodes are missing it tries again, up to wait.
func (c *common) executeSource(ctx context.Context, src control.Source, wait time.Duration, opt runOptions) error {
	src.Detached = opt.detach
	return c.withService(ctx, toExecute(opt.agents, opt.detach), func(ctx context.Context, s service) error {
		id, err := c.submitPatiently(ctx, s, src, wait)
		if err != nil {
			return err
		}
		err = c.finish(ctx, s, id, opt)
		if src.Kind == model.KindBatch && ctx.Err() == nil && !opt.detach {
			c.say("`scalebench logs %s` prints what the jobs printed", id)
		}
		return err
	})
}

// submitPatiently submits, waiting for agents that have not joined yet.
func (c *common) submitPatiently(ctx context.Context, s service, src control.Source, wait time.Duration) (model.RunID, error) {
	deadline := time.Now().Add(wait)
	said := ""
	for {
		id, err := s.Submit(ctx, src)
		if err == nil || !errors.Is(err, model.ErrUnavailable) || s.own || time.Now().After(deadline) {
			return id, err
		}
		if err.Error() != said {
			said = err.Error()
			c.say("waiting: %s (%s left)", model.Plain(err), unit.Duration(time.Until(deadline).Round(time.Second)))
		}
		if err := workload.Pause(ctx, time.Second); err != nil {
			return "", err
		}
	}
}

func (c *common) resumeCommand() *cobra.Command {
	var opt runOptions
	cmd := newCommand("resume RUN", "go on with a run that was cut short",
		`Goes on with a run that was interrupted or cancelled, or that ended incomplete:
complete steps are kept, the others are executed again. A threshold that was
given as a flag is not stored: give it again. One in the file holds.`,
		"  scalebench resume latest\n  scalebench resume latest --detach",
		func(ctx context.Context, args []string) error {
			if err := opt.check(); err != nil {
				return err
			}
			return c.withRun(ctx, toExecute(false, opt.detach), args[0],
				func(ctx context.Context, s service, run model.Run) error {
					// What this version cannot read, it has not written.
					if exp, err := experiment.Parse(run.SourceName, []byte(run.Source), c.env.kinds(), nil); err == nil &&
						run.Kind == model.KindExperiment {
						if err := opt.gates.fit(exp); err != nil {
							return err
						}
						opt.agents = exp.Fleet.Agents != nil
					}
					if s.own && (opt.agents || run.Kind == model.KindBatch) {
						return errNoServerToJoin
					}
					if err := s.Resume(ctx, run.ID); err != nil {
						return err
					}
					return c.finish(ctx, s, run.ID, opt)
				})
		})
	cmd.Flags().BoolVar(&opt.detach, "detach", false, "with a server: return as soon as the run is queued")
	cmd.Flags().StringVarP(&opt.out, "output", "o", "", reportUsage)
	opt.gates.add(cmd)
	c.addFormat(cmd)
	return cmd
}
