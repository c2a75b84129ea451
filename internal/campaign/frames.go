package campaign

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/store"
)

// Source is where campaigns are read.
type Source interface {
	observe.Source
	store.CampaignReader
}

// Condense stores in brief what a repetition measured. It can be computed again
// from the run at any time.
func Condense(ctx context.Context, st store.Store, rep model.Repetition) error {
	frames, err := ofRun(ctx, st, rep)
	if err != nil {
		return err
	}
	data, err := json.Marshal(frames)
	if err != nil {
		return fmt.Errorf("condensing repetition %d: %w", rep.Number, err)
	}
	return st.PutMeasured(ctx, rep.Campaign, rep.Number, data)
}

// ofRun is what the run of a repetition measured.
func ofRun(ctx context.Context, st Source, rep model.Repetition) ([]frame.Frame, error) {
	run, err := observe.Open(ctx, st, rep.Run)
	if err != nil {
		return nil, err
	}
	frames := run.Frames()
	return frames, run.Err()
}

// Frames is what a campaign has measured so far: the rows of all repetitions,
// with the number of each as a fact. Doubts of one kind are one, with the number
// of repetitions that have it.
func Frames(ctx context.Context, st Source, id model.CampaignID) ([]frame.Frame, error) {
	reps, err := st.Repetitions(ctx, id, 1, 0)
	if err != nil {
		return nil, err
	}
	ran := make(map[int]model.Repetition, len(reps))
	for _, rep := range reps {
		if rep.State == model.RepetitionRun {
			ran[rep.Number] = rep
		}
	}
	all := gathered{doubts: make(frame.Tallies), facts: make(map[string]frame.Fact)}
	rest := maps.Clone(ran) // under way, or not yet condensed as it is today
	for m, err := range st.Measured(ctx, id) {
		if err != nil {
			return nil, err
		}
		if _, ok := ran[m.Number]; !ok {
			continue
		}
		frames, err := all.read(m.Data)
		if err != nil {
			return nil, fmt.Errorf("reading what repetition %d measured: %w", m.Number, err)
		}
		if err := all.add(m.Number, frames); err != nil {
			return nil, err
		}
		delete(rest, m.Number)
	}
	for _, number := range slices.Sorted(maps.Keys(rest)) {
		frames, err := ofRun(ctx, st, rest[number])
		if err == nil {
			err = all.add(number, frames)
		}
		if err != nil {
			return nil, fmt.Errorf("reading repetition %d: %w", number, err)
		}
	}
	out, err := all.joiner.Frames()
	all.doubts.Put(out, len(ran), "repetition")
	return out, err
}

// gathered is what repetitions measured.
type gathered struct {
	joiner frame.Joiner
	doubts frame.Tallies
	facts  map[string]frame.Fact // by their JSON
}

// read reads what is stored of a repetition. Most facts are those of other
// repetitions, too: of a year of them it takes half as long to read each once.
func (g *gathered) read(data []byte) ([]frame.Frame, error) {
	var stored []struct {
		frame.Frame

		Facts []json.RawMessage `json:"facts"`
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		return nil, err
	}
	out := make([]frame.Frame, len(stored))
	for i, f := range stored {
		out[i] = f.Frame
		for _, text := range f.Facts {
			fact, known := g.facts[string(text)]
			if !known {
				if err := json.Unmarshal(text, &fact); err != nil {
					return nil, err
				}
				g.facts[string(text)] = fact
			}
			out[i].Facts = append(out[i].Facts, fact)
		}
	}
	return out, nil
}

func (g *gathered) add(number int, frames []frame.Frame) error {
	for _, f := range frames {
		g.doubts.Take(strconv.Itoa(number), &f)
		f = withRepetition(f, number)
		if err := g.joiner.Add(&f); err != nil {
			return err
		}
	}
	return nil
}

// withRepetition adds the number of the repetition as a fact, in the place of its
// run: two names of one thing.
func withRepetition(f frame.Frame, number int) frame.Frame {
	f.Facts = slices.DeleteFunc(f.Facts, func(x frame.Fact) bool { return x.Name == frame.FactRun })
	x := frame.NewFact(frame.FactRepetition)
	for range f.Len() {
		x.Append(strconv.Itoa(number))
	}
	f.Facts = append(f.Facts, x.Fact())
	return f
}
