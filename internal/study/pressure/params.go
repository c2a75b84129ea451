package pressure

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/unit"
)

// Params are the parameters of the study.
type Params struct {
	Models   []Chosen          `json:"models,omitempty" flag:"model" jsonschema_description:"What may be expected of the services: a model by its name or file, for all services that it fits, or for one: vol-1=aws-gp2. Repeatable."`
	Set      map[string]string `json:"set,omitempty" flag:"set" jsonschema_description:"Inputs of the models: gib=100, or of one service: vol-1.gib=100. Repeatable."`
	Critical study.Percent     `json:"critical" flag:"critical" jsonschema:"exclusiveMinimum=0,maximum=1000" jsonschema_description:"Pressure above which a service is at its limit, in percent."`
	OrEqual  bool              `json:"or_equal,omitempty" flag:"or-equal" jsonschema_description:"A pressure that equals the critical one counts, too: a throttled service stays exactly at 100 %."`
	Credits  string            `json:"credits,omitempty" flag:"credits" jsonschema_description:"Credits of buckets at the beginning: full, empty, or a percentage. Default: not known, unless the source has them."`
	Growth   float64           `json:"growth,omitempty" flag:"growth" jsonschema:"exclusiveMinimum=0" jsonschema_description:"The multiple of the present load to plan for, such as 2. The answer has the cheapest inputs that keep all limits at or below the critical pressure, and the nodes that would do instead."`
	Prices   string            `json:"prices,omitempty" flag:"prices" from:"file" jsonschema_description:"Prices a month, CSV: model, input, per_month, currency, and perhaps included. The input node is the price of one node."`
	Requests float64           `json:"requests,omitempty" flag:"requests" jsonschema:"exclusiveMinimum=0" jsonschema_description:"Requests a second that the application served in the data, for the price of a request."`
	Zone     string            `json:"zone,omitempty" flag:"zone" jsonschema_description:"Time zone of stamps that do not say theirs, such as Europe/Berlin. Default: UTC."`
	Period   unit.Duration     `json:"period,omitempty" flag:"period" jsonschema_description:"Time that one report covers, if the source does not have it. For CloudWatch, the length of its periods."`
	Since    string            `json:"since,omitempty" flag:"since" jsonschema_description:"From this time on, or for so long: 2026-11-27T08:00:00Z, 3h. For CloudWatch and Prometheus. Default: 3h."`
	Until    string            `json:"until,omitempty" flag:"until" jsonschema_description:"Until this time. For CloudWatch and Prometheus. Default: now."`
	Match    string            `json:"match,omitempty" flag:"match" jsonschema_description:"Matchers of labels for Prometheus, such as device=\"sda\". Default: all series. PROMETHEUS_TOKEN in the environment is the bearer token."`
	Region   string            `json:"region,omitempty" flag:"region" jsonschema_description:"Region of CloudWatch. Default: that of the environment."`
	Endpoint string            `json:"endpoint,omitempty" flag:"endpoint" jsonschema_description:"Address of CloudWatch, where it is not that of the region."`

	Raise map[string]Raise `json:"raise,omitempty" jsonschema_description:"Volumes of a lab and the limits that they have after a raise, by name: each workload is measured before and after it."`

	FailAbove *study.Percent `json:"fail_above,omitempty" flag:"fail-above" jsonschema_description:"Exit code 3 if a service was at its limit for more than this percentage of the time, less than 100. 4 if the data do not show whether it was."`

	// forced are inputs that a run's steps say, by source and service.
	forced map[string]map[string]string
	// live are the balances of buckets so far, by limit, where pressures are followed as
	// they come; see [Live]. Nil: they are not.
	live map[LimitOf]*Credit
	// parsed are the models, if they were parsed before.
	parsed []*levels.Model
}

// defaultCritical is the pressure of the paper's Fig. 1, in percent.
const defaultCritical = 95

// Chosen is a model that is used for a service.
type Chosen struct {
	// For is the service, or node/service, with * for any part; empty: all that the
	// model fits.
	For  string `json:"for,omitempty" jsonschema_description:"The service, or node/service, with * for any part. Default: all that the model fits."`
	Name string `json:"name" jsonschema:"required,minLength=1" jsonschema_description:"Name of a built-in model, or of the file."`
	// Text is that of the file; empty: Name is built in.
	Text string `json:"text,omitempty" jsonschema_description:"The text of a model file, in place of a built-in model."`
}

