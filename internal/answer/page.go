package answer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/record"
	"github.com/scalebench/scalebench/internal/study"
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
	for _, t := range told {
		add(page, t.result.Document())
	}
	if page.Answer == "" {
		page.Answer = record.State(run)
	}
	page.Warnings = append(page.Warnings, record.Warnings(run)...)
	addSections(page, record.Sections(run))
	if i := slices.IndexFunc(page.Sections, func(s doc.Section) bool { return s.ID == doc.Reading }); i >= 0 {
		reading := page.Sections[i] // how to read a page stands at its end
		page.Sections = append(slices.Delete(page.Sections, i, i+1), reading)
	}
	page.Footer = fmt.Sprintf("Made by scalebench %s on %s. This page is self-contained and loads nothing.",
		a.Version, time.Now().UTC().Format("2006-01-02 15:04:05 MST"))
	return page, run.Err()
}

// add appends what a study says to a page. A warning of several is said once.
func add(page, d *doc.Document) {
	if page.Answer == "" {
		page.Answer, page.Verdict = d.Answer, cmp.Or(page.Verdict, d.Verdict)
	} else if d.Answer != "" {
		page.More = append(page.More, d.Answer)
	}
	page.More = append(page.More, d.More...)
	for _, w := range d.Warnings {
		if !slices.ContainsFunc(page.Warnings, func(x doc.Warning) bool { return x.Text == w.Text }) {
			page.Warnings = append(page.Warnings, w)
		}
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

// told is what one study says of a run.
type told struct {
	kind   study.Kind
	result study.Result
}

// everything wants to hear every study.
func everything(study.Kind) bool { return true }

// tell asks the study that a run's file names, or every study that has
// something to say of the run, in the order of the registry, of those that are
// wanted. params are given to each study that is asked; where none of those is, to the first that they are
// meant for, which then says why not.
func (a Asker) tell(ctx context.Context, run *observe.Run, params Params, wanted func(study.Kind) bool) ([]told, error) {
	named := a.studyOf(run.Run())
	asks := func(k study.Kind) bool {
		if !wanted(k) {
			return false
		}
		if named != nil {
			return k.Name == named.Kind
		}
		return k.Tells != nil && k.Tells(run)
	}
	given := func(k study.Kind) bool { return len(params[k.Name]) > 0 }
	kinds := slices.DeleteFunc(slices.Clone(a.Kinds.Studies), func(k study.Kind) bool { return !asks(k) })
	if len(params) > 0 && !slices.ContainsFunc(kinds, given) {
		if named != nil {
			return nil, fmt.Errorf("%w: run %s belongs to the study %s, which has no such threshold; leave it out", model.ErrUsage, run.Run().ID, named.Kind)
		}
		i := slices.IndexFunc(a.Kinds.Studies, given)
		if i < 0 {
			return nil, fmt.Errorf("%w: this server does not know the study of this threshold", model.ErrUsage)
		}
		kinds = append(kinds, a.Kinds.Studies[i])
	}
	var out []told
	for _, kind := range kinds {
		s := kind.New()
		if named != nil {
			s = named.Study
		}
		if err := Set(a.Kinds.Studies, s, params[kind.Name]); err != nil {
			return nil, err
		}
		r, err := s.Analyze(ctx, study.Input{Run: run, Open: a.open})
		switch {
		case errors.Is(err, model.ErrUsage) && !given(kind):
			continue // the run holds nothing for it
		case err != nil:
			return nil, err
		}
		out = append(out, told{kind, r})
	}
	return out, nil
}

// Findings are what a run has found, study by study, for a command that follows
// it to its end.
func (a Asker) Findings(ctx context.Context, name string, params Params) ([]Answer, error) {
	run, err := a.open(ctx, name)
	if err != nil {
		return nil, err
	}
	all, err := a.tell(ctx, run, params, everything)
	if err != nil {
		return nil, err
	}
	var out []Answer
	for _, t := range all {
		one, err := of(t.result, false)
		if err != nil {
			return nil, err
		}
		one.Study = t.kind.Name
		out = append(out, one)
	}
	if len(out) > 0 {
		warn(out[0].Document, run)
	}
	return out, run.Err()
}

// Show is a run in brief, with what studies that decide as they go have found
// so far. Its gate is of the thresholds that were given, and nil without any.
func (a Asker) Show(ctx context.Context, name string, params Params) (Answer, error) {
	run, err := a.open(ctx, name)
	if err != nil {
		return Answer{}, err
	}
	all, err := a.tell(ctx, run, params, func(k study.Kind) bool { return k.Shown || len(params[k.Name]) > 0 })
	if err != nil {
		return Answer{}, err
	}
	v := record.NewOverview(run)
	out := Answer{Document: v.Document()}
	var held []Answer
	for _, t := range all {
		one, err := of(t.result, !t.kind.Shown)
		if err != nil {
			return Answer{}, err
		}
		if len(params[t.kind.Name]) > 0 {
			held = append(held, one)
		}
		if t.kind.Shown {
			v.Searches = one.Result
			if !bytes.HasPrefix(v.Searches, []byte("[")) {
				v.Searches = slices.Concat([]byte("["), v.Searches, []byte("]"))
			}
			add(out.Document, one.Document)
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
