// Package jobs is the workload of a fleet that takes items from a queue: each slot gets
// an item's object from a store, runs a command or a function on it, puts the result,
// and says so to the queue.
//
//  1. Parameters are read and checked (params.go, validate.go).
//  2. Prepare finds queue and store, puts objects where asked to (stage.go), and names the
//     items (prepare.go).
//  3. Run has so many slots work, each item by item (run.go, slot.go), on what the queue
//     gives (source.go, nats.go): a command in a process group of its own, or a function
//     (execute.go).
//  4. What was done is counted by fractions of jobs, and each stage's time (report.go).
//  5. While a store fails as a whole, slots wait, and no item is blamed (outage.go).
//
// The queue counts one result of each item. Who works on an item has it leased, and renews
// that; each execution writes under a key of its own, and the record of the queue names
// the one that counts.
package jobs

import (
	"cmp"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/cgroup"
	"github.com/scalebench/scalebench/internal/load"
	store "github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/internal/workload/command"
	"github.com/scalebench/scalebench/internal/workload/jobs/natsqueue"
)

// Params are the parameters of the workload.
type Params struct {
	Items *Items `json:"items,omitempty" jsonschema_description:"What there is to do. Default: the objects of stage, the messages of nats, or numbers without end."`
	Stage *Stage `json:"stage,omitempty" jsonschema_description:"Put copies of an object into the bucket before the start, where they are not there yet; they are the items."`
	Get   *Get   `json:"get,omitempty" jsonschema_description:"Get an object for each item. Objects that are items themselves (items.prefix, stage) are got without it."`
	Put   *Put   `json:"put,omitempty" jsonschema_description:"Put what the command wrote as an object."`

	Command  string        `json:"command,omitempty" jsonschema_description:"What is run for each item, read by /bin/sh. {in} is the file that was got, {out} the file to put, {item} the item's name, quoted. Without {in} the file is its standard input, without {out} its standard output is put."`
	PassEnv  []string      `json:"pass_env,omitempty" jsonschema_description:"Names of variables of the agent's environment that the command gets; their values are stored nowhere."`
	Function string        `json:"function,omitempty" jsonschema:"enum=copy,enum=sort,enum=sleep,enum=spin" jsonschema_description:"Built in, instead of a command: copy the file, sort its lines, or take some time, asleep or computing."`
	Time     unit.Duration `json:"time,omitempty" jsonschema_description:"How long the function sleep or spin takes; for spin it is processor time."`

	Slots     workload.Threads `json:"slots,omitzero" jsonschema_description:"Items that one node works on at the same time: a number, all, or such as 2 per core. Default: all, which is one for each core, or for its share of them."`
	Duration  unit.Duration    `json:"duration,omitempty" jsonschema_description:"How long items are worked on. They come again and again meanwhile. Default: until each is done."`
	Ramp      unit.Duration    `json:"ramp,omitempty" jsonschema_description:"Slots begin at random moments within this time, so that they do not wait for the same in step. Default: all at once."`
	Tries     int              `json:"tries,omitempty" jsonschema:"minimum=1,maximum=1000" jsonschema_description:"Executions of an item that fail before it is set aside. Default: 3."`
	Lease     unit.Duration    `json:"lease,omitempty" jsonschema_description:"How long a node may be silent before others take its items. Default: 30s."`
	Outage    unit.Duration    `json:"outage,omitempty" jsonschema_description:"How long the store, or the queue in NATS, may fail as a whole before the task fails. Meanwhile items wait, and no try is used up. A store that refuses everything has 30s at most. Default: 5m."`
	MaxErrors float64          `json:"max_errors,omitempty" jsonschema:"minimum=0,maximum=1" jsonschema_description:"Share of its items that may fail on a node; one may always fail. Default: 0.05."`

	NATS *natsqueue.Config `json:"nats,omitempty" jsonschema_description:"Take items from a work queue of NATS JetStream instead of the server's queue."`

	Endpoint       string        `json:"endpoint,omitempty" jsonschema_description:"URL of the object store; without it AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL of the agent's environment and else Amazon S3 of the region."`
	Region         string        `json:"region,omitempty" jsonschema_description:"Region of the buckets; without it AWS_REGION of the agent's environment and else the server is asked."`
	Bucket         string        `json:"bucket,omitempty" jsonschema_description:"Bucket of get, put and stage, where they name none."`
	Create         bool          `json:"create,omitempty" jsonschema_description:"Make buckets that are missing; they stay."`
	PathStyle      string        `json:"path_style,omitempty" jsonschema:"enum=auto,enum=always,enum=never" jsonschema_description:"Whether the bucket is named in the path rather than in the host name."`
	Retries        int           `json:"retries,omitempty" jsonschema:"minimum=0,maximum=100" jsonschema_description:"Retries of a get or put after a transient error."`
	RequestTimeout unit.Duration `json:"request_timeout,omitempty" jsonschema_description:"Timeout of one attempt at a get or put."`
	CAFile         string        `json:"ca_file,omitempty" jsonschema_description:"File of certificate authorities (PEM) on the node to trust beside the system's."`
	InsecureTLS    bool          `json:"insecure_tls,omitempty" jsonschema_description:"Do not check the store's certificate."`

	source source
	from   *store.Target // of what is got; nil: nothing is
	to     *store.Target // of what is put; it may be the same
	names  []string      // that the uploader sends messages of, over and over
	// earlier counts the items that were over before this attempt of the step began, where
	// it drains a queue: then its time is not that of all.
	earlier int64
}

