package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// RunState is where a run stands in its life.
type RunState string

// The states of a run. Done, Failed, Incomplete and Cancelled are final until
// the run is resumed.
const (
	RunPending     RunState = "pending"     // stored, nothing dispatched yet
	RunRunning     RunState = "running"     // a master executes its steps
	RunDone        RunState = "done"        // every step is complete
	RunIncomplete  RunState = "incomplete"  // over, but some step has no valid attempt
	RunFailed      RunState = "failed"      // the master could not go on
	RunCancelled   RunState = "cancelled"   // the user cancelled it
	RunInterrupted RunState = "interrupted" // its master ended in mid-run; it can be resumed
)

// RunStates are all states, in the order of a run's life.
func RunStates() []RunState {
	return []RunState{RunPending, RunRunning, RunDone, RunIncomplete, RunFailed, RunCancelled, RunInterrupted}
}

// Final reports whether nothing more will happen to the run by itself.
func (s RunState) Final() bool {
	return s != RunPending && s != RunRunning
}

// With is the state with its reason, for people. A reason that begins with the
// state, "cancelled by the user", says both.
func (s RunState) With(reason string) string {
	switch {
	case reason == "":
		return string(s)
	case strings.HasPrefix(reason, string(s)):
		return reason
	}
	return string(s) + ": " + reason
}

// RunKind tells what kind of file a run was made from.
type RunKind string

// A run is made from an experiment file or from the paper's own job file.
const (
	KindExperiment RunKind = "experiment"
	KindBatch      RunKind = "batch"
)

// Valid reports whether it is one of them.
func (k RunKind) Valid() bool { return k == KindExperiment || k == KindBatch }

// Run is one execution of an experiment file.
type Run struct {
	ID         RunID    `json:"id"`
	Name       string   `json:"name"`
	Kind       RunKind  `json:"kind"`
	State      RunState `json:"state"`
	Reason     string   `json:"reason,omitempty"` // why the state is what it is, for people
	SourceName string   `json:"source_name"`      // file name of the experiment
	Source     string   `json:"source"`           // the experiment file itself, as executed (after --set)
	Asked      Asked    `json:"asked,omitzero"`   // the question of the file, decoded
	Seed       int64    `json:"seed"`
	Version    string   `json:"version"` // of the scalebench that made the run
	// Server is the public key of the server that executes the run: several
	// may share a store, and each minds its own.
	Server   string    `json:"server,omitempty"`
	Created  time.Time `json:"created"`
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	// Campaign is the campaign of which the run is a repetition, and Repetition
	// its number there, from 1; empty and 0 for a run of its own.
	Campaign   CampaignID `json:"campaign,omitempty"`
	Repetition int        `json:"repetition,omitempty"`
}

// Asked is the question of a run's file.
type Asked struct {
	// Study is the one that the file names; empty: it names none.
	Study string `json:"study,omitempty"`
	// Params are the parameters of studies, by their names: of the one that is named,
	// or of those that evaluations need.
	Params map[string]json.RawMessage `json:"params,omitempty"`
}

// Phase names the kind of a step. Which there are is up to the studies: each
// says which phases its design measures.
type Phase string

// Phases that several packages know. Serial: one subject (node or node pair) at
// a time. Parallel: all at once, or as many as a sweep over fleet sizes asks
// for. Search: all at once offer one load to a target, a window of a search for
// the load that it takes. Batch: jobs of a job file, in order on each node,
// without a common start.
const (
	Serial   Phase = "serial"
	Parallel Phase = "parallel"
	Search   Phase = "search"
	Batch    Phase = "batch"
)

// phaseOfTrials is the phase of studies that measure trials and know no other.
const phaseOfTrials Phase = "trial"

// OfTrial names a trial of a phase: "serial trial 2", or "trial 2" where the phase says no
// more.
func (p Phase) OfTrial(n int) string {
	if p == phaseOfTrials {
		return fmt.Sprintf("trial %d", n)
	}
	return fmt.Sprintf("%s trial %d", p, n)
}

// StepState is where a step stands.
type StepState string

// The states of a step. Only the results of a complete step's last attempt
// may enter an analysis.
const (
	StepPending  StepState = "pending"
	StepRunning  StepState = "running"
	StepComplete StepState = "complete" // every task of the last attempt ended as intended
	StepInvalid  StepState = "invalid"  // the retry policy is used up; results are kept but not scored
)

