package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/plan"
	"github.com/scalebench/scalebench/internal/report"
	"github.com/scalebench/scalebench/internal/workload/load"
)

// capacityOptions are the flags of `scalebench capacity`.
type capacityOptions struct {
	run        runOptions
	sla        string
	start      loadFlag
	min, max   loadFlag
	resolution float64
	duration   time.Duration
	warmUp     time.Duration
	timeout    time.Duration
	arrivals   string
	algorithm  string
	windows    int
	generators int
	agents     agentLabels
	conns      int
	insecure   bool
	http2      bool
	spin       bool
	expect     string
	headers    map[string]string
	mix        string // workload of a data store
	records    int64
	objectSize string // in a bucket
	password   string
}

func (c *common) capacityCommand() *cobra.Command {
	var opt capacityOptions
	cmd := &cobra.Command{
		Use:   "capacity TARGET --sla p90=150ms",
		Short: "find the load that a server takes while it keeps an SLA",
		Long: `Offers load to a server, more and more, until it breaks the SLA; then closes in
on the largest load at which it does not, and tries both sides of the boundary
again. Latency counts from when a request was due. A window in which the
generator itself was late, or the path to the server changed, does not count;
when the generator or the path is what cannot do more, no capacity is reported
and the exit code is 4.

With --fail-below the exit code is 3 if the server surely takes less, and 4 if
that cannot be told, as where a single window says so. A search that was cut
does not remember it: give it again to "scalebench resume", or to
"scalebench show".

TARGET is a URL: http:// or https://, or a data store, redis://, postgres://,
mysql:// or cassandra://, into which records are loaded first, or a bucket of an
object store, s3://host:port/bucket (s3s:// for TLS), with credentials in
AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. The load comes from this machine, or from the agents of a server (--server, --agents), all of
which then share it. What was measured is a run like any other: "scalebench
show", "report" and "resume" work with it.`,
		Example: `  scalebench capacity http://10.0.0.7:8080/ --sla p90=150ms
  scalebench capacity https://shop.test/ --sla p99=500ms,errors=0.1% --arrivals poisson
  scalebench capacity http://10.0.0.7/ --sla p90=100ms --fail-below 2000
  scalebench capacity cassandra://10.0.0.8/ --sla p90=150ms --mix w3 --records 1000000
  scalebench capacity s3://10.0.0.9:7070/bench --sla p90=200ms --mix get --object-size 64KiB
  scalebench capacity http://10.0.0.7/ --sla p90=100ms --server nats://10.0.0.5:4222 --agents role=generator`,
		Args: oneArg("the URL of the server"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opt.check(args[0], cmd.Flags().Changed); err != nil {
				return err
			}
			return c.runCapacity(cmd.Context(), args[0], opt)
		},
	}
	opt.addFlags(cmd)
	c.addFormat(cmd)
	return cmd
}

