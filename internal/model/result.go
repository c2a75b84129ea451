package model

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// Outcome is how one attempt at a task ended.
type Outcome string

// A task that failed tells something about the workload; a task that was lost
// tells something about the node or its agent. The retry policy keeps them
// apart.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeFailed    Outcome = "failed"    // the workload ended with an error
	OutcomeTimeout   Outcome = "timeout"   // its time was over and it was killed
	OutcomeLost      Outcome = "lost"      // the node or its agent ended in mid-task
	OutcomeCancelled Outcome = "cancelled" // the master called it off
	OutcomeRefused   Outcome = "refused"   // the agent would not run it (signature, unknown kind)
)

// Valid reports whether the outcome is one of the above.
func (o Outcome) Valid() bool {
	switch o {
	case OutcomeOK, OutcomeFailed, OutcomeTimeout, OutcomeLost, OutcomeCancelled, OutcomeRefused:
		return true
	}
	return false
}

// Definitive reports whether the workload itself came to an end, good or bad;
// otherwise the attempt says nothing about it.
func (o Outcome) Definitive() bool {
	return o == OutcomeOK || o == OutcomeFailed || o == OutcomeTimeout || o == OutcomeRefused
}

// Result is what one attempt at a task left behind. All times are server
// time: the node's clock plus the offset measured before the start.
type Result struct {
	Run     RunID   `json:"run"`
	Step    StepID  `json:"step"`
	Task    TaskID  `json:"task"`
	Attempt int     `json:"attempt"`
	Node    NodeID  `json:"node"`
	Outcome Outcome `json:"outcome"`
	Error   string  `json:"error,omitempty"` // why, when the outcome is not ok

	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// ClockOffset is server time minus node time as applied to this result;
	// ClockError bounds how wrong it can be (half the shortest round trip).
	ClockOffset time.Duration `json:"clock_offset"`
	ClockError  time.Duration `json:"clock_error"`

	ExitCode *int     `json:"exit_code,omitempty"` // nil when nothing exited
	Stdout   Output   `json:"stdout"`
	Stderr   Output   `json:"stderr"`
	Samples  []Sample `json:"samples,omitempty"`
	Series   []Series `json:"series,omitempty"`
	// Host is what the monitor saw of the node while the task ran, and what
	// the workload itself recorded.
	Host       []HostSeries `json:"host,omitempty"`
	Histograms []Histogram  `json:"histograms,omitempty"`
	// Stages are what the task went through, in the order in which they began;
	// Kept the files that it left beside what it printed.
	Stages []Stage    `json:"stages,omitempty"`
	Kept   []KeptFile `json:"kept,omitempty"`
}

// Stage is a part of a task with a time of its own: a service was reset, users
// came in, the load was ramped down.
type Stage struct {
	Name string `json:"name"`
	// Service is the one that it is a stage of; empty: of the task itself.
	Service string `json:"service,omitempty"`
	// Started and Ended are nanoseconds since the Result's Started, or since the
	// first stage began where the task never started; negative: before.
	Started int64 `json:"started"`
	Ended   int64 `json:"ended"`
	// Note says more about it, Error why it failed; both may be empty.
	Note  string `json:"note,omitempty"`
	Error string `json:"error,omitempty"`
}

// The states that a stage reports: it has begun, has ended, has failed. One
// that is done without having begun is a moment.
const (
	StageBegun  = "begun"
	StageDone   = "done"
	StageFailed = "failed"
)

// StageTables is the name of moments that say what users do otherwise than their
// tables say.
const StageTables = "tables"

// StageChange is a stage that began or ended, as it happens.
type StageChange struct {
	Name    string `json:"name"`
	Service string `json:"service,omitempty"`
	State   string `json:"state"`
	Reason  string `json:"reason,omitempty"`
}

// Text says it for people: "db: reset done".
func (s StageChange) Text() string {
	text := strings.ReplaceAll(s.Name, "_", " ") + " " + s.State
	if s.Service != "" {
		text = s.Service + ": " + text
	}
	if s.Reason != "" {
		text += ": " + s.Reason
	}
	return text
}

// Output is what a process printed, bounded.
type Output struct {
	Text string `json:"text,omitempty"` // the whole, or head and tail
	// Total is how many bytes were printed; Truncated says that Text is not
	// all of them. Artifact names the stored file with the whole text, empty
	// when Text is the whole or nothing was kept.
	Total     int64  `json:"total"`
	Truncated bool   `json:"truncated,omitempty"`
	Artifact  string `json:"artifact,omitempty"`
	// ArtifactCut says that the artifact reached its limit, too.
	ArtifactCut bool `json:"artifact_cut,omitempty"`
}

// Better says which direction of a metric is good.
type Better string

// Higher: throughputs and scores. Lower: durations and latencies.
const (
	Higher Better = "higher"
	Lower  Better = "lower"
)

