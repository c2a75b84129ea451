package answer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/campaign"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/study"
)

// Source is one of the sources that a question is about.
type Source struct {
	study.Source
	// Stored: it is in the store, by its name. Otherwise its frames were read
	// where the command runs.
	Stored bool `json:"stored,omitempty"`

	id string // of what was found in the store
}

// Ask answers a question about sources that are all here.
func Ask(ctx context.Context, kind study.Kind, q Question) (Answer, error) {
	nothing := func(context.Context, *Source, study.Takes) error { return ErrStored }
	return ask(ctx, kind, study.Registry{kind}, kind.New(), q, nothing)
}

// ask lets a study answer from sources; find fills one that is stored.
func ask(ctx context.Context, kind study.Kind, all study.Registry, s study.Study, q Question,
	find func(context.Context, *Source, study.Takes) error,
) (Answer, error) {
	if kind.Takes == nil {
		return Answer{}, fmt.Errorf("%w: %s is about one run", model.ErrUsage, q.Study)
	}
	if err := Set(all, s, q.Params); err != nil {
		return Answer{}, err
	}
	takes := kind.Takes(s)
	if err := takes.Check(len(q.Sources) - len(takes.Also)); err != nil {
		return Answer{}, err
	}
	sources, ids := make([]study.Source, len(q.Sources)), make([]string, len(q.Sources))
	for i, x := range q.Sources {
		if x.Stored {
			if err := find(ctx, &x, takes); err != nil {
				return Answer{}, err
			}
		}
		sources[i], ids[i] = x.Source, x.id
	}
	tellApart(sources, ids)
	found, err := s.Answer(ctx, study.Input{Sources: sources, Progress: q.Progress})
	if err != nil {
		return Answer{}, byFlag(s, err)
	}
	return of(kind, found, q.Bare, &reading{})
}

// askStored answers a question about sources of which some are stored. The
// parameters are those of the source's file where the only one is a run or a
// campaign that asks the same question.
func (a Asker) askStored(ctx context.Context, kind study.Kind, q Question) (Answer, error) {
	s, heeded := kind.New(), false
	if kind.Takes != nil && !kind.Takes(s).Named && len(q.Sources) == 1 && q.Sources[0].Stored {
		if x, err := a.lookUp(ctx, q.Sources[0].Name); err == nil {
			asked := x.asked()
			if s, err = a.startingPoint(asked, kind); err != nil {
				return Answer{}, err
			}
			heeded = asked.Study == kind.Name
			if q.Sources, err = a.also(kind, s, q); err != nil {
				return Answer{}, err
			}
		}
	}
	return ask(ctx, kind, a.Kinds.Studies, s, q, func(ctx context.Context, x *Source, takes study.Takes) error {
		err := a.find(ctx, x, takes)
		if err != nil || takes.Named || heeded {
			return err
		}
		unheeded, err := a.unheeded(ctx, x.id)
		x.Told = append(x.Told, unheeded...)
		return err
	})
}

// unheeded says which thresholds the file of a run or a campaign has for a question
// that is not the one asked.
func (a Asker) unheeded(ctx context.Context, id string) ([]string, error) {
	x, err := a.lookUp(ctx, id)
	if err != nil {
		return nil, err
	}
	asked, name := x.asked(), x.sourceName()
	kind, ok := a.Kinds.Studies.Find(asked.Study)
	if !ok {
		return nil, nil
	}
	named, err := a.startingPoint(asked, kind)
	if err != nil {
		return nil, err
	}
	keys := study.Thresholds(named)
	if len(keys) == 0 {
		return nil, nil
	}
	if x.campaign != nil && kind.Takes == nil {
		id = "RUN"
	}
	return []string{fmt.Sprintf("the threshold study.%s of %s is not heeded here: it is about `scalebench %s %s`",
		num.List(keys), cmp.Or(name, "its file"), kind.Name, id)}, nil
}

// stored is a run or a campaign that is stored; the other is nil.
type stored struct {
	run      *model.Run
	campaign *model.Campaign
}

// asked is the question of its file, sourceName the file's name.
func (x stored) asked() model.Asked {
	if x.campaign != nil {
		return x.campaign.Asked
	}
	return x.run.Asked
}

func (x stored) sourceName() string {
	if x.campaign != nil {
		return x.campaign.SourceName
	}
	return x.run.SourceName
}

