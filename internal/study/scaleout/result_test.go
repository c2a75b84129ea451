package scaleout

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/scalability"
	"github.com/scalebench/scalebench/internal/study"
)

// TestBottleneck: what ends growth is named, whatever it is.
func TestBottleneck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		site  site
		sizes []int
		want  Bottleneck
	}{
		{"the store's link", transcoding(20e6 / 8), []int{2, 4, 6, 8}, model.ResourceObjectPut},
		{"the other way", site{link: 20e6 / 8, get: 826e3, put: 400e3, compute: .9, scatter: .15}, []int{2, 4, 6, 8},
			model.ResourceObjectGet},
		{"processors", site{link: 200e6 / 8, get: 738e3, put: 826e3, compute: .9, scatter: .15}, []int{2, 4, 6, 8},
			OwnProcessors},
		{"neither yet", site{link: 40e6 / 8, get: 738e3, put: 826e3, compute: .5, scatter: .15}, []int{2}, None},
	} {
		w, p := newWorld(c.site, slices.Max(c.sizes), 3), params(c.sizes...)
		w.run(t, p)
		r, _ := w.result(t, p)
		if r.Bottleneck != c.want {
			t.Errorf("%s: the bottleneck is %s, want %s (%s, efficiency %.3f)\nstages %+v\nuses %+v", c.name, r.Bottleneck,
				c.want, r.Kind, r.efficiency(), r.Stages, r.Uses)
		}
	}
}

