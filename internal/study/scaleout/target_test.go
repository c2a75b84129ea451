package scaleout

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
)

// TestTargetAgreesWithSizes: what a fleet did needs no curve, and no curve denies it.
func TestTargetAgreesWithSizes(t *testing.T) {
	t.Parallel()
	none := math.NaN()
	for _, c := range []struct {
		name, rows   string
		target       float64
		nodes        float64 // none: not known, or no number
		reached      float64
		lo, hi       float64
		doubt, words string
	}{
		{"above the plateau of the curve", "1,1\n2,1.9\n4,3.4\n8,5.2\n16,6.6\n32,4.5\n", 6.5, 16, 16, 0, none,
			"reached_by_chance", "6.50 takes 16 nodes ["},
		{"no curve", "1,1\n2,1.9\n4,3.5\n", 3, 4, 4, none, none, "reached_by_chance", "3.00 takes 4 nodes."},
		{"exactly what 4 nodes did, twice", "1,1\n1,1\n2,2\n2,2\n4,4\n4,4\n8,8\n8,8\n", 4, 4, 4, none, none, "equal_trials",
			"4.00 takes 4 nodes."},
		{"exactly what 4 nodes did", "1,1\n2,2\n3,3\n4,4\n6,6\n8,8\n", 4, 4, 4, 4, 4, "", "4.00 takes 4 nodes [4 .. 4]."},
		{"between sizes", "1,4.8\n2,9.6\n4,19.2\n8,38.4\n16,76.8\n32,153.6\n", 20, 5, 8, 5, 5, "",
			"20.0 takes 5 nodes [5 .. 5]. That lies between sizes that were measured: 8 nodes did it."},
		{"many nodes", "1,4.8\n2,9.6\n4,19.2\n8,38.4\n16,76.8\n32,153.6\n", 24001, 5001, none, 4999, none,
			"beyond_measured", "24001 takes 5,001 nodes ["},
		{"surely reached", "1,1.01\n1,0.99\n2,1.98\n2,2.01\n4,3.97\n4,4.02\n8,7.9\n8,8.02\n", 3, 4, 4, 3, 4, "",
			"3.00 takes "},
		{"by one trial", "1,1.00\n1,0.98\n2,1.97\n2,1.93\n4,2.9\n4,3.2\n8,2.9\n8,3.1\n", 3.04, 4, 4, 0, none,
			"reached_by_chance", "3.04 takes 4 nodes ["},
		{"not reached, no curve", "1,1\n2,2\n", 5, none, none, none, none, "no_curve",
			"is not known: no fleet did it, and no"},
		{"the curve says that measured sizes do", "1,1.1\n2,1.9\n4,4.2\n8,7.7\n16,16.4\n32,31.7\n", 31.8, 32, none, 0,
			none, "not_reached", "31.8 takes 32 nodes ["},
	} {
		p := New()
		p.Target = c.target
		r := ofTable(t, p, "t.csv", "nodes,throughput\n"+c.rows)
		got := r.Target
		value := func(v *float64) float64 {
			if v == nil {
				return none
			}
			return *v
		}
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		reached, ci := none, Ends{}
		if got.Reached != nil {
			reached = float64(*got.Reached)
		}
		if got.NodesCI != nil {
			ci = *got.NodesCI
		}
		if !same(value(got.Nodes), c.nodes) ||
			!same(reached, c.reached) || !same(value(ci[1]), c.hi) || c.lo != 0 && !same(value(ci[0]), c.lo) {
			t.Errorf("%s: nodes %v, reached %v, %v to %v; want %v, %v, %v to %v", c.name, value(got.Nodes), reached,
				value(ci[0]), value(ci[1]), c.nodes, c.reached, c.lo, c.hi)
		}
		if c.doubt != "" && !slices.Contains(codes(r.Doubts), caveat.Code(c.doubt)) || c.doubt == "" && len(r.Doubts) > 0 {
			t.Errorf("%s: doubts are %v, want %q", c.name, codes(r.Doubts), c.doubt)
		}
		if text := r.targetWords(got); !strings.Contains(text, c.words) {
			t.Errorf("%s: %q, want %q in it", c.name, text, c.words)
		}
	}
}