// Set reads a flag: NAME, FILE, SERVICE=NAME or SERVICE=FILE.
func (u *Chosen) Set(text string) error {
	*u = Chosen{Name: text}
	if service, name, ok := strings.Cut(text, "="); ok {
		u.For, u.Name = service, name
	}
	if u.Name == "" {
		return errors.New("must be NAME, FILE or SERVICE=NAME")
	}
	var err error
	u.Text, err = levels.FileText(u.Name)
	return err //nolint:wrapcheck // it names the file, and pflag the flag
}

// Type is what help shows in place of the value.
func (*Chosen) Type() string { return "[SERVICE=]NAME|FILE" }

// fits reports whether it is for a service of a node, and how closely that is named.
func (u Chosen) fits(node, service string) (closeness int, ok bool) {
	if u.For == "" {
		return 0, true
	}
	for i, name := range []string{service, node + "/" + service} {
		if u.For == name {
			return 2 + i, true
		}
		if hit, err := path.Match(u.For, name); err == nil && hit {
			closeness, ok = 1, true
		}
	}
	return closeness, ok
}

// Check implements study.Study.
func (p *Params) Check() ([]caveat.Caveat, error) {
	var errs []error
	refuse := func(key, problem, allowed string) {
		errs = append(errs, &model.InputError{Path: key, Problem: problem, Allowed: allowed})
	}
	for _, u := range p.Models {
		if _, err := path.Match(u.For, ""); err != nil {
			refuse("models", fmt.Sprintf("%q is no pattern", u.For), "use the name of a service, with * for any part")
		}
		if _, err := levels.Open(u.Name, u.Text); err != nil {
			errs = append(errs, err)
		}
	}
	if p.Growth == 0 && p.Prices != "" {
		refuse("prices", "without a growth there is nothing to price", "add the growth")
	}
	if p.Growth == 0 && p.Requests != 0 {
		refuse("requests", "without a growth there is nothing to price", "add the growth")
	}
	if x := p.FailAbove; x != nil && !(*x >= 0 && *x < 100) {
		refuse("fail_above", fmt.Sprintf("the share of the time is always or never above %g %%", float64(*x)),
			"use at least 0 and less than 100; critical sets the pressure that counts")
	}
	if _, err := p.location(); err != nil {
		refuse("zone", err.Error(), "use a name such as Europe/Berlin, or UTC")
	}
	if _, ok := shareOf(p.Credits); p.Credits != "" && !ok {
		refuse("credits", fmt.Sprintf("%q is no share", p.Credits), "use "+allowedShare)
	}
	if _, _, err := p.span(time.Now()); err != nil {
		refuse("since", err.Error(), "use a time such as 2026-11-27T08:00:00Z, or a duration such as 3h")
	}
	return nil, errors.Join(errs...)
}

func (p *Params) location() (*time.Location, error) { return time.LoadLocation(cmp.Or(p.Zone, "UTC")) }

// defaultSpan is how much is asked for of what has no beginning.
const defaultSpan = 3 * time.Hour

// span is the time that is asked for.
func (p *Params) span(now time.Time) (from, to time.Time, err error) {
	to = now
	if p.Until != "" {
		if to, err = time.Parse(time.RFC3339, p.Until); err != nil {
			return from, to, fmt.Errorf("%q is no time", p.Until)
		}
	}
	from = to.Add(-defaultSpan)
	if p.Since != "" {
		var ago unit.Duration
		if ago.UnmarshalText([]byte(p.Since)) == nil {
			from = to.Add(-ago.Std())
		} else if from, err = time.Parse(time.RFC3339, p.Since); err != nil {
			return from, to, fmt.Errorf("%q is neither a time nor a duration", p.Since)
		}
	}
	if !from.Before(to) {
		return from, to, errors.New("the time ends before it begins")
	}
	return from, to, nil
}

// inputs are those of the models for a service of a node: what is set for it alone
// comes before what is set for all.
func (p *Params) inputs(source, node, service string, m *levels.Model, used *used) map[string]string {
	for _, name := range m.InputNames() {
		used.inputs[name] = true
	}
	out := make(map[string]string)
	rank := make(map[string]int)
	for _, key := range slices.Sorted(maps.Keys(p.Set)) {
		of, name, ok := cutLast(key)
		if !ok {
			name = key
		}
		near, fits := Chosen{For: of}.fits(node, service)
		if !fits || !m.Takes(name) {
			continue
		}
		used.set[key] = true
		if out[name] != "" && near < rank[name] {
			continue
		}
		out[name], rank[name] = p.Set[key], near
	}
	for name, value := range p.forced[source+"/"+service] {
		if out[name] == "" && m.Takes(name) {
			out[name] = value
		}
	}
	return out
}

func cutLast(text string) (before, after string, ok bool) {
	if i := strings.LastIndex(text, "."); i >= 0 {
		return text[:i], text[i+1:], true
	}
	return "", text, false
}
