// Package load is the workload that offers load to a server: at one rate, as a
// closed loop, or, with the evaluation "search", at whatever rate the search
// for the server's capacity asks for. The engine is package internal/load.
//
// A task is a window: warming up, which is cut; the seconds that are scored;
// and a short time in which the last answers may come. Beside the load it makes
// TCP handshakes with the server, to tell a slow path from a slow server. All
// nodes of a step offer their shares of one load together.
package load

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Params are the parameters of the workload.
type Params struct {
	Target string `json:"target" jsonschema:"required,minLength=1" jsonschema_description:"URL of the server: http://host:port/path, https://…, or a data store: redis://host, postgres://user@host/database, mysql://user@host/database, cassandra://host/keyspace; or a bucket: s3://host:port/bucket."`
	// Labels of several targets make them one population: see study/capacity.
	Labels   map[string]string `json:"labels,omitempty" jsonschema_description:"What is known of the target, such as {region: eu-west, type: small}. The capacities of all targets with labels are one metric, with the workload's name as the node."`
	Requests []Request         `json:"requests,omitempty" jsonschema:"maxItems=100" jsonschema_description:"Kinds of requests, drawn at random by their weights. Default: one GET of the target."`
	Headers  Headers           `json:"headers,omitempty" flag:"header,H" jsonschema_description:"Headers of every request, stored with the run; the flag is repeatable."`
	Data     *Data             `json:"data,omitempty" jsonschema_description:"With a data store: the records and the operations. Default: a thousand records of YCSB, its workload b."`
	Objects  *Objects          `json:"objects,omitempty" jsonschema_description:"With a bucket of an object store: the objects and the operations. Default: puts and gets of 1MiB, half and half."`
	// PasswordEnv keeps the password out of the file, and so of the store.
	PasswordEnv string `json:"password_env,omitempty" flag:"password-env" jsonschema_description:"With a data store: the agents' environment variable that holds the password."`
	HTTP2       bool   `json:"http2,omitempty" flag:"http2" jsonschema_description:"Use HTTP/2; only with https://."`
	CA          string `json:"ca,omitempty" jsonschema_description:"File on the nodes with certificates (PEM) of authorities that are trusted beside the system's."`
	CAPEM       string `json:"ca_pem,omitempty" flag:"cacert" from:"file" jsonschema_description:"Certificates (PEM) of authorities that are trusted beside the system's; stored with the run."`
	Insecure    bool   `json:"insecure,omitempty" flag:"insecure" jsonschema_description:"Do not check the server's certificate."`

	Rate     *unit.Rate    `json:"rate,omitempty" jsonschema_description:"Requests per second of all nodes together, such as 500op/s, independent of the server's answers (open loop). The study capacity chooses the rate."`
	Arrivals string        `json:"arrivals,omitempty" flag:"arrivals" jsonschema:"enum=constant,enum=poisson" jsonschema_description:"constant: evenly spaced. poisson: at random, as from many independent users."`
	Users    int           `json:"users,omitempty" jsonschema:"minimum=1,maximum=1000000" jsonschema_description:"Closed loop, instead of a rate: number of users of all nodes together; each waits for the answer, thinks, and sends again."`
	Think    unit.Duration `json:"think,omitempty" jsonschema_description:"Mean think time of a user; exponentially distributed."`

	Duration    unit.Duration `json:"duration,omitempty" flag:"window" jsonschema_description:"Length of the scored part of a window, in whole seconds, after the warm-up (default 10s, or long enough to notice an overload of 2 %)."`
	WarmUp      unit.Duration `json:"warm_up" flag:"warm-up" jsonschema_description:"Warm-up before each window, in whole seconds; not scored."`
	Connections int           `json:"connections,omitempty" flag:"connections" jsonschema:"minimum=1,maximum=60000" jsonschema_description:"Largest number of connections of one node, opened as needed (default 1024; 64 to a data store or a bucket at a rate)."`
	Loops       int           `json:"loops,omitempty" jsonschema:"minimum=1,maximum=256" jsonschema_description:"Event loops of one node; each can use a processor. Default: one less than the number of processors."`
	Spin        bool          `json:"spin,omitempty" flag:"spin" jsonschema_description:"Event loops poll without sleeping (http:// only): exact to some µs, but each uses a whole processor."`
	MaxBody     unit.Size     `json:"max_body,omitempty" flag:"max-body" jsonschema_description:"Largest body of an answer; a larger one is an error (http:// and https:// only; default 64MiB)."`
	Timeout     unit.Duration `json:"request_timeout" flag:"timeout" jsonschema_description:"Timeout of a request; in a search longer than the SLA allows."`
	Handshakes  unit.Duration `json:"handshakes" jsonschema_description:"Time between two TCP handshakes made beside the load to measure the round-trip time."`

	Recover bool  `json:"recover,omitempty" jsonschema_description:"Offer a light load first, until the server keeps the SLA of a search again. The search sets it after a failed window."`
	Seed    int64 `json:"seed,omitempty" jsonschema:"minimum=0,maximum=9007199254740991" jsonschema_description:"Seed that makes random times and choices repeatable; each trial draws others from it."`

	// Agreement is what the target has to keep, where a step of a search says so:
	// windows are long enough to tell, answers are waited for as long as it
	// allows, and a recovery ends when it is kept.
	Agreement engine.SLA `json:"-"`

	// recoverFor is how long a recovery may take, where a step says so; unrecovered:
	// the target was not back by then.
	recoverFor  time.Duration
	unrecovered bool

	drawn  uint64              // what the task draws from, from Prepare on
	driver engine.Driver       // the same
	bucket *objectstore.Target // the same, where the target is one
	// uses has how many connections to a data store there may be.
	uses engine.ConnectionUse
	// recordsLoaded is how many records of a data store were not there before.
	recordsLoaded int64
}

