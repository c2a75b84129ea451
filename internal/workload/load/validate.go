package load

import (
	"errors"
	"time"

	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	var errs []error
	bad := func(field, problem, allowed string) {
		errs = append(errs, &workload.FieldError{Field: field, Problem: problem, Allowed: allowed})
	}
	for field, d := range map[string]unit.Duration{"duration": p.Duration, "warm_up": p.WarmUp} {
		if d.Std()%time.Second != 0 || d < 0 {
			bad(field, d.String()+" is not a number of whole seconds", "load is scored by the second")
		}
	}
	if p.Duration < unit.Duration(time.Second) {
		bad("duration", "nothing would be measured", "allowed is 1s and more")
	}
	if p.Timeout <= 0 {
		bad("request_timeout", "a timeout must be longer than 0s", "")
	}
	if p.Handshakes < unit.Duration(time.Millisecond) {
		bad("handshakes", "handshakes would be a load themselves", "allowed is 1ms and more")
	}
	if p.Rate != nil && p.Users > 0 {
		bad("users", "a load is an open loop (rate) or a closed one (users), not both", "leave one of them out")
	}
	for field, r := range map[string]*unit.Rate{"rate": p.Rate, "start": p.Start, "min": p.Min, "max": p.Max} {
		if r != nil && (r.Base != unit.Operations || r.Value <= 0) {
			bad(field, r.String()+" is no rate of requests", "allowed are rates such as 500op/s")
		}
	}
	if _, err := p.requests(); err != nil {
		bad("target", err.Error(), "")
	}
	errs = append(errs, p.validateSearch())
	return errors.Join(errs...)
}

// validateSearch checks what an SLA is searched with.
func (p *Params) validateSearch() error {
	if p.SLA == "" {
		return nil
	}
	if _, err := capacity.ParseSLA(p.SLA); err != nil {
		return &workload.FieldError{Field: "sla", Problem: err.Error()}
	}
	if _, err := p.Search(); err != nil {
		return &workload.FieldError{Field: "start", Problem: err.Error()}
	}
	return nil
}