// TestTargetByLuck: a target that no number of nodes does is seldom answered without a doubt, and
// one that a size does by far seldom has one.
func TestTargetByLuck(t *testing.T) {
	t.Parallel()
	const draws = 300
	count := func(target float64) (answered, doubted int) {
		for draw := range draws {
			rng := rand.New(rand.NewPCG(41, uint64(draw)))
			text := "nodes,throughput\n"
			for _, n := range []float64{1, 2, 4, 8, 16} {
				for range 3 {
					text += fmt.Sprintf("%v,%v\n", n, min(n, 4)*math.Exp(.03*rng.NormFloat64()))
				}
			}
			p := New()
			p.Target = target
			if r := ofTable(t, p, "t.csv", text); r.Target.Nodes != nil {
				answered++
				if all := codes(r.Doubts); slices.Contains(all, "reached_by_chance") || slices.Contains(all, "not_reached") {
					doubted++
				}
			}
		}
		return answered, doubted
	}
	if answered, doubted := count(4.04); answered-doubted > draws*5/100 {
		t.Errorf("more than the plateau: %d of %d are answered without a doubt", answered-doubted, draws)
	}
	if answered, doubted := count(3.6); answered < draws || doubted > draws*5/100 {
		t.Errorf("a tenth below the plateau: %d of %d are answered, %d with a doubt", answered, draws, doubted)
	}
}

// TestTargetOfRuns: without a curve the prediction says how many nodes a target takes. What
// fleets did counts for more than a capacity.
func TestTargetOfRuns(t *testing.T) {
	t.Parallel()
	of := func(target, link float64, capacities ...string) (*Result, *Target) {
		w, p := newWorld(transcoding(link), 2, 1), params(2)
		p.Target, p.Capacities = target, capacities
		w.run(t, p)
		r, _ := w.result(t, p)
		if r.curves != nil {
			t.Fatal("there is a curve of two sizes")
		}
		return r, r.Target
	}
	r, got := of(40, 200e6/8, "get", "put")
	if n := r.inProportion(40); got.Nodes != nil || got.Raised == nil || *got.Raised != n {
		t.Errorf("beyond the store: %+v, want %v nodes once it is raised", got, n)
	}
	r, got = of(15, 200e6/8, "get", "put")
	if n := r.inProportion(15); got.Nodes == nil || *got.Nodes != n || *got.NodesCI[0] != n || !(*got.NodesCI[1] >= n) ||
		!slices.Contains(codes(r.Doubts), "beyond_measured") {
		t.Errorf("below what the store carries: %+v with %v, want %v nodes", got, codes(r.Doubts), n)
	}
	r, got = of(15, 200e6/8)
	if n := r.inProportion(15); got.Nodes == nil || *got.Nodes != n || *got.NodesCI[0] != n || got.NodesCI[1] != nil {
		t.Errorf("no capacity is known: %+v, want %v nodes or more", got, n)
	}
	w, p := newWorld(transcoding(200e6/8), 2, 1), params(2)
	p.Target, p.Capacity = 1.5, []string{"objectstore.put=1MB/s"}
	w.run(t, p)
	r, _ = w.result(t, p)
	if got = r.Target; got.Nodes == nil || *got.Nodes != 2 || !slices.Contains(codes(r.Doubts), "more_than_capacity") {
		t.Errorf("more than the capacity that was given: %+v with %v, want 2 nodes and a doubt", got, codes(r.Doubts))
	}
}

// TestUnusedAmounts: what no answer would look at is refused, with what to do.
func TestUnusedAmounts(t *testing.T) {
	t.Parallel()
	put, get := "objectstore.put=5.3MB", "objectstore.get=1MB/s"
	for _, c := range []struct {
		change func(p *Params)
		want   string
	}{
		{func(p *Params) { p.Target, p.Capacity = 590, []string{get} }, "objectstore.get is not known"},
		{func(p *Params) {
			p.Target, p.Demand, p.Capacity = 590, []string{put}, []string{get}
		}, "objectstore.get is not known"},
		{func(p *Params) { p.Demand = []string{put} }, "without a target"},
		{func(p *Params) { p.Capacity = []string{get} }, "without a target"},
		{func(p *Params) { p.Target, p.Demand = 590, []string{put, "objectstore.put=1MB"} }, "twice"},
		{func(p *Params) { p.Type = "small" }, "without prices"},
		{func(p *Params) {
			p.Target, p.Demand, p.Capacity = 590, []string{put}, []string{"objectstore.put=1MB/s"}
		}, ""},
		{func(p *Params) { p.Target, p.Demand = 590, []string{put} }, ""},
	} {
		p := New()
		c.change(p)
		_, err := p.Check()
		if err == nil {
			own, bad := readTable(t.Context(), "t.csv", strings.NewReader("nodes,throughput\n1,1\n2,2\n"))
			if bad != nil {
				t.Fatal(bad)
			}
			_, err = p.Answer(t.Context(), study.Input{Sources: []study.Source{{Name: "t.csv", Own: own}}})
		}
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, model.ErrUsage) ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("demand %v, capacity %v, type %q: error %v, want %q", p.Demand, p.Capacity, p.Type, err, c.want)
		}
	}
	// What was measured of one path is the demand on another one of the same way.
	w, p := newWorld(transcoding(32e6/8), 4, 2), params(2, 4)
	p.Target, p.Capacity = 1, []string{"network.send=10Gbit/s"}
	w.run(t, p)
	r, _ := w.result(t, p)
	for _, n := range r.Target.Limits {
		if n.Resource == model.ResourceNetworkSend && math.Abs(n.PerJob/w.put-1) < 1e-9 {
			return
		}
	}
	t.Errorf("a job sends %+v, want %v", r.Target.Limits, w.put)
}