// ConnectionLimit is how many connections one node may have. A server reached over HTTP has thousands.
// A data store has tens, of its application's pools: PostgreSQL allows 100 as it
// is delivered, and in an overload opening more would be most of its work.
// Operations that wait for one are as late as if they waited in the store.
func (p *Params) ConnectionLimit() int {
	switch {
	case p.Connections > 0:
		return p.Connections
	case p.overHTTP() || p.Users > 0:
		return 1024
	}
	return 64
}

// chosen reports whether somebody asked for so many connections; otherwise fewer
// do, as far as the load allows.
func (p *Params) chosen() bool { return p.Connections > 0 || p.Users > 0 }

// Request is one kind of request.
type Request struct {
	Name    string            `json:"name,omitempty" jsonschema:"pattern=^[A-Za-z0-9][A-Za-z0-9_-]*$" jsonschema_description:"Name of the request in results. Default: its method and position, such as get1."`
	Path    string            `json:"path,omitempty" jsonschema_description:"Path and query, relative to the target, or a whole URL of the same kind (http or https)."`
	Method  string            `json:"method,omitempty" jsonschema_description:"Default: GET."`
	Headers map[string]string `json:"headers,omitempty" jsonschema_description:"Headers; they take precedence over those of the workload."`
	Body    string            `json:"body,omitempty" jsonschema_description:"Body of the request."`
	// BodyBase64 is for bytes that are no text.
	BodyBase64 string   `json:"body_base64,omitempty" jsonschema_description:"Body of the request in base64, in place of body: for bytes that are no text."`
	Weight     *float64 `json:"weight,omitempty" jsonschema:"minimum=0" jsonschema_description:"Weight of the request relative to the others. Default: 1."`
	Expect     string   `json:"expect,omitempty" jsonschema_description:"Statuses that count as good: 200, 2xx, or 200-299,404. Default: 200-299."`
}

// Kind describes the workload.
func Kind() workload.Kind {
	return workload.Kind{
		Name:    "load",
		Summary: "Load on a server at a given rate, or, with the study capacity, the largest load that it takes.",
		New: func() workload.Workload {
			return &Params{
				Arrivals: string(engine.Constant), WarmUp: unit.Duration(2 * time.Second),
				Timeout: unit.Duration(10 * time.Second), Handshakes: unit.Duration(50 * time.Millisecond),
			}
		},
	}
}

// SharesLoad implements workload.Sharer: the nodes of a step offer one load.
func (p *Params) SharesLoad() bool { return true }

// UnmarshalJSON takes what a task has. That may be keys of the study capacity,
// too, which may stand at the workload; of these a generator needs the SLA.
func (p *Params) UnmarshalJSON(text []byte) error {
	type params Params
	in := struct {
		*params
		SLA                                                             string
		Start, Min, Max, Resolution, Windows, Algorithm, Fraction, Step any
	}{params: (*params)(p)}
	err := strictly(text, &in)
	if err == nil && in.SLA != "" {
		p.Agreement, err = engine.ParseSLA(in.SLA)
	}
	return err
}

// Estimate implements workload.Workload.
func (p *Params) Estimate() time.Duration { return p.WarmUp.Std() + p.Scored() + p.drain() }

// Scored is how long a window is scored, after the warm-up.
func (p *Params) Scored() time.Duration {
	switch {
	case p.Duration > 0:
		return p.Duration.Std()
	case len(p.Agreement.Terms) == 0:
		return 10 * time.Second
	}
	return p.Agreement.Scored(p.WarmUp.Std())
}

