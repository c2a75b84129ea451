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
	"errors"
	"fmt"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/search"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/internal/unit"
)

// Study is the question with its parameters. Those with the tag at may stand at a
// workload: there they hold for that workload alone.
type Study struct {
	SLA        string     `json:"sla,omitempty" flag:"sla" at:"load" jsonschema_description:"Required: what the server must keep: p90=150ms, or several: p99=500ms,errors=0.1%. Latencies count from when requests were due. Without errors= at most 1 % may fail."`
	Start      *unit.Rate `json:"start,omitempty" flag:"start" unit:"op/s" at:"load" jsonschema_description:"First load, in operations per second (default 100op/s, or the nearest that min and max allow)."`
	Min        *unit.Rate `json:"min,omitempty" flag:"min" unit:"op/s" at:"load" jsonschema_description:"Smallest load allowed (default 1op/s, or start or max where that is less)."`
	Max        *unit.Rate `json:"max,omitempty" flag:"max" unit:"op/s" at:"load" jsonschema_description:"Largest load allowed, such as 50kop/s (default 1Mop/s)."`
	Resolution float64    `json:"resolution" flag:"resolution" at:"load" jsonschema:"minimum=0.001,maximum=0.5" jsonschema_description:"Largest relative distance of the passed and the failed load at the end."`
	Windows    int        `json:"windows" flag:"windows" at:"load" jsonschema:"minimum=5,maximum=1000" jsonschema_description:"Largest number of windows that count."`
	Algorithm  string     `json:"algorithm" flag:"algorithm" at:"load" jsonschema:"enum=default,enum=paper" jsonschema_description:"default tolerates wrong windows; paper is that of the black-box throughput paper, with its errors."`
	Fraction   float64    `json:"fraction" at:"load" jsonschema:"exclusiveMinimum=0,maximum=1000" jsonschema_description:"With paper: a second of the ramp passes if the median latency exceeds the round-trip time by at most this fraction of it."`
	Step       float64    `json:"step" at:"load" jsonschema:"exclusiveMinimum=0,maximum=1" jsonschema_description:"With paper: size of the fine steps as a fraction of the last gap."`
	FailBelow  *unit.Rate `json:"fail_below,omitempty" flag:"fail-below" unit:"op/s" jsonschema_description:"Exit code 3 if the server takes less than this many requests per second, 4 if that is uncertain."`
}

// newStudy has the defaults.
func newStudy() *Study {
	return &Study{Resolution: .05, Windows: 40, Algorithm: string(search.Default), Fraction: 1, Step: .1}
}

// Kind describes the study.
func Kind() study.Kind {
	return study.Kind{
		Name:    "capacity",
		Summary: "find the load that a server takes while it keeps an SLA",
		Long:    long, Example: example,
		Phases: []model.Phase{model.Search}, Shown: true, Found: found,
		Tells: func(run *observe.Run) bool { return run.Has(model.Search) },
		New:   func() study.Study { return newStudy() }, Measure: command,
	}
}

var _ study.Designer = (*Study)(nil)

// Validate implements study.Study.
func (s *Study) Validate() error {
	var errs []error
	for _, x := range []struct {
		key  string
		rate *unit.Rate
	}{{"start", s.Start}, {"min", s.Min}, {"max", s.Max}, {"fail_below", s.FailBelow}} {
		if r := x.rate; r != nil && (r.Base != unit.Operations || !(r.Value > 0 && r.Value <= load.MaxRate)) {
			errs = append(errs, &model.InputError{Path: x.key, Problem: r.String() + " is not a rate of requests", Allowed: "must be above 0 and at most 1Gop/s, such as 2000op/s"})
		}
	}
	if s.SLA != "" {
		if err := load.CheckSLA(s.SLA); err != nil {
			return errors.Join(append(errs, &model.InputError{Path: "sla", Problem: err.Error()})...)
		}
	}
	if len(errs) == 0 {
		_, err := s.config()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Analyze implements study.Study.
func (s *Study) Analyze(_ context.Context, in study.Input) (study.Result, error) {
	searches, err := s.searchesOf(in.Run)
	if err != nil {
		return nil, err
	}
	if len(searches) == 0 && s.FailBelow != nil {
		return nil, fmt.Errorf("%w: --fail-below (fail_below in the file) needs a capacity, but run %s searches for none; leave it out", model.ErrUsage, in.Run.Run().ID)
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
