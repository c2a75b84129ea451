package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/environ"
	"github.com/scalebench/scalebench/internal/experiment"
	fleetlab "github.com/scalebench/scalebench/internal/fleet/lab"
	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/record"
)

func (c *common) labCommand() *cobra.Command {
	cmd := newCommand("lab", "make hosts with limits on this machine, and remove them",
		`Makes the hosts of an experiment's lab without running the experiment, so that
you can look around. A host is a network namespace with a link of a set rate, and
cgroups with a set share of processor, memory and disk. Labs need root.

"scalebench run" makes a lab of its own and removes it afterwards: it does not
use the labs of these commands, which have no agents.`,
		`  scalebench lab up examples/lab-network.yaml
  scalebench lab exec lab-core-1 -- iperf3 --server --daemon
  scalebench lab exec lab-rack-1 -- iperf3 --client 10.213.2.1 --time 2
  scalebench lab list
  scalebench lab down --all`,
		nil)
	cmd.AddCommand(c.labUpCommand(), c.labDownCommand(), c.labListCommand(), c.labExecCommand())
	return cmd
}

func (c *common) labUpCommand() *cobra.Command {
	var set []string
	keep := true
	cmd := newCommand("up FILE", "make the hosts, volumes and services of an experiment file",
		`Makes the hosts, volumes and services of an experiment file and leaves them until
"scalebench lab down" or the machine's next start. With --keep=false the command
stays, and Ctrl-C removes them. No agents are started: "scalebench run" makes a
lab of its own.`,
		`  scalebench lab up examples/lab-network.yaml
  scalebench lab up examples/lab-disk.yaml --keep=false`,
		func(ctx context.Context, args []string) error {
			return c.labUp(ctx, args[0], set, keep)
		})
	cmd.Flags().StringArrayVar(&set, "set", nil, "replace a value of the file: KEY.PATH=VALUE")
	cmd.Flags().BoolVar(&keep, "keep", true, "leave the lab when this command ends; false: remove it on Ctrl-C")
	c.addFormat(cmd)
	return cmd
}

func (c *common) labUp(ctx context.Context, file string, set []string, keep bool) error {
	exp, err := c.labFile(file, set)
	if err != nil {
		return err
	}
	if err := checkLab(exp); err != nil {
		return err
	}
	c.sweepLabs(ctx)
	gone := make(chan error, len(exp.HostServices()))
	built, err := lab.Up(ctx, lab.Config{
		ID: fleetlab.NewID(), Spec: exp.Fleet.Lab.At(time.Now()), Services: exp.HostServices(), Keep: keep, Environ: c.env.Environ, Log: c.log,
		Ended: func(err error) { gone <- err },
	})
	if err != nil {
		return err // it names the lab
	}
	up := labState(built.Manifest())
	if err := c.print(record.LabHosts(up), up.Masked()); err != nil {
		return errors.Join(err, labRemove(context.WithoutCancel(ctx), built.Down))
	}
	first := up.Hosts[0]
	c.say("lab %s is up; enter a host with `scalebench lab exec %s -- sh`, or `ip netns exec %s sh` without its limits", built.ID(), first.Name, first.Namespace.Name)
	if keep {
		c.say("`scalebench lab down %s` removes it", built.ID())
		return nil
	}
	c.say("Ctrl-C removes it")
	select {
	case <-ctx.Done():
	case err = <-gone: // a service has ended
	}
	return errors.Join(err, labRemove(context.WithoutCancel(ctx), built.Down))
}

// labRemove bounds the removal of one lab.
func labRemove(ctx context.Context, remove func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return remove(ctx)
}

// labFile reads an experiment file that must have a lab.
func (c *common) labFile(file string, set []string) (*experiment.Experiment, error) {
	text, name, err := c.readFile(file)
	if err != nil {
		return nil, err
	}
	exp, err := experiment.Parse(name, text, Kinds(), set)
	if err != nil {
		return nil, err
	}
	if exp.Fleet.Lab == nil {
		return nil, usageError("%s has no lab; use fleet: {lab: …}", name)
	}
	return exp, nil
}

