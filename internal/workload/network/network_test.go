package network

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/workloadtest"
)

func TestMain(m *testing.M) {
	if done := asHelper(); done {
		return
	}
	goleak.VerifyTestMain(m)
}

// node is one task of a test, as the plan would make it.
type node struct {
	params *Params
	env    *workload.Env
	record *workloadtest.Record
	moved  chan struct{} // closed at the first progress above 0
}

// hosts returns nodes on loopback addresses of their own, 127.0.7.1 and so on.
func hosts(names ...string) []model.Host { return hostsIn(7, names...) }

// hostsIn returns nodes in a network of their own, 127.0.N.1 and so on, for
// tests that run side by side.
func hostsIn(network int, names ...string) []model.Host {
	var hs []model.Host
	for i, n := range names {
		hs = append(hs, model.Host{Node: model.NodeID(n), Address: fmt.Sprintf("127.0.%d.%d", network, i+1)})
	}
	return hs
}

// newNode makes the task of a node; change adjusts the parameters.
func newNode(t *testing.T, self model.Host, role model.Role, peers, clients []model.Host, change func(*Params)) *node {
	t.Helper()
	p := Kind().New().(*Params)
	p.Size, p.Duration, p.Connections = 5_000_000, unit.Duration(600*time.Millisecond), 2
	p.WarmUp, p.Stall = new(unit.Duration(200*time.Millisecond)), unit.Duration(5*time.Second) // a busy machine stalls, too
	if change != nil {
		change(p)
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	n := &node{params: p, record: &workloadtest.Record{T: t}, moved: make(chan struct{})}
	var once sync.Once
	n.record.Seen = func(_ string, v float64) {
		if v > 0 {
			once.Do(func() { close(n.moved) })
		}
	}
	n.env = &workload.Env{
		Node: self.Node, Self: self, Peers: peers, Clients: clients, Role: role,
		Dir: t.TempDir(), Environ: os.Environ(), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Report: n.record,
	}
	return n
}

// run takes all tasks through their lives, as the runner does, and returns
// how each ended.
func run(ctx context.Context, t *testing.T, nodes ...*node) []error {
	t.Helper()
	for _, n := range nodes {
		t.Cleanup(func() {
			if err := n.params.Cleanup(context.WithoutCancel(ctx), n.env); err != nil {
				t.Errorf("%s: Cleanup() = %v", n.env.Node, err)
			}
		})
		if err := n.params.Prepare(ctx, n.env); err != nil {
			t.Fatalf("%s: Prepare() = %v", n.env.Node, err)
		}
	}
	errs := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		n.record.Start = time.Now()
		all.Go(func() { errs[i] = n.params.Run(ctx, n.env) })
	}
	all.Wait()
	return errs
}

func mustRun(t *testing.T, nodes ...*node) {
	t.Helper()
	for i, err := range run(t.Context(), t, nodes...) {
		if err != nil {
			t.Fatalf("%s: Run() = %v", nodes[i].env.Node, err)
		}
	}
}

// check checks what a measuring task reported: the metric with its resource,
// progress from 0 that tells the same rate as the sample, and round-trip times.
func (n *node) check(t *testing.T, metrics ...string) {
	t.Helper()
	r := n.record
	for _, m := range metrics {
		s, points := r.Find(m), r.Readings[m]
		if s.Unit != "byte/s" || s.Better != model.Higher || s.Resource == "" || s.Info || s.Value <= 0 {
			t.Errorf("%s: sample %s is %+v, want a capacity in byte/s", n.env.Node, m, s)
		}
		if len(points) < 2 || points[0].Value != 0 {
			t.Fatalf("%s: progress of %s is %v, want points from 0", n.env.Node, m, points)
		}
		first, last := points[0], points[len(points)-1]
		rate := last.Value / (last.After - first.After).Seconds()
		tolerance := 0.1 // the processor may be elsewhere between reading and reporting
		if n.params.Tool == Iperf3 && m == metricSend {
			// Its series is what this end sent, its sample what the other
			// received: on busy cores they differ by what is on its way.
			tolerance = 0.25
		}
		if math.Abs(rate/s.Value-1) > tolerance {
			t.Errorf("%s: %s is %v by progress and %v by sample, want the same", n.env.Node, m, rate, s.Value)
		}
	}
	n.checkInfo(t)
	if got := len(r.Readings); got != len(metrics) {
		t.Errorf("%s: progress of %d metrics, want %d", n.env.Node, got, len(metrics))
	}
}