// Items say what there is to do: exactly one of these.
type Items struct {
	Count  int64    `json:"count,omitempty" jsonschema:"minimum=1,maximum=10000000" jsonschema_description:"So many items, named 0, 1, 2 … With duration each comes again and again."`
	List   []string `json:"list,omitempty" jsonschema:"maxItems=100000" jsonschema_description:"Their names."`
	Prefix string   `json:"prefix,omitempty" jsonschema_description:"All objects of the bucket whose keys begin so; / for all."`
}

// Get says where an item's object is.
type Get struct {
	Bucket string `json:"bucket,omitempty" jsonschema_description:"Bucket to get from. Default: bucket of the workload."`
	Prefix string `json:"prefix,omitempty" jsonschema_description:"What stands before the item's name in the key. With nats, only messages of keys that begin so are items."`
}

// Put says where results go.
type Put struct {
	Bucket string `json:"bucket,omitempty" jsonschema_description:"Bucket to put into. Default: bucket of the workload."`
	Prefix string `json:"prefix,omitempty" jsonschema_description:"Folder of the bucket. Default: scalebench."`
	Suffix string `json:"suffix,omitempty" jsonschema:"pattern=^[.][A-Za-z0-9.]+$,maxLength=16" jsonschema_description:"How the output file's name ends, such as .wmv, and the key of a result that is kept."`
	Keep   bool   `json:"keep,omitempty" jsonschema_description:"Keep results, as PREFIX/ITEM/EXECUTION. Otherwise the end of the task removes them."`
}

// Stage says what is put before the start.
type Stage struct {
	Copies   int       `json:"copies" jsonschema:"required,minimum=1,maximum=1000000" jsonschema_description:"Objects, each with a UUID as its name. They stay for later tasks."`
	Prefix   string    `json:"prefix,omitempty" jsonschema_description:"Folder of the bucket. Default: staged."`
	File     string    `json:"file,omitempty" jsonschema_description:"The object: a file on the nodes."`
	Make     string    `json:"make,omitempty" jsonschema_description:"The object: what this command writes into {out}."`
	Size     unit.Size `json:"size,omitempty" jsonschema_description:"The object: so many random bytes."`
	Announce bool      `json:"announce,omitempty" jsonschema_description:"Send a message for each object to nats.subject, if the store sends none; with duration again and again."`
}

// The built-in functions.
const (
	Copy  = "copy"
	Sort  = "sort"
	Sleep = "sleep"
	Spin  = "spin"
)

const (
	defaultTries     = 3
	defaultLease     = 30 * time.Second
	defaultOutage    = 5 * time.Minute
	defaultMaxErrors = .05
	defaultStaged    = "staged"
)

