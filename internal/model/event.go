package model

import "time"

// Severity is how much an event matters to a person.
type Severity string

// Info is progress, Warning wants attention, Problem means that something
// does not work until the user acts.
const (
	Info    Severity = "info"
	Warning Severity = "warning"
	Problem Severity = "problem"
)

// EventKind is what happened, for programs.
type EventKind string

// The kinds of event that scalebench emits.
const (
	EventRunState     EventKind = "run_state"
	EventStepStarted  EventKind = "step_started"
	EventStepEnded    EventKind = "step_ended"
	EventTaskReady    EventKind = "task_ready"
	EventTaskEnded    EventKind = "task_ended"
	EventProgress     EventKind = "progress" // live only, not stored
	EventStage        EventKind = "stage"    // live only, not stored
	EventValues       EventKind = "live"     // live only, not stored
	EventNodeJoined   EventKind = "node_joined"
	EventNodeSlow     EventKind = "node_slow"
	EventServerSlow   EventKind = "server_slow" // it stood still, or was starved
	EventNodeLost     EventKind = "node_lost"
	EventNodeBack     EventKind = "node_back"
	EventNodeLeft     EventKind = "node_left"
	EventTaskRefused  EventKind = "task_refused"  // bad signature, not for this node, replayed
	EventCutOff       EventKind = "cut_off"       // a sender of broken messages
	EventStoreFailing EventKind = "store_failing" // results wait at the agents
	EventStoreBack    EventKind = "store_back"
	// EventNoRoom: a disk is nearly full, or full; EventRoom: it is not any more.
	EventNoRoom EventKind = "no_room"
	EventRoom   EventKind = "room"
	// EventQuota: something is not kept, because a quota is used up.
	EventQuota EventKind = "quota"
	EventRetry EventKind = "retry"
	// EventItemSetAside: an item of a queue failed as often as it may.
	EventItemSetAside EventKind = "item_set_aside"
	EventNodeChanged  EventKind = "node_changed" // another host under the same name
	// EventUnreachable: a node on a host of the run may be at work, and cannot be
	// told to stop.
	EventUnreachable EventKind = "unreachable"
	// EventWaiting: what the run waits for: other runs, or its time.
	EventWaiting EventKind = "waiting"
	// EventLatest: what the latest step was worth, by a design that decides as it
	// goes.
	EventLatest EventKind = "window"
	// EventFleetUp: hosts are being made.
	EventFleetUp EventKind = "fleet_up"
	// EventAnalysisStarted and EventAnalysisEnded are stored one after the other when
	// what a run has measured was analysed at its end: their times are those of the last
	// of its stages. The text of the second says which studies answered; where it is a
	// warning, why none did.
	EventAnalysisStarted EventKind = "analysis_started"
	EventAnalysisEnded   EventKind = "analysis_ended"
	// EventServiceEnded: a service that workloads use is gone; the run ends.
	EventServiceEnded EventKind = "service_ended"
)

// Event is something that happened to a run or to the fleet.
type Event struct {
	Time     time.Time `json:"time"`
	Run      RunID     `json:"run,omitempty"` // empty: concerns the fleet
	Step     StepID    `json:"step,omitempty"`
	Task     TaskID    `json:"task,omitempty"`
	Node     NodeID    `json:"node,omitempty"`
	Kind     EventKind `json:"kind"`
	Severity Severity  `json:"severity"`
	Text     string    `json:"text"`
	// Progress is set for EventProgress only.
	Progress *Progress `json:"progress,omitempty"`
	// Stage is set for EventStage only.
	Stage *StageChange `json:"stage,omitempty"`
	// Values is set for EventValues only: how things are now.
	Values map[string]float64 `json:"values,omitempty"`
	// Left is set for EventStepStarted where it is known; live only.
	Left *Left `json:"left,omitempty"`
}

// Live reports whether the event is for who watches only, and not stored.
func (e Event) Live() bool {
	return e.Kind == EventProgress || e.Kind == EventStage || e.Kind == EventValues
}

// Names of Event.Values: of users how many there are now, how many requests ended well
// and badly in the last second; of a service, after its name and a colon, the share of
// the processor time that it may use.
const (
	LiveUsers  = "users"
	LiveRate   = "rate"
	LiveErrors = "errors"
	LiveUsed   = "used"
)

// Left is how long a run will still take, from the beginning of a step on.
type Left struct {
	Time time.Duration `json:"time"`
	// Step is the part of this step: one that takes longer leaves the rest as
	// it is.
	Step time.Duration `json:"step"`
	// AtMost says that Time is a bound, because results decide.
	AtMost bool `json:"at_most,omitempty"`
}

// Progress is the latest point of a task's progress counter.
type Progress struct {
	Metric  string        `json:"metric"`
	Unit    string        `json:"unit"`
	Elapsed time.Duration `json:"elapsed"` // since the task's start
	Value   float64       `json:"value"`   // cumulative
}
