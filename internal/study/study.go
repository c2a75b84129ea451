// Package study is the contract between scalebench and a question.
//
// A question is a [Kind]: a name, a sentence, and a constructor of its
// parameters. The parameters are a pointer to a struct: its JSON tags are the
// keys below `study:` in an experiment file, its flag tags the flags of the
// study's command, its jsonschema_description tags the words for both. One
// package below internal/study and one line in the registry add a question;
// docs/studies.md shows it, and a test executes what it shows.
//
// The life of a study:
//
//  1. the parameters come from the file, or from flags, and are validated;
//  2. a [Designer] says which [Treatment] is measured next, from what was
//     observed so far; a study that is none takes what the file evaluates;
//  3. Analyze turns observations into a [Result];
//  4. the result is printed: as JSON by its tags, otherwise by its
//     [doc.Document];
//  5. its Gate decides the exit code for pipelines.
package study

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Study is a question with its parameters. Implementations are pointers to
// structs with JSON tags. A field with the tag `flag:"name"` is a flag of the
// study's command; one with `json:"-"` is not a key of the file.
type Study interface {
	// Validate reports what the tags cannot say: a [*model.InputError] with the
	// key as its Path, or several joined with errors.Join. Bounds, enumerations
	// and units of single keys are checked before.
	Validate() error
	// Analyze answers from what was measured. A run that holds nothing for
	// the question is a model.ErrUsage.
	Analyze(ctx context.Context, in Input) (Result, error)
}

// Input is what an analysis reads.
type Input struct {
	// Run is the run in question; nil only where the kind is Optional.
	Run *observe.Run
	// Runs are all runs in question, of which Run is the first, where the kind takes
	// Several and its command was used.
	Runs []NamedRun
	// Open returns another run by id, unique prefix, name or "latest".
	Open func(ctx context.Context, name string) (*observe.Run, error)
	// Campaign returns what a campaign has measured so far; nil where nothing is
	// stored.
	Campaign func(ctx context.Context, name string) (Source, error)
	// Tolerance is how many points of the CDI are of no interest by the run's
	// file; 0: it does not say.
	Tolerance float64
	// Progress hears how much of a long analysis is done, of several goroutines at
	// once; nil: it is for none to hear.
	Progress func(done, of int)
}

// NamedRun is a run with the name that the user gave it for this question: of
// ec2=RUN it is ec2. It may be empty.
type NamedRun struct {
	Name string
	Run  *observe.Run
}

// All are the runs in question, be they one or several.
func (in Input) All() []NamedRun {
	if len(in.Runs) == 0 && in.Run != nil {
		return []NamedRun{{Run: in.Run}}
	}
	return in.Runs
}

// Filed is implemented by studies of which not all parameters that a command takes
// can stand in a file. InFile reports them as Validate does.
type Filed interface {
	InFile() error
}

// Tolerant is implemented by the study that has the tolerance of the CDI among
// its parameters. Other questions about the run take it from there.
type Tolerant interface {
	Points() float64
}

// Result is an answer. Its JSON form is a contract that scripts rely on. What
// disturbed the nodes need not be in it: package answer adds that to "warnings"
// of the JSON, to the document, and to a column "warnings" of its table.
type Result interface {
	// Document says it for people.
	Document() *doc.Document
	// Gate is nil, or the error by which a command ends: model.ErrThreshold
	// where a threshold that the user gave was missed, model.ErrInvalid where
	// the measurement allows no answer.
	Gate() error
}

// Silent is implemented by results that may have nothing to say. The page of a
// run that names no study leaves them out; who asks for the study hears why.
type Silent interface {
	Silent() bool
}

// Importer is implemented by studies that also answer from the user's own
// table, without a run.
type Importer interface {
	// Import reads a table; name is that of the file, for messages. in.Run is
	// nil.
	Import(ctx context.Context, in Input, name string, table io.Reader) (Result, error)
}