// TestEqualTrials: copies of rows are no trials, and the answer about a table says one thing.
func TestEqualTrials(t *testing.T) {
	t.Parallel()
	r := ofTable(t, New(), "t.csv", "nodes,throughput\n1,1\n1,1\n2,2\n2,2\n4,3.9\n4,3.9\n")
	if r.Plateau != nil || !slices.Contains(codes(r.Doubts), "equal_trials") {
		t.Errorf("plateau %s %s, doubts %v, %q; want none of three observations", num.Optional(r.Plateau, digits),
			endsText(r.PlateauCI, digits), codes(r.Doubts), r.Answer)
	}
	for text, want := range map[string]string{
		"1,5,a\n2,6,a\n1,5,a\n":       "bad.csv:4:5: ",
		"1,5,a\n1,6,\n":               "bad.csv:3:5: ",
		"1,5,a\n1,5,b\n2,7,a\n":       "",
		"1,1e200,a\n":                 "bad.csv:2:3: ",
		"1,1e-200,a\n":                "bad.csv:2:3: ",
		"1,0,a\n":                     "bad.csv:2:3: ",
		"1,x,a\n":                     "bad.csv:2:3: ",
		"1,1e-15,a\n1000000,1e15,a\n": "",
	} {
		_, err := readTable(t.Context(), "bad.csv", strings.NewReader("nodes,throughput,trial\n"+text))
		if want == "" && err != nil || want != "" && (err == nil || strings.Count(err.Error(), "bad.csv") != 1 ||
			!strings.Contains(err.Error(), want)) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// TestMissingTrials: a size that lost its nodes is told, and one of which all was measured is
// not.
func TestMissingTrials(t *testing.T) {
	t.Parallel()
	w, p := newWorld(transcoding(32e6/8), 4, 3), params(2, 4)
	w.run(t, p)
	count := func(drop func(f factors, s model.Step) bool) (n int) {
		cut := *w
		cut.data.Steps = slices.DeleteFunc(slices.Clone(w.data.Steps), func(s model.Step) bool {
			f, err := factorsOf(s)
			return err != nil || drop(f, s)
		})
		r, _ := cut.result(t, p)
		for _, c := range r.Doubts {
			if c.Code == "trials_missing" {
				n++
			}
		}
		return n
	}
	if n := count(func(factors, model.Step) bool { return false }); n != 0 {
		t.Errorf("%d doubts about a run that is whole", n)
	}
	for _, from := range []int{1, 3} {
		if n := count(func(f factors, s model.Step) bool {
			return f.Role == Fleet && f.Nodes == 4 && s.Trial >= from
		}); n != 1 {
			t.Errorf("4 nodes were lost in trial %d: %d doubts, want 1", from, n)
		}
	}
}

// TestNoCommonTime: nodes that did not work at the same time have no rate together.
func TestNoCommonTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		workload string
		role     Role
		doubt    caveat.Code
	}{{"transcode", Fleet, "no_common_time"}, {"put", Capacity, "capacity_not_measured"}} {
		w, p := newWorld(transcoding(32e6/8), 4, 2), params(2, 4)
		w.run(t, p)
		r, _ := w.result(t, p)
		if slices.Contains(codes(r.Doubts), c.doubt) {
			t.Fatalf("doubts are %v", codes(r.Doubts))
		}
		w = newWorld(transcoding(32e6/8), 4, 2)
		w.late = c.workload
		w.run(t, p)
		if r, _ = w.result(t, p); !slices.Contains(codes(r.Doubts), c.doubt) {
			t.Errorf("nodes of %s follow one another: doubts are %v, want %s", c.workload, codes(r.Doubts), c.doubt)
		}
	}
}

// TestNotPriced: what is to be done about a type that is not known is said of what was asked.
func TestNotPriced(t *testing.T) {
	t.Parallel()
	p := New()
	p.Prices = "type,price_per_hour,currency\nsmall,0.10,USD\n"
	r := ofTable(t, p, "t.csv", "nodes,throughput\n1,1\n2,2\n")
	caveats.Fill(caveat.Subject{}, r.Doubts)
	if text := r.Doubts[len(r.Doubts)-1].Text; !strings.HasSuffix(string(text), ": name it with --type") {
		t.Errorf("the doubt is %q", text)
	}
}
