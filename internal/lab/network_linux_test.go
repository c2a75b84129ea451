package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// payload is the share of an Ethernet frame that TCP has for data, with
// timestamps and an MTU of 1500.
const payload = 1448.0 / 1514.0

func bits(perSecond float64) unit.Rate { return unit.Rate{Value: perSecond, Base: unit.Bits} }

// flow is a TCP connection between two hosts that is always full.
type flow struct{ from, to model.NodeID }

// measure runs flows at once and returns what they carried together, in bits
// of Ethernet frames per second. The beginning is not counted: it has what the
// buckets saved up, and TCP's search for the rate.
func measure(t *testing.T, l *Lab, warm time.Duration, flows ...flow) float64 {
	t.Helper()
	var received atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for _, f := range flows {
		from, to := connect(t, l, f)
		context.AfterFunc(ctx, func() { _ = from.Close(); _ = to.Close() })
		wg.Go(func() { _, _ = io.Copy(from, zeros{}) })
		wg.Go(func() { _, _ = io.Copy(counter{&received}, to) })
	}
	<-time.After(warm)
	began, before := time.Now(), received.Load()
	<-time.After(1500 * time.Millisecond)
	return float64(received.Load()-before) * 8 / payload / time.Since(began).Seconds()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}

// listen listens on a host, at a port that is free.
func listen(t *testing.T, l *Lab, host model.NodeID) (listener net.Listener) {
	t.Helper()
	r, err := l.host(host)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Namespace.inside(func() error {
		listener, err = net.Listen("tcp", r.Address+":0")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// connect makes a connection between two hosts.
func connect(t *testing.T, l *Lab, f flow) (from, to net.Conn) {
	t.Helper()
	listener := listen(t, l, f.to)
	defer func() { _ = listener.Close() }()
	var err error
	if from, err = l.Dial(t.Context(), f.from, listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if to, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	return from, to
}

// attempts compares a measured value with the truth. The machine's other work
// may keep the processor from those who measure: then less is sent, and what
// was received before a window is counted in it. So there are several
// attempts, but much more than the limit is never right.
func attempts(t *testing.T, what string, want, above, below float64, measure func() float64) {
	t.Helper()
	for attempt := 1; ; attempt++ {
		got := measure()
		t.Logf("%s: %.5g, set %.5g (%+.2f %%)", what, got, want, (got/want-1)*100)
		switch {
		case got >= want*(1-below) && got <= want*(1+above):
			return
		case got > want*1.1 || attempt == 6:
			t.Fatalf("%s = %.5g, want %.5g, at most %v %% more or %v %% less", what, got, want, above*100, below*100)
		}
	}
}

func TestRates(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	t.Parallel() // it mostly waits
	l := up(t, Config{ID: "rates", Spec: Spec{
		Limits: Limits{Link: bits(100e6)},
		Groups: []Group{
			{Name: "a", Nodes: 2, Uplink: bits(150e6)},
			{Name: "b", Nodes: 2},
			{Name: "slow", Nodes: 2, Limits: Limits{Link: bits(10e6)}},
			{Name: "fast", Nodes: 2, Limits: Limits{Link: bits(1e9)}},
		},
	}})
	const short, long = 700 * time.Millisecond, 2 * time.Second
	for _, tt := range []struct {
		name  string
		flows []flow
		want  float64
		warm  time.Duration // until TCP has found the rate
		below float64       // several flows in one queue make each other stop
	}{
		{"one link", []flow{{"lab-b-1", "lab-b-2"}}, 100e6, short, 0.01},
		{"two senders share the link of the receiver", []flow{{"lab-fast-1", "lab-b-1"}, {"lab-fast-2", "lab-b-1"}}, 100e6, short, 0.05},
		{"an uplink is shared on the way out", []flow{{"lab-a-1", "lab-b-1"}, {"lab-a-2", "lab-b-2"}}, 150e6, short, 0.05},
		{"an uplink is shared on the way in", []flow{{"lab-b-1", "lab-a-1"}, {"lab-b-2", "lab-a-2"}}, 150e6, short, 0.05},
		// Each link also carries the acknowledgements of the other direction:
		// 66 bytes for two frames, or less often.
		{"each direction of an uplink has it", []flow{{"lab-a-1", "lab-b-1"}, {"lab-b-2", "lab-a-2"}}, 200e6, short, 0.05},
		{"inside the group the uplink is of no matter", []flow{{"lab-a-1", "lab-a-2"}, {"lab-a-2", "lab-a-1"}}, 200e6, short, 0.05},
		{"10 Mbit/s", []flow{{"lab-slow-1", "lab-slow-2"}}, 10e6, long, 0.01},
		{"1 Gbit/s", []flow{{"lab-fast-1", "lab-fast-2"}}, 1e9, short, 0.05},
	} {
		t.Run(tt.name, func(t *testing.T) {
			attempts(t, "frames in bit/s", tt.want, 0.01, tt.below, func() float64 {
				return measure(t, l, tt.warm, tt.flows...)
			})
		})
	}
}

// TestQdiscs: what the kernel is told of a link with delay and rate, from tc-netem(8):
// the delay outside, the bucket within. Whether this kernel can delay does not matter.
func TestQdiscs(t *testing.T) {
	all, err := qdiscs(7, Limits{Link: bits(8e6), Delay: unit.Duration(5 * time.Millisecond)})
	if err != nil || len(all) != 2 {
		t.Fatalf("qdiscs = %v, %v, want a delay and a bucket", all, err)
	}
	delay, ok1 := all[0].(*netlink.Netem)
	bucket, ok2 := all[1].(*netlink.Tbf)
	if !ok1 || !ok2 {
		t.Fatalf("qdiscs are %T and %T", all[0], all[1])
	}
	// The unit of time is 64 ns (/proc/net/psched).
	if got := float64(delay.Latency) * tickNanos; got < 4.99e6 || got > 5.01e6 || delay.Jitter != 0 || delay.Loss != 0 || delay.Limit != inFlight {
		t.Errorf("netem has %+v, want 5 ms and nothing else", delay)
	}
	if delay.Parent != netlink.HANDLE_ROOT || bucket.Parent != netlink.MakeHandle(1, 1) || delay.Handle == bucket.Handle || bucket.Rate != 1e6 {
		t.Errorf("netem is %v, the bucket %v with %d B/s; want it within netem", delay.QdiscAttrs, bucket.QdiscAttrs, bucket.Rate)
	}
	alone, err := qdiscs(7, Limits{Link: bits(8e6)})
	if err != nil || len(alone) != 1 || alone[0].Attrs().Parent != netlink.HANDLE_ROOT {
		t.Errorf("without delay: %v, %v, want the bucket alone", alone, err)
	}
}

// TestQueue: the kernel drops what would wait longer for a link than its queue lasts, at
// both ends, also after the rate has changed. The limit counts what the bucket holds, too
// (tc-tbf(8)).
func TestQueue(t *testing.T) {
	t.Parallel()
	l := up(t, Config{ID: "queue", Spec: Spec{Limits: Limits{Link: bits(80e6)}, Groups: []Group{
		{Name: "long", Nodes: 1, Limits: Limits{Queue: unit.Duration(100 * time.Millisecond)}},
		{Name: "usual", Nodes: 1},
		{Name: "slow", Nodes: 1, Limits: Limits{Link: bits(8e6)}},
	}}})
	for _, c := range []struct {
		host model.NodeID
		rate float64 // bytes a second
		want uint32  // bytes: 4 ms or 16 KiB of bucket, and the queue
	}{
		{"lab-long-1", 10e6, 40_000 + 1_000_000},
		{"lab-usual-1", 10e6, 40_000 + 200_000},
		{"lab-slow-1", 1e6, 16<<10 + 64<<10}, // the least there is
		{"lab-long-1", 5e6, 20_000 + 500_000},
		{"lab-usual-1", 5e6, 20_000 + 100_000},
	} {
		if _, err := l.Shape(model.Shape{Links: map[model.NodeID]model.Link{c.host: {Out: c.rate, In: c.rate}}}); err != nil {
			t.Fatal(err)
		}
		if out, in := queues(t, l, c.host); out != c.want || in != c.want {
			t.Errorf("of %s at %v B/s the kernel holds %d bytes out and %d in, want %d", c.host, c.rate, out, in, c.want)
		}
	}
}

// queues are how many bytes wait at most at the two ends of a host's link, as the kernel says.
func queues(t *testing.T, l *Lab, host model.NodeID) (out, in uint32) {
	t.Helper()
	r, err := l.host(host)
	if err != nil {
		t.Fatal(err)
	}
	limit := func(n Namespace, name string) uint32 {
		ns, err := n.open()
		if err != nil {
			t.Fatal(err)
		}
		defer ns.Close() //nolint:errcheck // only looked at
		h, err := handleIn(ns)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		link, err := h.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := bucketOf(h, link)
		if err != nil {
			t.Fatal(err)
		}
		return b.Limit
	}
	return limit(r.Namespace, hostLink), limit(l.manifest.Switch, r.Port)
}

// TestDelay: a link with delay has it, in each direction; where the kernel cannot, that
// is said before anything is made.
func TestDelay(t *testing.T) {
	needLab(t)
	spec := Spec{Nodes: 2, Limits: Limits{Link: bits(100e6), Delay: unit.Duration(10 * time.Millisecond)}}
	if err := CheckDelay(spec, nil); err != nil {
		if !strings.Contains(err.Error(), "no netem (module sch_netem)") || !errors.Is(err, model.ErrUnavailable) {
			t.Errorf("CheckDelay = %v, want the module named", err)
		}
		if _, err := Up(t.Context(), Config{ID: "delay", Spec: spec}); err == nil || !strings.Contains(err.Error(), "sch_netem") {
			t.Errorf("Up = %v, want the same", err)
		}
		t.Skip("this kernel has no netem: that a link has its delay is not measured here")
	}
	l := up(t, Config{ID: "delay", Spec: spec})
	least := time.Hour
	for range 5 {
		began := time.Now()
		from, to := connect(t, l, flow{"lab-1", "lab-2"})
		least = min(least, time.Since(began))
		_, _ = from.Close(), to.Close()
	}
	if least < 40*time.Millisecond || least > 60*time.Millisecond {
		t.Errorf("to connect takes %v, want one round trip of 40ms", least)
	}
}

// TestShape: the rate of one direction of one link changes in a lab that is up, and
// nothing else does; with nothing to change all are as they were made. The kernel tells
// what is, also where something else has changed it.
func TestShape(t *testing.T) {
	t.Parallel() // it mostly waits
	l := up(t, Config{ID: "shape", Spec: Spec{Groups: []Group{
		{Name: "a", Nodes: 1, Limits: Limits{Link: bits(100e6)}}, {Name: "b", Nodes: 1, Limits: Limits{Link: bits(1e9)}}, {Name: "c", Nodes: 1},
	}}})
	const made = 100e6 / 8
	out, in := flow{"lab-a-1", "lab-b-1"}, flow{"lab-b-1", "lab-a-1"}
	for _, c := range []struct {
		name string
		want map[model.NodeID]model.Link
		is   model.Link
	}{
		{"what it sends", map[model.NodeID]model.Link{"lab-a-1": {Out: 1.25 * made, In: made}}, model.Link{Out: 1.25 * made, In: made}},
		{"what it receives", map[model.NodeID]model.Link{"lab-a-1": {Out: made, In: 1.25 * made}}, model.Link{Out: made, In: 1.25 * made}},
		{"neither", nil, model.Link{Out: made, In: made}},
	} {
		all, err := l.Shape(model.Shape{Links: c.want})
		want := map[model.NodeID]model.Link{"lab-a-1": c.is, "lab-b-1": {Out: 125e6, In: 125e6}}
		if diff := cmp.Diff(want, all.Links); err != nil || diff != "" {
			t.Fatalf("%s: %v, links (-want +got):\n%s", c.name, err, diff)
		}
		if testing.Short() {
			continue // what follows measures
		}
		for f, rate := range map[flow]float64{out: 8 * c.is.Out, in: 8 * c.is.In} {
			attempts(t, fmt.Sprintf("%s raised: bit/s from %s to %s", c.name, f.from, f.to), rate, .01, .05, func() float64 { return measure(t, l, 700*time.Millisecond, f) })
		}
	}
	for want, bad := range map[string]map[model.NodeID]model.Link{"has no rate in this lab": {"lab-c-1": {Out: 1e6, In: 1e6}}, "no host lab-d-1": {"lab-d-1": {}}} {
		if _, err := l.Shape(model.Shape{Links: bad}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Shape = %v, want %q", err, want)
		}
	}
	hub, err := l.manifest.Switch.open()
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close() //nolint:errcheck // only looked at
	if _, err := rateOf(hub, l.manifest.Hosts[0].Port, 1e6, 0); err != nil {
		t.Fatal(err)
	}
	if all, err := l.Shaped(); err != nil || all.Links["lab-a-1"] != (model.Link{Out: made, In: 1e6}) {
		t.Errorf("Shaped = %v, %v, want that of lab-a-1 slower", all.Links, err)
	}
}
