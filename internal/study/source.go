package study

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// Takes is which sources a question is about. It may depend on the parameters.
type Takes struct {
	// Least and Most are how many arguments the command has; Most 0: any number.
	Least, Most int
	// Also are sources that parameters name, such as a baseline.
	Also []string
	// Choice is which columns of files are meant.
	Choice frame.Choice
	// Named: the arguments are names of experiments, and a source is all runs of
	// one, or files in which rows say the run.
	Named bool
	// Read reads what is not stored, where the command runs, in place of the reader of
	// tables: in is the content of a file, or nil where the argument is an address. What
	// it returns is JSON of the study's own, in [Source.Own]. Sources that are stored
	// are then runs, in [Source.Run].
	Read func(ctx context.Context, name string, in io.Reader) (json.RawMessage, error)
	// Addresses are the words before the colon of arguments that are addresses, such
	// as cloudwatch.
	Addresses []string
}

// Address reports whether an argument is one of the addresses.
func (t Takes) Address(arg string) bool {
	word, _, ok := strings.Cut(arg, ":")
	return ok && slices.Contains(t.Addresses, word)
}

// Check refuses a number of arguments that the question cannot have.
func (t Takes) Check(n int) error {
	what := "run, campaign or file"
	if t.Named {
		what = "name of an experiment, or a file"
	}
	switch {
	case n < t.Least && n == 0:
		return fmt.Errorf("%w: give a %s; `scalebench runs` lists the runs", model.ErrUsage, what)
	case n < t.Least:
		return fmt.Errorf("%w: %s given, and the question needs %d; give another %s", model.ErrUsage, num.Count(n, "source"), t.Least, what)
	case t.Most > 0 && n > t.Most:
		return fmt.Errorf("%w: %s given; give at most %d", model.ErrUsage, num.Count(n, "source"), t.Most)
	}
	return nil
}

// FileLike reports whether the name of a source looks like that of a file, and like
// none that is stored.
func FileLike(name string) bool {
	return name == "-" || strings.ContainsRune(name, filepath.Separator) || slices.Contains(fileEndings, strings.ToLower(filepath.Ext(name)))
}

var fileEndings = []string{".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".gz", ".zst"}

// OfRun is a run as a source: for an answer at the end of a run whose file names
// the study.
func OfRun(run *observe.Run) Source {
	return Source{Name: run.Title(), Frames: run.Frames()}
}

// Source is measurements that a user has named.
type Source struct {
	// Name is what the user wrote, or what it stands for: a file, the name of a
	// run or of a campaign.
	Name string `json:"name"`
	// Frames are one a metric. Rows of runs and campaigns have the facts of their
	// nodes at that time.
	Frames []frame.Frame `json:"frames"`
	// Told is what was guessed or left out while the source was read, for people:
	// "the values are in column score".
	Told []string `json:"told,omitempty"`
	// Own is what [Takes.Read] made of it, which the platform never reads; Run is a
	// stored run, for studies that read their sources themselves.
	Own json.RawMessage `json:"own,omitempty"`
	Run *observe.Run    `json:"-"`
}
