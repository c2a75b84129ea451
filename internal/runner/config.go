package runner

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// Place is where a task runs, as workload.Env has it.
type Place struct {
	Self    model.Host        `json:"self"`
	Peers   []model.Host      `json:"peers,omitempty"`
	Clients []model.Host      `json:"clients,omitempty"`
	Volumes map[string]string `json:"volumes,omitempty"`
}

// Config says what to run and where. All fields without "optional" are
// required.
type Config struct {
	// Command starts the child: the path of this binary and the hidden
	// command that calls Main.
	Command []string
	Task    model.TaskID
	Attempt int
	Node    model.NodeID
	Spec    model.Spec
	Place   Place
	// Dir is where scratch directories are made; the one of this attempt is
	// removed before Wait returns.
	Dir string
	// WorkDir is the working directory of the child and so of commands;
	// optional, Dir's scratch directory when empty.
	WorkDir string
	// Environ is the environment of the child and of what it starts. The
	// caller keeps secrets out of it. The child adds CookieName.
	Environ []string
	// ArtifactDir takes the files with the whole output, up to
	// Spec.ArtifactLimit bytes each; optional, none are kept when empty. The
	// caller removes them.
	ArtifactDir string
	// OnProgress is called for every progress point that is kept, from one
	// goroutine; it must not block for long. Optional.
	OnProgress func(model.Progress)
	// PrepareTimeout bounds the time from Start to ready; Spec.Timeout when
	// zero. CleanupTimeout bounds the time from the end of Run to the end of
	// the child; a minute when zero. KillGrace is the time between SIGTERM and
	// SIGKILL; three seconds when zero.
	PrepareTimeout time.Duration
	CleanupTimeout time.Duration
	KillGrace      time.Duration
}

// Outcome is how the attempt ended and everything that it left behind. Times
// are of the node's clock.
type Outcome struct {
	Outcome  model.Outcome
	Err      string // why, when Outcome is not ok
	ExitCode *int   // of the benchmark's process, when it had one that exited
	// Started is when Run was called, Ended when it returned or, if it did
	// not, when its process was gone. Both are zero if Run was never called.
	Started, Ended time.Time
	// CPU is the processor time that the attempt used from its first moment:
	// of its process and the descendants that were waited for.
	CPU            time.Duration
	Samples        []model.Sample
	Series         []model.Series
	Histograms     []model.Histogram
	Recordings     []model.HostSeries
	Stdout, Stderr model.Output // Output.Artifact is left empty
	// StdoutFile and StderrFile are the paths of files with the whole output;
	// empty when the text of Stdout or Stderr is the whole, or no ArtifactDir
	// was given.
	StdoutFile, StderrFile string
}

const (
	defaultCleanup   = time.Minute
	defaultKillGrace = 3 * time.Second
	// defaultOutput is kept of each stream if the spec names no limit.
	defaultOutput = 64 << 10
)

// withDefaults checks the configuration and fills in optional values.
func (c Config) withDefaults() (Config, error) {
	switch {
	case len(c.Command) == 0:
		return c, errors.New("runner: no command to start the child with")
	case c.Spec.Timeout <= 0:
		return c, fmt.Errorf("runner: task %s: timeout %v, want more than 0", c.Task, c.Spec.Timeout)
	case c.Dir == "":
		return c, errors.New("runner: no directory for scratch files")
	}
	if c.PrepareTimeout <= 0 {
		c.PrepareTimeout = c.Spec.Timeout
	}
	if c.CleanupTimeout <= 0 {
		c.CleanupTimeout = defaultCleanup
	}
	if c.KillGrace <= 0 {
		c.KillGrace = defaultKillGrace
	}
	if c.Spec.OutputLimit <= 0 {
		c.Spec.OutputLimit = defaultOutput
	}
	return c, os.MkdirAll(c.Dir, 0o700)
}