// Step is a set of tasks that belong together in time. It is retried as a
// whole: a parallel trial in which one node was lost says nothing about n
// nodes.
type Step struct {
	ID       StepID `json:"id"`
	Run      RunID  `json:"run"`
	Number   int    `json:"number"` // position in the run, from 0
	Phase    Phase  `json:"phase"`
	Workload string `json:"workload"` // name given in the experiment file
	Trial    int    `json:"trial"`    // from 1
	Treatment
	Barrier bool      `json:"barrier"` // tasks start together at an absolute time
	State   StepState `json:"state"`
	Attempt int       `json:"attempt"` // 0 before the first, then from 1
	// StartAt is the agreed start of the last attempt, in server time; zero
	// without a barrier.
	StartAt time.Time `json:"start_at,omitzero"`
	Reason  string    `json:"reason,omitempty"` // why it is invalid
	Tasks   []Task    `json:"tasks"`
}

// OfCapacity is the level "role" of steps in which all nodes together measured what they share.
const OfCapacity = "capacity"

// OfCapacity reports whether the study says that the step measured what nodes share.
func (t Treatment) OfCapacity() bool {
	var f struct {
		Role string `json:"role"`
	}
	return len(t.Factors) > 0 && json.Unmarshal(t.Factors, &f) == nil && f.Role == OfCapacity
}

// Treatment is what the design of a study says of a step, beside its phase,
// workload and trial. Steps of a batch have none.
type Treatment struct {
	// Study asked for the step.
	Study string `json:"study,omitempty"`
	// Label says for people what is special about the step; empty: its phase.
	Label string `json:"label,omitempty"`
	// Factors are the study's own levels, such as a configuration. Only it reads them, but for
	// [Treatment.OfCapacity].
	Factors json.RawMessage `json:"factors,omitempty"`
	// Replaces is 1 + the number of the invalid step that this one stands in for; 0:
	// none.
	Replaces int `json:"replaces,omitempty"`
	// Levels are the parameters of the workload that the treatment sets.
	Levels map[string]any `json:"levels,omitempty"`
	// Block groups steps that are compared with each other; 0: none.
	Block int `json:"block,omitempty"`
	// NotBefore is when the step may begin at the earliest, in nanoseconds
	// since the run began.
	NotBefore time.Duration `json:"not_before,omitempty"`
	// Services are the tiers of the step: the services that ran for it alone on
	// nodes of the fleet, by name.
	Services map[string]ServiceLevel `json:"services,omitempty"`
	// Links are the rates that the links of nodes with services have in the step, as far
	// as its fleet sets them; see [Link].
	Links map[NodeID]Link `json:"links,omitempty"`
	// Volumes are the limits that volumes have in the step, by name, as far as its fleet
	// sets them.
	Volumes map[string]VolumeLevel `json:"volumes,omitempty"`
}

// Link is the rate of a node's link in bytes a second: of what the node sends, and of
// what it receives. 0: not known.
type Link struct {
	Out float64 `json:"out"`
	In  float64 `json:"in"`
}

// VolumeLevel is the limits of a volume, of reads and of writes each.
type VolumeLevel struct {
	IOPS      int     `json:"iops,omitempty"`      // operations a second; 0: no limit
	Bandwidth float64 `json:"bandwidth,omitempty"` // bytes a second; 0: no limit
}

// Shape is what a fleet sets of its nodes' links and volumes for a step.
type Shape struct {
	Links   map[NodeID]Link
	Volumes map[string]VolumeLevel
}

// ServiceLevel is how a service took part in a step.
type ServiceLevel struct {
	// Nodes are where it ran, an instance each, in the order of their indices.
	Nodes []NodeID `json:"nodes"`
	// On are the labels by which they were chosen.
	On map[string]string `json:"on,omitempty"`
	// CPU and Memory are the limits of each instance at the start, in cores and
	// bytes; 0: those of its node.
	CPU    float64 `json:"cpu,omitempty"`
	Memory int64   `json:"memory,omitempty"`
	// Sizes are those of what it has, as far as the file names them: {pool: 50}.
	Sizes map[string]int `json:"sizes,omitempty"`
	// Port is where it listens; 0: not known.
	Port int `json:"port,omitempty"`
}

