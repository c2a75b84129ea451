package objectstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	store "github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

const minDuration = 100 // milliseconds

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	return errors.Join(p.validateEndpoint(), p.validateBucket(), p.validatePrefix(), p.validateWords(), p.validateNumbers(), p.validateTogether(), p.validateEnd())
}

func impossible(field, problem, allowed string) error {
	return &workload.FieldError{Field: field, Problem: problem, Allowed: allowed}
}

// validateEndpoint never repeats the endpoint where it could hold a password.
func (p *Params) validateEndpoint() error {
	if p.Endpoint == "" {
		return nil
	}
	if _, err := store.ParseEndpoint(p.Endpoint); err != nil {
		return impossible("endpoint", err.Error(), "allowed is http://HOST:PORT or https://HOST")
	}
	return nil
}

func (p *Params) validateBucket() error {
	if store.ValidBucket(p.Bucket) {
		return nil
	}
	return impossible("bucket", fmt.Sprintf("%q cannot name a bucket", p.Bucket), "allowed are 3 to 63 small letters, digits, dots and dashes")
}

func (p *Params) validatePrefix() error {
	if store.ValidPrefix(p.Prefix) {
		return nil
	}
	return impossible("prefix", fmt.Sprintf("%q cannot hold the tasks' directories", p.Prefix), "allowed are words of letters, digits, and . _ -, with / between them")
}

func (p *Params) validateWords() error {
	return errors.Join(
		oneOf("path_style", p.PathStyle, store.StyleAuto, store.StyleAlways, store.StyleNever),
		oneOf("preset", p.Preset, "", PresetPaper),
		oneOf("operation", p.Operation, "", store.Put, store.Get, store.PutDelete, store.Mixed),
		oneOf("keys", p.Keys, store.UUIDKeys, store.HotKeys),
	)
}

func oneOf(field, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	words := slices.DeleteFunc(slices.Clone(allowed), func(s string) bool { return s == "" })
	return impossible(field, fmt.Sprintf("there is no %q", value), "allowed is "+strings.Join(words, ", "))
}

func (p *Params) validateNumbers() error {
	var errs []error
	refuse := func(bad bool, field string, value any, allowed string) {
		if bad {
			errs = append(errs, impossible(field, fmt.Sprintf("%v is impossible", value), "allowed is "+allowed))
		}
	}
	refuse(p.Size != 0 && (p.Size < store.MinSize || p.Size > store.MaxSize), "size", p.Size, fmt.Sprintf("%v to %v, what one PutObject takes", unit.Size(store.MinSize), store.MaxSize))
	refuse(p.Concurrency < 0 || p.Concurrency > store.MaxClients, "concurrency", p.Concurrency, fmt.Sprintf("1 to %d; leave it out for one a core", store.MaxClients))
	refuse(p.Duration != 0 && p.Duration.Std().Milliseconds() < minDuration, "duration", p.Duration, "100ms or more")
	refuse(p.Count < 0, "count", p.Count, "1 or more")
	refuse(p.Objects < 0 || p.Objects > store.MaxObjects, "objects", p.Objects, "1 to 1000000; leave it out for four a worker")
	share := p.settings().getShare
	refuse(!(share >= 0 && share <= 1), "get_share", share, "0 to 1")
	refuse(p.Retries < 0 || p.Retries > 100, "retries", p.Retries, "0 to 100")
	refuse(p.RequestTimeout.Std().Milliseconds() < minDuration, "request_timeout", p.RequestTimeout, "100ms or more")
	refuse(!(p.MaxErrors >= 0 && p.MaxErrors <= 1), "max_errors", p.MaxErrors, "a share from 0 to 1")
	return errors.Join(errs...)
}

// validateTogether refuses keys that the operation has no use for.
func (p *Params) validateTogether() error {
	s := p.settings()
	problem := "operation is " + s.operation
	var errs []error
	if p.GetShare != nil && s.operation != store.Mixed {
		errs = append(errs, impossible("get_share", problem, "allowed is get_share beside operation: mixed"))
	}
	if p.Objects > 0 && !s.reads() {
		errs = append(errs, impossible("objects", problem, "allowed is objects beside operation: get or mixed"))
	}
	return errors.Join(errs...)
}

func (p *Params) validateEnd() error {
	if p.Count > 0 && p.Duration > 0 {
		return impossible("count", "a task ends after a count or after a duration, not after both", "leave out count or duration")
	}
	return nil
}