func (n *node) checkInfo(t *testing.T) {
	t.Helper()
	for _, m := range []string{"rtt_idle_p50", "rtt_p50", "rtt_p99"} {
		if s := n.record.Find(m); !s.Info || s.Unit != "us" || s.Better != model.Lower || s.Value < 1 || s.Value > 1e6 {
			t.Errorf("%s: sample %s is %+v, want information from 1 us to 1 s", n.env.Node, m, s)
		}
	}
	if s := n.record.Find("network_errors"); s.Metric == "" || !s.Info || s.Value != 0 {
		t.Errorf("%s: network_errors is %+v, want 0 as information", n.env.Node, s)
	}
	if len(n.record.Histograms) != 1 || n.record.Histograms[0].Metric != "network_rtt" {
		t.Fatalf("%s: histograms %v, want network_rtt", n.env.Node, n.record.Histograms)
	}
	h, err := hdrhistogram.Decode([]byte(n.record.Histograms[0].Encoded))
	if err != nil {
		t.Fatalf("%s: the histogram of echoes: %v", n.env.Node, err)
	}
	if h.TotalCount() == 0 {
		t.Errorf("%s: the histogram has no echoes, want some", n.env.Node)
	}
}

func (n *node) checkNothing(t *testing.T) {
	t.Helper()
	if len(n.record.Samples)+len(n.record.Readings) > 0 {
		t.Errorf("%s: it only serves and reports %v", n.env.Node, n.record.Samples)
	}
}

func direct(d string) func(*Params) { return func(p *Params) { p.Direction = d } }

func TestPair(t *testing.T) {
	h := hosts("a", "b")
	for _, tt := range []struct{ direction, metric string }{
		{Receive, metricReceive}, {Send, metricSend},
	} {
		t.Run(tt.direction, func(t *testing.T) {
			a := newNode(t, h[0], "", h[1:], nil, direct(tt.direction))
			b := newNode(t, h[1], model.RoleServe, nil, h[:1], direct(tt.direction))
			mustRun(t, a, b)
			a.check(t, tt.metric)
			b.checkNothing(t)
		})
	}
	t.Run(Both, func(t *testing.T) {
		a := newNode(t, h[0], "", h[1:], h[1:], nil)
		b := newNode(t, h[1], "", h[:1], h[:1], nil)
		mustRun(t, a, b)
		a.check(t, metricReceive)
		b.check(t, metricReceive)
	})
}

func TestRing(t *testing.T) {
	h := hosts("a", "b", "c")
	for _, tt := range []struct {
		direction string
		metrics   []string
	}{
		{"", []string{metricReceive}},
		{Both, []string{metricReceive, metricSend}},
	} {
		var nodes []*node
		for i := range h {
			next, before := h[(i+1)%3], h[(i+2)%3]
			nodes = append(nodes, newNode(t, h[i], "", []model.Host{next}, []model.Host{before}, func(p *Params) {
				p.Shape, p.Direction = "ring", tt.direction
			}))
		}
		mustRun(t, nodes...)
		for _, n := range nodes {
			n.check(t, tt.metrics...)
		}
	}
}

// TestSink has nodes that share the address of the sink, each with its slot.
func TestSink(t *testing.T) {
	h := hosts("sink", "b", "c", "d")
	for i := range h {
		h[i].Address, h[i].Slot = "127.0.7.1", i
	}
	toOne := func(p *Params) { p.Shape = "all_to_one" }
	nodes := []*node{newNode(t, h[0], model.RoleServe, nil, h[1:], toOne)}
	for _, self := range h[1:] {
		nodes = append(nodes, newNode(t, self, "", h[:1], nil, toOne))
	}
	mustRun(t, nodes...)
	nodes[0].checkNothing(t)
	for _, n := range nodes[1:] {
		n.check(t, metricSend)
		if s := n.record.Find(metricRetransmits); !s.Info {
			t.Errorf("%s: no retransmits", n.env.Node)
		}
	}
}

