package study

import (
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Setup is what a plan begins with.
type Setup struct {
	Nodes     []model.Node // sorted by id
	Workloads []Workload   // in the order of the file
	Trials    int
	// Phases are what the file evaluates: a study does not measure others.
	Phases []model.Phase
	// Seed is the file's, or one derived from the run's id.
	Seed int64
	// Services are those of the file that run on nodes of the fleet, in its order.
	Services []Service
	// Links are the rates of nodes' links in bytes a second, in each direction, of
	// those that the fleet sets and a treatment may raise.
	Links map[model.NodeID]float64
	// Fits is an error where a treatment cannot be measured on these nodes; nil: not known.
	Fits func(Treatment) error
	// Volumes are those that the fleet makes for its nodes. A treatment may change the
	// limits of those that have any.
	Volumes []Volume
}

// Volume is one of a node, with the limits that the fleet sets.
type Volume struct {
	Name string
	Node model.NodeID
	VolumeLevel
}

// Service is one entry of the file's services.
type Service struct {
	Name  string
	On    map[string]string
	Count int // as in the file
	// CPU is the limit of each instance, in cores; 0: that of its node.
	CPU float64
}

// Workload is one entry of the file's workloads.
type Workload struct {
	Name, Kind string
	Bench      workload.Workload
	Params     map[string]any // as in the file
	Timeout    time.Duration  // of one task
	Subjects   int            // how many nodes, or pairs of nodes, can be active at once
	Names      []model.NodeID // of the subjects, as observe.SubjectOf names them
}

// Plan says what is measured.
type Plan struct {
	// First are the treatments that are known beforehand, in their order. Without
	// Next they are what is measured. With Next they are only checked, so that nodes
	// that do not suit them are refused before the run: Next returns them, too.
	First []Treatment
	// Next returns the treatments that follow, to be measured in their order; none
	// where the study is over. Nil: First is all.
	Next func(seen Seen) (More, error)
	// Left bounds the steps before the first call of Next; nil: unknown.
	Left *Left
	// Outlook bounds them by workload, for people.
	Outlook []Outlook
}

// Seen is what has happened since the last call of [Plan.Next]; at the first,
// which may be that of a run that is resumed, since the run began.
type Seen struct {
	// Run has the steps of this study that ended.
	Run *observe.Run
	// Lost are all nodes that are lost for good. The plan goes on without them, or
	// ends.
	Lost []model.NodeID
}

// More is what [Plan.Next] asks for.
type More struct {
	Treatments []Treatment
	// Left bounds what is still to come, Treatments included; nil: unknown.
	Left *Left
	// Latest says what the latest step was worth, for people who watch; empty:
	// nothing.
	Latest string
}

// Left is how many steps are still to come at most, and how long all of them take
// without preparation. Some may be repeated.
type Left struct {
	Steps int
	Time  time.Duration
}

// Outlook bounds the steps of one workload in a plan that decides as it goes.
type Outlook struct {
	Phase    model.Phase `json:"phase"`
	Workload string      `json:"workload"`
	Trials   int         `json:"trials"`
	// Steps is how many count at most in each trial; some may be repeated.
	Steps int `json:"steps"`
	// Step is how long one takes, in nanoseconds, without preparation.
	Step time.Duration `json:"step"`
	// Note says what these nodes will not allow, for people; empty: nothing.
	Note string `json:"note,omitempty"`
}

// Treatment is one step of a plan: what is active, under which conditions (a
// combination of factor levels).
type Treatment struct {
	// Phase names the kind of treatment, one of those of the study's Kind.
	Phase model.Phase
	// Label says for people what is special about this one, such as "window at
	// 2 kop/s"; empty: the phase. Only studies of package legacy read it.
	Label string
	// Factors are the study's own levels, such as a configuration: any value with JSON
	// tags. It is stored with the step, from where the study decodes it
	// (model.Treatment.Factors); the platform never reads it.
	Factors any
	// Replaces is 1 + the number of the invalid step that this one stands in for; 0:
	// none.
	Replaces int
	Workload string
	// Trial is the replicate, from 1. One does not begin before its time where
	// the file says how far apart trials are (every).
	Trial int
	// Block groups treatments that are compared with each other; 0: none.
	Block int
	// Levels are parameters of the workload that this treatment sets, by their
	// keys. They replace those of the file, and are checked like those.
	Levels map[string]any
	// Active are the indices of the subjects that work at once; nil: all.
	Active []int
	// Offer is the load that the active nodes offer together; nil: each does
	// what its parameters say. Only workloads whose tasks share a load
	// (workload.Sharer) read it.
	Offer *model.Offer
	// NotBefore is when the step may begin at the earliest, since the run began.
	NotBefore time.Duration
	// NoBarrier lets each node begin as soon as it is ready. Otherwise all begin
	// at one moment.
	NoBarrier bool
	// Without are nodes that take no part: they are lost for good.
	Without []model.NodeID
	// Services sets what this treatment has other than the file, of services that
	// run on nodes of the fleet, by name. The others are as in the file.
	Services map[string]ServiceLevel
	// Volumes sets limits of volumes, by name. What is 0 is as in the file, as all
	// other volumes are. The step stores the limits of all (model.Treatment.Volumes).
	Volumes map[string]VolumeLevel
}

// VolumeLevel is the limits of a volume.
type VolumeLevel = model.VolumeLevel

// ServiceLevel is how a service takes part in a treatment; what is zero is as the
// file has it.
type ServiceLevel struct {
	// Count is on how many nodes it runs; below 0: on none.
	Count int
	// On are further labels that its nodes must have.
	On map[string]string
	// Hosts names its nodes: services of a treatment with the same name share them, and
	// those with different names have none in common. Empty: the first that match,
	// whatever else runs there.
	Hosts string
	// CPU and Memory are the limits of each instance. CPU takes the place of what
	// the file says for the beginning: limits.cpu, or a step at 0s.
	CPU    float64
	Memory unit.Size
	// Sizes of what the service has, by their names in the file (services[].sizes).
	Sizes map[string]int
	// LinkOut and LinkIn are how many times as much as in the file the links of its
	// nodes have, of what they send and what they receive. See Setup.Links.
	LinkOut, LinkIn float64
}
