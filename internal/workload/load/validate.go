package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	errs := append(p.validateTimes(), p.validateLoad()...)
	var field *model.InputError
	switch err := p.checkTarget(); {
	case errors.As(err, &field):
		errs = append(errs, field)
	case err != nil:
		errs = append(errs, bad("target", err.Error(), ""))
	}
	if p.Data != nil {
		if err := p.Data.check(); err != nil {
			errs = append(errs, bad("data", err.Error(), ""))
		}
	}
	errs = append(errs, p.validateHTTP()...)
	errs = append(errs, p.validateSearch())
	return errors.Join(errs...)
}

func bad(field, problem, allowed string) error {
	return &model.InputError{Path: field, Problem: problem, Allowed: allowed}
}

func (p *Params) validateTimes() (errs []error) {
	for _, x := range []struct {
		field string
		d     unit.Duration
	}{{"duration", p.Duration}, {"warm_up", p.WarmUp}} {
		if x.d.Std()%time.Second != 0 || x.d < 0 {
			errs = append(errs, bad(x.field, x.d.String()+" is not a whole number of seconds", "use whole seconds, since load is scored by the second"))
		}
	}
	if p.Think < 0 {
		errs = append(errs, bad("think", "a user cannot think for "+p.Think.String(), "use 0s and more"))
	}
	if p.Timeout <= 0 {
		errs = append(errs, bad("request_timeout", "a timeout must be longer than 0s", ""))
	}
	if p.Handshakes < unit.Duration(time.Millisecond) {
		errs = append(errs, bad("handshakes", "handshakes this frequent would be a load themselves", "use 1ms and more"))
	}
	return errs
}

func (p *Params) validateLoad() (errs []error) {
	if p.Rate != nil && p.Users > 0 {
		errs = append(errs, bad("users", "rate (open loop) and users (closed loop) exclude each other", "leave one of them out"))
	}
	for _, x := range []struct {
		field string
		rate  *unit.Rate
	}{{"rate", p.Rate}, {"start", p.Start}, {"min", p.Min}, {"max", p.Max}} {
		if r := x.rate; r != nil && (r.Base != unit.Operations || !(r.Value > 0 && r.Value <= engine.MaxRate)) {
			errs = append(errs, bad(x.field, r.String()+" is not a rate of requests", "use rates such as 500op/s, up to 1Gop/s"))
		}
	}
	return errs
}

// validateSearch checks what an SLA is searched with.
func (p *Params) validateSearch() error {
	if p.SLA == "" {
		return nil
	}
	sla, err := engine.ParseSLA(p.SLA)
	if err != nil {
		return bad("sla", err.Error(), "")
	}
	var errs []error
	// What takes longer than the timeout is an error, so that the timeout would
	// be the SLA.
	if slowest := sla.Slowest(); p.Timeout > 0 && p.Timeout.Std() <= slowest {
		errs = append(errs, bad("request_timeout", fmt.Sprintf("requests are given up after %s, and the SLA allows %v", p.Timeout, slowest),
			fmt.Sprintf("set request_timeout (--timeout) above %v", slowest)))
	}
	var field *model.InputError
	switch _, err := SearchOf(p); {
	case errors.As(err, &field):
		errs = append(errs, field)
	case err != nil:
		errs = append(errs, bad("start", err.Error(), ""))
	}
	return errors.Join(errs...)
}

// validateHTTP refuses what the target's protocol has no use for.
func (p *Params) validateHTTP() (errs []error) {
	if p.HTTP2 && p.plain() {
		errs = append(errs, bad("http2", "HTTP/2 needs TLS, and the target begins with http://", "leave it out, or use https://"))
	}
	if p.Spin && !p.plain() {
		errs = append(errs, bad("spin", "only applies to targets that begin with http://", "leave it out"))
	}
	if p.Objects != nil && !IsBucket(p.Target) {
		errs = append(errs, bad("objects", "only apply to targets that begin with s3:// or s3s://", "leave them out"))
	}
	if (p.overHTTP() || IsBucket(p.Target)) && (p.Data != nil || p.PasswordEnv != "") {
		errs = append(errs, bad("target", "data and password_env only apply to data stores", "leave them out, or use the URL of a data store"))
	}
	return errs
}

// plain reports whether the target is asked over HTTP without TLS.
func (p *Params) plain() bool { return strings.HasPrefix(p.Target, "http://") }

// checkTarget looks at the URL and at what is sent there.
func (p *Params) checkTarget() error {
	if p.overHTTP() {
		_, err := p.requests()
		return err
	}
	secure := strings.HasPrefix(p.Target, "s3s://")
	if len(p.Requests) > 0 || len(p.Headers) > 0 || p.HTTP2 || (p.CA != "" || p.Insecure) && !secure {
		return fmt.Errorf("%w: requests, headers and http2 only apply to http:// and https:// targets, ca and insecure to https:// and s3s://; leave them out", model.ErrUsage)
	}
	if IsBucket(p.Target) {
		_, err := p.bucketConfig()
		return err
	}
	if u, err := url.Parse(p.Target); err == nil && u.User != nil {
		if _, has := u.User.Password(); has {
			return fmt.Errorf("%w: the URL holds a password, which would be stored with the run; remove it, put it into an environment variable, and name that variable with password_env", model.ErrUsage)
		}
	}
	_, err := newStore(p.Target)
	return err
}

// strictly decodes JSON and refuses keys that nobody reads.
func strictly(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