// Subjects names what the step measures, each once, in the order of the tasks.
func (s Step) Subjects() []string {
	var out []string
	for _, t := range s.Tasks {
		name := t.Spec.SubjectOn(t.Node)
		if t.Spec.Role == RoleMeasure && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// Subjects is what is measured as one.
type Subjects string

// A node by itself, or the two ends of a connection.
const (
	OfNodes Subjects = "node"
	OfPairs Subjects = "pair"
)

// Of says what the subjects of the step are.
func (s Step) Of() Subjects {
	for _, t := range s.Tasks {
		if t.Spec.Subject != "" {
			return OfPairs
		}
	}
	return OfNodes
}

// Task is one workload of one trial on one node.
type Task struct {
	ID       TaskID `json:"id"`
	Node     NodeID `json:"node"`
	Position int    `json:"position"` // within the step, from 0
	Spec     Spec   `json:"spec"`
}

// Spec says what a node must do. It is what the master signs.
type Spec struct {
	Workload string         `json:"workload"` // name in the experiment file
	Kind     string         `json:"kind"`     // "cpu", "command", …
	Params   map[string]any `json:"params"`   // the kind's parameters, as in the file
	// Timeout bounds the task from start to end; the node kills the whole
	// process group when it is over.
	Timeout time.Duration `json:"timeout"`
	// OutputLimit is how many bytes of stdout and of stderr the result keeps
	// in memory (head and tail); ArtifactLimit how many bytes of each are
	// kept whole beside it.
	OutputLimit   int64 `json:"output_limit"`
	ArtifactLimit int64 `json:"artifact_limit"`
	// Trial is that of the step, from 1: what a workload draws at random differs
	// between trials. 0, of former versions, is 1.
	Trial int `json:"trial,omitempty"`

	// Subject is what this task measures as one together with others of the
	// same step: a node pair. Empty: the node by itself.
	Subject string `json:"subject,omitempty"`
	// Role is what the task is there for.
	Role Role `json:"role,omitempty"`
	// Part, counted from 0, is this task's share of a load that Parts tasks of
	// the step offer together; both are 0 where each has its own.
	Part  int `json:"part,omitempty"`
	Parts int `json:"parts,omitempty"`
	// Offer is the load that the tasks of the step offer together, where the
	// step sets it; nil: what Params say.
	Offer *Offer `json:"offer,omitempty"`
	// Peers are the nodes that this task connects to, Clients those with
	// tasks that connect to this one.
	Peers   []NodeID `json:"peers,omitempty"`
	Clients []NodeID `json:"clients,omitempty"`
	// Await are the services that must be healthy, as seen from the node, before
	// the task prepares.
	Await []Check `json:"await,omitempty"`
}

// KindService is the kind of tasks that run services for the other tasks of
// their step, and end when these have ended. No file names it.
const KindService = "service"

// Check is how to see that an instance of a service is healthy: it answers HTTP
// with success, a command ends with status 0, or its port accepts connections;
// the first of these that is set.
type Check struct {
	Service string `json:"service"`
	Index   int    `json:"index"`
	// Address and what is below it may have placeholders of services until the
	// task is sent to its node.
	Address string `json:"address"`
	Port    int    `json:"port,omitempty"`
	HTTP    string `json:"http,omitempty"`
	Command string `json:"command,omitempty"`
	// Within bounds the wait for it.
	Within time.Duration `json:"within,omitempty"`
}

// Offer is a load that a step sets.
type Offer struct {
	Rate float64 `json:"rate"` // operations per second, of all nodes together
	// Recover says that the load before has overloaded the target, which is
	// to be seen well before this one begins.
	Recover bool `json:"recover,omitempty"`
	// RecoverWithin is how long that may take at most; 0: as long as usual. Nodes
	// have as much more time to prepare the step.
	RecoverWithin time.Duration `json:"recover_within,omitempty"`
	// Seed is that of what is drawn at random, at most 53 bits.
	Seed int64 `json:"seed,omitempty"`
	// SLA is what the target has to keep; empty: nothing.
	SLA string `json:"sla,omitempty"`
}

// SubjectOn names what a task with this spec measures when it runs on a node.
func (s Spec) SubjectOn(node NodeID) string {
	if s.Subject != "" {
		return s.Subject
	}
	return string(node)
}

// Role is what a task is in its step for.
type Role string

// Measuring tasks report capacities. Serving tasks are the other end of a
// measurement: they report none, and nothing is missing when they do not.
const (
	RoleMeasure Role = ""
	RoleServe   Role = "serve"
)

// Host is where a node can be reached by the workloads of other nodes.
type Host struct {
	Node    NodeID `json:"node"`
	Address string `json:"address"` // IP address or host name, without a port
	// Slot tells apart nodes that share an address: 0 for the first. A
	// workload that listens adds it to its port.
	Slot int `json:"slot,omitempty"`
	// Link is what the fleet has found its link to have when the step began.
	Link Link `json:"link,omitzero"`
}