// TestSharedMachine: where the nodes of a fleet share a machine and want more processors than it
// has, the machine is the bottleneck, also where the store becomes slower with it. What is
// predicted keeps to the processors that there are.
func TestSharedMachine(t *testing.T) {
	t.Parallel()
	compute := site{link: 400e6 / 8, get: 738e3, put: 826e3, compute: .8, scatter: .15, cores: 2, quota: .5}
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
		if r.Bottleneck != c.want && !(c.want == None && r.Bottleneck == OwnProcessors) {
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

// TestCoverage: with links drawn at random the plateau lies in the band that was predicted,
// in 19 of 20 and more, and no band is wider than was asked for without a word.
func TestCoverage(t *testing.T) {
	t.Parallel()
	const labs = 60
	inside, all, wide, plateau, above, widest := 0, 0, 0, 0, 0, 0.0
	rng := rand.New(rand.NewPCG(28, 1))
	for lab := range labs {
		w, p := newWorld(transcoding((16+24*rng.Float64())*1e6/8), 8, 3), params(2, 3, 4, 6, 8)
		w.seed = uint64(100 + lab)
		w.run(t, p)
		r, _ := w.result(t, p)
		for _, s := range r.Sizes {
			all++
			if *s.Inside {
				inside++
			}
			if *s.BoundError > 0 {
				above++
			}
		}
		if *r.largest().Inside {
			plateau++
		}
		widest = max(widest, r.Predicted.widest().HalfWidth)
		if r.Predicted.widest().HalfWidth > .2 {
			wide++
			if !slices.Contains(codes(r.Doubts), "wide_band") {
				t.Errorf("lab %d: a band of ±%.3f has no doubt", lab, r.Predicted.widest().HalfWidth)
			}
		}
	}
	t.Logf("inside: plateau %d of %d, all sizes %d of %d; %d labs with a wide band, ±%.3f at most; %d above min(N·r, C/d)",
		plateau, labs, inside, all, wide, widest, above)
	if plateau < labs*95/100 || inside < all*95/100 {
		t.Errorf("inside: plateau %d of %d, all sizes %d of %d; want 95 %%", plateau, labs, inside, all)
	}
	if wide > labs/10 {
		t.Errorf("%d of %d labs have a band that is too wide", wide, labs)
	}
}

// TestPlateauIsCarried: a plateau that a curve only extrapolates is at most what the capacity
// that was measured carries. A capacity below what fleets did says nothing.
func TestPlateauIsCarried(t *testing.T) {
	t.Parallel()
	limit := Limit{Resource: "store", PerJob: Range{Value: 2}, Capacity: Range{Value: 10, CI: &[2]float64{9, 12}}}
	of := func(rate float64) *Result {
		return &Result{Predicted: &Predicted{Prediction: Prediction{Limits: []Limit{limit}}},
			Sizes: []Size{{Nodes: 4, Rate: rate}}}
	}
	curve := scalability.Estimate{Value: 6.65, Lo: 4.4, Hi: math.Inf(1)}
	knee := scalability.Estimate{Value: 6.65, Lo: 4, Hi: 20}
	for _, c := range []struct {
		rate float64
		want [6]float64
	}{
		{3.8, [6]float64{5, 4.4, 6, 5, 4, 6}},
		{5.5, [6]float64{5.5, 4.4, 6, 5.5, 4, 6}},
		{6.1, [6]float64{6.65, 4.4, math.Inf(1), 6.65, 4, 20}},
	} {
		p, k := of(c.rate).carried(curve, knee, 1)
		if got := [6]float64{p.Value, p.Lo, p.Hi, k.Value, k.Lo, k.Hi}; got != c.want {
			t.Errorf("%v job/s measured: plateau and knee %v, want %v", c.rate, got, c.want)
		}
	}
}

// TestDrift: nodes that change after the prediction are a doubt, and others are none.
func TestDrift(t *testing.T) {
	t.Parallel()
	for _, slower := range [...]float64{0, .15} {
		s := transcoding(32e6 / 8)
		s.drift = slower
		w, p := newWorld(s, 4, 4), params(2, 4)
		w.run(t, p)
		r, _ := w.result(t, p)
		if got := slices.Contains(codes(r.Doubts), "drift"); got != (slower > 0) {
			t.Errorf("computing becomes slower by %v in each block: doubts are %v", slower, codes(r.Doubts))
		}
	}
}

// TestAnswer: the first sentence is for a manager, and the document can be made.
func TestAnswer(t *testing.T) {
	t.Parallel()
	w, p := newWorld(transcoding(12e6/8), 14, 3), params(2, 4, 10, 14)
	p.Target, p.Prices = 6, "type,price_per_hour,currency\nsmall,0.10,USD\n"
	w.run(t, p)
	r, answer := w.result(t, p)
	text := string(r.Answer)
	for _, want := range []string{"14 nodes do ", ", and 10 would do as well: the store's incoming path (1.",
		"is the bottleneck.", "Predicted before: "} {
		if !strings.Contains(text, want) {
			t.Errorf("the answer is %q, want %q in it", text, want)
		}
	}
	d := answer.Document()
	if len(d.More) != 2 || !strings.Contains(d.More[1], "No number of nodes does 6.00 job/s. Raise objectstore.get to "+
		"at least 4.428 MB/s and objectstore.put to at least 4.956 MB/s; then ") {
		t.Errorf("more is %q", d.More)
	}
	if s := r.largest(); s.Nodes != 14 || s.JobCost == nil || math.Abs(*s.JobCost-1.4/3600/s.Rate) > 1e-12 {
		t.Errorf("a job of 14 nodes costs %v", s.JobCost)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{`"kind"`, `"plateau_ci"`, `"knee"`, `"bottleneck":"objectstore.put"`,
		`"predicted":{"made":`, `"answer"`} {
		if !strings.Contains(string(b), key) {
			t.Errorf("JSON has no %s: %s", key, b)
		}
	}
}

// ofTable is the answer about a table.
func ofTable(t *testing.T, p *Params, file, text string) *Result {
	t.Helper()
	own, err := readTable(t.Context(), file, strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	answer, err := p.Answer(t.Context(), study.Input{Sources: []study.Source{{Name: file, Own: own}}})
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	answer.Document()
	r, _ := answer.Result.(*Result)
	return r
}

// TestGolden: the parameters of published tables, to all digits that are known.
func TestGolden(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]struct {
		alpha, beta, gamma, sse float64
		kind                    scalability.Kind
	}{
		"specsdm91.csv":       {0.0277284, 0.000104366, 89.9952, 27453.7, ""},
		"raytracer-first.csv": {0.0244440, 0.00162681, 20.8561, 10.0919, ""},
		"raytracer.csv":       {0.0577708, 0, 21.8488, 697.238, ""},
		"usl.csv":             {0.02, 0.02, 1, 3e-10, scalability.USL},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		r := ofTable(t, New(), file, string(text))
		c := r.Curves[3]
		near := func(what string, got, want, rel float64) {
			if math.Abs(got-want) > rel*max(math.Abs(want), 1e-12) {
				t.Errorf("%s: %s is %.8g, want %.8g", file, what, got, want)
			}
		}
		digits := 1e-5
		if file == "usl.csv" {
			digits = 1e-3
		}
		near("α", *c.Parameters.Alpha, want.alpha, max(digits, 3e-5))
		near("β", *c.Parameters.Beta, want.beta, digits)
		near("γ", *c.Parameters.Gamma, want.gamma, digits)
		if file != "usl.csv" {
			near("SSE", c.SSE, want.sse, digits)
		}
		if want.kind != "" && r.Kind != want.kind {
			t.Errorf("%s: kind %s, want %s", file, r.Kind, want.kind)
		}
		if file == "specsdm91.csv" {
			if !strings.HasPrefix(string(r.Answer), "216 nodes do 1702, and 36 would do as well: growth ends between 16") {
				t.Errorf("%s: the answer is %q", file, r.Answer)
			}
			near("peak", *c.Peak, 96.5196, digits)
			near("plateau", *c.Plateau, 1883.9, 1e-4)
		}
	}
}

// TestHardCap: a cap is no peak, and nothing falls past what was measured.
func TestHardCap(t *testing.T) {
	t.Parallel()
	r := ofTable(t, New(), "cap.csv", "nodes,throughput\n1,1\n2,2\n3,3\n4,4\n5,4\n6,4\n7,4\n8,4\n")
	if r.Kind != scalability.Capped || r.Peak != nil || math.Abs(*r.Plateau-4) > 1e-9 || math.Abs(*r.Knee-4) > 1e-9 {
		t.Errorf("kind %s, plateau %v, knee %v, peak %v", r.Kind, r.Plateau, r.Knee, r.Peak)
	}
	if !strings.Contains(string(r.Answer), "8 nodes do 4.00, and 4 would do as well: growth ends at 4.00.") {
		t.Errorf("the answer is %q", r.Answer)
	}
}

// TestTarget has the paper's figures (section 5.3).
func TestTarget(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		each, target                        float64
		capacity                            string
		needed, rateLimit, nodeLimit, nodes float64
		raised                              float64
		suffices                            bool
	}{
		{each: 4.8, target: 227, capacity: "3125MB/s", needed: 1203.1e6, rateLimit: 589.6, nodeLimit: 122.8, nodes: 48,
			suffices: true},
		{each: 4.8, target: 590, capacity: "3125MB/s", needed: 3127e6, rateLimit: 589.6, nodeLimit: 122.8, raised: 123},
		{each: 2.5, target: 1000, capacity: "5640MB/s", needed: 5300e6, rateLimit: 1064.2, nodeLimit: 425.7, nodes: 400,
			suffices: true},
	} {
		p := New()
		p.Target, p.Demand = c.target, []string{"objectstore.put=5.3MB"}
		p.Capacity = []string{"objectstore.put=" + c.capacity}
		text := "nodes,throughput\n"
		for _, n := range []string{"1", "2", "4", "8", "16", "32"} {
			var v float64
			_ = json.Unmarshal([]byte(n), &v) // whole numbers
			b, _ := json.Marshal(v * c.each)
			text += n + "," + string(b) + "\n"
		}
		r := ofTable(t, p, "linear.csv", text)
		x := r.Target.Limits[0]
		for what, got := range map[string][2]float64{"needed": {x.Needed / 1e5, c.needed / 1e5},
			"rate limit": {*x.RateLimit, c.rateLimit}, "node limit": {*x.NodeLimit, c.nodeLimit}} {
			if math.Abs(got[0]-got[1]) > .051 {
				t.Errorf("target %v: %s is %v, want %v", c.target, what, got[0], got[1])
			}
		}
		if *x.Suffices != c.suffices || c.suffices && (r.Target.Nodes == nil || *r.Target.Nodes != c.nodes) ||
			!c.suffices && (r.Target.Nodes != nil || *r.Target.Raised != c.raised) {
			t.Errorf("target %v: %+v", c.target, r.Target)
		}
	}
}

// TestBadTables name the place of what is wrong.
func TestBadTables(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"bad.csv:1:1: ":   "n,x\n1,2\n",
		"bad.csv:2:1: ":   "nodes,throughput\n0,2\n",
		"bad.csv:3:1: ":   "nodes,throughput\n1,2\n1.5,3\n",
		"bad.csv:2:3: ":   "nodes,throughput\n1,x\n",
		"bad.csv:3:3: ":   "nodes,throughput\n1,2\n2,0\n",
		"bad.csv: ":       "nodes,throughput\n",
		"bad.csv:2:1: no": "nodes,throughput,trial\n-1,2,1\n",
	} {
		_, err := readTable(t.Context(), "bad.csv", strings.NewReader(text))
		if err == nil || !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// TestAmounts: what may be said of a resource.
func TestAmounts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"objectstore.put=5.3MB": true, "network.send=1kB": true, "objectstore.put=5.3": false, "put=5MB": false,
		"objectstore.put": false, "objectstore.put=0B": false, "objectstore.get=2op": true, "cpu=0.2s": true,
		"network.receive=900packet": true, "objectstore.put=9packet": false, "network.send=3op": false,
		"objectstore.put=5KB": false, "disk.write=12op": true, "machine=0.1s": true, "machine=1MB": false,
	} {
		p := New()
		p.Demand = []string{text}
		if _, err := p.Check(); (err == nil) != want {
			t.Errorf("--demand %s: %v", text, err)
		}
	}
	for text, want := range map[string]bool{
		"objectstore.put=300op/s": true, "network.send=10Gbit/s": true, "network.receive=20kpacket/s": true,
		"cpu=4core": true, "machine=2core": true, "objectstore.put=300": false, "objectstore.put=5MB": false,
		"cpu=5MB/s": false,
	} {
		p := New()
		p.Capacity = []string{text}
		if _, err := p.Check(); (err == nil) != want {
			t.Errorf("--capacity %s: %v", text, err)
		}
		p.Capacity = append(p.Capacity, text)
		if _, err := p.Check(); err == nil {
			t.Errorf("--capacity %s twice is accepted", text)
		}
	}
	p := New()
	p.Prices = "type,price\n"
	if _, err := p.Check(); err == nil {
		t.Error("a table that is none of prices is accepted")
	}
}
