package objectstore

import (
	"errors"
	"fmt"

	store "github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/model"
)

const minDuration = 100 // milliseconds

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	s := p.settings()
	errs := []error{p.config().Check()}
	refuse := func(bad bool, field, problem, allowed string) {
		if bad {
			errs = append(errs, &model.InputError{Path: field, Problem: problem, Allowed: allowed})
		}
	}
	impossible := func(bad bool, field string, value any, allowed string) {
		refuse(bad, field, fmt.Sprintf("%v is impossible", value), "allowed is "+allowed)
	}
	impossible(p.Preset != "" && p.Preset != PresetPaper, "preset", fmt.Sprintf("%q", p.Preset), PresetPaper)
	impossible(p.Concurrency < 0 || p.Concurrency > store.MaxClients, "concurrency", p.Concurrency, fmt.Sprintf("1 to %d; leave it out for one a core", store.MaxClients))
	impossible(p.Duration != 0 && p.Duration.Std().Milliseconds() < minDuration, "duration", p.Duration, "100ms or more")
	impossible(p.Objects < 0, "objects", p.Objects, "1 and more; leave it out for four a worker")
	impossible(p.Count < 0, "count", p.Count, "1 or more")
	impossible(p.RequestTimeout.Std().Milliseconds() < minDuration, "request_timeout", p.RequestTimeout, "100ms or more")
	impossible(!(p.MaxErrors >= 0 && p.MaxErrors <= 1), "max_errors", p.MaxErrors, "a share from 0 to 1")
	refuse(p.Count > 0 && p.Duration > 0, "count", "a task ends after a count or after a duration, not after both", "leave out count or duration")
	refuse(p.GetShare != nil && s.operation != store.Mixed, "get_share", "operation is "+s.operation, "allowed is get_share beside operation: mixed")
	refuse(p.Objects > 0 && !s.reads(), "objects", "operation is "+s.operation, "allowed is objects beside operation: get or mixed")
	return errors.Join(errs...)
}