func labState(m lab.Manifest) record.Lab {
	state := record.LabRunning
	switch {
	case m.LeftOver():
		state = record.LabLeftOver
	case m.Keep:
		state = record.LabKept
	}
	return record.Lab{Manifest: m, State: state}
}

// labs lists the labs of this machine. Manifests that cannot be read hide
// nothing: they are an error beside the others.
func labs() ([]record.Lab, error) {
	manifests, err := lab.List(lab.DefaultStateDir, lab.DefaultVolumeDir)
	var out []record.Lab
	for _, m := range manifests {
		out = append(out, labState(m))
	}
	return out, err
}

// readableLabs are those that can be read; it says what cannot be.
func (c *common) readableLabs() []record.Lab {
	all, err := labs()
	if err != nil {
		c.say("! %v", err)
	}
	return all
}

func (c *common) labListCommand() *cobra.Command {
	cmd := newCommand("list", "list the labs of this machine",
		`Lists all labs of this machine: those of runs that are running, those that "lab
up" made and keeps, and what is left over of processes that were killed and from
before the machine's last start, which the next command that starts a server or
makes a lab removes.`,
		`  scalebench lab list
  scalebench lab list --format json`,
		func(context.Context, []string) error {
			all, err := labs()
			return errors.Join(c.print(record.Labs(all), record.Masked(all)), err)
		})
	c.addList(cmd)
	return cmd
}

type labDownOptions struct {
	All   bool `flag:"all" jsonschema_description:"Remove all labs that are kept or left over."`
	Force bool `flag:"force" jsonschema_description:"Remove the lab even if a running process uses it."`
}

func (c *common) labDownCommand() *cobra.Command {
	var opt labDownOptions
	cmd := newCommand("down [ID]", "remove a lab",
		`Removes a lab: its processes, namespaces, volumes and cgroups. Without ID it is
the only one that is kept or left over. The lab of a run that is running is
refused: end the run, which removes it, or say --force.`,
		`  scalebench lab down k3jx2a
  scalebench lab down --all`,
		func(ctx context.Context, args []string) error {
			return c.labDown(ctx, strings.Join(args, ""), opt)
		})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 || opt.All && len(args) > 0 {
			return usageError("%s takes either the ID of one lab or --all", commandName(cmd))
		}
		if len(args) == 1 && args[0] == "" {
			return usageError("the ID of the lab is empty; `scalebench lab list` shows the labs")
		}
		return nil
	}
	addOptions(cmd.Flags(), &opt)
	return cmd
}

func (c *common) labDown(ctx context.Context, id string, opt labDownOptions) error {
	chosen, err := chooseLabs(c.readableLabs(), id, opt)
	if err != nil {
		return err
	}
	for _, l := range chosen {
		gone := labRemove(ctx, func(ctx context.Context) error { return lab.Remove(ctx, l.Manifest) })
		if err = errors.Join(err, gone); gone == nil {
			c.say("lab %s is removed", l.ID)
		}
	}
	if len(chosen) == 0 {
		c.say("no lab to remove")
	}
	return err
}

// chooseLabs returns the labs that a person means by an id, or by none.
func chooseLabs(all []record.Lab, id string, opt labDownOptions) ([]record.Lab, error) {
	idle := slices.DeleteFunc(slices.Clone(all),
		func(l record.Lab) bool { return l.State == record.LabRunning && !opt.Force })
	switch {
	case id == "" && (opt.All || len(idle) <= 1):
		return idle, nil
	case id == "":
		return nil, usageError("there are %d labs: %s; name one, or use --all", len(idle), labIDs(idle))
	}
	i := slices.IndexFunc(all, func(l record.Lab) bool { return l.ID == id })
	switch {
	case i < 0:
		return nil, fmt.Errorf("%w: unknown lab %q; `scalebench lab list` shows the labs of this machine", model.ErrNotFound, id)
	case all[i].State == record.LabRunning && !opt.Force:
		return nil, usageError("lab %s is in use by process %d; end the process, which removes the lab, or use --force", id,
			all[i].Owner.PID)
	}
	return all[i : i+1], nil
}