// TestDownloads checks that a count of transfers is exact in both directions:
// every byte is counted once, and headers are not.
func TestDownloads(t *testing.T) {
	h := hosts("a", "b")
	for _, size := range []unit.Size{1000, 1_234_567} {
		counted := func(p *Params) {
			p.Shape, p.Direction, p.Duration, p.Downloads, p.Size, p.WarmUp, p.Connections = "ring", Both, 0, 23, size, nil, 3
		}
		a := newNode(t, h[0], "", h[1:], h[1:], counted)
		b := newNode(t, h[1], "", h[:1], h[:1], counted)
		mustRun(t, a, b)
		for _, n := range []*node{a, b} {
			for _, m := range []string{metricReceive, metricSend} {
				points := n.record.Readings[m]
				if got, want := points[len(points)-1].Value, float64(23*size); got != want {
					t.Errorf("%s: %s counts %v bytes of 23 transfers of %v, want %v", n.env.Node, m, got, size, want)
				}
			}
			if s := n.record.Find("rtt_idle_p50"); s.Metric != "" {
				t.Errorf("%s: without warm-up the network is never idle, got %+v", n.env.Node, s)
			}
		}
	}
}

// TestWarmUpIsNotCounted checks that what was transferred before the scored
// part is in no counter.
func TestWarmUpIsNotCounted(t *testing.T) {
	h := hosts("a", "b")
	change := func(p *Params) {
		p.Direction, p.Downloads, p.Duration, p.Size, p.Connections = Receive, 3, 0, 1_000_000, 1
	}
	a := newNode(t, h[0], "", h[1:], nil, change)
	mustRun(t, a, newNode(t, h[1], model.RoleServe, nil, h[:1], change))
	points := a.record.Readings[metricReceive]
	// One transfer may have been under way when the warm-up ended.
	if got := points[len(points)-1].Value; got < 3_000_000 || got > 4_000_000 {
		t.Errorf("3 transfers of 1 MB count as %v bytes, want 3 to 4 MB", got)
	}
}

func TestNoPeer(t *testing.T) {
	n := newNode(t, hosts("a")[0], "", nil, nil, nil)
	if err := n.params.Prepare(t.Context(), n.env); err == nil || !strings.Contains(err.Error(), "at least 2") {
		t.Errorf("Prepare() = %v, want it to ask for two nodes", err)
	}
}

func TestAddressErrors(t *testing.T) {
	h := hosts("a", "b")
	for name, tt := range map[string]struct {
		change func(*model.Host)
		want   string
	}{
		"unknown":   {func(h *model.Host) { h.Address = "" }, "--label address=ADDRESS"},
		"elsewhere": {func(h *model.Host) { h.Address = "192.0.2.1" }, "192.0.2.1:7420"},
		"port":      {func(h *model.Host) { h.Slot = 60000 }, "smaller port"},
	} {
		self := h[1]
		tt.change(&self)
		n := newNode(t, self, model.RoleServe, nil, h[:1], nil)
		if err := n.params.Prepare(t.Context(), n.env); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Prepare() = %v, want %q", name, err, tt.want)
		}
	}
}

func TestCancel(t *testing.T) {
	h := hosts("a", "b")
	long := func(p *Params) { p.Duration = unit.Duration(time.Hour) }
	a := newNode(t, h[0], "", h[1:], h[1:], long)
	b := newNode(t, h[1], "", h[:1], h[:1], long)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-a.moved
		cancel()
	}()
	for i, err := range run(ctx, t, a, b) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("node %d: Run() = %v, want the end of the context", i, err)
		}
	}
	if len(a.record.Samples) > 0 {
		t.Errorf("samples %v of a cancelled task, want none", a.record.Samples)
	}
}
