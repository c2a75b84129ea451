package capacity

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	platform "github.com/scalebench/scalebench/internal/study"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/internal/unit"
)

// TestFoundOfTargets: targets with labels are one metric, in which each is a node with its
// labels and without the facts of the generators; one without labels stays by itself.
func TestFoundOfTargets(t *testing.T) {
	x := begin(t, setup(1, "n-1", "n-2", "other"))
	for i, region := range []string{"eu", "us"} {
		x.setup.Workloads[i].Params["labels"] = map[string]any{"region": region}
	}
	x.setup.Nodes[0].Labels = map[string]string{"zone": "of the generator"}
	d, err := asked().Design(x.setup)
	if err != nil {
		t.Fatal(err)
	}
	x.design = d
	x.run(t, capacityServer{730}, 120)
	x.data.Nodes = x.setup.Nodes
	frames, err := found(observe.Of(x.data), asked())
	if err != nil || len(frames) != 2 {
		t.Fatalf("%d frames (%v), want that of the targets with labels, and that of the other", len(frames), err)
	}
	f := frames[slices.IndexFunc(frames, func(f frame.Frame) bool { return f.Workload == "" })]
	var got []string
	for row := range f.Values {
		got = append(got, f.Fact(frame.FactSubject).Level(row)+" "+f.Fact("region").Level(row))
	}
	slices.Sort(got)
	if strings.Join(got, ", ") != "n-1 eu, n-2 us" || f.Fact("zone") != nil || len(f.Ends) != 2 || f.Metric != "capacity" {
		t.Errorf("rows %v of %s with intervals %v and facts %+v", got, f.Metric, f.Ends, f.Facts)
	}
	begun := searchesBegun(observe.Of(x.data))
	of, labelled := begun[searchID{"n-1", 1}]
	if other := begun[searchID{"other", 1}]; len(begun) != 3 || !labelled || of != "" || other != "other" {
		t.Errorf("the searches are %v", begun)
	}
}

// TestLostTargets: searches that found nothing are counted and named, those of targets with
// labels together.
func TestLostTargets(t *testing.T) {
	lost := map[searchID]string{{"n-2", 1}: "", {"n-1", 1}: "", {"web", 1}: "web", {"web", 2}: "web"}
	passed := 20.0
	fast := Search{Workload: "web", Trial: 2, Answer: Answer{Passed: &passed, HeldFor: 1}}
	var got []string
	for _, f := range lostFrames(lost, map[string]int{"": 3}, []Search{fast}) {
		d := f.Doubts[0]
		got = append(got, fmt.Sprint(f.Workload, "|", f.Len(), "|", d.Severity, "|", strings.SplitAfter(d.Text, ")")[0],
			"|", strings.Contains(d.Text, "1 of them held a load only briefly")))
	}
	want := []string{"|0|warning|2 of 5 searches found neither a capacity nor a lower bound (n-1, n-2)|false",
		"web|0|warning|2 of 2 searches found neither a capacity nor a lower bound (web)|true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("frames of what is lost (-want +got):\n%s", diff)
	}
}

// TestFound: what counts of a run that searched is what the search found, and not the
// mean over the windows of all loads; what ended early is a lower bound.
func TestFound(t *testing.T) {
	rate := func(v float64) *unit.Rate { return &unit.Rate{Value: v, Base: unit.Operations} }
	bounds := func(s *Study) { s.Start, s.Max, s.SLA = rate(20), rate(60), "p95=200ms" }
	for name, c := range map[string]struct {
		windows int
		set     func(*Study)
		bound   float64 // what the target takes at least; 0: its capacity is known, -1: nothing is
	}{
		"a capacity":             {40, func(*Study) {}, 0},
		"cut short":              {2, func(*Study) {}, 100},
		"as much as was allowed": {40, bounds, -1}, // for a second at a time
		"another resolution":     {40, func(s *Study) { s.Resolution, s.Start = .2, rate(333) }, 0},
	} {
		windows, s := c.windows, asked()
		c.set(s)
		x := begin(t, setup(1, "web"))
		d, err := s.Design(x.setup)
		if err != nil {
			t.Fatal(err)
		}
		x.design = d
		x.run(t, capacityServer{730}, windows)
		run := observe.Of(x.data)
		searches, err := s.searchesOf(run)
		if err != nil {
			t.Fatal(err)
		}
		frames, err := platform.Registry{study.Adapt(Kind())}.Frames(run,
			func(platform.Kind) platform.Study { return study.Wrap(s) })
		if err != nil {
			t.Fatal(err)
		}
		var counts []frame.Frame
		for _, f := range frames {
			if !f.Info {
				counts = append(counts, f)
			}
		}
		if c.bound < 0 {
			if len(counts) != 1 || counts[0].Len() > 0 || len(counts[0].Doubts) != 1 ||
				counts[0].Doubts[0].Code != "targets_lost" {
				t.Errorf("%s: frames that count: %+v, want no row and why", name, counts)
			}
			continue
		}
		if len(counts) != 1 || counts[0].Metric != "capacity" || counts[0].Len() != 1 ||
			counts[0].Better != model.Higher || counts[0].Fact(frame.FactSubject) != nil {
			t.Fatalf("%s: frames that count: %+v, want the capacity alone", name, counts)
		}
		f, a := counts[0], searches[0].Answer
		censored := f.Fact(frame.FactCensored).Level(0)
		switch {
		case a.Estimate == nil && (f.Values[0] != *a.Passed || censored != frame.Censored || f.Ends != nil ||
			len(f.Doubts) == 0):
			t.Errorf("%s: %v %s %v, want at least %v", name, f.Values, censored, f.Ends, *a.Passed)
		case a.Estimate != nil && (f.Values[0] != *a.Estimate || censored != "no" || f.Ends[0] != *a.CI):
			t.Errorf("%s: %v %s %v, want %v %v", name, f.Values, censored, f.Ends, *a.Estimate, *a.CI)
		}
		if (a.Estimate == nil) != (c.bound > 0) || c.bound > 0 && f.Values[0] != c.bound {
			t.Errorf("%s: the estimate is %v, at least %v", name, a.Estimate, f.Values)
		}
	}
}
