package network

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// TestPackets: of a segment that was drawn, TCP takes at most its time stamps, and the
// rest is data, in each direction.
func TestPackets(t *testing.T) {
	const stamps = 12
	segment := 88 + rand.IntN(900)
	h := hosts("a", "b")
	for direction, metrics := range map[string][2]string{
		Receive: {metricReceive, metricReceivePackets}, Send: {metricSend, metricSendPackets},
	} {
		small := func(p *Params) { p.Direction, p.Packet, p.Size = direction, unit.Size(segment), unit.MiB }
		a := newNode(t, h[0], "", h[1:], nil, small)
		mustRun(t, a, newNode(t, h[1], model.RoleServe, nil, h[:1], small))
		packets := a.record.Find(metrics[1])
		each := a.record.Find(metrics[0]).Value / packets.Value
		// The head of each object has packets of its own, and what is on its way may count
		// for one and not yet for the other.
		if each > 1.02*float64(segment) || each < .95*float64(segment-stamps) {
			t.Errorf("%s: %v bytes in a packet of at most %d", direction, each, segment)
		}
		if packets.Unit != "packet/s" || packets.Resource != a.record.Find(metrics[0]).Resource || packets.Info ||
			len(a.record.Readings[metrics[1]]) < 2 {
			t.Errorf("%s: sample %+v, want a capacity with its progress", direction, packets)
		}
	}
}

// TestMessages: messages of each size come back whole, by turns of the two ends, before
// anything is transferred.
func TestMessages(t *testing.T) {
	sizes := []unit.Size{1, unit.KiB + unit.Size(rand.IntN(5000)), unit.MiB}
	h := hosts("a", "b")
	send := func(p *Params) { p.Messages = sizes }
	a, b := newNode(t, h[0], "", h[1:], h[1:], send), newNode(t, h[1], "", h[:1], h[:1], send)
	mustRun(t, a, b)
	for _, n := range []*node{a, b} {
		before := 0.
		for _, size := range sizes {
			key := model.Sample{Metric: "message_rtt_p50", Labels: map[string]string{"size": size.String()}}.Key()
			got := sampleOf(n, key)
			if got.Unit != "us" || !got.Info || got.Value < 1 || got.Value > 1e6 {
				t.Errorf("%s: %s is %+v, want a time", n.env.Node, key, got)
			}
			before = got.Value
		}
		if one := n.record.Find("message_rtt_p50").Value; before <= one {
			t.Errorf("%s: 1 MiB took %v us, a byte %v us", n.env.Node, before, one)
		}
		if n.record.Find("network_errors").Value != 0 || n.record.Find(metricReceive).Value <= 0 {
			t.Errorf("%s: %v", n.env.Node, n.record.Samples)
		}
	}
}

func sampleOf(n *node, key string) model.Sample {
	for _, s := range n.record.Samples {
		if s.Key() == key {
			return s
		}
	}
	return model.Sample{}
}

// TestMessagesOfPairs: where links carry messages of several connections, they are refused.
func TestMessagesOfPairs(t *testing.T) {
	for _, shape := range []workload.PairingKind{workload.Pairs, workload.Ring, workload.AllToOne} {
		p := Kind().New().(*Params)
		p.Shape, p.Messages = string(shape), []unit.Size{1}
		if err := p.Validate(); (err == nil) != (shape == workload.Pairs) {
			t.Errorf("%s: %v", shape, err)
		}
	}
}

// TestMessagesTakeTime: what a plan says of the time has the messages in it.
func TestMessagesTakeTime(t *testing.T) {
	p := Kind().New().(*Params)
	alone := p.Estimate()
	p.Messages = []unit.Size{1, 2, 3}
	if got := p.Estimate() - alone; got != 6*time.Second {
		t.Errorf("messages of a pair take %v, want 2 s for each size", got)
	}
	p.Direction = Send
	if got := p.Estimate() - alone; got != 3*time.Second {
		t.Errorf("messages of one end take %v, want 1 s for each size", got)
	}
}
