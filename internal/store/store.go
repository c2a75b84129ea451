// Package store is how runs are kept: one small interface, implemented by
// store/sqlite (embedded) and store/postgres (shared), and held to one
// conformance suite, test/storetest.
//
// Two rules carry the correctness of everything above:
//
//   - PutResult is idempotent. The first result of (task, attempt) is kept;
//     a later one changes nothing and is reported as a duplicate.
//   - A result for an attempt older than the step's current one is stale: it
//     is refused with model.ErrStale, so that a task cannot have two results
//     that count.
package store

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/model"
)

// Reader reads runs. Every method returns model.ErrNotFound (wrapped) for a
// run that does not exist.
type Reader interface {
	// Runs lists the runs that a filter lets through, newest first, without
	// their files (Source).
	Runs(ctx context.Context, f Filter) (RunList, error)
	// Run returns one run. The id may be a word (see [Word]), a name, which is that
	// of the newest run of this name that is over, or the newest if none is, or a
	// unique prefix of at least four characters.
	Run(ctx context.Context, id string) (model.Run, error)
	// Data returns all that is stored of a run, jobs and artifact contents apart. It is
	// to be read only: series of one result share offsets.
	Data(ctx context.Context, id model.RunID) (model.RunData, error)
	// Printed returns a run without large data except the output of its tasks:
	// Heads of all steps with the texts of Stdout and Stderr.
	Printed(ctx context.Context, id model.RunID) (model.RunData, error)
	// RunJobs returns the records of the items of all queues of a run, by step and key.
	RunJobs(ctx context.Context, id model.RunID) ([]Job, error)
	// Artifact returns the content of one artifact.
	Artifact(ctx context.Context, task model.TaskID, attempt int, name string) ([]byte, error)
}

// Filter says which runs to list; the zero value all.
type Filter struct {
	// Name is a part of the run's name, or with "*" (any text) or "?" (any
	// character) a pattern of the whole. Upper and lower case are the same.
	Name   string           `json:"name,omitempty"`
	States []model.RunState `json:"states,omitempty"`
	Kind   model.RunKind    `json:"kind,omitempty"`
	// Study asked for steps of the run.
	Study string `json:"study,omitempty"`
	// The run was created at Since or later, and before Until.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Ended is the key of a server that has ended: what it left pending or
	// running counts as interrupted.
	Ended string `json:"ended,omitempty"`
	// Campaign: only the repetitions of this one.
	Campaign model.CampaignID `json:"campaign,omitempty"`
	// WithoutRepetitions leaves out those of all campaigns: a year of half-hours
	// hides every other run.
	WithoutRepetitions bool `json:"without_repetitions,omitempty"`
	// Limit is how many runs are listed at most; 0: all.
	Limit int `json:"limit,omitempty"`
}

// Words that stand for a run.
const (
	Latest  = "latest"  // the newest that is over
	Running = "running" // the newest that is under way
)

// Word is the filter of which a word means the newest run, and the error where there
// is none; nil if it is no such word. No word means a repetition of a campaign, of
// which one may begin at any moment.
func Word(word string) (f Filter, none error) {
	f.WithoutRepetitions = true
	for _, s := range model.RunStates() {
		if s.Final() == (word == Latest) {
			f.States = append(f.States, s)
		}
	}
	switch word {
	case Latest:
		return f, fmt.Errorf("%w: no run is over yet; `scalebench show %s` shows one that is under way", model.ErrNotFound, Running)
	case Running:
		return f, fmt.Errorf("%w: no run is under way; `scalebench show %s` shows the newest that is over", model.ErrNotFound, Latest)
	}
	return Filter{}, nil
}

// RunList are runs, and how many there were without the limit.
type RunList struct {
	Runs     []model.Run `json:"runs"`
	Matching int         `json:"matching"`
}

// Columns reads of a run what a question needs, and no more: first its heads,
// then single metrics of its results. Every method returns model.ErrNotFound
// (wrapped) for a run that does not exist.
type Columns interface {
	// Heads is DataFrom without what is large: results have all fields but the
	// texts of Stdout and Stderr, Series, Host and Histograms.
	Heads(ctx context.Context, id model.RunID, from int) (model.RunData, error)
	// Events returns the events of a run, in the order in which they were added.
	Events(ctx context.Context, id model.RunID) ([]model.Event, error)
	// Series yields series of the results of a run, by step, attempt and
	// position of the task; those of one result by metric. The last pair has
	// the error, if there is one. All is seen as it was at one moment: until
	// the loop ends it keeps a connection to the database, so it must not
	// write to the store.
	Series(ctx context.Context, id model.RunID, sel Selection) iter.Seq2[Column[model.Series], error]
	// Host and Histograms are Series of what their names say.
	Host(ctx context.Context, id model.RunID, sel Selection) iter.Seq2[Column[model.HostSeries], error]
	Histograms(ctx context.Context, id model.RunID, sel Selection) iter.Seq2[Column[model.Histogram], error]
}

// Room is the space that a store has, in bytes.
type Room struct {
	Used int64 // by what is stored
	// Free is what can still be written, and Disk the size of the file system.
	// All are -1 where only the database's own machine knows.
	Free, Disk int64
}

// Selection says which columns to read.
type Selection struct {
	Metrics []string // nil: all
}

// Column is a series, host series or histogram with the result that has it.
type Column[T any] struct {
	Task    model.TaskID
	Attempt int
	// Value is to be read only: series of one result share offsets.
	Value T
}

