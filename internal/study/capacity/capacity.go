// Package capacity answers what load a server takes under a service-level
// agreement (SLA).
//
// The way of a search:
//
//  1. Generators offer a load for a window ([load.Window]); the workload load
//     records it, and the windows of several generators are added up count by
//     count.
//  2. The SLA says whether the window kept it. An operation that failed, was
//     dropped or did not end counts as slower than any limit.
//  3. A window counts only if it says something about the target. One that
//     failed because the generators were late is repeated, and so is one during
//     which the path to the target was another ([Config.Review]).
//  4. What counts goes to a search algorithm (package search), which names the
//     next load; [Study.Design] makes it the next treatment.
//  5. In the end [Answer] says between which loads the boundary lies, how sure
//     that is, and what was at its limit: the target, the path, or the
//     generators, and then no capacity is reported.
//
// Everything is computed from the windows, so that a search can be continued,
// or judged anew, from what is stored. The method is that of the
// black-box throughput paper (docs/capacity.md), corrected as
// docs/capacity-search.md says.
package capacity

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/unit"
)

// Study is the question with its parameters. What is searched, and how, is up
// to the workloads.
type Study struct {
	FailBelow *unit.Rate `json:"fail_below,omitempty" flag:"fail-below" unit:"op/s" jsonschema_description:"Exit code 3 if the server takes less than this many requests per second, 4 if that is uncertain."`
}

// Kind describes the study.
func Kind() study.Kind {
	return study.Kind{
		Name:    "capacity",
		Summary: "find the load that a server takes while it keeps an SLA",
		Long:    long, Example: example,
		Phases: []model.Phase{model.Search}, Shown: true, Tells: func(run *observe.Run) bool { return run.Has(model.Search) },
		New: func() study.Study { return &Study{} },
	}
}

var _ study.Designer = (*Study)(nil)

// Validate implements study.Study.
func (s *Study) Validate() error {
	if r := s.FailBelow; r != nil && (r.Base != unit.Operations || !(r.Value > 0)) {
		return &model.InputError{Path: "fail_below", Problem: r.String() + " is not a rate of requests", Allowed: "use operations per second above 0, such as 2000op/s"}
	}
	return nil
}

// Analyze implements study.Study.
func (s *Study) Analyze(_ context.Context, in study.Input) (study.Result, error) {
	searches, err := searchesOf(in.Run)
	if err != nil {
		return nil, err
	}
	if len(searches) == 0 && s.FailBelow != nil {
		return nil, fmt.Errorf("%w: --fail-below needs a capacity, but run %s searches for none; leave it out", model.ErrUsage, in.Run.Run().ID)
	}
	r := &Result{Searches: searches}
	if s.FailBelow != nil {
		r.least = s.FailBelow.Value
	}
	return r, nil
}

// Result is what the searches of a run have found.
type Result struct {
	Searches []Search
	least    float64 // that the user accepts; 0: any
}

// MarshalJSON implements json.Marshaler: the [Record] of the only search, or an
// array of them.
func (r *Result) MarshalJSON() ([]byte, error) {
	records := make([]Record, len(r.Searches))
	for i, s := range r.Searches {
		records[i] = s.Record()
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	var err error
	if len(records) == 1 {
		err = enc.Encode(records[0])
	} else {
		err = enc.Encode(records)
	}
	if err != nil {
		return nil, fmt.Errorf("encoding what was found: %w", err)
	}
	return b.Bytes(), nil
}