func (opt *capacityOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&opt.sla, "sla", "", "what the server has to keep: p90=150ms, or p99=500ms,errors=0.1% (required)")
	f.Var(&opt.start, "start", "first load, in operations per second (default 100, or the nearest that --min and --max allow)")
	f.Var(&opt.min, "min", "smallest load allowed, such as 0.1 (default 1, or --start or --max where that is less)")
	f.Var(&opt.max, "max", "largest load allowed, such as 50000 or 50kop/s (default 1000000)")
	f.Float64Var(&opt.resolution, "resolution", 0, "how far apart passed and failed may be in the end, relative (default 0.05)")
	f.DurationVar(&opt.duration, "window", 0, "length of a window, in whole seconds (default 10s, or as long as it takes to notice an overload of 2 %)")
	f.DurationVar(&opt.warmUp, "warm-up", 2*time.Second, "time before each window that is not scored, in whole seconds")
	f.DurationVar(&opt.timeout, "timeout", 10*time.Second, "how long a request may take; longer than the SLA allows")
	f.StringVar(&opt.arrivals, "arrivals", "constant", "constant (evenly spaced) or poisson (independent users)")
	f.StringVar(&opt.algorithm, "algorithm", "default", "default, or paper (that of the black-box throughput paper, with its errors)")
	f.IntVar(&opt.windows, "windows", 0, "at most so many windows (default 40)")
	f.IntVar(&opt.generators, "generators", 1, "agent processes on this machine that share the load")
	f.Var(&opt.agents, "agents", "use the server's agents with these labels, KEY=VALUE,…, or all of them: all")
	f.IntVar(&opt.conns, "connections", 0, "most connections of one generator (default 1024; 64 to a data store or a bucket)")
	f.BoolVar(&opt.insecure, "insecure", false, "do not check the server's certificate")
	f.BoolVar(&opt.http2, "http2", false, "speak HTTP/2 (https:// only)")
	f.BoolVar(&opt.spin, "spin", false, "watch for answers without ever sleeping (http:// only): exact to some µs, for a whole processor of each event loop")
	f.StringVar(&opt.expect, "expect", "", "statuses that count as good: 200, 2xx, or 200-299,404 (default 200-299)")
	f.StringToStringVarP(&opt.headers, "header", "H", nil, "header of every request: NAME=VALUE")
	f.StringVar(&opt.mix, "mix", "", "with a data store: w1, w2, w3, w3b (the paper's), a, b, c, d, f (YCSB's) (default b); with a bucket: put, get, put_delete, mixed (default mixed)")
	f.Int64Var(&opt.records, "records", 0, "with a data store: how many records are loaded before (default 1000); with a bucket: objects (default 64)")
	f.StringVar(&opt.objectSize, "object-size", "", "with a bucket: size of every object (default 1MiB)")
	f.StringVar(&opt.password, "password-env", "", "with a data store: the environment variable that holds the password")
	opt.run.least.addFlag(cmd)
	f.BoolVar(&opt.run.detach, "detach", false, "with a server: return as soon as the run is in line")
	f.StringVarP(&opt.run.out, "output", "o", "", "path of the HTML report (default: in the data directory)")
	_ = cmd.MarkFlagRequired("sla") // it exists
}

func (c *common) runCapacity(ctx context.Context, target string, opt capacityOptions) error {
	text, err := opt.experiment(target)
	if err != nil {
		return err
	}
	exp, err := experiment.Parse("capacity.yaml", text, Kinds(), nil)
	if err != nil {
		return inFlags(err)
	}
	src := newSource("capacity.yaml", exp.Source, model.KindExperiment)
	return c.executeSource(ctx, src, exp.Timeouts.Node.Std(), opt.run)
}

// experiment is the experiment file that the command stands for; JSON is YAML.
func (opt capacityOptions) experiment(target string) ([]byte, error) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%w: %q is no URL of a server, such as http://10.0.0.7:8080/", model.ErrUsage, target)
	}
	work := opt.store(target)
	for key, v := range map[string]any{
		"kind": "load", "name": "capacity", "target": target, "sla": opt.sla, "arrivals": opt.arrivals,
		"warm_up": opt.warmUp.String(), "request_timeout": opt.timeout.String(),
		"algorithm": opt.algorithm,
	} {
		work[key] = v
	}
	for key, rate := range map[string]loadFlag{"start": opt.start, "min": opt.min, "max": opt.max} {
		if rate.given {
			work[key] = rate.String()
		}
	}
	opt.set(work)
	fleet := map[string]any{"local": map[string]any{"nodes": opt.generators}}
	if opt.agents.given {
		fleet = map[string]any{"agents": map[string]any{"labels": opt.agents.labels}}
	}
	return json.MarshalIndent(map[string]any{
		"name": opt.name(u), "fleet": fleet, "evaluations": []string{string(model.Search)}, "workloads": []any{work},
	}, "", "  ")
}

