// Package legacy is the contract of studies that have not moved to package study
// yet, and the adapter that lets the platform know that one only.
//
// Its optional interfaces are what the fields of study.Plan, study.Answer and
// study.Kind replace. It goes when the last study has moved.
package legacy

import (
	"context"
	"io"
	"time"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
)

// What both contracts have in common, see package study.
//
//nolint:revive // each is documented there
type (
	NamedRun     = study.NamedRun
	Common       = study.Common
	Setup        = study.Setup
	Service      = study.Service
	Workload     = study.Workload
	Treatment    = study.Treatment
	ServiceLevel = study.ServiceLevel
	Outlook      = study.Outlook
	Takes        = study.Takes
	Source       = study.Source
	SourceName   = study.SourceName
	Limit        = study.Limit
	Percent      = study.Percent
	Command      = study.Command
)

// OfRun is study.OfRun.
func OfRun(run *observe.Run) Source { return study.OfRun(run) }

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

// All are the runs in question, be they one or several.
func (in Input) All() []NamedRun {
	if len(in.Runs) == 0 && in.Run != nil {
		return []NamedRun{{Run: in.Run}}
	}
	return in.Runs
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

// Measured is implemented by studies that ask of measurements, wherever they
// came from: runs, campaigns, files. Analyze is asked at the end of a run whose
// file names the study.
type Measured interface {
	Study
	// Takes says which sources the question is about.
	Takes() Takes
	// Ask answers from the sources: those of the arguments in their order, then
	// those that Takes.Also names. in.Run is nil.
	Ask(ctx context.Context, in Input, sources []Source) (Result, error)
}

// Designer is implemented by studies that say what is measured.
type Designer interface {
	Study
	// Design fails with model.ErrUsage where the nodes or the workloads do
	// not suit the study.
	Design(setup Setup) (Design, error)
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