func labIDs(all []record.Lab) string {
	ids := make([]string, len(all))
	for i, l := range all {
		ids[i] = l.ID
	}
	return strings.Join(ids, ", ")
}

func (c *common) labExecCommand() *cobra.Command {
	id := ""
	cmd := newCommand("exec HOST -- COMMAND [ARG…]", "run a command on a host of a lab",
		`Runs a command on a host of a lab that is up: in its network namespace and under
its limits. The exit code is that of the command, 127 if the command is not
found, and 126 if it cannot be executed. Needs root.`,
		`  scalebench lab exec lab-rack-1 -- ip addr
  scalebench lab exec --lab k3jx2a lab-rack-2 -- sh`,
		func(ctx context.Context, args []string) error {
			argv := args[1:]
			if argv[0] == "--" {
				argv = argv[1:]
			}
			return c.labExec(ctx, id, model.NodeID(args[0]), argv)
		})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) < 2 || len(args) == 2 && args[1] == "--" {
			return usageError("a host and a command are required, as in `scalebench lab exec lab-rack-1 -- ip addr`")
		}
		return nil
	}
	cmd.Flags().StringVar(&id, "lab", "", "ID of the lab, if there are several")
	cmd.Flags().SetInterspersed(false) // what follows the host is the command's
	return cmd
}

// labExec runs a command on a host and passes on how it ended.
func (c *common) labExec(ctx context.Context, id string, host model.NodeID, argv []string) error {
	if errors.Is(lab.Check(), model.ErrDenied) {
		return fmt.Errorf("%w: `scalebench lab exec` needs root: use sudo", model.ErrDenied)
	}
	found, err := findHost(c.readableLabs(), id, host)
	if err != nil {
		return err
	}
	standing, err := lab.Open(lab.DefaultStateDir, found.ID)
	if err != nil {
		return err
	}
	// Ctrl-C reaches the command, which is in this process group, by itself.
	handle, err := standing.Start(context.WithoutCancel(ctx), host, lab.Process{
		Args: argv, Environ: environ.Without(c.env.Environ), Stdin: c.env.Stdin, Stdout: c.env.rawOut, Stderr: c.env.rawErr, Foreground: true,
	})
	if code, ok := notStarted(err); ok {
		c.say("%v", err)
		return code
	}
	if err != nil {
		return err // it names command and host
	}
	err = handle.Wait()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return commandEnded(ended.ExitCode())
	}
	return err
}

// notStarted is the exit code that shells have for a command that could not be
// started; false for errors that are not the command's.
func notStarted(err error) (commandEnded, bool) {
	var started *fs.PathError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return noCommand, true
	case !errors.As(err, &started) || started.Op != "fork/exec":
		return 0, false
	case errors.Is(err, fs.ErrNotExist):
		return noCommand, true
	}
	return notExecutable, true
}

// findHost returns the one lab that has a host of this name. It ignores labs
// that are left over: of some only files exist.
func findHost(all []record.Lab, id string, host model.NodeID) (record.Lab, error) {
	var found []record.Lab
	var names []string
	for _, l := range all {
		if id != "" && l.ID != id || l.State == record.LabLeftOver {
			continue
		}
		for _, h := range l.Hosts {
			names = append(names, string(h.Name))
			if h.Name == host {
				found = append(found, l)
			}
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return record.Lab{}, usageError("%d labs have a host %s: %s; name one with --lab", len(found), host, labIDs(found))
	case len(names) == 0:
		return record.Lab{}, fmt.Errorf("%w: this lab is not up; `scalebench lab list` shows the labs of this machine", model.ErrNotFound)
	}
	slices.Sort(names)
	return record.Lab{}, usageError("unknown host %q; the hosts are %s", host, strings.Join(slices.Compact(names), ", "))
}
