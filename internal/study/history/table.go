package history

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
)

// series is what is one history: the rows of one branch, each with its run.
type series struct {
	frame  *frame.Frame
	branch string // "": there is one, or none is known
	copies bool   // nothing tells runs apart but the order of rows
	doubts model.Doubts
}

// Facts of tables that have a meaning here.
const (
	factBranch = "branch"
	factCommit = "commit"
)

// allBranches is --branch for one series of all.
const allBranches = "all"

// branches are the histories in a frame: one for each branch, for what a branch tries
// is no change of the others.
func (p *Params) branches(f *frame.Frame) ([]series, error) {
	of := f.Fact(factBranch)
	if of == nil || p.Branch == allBranches {
		if p.Branch != "" && p.Branch != allBranches {
			return nil, &model.InputError{Path: "branch", Problem: "no branch is recorded of " + f.Name(),
				Allowed: "leave it out, or call the column branch"}
		}
		return []series{withRuns(f)}, nil
	}
	names, _ := of.Groups()
	unknown := slices.Contains(of.Codes, 0)
	slices.Sort(names)
	if p.Branch != "" && !slices.Contains(names, p.Branch) {
		return nil, &model.InputError{Path: "branch",
			Problem: fmt.Sprintf("nothing was measured of %s on branch %q", f.Name(), p.Branch),
			Allowed: "there is " + num.List(names)}
	}
	var out []series
	for _, name := range names {
		if p.Branch != "" && name != p.Branch {
			continue
		}
		one := withRuns(f.Where(func(row int) bool { return of.Level(row) == name }))
		if len(names) > 1 || unknown {
			one.branch = name
		}
		out = append(out, one)
	}
	if unknown && p.Branch == "" {
		out[0].doubts.Warn("no_branch", "rows that name no branch are left out; --branch all takes every row")
	}
	return out, nil
}

// withRuns is a frame in which each row has its run. Where no column says it, rows of
// one commit are one run if they lie together in time, and rows of one time are;
// without times, each row.
func withRuns(f *frame.Frame) series {
	s := series{frame: f}
	if f.Times == nil {
		s.doubts.Warn("no_times", "the rows have no times: their order is taken for that in which they were measured")
	}
	if run := f.Fact(frame.FactRun); run != nil {
		s.withoutRun(run)
		return s
	}
	if f.Fact(frame.FactRepetition) != nil {
		of := f.WithRuns(func(repetition string) string { return repetition })
		s.frame = &of
		s.withoutRun(of.Fact(frame.FactRun))
		return s
	}
	s.copies = f.Times == nil && f.Fact(factCommit) == nil
	run := frame.Fact{Name: frame.FactRun, Levels: []string{""}, Codes: make([]uint16, f.Len())}
	commit := f.Fact(factCommit)
	if commit != nil && !together(f, commit) {
		commit = nil
	}
	for i := range f.Len() {
		if beginsRun(f, commit, i) && len(run.Levels) <= frame.MostLevels {
			run.Levels = append(run.Levels, nameOfRun(f, commit, i))
		}
		run.Codes[i] = uint16(len(run.Levels) - 1) //nolint:gosec // at most MostLevels
	}
	if len(run.Levels) > frame.MostLevels { // the first is none
		s.doubts.Warn("too_many_runs",
			"there are more than %d runs: the last ones are put together; give a part of the time", frame.MostLevels)
	}
	of := *f
	of.Facts = append(slices.Clip(of.Facts), run)
	s.frame = &of
	return s
}

// withoutRun doubts a series in which rows name no run: they belong to none.
func (s *series) withoutRun(run *frame.Fact) {
	n := 0
	for _, code := range run.Codes {
		if code == 0 {
			n++
		}
	}
	if n > 0 {
		s.doubts.Warn("no_run", "%d of %s left out, for want of a run; fill in the column %s", n,
			num.Count(len(run.Codes), "row"), run.Name)
	}
}

// nameOfRun is the commit that tells runs, or else the time or the number, of the run
// that begins with a row.
func nameOfRun(f *frame.Frame, commit *frame.Fact, row int) string {
	switch {
	case commit != nil:
		return commit.Level(row)
	case f.Times != nil:
		return time.Unix(0, f.Times[row]).UTC().Format(time.RFC3339)
	}
	return strconv.Itoa(row + 1)
}

// beginsRun reports whether a run begins with a row.
func beginsRun(f *frame.Frame, commit *frame.Fact, row int) bool {
	switch {
	case row == 0:
		return true
	case commit != nil:
		return commit.Codes[row] != commit.Codes[row-1]
	}
	return f.Times == nil || f.Times[row] != f.Times[row-1]
}

// together reports whether the rows of each commit lie nearer to each other than to
// those of any other: then they are one run. A commit that is measured anew each night
// has a run each night.
func together(f *frame.Frame, commit *frame.Fact) bool {
	if f.Times == nil || slices.Contains(commit.Codes, 0) {
		return false
	}
	within, between := int64(0), int64(math.MaxInt64)
	for i := 1; i < f.Len(); i++ {
		gap := f.Times[i] - f.Times[i-1]
		if commit.Codes[i] == commit.Codes[i-1] {
			within = max(within, gap)
		} else {
			between = min(between, gap)
		}
	}
	return within < between
}

// timeOf is the time of a row; 0 without times.
func timeOf(f *frame.Frame, row int32) int64 {
	if f.Times == nil {
		return 0
	}
	return f.Times[row]
}
