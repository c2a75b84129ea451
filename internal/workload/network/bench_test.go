package network

import (
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// BenchmarkTools measures loopback with both tools side by side, each end in a
// process of its own: throughput, and the CPU time that each end spends on a
// gigabyte. -benchtime 1x makes one test of 3 s each.
func BenchmarkTools(b *testing.B) {
	h := hosts("a", "b")
	for _, direction := range []string{Receive, Send} {
		for _, tool := range []string{Builtin, Iperf3} {
			b.Run(direction+" "+tool, func(b *testing.B) {
				if tool == Iperf3 {
					needIperf3(b)
				}
				p := Kind().New().(*Params)
				p.Tool, p.Direction, p.WarmUp, p.Duration = tool, direction, new(unit.Duration(0)), unit.Duration(3*time.Second)
				var rate, near, far float64
				for range b.N {
					client := task{Params: p, Self: h[0], Peers: h[1:]}
					server := task{Params: p, Self: h[1], Clients: h[:1], Role: model.RoleServe}
					hs := []*helper{startHelper(b, server), startHelper(b, client)}
					for _, h := range hs {
						h.begin(b)
					}
					at, from := hs[0].end(b), hs[1].end(b)
					if at.Error != "" || from.Error != "" {
						b.Fatal(at.Error, from.Error)
					}
					metric := metricReceive
					if direction == Send {
						metric = metricSend
					}
					r := from.Samples[metric].Value
					gigabytes := r * p.Duration.Seconds() / 1e9
					rate, near, far = rate+r, near+(from.Usage+from.Kids)/gigabytes, far+(at.Usage+at.Kids)/gigabytes
				}
				n := float64(b.N)
				b.ReportMetric(rate/n/1e9, "GB/s")
				b.ReportMetric(1000*near/n, "client-ms/GB")
				b.ReportMetric(1000*far/n, "server-ms/GB")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