// drain is how long answers are waited for after the last request was due:
// longer than any term of the SLA allows, so that what is not there by then has
// missed it.
func (p *Params) drain() time.Duration {
	wait := 2 * time.Second
	if len(p.Agreement.Terms) > 0 {
		wait = p.Agreement.Drain()
	}
	return min(wait, p.Timeout.Std())
}

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	const forStores, leaveOut = "only applies to redis, postgres, mysql and cassandra targets", "leave it out"
	refuse := workload.Invalid
	whole := func(field string, d unit.Duration) error {
		return refuse(d.Std()%time.Second != 0 || d < 0, field, d.String()+" is not a whole number of seconds",
			"use whole seconds, since load is scored by the second")
	}
	bucket := IsBucket(p.Target)
	stored := !p.overHTTP() && !bucket
	target := p.checkTarget()
	if field, ok := errors.AsType[*model.InputError](target); ok {
		target = field
	} else if target != nil {
		target = bad("target", target.Error(), "")
	}
	var rate, data error
	if r := p.Rate; r != nil && !(r.Base == unit.Operations && r.Value > 0 && r.Value <= engine.MaxRate) {
		rate = bad("rate", r.String()+" is not a rate of requests", "use rates such as 500op/s, up to 1Gop/s")
	}
	if p.Data != nil {
		if err := p.Data.check(); err != nil {
			data = bad("data", err.Error(), "")
		}
	}
	return errors.Join(
		whole("duration", p.Duration), whole("warm_up", p.WarmUp),
		refuse(p.Think < 0, "think", "a user cannot think for "+p.Think.String(), "use 0s and more"),
		refuse(p.Timeout <= 0, "request_timeout", "a timeout must be longer than 0s", ""),
		refuse(p.Handshakes < unit.Duration(time.Millisecond), "handshakes",
			"handshakes this frequent would be a load themselves", "use 1ms and more"),
		refuse(p.Rate != nil && p.Users > 0, "users",
			"rate (open loop) and users (closed loop) exclude each other", "leave one of them out"),
		rate, target, data, p.checkLabels(),
		refuse(p.HTTP2 && p.plain(), "http2",
			"HTTP/2 needs TLS, and the target begins with http://", "leave it out, or use https://"),
		refuse(p.MaxBody > 0 && !p.overHTTP(), "max_body",
			"only applies to targets that begin with http:// or https://", leaveOut),
		refuse(p.Spin && !p.plain(), "spin", "only applies to targets that begin with http://", leaveOut),
		p.validateCA(),
		refuse(p.Insecure && p.plain(), "insecure", "only applies to targets that begin with https:// or s3s://", leaveOut),
		refuse(p.Objects != nil && !bucket, "objects", "is only for targets that begin with s3:// or s3s://", leaveOut),
		refuse(p.Data != nil && !stored, "data", forStores, leaveOut),
		refuse(p.PasswordEnv != "" && !stored, "password_env", forStores, leaveOut))
}

func bad(field, problem, allowed string) error {
	return &model.InputError{Path: field, Problem: problem, Allowed: allowed}
}

// validateCA looks at certificates that are stored with the run: a private key
// among them would be, too.
func (p *Params) validateCA() error {
	roots := x509.NewCertPool()
	switch {
	case p.CAPEM == "":
		return nil
	case p.plain():
		return bad("ca_pem", "only applies to targets over TLS, such as those that begin with https:// or rediss://",
			"leave it out")
	case strings.Contains(p.CAPEM, "PRIVATE KEY-----"):
		return bad("ca_pem", "it holds a private key, which would be stored with the run", "give the certificates alone")
	case !roots.AppendCertsFromPEM([]byte(p.CAPEM)):
		return bad("ca_pem", "it holds no certificate in PEM", `give a file with a part that begins with "-----BEGIN CERTIFICATE-----"`)
	}
	return nil
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
	if len(p.Requests) > 0 || len(p.Headers) > 0 || p.HTTP2 || p.Insecure && !secure {
		return fmt.Errorf("%w: requests, headers and http2 only apply to http:// and https:// targets, insecure to "+
			"https:// and s3s://; leave them out", model.ErrUsage)
	}
	if IsBucket(p.Target) {
		if (p.CA != "" || p.CAPEM != "") && !secure {
			return fmt.Errorf("%w: certificates to trust (--cacert, ca_pem:) only apply over TLS: use s3s://",
				model.ErrUsage)
		}
		_, err := p.bucketConfig()
		return err
	}
	if u, err := url.Parse(p.Target); err == nil && u.User != nil {
		if _, has := u.User.Password(); has {
			return fmt.Errorf("%w: the URL holds a password, which would be stored with the run; remove it, put it into an environment variable, and name that variable with password_env", model.ErrUsage)
		}
	}
	_, err := newStore(p.Target, engine.Trust{PEM: p.CAPEM}) // a file is the nodes'
	return err
}

// taken are names of facts that rows have without labels.
var taken = append(frame.FactsOfRuns(), frame.FactSubject, "source", "hour", "weekday", "day", "week")

// checkLabels refuses labels that would be other facts, or none.
func (p *Params) checkLabels() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(p.Labels)) {
		errs = append(errs, workload.Invalid(slices.Contains(taken, frame.Plain(name)), "labels."+name,
			"results have a fact of this name", "use another name, such as region"),
			workload.Invalid(name == "" || p.Labels[name] == "", "labels."+name, "a label needs a name and a value",
				"write region: eu-west"))
	}
	return errors.Join(errs...)
}

// strictly decodes JSON and refuses keys that nobody reads.
func strictly(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