// lookUp finds a run or a campaign: a campaign by its whole name or id before a
// run by the beginning of its id, and the younger one as "latest".
func (a Asker) lookUp(ctx context.Context, name string) (stored, error) {
	c, err := a.Store.Campaign(ctx, name)
	if err != nil && !errors.Is(err, model.ErrNotFound) && !errors.Is(err, model.ErrUsage) {
		return stored{}, err
	}
	found := err == nil
	if found && (c.Name == name || strings.EqualFold(string(c.ID), name)) {
		return stored{campaign: &c}, nil
	}
	run, runErr := a.Store.Run(ctx, name)
	short := errors.Is(runErr, model.ErrUsage) && len(name) < 4
	switch {
	case runErr == nil && found && name == "latest" && c.Created.After(run.Created):
		return stored{campaign: &c}, nil
	case runErr == nil && run.Name == name && !strings.HasPrefix(string(run.ID), strings.ToUpper(name)):
		return a.named(ctx, run)
	case runErr == nil:
		return stored{run: &run}, nil
	case !short && !errors.Is(runErr, model.ErrNotFound):
		return stored{}, runErr
	case found:
		return stored{campaign: &c}, nil
	case errors.Is(err, model.ErrUsage): // the beginning of several ids
		return stored{}, err
	}
	return stored{}, notStored(name)
}

// notStored says what to give instead of a name that is of no source.
func notStored(name string) error {
	return fmt.Errorf("%w: %q is no file here, and no run or campaign that is stored; `scalebench runs` and `scalebench campaign list` list those", model.ErrUsage, name)
}

// named is the run of a name, which must be its alone: which of several is measured
// against others must not depend on which is the newest.
func (a Asker) named(ctx context.Context, run model.Run) (stored, error) {
	list, err := a.Store.Runs(ctx, store.Filter{Name: run.Name, WithoutRepetitions: true})
	if err != nil {
		return stored{}, err
	}
	n := 0
	for _, r := range list.Runs {
		if r.Name == run.Name { // the filter lets parts of names through
			n++
		}
	}
	if n > 1 {
		return stored{}, fmt.Errorf("%w: %q is the name of %s; give the id of one (`scalebench runs --name %s` lists them); `scalebench history %s` is about all runs of the name", model.ErrUsage, run.Name, num.Count(n, "run"), run.Name, run.Name)
	}
	return stored{run: &run}, nil
}

// also are the sources of a question about one run, with those that only the
// parameters of its file name: whoever asked does not know of them.
func (a Asker) also(kind study.Kind, s study.Study, q Question) ([]Source, error) {
	asked := kind.New()
	if err := errors.Join(Set(a.Kinds.Studies, asked, q.Params), Set(a.Kinds.Studies, s, q.Params)); err != nil {
		return nil, err
	}
	if len(kind.Takes(asked).Also) > 0 {
		return q.Sources, nil
	}
	out := slices.Clone(q.Sources)
	for _, name := range kind.Takes(s).Also {
		out = append(out, Source{Source: study.Source{Name: name}, Stored: true})
	}
	return out, nil
}

// find reads a stored source: a run, a campaign, or all runs of a name.
func (a Asker) find(ctx context.Context, x *Source, takes study.Takes) error {
	if takes.Named {
		return a.findNamed(ctx, x)
	}
	of, err := a.lookUp(ctx, x.Name)
	if err != nil {
		return err
	}
	if c := of.campaign; c != nil && takes.Read != nil {
		return fmt.Errorf("%w: %q is a campaign; give one of its runs (`scalebench campaign status %s` lists them)",
			model.ErrUsage, x.Name, x.Name)
	} else if c != nil {
		x.Name, x.id = c.Name, string(c.ID)
		x.Frames, err = a.framesOf(ctx, c.ID)
		return err
	}
	run, err := observe.Open(ctx, a.Store, of.run.ID)
	if err != nil {
		return err
	}
	x.Name, x.id = run.Title(), string(of.run.ID)
	if takes.Read != nil {
		x.Run = run
		return nil
	}
	if x.Frames, err = a.measuredIn(run); err != nil {
		return err
	}
	return run.Err()
}

// campaign is study.Input.Campaign.
func (a Asker) campaign(ctx context.Context, name string) (study.Source, error) {
	c, err := a.Store.Campaign(ctx, name)
	if errors.Is(err, model.ErrNotFound) {
		return study.Source{}, notStored(name)
	}
	if err != nil {
		return study.Source{}, err
	}
	frames, err := a.framesOf(ctx, c.ID)
	return study.Source{Name: c.Name, Frames: frames}, err
}

// measuredIn is what a run measured, with what the study of its file found in it.
func (a Asker) measuredIn(run *observe.Run) ([]frame.Frame, error) {
	var unread error
	frames, err := a.Kinds.Studies.Frames(run, func(kind study.Kind) study.Study {
		s, err := a.startingPoint(run.Run().Asked, kind)
		unread = errors.Join(unread, err)
		return s
	})
	return frames, errors.Join(unread, err)
}