// Sample is one measured value of a whole task.
type Sample struct {
	Metric string            `json:"metric"`
	Unit   string            `json:"unit"`
	Value  float64           `json:"value"`
	Better Better            `json:"better"`
	Labels map[string]string `json:"labels,omitempty"`
	// Resource is what the metric is a capacity of, "network.receive": see
	// the Resource constants. Empty: of nothing in particular.
	Resource string `json:"resource,omitempty"`
	// Info marks a value that describes the trial and is not a capacity: a
	// latency, a count of errors. It gets no CDI, may be zero, and is shown
	// beside the result.
	Info bool `json:"info,omitempty"`
}

// Key names the metric with its labels: "score" or "score{test=pipe}".
func (s Sample) Key() string {
	if len(s.Labels) == 0 {
		return s.Metric
	}
	pairs := make([]string, 0, len(s.Labels))
	for k, v := range s.Labels {
		pairs = append(pairs, k+"="+v)
	}
	slices.Sort(pairs)
	return s.Metric + "{" + strings.Join(pairs, ",") + "}"
}

// MetricOtherCPU is the sample in which the agent tells how many cores its
// machine spent, on average, on anything but the task: a measurement that
// shared its machine is another one.
const MetricOtherCPU = "host_other_cpu"

// MetricLoadLatency is the sample, by percentile, of how long operations of a load
// at a fixed rate took from when they were due: what such a load is compared by.
const MetricLoadLatency = "load_latency"

// The resources by name, as `scalebench plan --demand` takes them: what the
// first word names can be bought, the second tells the direction.
const (
	ResourceCPU            = "cpu"
	ResourceMemory         = "memory"
	ResourceDiskRead       = "disk.read"
	ResourceDiskWrite      = "disk.write"
	ResourceNetworkReceive = "network.receive"
	ResourceNetworkSend    = "network.send"
	ResourceObjectPut      = "objectstore.put"
	ResourceObjectGet      = "objectstore.get"
)

// Series is a progress counter that a workload published while it ran: the
// work done since its start, never decreasing, at least once a second. Its
// rate over any window is a capacity in Unit per second.
type Series struct {
	Metric string `json:"metric"` // the sample that this series explains
	Unit   string `json:"unit"`   // of the counter: "op", "byte"
	// Offsets are nanoseconds since the Result's Started, ascending; Values
	// the counter at those times. Both have the same length.
	Offsets []int64   `json:"offsets"`
	Values  []float64 `json:"values"`
}

// HostSeries is a metric of the node itself while a task ran, as the monitor
// read it.
type HostSeries struct {
	Metric string `json:"metric"` // "cpu.user", "disk.write_bytes"; package monitor lists them
	Unit   string `json:"unit"`   // of the values: "s", "byte", "1"
	// Counter: the values grow, from 0 at the first reading, and their rate
	// is what matters. Otherwise they are the state at that moment.
	Counter bool `json:"counter,omitempty"`
	// Offsets are nanoseconds since the Result's Started, ascending; the
	// first may lie before it. Values has the same length.
	Offsets []int64   `json:"offsets"`
	Values  []float64 `json:"values"`
}

// OfHost reports whether the monitor read it. What a workload records of itself
// has a name without a dot.
func (s HostSeries) OfHost() bool { return strings.Contains(s.Metric, ".") }

// Histogram is the distribution of a value over the operations of a task, as
// an HdrHistogram: histograms of several tasks can be merged exactly, which
// percentiles cannot.
type Histogram struct {
	Metric string `json:"metric"`
	Unit   string `json:"unit"` // of the recorded integers: "us"
	// Second is the second of the task that it covers, counted from 1; 0: it
	// covers what the task scores.
	Second int `json:"second,omitempty"`
	// Encoded is the V2 compressed form in base64, which every HdrHistogram
	// library reads.
	Encoded string `json:"encoded"`
}

// The artifacts that every task can have: the whole of what it printed.
const (
	ArtifactStdout = "stdout"
	ArtifactStderr = "stderr"
)

// KeptFile is a file that a task left, stored as the artifact of this name.
type KeptFile struct {
	Name string `json:"name"`
	Size int64  `json:"size"` // bytes that are stored
	// Cut says that the file was longer.
	Cut bool `json:"cut,omitempty"`
}

// MaxKept is how many files a task may leave.
const MaxKept = 64

var keptName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$`)

// CanKeep reports whether a file that a task leaves may have this name.
func CanKeep(name string) bool {
	return keptName.MatchString(name) && name != ArtifactStdout && name != ArtifactStderr
}

// Artifact is a file kept beside a result.
type Artifact struct {
	Task    TaskID `json:"task"`
	Attempt int    `json:"attempt"`
	Name    string `json:"name"` // "stdout", "stderr", or what the workload chose
	Size    int64  `json:"size"` // bytes
}
