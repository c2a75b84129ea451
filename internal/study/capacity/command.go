package capacity

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/internal/unit"
	work "github.com/scalebench/scalebench/internal/workload/load"
)

const long = `Offers load to a server, more and more, until it breaks the SLA; then closes in
on the largest load at which it does not, and tries both sides of the boundary
again. Latency counts from when a request was due. A window in which the
generator itself was late, or the path to the server changed, does not count.
If the generator or the path reaches its limit first, no capacity is reported
and the exit code is 4.

With --fail-below the exit code is 3 if the server certainly takes less, and 4 if
that is uncertain, for example if only one window shows it. An interrupted search
does not store the threshold: give it again to "scalebench resume" or
"scalebench show".

TARGET is the URL of a web server (http:// or https://), of a data store
(redis://, postgres://, mysql:// or cassandra://; records are loaded into it
first), or of a bucket of an object store (s3://host:port/bucket, s3s:// for TLS,
with credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY).

This machine offers the load, or the agents of a server share it (--server,
--agents). The search is a run like any other: "scalebench show", "report" and
"resume" work with it.`

const example = `  scalebench capacity http://10.0.0.7:8080/ --sla p90=150ms
  scalebench capacity https://shop.test/ --sla p99=500ms,errors=0.1% --arrivals poisson
  scalebench capacity http://10.0.0.7/ --sla p90=100ms --fail-below 2000
  scalebench capacity https://10.0.0.7/search --sla p90=100ms -H 'Content-Type: application/json' --data @query.json --cacert ca.pem
  scalebench capacity cassandra://10.0.0.8/ --sla p90=150ms --mix w3 --records 1000000
  scalebench capacity s3://10.0.0.9:7070/bench --sla p90=200ms --mix get --object-size 64KiB
  scalebench capacity http://10.0.0.7/ --sla p90=100ms --server nats://10.0.0.5:4222 --agents role=generator`

// Flags are those of `scalebench capacity TARGET`: parameters of the workload
// load and of the study, and what stands elsewhere in a file.
type Flags struct {
	work.Params
	Study
	// Method to ObjectSize are keys within the workload's requests, data and
	// objects.
	Method     string `json:"method,omitempty" flag:"method,X" jsonschema_description:"Method of the requests (default GET; POST with --data)."`
	Body       []byte `json:"body,omitempty" flag:"data,d" from:"@file" jsonschema_description:"Body of the requests, as it is, or the file that holds it; stored with the run. Without -H Content-Type it is sent as a form, as curl does. The data directory is --data-dir here."`
	Expect     string `json:"expect,omitempty" flag:"expect" jsonschema_description:"Statuses that count as good: 200, 2xx, or 200-299,404 (default 200-299)."`
	Mix        string `json:"mix,omitempty" flag:"mix" jsonschema_description:"With a data store: w1, w2, w3, w3b (the paper's), a, b, c, d, f (YCSB's) (default b); with a bucket: put, get, put_delete, mixed (default mixed)."`
	Records    int64  `json:"records,omitempty" flag:"records" jsonschema_description:"With a data store: number of records to load first (default 1000); with a bucket: objects (default 64)."`
	ObjectSize string `json:"object_size,omitempty" flag:"object-size" jsonschema_description:"With a bucket: size of every object (default 1MiB)."`
	Generators int    `json:"generators" flag:"generators" jsonschema_description:"Agent processes on this machine that share the load."`
}

// newFlags has the defaults of the command.
func newFlags() *Flags {
	p, _ := work.Kind().New().(*work.Params)
	return &Flags{Params: *p, Study: *newStudy(), Generators: 1}
}

// command is study.Kind.Measure.
func command() study.Command {
	f := newFlags()
	return study.Command{Params: f, Usage: "TARGET --sla p90=150ms", Meaning: "the URL of the server",
		Experiment: f.Experiment, Key: f.Key, CheckHost: f.CheckHost}
}

// Key is study.Command.Key.
func (*Flags) Key(path string) string {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "workloads.capacity."), "study.")
	if in, ok := strings.CutPrefix(path, "requests."); ok { // of the only request
		if _, key, ok := strings.Cut(in, "."); ok {
			return key
		}
	}
	switch path {
	case "target":
		return ""
	case "data", "data.workload", "objects.operation":
		return "mix"
	case "data.records", "objects.count":
		return "records"
	case "objects", "objects.size": // objects as a whole: the target is no bucket
		return "object_size"
	case "requests.body_base64":
		return "body"
	case "fleet.local.nodes":
		return "generators"
	}
	return path
}

