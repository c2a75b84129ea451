// Package answer asks studies about stored runs, where the store is: what
// travels to a command are answers and documents, never raw data.
//
//  1. A [Question] names a study, a run, and the parameters that flags set.
//  2. [Asker.Answer] takes the parameters of the run's file where that asks the
//     same question, puts the flags over them, and lets the study analyse.
//  3. [Asker.Page] puts what all studies have to say of a run, and the run
//     itself, into one document.
package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/study"
)

// Question is what a command asks.
type Question struct {
	Study string `json:"study"`
	// Run is what [store.Reader.Run] takes; empty: none.
	Run string `json:"run,omitempty"`
	// More are further runs of a question about several (study.Kind.Several); there
	// each, the first included, may have a name before it: ec2=RUN.
	More []string `json:"more,omitempty"`
	// Table replaces the run as the source; nil: none.
	Table *Table `json:"table,omitempty"`
	// Sources are what studies of measurements are asked about (study.Kind.Takes),
	// instead of Run and Table.
	Sources []Source `json:"sources,omitempty"`
	// Params are the parameters that the user has given, by their JSON keys.
	Params map[string]json.RawMessage `json:"params,omitempty"`
	// Bare: the result is wanted without its document.
	Bare bool `json:"bare,omitempty"`
	// Progress is study.Input.Progress, of questions that are answered here.
	Progress func(done, of int) `json:"-"`
}

// Table is a file that the user has.
type Table struct {
	Name string `json:"name"`
	Data []byte `json:"data"`
}

// Answer is what a study says.
type Answer struct {
	Study    string          `json:"study,omitempty"`
	Result   json.RawMessage `json:"result"`
	Document *doc.Document   `json:"document"`
	Gate     *Gate           `json:"gate,omitempty"` // nil: nothing speaks against it
}

// Gate is the error by which a command ends.
type Gate struct {
	Threshold bool   `json:"threshold"`         // model.ErrThreshold; otherwise model.ErrInvalid
	Nothing   bool   `json:"nothing,omitempty"` // or, of that, model.ErrNothing
	Text      string `json:"text"`
}

// Error implements error.
func (g *Gate) Error() string { return g.Text }

// Unwrap gives the kind of error.
func (g *Gate) Unwrap() error {
	switch {
	case g.Threshold:
		return model.ErrThreshold
	case g.Nothing:
		return model.ErrNothing
	}
	return model.ErrInvalid
}

// Err is the gate as an error, nil if it passed or there is none.
func (a Answer) Err() error { return Worst(a) }

// Worst is the error with which a command with these answers ends: a missed
// threshold takes precedence over an unknown verdict.
func Worst(answers ...Answer) error {
	var worst *Gate
	for _, a := range answers {
		if g := a.Gate; g != nil && (worst == nil || g.Threshold && !worst.Threshold) {
			worst = g
		}
	}
	if worst == nil {
		return nil
	}
	return worst
}

// Store is what an asker reads.
type Store interface {
	store.Reader
	store.Columns
	store.CampaignReader
}

// Asker answers questions from a store.
type Asker struct {
	Store   Store
	Kinds   experiment.Kinds
	Version string // of scalebench, for documents
	Now     func() time.Time
}

// Answer answers one question. A study that this binary does not know, a
// parameter that is not possible, or a run without what the study needs is a
// model.ErrUsage.
func (a Asker) Answer(ctx context.Context, q Question) (Answer, error) {
	kind, ok := a.Kinds.Studies.Find(q.Study)
	if !ok {
		return Answer{}, fmt.Errorf("%w: unknown study %q", model.ErrUsage, q.Study)
	}
	if len(q.Sources) > 0 {
		return a.askStored(ctx, kind, q)
	}
	if q.Run == "" && q.Table == nil && !kind.Optional {
		return Answer{}, fmt.Errorf("%w: %s needs a run; `scalebench runs` lists them", model.ErrUsage, kind.Name)
	}
	switch {
	case q.Run == "" && q.Table != nil:
		return withoutRun(ctx, kind, q, a.open, q.Table.Name, bytes.NewReader(q.Table.Data))
	case q.Run == "":
		return withoutRun(ctx, kind, q, a.open, "", nil)
	}
	name, run, err := opener(a.open).named(ctx, kind, q.Run)
	if err != nil {
		return Answer{}, err
	}
	runs, err := a.reading(run)
	if err == nil {
		err = runs.several(ctx, kind, name, q.More)
	}
	if err != nil {
		return Answer{}, err
	}
	s, err := a.startingPoint(run.Run().Asked, kind)
	if err == nil {
		err = Set(a.Kinds.Studies, s, q.Params)
	}
	if err != nil {
		return Answer{}, err
	}
	found, err := s.Answer(ctx, runs.input())
	if err != nil {
		return Answer{}, byFlag(s, err)
	}
	return of(kind, found, q.Bare, runs)
}

