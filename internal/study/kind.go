package study

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// Kind describes a question.
type Kind struct {
	Name    string // of the study, and of its command
	Summary string // one sentence, for people
	// Command is the name of its command; empty: Name.
	Command string
	// Long and Example are the help of its command.
	Long, Example string
	// New returns a pointer to the parameters with their defaults set.
	New func() Study
	// Caveats are the definitions of all that its answers say against themselves. The
	// platform adds those of disturbances.
	Caveats caveat.Table

	// What its command takes, one run if nothing says otherwise:

	// Optional says that it also works without a run.
	Optional bool
	// Several says that the question may be about several runs at once, each of which
	// may be given a name: ec2=RUN.
	Several bool
	// Table says that it also answers from the user's own table: --csv FILE.
	Table bool
	// Takes: the arguments name sources. Which ones may depend on the parameters: it
	// gets a study that New has made. Nil: it is about runs.
	Takes func(Study) Takes
	// Measure is of a command that measures by itself; nil: it asks about a run.
	Measure func() Command

	// What it measures:

	// Phases are the evaluations that the study plans where a file names no
	// study: those of `evaluations: [serial, parallel]`. Where a file names this
	// study they are the default.
	Phases []model.Phase
	// Named: it measures, and is held to thresholds, only where a file names it;
	// the default is then the first of its Phases.
	Named bool
	// Top are keys of the study that may stand at the top of a file which names
	// no study. They mean the same as below `study`.
	Top []string
	// Least is how many subjects its plan needs at least, so that it can be shown
	// before the nodes are known; nil: any number.
	Least func(Study) int

	// Where its answers appear beside its command:

	// Shown says that what the study has found so far is a part of `show`.
	Shown bool
	// Tells reports whether the page of a run that names no study has a part of
	// this one; nil: it has none. The page of a run that names a study is its
	// own.
	Tells func(*observe.Run) bool
	// Found is what a run came to, for questions about several runs: it stands for the
	// values of the single steps in these Phases, which are measured to find it. asked has
	// the parameters with which it was measured. nil: these are what counts.
	Found func(run *observe.Run, asked Study) ([]frame.Frame, error)
}

// CommandName is the name of its command.
func (k Kind) CommandName() string { return cmp.Or(k.Command, k.Name) }

// Decode returns the study of this kind with stored parameters, see [Encode].
func (k Kind) Decode(params json.RawMessage) (Study, error) {
	s := k.New()
	if err := json.Unmarshal(params, Parameters(s)); err != nil {
		return nil, fmt.Errorf("decoding the stored parameters of the study %s: %w", k.Name, err)
	}
	return s, nil
}

// Encode returns the parameters of a study as they are stored with a run.
func Encode(s Study) (json.RawMessage, error) {
	b, err := json.Marshal(Parameters(s))
	if err != nil {
		return nil, fmt.Errorf("encoding the parameters of a study: %w", err)
	}
	return b, nil
}

// Command is that of a study which measures by itself, without a file.
type Command struct {
	// Params is a pointer to a struct with defaults, of which the fields with the
	// tag `flag:"name"` are the flags.
	Params any
	// Usage is what the command takes, beginning with a word in capitals; Meaning
	// says what that is.
	Usage, Meaning string
	// Experiment is the experiment file that the command stands for: what a user
	// could have written. given are the flags that were given, by the JSON keys
	// of their fields; "agents" is an object of labels.
	Experiment func(argument string, given map[string]json.RawMessage) ([]byte, error)
	// Key is the JSON key of the field from which the value at a path of that
	// file came; empty: from the argument.
	Key func(path string) string
	// CheckHost is an error where this machine, which is to measure, does not know the
	// host that the argument names; nil: it names none.
	CheckHost func(ctx context.Context, argument string) error
}

// Registry holds the questions that this binary knows, in the order of help.
type Registry []Kind

// Frames is what a run measured, for questions about several: where a study searched
// in it, what that found, and the single steps of the search only describe it. asked is
// a study with the parameters of the run's file.
func (r Registry) Frames(run *observe.Run, asked func(Kind) Study) ([]frame.Frame, error) {
	out := run.Frames()
	for _, k := range r {
		if k.Found == nil || k.Tells == nil || !k.Tells(run) {
			continue
		}
		for i := range out {
			out[i].Info = out[i].Info || slices.Contains(k.Phases, out[i].Phase)
		}
		found, err := k.Found(run, asked(k))
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", run.Run().ID, err)
		}
		out = append(out, found...)
	}
	return out, nil
}

// Find returns the kind of that name.
func (r Registry) Find(name string) (Kind, bool) {
	i := slices.IndexFunc(r, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return r[i], true
}
