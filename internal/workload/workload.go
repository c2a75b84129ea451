// Package workload is the contract between scalebench and a benchmark.
//
// A benchmark is a [Kind]: a name, a sentence, and a constructor of its
// parameters. The parameters are a pointer to a struct. Its JSON tags are the
// keys of the experiment file, its jsonschema tags feed `scalebench
// schema`; the same struct runs the benchmark. One package below
// internal/workload and one line in the registry add a benchmark;
// docs/workloads.md shows it.
//
// The life of a workload on a node, in a process of its own:
//
//  1. the parameters are decoded over the defaults and validated;
//  2. Prepare does what must not be timed: lay out files, warm up, look for
//     the tool;
//  3. the node waits for the agreed start;
//  4. Run does the work, reports cumulative progress at least once a second,
//     and reports samples;
//  5. Cleanup, if there is one, removes what Prepare made, however Run ended.
package workload

import (
	"context"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// Workload is a benchmark with its parameters. Implementations are pointers to
// structs with JSON tags.
type Workload interface {
	// Validate reports impossible values that the tags do not exclude: a
	// [*model.InputError] with the key as its Path ("metrics[0].json"), or several
	// joined with errors.Join.
	Validate() error
	// Estimate is the expected time from start to end of one task; zero when
	// it cannot be known.
	Estimate() time.Duration
	// Prepare does everything that must not be timed.
	Prepare(ctx context.Context, env *Env) error
	// Run does the work. An error makes the task's outcome "failed".
	Run(ctx context.Context, env *Env) error
}

// Cleaner is implemented by workloads that leave something to remove.
type Cleaner interface {
	Cleanup(ctx context.Context, env *Env) error
}

// Orphan is implemented by workloads that leave something which the end of their
// processes does not remove: control groups, folders.
type Orphan interface {
	// Orphaned removes it at once. It is called, while the workload may be at
	// work, when all processes of the task were killed because its agent is gone.
	Orphaned()
}

// Paired is implemented by workloads that measure connections between nodes
// rather than nodes.
type Paired interface {
	// Pairing says which nodes are connected. It is called on valid parameters.
	Pairing() Pairing
}

// Pairing says how nodes are connected with each other.
type Pairing struct {
	Kind PairingKind
	// Both: both ends of a pair are clients of each other, and the pair is
	// the subject. Otherwise the first end is the client and the other serves.
	// Rings and AllToOne have one client a connection.
	Both bool
	// Sink, for AllToOne, is the node that all connect to, or a group of one
	// node. Empty: the first node.
	Sink string
}

// PairingKind is the shape of a pairing.
type PairingKind string

// Pairs: disjoint pairs of neighbours. Ring: each node with the next. AllToOne:
// all with one. AcrossGroups: disjoint pairs, each of two groups (label
// "group"). WithinGroups: disjoint pairs, each of one group. Together: all nodes as one; the
// first is the client of all others, and of none where it is alone.
const (
	Pairs        PairingKind = "pairs"
	Ring         PairingKind = "ring"
	AllToOne     PairingKind = "all_to_one"
	AcrossGroups PairingKind = "across_groups"
	WithinGroups PairingKind = "within_groups"
	Together     PairingKind = "together"
)

// VolumeUser is implemented by workloads that use a volume of their node. A file
// is refused if its lab has no such volume.
type VolumeUser interface {
	// UsesVolumes returns the names of volumes on a node that has so many, empty for
	// the only one, and how much of each is used: 0 when only the node knows. It is
	// false when none is used, or all are. It is called on valid parameters.
	UsesVolumes(has int) (names []string, size unit.Size, ok bool)
}

// EnvironUser is implemented by workloads that use variables of the node's
// environment, or pass them on, beside those that all tasks have (package
// environ).
type EnvironUser interface {
	// UsesEnviron returns the names of variables that must be set on the node,
	// and patterns (path.Match) of others, which are used where they are set. It
	// is called on valid parameters.
	UsesEnviron() (names, patterns []string)
}

// Kind describes a benchmark.
type Kind struct {
	Name    string // the value of `kind:` in the experiment file
	Summary string // one sentence, for people
	// New returns a pointer to the parameters with their defaults set.
	New func() Workload
	// Sweep removes what tasks of it that were killed have left on this node, also
	// on its volumes, and nothing of tasks that live; nil: nothing outlives their
	// processes. Agents call it when they start, and after each of these tasks.
	Sweep func(volumes map[string]string)
}

// Env is what a workload may use of the node that runs it.
type Env struct {
	Node model.NodeID
	// Self is where other nodes reach this one. Peers are the nodes to
	// connect to, Clients those that will connect to this one; both are empty
	// unless the workload is [Paired]. With RoleServe there is nothing to
	// measure here.
	Self           model.Host
	Peers, Clients []model.Host
	Role           model.Role
	// Part, counted from 0, is this node's share of a load that Parts nodes
	// offer together ([Sharer]), or its number among them ([Teamed]); Parts is at
	// least 1.
	Part, Parts int
	// Offer is the load that the step sets, of all Parts together; nil: what
	// the workload's own parameters say.
	Offer *model.Offer
	// Trial is that of the step, from 1; 0 is 1. See [Env.Seed].
	Trial int
	// Volumes are what the node offers to write to, by name: the path of a
	// folder, or of a block device.
	Volumes map[string]string
	// Dir is an empty directory of the task's own, removed after it.
	Dir string
	// Keep is a folder that is not there: what the task makes it with, and puts
	// in, is kept with the result (model.CanKeep): at most model.MaxKept files, and
	// KeepLimit bytes of each; 0: none is.
	Keep      string
	KeepLimit int64
	// Over is closed when no task of the step measures any more: those that serve
	// it may end.
	Over <-chan struct{}
	// Environ is the environment for child processes: what all tasks have, and
	// what an [EnvironUser] asks for.
	Environ []string
	// Jobs calls the queue of items that the step's tasks share, and returns when what
	// the call says is durable. It may be called from any goroutine. Its errors are those
	// of the call, or that the attempt is over, or ctx's own. Nil: the server has no such
	// queue.
	Jobs func(ctx context.Context, c jobs.Call) (jobs.Reply, error)
	// Stdout and Stderr take what the benchmark prints. They are bounded; a
	// workload may write without limit.
	Stdout, Stderr io.Writer
	Report         Reporter
}

// Seed is what a workload draws at random from in this trial, where the parameters say
// seed. With the same numbers in each trial their scatter would lack what chance does,
// and intervals over trials would be too narrow. Trials of one number are alike on all
// nodes, in all phases and at all loads, so that these are compared with the same
// numbers.
func (e *Env) Seed(seed int64) uint64 {
	const golden = 0x9E3779B97F4A7C15 // 2^64 over the golden ratio: seeds of trials are far apart
	return uint64(seed) ^ golden*uint64(max(e.Trial, 1)-1)
}

// Reporter takes what a workload measures. Its methods may be called from any
// goroutine.
type Reporter interface {
	// Progress publishes the work done since the start of Run: metric names
	// the sample it explains, unit is that of the counter ("op", "byte").
	// The time of the call is the time of the measurement.
	Progress(metric, unit string, cumulative float64)
	// ProgressAt is Progress for a tool that tells the past: after is the time
	// of the measurement since the call of Run. Readings of a metric must come
	// in order.
	ProgressAt(metric, unit string, after time.Duration, cumulative float64)
	// Sample publishes a value of the whole task.
	Sample(s model.Sample)
	// Histogram publishes a distribution, once a metric, at the end of Run.
	Histogram(h model.Histogram)
	// Recording publishes readings of a quantity that may rise and fall, once
	// a metric, at the end of Run. Offsets count from the call of Run.
	Recording(s model.HostSeries)
	// Stage tells that a stage of the task begins or ends: state is one of
	// model.StageBegun, StageDone and StageFailed, reason what there is to say of
	// it. A stage of a service is named "SERVICE:NAME".
	Stage(name, state, reason string)
	// Live tells people who watch how things are now: what is not stored, and may
	// be lost. Names are those that the package that shows them knows: model.LiveUsers
	// and the like, or "SERVICE:NAME".
	Live(values map[string]float64)
	// ExitCode records how the benchmark's process ended.
	ExitCode(code int)
}

// Registry holds the benchmarks that this binary knows, by name.
type Registry map[string]Kind

// NewRegistry returns a registry of these kinds. Two of one name are a
// programming error and panic.
func NewRegistry(kinds ...Kind) Registry {
	r := make(Registry, len(kinds))
	for _, k := range kinds {
		if _, ok := r[k.Name]; ok {
			panic("workload: two kinds named " + k.Name)
		}
		r[k.Name] = k
	}
	return r
}

// Names returns the names of all kinds, sorted.
func (r Registry) Names() []string { return slices.Sorted(maps.Keys(r)) }

// Noter is implemented by workloads that do not do everything as their parameters
// say.
type Noter interface {
	// Notes are what is done otherwise, as far as that is known on this machine. It
	// is called on valid parameters.
	Notes() []string
}

// Completer is implemented by workloads of which a study may set what the file leaves
// out.
type Completer interface {
	// Complete says what is missing to execute it, with an error as those of Validate.
	// It is called on valid parameters.
	Complete() error
}

// Sharer is implemented by workloads with tasks that can offer one load together
// in a step: each its part.
type Sharer interface {
	// SharesLoad is called on valid parameters.
	SharesLoad() bool
}

// Teamed is implemented by workloads whose tasks of a step each need to know which one of
// how many it is, though each does all that a node can: they may be compared with fewer
// nodes.
type Teamed interface {
	// IsTeam is called on valid parameters.
	IsTeam() bool
}