// ErrStored is why [WithoutRun] has no answer to a question with parameters
// that name runs: they are answered where the store is, by [Asker.Answer].
var ErrStored = errors.New("the question is about a stored run")

// WithoutRun answers a question without a run: from a table, or from the
// parameters alone if table is nil.
func WithoutRun(ctx context.Context, kind study.Kind, q Question, name string, table io.Reader) (Answer, error) {
	return withoutRun(ctx, kind, q, func(context.Context, string) (*observe.Run, error) { return nil, ErrStored }, name, table)
}

func withoutRun(ctx context.Context, kind study.Kind, q Question, open opener, name string, table io.Reader) (Answer, error) {
	s := kind.New()
	if err := Set(study.Registry{kind}, s, q.Params); err != nil {
		return Answer{}, err
	}
	runs := &reading{open: open}
	in := runs.input()
	if table != nil {
		if !kind.Table {
			return Answer{}, fmt.Errorf("%w: %s cannot read tables; give it a run", model.ErrUsage, kind.Name)
		}
		in.Table = &study.Table{Name: name, Reader: table}
	}
	found, err := s.Answer(ctx, in)
	if err != nil {
		return Answer{}, byFlag(s, err)
	}
	return of(kind, found, q.Bare, runs)
}

// of puts an answer into a form that travels, with what makes the runs doubtful
// that it rests on.
func of(kind study.Kind, found *study.Answer, bare bool, runs *reading) (Answer, error) {
	fill(kind, found, runs.caveats())
	result, err := encode(found.Result)
	if err != nil {
		return Answer{}, fmt.Errorf("encoding the result: %w", err)
	}
	out := Answer{Study: kind.Name, Result: result}
	if !bare {
		out.Document = found.Document()
	}
	if err := found.Gate; err != nil {
		out.Gate = &Gate{Threshold: errors.Is(err, model.ErrThreshold), Nothing: errors.Is(err, model.ErrNothing), Text: err.Error()}
	}
	return out, runs.err()
}

// encode is json.Marshal that leaves "<", ">" and "&" as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// Set puts given parameters over those of a study, one of all that there are,
// and validates them: what it does not take is a model.ErrUsage.
func Set(all study.Registry, s study.Study, params map[string]json.RawMessage) error {
	err := experiment.Fill(study.Parameters(s), params, all)
	if err == nil {
		_, err = s.Check()
	}
	if err == nil || errors.Is(err, model.ErrUsage) {
		return byFlag(s, err)
	}
	return fmt.Errorf("%w: %w", model.ErrUsage, err)
}

// byFlag names parameters that are wrong by their flags: that is how the user
// gave them.
func byFlag(s study.Study, err error) error {
	var several interface{ Unwrap() []error }
	var p *model.InputError
	switch {
	case errors.As(err, &several):
		for _, one := range several.Unwrap() {
			_ = byFlag(s, one) // the same error, which now has another name in it
		}
	case errors.As(err, &p) && p.File == "" && p.Path != "":
		for _, field := range reflect.VisibleFields(reflect.TypeOf(study.Parameters(s)).Elem()) {
			key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if flag, _, _ := strings.Cut(field.Tag.Get("flag"), ","); flag != "" && key == p.Path {
				p.Flag, p.Path = "--"+flag, ""
			}
		}
	}
	return err
}

func (a Asker) open(ctx context.Context, name string) (*observe.Run, error) {
	run, err := a.Store.Run(ctx, name)
	if err != nil {
		return nil, err
	}
	return observe.Open(ctx, a.Store, run.ID)
}

// startingPoint is a study with the parameters of a run's file, where that asks
// the same question, and defaults else.
func (a Asker) startingPoint(asked model.Asked, kind study.Kind) (study.Study, error) {
	if params, ok := asked.Params[kind.Name]; ok {
		return kind.Decode(params)
	}
	return kind.New(), nil
}

// common are the parameters of a run's file that several questions read.
func (a Asker) common(asked model.Asked) (study.Common, error) {
	for _, kind := range a.Kinds.Studies {
		s, err := a.startingPoint(asked, kind)
		if err != nil {
			return study.Common{}, err
		}
		if field := reflect.ValueOf(study.Parameters(s)).Elem().FieldByName("Common"); field.IsValid() {
			if common, ok := reflect.TypeAssert[study.Common](field); ok {
				return common, nil
			}
		}
	}
	return study.Common{}, nil
}
