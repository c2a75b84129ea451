package lab

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
