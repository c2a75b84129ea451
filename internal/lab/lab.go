package lab

import (
	"cmp"
	"io"
	"log/slog"
	"os"
	"time"
)

// Where labs are kept unless a [Config] says otherwise.
const (
	// DefaultStateDir is where the manifests of this machine's labs are. All
	// commands must agree on it, or a sweep overlooks what is left over. It is
	// lost when the machine restarts, as processes, namespaces, cgroups,
	// mounts and loop devices are: whatever else a lab has is below
	// DefaultVolumeDir.
	DefaultStateDir = "/run/scalebench/labs"
	// DefaultVolumeDir holds a directory for each lab: the backing files of
	// its volumes, its folders and logs, and a copy of its manifest. They
	// outlive a restart of the machine, and by the copy List and Sweep find
	// them then. It is on a disk of this machine alone, and where only
	// root can prepare links for root to follow.
	DefaultVolumeDir = "/var/lib/scalebench/labs"
)

// Config is what [Up] needs to know.
type Config struct {
	// ID names the lab: 1 to 12 lower-case letters and digits. Two labs of one
	// machine need different ones.
	ID       string
	Spec     Spec
	Services []Service
	// Owner is the process that the lab is for: when it is dead, the lab is left
	// over. Zero: this process.
	Owner Owner
	// Keep: the lab stands until Remove, whatever becomes of its owner.
	Keep bool
	// StateDir and VolumeDir default to the constants of these names. Nothing
	// else may be kept in them.
	StateDir  string
	VolumeDir string
	// Environ is the environment of which services get what all programs may
	// see and what they name; theirs is added. Nil: that of this process.
	Environ []string
	// Ready bounds the time in which all services must accept connections.
	// Zero: one minute.
	Ready time.Duration
	// Ended is called, from a goroutine of its own, when a service that was
	// ready ends although the lab is up. The error has its name, its exit code and the
	// last lines of its log. Optional.
	Ended func(error)
	// Log records what is made and removed; may be nil.
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	c.StateDir = cmp.Or(c.StateDir, DefaultStateDir)
	c.VolumeDir = cmp.Or(c.VolumeDir, DefaultVolumeDir)
	c.Ready = cmp.Or(c.Ready, time.Minute)
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Owner identifies a process beyond the reuse of its id.
type Owner struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks after boot: field 22 of /proc/PID/stat
	Boot  string `json:"boot"`  // /proc/sys/kernel/random/boot_id
	// Space is the PID namespace in which PID counts.
	Space string `json:"space"`
}

// Process is a program to start on a host.
type Process struct {
	Args    []string // Args[0] is looked up in this process's PATH
	Environ []string // the whole environment; nil: that of this process
	Dir     string   // working directory; empty: that of this process
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	// Foreground keeps the program in the caller's process group, so that
	// it can read from the terminal. Otherwise it has a group of its own, and
	// Ctrl-C does not reach it.
	Foreground bool
}
