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
//  1. Its parameters come from the file, or from flags. Check says what tags
//     cannot say.
//  2. A [Designer] says in a [Plan] which [Treatment] is measured next, from what
//     was observed so far. A study that is none takes what the file evaluates.
//  3. Answer turns an [Input] into an [Answer]: a result with places for caveats.
//  4. The platform puts into these places what disturbed the nodes, and makes the
//     texts. Then the result is encoded by its JSON tags, and its document is
//     asked for.
//  5. The answer's Gate decides the exit code for pipelines.
//
// Studies that have not moved to it yet are below package legacy.
package study

import (
	"cmp"
	"context"
	"io"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/observe"
)

// Study is a question with its parameters. Implementations are pointers to
// structs with JSON tags. A field with the tag `flag:"name"` is a flag of the
// study's command; one with `json:"-"` is not a key of the file. Bounds,
// enumerations and units of single keys are checked by their tags.
type Study interface {
	// Check reports what the tags cannot say: a [*model.InputError] with the key as
	// its Path, or several joined with errors.Join. Its caveats say what an answer
	// will lack although the parameters are valid.
	Check() ([]caveat.Caveat, error)
	// Answer answers from what was measured. Input that holds nothing for the
	// question is a model.ErrUsage, as a *model.InputError is. Verdicts and the gate
	// are computed here: before texts are made, and before the platform adds
	// disturbances.
	Answer(ctx context.Context, in Input) (*Answer, error)
}

// Designer is a study that says what is measured.
type Designer interface {
	Study
	// Plan fails with model.ErrUsage where the nodes or the workloads do not suit
	// the study.
	Plan(setup Setup) (*Plan, error)
}

// Input is what an answer is made from: one run or several, sources, or a table.
type Input struct {
	// Runs are the runs in question; empty if a command was used without one.
	Runs []NamedRun
	// Sources are measurements, of studies whose Kind takes them; then Runs are empty.
	// At the end of a run whose file names such a study, it gets Runs alone
	// (see OfRun). Disturbances are not added to answers from sources: frames
	// have them.
	Sources []Source
	// Table is the user's own, in place of a run, where the Kind takes one; nil: none.
	Table *Table
	// Disturbances returns what disturbed the nodes of the runs that were read so far.
	// The platform adds it to the places of the answer afterwards: it is here for
	// studies whose verdict depends on it. Nil where there are no runs.
	Disturbances func() []caveat.Caveat
	// Common are the parameters of the run's file that several questions read.
	Common Common
	// Open returns another run by id, unique prefix, name or "latest".
	Open func(ctx context.Context, name string) (*observe.Run, error)
	// Campaign returns what a campaign has measured so far; nil where nothing is
	// stored.
	Campaign func(ctx context.Context, name string) (Source, error)
	// Progress hears how much of a long analysis is done, of several goroutines at
	// once; nil: progress is not reported.
	Progress func(done, of int)
}

// Run is the run in question, the first of several; nil where there is none.
func (in Input) Run() *observe.Run {
	if len(in.Runs) == 0 {
		return nil
	}
	return in.Runs[0].Run
}

// NamedRun is a run with the name that the user gave it for this question: of
// ec2=RUN it is ec2. It may be empty.
type NamedRun struct {
	Name string
	Run  *observe.Run
}

// Title is the name, or without one what the run is called.
func (r NamedRun) Title() string { return cmp.Or(r.Name, r.Run.Title()) }

// Table is a user's own file. Name is for messages.
type Table struct {
	Name string
	io.Reader
}

// Common are parameters that several questions about one run read. The study
// whose keys they are embeds it. They are stored with the run.
type Common struct {
	// Tolerance is how many points of the CDI are of no interest; 0: the default.
	Tolerance float64 `json:"tolerance" flag:"tolerance" jsonschema:"exclusiveMinimum=0,maximum=100" jsonschema_description:"Points of the CDI that are of no interest: the verdict is none if the interval is not above 0 and reaches no further."`
}

// Answer is what a study found. The platform fills the caveats of its Places,
// then encodes Result, then asks for the Document.
type Answer struct {
	// Result is encoded by its JSON tags. Its JSON form is a contract that scripts
	// rely on.
	Result any
	// Places are where Result takes caveats.
	Places []caveat.Place
	// Gate is nil, or the error by which a command ends: model.ErrThreshold where a
	// threshold that the user gave was missed, model.ErrInvalid where the
	// measurement allows no answer.
	Gate error
	// Silent: there is nothing to say. The page of a run that names no study leaves
	// it out; who asks for the study hears why.
	Silent bool
	// Document says it for people. It is called after the caveats have their texts.
	Document func() *doc.Document
}

// SourceName is a parameter that names a run, a campaign or a file. A file can
// only be named by a flag: the file reader refuses it, because a server has not
// the files of its users.
type SourceName string

// Parameters returns the pointer to the struct of a study's parameters.
func Parameters(s Study) any {
	if wrapped, ok := s.(interface{ Parameters() any }); ok { // a study of package legacy
		return wrapped.Parameters()
	}
	return s
}