// set adds what was given and otherwise is the workload's default.
func (opt capacityOptions) set(work map[string]any) {
	for _, x := range []struct {
		key   string
		given bool
		value any
	}{
		{"duration", opt.duration != 0, opt.duration.String()},
		{"connections", opt.conns > 0, opt.conns},
		{"resolution", opt.resolution > 0, opt.resolution},
		{"windows", opt.windows > 0, opt.windows},
		{"insecure", opt.insecure, true},
		{"http2", opt.http2, true},
		{"spin", opt.spin, true},
		{"headers", len(opt.headers) > 0, opt.headers},
		{"requests", opt.expect != "", []any{map[string]any{"name": "get", "expect": opt.expect}}},
	} {
		if x.given {
			work[x.key] = x.value
		}
	}
}

// name is what the run is called: what is asked of a data store matters as much
// as which it is.
func (opt capacityOptions) name(target *url.URL) string {
	if opt.mix == "" {
		return "capacity of " + target.Host
	}
	return "capacity of " + target.Host + ", " + opt.mix
}

// store is what the flags say of a data store or a bucket.
func (opt capacityOptions) store(target string) map[string]any {
	work, data := make(map[string]any), make(map[string]any)
	key, mix, records := "data", "workload", "records"
	if load.IsBucket(target) || opt.objectSize != "" {
		key, mix, records = "objects", "operation", "count"
	}
	if opt.mix != "" {
		data[mix] = opt.mix
	}
	if opt.records > 0 {
		data[records] = opt.records
	}
	if opt.objectSize != "" {
		data["size"] = opt.objectSize
	}
	if len(data) > 0 {
		work[key] = data
	}
	if opt.password != "" {
		work["password_env"] = opt.password
	}
	return work
}

// capacities computes what the searches of a run have found.
func capacities(d model.RunData) ([]capacity.Found, error) {
	exp, err := experiment.Parse(d.Run.SourceName, []byte(d.Run.Source), Kinds(), nil)
	if err != nil {
		return nil, fmt.Errorf("reading the stored experiment file: %w", err)
	}
	configs, targets := make(map[string]capacity.Config), make(map[string]string)
	for _, w := range exp.Workloads {
		s, ok := w.Bench.(plan.Searched)
		if !ok {
			continue
		}
		if configs[w.Name], err = s.Search(); err != nil {
			return nil, err
		}
		targets[w.Name], _ = w.Params["target"].(string)
	}
	return capacity.Find(d, configs, targets)
}

// printSearches prints what was found and writes the report. It returns an
// error for what is no capacity, or too small a one.
func (c *common) printSearches(d model.RunData, format report.Format, opt runOptions) error {
	st, err := analyse(d)
	if err != nil {
		return err
	}
	if err := report.Capacities(c.env.Stdout, st.capacities, format, c.printing()); err != nil {
		return err
	}
	path, err := c.writeReport(st, opt.out)
	if err != nil {
		return err
	}
	c.say("\nreport: %s", path)
	return checkCapacities(st.capacities, opt.least)
}

// printPartial prints what the searches of a run that was cut have found so
// far; other runs have nothing to say then.
func (c *common) printPartial(ctx context.Context, s service, id model.RunID) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	d, err := s.Data(ctx, id)
	if err != nil || !d.Has(model.Search) {
		return
	}
	found, err := capacities(d)
	if err != nil {
		return
	}
	format, err := c.format()
	if err != nil {
		return
	}
	if err := report.Capacities(c.env.Stdout, found, format, c.printing()); err != nil {
		c.log.Debug("printing what was found", "err", err)
	}
}

// showSearches shows a run with what its searches have found so far, and holds
// that to --fail-below where it was given.
func (c *common) showSearches(d model.RunData, format report.Format, least floor) error {
	found, err := capacities(d)
	if err != nil {
		return err
	}
	if err := report.ShowSearches(c.env.Stdout, d, found, format, c.printing()); err != nil || !least.given {
		return err
	}
	return checkCapacities(found, least)
}
