package corpus

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/cli"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/frame/files"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// file is a table as a user has it.
type file struct{ name, text string }

// question is one case: a study, its parameters, and what it is asked about.
type question struct {
	name   string // "cdi/degraded"
	study  string
	params string // a JSON object; empty: none
	// runs are stored, the newest last. The question is about the first, unless
	// sources says something else; more are those that it is about beside that.
	runs      []model.RunData
	more      []string
	as        string // the name of the first among several runs
	campaigns []campaign
	sources   []string // names of what is stored
	files     []file   // sources that are tables, those of the parameters last
	table     *file    // of --csv
	bare      bool     // it is about no run
	// show is a page that no study answers; nil: the study does.
	show func() (result any, d *doc.Document, err error)
}

// ask answers as the command of the study does.
func (q question) ask(ctx context.Context) (answer.Answer, error) {
	if q.show != nil {
		result, d, err := q.show()
		if err != nil {
			return answer.Answer{}, err
		}
		text, err := json.Marshal(result)
		return answer.Answer{Study: q.study, Result: text, Document: d}, err
	}
	kind, ok := cli.Studies().Find(q.study)
	if !ok {
		return answer.Answer{}, fmt.Errorf("no study %q", q.study)
	}
	ask := answer.Question{Study: q.study, More: q.more}
	if q.params != "" {
		if err := json.Unmarshal([]byte(q.params), &ask.Params); err != nil {
			return answer.Answer{}, err
		}
	}
	asker := answer.Asker{Store: &shelf{runs: q.runs, campaigns: q.campaigns}, Kinds: cli.Kinds(), Version: "v0",
		Now: func() time.Time { return simulated.Epoch }}
	switch {
	case len(q.files) > 0:
		return q.askFiles(ctx, kind, ask)
	case len(q.sources) > 0:
		for _, name := range q.sources {
			ask.Sources = append(ask.Sources, answer.Source{Source: study.Source{Name: name}, Stored: true})
		}
		return asker.Answer(ctx, ask)
	case q.table != nil && len(q.runs) == 0:
		return answer.WithoutRun(ctx, kind, ask, q.table.name, strings.NewReader(q.table.text))
	case q.table != nil: // the parameters name a run
		ask.Table = &answer.Table{Name: q.table.name, Data: []byte(q.table.text)}
		return asker.Answer(ctx, ask)
	case q.bare || len(q.runs) == 0:
		return asker.Answer(ctx, ask)
	}
	ask.Run = string(q.runs[0].Run.ID)
	if q.as != "" {
		ask.Run = q.as + "=" + ask.Run
	}
	return asker.Answer(ctx, ask)
}

// askFiles reads the tables, and asks about them.
func (q question) askFiles(ctx context.Context, kind study.Kind, ask answer.Question) (answer.Answer, error) {
	s := kind.New()
	if err := answer.Set(study.Registry{kind}, s, ask.Params); err != nil {
		return answer.Answer{}, err
	}
	if kind.Takes == nil {
		return answer.Answer{}, fmt.Errorf("study %s takes no tables", kind.Name)
	}
	takes := kind.Takes(s)
	choice := takes.Choice
	for i, f := range q.files {
		choice.Beside = i >= len(q.files)-len(takes.Also)
		var err error
		x, in := study.Source{Name: f.name}, strings.NewReader(f.text)
		if takes.Read != nil {
			x.Own, err = takes.Read(ctx, f.name, in)
		} else {
			x.Frames, x.Told, err = files.Read(ctx, f.name, in, choice, files.Limits{})
		}
		if err != nil {
			return answer.Answer{}, err
		}
		ask.Sources = append(ask.Sources, answer.Source{Source: x})
	}
	return answer.Ask(ctx, kind, ask)
}
