package disk

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

const howToInstall = "install it with `apt-get install fio` (Debian, Ubuntu) or `dnf install fio` (Fedora, RHEL)"

// findFio returns the path of a fio whose output this package can read.
func findFio(ctx context.Context, environ []string) (string, error) {
	path, err := workload.LookPath("fio", environ)
	if err != nil {
		return "", fmt.Errorf("fio is not installed on this node: %s: %w", howToInstall, err)
	}
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = environ
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", path, err)
	}
	version := strings.TrimSpace(string(out))
	if v, ok := majorVersion(version); !ok || v < 3 {
		return "", fmt.Errorf("%s is %q, and fio 3 or later is needed: %s", path, version, howToInstall)
	}
	return path, nil
}

var versionForm = regexp.MustCompile(`^fio-(\d{1,6})(\.|$)`)

// majorVersion reads "fio-3.33" or "fio-3.39-12-gabcdef".
func majorVersion(s string) (int, bool) {
	m := versionForm.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	v, err := strconv.Atoi(m[1])
	return v, err == nil
}

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
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = killAfter
	cmd.Stdout, cmd.Stderr = out, said
	err := cmd.Run()
	if m != nil && cmd.ProcessState != nil && cmd.ProcessState.Exited() {
		env.Report.ExitCode(cmd.ProcessState.ExitCode())
	}
	if ctx.Err() != nil {
		return last, ctx.Err()
	}
	return last, p.judge(err, last, said.String())
}

// judge turns the end of fio into an error: a job that met one may still let
// fio end well.
func (p *Params) judge(err error, last *document, words string) error {
	var exit *exec.ExitError
	code := 0
	if last != nil {
		code = last.job.Error
	}
	switch {
	case err == nil && code == 0:
		return nil
	case err != nil && !errors.As(err, &exit):
		return fmt.Errorf("running %s: %w", p.fio, err)
	}
	return explain(syscall.Errno(max(code, 0)), err, words, p.plan, p.target)
}

// statusInterval is how often fio prints its state: twice as often as the
// contract of a workload asks for, so that one may be late. (At 250 ms the
// intervals of 3.33 vary by a quarter.)
const statusInterval = 500 * time.Millisecond

// layoutBlock is the size of the writes that lay a file out.
const layoutBlock = int64(unit.MiB)

// common are the options of every run of fio. Threads, not processes: they end
// with fio, however it ends. Buffers are filled anew for each write, with
// numbers that no run before has used, so that nothing can be compressed or
// deduplicated on its way.
func common(path string) []string {
	return []string{
		"--name=scalebench", "--filename=" + escapeFilename(path),
		"--thread", "--eta=never", "--output-format=json+", "--group_reporting",
		"--fallocate=none", "--refill_buffers", "--randrepeat=0",
	}
}

// escapeFilename keeps fio from taking a colon as the separator of two names.
func escapeFilename(path string) string {
	return strings.NewReplacer(`\`, `\\`, `:`, `\:`).Replace(path)
}

// layoutArguments write the whole target once. (An fallocated or sparse file
// would cost a change of metadata with each first write.)
func layoutArguments(s settings, path string, direct bool) []string {
	block := layoutBlock
	if s.total()%block != 0 {
		block = s.block // or the end would not be written
	}
	return append(common(path),
		"--rw=write", "--ioengine=psync", "--end_fsync=1",
		"--bs="+strconv.FormatInt(block, 10), "--size="+strconv.FormatInt(s.total(), 10), "--direct="+flag(direct && block%sector == 0))
}

// runArguments do the work. Each job has its own part, so that together they
// use the whole size, and a fixed amount is done once.
func runArguments(s settings, path string) []string {
	args := append(common(path),
		"--rw="+s.rw(), "--bs="+strconv.FormatInt(s.block, 10),
		"--size="+strconv.FormatInt(s.part(), 10), "--numjobs="+strconv.Itoa(s.jobs),
		"--offset_increment="+strconv.FormatInt(s.part(), 10),
		"--ioengine="+s.engine, "--iodepth="+strconv.Itoa(s.depth), "--direct="+flag(s.direct),
		"--percentile_list=50:99:99.9",
		fmt.Sprintf("--status-interval=%dms", statusInterval.Milliseconds()))
	if s.operation == Mixed {
		args = append(args, "--rwmixread="+strconv.Itoa(s.readShare))
	}
	if s.fsync > 0 {
		args = append(args, "--fsync="+strconv.Itoa(s.fsync))
	}
	if s.endFsync() {
		args = append(args, "--end_fsync=1")
	}
	if s.duration > 0 {
		args = append(args, "--time_based", fmt.Sprintf("--runtime=%dms", s.duration.Milliseconds()),
			fmt.Sprintf("--ramp_time=%dms", s.ramp.Milliseconds()))
	}
	return args
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

// explain says what an error of fio means and what to do about it. code is
// that of the job, 0 if fio ended before it had one; end is how the process
// ended, nil if it ended well; words are its last ones.
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
		advice = fmt.Sprintf("%s is not there any more: look whether the volume is attached", t.path)
	case syscall.EAGAIN:
		advice = "the kernel has no room for more asynchronous operations: raise fs.aio-max-nr on the node, or give a smaller depth or fewer jobs"
	case syscall.ENOSYS:
		advice = fmt.Sprintf("this kernel does not allow the engine %s: give another engine", s.engine)
	case 0:
		return fmt.Errorf("fio failed without a reason in its report (%w): %s", end, lastLine(words)) // end is not nil
	default:
		advice = "see fio's words for what to do"
	}
	return fmt.Errorf("fio failed with %w: %s: %s", code, advice, lastLine(words))
}

// lastLine is the last line with anything in it.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return "it said nothing"
	}
	return s[strings.LastIndexByte(s, '\n')+1:]
}
