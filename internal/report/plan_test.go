package report

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// section53 is the paper's arithmetic of section 5.3, the input taken as
// 4.8 MB/s a node and 5.3 MB a video, beside a resource that was not seen to end and
// one that was not measured.
func section53() model.PlanResult {
	node := 4.8 // videos a second, so that 590 take 123 nodes
	receive := model.PlanResource{
		Resource: "network.receive", Unit: "byte/s", Demand: 5.3e6 * node, DemandSource: "given", Capacity: ptr(3125e6),
		CapacityCI: &model.Interval{3050e6, 3200e6}, MeasuredAt: 72, CDI: ptr(41.2), CDICI: &model.Interval{38, 44.5},
		Answer: model.PlanFails, NodeLimit: ptr(3125 / 5.3 / node), RateLimit: ptr(3125 / 5.3), Largest: ptr(122),
		LargestRate: ptr(122 * node), LargestCI: &[2]int{119, 125}, Needed: 125 * 5.3e6 * node, Text: "network.receive: fails",
	}
	cpu := model.PlanResource{
		Resource: "cpu", Unit: "op/s", Demand: 2e6, Capacity: ptr(400e6), MeasuredAt: 72, Answer: model.PlanFits, Needed: 250e6,
	}
	put := model.PlanResource{Resource: "objectstore.put", Unit: "byte/s", Demand: 3e6, Answer: model.PlanUntested, Needed: 375e6}
	return model.PlanResult{
		Target: 600, NodeRate: node, Nodes: 125, Answer: model.PlanFails, Binding: "network.receive", Largest: ptr(122),
		LargestRate: ptr(122 * node), Resources: []model.PlanResource{receive, cpu, put},
		Warnings: []string{"objectstore.put was not measured"},
	}
}

func TestPlanGolden(t *testing.T) {
	golden(t, "plan.html", func(w io.Writer) error { return PlanHTML(w, section53()) })
	golden(t, "plan.svg", func(w io.Writer) error { return PlanSVG(w, section53()) })
}

// plans are what a page and a picture must survive.
func plans() map[string]model.PlanResult {
	none, fits, huge, bad, hostile := section53(), section53(), section53(), section53(), section53()
	for i := range none.Resources {
		none.Resources[i].Capacity = nil
	}
	fits.Answer, fits.Nodes, fits.Target = model.PlanFits, 40, 192
	huge.Nodes = 3
	for i := range bad.Resources {
		r := &bad.Resources[i]
		r.Capacity, r.CapacityCI, r.Demand = ptr(math.Inf(1)), &model.Interval{math.NaN(), 1}, math.NaN()
	}
	hostile.Binding, hostile.Warnings = attack, []string{attack}
	for i := range hostile.Resources {
		r := &hostile.Resources[i]
		r.Resource, r.Unit, r.Text, r.Answer = attack, attack, attack, attack
	}
	return map[string]model.PlanResult{
		"fails": section53(), "not measured": none, "fits": fits, "far below": huge, "broken": bad, "hostile": hostile, "empty": {},
	}
}

func TestPlanPagesAreSound(t *testing.T) {
	for name, r := range plans() {
		var b bytes.Buffer
		if err := PlanHTML(&b, r); err != nil {
			t.Errorf("%s: PlanHTML: %v", name, err)
			continue
		}
		for _, e := range elements(t, b.String()) {
			checkAttributes(t, e)
		}
		if n := strings.Count(b.String(), "<script"); n != 1 {
			t.Errorf("%s: %d scripts, want 1", name, n)
		}
		if strings.Contains(b.String(), "NaN") {
			t.Errorf("%s: the page says NaN", name)
		}
		b.Reset()
		err := PlanSVG(&b, r)
		drawable := name == "fails" || name == "fits" || name == "far below" || name == "hostile"
		if drawable != (err == nil) || !drawable && !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: PlanSVG: %v, want drawn = %v", name, err, drawable)
		}
		if err == nil {
			for _, e := range elements(t, b.String()) {
				checkAttributes(t, e)
			}
		}
	}
}

func TestPlanLead(t *testing.T) {
	fits, bound, untested, none := section53(), section53(), section53(), section53()
	none.Largest, none.LargestRate = ptr(0), ptr(0.)
	fits.Answer, fits.Largest, fits.LargestRate = model.PlanFits, nil, nil
	bound.Answer, bound.Target, bound.Nodes = model.PlanFits, 480, 100
	untested.Answer, untested.Largest = model.PlanUntested, nil
	for _, c := range []struct {
		r    model.PlanResult
		want string
	}{
		{section53(), "600 jobs/s take 125 nodes, but the largest useful fleet is 122 nodes (585.6 jobs/s): network.receive is used up."},
		{fits, "600 jobs/s take 125 nodes, and that fits what was measured. No resource was shown to end growth."},
		{bound, "480 jobs/s take 100 nodes, and that fits. The largest useful fleet is 122 nodes (585.6 jobs/s): then network.receive is used up."},
		{none, "600 jobs/s take 125 nodes, but not even one node fits: it takes more of network.receive than there is."},
		{untested, "600 jobs/s take 125 nodes, which is more than was measured, or not measured at all: whether it works is not known."},
	} {
		if got := planLead(c.r); got != c.want {
			t.Errorf("planLead(%s) = %q, want %q", c.r.Answer, got, c.want)
		}
	}
}

// The crossing stands where the demand takes the whole capacity.
func TestPlanFigureCrossesAtTheLimit(t *testing.T) {
	lines := planFigure(section53()).Lines
	if len(lines) != 2 {
		t.Fatalf("%d lines, want those of the two measured resources", len(lines))
	}
	if got, want := lines[0].At, 3125/5.3/4.8; math.Abs(got-want) > 1e-9 {
		t.Errorf("crossing at %v, want %v", got, want)
	}
	if !lines[0].Limited || lines[1].Limited {
		t.Errorf("limited = %v and %v, want the network alone", lines[0].Limited, lines[1].Limited)
	}
	if lines[0].Lo >= lines[0].At || lines[0].Hi <= lines[0].At {
		t.Errorf("interval %v to %v does not hold %v", lines[0].Lo, lines[0].Hi, lines[0].At)
	}
}
