package answer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/record"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/study/legacy"
)

// Page is the document of a run: what every study has to say of it, and the
// run itself. The first study gives the answer.
func (a Asker) Page(ctx context.Context, name string) (*doc.Document, error) {
	run, err := a.open(ctx, name)
	if err != nil {
		return nil, err
	}
	page := &doc.Document{Title: run.Title(), About: record.About(run)}
	told, err := a.tell(ctx, run, nil, everything)
	if err != nil {
		return nil, err
	}
	for _, x := range told.answers {
		add(page, x)
	}
	if page.Answer == "" {
		page.Answer = record.State(run)
	}
	for _, w := range append(doc.Warnings(model.Texts(told.doubts())), record.Warnings(run)...) {
		warnOnce(page, w)
	}
	legacy.DoubtDocument(page, record.NewOverview(run).Doubts)
	addSections(page, record.Sections(run))
	if i := slices.IndexFunc(page.Sections, func(s doc.Section) bool { return s.ID == doc.Reading }); i >= 0 {
		reading := page.Sections[i] // how to read a page stands at its end
		page.Sections = append(slices.Delete(page.Sections, i, i+1), reading)
	}
	page.Footer = fmt.Sprintf("Made by scalebench %s on %s. This page is self-contained and loads nothing.",
		a.Version, a.Now().UTC().Format("2006-01-02 15:04:05 MST"))
	return page, run.Err()
}

// add appends what a study says to a page. A warning of several is said once.
func add(page *doc.Document, a Answer) {
	d := a.Document
	d.Under(a.Study)
	if page.Answer == "" {
		page.Answer, page.Verdict = d.Answer, cmp.Or(page.Verdict, d.Verdict)
	} else if d.Answer != "" {
		page.More = append(page.More, d.Answer)
	}
	page.More = append(page.More, d.More...)
	for _, w := range d.Warnings {
		warnOnce(page, w)
	}
	addSections(page, d.Sections)
	if page.Data == nil {
		page.Data = d.Table()
	}
}

// Params are parameters for several studies, by the studies' names and by
// their JSON keys.
type Params map[string]map[string]json.RawMessage

// addSections puts sections into a page. What several say of one thing, such as
// a workload, stands in one section.
func addSections(page *doc.Document, sections []doc.Section) {
	for _, s := range sections {
		i := slices.IndexFunc(page.Sections, func(x doc.Section) bool {
			return s.ID != "" && x.ID == s.ID || s.Kind != "" && x.Kind == s.Kind && x.Title == s.Title
		})
		if i < 0 {
			page.Sections = append(page.Sections, s)
			continue
		}
		page.Sections[i].Blocks = slices.Concat(page.Sections[i].Blocks, s.Blocks)
	}
}

// told is what studies say of a run.
type told struct {
	answers []Answer
	// silent is why the study that the file names says nothing.
	silent error
}

// doubts are why a study that the file names is not among the answers.
func (t told) doubts() (out model.Doubts) {
	if t.silent != nil {
		out.Warn("no_answer", "the study that the run's file names has no answer: %s", model.Plain(t.silent))
	}
	return out
}

// everything wants to hear every study.
func everything(study.Kind) bool { return true }

// tell asks the study that a run's file names, or every study with a finding
// about the run, in the order of the registry, as far as they are wanted. Each
// asked study gets its params; if params match none of them, the first study
// that they match is asked too, and says why it has no answer.
func (a Asker) tell(ctx context.Context, run *observe.Run, params Params, wanted func(study.Kind) bool) (t told, err error) {
	asked := run.Run().Asked
	kinds, err := a.asked(run, asked.Study, params, wanted)
	if err != nil {
		return t, err
	}
	for _, kind := range kinds {
		s, err := a.startingPoint(asked, kind)
		if err == nil {
			err = Set(a.Kinds.Studies, s, params[kind.Name])
		}
		if err != nil {
			return t, err
		}
		runs, err := a.reading(run)
		if err != nil {
			return t, err
		}
		found, err := s.Answer(ctx, runs.input())
		switch {
		case errors.Is(err, model.ErrUsage) && len(params[kind.Name]) == 0: // the run holds nothing for it
			if asked.Study != "" {
				t.silent = err
			}
			continue
		case err != nil:
			return t, err
		}
		if asked.Study == "" && found.Silent {
			continue
		}
		one, err := of(kind, found, false, runs)
		if err != nil {
			return t, err
		}
		t.answers = append(t.answers, one)
	}
	return t, nil
}