// Experiment is study.Command.Experiment. JSON is YAML.
func (*Flags) Experiment(target string, given map[string]json.RawMessage) ([]byte, error) {
	u, err := url.Parse(target)
	switch {
	case err != nil || u.Host == "":
		return nil, fmt.Errorf("%w: %q must be the URL of a server, such as http://10.0.0.7:8080/", model.ErrUsage, target)
	case given["sla"] == nil:
		return nil, fmt.Errorf("%w: a search needs an SLA, such as --sla p90=150ms; see `scalebench capacity --help`", model.ErrUsage)
	case given["generators"] != nil && given["agents"] != nil:
		return nil, fmt.Errorf("%w: --generators are processes of this machine and --agents those of a fleet: give one of the two", model.ErrUsage)
	}
	request, err := requestOf(target, given)
	if err = errors.Join(err, checkFloor(given)); err != nil {
		return nil, err
	}
	name := "capacity of " + u.Host
	if mix, ok := given["mix"]; ok { // what is asked of a store matters as much as which it is
		var text string
		if err := json.Unmarshal(mix, &text); err != nil {
			return nil, fmt.Errorf("%w: --mix: %w", model.ErrUsage, err)
		}
		name += ", " + text
	}
	asked := map[string]any{"kind": Kind().Name}
	workload := map[string]any{"kind": work.Kind().Name, "name": "capacity", "target": target}
	setStored(workload, target, given)
	if request != nil {
		workload["requests"] = []any{request}
	}
	fleet := map[string]any{"local": map[string]any{"nodes": 1}}
	for key, value := range given {
		switch key {
		case "mix", "records", "object_size", "method", "body", "expect": // are set
		case "fail_below": // is for who waits for the result
		case "generators":
			fleet["local"] = map[string]any{"nodes": value}
		case "agents":
			fleet = map[string]any{"agents": map[string]any{"labels": value}}
		default:
			if isOwn(key) {
				asked[key] = value
			} else {
				workload[key] = value
			}
		}
	}
	file, err := json.MarshalIndent(map[string]any{"name": name, "fleet": fleet, "study": asked, "workloads": []any{workload}}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the experiment file: %w", err)
	}
	return file, nil
}

// setStored sets what a workload asks a data store or a bucket for.
func setStored(workload map[string]any, target string, given map[string]json.RawMessage) {
	at, keys := "data", map[string]string{"mix": "workload", "records": "records"}
	if work.IsBucket(target) || given["object_size"] != nil {
		at, keys = "objects", map[string]string{"mix": "operation", "records": "count", "object_size": "size"}
	}
	stored := make(map[string]any)
	for key, as := range keys {
		if value, ok := given[key]; ok {
			stored[as] = value
		}
	}
	if len(stored) > 0 {
		workload[at] = stored
	}
}

// isOwn reports whether a key is one of the study.
func isOwn(key string) bool {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Study]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name == key {
			return true
		}
	}
	return false
}

// requestOf is the request that flags ask for; nil where they say nothing of it.
func requestOf(target string, given map[string]json.RawMessage) (map[string]any, error) {
	var headers map[string]string
	var body []byte
	var method, expect string
	asked := false
	for _, f := range []struct {
		key, flag string
		into      any
	}{{"headers", "", &headers}, {"body", "--data", &body}, {"method", "--method", &method}, {"expect", "--expect", &expect}} {
		value, ok := given[f.key]
		if !ok {
			continue
		}
		if err := json.Unmarshal(value, f.into); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", model.ErrUsage, f.key, err)
		}
		if asked = asked || f.flag != ""; f.flag != "" && !work.OverHTTP(target) {
			return nil, fmt.Errorf("%w: %s is for targets that begin with http:// or https://", model.ErrUsage, f.flag)
		}
	}
	if problem := load.MethodProblem(method); problem != "" {
		return nil, fmt.Errorf("%w: --method: %s", model.ErrUsage, problem)
	}
	if _, err := load.ParseStatuses(expect); err != nil {
		return nil, fmt.Errorf("--expect: %w", err)
	}
	if !asked {
		return nil, nil
	}
	request := make(map[string]any)
	if _, sends := given["body"]; sends {
		method = cmp.Or(method, http.MethodPost)
		setBody(request, body)
		if !slices.ContainsFunc(slices.Collect(maps.Keys(headers)), func(name string) bool { return http.CanonicalHeaderKey(name) == "Content-Type" }) {
			request["headers"] = map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
		}
	}
	request["name"] = strings.ToLower(cmp.Or(method, http.MethodGet))
	for key, value := range map[string]string{"method": method, "expect": expect} {
		if value != "" {
			request[key] = value
		}
	}
	return request, nil
}

// setBody sets the body of a request, as text where a file can hold that.
func setBody(request map[string]any, body []byte) {
	isText := utf8.Valid(body) && !bytes.ContainsFunc(body, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\r' && r != '\t' })
	if isText {
		request["body"] = string(body)
	} else {
		request["body_base64"] = body
	}
}

// checkFloor refuses a load that is wanted and must not be tried.
func checkFloor(given map[string]json.RawMessage) error {
	var least, most *unit.Rate
	for key, into := range map[string]any{"fail_below": &least, "max": &most} {
		if value, ok := given[key]; ok {
			if err := json.Unmarshal(value, into); err != nil {
				return fmt.Errorf("%w: %s: %w", model.ErrUsage, key, err)
			}
		}
	}
	if least != nil && most != nil && most.Value < least.Value {
		return fmt.Errorf("%w: --fail-below %s cannot be checked with --max %s: allow a larger load", model.ErrUsage, least, most)
	}
	return nil
}
