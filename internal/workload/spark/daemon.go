package spark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/scalebench/scalebench/internal/workload"
)

// home is Spark on this node, set up for one task: everything that it writes is
// below the task's own directory, and goes with it.
type home struct {
	bin     string // the folder of its programs; empty: they are on the PATH
	dir     string // of the task
	environ []string
	stderr  io.Writer

	running sync.WaitGroup
}

// prepare writes the configuration. The secret is in a file that only this user
// reads: what stands in a command line everybody on the machine can read.
func (h *home) prepare(address, secret string) error {
	conf := filepath.Join(h.dir, "conf")
	for _, d := range []string{conf, filepath.Join(h.dir, "tmp")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return fmt.Errorf("setting Spark up: %w", err)
		}
	}
	var lines strings.Builder
	for _, kv := range [][2]string{
		{"spark.authenticate", "true"}, {"spark.authenticate.secret", secret},
		{"spark.master.rest.enabled", "false"}, {"spark.ui.enabled", "false"}, {"spark.ui.killEnabled", "false"}, {"spark.master.ui.decommission.allow.mode", "DENY"},
		{"spark.driver.host", address}, {"spark.driver.bindAddress", address},
	} {
		lines.WriteString(kv[0] + " " + kv[1] + "\n")
	}
	if err := os.WriteFile(filepath.Join(conf, "spark-defaults.conf"), []byte(lines.String()), 0o600); err != nil {
		return fmt.Errorf("setting Spark up: %w", err)
	}
	h.environ = append(h.environ,
		"SPARK_CONF_DIR="+conf, "SPARK_LOCAL_IP="+address, "SPARK_DAEMON_MEMORY="+daemonMemory, "SPARK_NO_DAEMONIZE=1",
		"SPARK_WORKER_DIR="+filepath.Join(h.dir, "work"), "SPARK_LOCAL_DIRS="+filepath.Join(h.dir, "tmp"),
		"JAVA_TOOL_OPTIONS=-XX:-UsePerfData -Djava.io.tmpdir="+filepath.Join(h.dir, "tmp"))
	return nil
}

// daemonMemory is the heap of a master or worker, which only keep the books.
const daemonMemory = "256m"

// leaveTime is how long a process may take to end when it is told to; then it is
// killed.
const leaveTime = 10 * time.Second

// process is a program of Spark that was started.
type process struct {
	ended chan struct{} // closed when it has ended, after how was set
	how   error         // nil: with status 0
	// why is the last error in its log, or else the last line of that.
	why   string
	error bool
}

// longest is how much of a line of a log is repeated in an error: Spark logs whole
// command lines.
const longest = 300

// note takes a line of the log.
func (p *process) note(line string) {
	line = strings.TrimSpace(line)
	is := strings.Contains(line, " ERROR ") || strings.Contains(line, "Exception") || strings.Contains(line, "Error: ")
	if line == "" || p.error && !is {
		return
	}
	if len(line) > longest {
		line = strings.ToValidUTF8(line[:longest], "") + "…"
	}
	p.why, p.error = line, is
}

// start starts a program, which is told to end when ctx is done. take gets each
// line of its standard error, and out its output.
func (h *home) start(ctx context.Context, name string, out io.Writer, take func(line string), args ...string) (*process, error) {
	path, err := h.find(args[0])
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout = h.environ, h.dir, out
	p := &process{ended: make(chan struct{}), why: "it printed nothing"}
	cmd.Stderr = &workload.Lines{Take: func(text []byte) {
		p.note(string(text))
		_, _ = fmt.Fprintf(h.stderr, "%s: %s\n", name, text) // it takes everything
		take(string(text))
	}}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = leaveTime
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the %s: %w", name, err)
	}
	h.running.Go(func() {
		p.how = cmd.Wait()
		close(p.ended)
	})
	return p, nil
}

// find is the path of a program of Spark.
func (h *home) find(name string) (string, error) {
	if h.bin != "" {
		return filepath.Join(h.bin, name), nil
	}
	return workload.LookPath(name, h.environ)
}

// Lines of the log that say that a daemon is ready.
var (
	masterReady = regexp.MustCompile(`I have been elected leader`)
	workerReady = regexp.MustCompile(`Successfully registered with master`)
)

// startDaemon starts a master or worker, and returns when it is ready. trouble is
// called if it ends later by itself.
func (h *home) startDaemon(ctx context.Context, name string, ready *regexp.Regexp, trouble func(error), args ...string) error {
	is, once := make(chan struct{}), sync.Once{}
	p, err := h.start(ctx, name, h.stderr, func(line string) {
		if ready.MatchString(line) {
			once.Do(func() { close(is) })
		}
	}, append([]string{"spark-class"}, args...)...)
	if err != nil {
		return err
	}
	end := func() error {
		if ctx.Err() != nil {
			return context.Cause(ctx) // it was told to end
		}
		return fmt.Errorf("the %s has ended by itself (%w): %s", name, cmp.Or(p.how, errors.New("exit status 0")), p.why)
	}
	select {
	case <-is:
	case <-p.ended:
		return end()
	}
	h.running.Go(func() {
		<-p.ended
		trouble(end())
	})
	return nil
}
