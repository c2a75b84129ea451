package disk

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// versionForm is "fio-3.33" or "fio-3.39-12-gabcdef", and all versions after it.
var versionForm = regexp.MustCompile(`^fio-([3-9]|[1-9]\d{1,5})(\.|$)`)

// killAfter is how long fio has to end by itself when the task is cut off. A
// thread in an fsync cannot.
const killAfter = 2 * time.Second

// keptWords is how much of fio's words an error may quote, in bytes.
const keptWords = 4096

// execute runs fio and returns the last document that it printed, nil if none.
// With a publisher the run is the measurement: each document goes to it. What fio
// says in words goes to the task's standard error.
func (p *Params) execute(ctx context.Context, env *workload.Env, args []string, m *publisher) (*document, error) {
	var last *document
	said := &words{out: env.Stderr, limit: keptWords}
	out := &splitter{other: said, take: func(text []byte) {
		d, err := parse(text)
		if err != nil { // something got in between: the next one is whole
			_, _ = fmt.Fprintf(said, "warning: a report of fio is left out: %v\n", err)
			return
		}
		last = d
		if m != nil {
			m.take(d, m.now())
		}
	}}
	cmd := exec.CommandContext(ctx, p.fio, args...)
	cmd.Env, cmd.Dir = env.Environ, env.Dir
	cmd.WaitDelay = killAfter
	cmd.Stdout, cmd.Stderr = out, said
	var report workload.Reporter // of the exit code: that of the measurement
	if m != nil {
		report = env.Report
	}
	end := workload.RunTool(ctx, cmd, report)
	if ctx.Err() != nil {
		return last, ctx.Err()
	}
	if _, exited := errors.AsType[*exec.ExitError](end); end != nil && !exited {
		return last, end
	}
	code := 0 // a job that met an error may still let fio end well
	if last != nil {
		code = last.job.Error
	}
	return last, explain(syscall.Errno(max(code, 0)), end, said.String(), p.plan, p.targets[0])
}

// statusInterval is how often fio prints its state: twice as often as the
// contract of a workload asks for, so that one may be late. (At 250 ms the
// intervals of 3.33 vary by a quarter.)
const statusInterval = 500 * time.Millisecond

// common are the options of every run of fio. Threads, not processes: they end
// with fio, however it ends. Buffers are filled anew for each write, with
// numbers that no run before has used, so that nothing can be compressed or
// deduplicated on its way.
func common(paths []string) []string {
	var names []string
	for _, path := range paths {
		names = append(names, strings.NewReplacer(`\`, `\\`, `:`, `\:`).Replace(path))
	}
	return []string{
		// A colon separates two names.
		"--name=scalebench", "--filename=" + strings.Join(names, ":"),
		"--thread", "--eta=never", "--output-format=json+", "--group_reporting",
		"--fallocate=none", "--refill_buffers", "--randrepeat=0",
	}
}

// layoutArguments write the whole target once. (An fallocated or sparse file
// would cost a change of metadata with each first write.)
func layoutArguments(s settings, paths []string, direct bool) []string {
	block := int64(unit.MiB)
	if s.share()%block != 0 {
		block = s.block // or the end would not be written
	}
	return append(common(paths), "--rw=write", "--ioengine=psync", "--end_fsync=1",
		fmt.Sprintf("--bs=%d", block), fmt.Sprintf("--size=%d", s.total()), directFlag(direct && block%sector == 0))
}

func directFlag(direct bool) string {
	if direct {
		return "--direct=1"
	}
	return "--direct=0"
}

// runArguments do the work. Each job has its own part of each file, so that together
// they use the whole size, and a fixed amount is done once.
func runArguments(s settings, paths []string) []string {
	args := append(common(paths), "--rw="+s.rw(), "--ioengine="+s.engine, directFlag(s.direct),
		"--percentile_list=50:99:99.9")
	add := func(format string, value any) { args = append(args, fmt.Sprintf(format, value)) }
	add("--bs=%d", s.block)
	add("--size=%d", s.part())
	add("--offset_increment=%d", s.part()/s.members())
	add("--numjobs=%d", s.jobs)
	add("--iodepth=%d", s.depth)
	add("--status-interval=%dms", statusInterval.Milliseconds())
	if s.operation == Mixed {
		add("--rwmixread=%d", s.readShare)
	}
	if s.fsync > 0 {
		add("--fsync=%d", s.fsync)
	}
	if s.endFsync() {
		args = append(args, "--end_fsync=1")
	}
	if s.files > 1 && s.writes() && !s.direct {
		// fio syncs one file after the other at the end. What the page cache held
		// back until then would be written by one volume at a time.
		add("--sync_file_range=write:%d", 4*s.files)
	}
	if s.duration > 0 {
		args = append(args, "--time_based")
		add("--runtime=%dms", s.duration.Milliseconds())
		add("--ramp_time=%dms", s.ramp.Milliseconds())
	}
	return args
}

// explain says what an error of fio means and what to do about it; nil if there
// was none. code is that of the job, 0 if fio ended before it had one; end is how
// the process ended, nil if it ended well; words are its last ones.
func explain(code syscall.Errno, end error, words string, s settings, t target) error {
	var advice string
	switch code {
	case syscall.ENOSPC, syscall.EDQUOT:
		advice = fmt.Sprintf("there is no room for %s at %s: give a smaller size, or free some space", human(s.total()), t.path)
	case syscall.EIO:
		advice = fmt.Sprintf("%s reported an input/output error: the volume may be failing or gone; `dmesg` on the node says more", t.path)
	case syscall.EACCES, syscall.EPERM:
		advice = fmt.Sprintf("fio may not use %s: run the agent as a user who may, or choose another volume or path; a device may be read-only", t.path)
	case syscall.EROFS:
		advice = fmt.Sprintf("%s is read-only: choose another volume or path", t.path)
	case syscall.EINVAL:
		advice = fmt.Sprintf("%s refuses blocks of %d bytes: direct I/O needs a multiple of the device's own block; give another block_size, or direct: false", t.path, s.block)
		if strings.Contains(words, "O_DIRECT") {
			advice = fmt.Sprintf("%s does not support direct I/O: set direct: false, or choose another volume", t.path)
		}
	case syscall.ENODEV, syscall.ENXIO, syscall.ENOENT:
		advice = fmt.Sprintf("%s has disappeared: check that the volume is attached", t.path)
	case syscall.EAGAIN:
		advice = "the kernel has no room for more asynchronous operations: raise fs.aio-max-nr on the node, or give a smaller depth or fewer jobs"
	case syscall.ENOSYS:
		advice = fmt.Sprintf("this kernel does not allow the engine %s: give another engine", s.engine)
	case 0:
		if end == nil {
			return nil
		}
		return fmt.Errorf("fio failed without a reason in its report (%w): %s", end, workload.LastLine(words))
	default:
		advice = "see fio's message"
	}
	return fmt.Errorf("fio failed with %w: %s: %s", code, advice, workload.LastLine(words))
}
