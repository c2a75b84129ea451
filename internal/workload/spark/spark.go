// Package spark runs a data-intensive application on all nodes together: an
// Apache Spark cluster in standalone mode, and on it the job with which the paper
// on runtime variance (section 7.2) measures what variance of the nodes does to
// such an application: the sum of adRevenue by sourceIP over UserVisits.
//
//  1. Prepare makes the table on each node (visits.go), the same to the byte, or this
//     node's part of it (parts.go), in a folder that is kept: the next trial finds
//     it. The first node opens a port for the others.
//  2. Run, on the first node: the master is started and a worker; the others come
//     by a connection each, are told where the master is, and start a worker
//     (cluster.go, daemon.go). When all have registered the cluster is there.
//  3. The first node submits the job (job.py) and takes the time until its result.
//  4. The result is held against what the generator knows: how many groups, the
//     sum of all in cents, and a checksum over all groups. A difference fails the
//     task.
//  5. Workers and master are told to end. Whatever they have written was below the
//     tasks' own directories; what does not end is killed with its task.
//
// It is a kind of its own, and no command with services, because the parts of one
// measurement are on all nodes: they begin together, know each other's addresses,
// and end together, whichever of them fails.
package spark

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

//go:embed job.py
var jobText []byte

// Params are the parameters of the workload, with its state between Prepare and
// Cleanup.
type Params struct {
	Size    unit.Size `json:"size,omitempty" jsonschema_description:"Size of the table, which every node has in full unless it is divided. Default: 80MB, about a million visits."`
	Divided bool      `json:"divided,omitempty" jsonschema_description:"Whether the table is divided among the nodes: each has its part, and reads it from its own disk."`
	Sources int       `json:"sources,omitempty" jsonschema:"minimum=1,maximum=10000000" jsonschema_description:"Different values of sourceIP, at most: the groups of the sum. Default: 100000."`
	Skew    float64   `json:"skew,omitempty" jsonschema:"minimum=0,maximum=10" jsonschema_description:"How unequally often they occur: the k-th as often as k^-skew (Zipf). Default 0: equally."`
	Seed    int64     `json:"seed,omitempty" jsonschema_description:"Of what is drawn at random; the same gives the same table."`
	Path    string    `json:"path,omitempty" jsonschema_description:"Folder of the table on every node, kept from trial to trial. Default: /var/tmp/scalebench-spark-UID, the user's own."`
	Home    string    `json:"home,omitempty" jsonschema_description:"Folder of Spark 4 on every node, with bin/spark-class. Default: spark-class and spark-submit are on the PATH, as pip install pyspark puts them."`
	Cores   int       `json:"cores,omitempty" jsonschema:"minimum=1,maximum=4096" jsonschema_description:"Tasks of the job at the same time on each node. Default: the node's processors."`
	Memory  unit.Size `json:"memory,omitempty" jsonschema_description:"Heap of the executor on each node, and of the driver. Default: 512MiB, the least."`
	Port    int       `json:"port,omitempty" jsonschema:"minimum=1,maximum=65534" jsonschema_description:"TCP port of the master on the first node; the next is for the nodes to find each other. All others are chosen by the system."`

	first *first
	file  string // of the table
	kept  kept
	parts []*part // of a table that is divided, on the first node
	// cached is how much of this node's part stays in the page cache, in bytes.
	cached int64
}

const (
	defaultSize    = 80_000_000
	defaultSources = 100_000
	leastMemory    = 512 * unit.MiB // with less Spark refuses to start
)

// Kind describes the workload.
func Kind() workload.Kind {
	return workload.Kind{
		Name:    "spark",
		Summary: "A Spark cluster of all nodes sums revenue by source over a generated table of visits; its runtime, with the sum checked.",
		New: func() workload.Workload {
			return &Params{Size: defaultSize, Sources: defaultSources, Memory: leastMemory, Port: 7077}
		},
	}
}

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	return errors.Join(
		workload.Refuse(p.Size < 1 || p.Size > 1<<50, "size", "a size up to 1PiB", "%s is impossible", p.Size),
		workload.Refuse(p.Memory < leastMemory, "memory", leastMemory.String()+" or more", "%s is not enough for Spark", p.Memory),
		workload.Refuse(p.Path != "" && !filepath.IsAbs(p.Path), "path", "an absolute path", "%q is not one", p.Path),
		workload.Refuse(p.Home != "" && !filepath.IsAbs(p.Home), "home", "an absolute path", "%q is not one", p.Home))
}

// Estimate implements workload.Workload: how long the job takes is what the task
// finds out.
func (p *Params) Estimate() time.Duration { return 0 }

// Pairing implements workload.Paired: all nodes are one subject.
func (p *Params) Pairing() workload.Pairing { return workload.Pairing{Kind: workload.Together} }

// IsTeam implements workload.Teamed: who divide the table need to know how many they are.
func (p *Params) IsTeam() bool { return p.Divided }

