package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/environ"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// running is one instance while its task lasts.
type running struct {
	*Instance
	env   *workload.Env
	place *place
	dir   string
	group *group // without folders: its processes are in that of the node
	watch Watch  // nil: it is not watched

	log     lastLines
	cmd     *exec.Cmd
	printed chan struct{} // closed at the end of its output
	// dead is closed when its process has ended, after err was set.
	dead chan struct{}
	err  error
	// While reaping is held its process is not waited for; after that its id, which is
	// that of its process group, may be that of another.
	reaping sync.Mutex
	reaped  bool
}

// stage reports something that the service goes through; do returns what there
// is to say of it.
func (r *running) stage(name string, do func() (note string, err error)) error {
	r.env.Report.Stage(r.Name+":"+name, model.StageBegun, "")
	note, err := do()
	if err != nil {
		r.env.Report.Stage(r.Name+":"+name, model.StageFailed, err.Error())
		return err
	}
	r.env.Report.Stage(r.Name+":"+name, model.StageDone, note)
	return nil
}

// setUp makes folder and control group, and makes sure that the port is free.
func (r *running) setUp(context.Context) (err error) {
	if missing := environ.Missing(r.env.Environ, r.PassEnv); len(missing) > 0 {
		return fmt.Errorf("pass_env names %s, which the agent's environment lacks: set it where the agent starts", strings.Join(missing, ", "))
	}
	if err := portFree(r.env.Self.Address, r.Port); err != nil {
		return err
	}
	if r.dir, err = r.place.folder(r.Name, r.Volume); err != nil {
		return fmt.Errorf("making its folder: %w", err)
	}
	return r.limit()
}

// limit makes the control group with the limits of the start. Without limits, a
// node that lets this user make none does without.
func (r *running) limit() (err error) {
	r.group, err = r.place.group(r.Name)
	most, memory := r.MostCPU(), r.Memory()
	if err != nil {
		if most == 0 && memory == 0 {
			return nil
		}
		return fmt.Errorf("its limits need a control group of its own: %w; the agent must run as root, or its unit must have Delegate=yes", err)
	}
	if err := r.group.allows(most, memory.Bytes()); err != nil {
		return err
	}
	if most > 0 || memory > 0 {
		if err := r.group.control(memory > 0); err != nil {
			return fmt.Errorf("its limits need a control group of its own: %w", err)
		}
	}
	if memory > 0 {
		err = r.group.LimitMemory(memory.Bytes())
	}
	if cpu := r.bounds().CPU; cpu > 0 && err == nil {
		err = r.group.LimitCPU(cpu)
	}
	return err
}

// portFree fails if something listens where the service is to listen: what
// answers there would pass for it.
func portFree(address string, port int) error {
	if port == 0 {
		return nil
	}
	at := net.JoinHostPort(address, strconv.Itoa(port))
	taken := func() error {
		return fmt.Errorf("port %d is in use on this node: something that listens on %s was left over, or is none of this run; end it, or use another port", port, at)
	}
	l, err := net.Listen("tcp", at) //nolint:noctx // it does not block
	switch {
	case err == nil:
		return l.Close()
	case errors.Is(err, syscall.EADDRINUSE):
		return taken()
	}
	// The address may be that of a gateway, or the port for root only.
	conn, err := net.DialTimeout("tcp", at, time.Second) //nolint:noctx // it is bounded
	if err != nil {
		return nil //nolint:nilerr // nothing answers: it is free
	}
	_ = conn.Close() // nothing was written
	return taken()
}

