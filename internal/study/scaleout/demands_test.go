package scaleout

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// TestSharedMachine: where the nodes of a fleet share a machine and want more processors than it
// has, the machine is the bottleneck, also where the store becomes slower with it. What is
// predicted keeps to the processors that there are.
func TestSharedMachine(t *testing.T) {
	t.Parallel()
	compute := site{link: 400e6 / 8, get: 738e3, put: 826e3, compute: .8, stages: 40, cores: 2, quota: .5}
	but := func(change func(s *site)) site {
		s := compute
		change(&s)
		return s
	}
	for _, c := range []struct {
		name  string
		site  site
		sizes []int
		want  Bottleneck
	}{
		{"processors are short", compute, []int{2, 4, 8, 12}, Machine},
		{"and the store is slow with them", but(func(s *site) {
			s.link, s.compute, s.serve = 100e6/8, .4, 1
		}), []int{2, 4, 8, 12}, Machine},
		{"there are enough", but(func(s *site) { s.cores = 16 }), []int{2, 4, 8, 12}, None},
		{"the link is saturated before", but(func(s *site) { s.link = 14e6 / 8 }), []int{2, 4, 6}, model.ResourceObjectPut},
	} {
		w, p := newWorld(c.site, slices.Max(c.sizes), 3), params(c.sizes...)
		w.run(t, p)
		r, _ := w.result(t, p)
		if r.Bottleneck != c.want && (c.want != None || r.Bottleneck != OwnProcessors) {
			t.Errorf("%s: the bottleneck is %s, want %s (%s, efficiency %.3f)\nstages %+v\nuses %+v", c.name, r.Bottleneck,
				c.want, r.Kind, r.efficiency(), r.Stages, r.Uses)
		}
		if c.want != Machine {
			continue
		}
		most := c.site.cores / (c.site.compute * c.site.quota)
		if got := *r.largest().Upper; got > 1.1*most {
			t.Errorf("%s: %d nodes were predicted to do up to %.3g job/s, and the machine does %.3g", c.name,
				r.largest().Nodes, got, most)
		}
		for _, s := range r.Sizes {
			if !*s.Inside {
				t.Errorf("%s: %d nodes do %.3g, predicted %.3g to %.3g", c.name, s.Nodes, s.Rate, *s.Lower, *s.Upper)
			}
		}
		if text := string(r.Answer); !strings.Contains(text, "the machine that the nodes share (2 cores) is the bottleneck") {
			t.Errorf("%s: the answer is %q", c.name, text)
		}
	}
}

// TestDemands: what a job takes is told for the smallest and the largest fleet: what the workload
// reports and what the monitor counted, how long its parts take, and what ought not to happen.
func TestDemands(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(28, 7))
	packets, writes, requests := 100+rng.Float64()*900, 5+rng.Float64()*20, 1+float64(rng.IntN(4))
	w, p := newWorld(transcoding(20e6/8), 6, 3), params(2, 4, 6)
	w.each = map[string]float64{observe.MetricRxPackets: packets, "disk.writes": writes}
	w.samples = map[string]float64{observe.MetricGetRequests: requests, "jobs_cpu_own": .01, "jobs_done": 20,
		"jobs_retries": 5, "jobs_lost": 0, "jobs_tries": 1}
	w.run(t, p)
	r, answer := w.result(t, p)
	got := make(map[string]Demand)
	for _, d := range r.Demands {
		got[d.Resource+" "+d.Unit] = d
	}
	for name, want := range map[string]float64{"network.receive packet": packets, "disk.write op": writes,
		"objectstore.get op": requests, "objectstore.get byte": 738e3, "objectstore.put byte": 826e3, "jobs_retries 1": .25} {
		for _, v := range []*float64{got[name].Smallest, got[name].Largest} {
			if v == nil || math.Abs(*v/want-1) > .01 {
				t.Errorf("%s for a job: %v, want %v", name, num.Optional(v, digits), want)
			}
		}
	}
	for _, d := range r.Distributions {
		mean := r.Stages[slices.Index(parts(), Compute)].Smallest
		if d.Stage == Compute && (math.Abs(d.P50/mean-1) > .1 || d.P90 < d.P50 || d.P99 < d.P90 || d.Jobs < 30) {
			t.Errorf("computing takes %+v, %v on average", d, mean)
		}
	}
	if len(r.Distributions) != 8 {
		t.Errorf("%d distributions, want those of 4 parts in 2 sizes", len(r.Distributions))
	}
	var text strings.Builder
	if err := render.Text(&text, answer.Document(), render.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"requests tried again", "network.receive, packets", "P99"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text has no %q:\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "leases that ended") {
		t.Error("what did not happen is told")
	}
	for _, size := range [...]float64{600, 9000} { // 9,000 bytes are no packet of a wire
		w.each = map[string]float64{observe.MetricRxPackets: packets, observe.MetricReceived: size * packets}
		w.data = model.RunData{Run: w.data.Run, Nodes: w.data.Nodes}
		p.Capacity = []string{"network.receive=1Mpacket/s"}
		w.run(t, p)
		r, _ := w.result(t, p)
		if got := slices.Contains(codes(r.Doubts), "segmented_packets"); got != (size == 9000) {
			t.Errorf("packets of %v bytes: doubts are %v", size, codes(r.Doubts))
		}
	}
}

// TestLimitOfRequests: a limit in requests a second is held against what jobs ask for.
func TestLimitOfRequests(t *testing.T) {
	t.Parallel()
	w, p := newWorld(transcoding(20e6/8), 6, 3), params(2, 4, 6)
	w.samples = map[string]float64{observe.MetricPutRequests: 3}
	w.run(t, p)
	p.Target = 2
	p.Capacity = []string{"objectstore.put=100op/s"}
	r, _ := w.result(t, p)
	if slices.Contains(codes(r.Doubts), "segmented_packets") {
		t.Error("nobody asked for packets")
	}
	of := func() (n Needed) {
		for _, n = range r.Target.Limits {
			if n.Resource == model.ResourceObjectPut && n.Unit == observe.CallRate {
				return n
			}
		}
		t.Fatalf("the target needs %+v", r.Target.Limits)
		return n
	}
	if n := of(); n.PerJob != 3 || n.Needed != 6 || *n.RateLimit != 100./3 || !*n.Suffices {
		t.Errorf("the target needs %+v", n)
	}
	rate := r.largest().Rate
	p.Target, p.Capacity = 100, []string{fmt.Sprintf("objectstore.put=%.6fop/s", 3*rate*1.001)}
	r, _ = w.result(t, p)
	if n := of(); *n.Suffices || r.Target.Nodes != nil {
		t.Errorf("the target needs %+v and %v nodes", n, r.Target.Nodes)
	}
	const want = "the store's rate of requests ("
	if r.Bottleneck != model.ResourceObjectPut || !strings.Contains(string(r.Answer), want) {
		t.Errorf("the bottleneck is %s, the answer %q; want %q", r.Bottleneck, r.Answer, want)
	}
}