// framesOf is what a campaign has measured so far. What was stored of each repetition
// are its steps; what a search in them found comes from the runs.
func (a Asker) framesOf(ctx context.Context, id model.CampaignID) ([]frame.Frame, error) {
	frames, err := campaign.Frames(ctx, a.Store, id)
	if err != nil || !slices.ContainsFunc(frames, func(f frame.Frame) bool {
		return f.Phase == model.Search && !f.Info
	}) {
		return frames, err
	}
	for i := range frames {
		frames[i].Info = frames[i].Info || frames[i].Phase == model.Search
	}
	reps, err := a.Store.Repetitions(ctx, id, 1, 0)
	if err != nil {
		return nil, err
	}
	doubts, ran := make(frame.Tallies), 0
	for _, rep := range reps {
		if rep.State != model.RepetitionRun {
			continue
		}
		ran++
		run, err := observe.Open(ctx, a.Store, rep.Run)
		if err != nil {
			return nil, err
		}
		measured, err := a.measuredIn(run)
		if err := errors.Join(err, run.Err()); err != nil {
			return nil, err
		}
		for _, f := range measured {
			if f.Phase == model.Search && !f.Info {
				doubts.Take(strconv.Itoa(rep.Number), &f)
				f.Facts = append(slices.Clip(f.Facts),
					frame.Fact{Name: frame.FactRepetition, Levels: []string{"", strconv.Itoa(rep.Number)},
						Codes: slices.Repeat([]uint16{1}, f.Len())})
				frames = append(frames, f)
			}
		}
	}
	frames, err = frame.Join(frames...)
	doubts.Put(frames, ran, "repetition")
	return frames, err
}

// tellApart adds to names that several stored sources have what tells their ids
// apart.
func tellApart(sources []study.Source, ids []string) {
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = s.Name
	}
	for i, id := range ids {
		most := 0
		for j, other := range ids {
			if j == i || other == "" || other == id || names[i] != names[j] {
				continue
			}
			same := 0
			for same < min(len(id), len(other)) && id[same] == other[same] {
				same++
			}
			most = max(most, same+1, leastID)
		}
		if id != "" && most > 0 {
			sources[i].Name += " " + id[:min(most, len(id))]
		}
	}
}

// leastID is how many characters of an id are shown at least.
const leastID = 8

// findNamed reads all runs of a name, and the campaigns of that name.
func (a Asker) findNamed(ctx context.Context, x *Source) error {
	list, err := a.Store.Runs(ctx, store.Filter{Name: x.Name, WithoutRepetitions: true})
	if err != nil {
		return err
	}
	campaigns, err := a.Store.Campaigns(ctx)
	if err != nil {
		return err
	}
	frames, runs, doubts, err := a.ofRuns(ctx, x.Name, list.Runs)
	if err != nil {
		return err
	}
	repeated := 0
	for _, c := range campaigns {
		if c.Name != x.Name {
			continue
		}
		of, err := a.ofCampaign(ctx, c.ID)
		if err != nil {
			return err
		}
		frames, repeated = append(frames, of...), repeated+1
	}
	switch {
	case runs+repeated == 0:
		return fmt.Errorf("%w: no run or campaign is named %q; `scalebench runs` and `scalebench campaign list` list the names", model.ErrUsage, x.Name)
	case repeated > 0:
		x.Told = append(x.Told, num.Count(runs, "run")+" and "+num.Count(repeated, "campaign")+" of this name")
	default:
		x.Told = append(x.Told, num.Count(runs, "run")+" of this name")
	}
	x.Frames, err = frame.Join(frames...)
	doubts.Put(x.Frames, runs, "run")
	return err
}

// ofRuns is what the runs of a name measured, how many these are, and by metric the
// doubts of each, which are said once for all.
func (a Asker) ofRuns(ctx context.Context, name string, all []model.Run) (
	frames []frame.Frame, runs int, doubts frame.Tallies, err error,
) {
	doubts = make(frame.Tallies)
	for _, r := range all {
		if r.Name != name { // the filter lets parts of names through
			continue
		}
		run, err := observe.Open(ctx, a.Store, r.ID)
		if err != nil {
			return nil, 0, nil, err
		}
		measured, err := a.measuredIn(run)
		if err != nil {
			return nil, 0, nil, err
		}
		for _, f := range measured {
			doubts.Take(string(r.ID), &f)
			frames = append(frames, f)
		}
		runs++
		if err := run.Err(); err != nil {
			return nil, 0, nil, err
		}
	}
	return frames, runs, doubts, nil
}

// ofCampaign is what a campaign has measured so far, with the run of each repetition.
func (a Asker) ofCampaign(ctx context.Context, id model.CampaignID) ([]frame.Frame, error) {
	reps, err := a.Store.Repetitions(ctx, id, 1, 0)
	if err != nil {
		return nil, err
	}
	runs := make(map[string]string)
	for _, rep := range reps {
		runs[strconv.Itoa(rep.Number)] = string(rep.Run)
	}
	frames, err := a.framesOf(ctx, id)
	for i, f := range frames {
		frames[i] = f.WithRuns(func(number string) string { return cmp.Or(runs[number], string(id)+"/"+number) })
	}
	return frames, err
}