// Tools implements workload.ToolUser.
func (p *Params) Tools() []workload.Tool {
	const (
		java = "install Java 17 there: apt-get install openjdk-17-jre-headless (Debian, Ubuntu) or dnf install java-17-openjdk-headless (Fedora, RHEL)"
		get  = "install Spark there: pip install pyspark==4.*, and put its programs on the PATH of the agent, or name its folder with home"
	)
	submit := "spark-submit"
	if p.Home != "" {
		submit = filepath.Join(p.Home, "bin", submit)
	}
	return []workload.Tool{{Name: "java", Get: java}, {Name: "python3"}, {Name: submit, Get: get}}
}

// Prepare makes the data. The first node opens its port.
func (p *Params) Prepare(ctx context.Context, env *workload.Env) (err error) {
	folder := cmp.Or(p.Path, fmt.Sprintf("/var/tmp/scalebench-spark-%d", os.Geteuid()))
	t := table{Version: generatorVersion, Seed: p.Seed, Size: p.Size.Bytes(), Sources: p.Sources, Skew: p.Skew}
	if p.Divided {
		t.Part, t.Parts, t.Size = env.Part, env.Parts, max(1, t.Size/int64(env.Parts))
	}
	if p.file, p.kept, err = t.data(ctx, folder); err != nil {
		return err
	}
	if p.Divided {
		p.kept.CRC = 0 // parts differ
		if p.cached, err = forget(p.file); err != nil {
			return fmt.Errorf("preparing to read from the disk: %w", err)
		}
	}
	if p.cached > p.kept.Bytes/100 {
		_, _ = fmt.Fprintf(env.Stderr, "warning: %v of %v in %s stay in memory and are not read from the disk: "+
			"give a path on a disk\n", unit.Size(p.cached), unit.Size(p.kept.Bytes), p.file)
	}
	_, _ = fmt.Fprintf(env.Stdout, "spark: %d visits, %v, in %s\n", p.kept.Rows, unit.Size(p.kept.Bytes), p.file) // it takes everything
	if env.Role == model.RoleMeasure {
		p.first, err = listen(ctx, address(env.Self, p.Port+1), env.Peers)
	}
	return err
}

// portOf is a port that counts up for nodes of one address.
func portOf(h model.Host, port int) int { return port + 2*h.Slot }

// address is where a node listens.
func address(h model.Host, port int) string {
	return net.JoinHostPort(h.Address, strconv.Itoa(portOf(h, port)))
}

// Cleanup implements workload.Cleaner.
func (p *Params) Cleanup(context.Context, *workload.Env) error {
	if p.first != nil {
		p.first.end()
	}
	return nil
}

// Run implements workload.Workload.
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	h := &home{dir: env.Dir, environ: env.Environ, stderr: env.Stderr}
	if p.Home != "" {
		h.bin = filepath.Join(p.Home, "bin")
		h.environ = append(h.environ, "SPARK_HOME="+p.Home)
	}
	alive, stop := context.WithCancelCause(ctx)
	defer h.running.Wait()
	defer stop(nil)
	if env.Role == model.RoleServe {
		return p.serve(alive, stop, h, env)
	}
	if p.first == nil {
		return errors.New("spark: Run was called before Prepare")
	}
	defer p.first.end()
	return p.measure(alive, stop, h, env)
}

// cores are the tasks of the job at once.
func (p *Params) cores() int { return cmp.Or(p.Cores, runtime.GOMAXPROCS(0)) } // processors, or the cgroup's share of them

// heap is a size as Java takes it.
func heap(s unit.Size) string { return strconv.FormatInt(s.Bytes()>>20, 10) + "m" }

// work starts this node's worker. It may use a bit more than the executor's heap.
func (p *Params) work(ctx context.Context, h *home, self model.Host, master string, trouble func(error)) error {
	return h.startDaemon(ctx, "worker", workerReady, trouble, "org.apache.spark.deploy.worker.Worker",
		"--host", self.Address, "--port", "0", "--webui-port", "0",
		"--cores", strconv.Itoa(p.cores()), "--memory", heap(p.Memory), master)
}

// serve is what the other nodes do: they have a worker until the first node says
// that it is over.
func (p *Params) serve(ctx context.Context, trouble func(error), h *home, env *workload.Env) error {
	if len(env.Clients) != 1 {
		return fmt.Errorf("spark: %d first nodes, want one", len(env.Clients))
	}
	hello := message{Node: env.Node, CRC: p.kept.CRC}
	if p.Divided {
		hello.Part = p.part(env.Self.Address)
	}
	line, m, err := join(ctx, address(env.Clients[0], p.Port+1), hello)
	if err != nil {
		return err
	}
	defer func() { _ = line.conn.Close() }() // it is over
	if err = h.prepare(env.Self.Address, m.Secret); err == nil {
		err = p.work(ctx, h, env.Self, m.Master, trouble)
	}
	if err != nil {
		return errors.Join(err, line.send(message{Error: err.Error()}))
	}
	if err := line.send(message{Registered: true}); err != nil {
		return fmt.Errorf("telling the first node: %w", err)
	}
	defer context.AfterFunc(ctx, func() {
		_ = line.send(message{Error: context.Cause(ctx).Error()}) // the end of the connection tells, too
		_ = line.conn.Close()
	})()
	if m, err = line.receive(); m.Done {
		return nil
	}
	return cmp.Or(context.Cause(ctx), fmt.Errorf("the first node is gone: %w", err))
}