// environ is what the service, and what is started for it, gets.
func (r *running) environ() []string {
	env := environ.Pick(r.env.Environ, r.PassEnv, nil)
	for _, kv := range r.env.Environ { // by the cookie its processes are found
		if strings.HasPrefix(kv, "SCALEBENCH_") {
			env = append(env, kv)
		}
	}
	env = append(env, "SCALEBENCH_ADDRESS="+r.env.Self.Address, "SCALEBENCH_DIR="+r.dir, "SCALEBENCH_INDEX="+strconv.Itoa(r.Index))
	for _, name := range slices.Sorted(maps.Keys(r.env.Volumes)) {
		env = append(env, "SCALEBENCH_VOLUME_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"="+r.env.Volumes[name])
	}
	for _, k := range slices.Sorted(maps.Keys(r.Environ)) {
		env = append(env, k+"="+r.fill(r.Environ[k]))
	}
	return env
}

// start writes the files and starts the process, in its control group from the
// first instruction on.
func (r *running) start(files map[string][]byte) error {
	if err := writeFiles(r.dir, files); err != nil {
		return err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()                                        //nolint:errcheck // the service has its own
	cmd := exec.Command("/bin/sh", "-c", r.fill(r.Command)) //nolint:noctx // stop ends it, group and all
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.dir, r.environ(), in, in
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.group.start(cmd); err != nil {
		return errors.Join(err, out.Close())
	}
	r.cmd = cmd
	r.log.to, r.log.name = r.env.Stdout, workload.Instance(r.Own)
	r.printed = make(chan struct{})
	go func() {
		defer close(r.printed)
		r.log.read(out)
		_ = out.Close() // only read
	}()
	go r.reap()
	return nil
}

// reap waits for the end of the process, and ends what it leaves in its group.
func (r *running) reap() {
	defer close(r.dead)
	err := awaitExit(r.cmd.Process.Pid)
	r.reaping.Lock()
	defer r.reaping.Unlock()
	if err == nil {
		_ = unix.Kill(-r.cmd.Process.Pid, unix.SIGKILL) // it may be alone
	}
	r.err, r.reaped = r.cmd.Wait(), true
}

// signal sends a signal to the process and its group, while there are any.
func (r *running) signal(s unix.Signal) {
	r.reaping.Lock()
	defer r.reaping.Unlock()
	if !r.reaped {
		_ = unix.Kill(-r.cmd.Process.Pid, s) // it may have ended
	}
}

// awaitHealthy waits for the service, or for its death, until a time at most.
func (r *running) awaitHealthy(ctx context.Context, end time.Time) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-r.dead:
			cancel()
		case <-ctx.Done():
		}
	}()
	check, left := r.Own, time.Until(end)
	if h := r.Healthy; h != nil && h.Within > 0 {
		left = min(left, h.Within.Std())
	}
	check.Within = max(left, time.Millisecond)
	err := workload.Healthy(ctx, check, time.Now(), r.environ())
	select {
	case <-r.dead: // even if something answers in its place
		return fmt.Errorf("it ended before it was healthy: %w", r.death())
	default:
	}
	if err != nil {
		return fmt.Errorf("%w%s", err, r.log.text())
	}
	return nil
}

// warm executes the command that warms the service.
func (r *running) warm(ctx context.Context) error {
	limit := cmp.Or(r.Warm.Timeout.Std(), defaultWarm)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := workload.Shell(ctx, r.fill(r.Warm.Command))
	cmd.Dir, cmd.Env, cmd.WaitDelay = r.dir, r.environ(), time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(context.Cause(ctx), errNoTime):
		return errNoTime
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("warming it took longer than %v: give warm.timeout more, or let it do less", limit)
	case err != nil:
		return fmt.Errorf("warming it ended with %w: %s", err, workload.LastLine(string(out)))
	}
	return nil
}

// change sets the limits that change in mid-run when it is their time.
func (r *running) change(ctx context.Context, began time.Time) error {
	for _, step := range r.Steps {
		if workload.Pause(ctx, time.Until(began.Add(step.At.Std()))) != nil {
			return nil //nolint:nilerr // the end of the measurement comes before that of the steps
		}
		if err := r.group.LimitCPU(step.CPU); err != nil {
			return err
		}
		if step.At == 0 { // that of the file is no event
			r.env.Report.Stage(r.Name+":limit", model.StageBegun, "")
		}
		r.env.Report.Stage(r.Name+":limit", model.StageDone, fmt.Sprintf("cpu %v cores", step.CPU))
	}
	return nil
}

// death says how a service ended that has ended, and what it printed last.
func (r *running) death() error {
	how := "exit status 0"
	if r.err != nil {
		how = r.err.Error()
	}
	switch n := r.group.OOMKills(); {
	case n > 0 && r.Memory() > 0:
		how += fmt.Sprintf("; the kernel has killed %d of its processes, because its memory is limited to %s", n, r.Memory())
	case n > 0:
		how += fmt.Sprintf("; the kernel has killed %d of its processes, because its node has no memory left: give the node more, or the service less to do", n)
	}
	r.awaitOutput(time.Second)
	return fmt.Errorf("%s%s", how, r.log.text())
}

// awaitOutput waits for the end of what it prints, for so long at most: what it
// has left in the background may hold it open.
func (r *running) awaitOutput(d time.Duration) {
	select {
	case <-r.printed:
	case <-time.After(d):
	}
}

// stop tells the service to end, and kills it when it has not after a time. It
// says how it ended. Where that is more than killing takes, it gives up.
func (r *running) stop(patience, killing time.Duration) (how string) {
	r.signal(unix.SIGTERM)
	select {
	case <-r.dead:
	case <-time.After(patience):
		how = fmt.Sprintf("killed: it had not ended after %v", patience)
	}
	deadline := time.Now().Add(killing)
	r.signal(unix.SIGKILL)
	r.group.kill(deadline)
	select {
	case <-r.dead:
	case <-time.After(time.Until(deadline)): // it hangs in the kernel
		return "it cannot be killed"
	}
	r.awaitOutput(min(time.Second, killing))
	if exit, ok := errors.AsType[*exec.ExitError](r.err); ok && how == "" && exit.Exited() { // SIGTERM is what was asked for
		how = exit.Error()
	}
	return how
}

// killTime is how long killing may take.
const killTime = 5 * time.Second

// reap waits for orphans of the services, which are this process's children now:
// or the processor time that they used would count as that of strangers. Nothing
// else of this process has children when it is called.
func reap() {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if err != nil || pid <= 0 {
			return
		}
	}
}
