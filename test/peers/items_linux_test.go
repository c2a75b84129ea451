package peers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/slots"
)

// The queue of items beside JetStream's work queue: so many workers in so many processes
// take so many items that need no work.
const (
	queueProcesses = 8
	queueSlots     = 1250 // of each process
	queueItems     = 100_000
	queueMemory    = 1 << 30 // bytes that the server may take
	queueRounds    = 3       // an odd number: what counts is the median
)

// roleVariable says which process of the benchmark this one is: its server or its workers.
const roleVariable = "SCALEBENCH_PEERS_ROLE"

func TestMain(m *testing.M) {
	switch role, arg, _ := strings.Cut(os.Getenv(roleVariable), " "); role {
	case "server":
		os.Exit(exitCode(serveJetStream(arg)))
	case "workers":
		os.Exit(exitCode(workJetStream(arg)))
	}
	program.Main(m, 0, os.Exit)
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// BenchmarkItemQueue drains both queues in one run. Ours keeps each result on disk before it
// answers; JetStream writes to its files and lets the system bring them to the disk.
func BenchmarkItemQueue(b *testing.B) {
	for b.Loop() {
		var builtin, peer []float64
		var memory int64
		for range queueRounds { // in turns, so that what the machine does meanwhile happens to both
			rate, most := drainBuiltin(b)
			builtin, memory = append(builtin, rate), max(memory, most)
			peer = append(peer, drainJetStream(b))
		}
		slices.Sort(builtin)
		slices.Sort(peer)
		ours, theirs := builtin[queueRounds/2], peer[queueRounds/2]
		b.ReportMetric(ours, "builtin-jobs/s")
		b.ReportMetric(theirs, "jetstream-jobs/s")
		b.ReportMetric(ours/theirs, "ratio")
		b.ReportMetric(float64(memory)/1e6, "server-MB")
		if ours < theirs/2 || memory > queueMemory {
			b.Errorf("%.0f jobs/s with %d MB, and JetStream has %.0f: want half of that, and at most %d MB",
				ours, memory/1e6, theirs, queueMemory/1_000_000)
		}
	}
}

// drainBuiltin returns jobs/s, and the most memory that the server took, in bytes.
func drainBuiltin(b *testing.B) (rate float64, memory int64) {
	w := program.Install(b)
	w.StartServer()
	for i := range queueProcesses {
		w.StartAgent(fmt.Sprint("n", i))
	}
	w.AwaitNodes(queueProcesses)
	file := w.Write("items.yaml", fmt.Sprintf(`
name: items
fleet: {agents: {count: %d}}
workloads: [{name: items, kind: slots, slots: %d, items: %d}]
evaluations: [parallel]
trials: 1
`, queueProcesses, queueSlots, queueItems))
	w.Run("run", file)
	memory = mostMemory(b, w.Server.Cmd.Process.Pid)
	d := w.Data("latest")
	program.CheckComplete(b, d)
	slots.Check(b, slots.Read(b, filepath.Join(w.Dir, "server"), d.Run.ID), queueItems)
	var counted float64
	var begin, end time.Time
	for i, r := range d.Accepted() {
		if i == 0 || r.Started.Before(begin) {
			begin = r.Started
		}
		// Slots that find nothing to take ask again after a second: a task ends later
		// than its last result is stored.
		last := r.Started.Add(time.Duration(sample(r, "jobs_last") * float64(time.Second)))
		if last.After(end) {
			end = last
		}
		counted += sample(r, "jobs_done")
	}
	if counted != queueItems {
		b.Errorf("workers were told of %v results that they count, of %d items", counted, queueItems)
	}
	return queueItems / end.Sub(begin).Seconds(), memory
}

func sample(r model.Result, metric string) float64 {
	return r.Samples[slices.IndexFunc(r.Samples, func(s model.Sample) bool { return s.Metric == metric })].Value
}

// mostMemory is the most that a process had in memory so far, in bytes.
func mostMemory(b *testing.B, pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib << 10
}

// role starts a process of the benchmark. It ends when its standard input does.
func role(b *testing.B, name string) (in io.WriteCloser, out *bufio.Scanner, cmd *exec.Cmd) {
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+name)
	cmd.Stderr = os.Stderr
	in, inErr := cmd.StdinPipe()
	stdout, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		b.Fatal(err)
	}
	return in, bufio.NewScanner(stdout), cmd
}