// Designer is implemented by studies that say what is measured.
type Designer interface {
	Study
	// Design fails with model.ErrUsage where the nodes or the workloads do
	// not suit the study.
	Design(setup Setup) (Design, error)
}

// Setup is what a design begins with.
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
}

// Design says what is measured, step by step.
type Design interface {
	// Next returns the treatments that follow, to be measured in their order;
	// none where the study is over. A fixed design returns all of them at
	// once; a sequential one decides from what was observed. seen holds the
	// steps that are over since the call before, all of them at the first
	// call, which may be that of a run that is resumed.
	Next(seen *observe.Run) ([]Treatment, error)
}

// Fixed is the design that measures these treatments, in their order.
func Fixed(treatments []Treatment) Design { return &fixed{treatments} }

type fixed struct{ treatments []Treatment }

func (f *fixed) Next(*observe.Run) ([]Treatment, error) {
	all := f.treatments
	f.treatments = nil
	return all, nil
}

// IsFixed reports whether [Fixed] made a design. Any other decides as it goes.
func IsFixed(d Design) bool {
	_, ok := d.(*fixed)
	return ok
}

// What designs that decide as they go may implement besides.
type (
	// Loser is told of lost nodes.
	Loser interface {
		// Lost names, before Next, all nodes that are lost for good: the design
		// goes on without them, or ends.
		Lost(nodes []model.NodeID)
	}
	// Commenter has a word for people who watch.
	Commenter interface {
		// Latest says in a line what the latest step that Next was told of was
		// worth; empty where there is nothing to say.
		Latest() string
	}
	// Forecaster knows something beforehand.
	Forecaster interface {
		Outlook() []Outlook
	}
	// Opener knows its first treatments before anything is measured, so that nodes
	// which do not suit them are told before the run.
	Opener interface {
		Opening() []Treatment
	}
	// Bounded knows how much is left.
	Bounded interface {
		// AtMost is how many steps are still to come, those that are under way
		// included, and how long all of them take without preparation. Some may be
		// repeated.
		AtMost() (steps int, all time.Duration)
	}
	// Resumer is asked about steps that are stored already.
	Resumer interface {
		// Replaced reports whether the design can do without a step that became
		// invalid, because one of its later steps replaces it.
		Replaced(invalid model.Step, later []model.Step) bool
		// Agrees is an error where a stored step, which is not over, is not what
		// Next asks for: another version has decided otherwise. Of designs that
		// do not say it the treatments are compared.
		Agrees(stored model.Step, next Treatment) error
	}
)

// Noter is implemented by designers that know of some parameters, which are valid, that
// an answer will lack something.
type Noter interface {
	// Notes say what, and what to do.
	Notes() []string
}

// Sized is implemented by designers that need several subjects: a design can be
// shown before the nodes are known.
type Sized interface {
	// LeastSubjects is how many subjects the design needs at least.
	LeastSubjects() int
}

// Outlook bounds the steps of one workload in a sequential design.
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

// Treatment is one step of a design: what is active, under which conditions
// (a combination of factor levels).
type Treatment struct {
	// Phase names the kind of treatment, one of those of the study's Kind.
	Phase model.Phase
	// Label says for people what is special about this one, such as "window at
	// 2 kop/s"; empty: the phase.
	Label    string
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
}

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

// Measurer is implemented by the parameters of a study's command that measures
// by itself, without a file: a pointer to a struct, of which the fields with the
// tag `flag:"name"` are the flags.
type Measurer interface {
	// Argument is what the command takes, as its usage shows it, beginning with
	// a word in capitals; and what that is, for people.
	Argument() (usage, meaning string)
	// Experiment is the experiment file that the command stands for: what a user
	// could have written. given are the flags that were given, by the JSON keys
	// of their fields; "agents" is an object of labels.
	Experiment(argument string, given map[string]json.RawMessage) ([]byte, error)
	// Key is the JSON key of the field from which the value at a path of that
	// file came; empty: from the argument.
	Key(path string) string
}