// Writer records runs.
type Writer interface {
	// CreateRun stores a run with its nodes and its steps with their tasks,
	// all or nothing.
	CreateRun(ctx context.Context, run model.Run, nodes []model.Node, steps []model.Step) error
	// AddSteps appends steps to a run in which the next steps depend on
	// what the last ones have measured, all or nothing. Steps that are stored already
	// stay as they are.
	AddSteps(ctx context.Context, run model.RunID, steps []model.Step) error
	// PutRunNodes replaces what is stored of these nodes for the run: their
	// facts are known only once they are up.
	PutRunNodes(ctx context.Context, id model.RunID, nodes []model.Node) error
	// SetRunState moves a run to a state; it sets Started at the first move to
	// running and Finished at a move to a final state.
	SetRunState(ctx context.Context, id model.RunID, state model.RunState, reason string, at time.Time) error
	// TakeRun makes a run pending and a server's, which is to execute it. It fails
	// with model.ErrStale when the state or the server of the run is no longer what
	// was seen: of two servers that want to resume a run one does.
	TakeRun(ctx context.Context, seen model.Run, server string) error
	// BeginAttempt raises the step's attempt by one, sets it running and
	// returns the new number.
	BeginAttempt(ctx context.Context, step model.StepID) (attempt int, err error)
	// SetStepStart records the agreed start of the current attempt.
	SetStepStart(ctx context.Context, step model.StepID, at time.Time) error
	// SetStepState moves a step to a state.
	SetStepState(ctx context.Context, step model.StepID, state model.StepState, reason string) error
	// PutResult stores a result with its samples and series in one
	// transaction. stored is false if (task, attempt) has one already. It
	// fails with model.ErrStale when the attempt is not the step's current
	// one and with model.ErrNotFound when the task does not exist or belongs
	// to another node than the result says.
	PutResult(ctx context.Context, r model.Result) (stored bool, err error)
	// PutArtifactChunk stores the part of an artifact at this offset; storing
	// the same part twice changes nothing. It fails with model.ErrStale when the
	// attempt is not the step's current one, or has its result already.
	PutArtifactChunk(ctx context.Context, task model.TaskID, attempt int, name string, offset int64, data []byte) error
	// AddEvents appends events of a run.
	AddEvents(ctx context.Context, events ...model.Event) error
	// DeleteRun removes a run and everything that hangs on it. If it is a
	// repetition of a campaign, that becomes model.RepetitionDeleted, and what it
	// measured counts no more.
	DeleteRun(ctx context.Context, id model.RunID) error
}

// Job is a record of an item, and who executed it.
type Job struct {
	Step    model.StepID `json:"step"`
	Attempt int          `json:"attempt"`
	Node    model.NodeID `json:"node"`
	jobs.Record
}

// Queues keeps the queues of steps: their items, and one record of each.
type Queues interface {
	// PutItems stores names of items; those from a.From on are replaced. It fails with
	// model.ErrStale when the attempt is not the step's current one.
	PutItems(ctx context.Context, step model.StepID, attempt int, a jobs.Add) error
	// PutJobs stores records of the step and attempt of the first one, all in one
	// transaction. The first record of an item is kept: counts says of each whether it
	// is that one, also when it was stored before. It fails as PutItems does.
	PutJobs(ctx context.Context, records []Job) (counts []bool, err error)
	// Items returns what is stored of a step's queue: the names of its items, whether
	// they are all, and the items that have a record.
	Items(ctx context.Context, step model.StepID) (names []string, all bool, over []jobs.Over, err error)
}

// Fleet keeps who may take part, across restarts of the server.
type Fleet interface {
	// PutNode stores a node, or replaces what is stored of it, Left included.
	PutNode(ctx context.Context, n model.Node) error
	// Nodes lists all nodes that ever registered, by id.
	Nodes(ctx context.Context) ([]model.Node, error)
	// RemoveNode forgets a node.
	RemoveNode(ctx context.Context, id model.NodeID) error
}

// Servers are those that share a store.
type Servers interface {
	// Beat notes that a server lives; it does so every [ServerBeat]. Leave notes
	// that it has ended.
	Beat(ctx context.Context, server string) error
	Leave(ctx context.Context, server string) error
	// Lives reports whether a server was heard within [ServerLease], by the clock
	// of the database.
	Lives(ctx context.Context, server string) (bool, error)
}

// A server says every ServerBeat that it lives, and is gone when it was not heard
// for ServerLease.
const (
	ServerBeat  = 10 * time.Second
	ServerLease = time.Minute
)

// Store is everything. Implementations are safe for concurrent use.
type Store interface {
	Reader
	Columns
	Writer
	Queues
	Fleet
	Servers
	Campaigns
	// DataFrom is Data of the steps from this number (from 0) on: the run, its
	// nodes, those steps and their results, without events and artifacts. It
	// takes as long as there is to read, however many steps the run has.
	DataFrom(ctx context.Context, id model.RunID, from int) (model.RunData, error)
	// Artifacts lists the artifacts of a run; none if it does not exist.
	Artifacts(ctx context.Context, id model.RunID) ([]model.Artifact, error)
	// Room returns how much space there is.
	Room(ctx context.Context) (Room, error)
	// Head returns what is stored of one attempt at a task, as Heads does, or
	// model.ErrNotFound.
	Head(ctx context.Context, task model.TaskID, attempt int) (model.Result, error)
	Close() error
}