// measure is what the first node does.
func (p *Params) measure(ctx context.Context, trouble func(error), h *home, env *workload.Env) error {
	began := time.Now()
	secret := rand.Text()
	err := h.prepare(env.Self.Address, secret)
	if err == nil {
		err = p.first.gather(ctx, p.kept.CRC)
	}
	if err == nil {
		err = h.startDaemon(ctx, "master", masterReady, trouble, "org.apache.spark.deploy.master.Master",
			"--host", env.Self.Address, "--port", strconv.Itoa(portOf(env.Self, p.Port)), "--webui-port", "0")
	}
	if err != nil {
		return err
	}
	master := "spark://" + address(env.Self, p.Port)
	own := make(chan error, 1)
	h.running.Go(func() { own <- p.work(ctx, h, env.Self, master, trouble) })
	err = p.first.begin(ctx, message{Master: master, Secret: secret}, trouble)
	if err = errors.Join(err, <-own); err != nil {
		return err
	}
	if p.Divided {
		p.parts = append(p.first.parts, p.part(env.Self.Address))
		if p.kept.Answer, err = whole(p.parts); err != nil {
			return err
		}
	}
	up := time.Since(began)
	times, err := p.submit(ctx, h, master, 1+len(env.Peers))
	if err != nil {
		return err
	}
	sample := func(metric string, d time.Duration, info bool) {
		env.Report.Sample(model.Sample{Metric: metric, Unit: "s", Value: d.Seconds(), Better: model.Lower, Info: info})
	}
	sample("spark_runtime", times.answered, false)
	sample("spark_cluster_start", up, true)
	sample("spark_session", times.session, true)
	sample("spark_aggregate", times.answered-times.session, true)
	if p.Divided {
		var rows, cached int64
		for _, part := range p.parts {
			rows, cached = rows+part.Rows, cached+part.Cached
		}
		env.Report.Sample(workload.Info("spark_rows", "1", float64(rows)))
		env.Report.Sample(workload.Info("spark_cached", "byte", float64(cached)))
	}
	return nil
}

// times are when, since the job was submitted, its session had all executors, and
// its answer was there.
type times struct{ session, answered time.Duration }

// said is what the job prints, a line each.
type said struct {
	Executors *int    `json:"executors"`
	Answer    *answer `json:"answer"`
}

// submit does the job and checks its answer.
func (p *Params) submit(ctx context.Context, h *home, master string, nodes int) (t times, err error) {
	script, data, wait := filepath.Join(h.dir, "job.py"), "file://"+p.file, "3s" // as is Spark's default
	err = os.WriteFile(script, jobText, 0o600)
	if err == nil && p.Divided {
		var text []byte
		if text, err = json.Marshal(p.parts); err == nil {
			data, wait = filepath.Join(h.dir, "parts.json"), "24h" // no other node has what a task reads
			err = os.WriteFile(data, text, 0o600)
		}
	}
	if err != nil {
		return times{}, fmt.Errorf("writing the job: %w", err)
	}
	var executors int
	var got *answer
	began := time.Now()
	out := &workload.Lines{Take: func(line []byte) {
		var s said
		switch {
		case json.Unmarshal(bytes.TrimSpace(line), &s) != nil:
		case s.Executors != nil:
			t.session, executors = time.Since(began), *s.Executors
		case s.Answer != nil:
			t.answered, got = time.Since(began), s.Answer
		}
	}}
	cores := strconv.Itoa(max(2, nodes*p.cores()))
	process, err := h.start(ctx, "job", out, func(string) {}, "spark-submit", "--master", master,
		"--conf", "spark.executor.memory="+heap(p.Memory), "--conf", "spark.driver.memory="+heap(p.Memory),
		"--conf", "spark.sql.files.minPartitionNum="+cores, "--conf", "spark.sql.shuffle.partitions="+cores,
		"--conf", "spark.locality.wait="+wait,
		script, data, strconv.Itoa(nodes))
	if err != nil {
		return times{}, err
	}
	<-process.ended
	switch {
	case ctx.Err() != nil:
		return times{}, context.Cause(ctx)
	case process.how != nil:
		return times{}, fmt.Errorf("the job has failed (%w): %s", process.how, process.why)
	case got == nil:
		return times{}, errors.New("the job has printed no answer")
	}
	return t, p.judge(executors, nodes, *got)
}

// judge holds what the job found against what the generator knows.
func (p *Params) judge(executors, nodes int, got answer) error {
	if executors != nodes {
		return fmt.Errorf("the job had executors on %d of %d nodes", executors, nodes)
	}
	want := p.kept.Answer
	if got == want {
		return nil
	}
	return fmt.Errorf("the job's sum is wrong: %d groups with %d cents in all, checksum %d, where the generator has written %d groups with %d cents, checksum %d; remove %s if it was changed: it is made anew then",
		got.Groups, got.Cents, got.Checked, want.Groups, want.Cents, want.Checked, p.file)
}
