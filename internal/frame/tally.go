package frame

import (
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// Tally makes one doubt of those of a kind that several runs or repetitions have.
// The zero value is empty.
type Tally struct {
	kinds []kind
	at    map[string]int
}

// Tallies are those of the frames of each metric.
type Tallies map[Key]*Tally

// Take takes the doubts out of a frame of the run or repetition of this name.
func (t Tallies) Take(of string, f *Frame) {
	if t[f.Key] == nil {
		t[f.Key] = new(Tally)
	}
	t[f.Key].Add(of, f.Doubts)
	f.Doubts = nil
}

// Put gives frames that were joined their doubts, before those that they have: see
// [Tally.Doubts].
func (t Tallies) Put(frames []Frame, all int, noun string) {
	for i := range frames {
		if tally := t[frames[i].Key]; tally != nil {
			frames[i].Doubts = append(tally.Doubts(all, noun), frames[i].Doubts...)
		}
	}
}

// kind is the first doubt of a kind, and the names of those that have such a one.
type kind struct {
	first model.Doubt
	of    []string
}

// Add adds the doubts of the run or repetition of this name.
func (t *Tally) Add(of string, doubts []model.Doubt) {
	seen := make(map[string]bool)
	for _, d := range doubts {
		key := fmt.Sprint(d.Code, " ", d.Severity, " ", d.Workload)
		if seen[key] {
			continue
		}
		seen[key] = true
		i, known := t.at[key]
		if !known {
			if t.at == nil {
				t.at = make(map[string]int)
			}
			i = len(t.kinds)
			t.at[key], t.kinds = i, append(t.kinds, kind{first: d})
		}
		t.kinds[i].of = append(t.kinds[i].of, of)
	}
}

// Doubts are one a kind: in how many of so many it is, in which, and the first as an
// example. noun is what one of them is called.
func (t *Tally) Doubts(all int, noun string) []model.Doubt {
	out := make([]model.Doubt, len(t.kinds))
	for i, k := range t.kinds {
		where := ""
		if len(k.of) < all {
			where = " (" + num.List(slices.Compact(slices.Clone(k.of))) + ")"
		}
		d := k.first
		d.Text = fmt.Sprintf("in %d of %s%s, such as: %s", len(k.of), num.Count(all, noun), where, d.Text)
		d.Steps, d.Trial = nil, 0 // those of one run
		out[i] = d
	}
	return out
}
