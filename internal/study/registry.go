package study

import (
	"cmp"
	"fmt"
	"slices"

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
	// Optional says that the command also works without a run.
	Optional bool
	// Several says that the question may be about several runs at once, each of which
	// may be given a name: ec2=RUN.
	Several bool
	// Phases are the evaluations that the study designs where a file names no
	// study: those of `evaluations: [serial, parallel]`. Where a file names this
	// study they are the default.
	Phases []model.Phase
	// Named: it measures, and is held to thresholds, only where a file names it;
	// the default is then the first of its Phases.
	Named bool
	// Top are keys of the study that may stand at the top of a file which names
	// no study. They mean the same as below `study`.
	Top []string
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
	// New returns a pointer to the parameters with their defaults set.
	New func() Study
	// Measure returns the parameters of a command that measures, with their
	// defaults set; nil: the command asks about a run.
	Measure func() Measurer
}

// CommandName is the name of its command.
func (k Kind) CommandName() string { return cmp.Or(k.Command, k.Name) }

// Registry holds the questions that this binary knows, in the order of help.
type Registry []Kind

// Frames is what a run measured, for questions about several: where a study searched
// in it, what that found, and the single steps of the search only describe it. asked is
// a study with the parameters of the run's file.
func (r Registry) Frames(run *observe.Run, asked func(Kind) Study) ([]frame.Frame, error) {
	out := run.Frames()
	for _, k := range r {
		if k.Found == nil || !k.Tells(run) {
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
	for _, k := range r {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}