// said is the next line of a process.
func said(b *testing.B, out *bufio.Scanner) string {
	if !out.Scan() {
		b.Fatalf("a process of the benchmark ended: %v", out.Err())
	}
	return out.Text()
}

func drainJetStream(b *testing.B) (rate float64) {
	in, out, srv := role(b, "server "+b.TempDir())
	defer func() { _ = in.Close(); _ = srv.Wait() }()
	url := said(b, out)
	nc, err := nats.Connect(url)
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	stream := fillStream(b, nc)
	workers := make([]io.WriteCloser, queueProcesses)
	processes := make([]*exec.Cmd, queueProcesses)
	defer func() {
		for i, cmd := range processes {
			_ = workers[i].Close()
			if err := cmd.Wait(); err != nil {
				b.Errorf("workers: %v", err)
			}
		}
	}()
	for i := range workers {
		var out *bufio.Scanner
		workers[i], out, processes[i] = role(b, "workers "+url)
		said(b, out) // it is ready
	}
	begin := time.Now()
	for _, in := range workers {
		if _, err := io.WriteString(in, "go\n"); err != nil {
			b.Fatal(err)
		}
	}
	for {
		info, err := stream.Info(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if info.State.Msgs == 0 {
			break
		}
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // another process is asked again
	}
	return queueItems / time.Since(begin).Seconds()
}

// fillStream makes a work queue in files, with all items.
func fillStream(b *testing.B, nc *nats.Conn) jetstream.Stream {
	js, err := jetstream.New(nc)
	if err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "ITEMS", Subjects: []string{"items"},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage})
	if err == nil {
		_, err = stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "fleet", AckPolicy: jetstream.AckExplicitPolicy,
			AckWait: time.Minute, MaxAckPending: 2 * queueProcesses * queueSlots})
	}
	if err != nil {
		b.Fatal(err)
	}
	for i := range queueItems {
		if _, err := js.PublishAsync("items", fmt.Append(nil, "item-", i)); err != nil {
			b.Fatal(err)
		}
	}
	<-js.PublishAsyncComplete()
	if info, err := stream.Info(ctx); err != nil || info.State.Msgs != queueItems {
		b.Fatalf("%v messages are stored, %v", info, err)
	}
	return stream
}

// serveJetStream is the server's process.
func serveJetStream(dir string) error {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: dir,
		NoSigs: true, NoLog: true})
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		return errors.New("the server does not start")
	}
	fmt.Println(s.ClientURL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	s.Shutdown()
	return nil
}

// workJetStream is a process of workers. They share what the process pulls, as the client
// library advises, and each waits until its acknowledgement is confirmed.
func workJetStream(url string) error {
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	consumer, err := js.Consumer(ctx, "ITEMS", "fleet")
	if err != nil {
		return err
	}
	fmt.Println("ready")
	input := bufio.NewReader(os.Stdin)
	if _, err := input.ReadString('\n'); err != nil {
		return err
	}
	items, err := consumer.Messages(jetstream.PullMaxMessages(queueSlots))
	if err != nil {
		return err
	}
	taken := make(chan jetstream.Msg)
	go func() {
		defer close(taken)
		for {
			m, err := items.Next()
			if err != nil {
				return
			}
			taken <- m
		}
	}()
	var failed atomic.Int64
	var workers sync.WaitGroup
	for range queueSlots {
		workers.Go(func() {
			for m := range taken {
				if err := m.DoubleAck(ctx); err != nil && ctx.Err() == nil {
					failed.Add(1)
				}
			}
		})
	}
	_, _ = io.Copy(io.Discard, input)
	items.Stop()
	stop()
	workers.Wait()
	if n := failed.Load(); n > 0 {
		return fmt.Errorf("%d acknowledgements failed", n)
	}
	return nil
}
