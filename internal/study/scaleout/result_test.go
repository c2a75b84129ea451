package scaleout

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
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
		{"the other way", site{link: 20e6 / 8, get: 826e3, put: 400e3, compute: .9, stages: 44}, []int{2, 4, 6, 8},
			model.ResourceObjectGet},
		{"processors", site{link: 200e6 / 8, get: 738e3, put: 826e3, compute: .9, stages: 44}, []int{2, 4, 6, 8},
			OwnProcessors},
		{"neither yet", site{link: 40e6 / 8, get: 738e3, put: 826e3, compute: .5, stages: 44}, []int{2}, None},
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
		p, k := of(c.rate).clipped(curve, knee, 1)
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

// TestPeakIsMissing: a peak that may be there or not is null, and nothing says where it is.
func TestPeakIsMissing(t *testing.T) {
	t.Parallel()
	r := ofTable(t, New(), "unclear.csv", "nodes,throughput\n1,1\n2,1.9\n3,2.9\n4,3.5\n6,4.6\n8,5.9\n")
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if r.Kind != scalability.Unclear || !strings.Contains(string(b), `"peak":null,"peak_ci":null`) ||
		strings.Contains(string(r.Answer), "falls") {
		t.Errorf("%s: %q, %s", r.Kind, r.Answer, b)
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

// TestUnclearTarget: of a target that one plausible curve reaches and the best one does not, the
// answer claims neither.
func TestUnclearTarget(t *testing.T) {
	t.Parallel()
	const text = "nodes,throughput\n1,96\n1,99\n2,184\n2,186\n4,360\n4,359\n8,638\n8,612\n16,1022\n16,1142\n" +
		"24,1170\n24,1282\n32,1366\n32,1460\n" // Amdahl's law with α = 0.039: 36 nodes do 1518
	for target, want := range map[float64]string{
		1518: "The data do not show whether any number of nodes does 1518. Fewer than 33 nodes do not. Once ",
		5000: "No number of nodes does 5000. Once ",
	} {
		p := New()
		p.Target = target
		r := ofTable(t, p, "unclear.csv", text)
		if got := r.targetWords(r.Target); !strings.HasPrefix(got, want) {
			t.Errorf("target %v: %q, want %q", target, got, want)
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
		p.Target, p.Demand = 590, []string{text}
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
		p.Target, p.Capacity = 590, []string{text}
		if _, err := p.Check(); (err == nil) != want {
			t.Errorf("--capacity %s: %v", text, err)
		}
		p.Capacity = append(p.Capacity, text)
		if _, err := p.Check(); err == nil {
			t.Errorf("--capacity %s twice is accepted", text)
		}
	}
	p := New()
	p.Demand = []string{"objectstore.put=5MB", "objectstore.put=6MB"}
	if _, err := p.Check(); err == nil {
		t.Error("two demands of one resource are accepted")
	}
	p = New()
	p.Prices = "type,price\n"
	if _, err := p.Check(); err == nil {
		t.Error("a table that is none of prices is accepted")
	}
}