// asked are the studies that [Asker.tell] asks.
func (a Asker) asked(run *observe.Run, named string, params Params, wanted func(study.Kind) bool) (
	[]study.Kind, error,
) {
	kinds := slices.DeleteFunc(slices.Clone(a.Kinds.Studies), func(k study.Kind) bool {
		speaks := k.Tells != nil && k.Tells(run)
		if named != "" {
			speaks = k.Name == named
		}
		return !speaks || !wanted(k)
	})
	given := func(k study.Kind) bool { return len(params[k.Name]) > 0 }
	if len(params) == 0 || slices.ContainsFunc(kinds, given) {
		return kinds, nil
	}
	if named != "" {
		return nil, fmt.Errorf("%w: run %s belongs to the study %s, which has no such threshold; leave it out",
			model.ErrUsage, run.Run().ID, named)
	}
	i := slices.IndexFunc(a.Kinds.Studies, given)
	if i < 0 {
		return nil, fmt.Errorf("%w: this server does not know the study of this threshold", model.ErrUsage)
	}
	return append(kinds, a.Kinds.Studies[i]), nil
}

// Findings are what a run has found, study by study, for a command that follows
// it to its end. A warning of several is said once.
func (a Asker) Findings(ctx context.Context, name string, params Params) ([]Answer, error) {
	run, err := a.open(ctx, name)
	if err != nil {
		return nil, err
	}
	told, err := a.tell(ctx, run, params, everything)
	if err != nil {
		return nil, err
	}
	if told.silent != nil {
		return nil, told.silent
	}
	said := make(map[string]bool)
	for _, x := range told.answers {
		x.Document.Warnings = slices.DeleteFunc(x.Document.Warnings, func(w doc.Warning) bool { return said[w.Text] })
		for _, w := range x.Document.Warnings {
			said[w.Text] = true
		}
	}
	return told.answers, run.Err()
}

// Show is a run in brief, with what studies that decide as they go have found
// so far. Its gate is of the thresholds that were given, and nil without any.
func (a Asker) Show(ctx context.Context, name string, params Params) (Answer, error) {
	run, err := a.open(ctx, name)
	if err != nil {
		return Answer{}, err
	}
	told, err := a.tell(ctx, run, params, func(k study.Kind) bool { return k.Shown || len(params[k.Name]) > 0 })
	if err != nil {
		return Answer{}, err
	}
	v := record.NewOverview(run)
	v.Findings = make(map[string]json.RawMessage)
	v.Doubts = slices.Concat(told.doubts(), v.Doubts)
	v.Warnings = model.Texts(v.Doubts)
	out := Answer{Document: v.Document()}
	legacy.DoubtTable(out.Document.Data, v.Doubts)
	var held []Answer
	for _, x := range told.answers {
		if len(params[x.Study]) > 0 {
			held = append(held, x)
		}
		if kind, _ := a.Kinds.Studies.Find(x.Study); kind.Shown {
			v.Findings[kind.Name] = x.Result
			add(out.Document, x)
		}
	}
	if gate := Worst(held...); gate != nil {
		errors.As(gate, &out.Gate)
	}
	if out.Result, err = json.Marshal(v); err != nil {
		return Answer{}, fmt.Errorf("encoding run %s: %w", run.Run().ID, err)
	}
	return out, run.Err()
}
