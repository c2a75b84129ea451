package load

import (
	"time"

	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Params are the parameters of the workload.
type Params struct {
	Target   string            `json:"target" jsonschema:"required,minLength=1" jsonschema_description:"URL of the server: http://host:port/path, https://…, or a data store: redis://host, postgres://user@host/database, mysql://user@host/database, cassandra://host/keyspace; or a bucket: s3://host:port/bucket."`
	Requests []Request         `json:"requests,omitempty" jsonschema:"maxItems=100" jsonschema_description:"Kinds of requests, drawn at random by their weights. Default: one GET of the target."`
	Headers  map[string]string `json:"headers,omitempty" flag:"header,H" jsonschema_description:"Headers of every request."`
	Data     *Data             `json:"data,omitempty" jsonschema_description:"With a data store: the records and the operations. Default: a thousand records of YCSB, its workload b."`
	Objects  *Objects          `json:"objects,omitempty" jsonschema_description:"With a bucket of an object store: the objects and the operations. Default: puts and gets of 1MiB, half and half."`
	// PasswordEnv keeps the password out of the file, and so of the store.
	PasswordEnv string `json:"password_env,omitempty" flag:"password-env" jsonschema_description:"With a data store: the agents' environment variable that holds the password."`
	HTTP2       bool   `json:"http2,omitempty" flag:"http2" jsonschema_description:"Use HTTP/2; only with https://."`
	CA          string `json:"ca,omitempty" jsonschema_description:"File of CA certificates that replaces the system's."`
	Insecure    bool   `json:"insecure,omitempty" flag:"insecure" jsonschema_description:"Do not check the server's certificate."`

	Rate     *unit.Rate    `json:"rate,omitempty" jsonschema_description:"Requests per second of all nodes together, such as 500op/s, independent of the server's answers (open loop). Evaluations: [search] chooses the rate."`
	Arrivals string        `json:"arrivals,omitempty" flag:"arrivals" jsonschema:"enum=constant,enum=poisson" jsonschema_description:"constant: evenly spaced. poisson: at random, as from many independent users."`
	Users    int           `json:"users,omitempty" jsonschema:"minimum=1,maximum=1000000" jsonschema_description:"Closed loop, instead of a rate: number of users of all nodes together; each waits for the answer, thinks, and sends again."`
	Think    unit.Duration `json:"think,omitempty" jsonschema_description:"Mean think time of a user; exponentially distributed."`

	Duration    unit.Duration `json:"duration,omitempty" flag:"window" jsonschema_description:"Length of the scored part of a window, in whole seconds, after the warm-up (default 10s, or long enough to notice an overload of 2 %)."`
	WarmUp      unit.Duration `json:"warm_up" flag:"warm-up" jsonschema_description:"Warm-up before each window, in whole seconds; not scored."`
	Connections int           `json:"connections,omitempty" flag:"connections" jsonschema:"minimum=1,maximum=60000" jsonschema_description:"Largest number of connections of one node, opened as needed (default 1024; 64 to a data store or a bucket at a rate)."`
	Loops       int           `json:"loops,omitempty" jsonschema:"minimum=1,maximum=256" jsonschema_description:"Event loops of one node; each can use a processor. Default: one less than the number of processors."`
	Spin        bool          `json:"spin,omitempty" flag:"spin" jsonschema_description:"Event loops poll without sleeping (http:// only): exact to some µs, but each uses a whole processor."`
	Timeout     unit.Duration `json:"request_timeout" flag:"timeout" jsonschema_description:"Timeout of a request; must be longer than the SLA allows."`
	Handshakes  unit.Duration `json:"handshakes" jsonschema_description:"Time between two TCP handshakes made beside the load to measure the round-trip time."`

	SLA        string     `json:"sla,omitempty" flag:"sla" jsonschema_description:"What the server must keep: p90=150ms, or several: p99=500ms,errors=0.1%. Latencies count from when requests were due. Without errors= at most 1 % may fail. Evaluations: [search] needs it."`
	Start      *unit.Rate `json:"start,omitempty" flag:"start" unit:"op/s" jsonschema_description:"Search: first load, in operations per second (default 100op/s, or the nearest that min and max allow)."`
	Min        *unit.Rate `json:"min,omitempty" flag:"min" unit:"op/s" jsonschema_description:"Search: smallest load allowed (default 1op/s, or start or max where that is less)."`
	Max        *unit.Rate `json:"max,omitempty" flag:"max" unit:"op/s" jsonschema_description:"Search: largest load allowed, such as 50kop/s (default 1Mop/s)."`
	Resolution float64    `json:"resolution,omitempty" flag:"resolution" jsonschema:"minimum=0.001,maximum=0.5" jsonschema_description:"Search: largest relative distance of the passed and the failed load at the end (default 0.05)."`
	Windows    int        `json:"windows,omitempty" flag:"windows" jsonschema:"minimum=5,maximum=1000" jsonschema_description:"Search: largest number of windows that count (default 40)."`
	Algorithm  string     `json:"algorithm,omitempty" flag:"algorithm" jsonschema:"enum=default,enum=paper" jsonschema_description:"Search algorithm: default tolerates wrong windows; paper is that of the black-box throughput paper, with its errors."`
	Fraction   float64    `json:"fraction,omitempty" jsonschema:"exclusiveMinimum=0,maximum=1000" jsonschema_description:"Search, paper: a second of the ramp passes if the median latency exceeds the round-trip time by at most this fraction of it."`
	Step       float64    `json:"step,omitempty" jsonschema:"exclusiveMinimum=0,maximum=1" jsonschema_description:"Search, paper: size of the fine steps as a fraction of the last gap."`

	Recover bool  `json:"recover,omitempty" jsonschema_description:"Offer a light load first, until the server keeps the SLA again. A search sets it after a failed window."`
	Seed    int64 `json:"seed,omitempty" jsonschema:"minimum=0,maximum=9007199254740991" jsonschema_description:"Seed that makes random times and choices repeatable."`

	driver engine.Driver       // from Prepare on
	bucket *objectstore.Target // the same, where the target is one
}

// connections is the most of one node. A server reached over HTTP has thousands.
// A data store has tens, of its application's pools: PostgreSQL allows 100 as it
// is delivered, and in an overload opening more would be most of its work.
// Operations that wait for one are as late as if they waited in the store.
func (p *Params) connections() int {
	switch {
	case p.Connections > 0:
		return p.Connections
	case p.overHTTP() || p.Users > 0:
		return 1024
	}
	return 64
}

// Request is one kind of request.
type Request struct {
	Name    string            `json:"name,omitempty" jsonschema:"pattern=^[A-Za-z0-9][A-Za-z0-9_-]*$" jsonschema_description:"Name of the request in results. Default: its method and position, such as get1."`
	Path    string            `json:"path,omitempty" jsonschema_description:"Path and query, relative to the target, or a whole URL of the same kind (http or https)."`
	Method  string            `json:"method,omitempty" jsonschema_description:"Default: GET."`
	Headers map[string]string `json:"headers,omitempty" jsonschema_description:"Headers; they take precedence over those of the workload."`
	Body    string            `json:"body,omitempty" jsonschema_description:"Body of the request."`
	Weight  *float64          `json:"weight,omitempty" jsonschema:"minimum=0" jsonschema_description:"Weight of the request relative to the others. Default: 1."`
	Expect  string            `json:"expect,omitempty" jsonschema_description:"Statuses that count as good: 200, 2xx, or 200-299,404. Default: 200-299."`
}

// Kind describes the workload.
func Kind() workload.Kind {
	return workload.Kind{
		Name:    "load",
		Summary: "Load on a server at a given rate, or, with evaluations: [search], the largest load that it takes.",
		New: func() workload.Workload {
			return &Params{
				Arrivals: string(engine.Constant), WarmUp: unit.Duration(2 * time.Second),
				Timeout: unit.Duration(10 * time.Second), Handshakes: unit.Duration(50 * time.Millisecond),
			}
		},
	}
}

// Estimate implements workload.Workload.
func (p *Params) Estimate() time.Duration { return p.WarmUp.Std() + p.scored() + p.drain() }