// Kind describes the workload.
func Kind() workload.Kind {
	return workload.Kind{
		Name:    "jobs",
		Summary: "A fleet that takes items from a queue and runs a program on each: get, compute, put.",
		New: func() workload.Workload {
			return &Params{
				Tries: defaultTries, Lease: unit.Duration(defaultLease), Outage: unit.Duration(defaultOutage),
				MaxErrors: defaultMaxErrors,
				PathStyle: store.StyleAuto, Retries: 2, RequestTimeout: unit.Duration(5 * time.Minute),
			}
		},
	}
}

// IsTeam implements workload.Teamed: the first task of a step names the items.
func (p *Params) IsTeam() bool { return true }

// Estimate implements workload.Workload. How long it takes until each item is done is what
// the task finds out.
func (p *Params) Estimate() time.Duration { return p.Duration.Std() }

// UsesEnviron implements workload.EnvironUser.
func (p *Params) UsesEnviron() (names, patterns []string) {
	if p.getBucket() != "" || p.putBucket() != "" {
		patterns = store.Variables()
	}
	if p.NATS != nil {
		patterns = append(patterns, natsqueue.Variables()...)
	}
	return p.PassEnv, patterns
}

// Tools implements workload.ToolUser: the program that the command calls first.
func (p *Params) Tools() []workload.Tool {
	var tools []workload.Tool
	for _, text := range []string{p.Command, p.makes()} {
		if text != "" {
			tools = append(tools, (&command.Params{Command: text, Shell: command.DefaultShell}).Tools()...)
		}
	}
	return tools
}

func (p *Params) makes() string {
	if p.Stage == nil {
		return ""
	}
	return p.Stage.Make
}

// gets reports whether items have objects that are got.
func (p *Params) gets() bool {
	return p.Get != nil || p.Stage != nil || p.Items != nil && p.Items.Prefix != ""
}

// getBucket is where objects are got, or staged; empty: nowhere.
func (p *Params) getBucket() string {
	switch {
	case !p.gets():
		return ""
	case p.Get != nil && p.Get.Bucket != "":
		return p.Get.Bucket
	}
	return p.Bucket
}

func (p *Params) putBucket() string {
	if p.Put == nil {
		return ""
	}
	return cmp.Or(p.Put.Bucket, p.Bucket)
}

// results is the folder of results; empty where nothing is put.
func (p *Params) results() string {
	if p.Put == nil {
		return ""
	}
	return cmp.Or(strings.TrimSuffix(p.Put.Prefix, "/"), store.DefaultPrefix) + "/"
}

// isResult reports whether an object that might be an item is a result of a task like this
// one: those are none. Who sends messages may tell of any bucket.
func (p *Params) isResult(name string) bool {
	return p.Put != nil && strings.HasPrefix(name, p.results()) &&
		(p.getBucket() == "" || p.getBucket() == p.putBucket())
}

// isItem reports whether a message of this name is an item.
func (p *Params) isItem(name string) bool {
	return (p.Get == nil || strings.HasPrefix(name, p.Get.Prefix)) && !p.isResult(name)
}

// slots is how many items are worked on at once on this node. Prepare refuses too many.
func (p *Params) slots() int {
	n, _ := p.Slots.On(cgroup.Cores())
	return cmp.Or(n, cgroup.Cores())
}

// config is how a bucket is used.
func (p *Params) config(bucket string, env *workload.Env) store.Config {
	c := store.Config{
		Endpoint: p.Endpoint, Region: p.Region, Bucket: bucket, Create: p.Create, PathStyle: p.PathStyle,
		Trust: load.Trust{File: p.CAFile}, InsecureTLS: p.InsecureTLS,
		// The recorder counts puts and gets; tryOut moves little.
		Operation: store.Mixed, Size: 16, Keys: store.UUIDKeys, Prefix: store.DefaultPrefix,
		Clients: p.slots(), Retries: p.Retries, Insistent: true, Timeout: p.RequestTimeout.Std(), Lease: store.DefaultLease,
	}
	if p.Put != nil {
		c.Prefix = strings.TrimSuffix(p.results(), "/")
	}
	if env != nil {
		c.Environ, c.Stdout, c.Stderr = env.Environ, env.Stdout, env.Stderr
	}
	return c
}
